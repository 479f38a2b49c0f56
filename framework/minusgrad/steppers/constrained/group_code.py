"""The text of kernels that project small groups of equations, a group in each turn of a loop.

Newton's method, written out for the m equations and D components of a group. Locals: x_a, w_a a component
and its inverse mass, o_i_a the Jacobian where the drift began and d_i_a that at x, g_i and L_i an equation
and its impulse, A and r the system of an iteration (`codegen.one_thread.small_systems`):

    x = y - h W G0^T L,    (G W G0^T) dL = g / h        y: the end of the drift

until |g_i| / (|G0_i| X) is a few roundings, or no longer falls by half and is 64 of them (X: `extent`).
Positions are rounded as the field is, before g is evaluated there. Groups end their iterations by themselves.

Decisions 0378.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ...codegen.element_statements import ElementStatements, Leaf
from ...codegen.one_thread.small_systems import f64, gaussian_elimination
from ...codegen.statements import indented
from ...energies.fields import Field
from ...engine import storage
from ...engine.kernels import Code, dealt_in_groups, on_one_thread, real, words
from ...potential.constraints.equations import Equations
from .group_kinds import BoundElement, GroupKind

BAD = "ti.math.isnan({0}) or ti.math.isinf({0})"


class GroupCode:
    """The loops of one kind of groups, named by its number.

    positions, velocities: the fields that move, in the order of the equations' columns. held: some components
    are held, and not written. shared: arrays of all kinds: rows, weights, given, rates, extent.
    """

    def __init__(
        self,
        number: int,
        kind: GroupKind,
        equations: Equations,
        positions: Sequence[Field],
        velocities: Sequence[Field],
        held: bool,
        shared: Mapping[str, Any],
    ):
        self.kind, self.equations, self.held = kind, equations, held
        self.positions, self.velocities = list(positions), list(velocities)
        self.eps = float(np.finfo(positions[0].dtype).eps)
        self.table, self.marks = f"table_{number}", f"marks_{number}"
        self.arrays: dict[str, Any] = {
            **shared,
            self.table: storage.allocate(kind.table),
            self.marks: storage.allocate(np.zeros((len(kind.table), 2), np.int32)),
        }
        self.arrays |= {f"f_{f.name}": f.array for f in [*positions, *velocities]}
        self.components = [
            (place, field, index)
            for place, field in enumerate(kind.fields)
            for index in product(*map(range, positions[field].shape[1:]))
        ]
        self.starts = np.concatenate([[0], np.cumsum([p.columns.size for p in equations.parts.values()])])
        self.parts = list(equations.parts.values())
        self._numbers = {(p, f, i): a for a, (p, f, i) in enumerate(self.components)}
        self.bound = [self._columns(one) for one in kind.elements]
        self.statements = [
            ElementStatements(self.parts[one.constraint].term).with_prefix(f"k{number}_{k}_")
            for k, one in enumerate(kind.elements)
        ]

    # Kernels

    def jacobian(self, least: float) -> Code:
        """Loops that store the rows of G at the present positions (scalar t).

        They mark groups in which a pivot of G W G^T is no more than `least` of its diagonal.
        """
        lines = [*self._loaded("x", self.positions), *self._weights(), *self._declared(), *self._evaluated()]
        lines += [
            f"rows[{self._place(k)} + {c}] = d_{k}_{a}"
            for k, own in enumerate(self.bound)
            for c, a in enumerate(own)
        ]
        return self._code([*lines, *self._matrix("d"), *self._pivots(least)])

    def moved(self, solved_at: float, rounded_at: float, most: int) -> Code:
        """Loops that project positions after a drift (scalars h, t), with the impulses in `given`."""
        m, size = len(self.bound), len(self.components)
        lines = [
            *self._loaded("y", self.positions),
            *self._weights(),
            *self._rows_loaded("o"),
            *self._declared(),
        ]
        for k in range(m):
            square = " + ".join(f"o_{k}_{a} * o_{k}_{a}" for a in self._own(k))
            lines += [
                f"s_{k} = ti.f64(1.0) / (ti.sqrt({square}) * extent[0])",
                f"L_{k} = given[{self._number(k)}]",
            ]
        lines += [*(f"x_{a} = y_{a}" for a in range(size)), *self._placed()]
        lines += ["going, count = 1, 0", f"before = {f64(1e300)}", "while going == 1:"]
        worst, whole = [f"worst, whole, at = {f64(0.0)}, {f64(0.0)}, 0"], []
        for k in range(m):
            worst += [f"off = ti.abs(g_{k}) * s_{k}", "if off > worst:", "    worst = off", f"    at = {k}"]
            whole.append("whole += off")
            worst.append(whole[-1])
        judged = [
            f"if worst <= {f64(solved_at * self.eps)}:",
            "    going = 0",
            f"if worst <= {f64(rounded_at * self.eps)} and worst > {f64(0.5)} * before:",
            "    going = 0",
            f"if (going == 1 and count >= {most}) or {BAD.format('whole')}:",
            "    going = 0",
            f"    {self.marks}[g, 0] = at + 1",
        ]
        newton = ["before = worst", "count += 1", *self._matrix("o")]
        newton += [f"r_{k} = g_{k} / h" for k in range(m)]
        newton += [
            *gaussian_elimination(m, exchanged=False),
            *(f"L_{k} += r_{k}" for k in range(m)),
            *self._placed(),
        ]
        lines += indented([*self._evaluated(), *worst, *judged, "if going == 1:", *indented(newton)])
        lines.append(f"{self.marks}[g, 1] = count")
        lines += self._stored("x", self.positions)
        lines += [f"v_{a} = ti.f64({self._at(a, self.velocities)})" for a in range(size)]
        lines += [f"v_{a} -= w_{a} * ({self._pull('o', 'L', a)})" for a in range(size)]
        lines += [
            *self._stored("v", self.velocities),
            *(f"given[{self._number(k)}] = L_{k}" for k in range(m)),
        ]
        return self._code(lines)

    def tangent(self) -> Code:
        """Loops that make velocities tangent, with dg/dt at rest in `rates`; the impulses go to `given`."""
        m, size = len(self.bound), len(self.components)
        lines = [*self._loaded("v", self.velocities), *self._weights(), *self._rows_loaded("d")]
        for k in range(m):
            along = "".join(f" + d_{k}_{a} * v_{a}" for a in self._own(k))
            lines.append(f"r_{k} = rates[{self._number(k)}]{along}")
        lines += [*self._matrix("d"), *gaussian_elimination(m, exchanged=False)]
        lines += [f"v_{a} -= w_{a} * ({self._pull('d', 'r', a)})" for a in range(size)]
        lines += [
            *self._stored("v", self.velocities),
            *(f"given[{self._number(k)}] = r_{k}" for k in range(m)),
        ]
        return self._code(lines)

    def _code(self, lines: Sequence[str]) -> Code:
        text = "\n".join([*dealt_in_groups("g", f"{self.table}.shape[0]", lines), ""])
        used = words(text)
        code = Code(text, {name: array for name, array in self.arrays.items() if name in used})
        return on_one_thread(code, len(self.kind.table) * len(lines))

    # Parts of them

    def _columns(self, one: BoundElement) -> list[int]:
        """The component of each number of an element's row of G."""
        part, found = self.parts[one.constraint], []
        for argument in part.arguments:
            field = self.equations.names.index(part.term.fields[argument].name)
            for member in one.members[argument]:
                for index in product(*map(range, self.positions[field].shape[1:])):
                    found.append(self._numbers[member, field, index])
        return found

    def _own(self, k: int) -> list[int]:
        """The components that an equation binds, each once."""
        return sorted(set(self.bound[k]))

    def _place(self, k: int) -> str:
        """Where an equation's row of G begins."""
        one = self.kind.elements[k]
        length = self.parts[one.constraint].columns.shape[1]
        return f"{self.starts[one.constraint]} + {self.table}[g, {one.element}] * {length}"

    def _number(self, k: int) -> str:
        one = self.kind.elements[k]
        return f"{self.equations.first[one.constraint]} + {self.table}[g, {one.element}]"

    def _at(self, a: int, fields: Sequence[Field]) -> str:
        place, field, index = self.components[a]
        inside = "".join(f", {k}" for k in index)
        return f"f_{fields[field].name}[{self.table}[g, {place}]{inside}]"

    def _loaded(self, letter: str, fields: Sequence[Field]) -> list[str]:
        return [f"{letter}_{a} = ti.f64({self._at(a, fields)})" for a in range(len(self.components))]

    def _stored(self, letter: str, fields: Sequence[Field]) -> Iterator[str]:
        for a, (_, field, _) in enumerate(self.components):
            line = f"{self._at(a, fields)} = {real(fields[field].dtype)}({letter}_{a})"
            yield from [f"if w_{a} > {f64(0.0)}:", *indented([line])] if self.held else [line]

    def _weights(self) -> list[str]:
        sizes = [prod(f.shape[1:]) for f in self.positions]
        begins = np.concatenate([[0], np.cumsum(self.equations.sizes)])
        lines = []
        for a, (place, field, index) in enumerate(self.components):
            inside = int(np.ravel_multi_index(index, self.positions[field].shape[1:])) if index else 0
            at = f"{begins[field] + inside} + {self.table}[g, {place}] * {sizes[field]}"
            lines.append(f"w_{a} = weights[{at}]")
        return lines

    def _rows_loaded(self, letter: str) -> list[str]:
        """The rows of G that are stored, as locals; a component that an element binds twice has the sum."""
        lines = []
        for k, own in enumerate(self.bound):
            lines.append(f"p = {self._place(k)}")
            for a in self._own(k):
                text = " + ".join(f"rows[p + {c}]" for c, b in enumerate(own) if a == b)
                lines.append(f"{letter}_{k}_{a} = {text}")
        return lines

    def _declared(self) -> list[str]:
        """Locals that iterations overwrite."""
        lines = [f"g_{k} = {f64(0.0)}" for k in range(len(self.bound))]
        return lines + [f"d_{k}_{a} = {f64(0.0)}" for k in range(len(self.bound)) for a in self._own(k)]

    def _evaluated(self) -> list[str]:
        """g and d at x."""
        lines = []
        for k, one in enumerate(self.kind.elements):
            leaves, places = self._leaves(one)
            local = {leaf: f"x_{a}" for leaf, a in zip(leaves, places, strict=True)}
            found = self.statements[k].derivative_statements(leaves, local, range(len(leaves)), value=True)
            nodes = [f"n{slot} = {self.table}[g, {column}]" for slot, column in enumerate(one.slots)]
            own = [f"e = {self.table}[g, {one.element}]", *nodes, *found.lines]
            self.arrays |= self.statements[k].arrays_of([*own, found.value])
            lines += [*own, f"g_{k} = ti.f64({found.value})"]
            for a in self._own(k):
                texts = [
                    f"ti.f64({found.first[n]})" for n, b in enumerate(places) if a == b and n in found.first
                ]
                lines.append(f"d_{k}_{a} = {' + '.join(texts) or f64(0.0)}")
        return lines

    def _leaves(self, one: BoundElement) -> tuple[list[Leaf], list[int]]:
        """The leaves of an element that are moving components, and the numbers of these."""
        part, leaves, places = self.parts[one.constraint], list[Leaf](), list[int]()
        for argument in part.arguments:
            field = self.equations.names.index(part.term.fields[argument].name)
            for slot, member in zip(part.term.slots(argument), one.members[argument], strict=True):
                for index in product(*map(range, self.positions[field].shape[1:])):
                    leaves.append((argument, slot, index))
                    places.append(self._numbers[member, field, index])
        return leaves, places

    def _matrix(self, other: str) -> list[str]:
        """A = d W o^T, or d W d^T."""
        lines, count = [], range(len(self.bound))
        for i, j in product(count, count):
            both = [a for a in self._own(i) if a in self._own(j)]
            text = " + ".join(f"d_{i}_{a} * w_{a} * {other}_{j}_{a}" for a in both)
            lines.append(f"A_{i}_{j} = {text or f64(0.0)}")
        return lines

    def _pull(self, rows: str, impulses: str, a: int) -> str:
        own = [k for k in range(len(self.bound)) if a in self._own(k)]
        return " + ".join(f"{rows}_{k}_{a} * {impulses}_{k}" for k in own) or f64(0.0)

    def _placed(self) -> list[str]:
        """x = y - h W G0^T L, rounded as the field."""
        lines = []
        for a, (_, field, _) in enumerate(self.components):
            moved = f"y_{a} - h * (w_{a} * ({self._pull('o', 'L', a)}))"
            lines.append(f"x_{a} = ti.f64({real(self.positions[field].dtype)}({moved}))")
        return lines

    def _pivots(self, least: float) -> list[str]:
        """Marks a group whose matrix A has a pivot that is no more than so much of its diagonal."""
        count = range(len(self.bound))
        lines = [*(f"s_{k} = A_{k}_{k}" for k in count), *(f"r_{k} = {f64(0.0)}" for k in count)]
        lines += [*gaussian_elimination(len(self.bound), exchanged=False), "bad = 0"]
        for k in count:
            lines += [f"if not (A_{k}_{k} > {f64(least)} * s_{k}):", "    bad = 1"]
        return [*lines, f"{self.marks}[g, 0] = bad"]
