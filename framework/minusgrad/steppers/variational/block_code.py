"""The text of a kernel that takes variational steps of blocks of nodes, one block in each lane.

Newton's method for the equations of `discrete_action`, written out for the D components of a block: locals
x, y are coordinates and velocities at a point of the quadrature, G and P the slopes of the action there, K
their derivatives, r the left sides of the equations and A their matrix. The arrays of a block:

    p (blocks, D)          momenta                 last (blocks, s D)    displacements of the last step
    length (blocks,)       of the last step        flows (blocks, 2)     work and dissipated energy
    failed (blocks,)       the step without a solution, or -1

Decisions 0376.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen.element_statements import ElementStatements, Leaf
from ...codegen.one_thread.small_systems import f64, gaussian_elimination
from ...codegen.statements import indented
from ...energies.fields import Field, Motion
from ...engine import storage
from ...engine.kernels import Code, dealt_in_groups, words
from .convergence import FLOOR, ROUNDED, Convergence
from .galerkin import Galerkin
from .node_blocks import Placed

SIGN = {"L": 1.0, "U": -1.0, "R": -1.0}
BAD = "ti.math.isnan({0}) or ti.math.isinf({0})"


@dataclass(frozen=True)
class Component:
    """A component of a block: the node's place, the fields of its coordinate and rate, and its index."""

    place: int
    motion: Motion
    index: tuple[int, ...]


