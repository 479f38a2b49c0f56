"""Random energies: programs in the language of energies, as text, for the fuzzer.

Values stay of order one: roots, logarithms and divisions are of what is safely positive, and every line is
damped by a sine or a hyperbolic tangent now and then.
"""

import random
from collections.abc import Callable

HEADER = '''"""Written by tests/programs.py."""
from minusgrad import ti

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
def pair(a, b):
    c = a
    if a > b:
        c = a * b
    return c + b, ti.max(a, 2.0 * b)


@ti.func
def swallow(items, factor):
    items[0] = items[1] * factor
    total = 0.0
    for item in ti.static(items):
        total += item.sum()
    return total
'''


def module(count: int, seed: int) -> str:
    """The text of a module with functions p0, p1, ..., of (x, y, k, kind)."""
    return HEADER + "".join(
        f"\n\n{_Program(random.Random(f'{seed}/{n}')).text(f'p{n}')}" for n in range(count)
    )


class _Program:
    """One program: what names exist, and random lines that use them."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.scalars = ["y[0]", "y[1]", "k[0]", "k[1]", "x[0][0]", "x[1][2]", "x[0].y", "x[1].sum()"]
        self.vectors = ["x[0]", "x[1]"]
        self.own_scalars: list[str] = []
        self.own_vectors: list[str] = []
        self.names = 0
        self.decisions = 4
        """How many more outcomes may be asked for in Python: each doubles the ways through the program."""

    def text(self, name: str) -> str:
        lines = [*self.new_scalar(), *self.new_vector(), *self.new_scalar(), *self.new_vector()]
        for _ in range(self.rng.randint(3, 6)):
            lines += self.line(depth=0)
        result = " + ".join(
            self.rng.sample(self.own_scalars, 2) + [f"{v}.dot(x[0])" for v in self.own_vectors]
        )
        body = "\n".join(f"    {line}" for line in [*lines, f"return {result} + x[1][1] * y[0]"])
        return f"def {name}(x, y, k, kind):\n{body}\n"

    # Lines

    def line(self, depth: int) -> list[str]:
        kinds: list[Callable[[], list[str]]] = [
            *(self.change, self.change, self.component, self.component, self.swap, self.alias, self.loop),
            *(self.call, self.items, self.overwrite),
        ]
        if depth == 0:
            kinds += [self.new_scalar, self.new_vector]
        if depth < 2 and self.decisions > 1:
            kinds += [lambda: self.branch(depth), lambda: self.branch(depth)]
        return self.rng.choice(kinds)()

    def new_scalar(self) -> list[str]:
        value, name = self.scalar(), self.name("s")
        self.own_scalars.append(name)
        return [f"{name} = 0.9 * {value}"]

    def new_vector(self) -> list[str]:
        value, name = self.vector(), self.name("v")
        self.own_vectors.append(name)
        return [f"{name} = {value}"]

    def change(self) -> list[str]:
        name = self.rng.choice(self.own_scalars)
        operation = self.rng.choice(["+= {}", "-= {}", "*= 0.5 * {}", "/= 1.5 + {} ** 2", "= 0.7 * {}"])
        return [f"{name} {operation.format(self.scalar())}"]

    def overwrite(self) -> list[str]:
        return [f"{self.rng.choice(self.own_vectors)} {self.rng.choice(['=', '+=', '*='])} {self.vector()}"]

    def component(self) -> list[str]:
        v, i = self.rng.choice(self.own_vectors), self.rng.randint(0, 2)
        place = self.rng.choice([f"{v}[{i}]", f"{v}.{'xyz'[i]}"])
        return [f"{place} {self.rng.choice(['=', '+=', '-=', '*='])} {self.scalar()}"]

    def swap(self) -> list[str]:
        some = self.rng.choice([self.own_scalars, self.own_vectors])
        a, b = self.rng.sample(some, 2)
        v = self.rng.choice(self.own_vectors)
        return [self.rng.choice([f"{a}, {b} = {b}, {a}", f"{v}[0], {v}[2] = {v}[2], {v}[1]", f"{a} = {b}"])]

    def alias(self) -> list[str]:
        v, s = self.rng.choice(self.own_vectors), self.scalar()
        a, b = self.name("a"), self.name("a")
        return [f"{a} = {b} = {v}", f"{a}[1] = {s}", f"{v} = {v} + 0.3 * {a} - 0.2 * {b}"]

    def loop(self) -> list[str]:
        s, t = self.rng.choice(self.own_scalars), self.rng.choice(self.own_scalars)
        v = self.rng.choice(self.vectors + self.own_vectors)
        i = self.name("i")
        inner = self.rng.choice(
            [
                [f"{s} = 0.5 * {s} + {v}[{i}] * ({i} + 0.5)"],
                [f"{s} += ti.sin({v}[{i}]) * TABLE[{i}]", f"{t} = ti.tanh({s}) - {t}"],
                [f"{t} -= 0.1 * ti.select({v}[{i}] > {t}, {v}[{i}], 2 * {i})"],
            ]
        )
        return [
            f"for {i} in ti.static(range({self.rng.choice([2, 3])})):",
            *(f"    {line}" for line in inner),
        ]

    def call(self) -> list[str]:
        v, s = self.rng.choice(self.own_vectors), self.rng.choice(self.own_scalars)
        return self.rng.choice(
            [
                [f"{v} = twist({v})"],
                [f"{s} += twist({v}, angle={self.scalar()}).sum() + 0.1 * {v}.x"],
                [f"{s} = twist(angle={s}, v={self.vector()})[1]"],
            ]
        )

    def items(self) -> list[str]:
        v, w, s = *self.rng.sample(self.own_vectors, 2), self.rng.choice(self.own_scalars)
        y = self.name("y")
        write = self.rng.choice([f"{y}[0][1] = {self.scalar()}", f"{y}[1] = {v}", f"{y}[0] += {y}[1]"])
        return [
            f"{y} = [{v}, {w}]",
            write,
            f"{s} += 0.3 * swallow({y}, 0.4) + {y}[0].sum() - {v}.sum() + swallow(x, 0.5)",
        ]

    def branch(self, depth: int) -> list[str]:
        lines = [f"if {self.condition()}:", *self.block(depth)]
        if self.rng.random() < 0.3:
            lines += [f"elif {self.condition()}:", *self.block(depth)]
        if self.rng.random() < 0.5:
            lines += ["else:", *self.block(depth)]
        return lines

    def block(self, depth: int) -> list[str]:
        lines = [line for _ in range(self.rng.randint(1, 2)) for line in self.line(depth + 1)]
        return [f"    {line}" for line in lines]

    # Expressions

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def condition(self) -> str:
        self.decisions -= 2
        a, b = self.atom(), self.atom()
        return self.rng.choice(
            [
                *(f"{a} > {b}", f"{a} <= 0.2", f"kind == {self.rng.randint(0, 2)}", "kind % 2 == 0", "kind"),
                *(
                    f"{a} > 0.0 and {b} < 0.5",
                    f"({a} < {b}) | ({b} > 0.1)",
                    f"not {a} > {b}",
                    f"-0.5 < {a} < {b}",
                ),
            ]
        )

    def atom(self) -> str:
        if self.own_scalars and self.rng.random() < 0.5:
            return self.rng.choice(self.own_scalars)
        return self.rng.choice(
            [*self.scalars, "SCALE", f"{self.rng.uniform(-1.5, 1.5):.2f}", "1.0", "0.0", "2"]
        )

    def scalar(self, depth: int = 0) -> str:
        if depth > 2 or self.rng.random() < 0.15:
            return self.atom()
        a, b = self.scalar(depth + 1), self.scalar(depth + 1)
        v, w = self.any_vector(), self.any_vector()
        some = self.rng.choice(self.scalars + self.own_scalars)
        positive = self.rng.choice(
            [f"(1.2 + ti.sin({some}))", f"(0.5 + {some} ** 2)", f"(ti.abs({some}) + 0.3)"]
        )
        chosen = self.rng.choice(
            [
                *(
                    f"({a} + {b})",
                    f"({a} - {b})",
                    f"{self.atom()} * ti.tanh({b})",
                    f"({a}) / {positive}",
                    f"-({a})",
                ),
                *(
                    f"ti.sin({a})",
                    f"ti.cos({a} * {self.atom()})",
                    f"ti.exp(-({a}) ** 2)",
                    f"ti.log({positive})",
                ),
                *(
                    f"ti.sqrt({positive})",
                    f"ti.tanh({a}) ** {self.rng.choice([2, 3, 5, 17])}",
                    f"ti.atan2({a}, {positive})",
                ),
                *(
                    f"{positive} ** {self.rng.choice([0.5, -1, 1.5, -0.5, 0.3, -2, 2.5])}",
                    f"{positive} ** ti.tanh({b})",
                ),
                *(
                    f"ti.min({a}, {b})",
                    f"ti.max({a}, {b}, 0.1)",
                    f"abs({a})",
                    f"ti.math.clamp({a}, -0.8, {positive})",
                ),
                *(
                    f"ti.select({self.condition_of(a)}, {a}, {b})",
                    "choice",
                ),
                *(
                    f"ti.select({positive} > 1.0, ti.sqrt({positive} - 1.0), {b})",
                    f"pair({a}, {b})[{self.rng.randint(0, 1)}]",
                ),
                *(
                    f"{v}.dot({w}) * 0.3",
                    f"ti.tanh({v}.norm(0.1))",
                    f"{v}.cross({w})[1] * 0.2",
                    f"ti.sin({v}.max())",
                ),
                *(
                    f"ti.tanh({v}.outer_product({w}).trace())",
                    f"kind * 0.5 * {self.atom()}",
                    f"(kind // 2 - {a})",
                ),
            ]
        )
        return self.choice(a, b) if chosen == "choice" else chosen

    def condition_of(self, a: str) -> str:
        return self.rng.choice([f"{a} > {self.atom()}", f"{a} <= 0.1", "kind == 1", "kind"])

    def choice(self, a: str, b: str) -> str:
        if self.decisions < 1:
            return f"ti.select({self.condition_of(b)}, {b}, {a})"
        self.decisions -= 1
        return f"({a} if {self.condition_of(b)} else {b})"

    def any_vector(self) -> str:
        return self.rng.choice(self.vectors + self.own_vectors)

    def vector(self) -> str:
        v, w, s = self.any_vector(), self.any_vector(), self.atom()
        return self.rng.choice(
            [
                *(
                    v,
                    f"{v} - {w}",
                    f"0.5 * {v} + {w} * ti.tanh({s})",
                    f"ti.sin({v})",
                    f"ti.max({v}, 0.5 * {w})",
                ),
                *(
                    f"ti.Vector([{s}, {self.atom()}, 0.3])",
                    f"{v}.zxy",
                    f"vector({s}) + {v}",
                    f"{v}.cross({w}) * 0.3",
                ),
                *(
                    f"ti.select({v} > {w}, {v}, {s})",
                    f"{v} / (1.5 + {w} * {w})",
                    f"twist({v}, angle=0.3)",
                    f"abs({v})",
                ),
                *(f"{v}.normalized(0.5)", f"({v}.outer_product({w}) @ {v}) * 0.2", f"-{v} + 1.0"),
            ]
        )
