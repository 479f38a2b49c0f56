"""The Python source of an energy in `ti.` operations, from the tree of an expression.

    def custom_bond(x, k, r0):
        d = x[0] - x[1]
        r = d.norm()
        return 0.5 * k * (r - r0) * (r - r0)

Nothing of a user's text stands in it but numbers and names, and these were checked or made here. Long values
are named, so that lines and brackets stay short. An even power of what has r as a factor is a power of its
square: (sigma / r)^12 takes no root of the squared distance, as written by hand.

Decisions 0149.
"""

import keyword
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from types import FunctionType
from typing import Any

from minusgrad.plugin import erf, erfc, function_from_source

from .functions import CONDITIONS, FUNCTIONS
from .trees import Call, Chain, Expression, Name, Negative, Number, Power, Tree

WIDE = 70
"""Longer texts are named before they are used again."""
SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[\d\])*|\d[0-9.]*(e[+-]?\d+)?")
LOCAL = re.compile(r"(v|p|d|r|rr|k|s|angle|cell)\d*_")
"""Names of values in the source of an energy."""
CALLED = ("erf", "erfc", "angle_between", "dihedral_of", "nearest")
RESERVED = frozenset({"ti", "x", "box", "given", "self", "print", *CALLED, *keyword.kwlist})
"""Names that stand for something else in the source of an energy."""
BLOCK = "kind name tuples body fields gives grid sizes edges repeat begin outside adds copies"
LISTED = "cutoff switch skin images exclude scale fbar rest_shape plane_stress t"
KEYS = frozenset(f"{BLOCK} {LISTED}".split(" "))
"""Keys of blocks of scenes, which no argument of an energy may be called."""
Spelled = Callable[["Writer", Call], str]
"""The text of a call, for functions besides those of the grammar."""


@dataclass(frozen=True)
class Symbols:
    """The text in Python of the names in an expression: variables, squares of some, calls."""

    variables: Mapping[str, str] = field(default_factory=dict)
    squares: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, Spelled] = field(default_factory=dict)
    call_squares: Mapping[str, Spelled] = field(default_factory=dict)


def argument_names(names: Sequence[str], taken: Collection[str] = ()) -> dict[str, str]:
    """By each name of a user that of an argument: a Python identifier that means nothing else, each once."""
    found: dict[str, str] = {}
    used = {*taken}
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("_") or "value"
        plain = f"n{plain}" if plain[0].isdigit() else plain
        while plain in used or plain in RESERVED or plain in KEYS or LOCAL.fullmatch(plain):
            plain += "_"
        found[name] = plain
        used.add(plain)
    return found