class BlockCode:
    """The loops of one set of blocks. terms: letter L, U or R, statements, and the places of elements."""

    def __init__(
        self,
        galerkin: Galerkin,
        components: Sequence[Component],
        fields: Mapping[str, Field],
        terms: Sequence[tuple[str, ElementStatements, Placed]],
        held: bool,
    ):
        self.galerkin, self.components, self.fields = galerkin, list(components), fields
        self.terms, self.held = list(terms), held
        self.size, self.degree = len(self.components), galerkin.degree
        self.eps = float(np.finfo(next(iter(fields.values())).dtype).eps)
        self.arrays: dict[str, Any] = {}
        self._touched: set[tuple[str, int, int]] = set()

    # Kernels

    def steps(self, arrays: Mapping[str, Any]) -> Code:
        """Loops of many steps (scalars steps, first, t0, dt)."""
        step = [*self._start(), *self._iterations(), *self._end()]
        body = [
            "for k in range(steps):",
            "    if failed[g] < 0:",
            *indented(indented(step)),
        ]
        return self._code(dealt_in_groups("g", "failed.shape[0]", body), arrays)

    def velocities(self, arrays: Mapping[str, Any]) -> Code:
        """Loops of the Legendre transform at the present coordinates (scalar t0, the time)."""
        n = self.size
        end = self.galerkin.shape(1.0, 1)
        lines = ["t = t0", "rest = ti.f64(1.0) / length[g]"]
        for a, c in enumerate(self.components):
            guess = " + ".join(f"{f64(end[m + 1])} * last[g, {m * n + a}]" for m in range(self.degree))
            lines += [f"x_{a} = ti.f64({self._at(c.motion.position, c)})", f"y_{a} = ({guess}) * rest"]
            lines += self._if_held(a, [f"y_{a} = ti.f64({self._at(c.motion.velocity, c)})"])
        point = [*self._zeros("P"), *(f"A_{a}_{b} = {f64(0.0)}" for a in range(n) for b in range(n))]
        for letter, statements, one in self.terms:
            if letter == "L":
                point += self._term(letter, statements, one, {"Pv": "A_{a}_{b}"}, slopes="P")
        left = [f"r_{a} = P_{a} - p[g, {a}]" for a in range(n)]
        moved = [f"y_{a} -= r_{a}" for a in range(n)]
        newton = [*point, *left, *self._rows_of_held(n), *gaussian_elimination(n), *moved]
        newton += self._judged([f"y_{a}" for a in range(n)], [f"y_{a}" for a in range(n)])
        store = [
            f"{self._at(c.motion.velocity, c)} = {self._real(c.motion.velocity)}(y_{a})"
            for a, c in enumerate(self.components)
        ]
        body = [
            *lines,
            *self._loop(newton),
            "if failed[g] < 0:",
            *indented([*store, "pass"]),
        ]
        return self._code(dealt_in_groups("g", "failed.shape[0]", body), arrays)

    def _code(self, lines: Sequence[str], arrays: Mapping[str, Any]) -> Code:
        text = "\n".join([*lines, ""])
        named = {f"f_{n}": f.array for n, f in self.fields.items()} | self.arrays | dict(arrays)
        used = words(text)
        return Code(text, {name: array for name, array in named.items() if name in used})

    # A step

    def _start(self) -> Iterator[str]:
        """The state at the start, and displacements that continue the last polynomial."""
        n, s = self.size, self.degree
        yield "begin = t0 + (first + ti.cast(k, ti.f64)) * dt"
        yield "ratio = dt / length[g]"
        yield "rest = ti.f64(1.0) / dt"
        for a, c in enumerate(self.components):
            yield f"q_{a} = ti.f64({self._at(c.motion.position, c)})"
        factors = self._continuation()
        for m, d in enumerate(self.galerkin.nodes[1:]):
            yield f"far = ratio * {f64(d)}"
            for k, row in enumerate(factors):
                text = " + ".join(f"{f64(f)}{' * far' * (e + 1)}" for e, f in enumerate(row))
                yield f"w_{k} = {text}"
            for a in range(n):
                text = " + ".join(f"w_{k} * last[g, {k * n + a}]" for k in range(s))
                yield f"u_{m * n + a} = {text}"
                yield from self._if_held(a, [f"u_{m * n + a} = {f64(0.0)}"])

    def _continuation(self) -> np.ndarray:
        """Coefficients (s, s) of x, x^2, ... in l_m(1 + x) - l_m(1), for m = 1, ..., s."""
        s = self.degree
        at = np.arange(1.0, s + 1)
        values = np.array([(self.galerkin.shape(1.0 + x) - self.galerkin.shape(1.0))[1:] for x in at])
        return np.linalg.solve(np.vander(at, s + 1, increasing=True)[:, 1:], values).T

    def _iterations(self) -> list[str]:
        n, s = self.size, self.degree
        lines = [
            f"r_{m * n + a} = {f'p[g, {a}]' if m == 0 else f64(0.0)}" for m in range(s) for a in range(n)
        ]
        lines += [f"A_{a}_{b} = {f64(0.0)}" for a in range(s * n) for b in range(s * n)]
        for i in range(s):
            lines += self._point(i, second=True)
            lines += self._added(i)
        lines += [*self._rows_of_held(s * n), *gaussian_elimination(s * n)]
        lines += [f"u_{a} -= r_{a}" for a in range(s * n)]
        lines += self._judged([f"u_{a}" for a in range(s * n)], [f"q_{a}" for a in range(n)])
        return self._loop(lines)

    def _loop(self, lines: Sequence[str]) -> list[str]:
        """Newton's iterations, until they are judged to have ended."""
        return [
            "going, count = 1, 0",
            f"before = {f64(1e300)}",
            "while going == 1:",
            *indented(lines),
        ]

    def _judged(self, unknowns: Sequence[str], extent: Sequence[str]) -> list[str]:
        """The end of the iterations as `Convergence` has it, or the mark of a failure."""
        lines = [f"size, most, far, whole = {f64(0)}, {f64(0)}, {f64(0)}, {f64(0)}"]
        for k, name in enumerate(unknowns):
            lines += [f"size = ti.max(size, ti.abs(r_{k}))", f"most = ti.max(most, ti.abs({name}))"]
            lines.append(f"whole += ti.abs(r_{k})")
        lines += [f"far = ti.max(far, ti.abs({name}))" for name in extent]
        return [
            *lines,
            "count += 1",
            f"if size <= {f64(ROUNDED * self.eps)} * most:",
            "    going = 0",
            f"if size <= {f64(FLOOR * self.eps)} * (most + far) and size >= {f64(0.5)} * before:",
            "    going = 0",
            "before = size",
            f"if (going == 1 and count >= {Convergence.MOST}) or {BAD.format('whole')}:",
            "    going = 0",
            "    failed[g] = 0",
        ]

    def _end(self) -> list[str]:
        """The slopes at the solution, the new state and the flows of energy."""
        n, s, g = self.size, self.degree, self.galerkin
        lines = [f"m_{a} = {f64(0.0)}" for a in range(n)]
        lines += [f"work, lost, whole = {f64(0.0)}, {f64(0.0)}, {f64(0.0)}"]
        for i in range(s):
            lines += self._point(i, second=False)
            lines += [f"m_{a} += {f64(g.weights[i])} * dt * G_{a}" for a in range(n)]
        last = (s - 1) * n
        lines += [f"whole += ti.abs(m_{a}) + ti.abs(q_{a} + u_{last + a})" for a in range(n)]
        store = []
        for a, c in enumerate(self.components):
            at, real = self._at(c.motion.position, c), self._real(c.motion.position)
            one = [f"{at} = {real}(q_{a} + u_{last + a})"]
            store += [f"if free[g, {a}] > {f64(0.5)}:", *indented(one)] if self.held else one
            store.append(f"p[g, {a}] += m_{a}")
        store += [f"last[g, {a}] = u_{a}" for a in range(s * n)]
        store += ["length[g] = dt", "flows[g, 0] += work", "flows[g, 1] += lost"]
        judged = [f"if {BAD.format('whole')}:", "    failed[g] = 0", "if failed[g] < 0:", *indented(store)]
        return ["if failed[g] < 0:", *indented([*lines, *judged])]

    def _point(self, i: int, second: bool) -> list[str]:
        """x, y, G, P and K at a point of the quadrature; without K also work and dissipated energy."""
        n, g = self.size, self.galerkin
        lines = [f"t = begin + {f64(g.points[i])} * dt"]
        for a in range(n):
            of_x = "".join(f" + {f64(g.values[i, m + 1])} * u_{m * n + a}" for m in range(self.degree))
            of_y = " + ".join(f"{f64(g.slopes[i, m + 1])} * u_{m * n + a}" for m in range(self.degree))
            lines += [f"x_{a} = q_{a}{of_x}", f"y_{a} = ({of_y}) * rest"]
        lines += self._zeros("G", "P")
        self._touched.clear()
        terms: list[str] = []
        for letter, statements, one in self.terms:
            blocks = {"L": ("Gq", "Gv", "Pq", "Pv"), "U": ("Gq",), "R": ("Gq", "Gv")}[letter]
            names = {b: b + "_{a}_{b}" for b in blocks} if second else {}
            terms += self._term(letter, statements, one, names, weight=g.weights[i])
        return [*lines, *(f"{b}_{r}_{c} = {f64(0.0)}" for b, r, c in sorted(self._touched)), *terms]

    def _zeros(self, *letters: str) -> list[str]:
        return [f"{letter}_{a} = {f64(0.0)}" for letter in letters for a in range(self.size)]

    def _term(
        self,
        letter: str,
        statements: ElementStatements,
        one: Placed,
        blocks: Mapping[str, str],
        slopes: str = "GP",
        weight: float = 0.0,
    ) -> list[str]:
        """Adds a term's part to G and P, and to the blocks of K: templates by name."""
        leaves, place, rates = self._leaves(statements, one)
        count, sign = len(leaves), SIGN[letter]
        local = {leaf: f"{'y' if rates[k] else 'x'}_{place[k]}" for k, leaf in enumerate(leaves)}

        def target(k: int) -> str | None:
            """G or P that a derivative by a leaf belongs to; of R those by rates are G."""
            if letter == "R":
                return "G" if rates[k] else None
            return "P" if rates[k] else "G"

        first = [k for k in range(count) if (target(k) or " ") in slopes]
        timed = not blocks and weight > 0.0 and letter != "R" and statements.term.uses_time

        def wanted(i: int, j: int) -> bool:
            return any(self._name(target, rates, a, b) in blocks for a, b in ((i, j), (j, i)))

        found = statements.derivative_statements(leaves, local, first, wanted if blocks else None, timed)
        lines = [f"{target(k)}_{place[k]} += {f64(sign)} * ti.f64({text})" for k, text in found.first.items()]
        for (i, j), text in found.second.items():
            name = self._name(target, rates, i, j)
            if name in blocks:
                entry = blocks[name].format(a=place[i], b=place[j])
                self._note(name, place[i], place[j])
                lines.append(f"{entry} += {f64(sign)} * ti.f64({text})")
        step = f"{f64(weight)} * dt"
        if timed and found.rate:
            lines.append(f"work -= {step} * {f64(sign)} * ti.f64({found.rate})")
        if letter == "R" and not blocks:
            for k, text in found.first.items():
                free = f" * free[g, {place[k]}]" if self.held else ""
                lines.append(f"lost += {step} * ti.f64({text}) * y_{place[k]}{free}")
        own = f"{statements.prefix}at"
        self.arrays[own] = storage.allocate(one.element) if own not in self.arrays else self.arrays[own]
        nodes = [f"n{slot} = nodes[g, {at}]" for slot, at in enumerate(one.slots)]
        inner = [*nodes, *found.lines, *lines, "pass"]
        self.arrays |= statements.arrays_of(inner)
        return [f"e = {own}[g]", "if e >= 0:", *indented(inner)]

    def _note(self, name: str, row: int, column: int) -> None:
        self._touched.add((name, row, column))

    @staticmethod
    def _name(target: Any, rates: Sequence[bool], i: int, j: int) -> str:
        return f"{target(i)}{'v' if rates[j] else 'q'}"

    def _leaves(self, statements: ElementStatements, one: Placed) -> tuple[list[Leaf], list[int], list[bool]]:
        """The leaves of a term that are coordinates or rates, their components of the block, and which."""
        leaves: list[Leaf] = []
        place: list[int] = []
        rates: list[bool] = []
        for argument, field in statements.term.fields.items():
            for slot in statements.term.slots(argument):
                for k, c in enumerate(self.components):
                    names = c.motion.position, c.motion.velocity
                    if c.place == one.slots[slot] and field.name in names:
                        leaves.append((argument, slot, c.index))
                        place.append(k)
                        rates.append(field.name == names[1])
        return leaves, place, rates

    def _added(self, i: int) -> list[str]:
        """Adds a point's part to the left sides and their matrix."""
        n, s, g = self.size, self.degree, self.galerkin
        b, of_q, of_v = g.weights[i], g.values[i], g.slopes[i]
        lines = []
        for m in range(s):
            for a in range(n):
                lines.append(f"r_{m * n + a} += {f64(b * of_q[m])} * dt * G_{a} + {f64(b * of_v[m])} * P_{a}")
        for name, row, column in sorted(self._touched):
            for m in range(s):
                for k in range(s):
                    left = of_v[m] if name[0] == "P" else of_q[m]
                    right = of_v[k + 1] if name[1] == "v" else of_q[k + 1]
                    scale = {"Gq": " * dt", "Pv": " * rest"}.get(name, "")
                    entry = f"A_{m * n + row}_{k * n + column}"
                    lines.append(f"{entry} += {f64(b * left * right)}{scale} * {name}_{row}_{column}")
        return lines

    # Held components

    def _if_held(self, a: int, lines: Sequence[str]) -> list[str]:
        return [f"if free[g, {a}] < {f64(0.5)}:", *indented(lines)] if self.held else []

    def _rows_of_held(self, rows: int) -> list[str]:
        """Equations 'no change' in the place of those of held components."""
        lines = []
        for row in range(rows):
            own = [f"A_{row}_{k} = {f64(float(k == row))}" for k in range(rows)]
            lines += self._if_held(row % self.size, [f"r_{row} = {f64(0.0)}", *own])
        return lines

    def _at(self, field: str, c: Component) -> str:
        inside = "".join(f", {k}" for k in c.index)
        return f"f_{field}[nodes[g, {c.place}]{inside}]"

    def _real(self, field: str) -> str:
        return f"ti.{storage.ENGINE_DTYPES[self.fields[field].dtype.name]}"
