"""Random Taichi kernels: loops in loops, branches, locals that change, functions of all kinds."""

from random import Random

UNARY = [
    *("ti.sin({a})", "ti.cos({a})", "ti.exp(-{a} * {a})", "ti.sqrt({a} * {a} + 0.2)", "ti.tanh({a})"),
    *("ti.log({a} * {a} + 1.0)", "ti.rsqrt({a} * {a} + 0.3)", "ti.min({a}, 0.4)", "ti.abs({a})"),
    "({a} * {a} + 0.3) ** 1.5",
]
BINARY = [
    *("({a}) + ({b})", "({a}) - ({b})", "({a}) * ({b})", "({a}) / (1.0 + ({b}) * ({b}))"),
    *("ti.max({a}, {b})", "ti.atan2({a}, 2.0 + {b} * {b})", "ti.select({a} > {b}, {a}, {b} * {b})"),
]
HEAD = (
    "from minusgrad import ti\n\n"
    "LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)\n"
    "ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)\n"
)


class Kernels:
    """A file of kernels of (x, U), which add to U."""

    def __init__(self, seed: int, count: int):
        self.random, self._names = Random(seed), 0
        bodies = ("\n".join(self._block([], ["i"], 0, 2)) for _ in range(count))
        made = [
            f"\n\n@ti.kernel\ndef k{n}(x: LINE, U: ONE):\n    for i in x:\n{body}\n"
            for n, body in enumerate(bodies)
        ]
        self.text = HEAD + "".join(made)

    def _named(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def _number(self, names: list[str], places: list[str], depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.25:
            return self.random.choice([f"x[{self.random.choice(places)}]"] * 2 + names * 2 + ["0.7"])
        form = self.random.choice(UNARY + BINARY)
        a, b = (self._number(names, places, depth - 1) for _ in range(2))
        return form.format(a=a, b=b)

    def _block(self, names: list[str], places: list[str], level: int, indent: int) -> list[str]:
        """Lines of a block; `names`: locals around it, `places`: loop variables, `level`: of inner loops."""
        random, pad, lines, names = self.random, "    " * indent, list[str](), list(names)
        for _ in range(random.randint(1, 2) + (level == 0)):
            kind = random.random()
            if kind < 0.22:
                value = random.choice(["0.0", "1.0", self._number(names, places)])
                names.append(self._named("v"))
                lines.append(f"{pad}{names[-1]} = {value}")
            elif kind < 0.40 and names:
                change = f"{random.choice(names)} {random.choice(['+=', '=', '*='])}"
                lines.append(f"{pad}{change} {self._number(names, places)}")
            elif kind < 0.52:
                lines.append(f"{pad}if {random.choice([*names, 'x[i]'])} > 0.6:")
                nested = random.random() < 0.15
                added = f"{pad}    U[None] += {self._number(names, places)}"
                lines += self._block(names, places, level, indent + 1) if nested else [added]
            elif kind < 0.75 and level < 2:
                lines.append(f"{pad}for {'jk'[level]} in range({random.choice(['x.shape[0]', '3'])}):")
                lines += self._block(names, [*places, "jk"[level]], level + 1, indent + 1)
            elif kind < 0.82:
                name = self._named("q")
                lines.append(f"{pad}for {name} in ti.static(range(2)):")
                lines += self._block(names, [*places, name], level, indent + 1)
            else:
                lines.append(f"{pad}U[None] += {self._number(names, places)}")
        lines.append(f"{pad}U[None] += {self._number(names, places)}")
        return lines