class Writer:
    """Writes the lines of a body, and gives the text of values; `count`: of the values that have names."""

    def __init__(self, expression: Expression, symbols: Symbols, count: int = 0):
        self.lines: list[str] = []
        self._expression, self._symbols = expression, symbols
        self._definitions: list[str] = []
        self._squares: dict[int, str | None] = {}
        self.count = count

    def write_value(self) -> str:
        """The text of the whole expression, after the lines of its definitions."""
        for one in self._expression.definitions:
            self._definitions.append(self.hold(self.text_of(one.tree), always=True))
        return self.text_of(self._expression.tree)

    def hold(self, text: str, always: bool = False) -> str:
        """A name for the value of a text; the text itself, if that is a name or a number."""
        if SIMPLE.fullmatch(text) and not always:
            return text
        self.count += 1
        self.lines.append(f"v{self.count}_ = {_without_brackets(text)}")
        return f"v{self.count}_"

    def text_of(self, tree: Tree) -> str:
        """The text of a value, in brackets where it has several parts."""
        text = self._spell(tree)
        return self.hold(text) if len(text) > WIDE else text

    def _spell(self, tree: Tree) -> str:
        if isinstance(tree, Number):
            return repr(tree.value) if tree.value >= 0.0 else f"({tree.value!r})"
        if isinstance(tree, Name):
            if tree.definition is not None:
                return self._definitions[tree.definition]
            return self._symbols.variables[tree.name]
        if isinstance(tree, Negative):
            return f"(-{self.text_of(tree.of)})"
        if isinstance(tree, Chain):
            return self._spell_chain(tree)
        if isinstance(tree, Power):
            return self._spell_power(tree)
        return self._spell_call(tree)

    def _spell_chain(self, tree: Chain) -> str:
        made = self.text_of(tree.parts[0])
        for sign, one in zip(tree.signs[1:], tree.parts[1:], strict=True):
            right = self.text_of(one)
            if len(made) + len(right) > WIDE:
                made = self.hold(f"({made})")
            made = f"{made} {sign} {right}"
        return f"({made})"

    def _spell_power(self, tree: Power) -> str:
        n = tree.exponent.value if isinstance(tree.exponent, Number) else None
        if n is not None and n and n % 2.0 == 0.0 and (square := self.square_of(tree.base)) is not None:
            return square if n == 2.0 else f"({square} ** {n / 2.0!r})"
        return f"({self.text_of(tree.base)} ** {self.text_of(tree.exponent)})"

    def square_of(self, tree: Tree) -> str | None:
        """The text of the square of a value that has a distance as a factor; None of other values."""
        if isinstance(tree, Name):
            if tree.definition is None:
                return self._symbols.squares.get(tree.name)
            if tree.definition not in self._squares:
                known = self.square_of(self._expression.definitions[tree.definition].tree)
                self._squares[tree.definition] = known and self.hold(known)
            return self._squares[tree.definition]
        if isinstance(tree, Negative):
            return self.square_of(tree.of)
        if isinstance(tree, Call) and tree.function in self._symbols.call_squares:
            return self.hold(self._symbols.call_squares[tree.function](self, tree))
        if not isinstance(tree, Chain) or tree.signs[0] != "*":
            return None
        squares = [self.square_of(one) for one in tree.parts]
        if not any(squares):
            return None
        made = ""
        for sign, one, square in zip(tree.signs, tree.parts, squares, strict=True):
            if square is None:
                value = self.hold(self.text_of(one))
                square = f"({value} * {value})"
            made = f"{made} {sign} {square}" if made else square
            made = self.hold(f"({made})") if len(made) > WIDE else made
        return self.hold(f"({made})")

    def _spell_call(self, tree: Call) -> str:
        if tree.function in self._symbols.calls:
            return self._symbols.calls[tree.function](self, tree)
        if tree.function == "square" and (square := self.square_of(tree.arguments[0])) is not None:
            return square
        if tree.function == "select":
            first, second, third = tree.arguments
            return f"ti.select({self._condition(first)}, {self.text_of(second)}, {self.text_of(third)})"
        text = FUNCTIONS[tree.function].text
        arguments = [self.text_of(one) for one in tree.arguments]
        several = {k for k in range(len(arguments)) if text.count(f"{{{k}}}") > 1}
        return text.format(*(self.hold(a) if k in several else a for k, a in enumerate(arguments)))

    def _condition(self, tree: Tree) -> str:
        """The text of "not zero"."""
        if isinstance(tree, Call) and tree.function in CONDITIONS:
            return CONDITIONS[tree.function].format(self.text_of(tree.arguments[0]))
        return f"{self.text_of(tree)} != 0.0"


def _without_brackets(text: str) -> str:
    """The text without brackets around all of it."""
    if not text.startswith("("):
        return text
    depths = accumulate({"(": 1, ")": -1}.get(one, 0) for one in text)
    first_end = next(k for k, depth in enumerate(depths) if depth == 0)
    return text[1:-1] if first_end == len(text) - 1 else text


def write_function(
    name: str,
    arguments: Sequence[str],
    opening: Sequence[str],
    expression: Expression,
    symbols: Symbols,
    factor: float = 1.0,
    claim: str = "",
    weight: str = "",
    count: int = 0,
) -> str:
    """The source of the function `name` of `arguments`, which returns factor times the expression.

    opening: lines that make the variables. claim: its docstring. weight: the text of another factor.
    count: of the values that have names in `opening`.
    """
    writer = Writer(expression, symbols, count)
    value = writer.write_value()
    factors = [*([repr(factor)] if factor != 1.0 else []), *([weight] if weight else []), value]
    returned = " * ".join(factors) if len(factors) > 1 else _without_brackets(value)
    body = [f'"""{claim}"""'] if claim else []
    lines = [*body, *opening, *writer.lines, f"return {returned}"]
    return "\n".join([f"def {name}({', '.join(arguments)}):", *(f"    {line}" for line in lines), ""])


@lru_cache(maxsize=512)
def compiled_function(name: str, source: str, scope: tuple[tuple[str, Any], ...] = ()) -> FunctionType:
    """The function of a source that `write_function` made; equal sources are one function.

    scope: names that it uses besides `ti`, `erf` and `erfc`, and what they are.
    """
    return function_from_source(name, source, {"erf": erf, "erfc": erfc, **dict(scope)})
