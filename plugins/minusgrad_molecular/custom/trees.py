"""Trees of OpenMM's expressions: numbers, names, signs, chains, powers and calls."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Number:
    """A number."""

    value: float


@dataclass(slots=True)
class Name:
    """A variable; or a definition, of which `definition` is the place in `Expression.definitions`."""

    name: str
    place: int
    definition: int | None = None


@dataclass(slots=True)
class Negative:
    """-x."""

    of: "Tree"


@dataclass(slots=True)
class Chain:
    """Values joined from left to right by + and -, or by * and /: `signs` has one for each part."""

    signs: str
    parts: "list[Tree]"


@dataclass(slots=True)
class Power:
    """base^exponent."""

    base: "Tree"
    exponent: "Tree"


@dataclass(slots=True)
class Call:
    """A function of values, or of points (`distance(p1, p2)`)."""

    function: str
    arguments: "list[Tree]"
    points: list[str] = field(default_factory=list)


Tree = Number | Name | Negative | Chain | Power | Call


@dataclass(frozen=True)
class Definition:
    """A named value between others."""

    name: str
    tree: Tree


@dataclass(frozen=True)
class Expression:
    """A checked expression: definitions that it uses, each after those that it needs; variables."""

    text: str
    tree: Tree
    definitions: tuple[Definition, ...]
    variables: tuple[str, ...]
