"""Random energies for hypothesis: programs in the language of energies, as text.

Values stay of order one: roots, logarithms, inverses and divisions are of what is safely away from zero, or
stand in a guard. {s} stands for a number, {v} for a vector, {m} for a matrix, {c} for a comparison, {p} for a
number of at least 0.3, {a} for a name or a constant; a letter with a digit means the same text each time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import hypothesis.strategies as st

from minusgrad import Datum, Node, Parameter, Time

ROLES = {
    "x": Node(shape=(3,)),
    "y": Node(),
    "k": Parameter(shape=(2,)),
    "A": Datum(shape=(2, 2), differentiable=True),
    "order": Datum(integer=True),
    "t": Time(),
}
HEADER = '''"""Random energies."""

from minusgrad import erf, erfc, ti

SCALE = 0.75
TABLE = [0.3, -0.6, 1.2]
vector = ti.types.vector(3, ti.f64)

@ti.func
def twist(v, angle=0.4):
    """Writes to its own copy."""
    v[0], v[1] = v[1] * angle, v[0]
    v.z += angle
    return v


@ti.func
def both(a, b):
    return a + b, ti.max(a, 2.0 * b)


@ti.func
def swallow(items, factor):
    items[0] = items[1] * factor
    total = 0.0
    for item in ti.static(items):
        total += item.sum()
    return total
'''
"""What every program may use; `inner` and `bent` are its own."""

POSITIVE = (
    "(1.2 + ti.sin({a}))",
    "(0.5 + {a} ** 2)",
    "(ti.abs({a}) + 0.3)",
    "(1.0 + {v}.norm_sqr())",
    "(0.4 + ti.exp(-({s})))",
    "(2.0 - ti.tanh({s}))",
)
NUMBERS = (
    *("{s} + {s}", "{s} - {s}", "{a} * ti.tanh({s})", "({s}) / {p}", "-({s})", "ti.sin({s})"),
    *("ti.cos({s} * {a})", "ti.exp(-({s}) ** 2)", "ti.log({p})", "ti.sqrt({p})", "ti.rsqrt({p})"),
    *("ti.tanh({s}) ** {n}", "({s}) ** 2", "ti.atan2({s}, {p})", "ti.atan2({p}, {s})", "{p} ** {e}"),
    *("{p} ** ti.tanh({s})", "ti.pow({p}, 0.5 * {a})", "2.0 ** ti.tanh({s})", "pow({p}, {a})"),
    *("ti.asin(0.9 * ti.sin({s}))", "ti.acos(0.8 * ti.tanh({s}))", "ti.tan(ti.tanh({s}))"),
    "erf(1.0 * {s}) - 0.3 * erfc(ti.tanh({s}))",
    *("ti.min({s}, {s})", "ti.max({s}, {s}, 0.1)", "max({s}, {a})", "min({a}, {s})", "abs({s})"),
    *("ti.math.clamp({s}, -0.8, {p})", "ti.math.mix({s}, {s}, {a})", "ti.math.sign({s}) * {s}"),
    *("ti.select({c}, {s}, {s})", "{choice}", "ti.cast({c}, ti.f64) * {s}"),
    *("ti.select({p0} > 1.0, ti.sqrt({p0} - 1.0), {s})", "ti.select({b0} > 0.0, ti.log({b0}), {s})"),
    *("ti.select({b0} > 0.0, {b0} ** 0.3, {a})", "ti.select(ti.abs({b0}) > 0.05, {s} / {b0}, 0.0)"),
    *("ti.select(ti.abs({b0}) < 1.0, ti.asin({b0}), 0.0)", "ti.sqrt(ti.max({b0}, 0.0) + 0.1)"),
    *("{v}.dot({v}) * 0.3", "ti.tanh({v}.norm(0.1))", "{v}.norm_inv(0.3)", "{v}.cross({v})[{i}] * 0.2"),
    *("ti.sin({v}.max())", "{v}.min() * 0.5", "{v}.sum() * 0.3", "{v}[{i}]", "{v}.y", "{v}.xz.norm(0.2)"),
    *("{v}.outer_product({v}).trace() * 0.3", "ti.math.distance({v}, {v} + 1.3) * 0.4", "({v} @ {v}) * 0.3"),
    *("{m}.determinant() * 0.2", "({m0} @ {m0}).trace() * 0.1", "{m}.inverse()[0, 1]", "{m}.trace() * 0.2"),
    *("{m}.transpose()[1, 0]", "{m}.norm_sqr() * 0.1", "({m} * 0.3).max()", "{m}[0, :].sum() * 0.4"),
    *(
        "inner(1.0 * {s}, {v})",
        "inner(v={v}, a=1.0 * {a})",
        "bent(1.0 * {s})",
        "twist({v}, angle={a})[{i}]",
        "both({s}, {s})[1]",
    ),
    *("order * 0.5 * {a}", "(order // 2 - {s})", "ti.floor({s}) * {a}", "({s}) % 0.7", "ti.round({s}) * {a}"),
    *(
        "ti.math.smoothstep(-0.7, 0.8, {s})",
        "ti.math.fract({s})",
        "ti.math.log2({p})",
        "ti.math.radians({s})",
    ),
    *("ti.math.mod({s}, 0.6)", "ti.math.step(0.1, {s}) * {a}", "ti.ceil({s}) * {s}", "int(2.0 * {a}) * {s}"),
    "ti.select(({v} > 0.1).all(), {s}, {a})",
    "ti.math.cmul({v}.xy, {v}.yz)[0] * 0.3",
    "(ti.math.rotation2d({s}) @ {v}.xy)[1]",
    "ti.math.reflect({v}, {v}.normalized(0.5))[{i}] * 0.5",
)
VECTORS = (
    *(
        "{v} - {v}",
        "1.0 - {v}",
        "2.0 ** (0.3 * {v})",
        "0.5 * {v} + {v} * ti.tanh({s})",
        "ti.sin({v})",
        "ti.max({v}, 0.5 * {v})",
        "-{v} + 1.0",
    ),
    *("ti.Vector([{a}, {s}, 0.3])", "{v}.zxy", "vector({a}) + {v}", "{v}.cross({v}) * 0.3", "abs({v})"),
    *("ti.select({v} > {v}, {v}, {a})", "ti.select({c}, {v}, {v})", "{v} / (1.5 + {v0} * {v0})"),
    *("twist({v}, angle=0.3)", "{v}.normalized(0.5)", "({v}.outer_product({v}) @ {v}) * 0.2", "{v} * {v}"),
    *(
        "ti.math.vec3({v}.xy, {s})",
        "ti.tanh({v}) ** 2",
        "(1.0 + {v0} * {v0}) ** {e}",
        "2.0 / (1.3 + abs({v}))",
    ),
    *(
        "ti.Vector([{v}[j] * (j + 1.0) for j in range(3)]) * 0.4",
        "(ti.Matrix.cols([{v}, {v}, {v}]) @ {v}) * 0.3",
    ),
)
EXPONENTS = ("0.5", "-1", "1.5", "-0.5", "0.3", "-2", "2.5", "3", "1.0", "-1.7", "4.5")
COMPARISONS = (
    *("{a} > {a}", "{a} <= 0.2", "order == 1", "order % 2 == 0", "{s} < {a}", "{a} >= {s}", "order"),
    *("({a} < {a}) | ({a} > 0.1)", "(-0.5 < {a}) & ({a} < 0.8)", "{s} != 0.3"),
)
DECISIONS = ("{a} > 0.0 and {a} < 0.5", "not {a} > {a}", "-0.5 < {a} < {s}", "{a} > 0.3 or order == 2")
"""Comparisons that ask for several truths."""

STATEMENTS = (
    *(
        "{S} {o} {s}",
        "{S} {o} {s}",
        "{S} /= {p}",
        "{S} **= 2",
        "{S} = 0.8 * {s}",
        "{V} {o} {v}",
        "{V} /= {p}",
    ),
    *("{V}[{i}] {o} {s}", "{V}.{l} {o} {s}", "{V}.xy = {v}.yz", "{V}[0:2] {o} {v}.zy", "{V}[{i}] = {a}"),
    *("{S}, {S} = {s}, {S0}", "{V}[0], {V}[2] = {v}[2], {a}", "{S} = {T} = {s}", "{V} = {V}.yxz"),
    *(
        "{M}[0, 1] {o} {s}",
        "{M}[:, 1] *= {a}",
        "{M}[1, 1] += {p}",
        "{M0} = 0.5 * {M0} + ti.sin({M0}) @ {M0} * 0.1",
    ),
    "{W} = {V0}\n{W}[1] = {s}\n{V0} = {V0} + 0.3 * {W}",
    "for {I} in ti.static(range(3)):\n    {S} = 0.5 * {S} + {v}[{I}] * ({I} + 0.5)",
    "for {I} in ti.static(range(2)):\n    for {J} in ti.static(range({I}, 3)):\n        {S} += {v}[{J}]",
    "for {I}, {J} in ti.static(ti.ndrange(2, (1, 3))):\n    {S} += ti.sin({v}[{J}]) * k[{I}] * TABLE[{J}]",
    "for {I} in range(3):\n    {S} += 0.1 * {a} * ({I} + 1)",
    "{L} = [{V0}, {v}]\n{L}[0][1] = {s}\n{S} += 0.3 * swallow({L}, 0.4) + {V0}[1]",
)


@dataclass
class _Writer:
    """One program: the names that exist, and text for the letters of a template."""

    choices: Iterator[int]
    scalars: list[str] = field(
        default_factory=lambda: ["y[0]", "y[1]", "k[0]", "k[1]", "x[0][0]", "x[1].y", "t"]
    )
    vectors: list[str] = field(default_factory=lambda: ["x[0]", "x[1]"])
    own: dict[str, list[str]] = field(default_factory=lambda: {"S": [], "V": [], "M": []})
    sizes: dict[str, int] = field(default_factory=dict)
    names: int = 0
    decisions: int = 3
    """How many more outcomes may be asked for in Python: each doubles the ways through the program."""

    def below(self, n: int) -> int:
        """The next choice; where there are no more, the first."""
        return next(self.choices, 0) % n

    def pick(self, options):
        return options[self.below(len(options))]

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def filled(self, template: str, depth: int = 0) -> str:
        """The template with text for its letters."""
        kept: dict[str, str] = {}

        def text(match: re.Match) -> str:
            slot = match[1]
            if slot not in kept:
                said = self.slot(slot, depth)
                if not slot[-1].isdigit():
                    return said
                kept[slot] = said
            return kept[slot]

        once = re.sub(r"\{([TWIJL])\}", lambda m: kept.setdefault(m[1], self.name(m[1].lower())), template)
        return re.sub(r"\{(\w+)\}", text, once)

    def slot(self, slot: str, depth: int) -> str:
        letter = slot.rstrip("0123456789")
        return (
            getattr(self, f"of_{letter}")(depth + 1)
            if letter in "svmcp" or len(letter) > 1
            else self.word(letter)
        )

    def word(self, letter: str) -> str:
        match letter:
            case "a":
                constants = [f"({self.below(256) / 100 - 1.3:.2f})", "SCALE", "1.0", "2"]
                return self.pick([*self.scalars, *self.own["S"], *self.own["S"], *constants])
            case "b":
                return self.pick([*self.scalars, *(f"(0.0 * t + {s})" for s in self.own["S"])])
            case "S" | "V" | "M":
                return self.pick(self.own[letter])
            case "i":
                return self.pick("012")
            case "l":
                return self.pick("xyz")
            case "n":
                return self.pick(("2", "3", "5", "17", "4"))
            case "e":
                return self.pick(EXPONENTS)
            case "o":
                return self.pick(("=", "+=", "-=", "*=", "+= 0.5 *"))
        raise AssertionError(letter)

    def of_s(self, depth: int) -> str:
        return self.word("a") if depth > 1 + self.below(2) else f"({self.filled(self.pick(NUMBERS), depth)})"

    def of_p(self, depth: int) -> str:
        return self.filled(self.pick(POSITIVE[:3] if depth > 2 else POSITIVE), depth)

    def of_v(self, depth: int) -> str:
        if depth > 2 or self.below(2):
            return self.pick([*self.vectors, *self.own["V"]])
        return f"({self.filled(self.pick(VECTORS), depth)})"

    def of_m(self, depth: int) -> str:
        """A matrix whose inverse is harmless: near the unit matrix, by rows."""
        if depth > 2:
            return "(A * 0.1 + ti.Matrix.identity(ti.f64, 2))"
        name = self.pick(self.own["M"])
        return f"(0.2 * ti.tanh({name}) + ti.Matrix.identity(ti.f64, {self.sizes[name]}))"

    def of_c(self, depth: int) -> str:
        return self.filled(self.pick(COMPARISONS), max(depth, 2))

    def of_choice(self, depth: int) -> str:
        """One of two numbers, by a decision of Python's if there may be one more."""
        if self.decisions < 1:
            return self.filled("ti.select({c}, {s}, {s})", depth)
        self.decisions -= 1
        return self.filled("({s} if {c} else {s})", depth)

    # Lines

    def new(self, letter: str) -> list[str]:
        name = self.name(letter.lower())
        if letter == "M":
            n = self.sizes[name] = self.pick((2, 3, 4))
            rows = ", ".join(f"[{', '.join(self.word('a') for _ in range(n))}]" for _ in range(n))
            lines = [f"{name} = 1.0 * ti.Matrix([{rows}])"]
        else:
            lines = [f"{name} = 1.0 * {self.of_s(0) if letter == 'S' else self.of_v(0)}"]
        self.own[letter].append(name)
        return lines

    def statement(self, depth: int) -> list[str]:
        if depth < 2 and self.decisions > 1 and self.below(4) == 0:
            return self.branch(depth)
        return self.filled(self.pick(STATEMENTS)).split("\n")

    def branch(self, depth: int) -> list[str]:
        wide = self.below(3)
        self.decisions -= 1 + (wide > 0)
        lines = [
            f"if {self.filled(self.pick(DECISIONS) if wide else self.pick(COMPARISONS), 2)}:",
            *self.block(depth),
        ]
        if wide == 2:
            lines += [f"elif {self.of_c(2)}:", *self.block(depth)]
        return [*lines, "else:", *self.block(depth)] if self.below(2) else lines

    def block(self, depth: int) -> list[str]:
        lines = [line for _ in range(1 + self.below(2)) for line in self.statement(depth + 1)]
        return [f"    {line}" for line in lines]

    def body(self) -> list[str]:
        lines = [line for letter in "MSVS" for line in self.new(letter)]
        for _ in range(1 + self.below(2)):
            lines += self.statement(0)
        last = " + ".join([*self.own["S"], *(f"{v}.dot(x[1]) * 0.5" for v in self.own["V"])])
        return [*lines, f"return {last} + 0.1 * {self.own['M'][0]}.sum() + {self.of_s(0)} * y[0]"]


INNER = (
    "a * v.sum() * 0.3 + ti.sin(a)",
    "ti.tanh(a + v[1]) * stiffness",
    "ti.sqrt(1.0 + v.norm_sqr()) - a * stiffness",
    "ti.select(a > v[0], a * a, v[2])",
)
BENT = ("stiffness * a ** exponent * 0.2", "ti.exp(-stiffness * a * a)", "ti.cos(a * exponent) / stiffness")


@st.composite
def programs(draw) -> str:
    """The text that defines `NAME`, an energy of the arguments of ROLES, inside a closure over constants."""
    writer = _Writer(iter(draw(st.binary(min_size=150, max_size=250))))
    inner, bent = writer.pick(INNER), writer.pick(BENT)
    stiffness, exponent = 0.5 + writer.below(20) / 10, 2 + writer.below(3)
    body = "\n".join(f"        {line}" for line in writer.body())
    return f"""
def NAME_made(stiffness, exponent):
    @FUNC
    def inner(a, v):
        return {inner}

    @FUNC
    def bent(a):
        return {bent}

    def NAME({", ".join(ROLES)}):
{body}

    return NAME


NAME = NAME_made({stiffness}, {exponent})
"""
