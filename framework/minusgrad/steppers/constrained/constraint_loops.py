"""Loops over all constraints inside a kernel: a whole projection, and what the next one needs.

    rows      G, scale[e] = 1 / |G_e|, rates[e] = dg_e/dt, then A = G W G^T and its factors
    onto      x <- x - h W G0^T L,  v <- v - W G0^T L,  L such that g(x, t) = 0: simplified Newton
    tangent   v <- v - W G^T M,     A M = G v + dg/dt

One thread executes them in order. They read the locals `h`, the length of the drift, and `t`, the time at its
end. `failed[0]` stays -1, or says why g is not zero to rounding, or why the factors are of no use.

Decisions 0379.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.element_statements import ElementStatements, Leaf
from ...codegen.statements import indented
from ...energies.fields import Field
from ...engine import storage
from ...engine.kernels import Code
from ...potential.constraints.element_equations import ElementEquations
from ...potential.constraints.equations import Equations
from .gram_matrix import GramMatrix
from .impulses import Impulses
from .incidence import Entries
from .limits import MOST, ROUNDED, SINGULAR, SLOW, SOLVED

BAD, LATE, DEPENDENT = 0, 1, 2
"""Why a projection failed: numbers that are not finite, slow iterations, singular pivots."""
NOT_FINITE = "ti.math.isnan({0}) or ti.math.isinf({0})"


class ConstraintLoops:
    """The loops of all constraints. arrays: rows, scale, impulses, failed and iterations; rates where a
    constraint is driven, and `driven`, as `Projections` has it, where something is.

    velocities: of each of the entries' fields. masks: of the free components, by field.
    """

    def __init__(
        self,
        equations: Equations,
        every: Sequence[Entries],
        gram: GramMatrix,
        impulses: Impulses,
        arrays: Mapping[str, Any],
        velocities: Sequence[Field],
        masks: Mapping[str, Any],
    ):
        self.equations, self._every, self._impulses, self._gram = equations, every, impulses, gram
        self._arrays = {**arrays, "right": gram.factors.b, "found": gram.factors.x}
        self._velocities = {e.field.name: v for e, v in zip(every, velocities, strict=True)}
        self._masks, self._names = dict(masks), dict[int, str]()
        self._apart = all(_slots_apart(part) for part in equations.parts.values())
        if self._apart:  # then entries of the diagonal of A are sums over one element
            made = storage.allocate(gram.diagonals.astype(np.int32))
            self._arrays |= {"a": gram.factors.a, "diagonals": made}
        dtype = equations.fields.dtype
        self._eps, self._singular = float(np.finfo(dtype).eps), SINGULAR[dtype.name]
        self._emitters = [
            ElementStatements(part.term).with_prefix(f"constraint{k}_")
            for k, part in enumerate(equations.parts.values())
        ]

    @property
    def statements(self) -> float:
        """About how many statements a projection and the factors after it execute."""
        lines = sum(code.text.count("\n") for code in (self.rows(), self.onto(), self.onto()))
        fill = np.diff(self._gram.factors.symbolic.begin).astype(float)
        return lines * self.equations.count + 10.0 * float((fill * fill).sum())

    def rows(self) -> Code:
        """The Jacobian at the present positions, A and its factors; `failed` where A is singular."""
        pieces, start = [], 0
        for part, emitter, first in self._parts():
            leaves, length = _leaves(part), part.columns.shape[1]
            timed = "rates" in self._arrays and part.term.uses_time
            found = emitter.derivative_statements(leaves, {}, range(length), rate=timed)
            lines = [f"p = {start} + e * {length}", "s, y = ti.f64(0.0), ti.f64(0.0)"]
            for c, leaf in enumerate(leaves):
                lines += [f"g = ti.f64({found.first.get(c, '0.0')})", f"rows[p + {c}] = g", "s += g * g"]
                lines += [f"y += {self._weight(part, leaf)} * g * g"] * self._apart
            lines += [f"a[diagonals[{first} + e]] = y"] * self._apart
            lines.append(f"scale[{first} + e] = ti.f64(1.0) / ti.sqrt(s)")
            if timed:
                lines.append(f"rates[{first} + e] = ti.f64({found.rate or '0.0'})")
            if "driven" in self._arrays:
                lines.append(f"s = rates[{first} + e]" if timed else "s = ti.f64(0.0)")
                lines += self._by_supports(part, leaves)
                lines.append(f"driven[{first} + e] = s")
            pieces.append(self._over(emitter, part, [*found.lines, *lines]).naming(**self._held(part)))
            start += part.count * length
        factors = self._gram.factors
        judged = (
            "least, whole = ti.f64(1.0), ti.f64(0.0)\n"
            "for i in range(pivot.shape[0]):\n"
            "    least = ti.min(least, pivot[i] / a[of_row[i + 1] - 1])\n"
            "    whole += pivot[i]\n"
            f"if least <= {self._singular!r} or {NOT_FINITE.format('whole')}:\n    failed[0] = {DEPENDENT}\n"
        )
        named = {n: factors.arrays[n] for n in ("pivot", "a", "of_row")}
        code = Code(judged, {**named, "failed": self._arrays["failed"]})
        gram = self._gram.couplings if self._apart else self._gram.code
        return Code.joined([*pieces, *map(self._named, (gram, factors.codes["factor"], code))])

    def onto(self) -> Code:
        """From a drift's end onto g = 0, beginning with the impulses in `found`."""
        kept = self.code("for e in range(impulses.shape[0]):\n    impulses[e] = found[e]\n")
        added = self.code("for e in range(impulses.shape[0]):\n    impulses[e] = impulses[e] + found[e]\n")
        move = self._named(self._impulses.codes["move"])
        extent = Code.joined([Code("far = ti.f64(0.0)\n"), *self._extents()])
        begin = (
            "if far == 0.0:\n    far = 1.0\n"
            "rest = ti.f64(1.0) / h\n"
            "going, turns, before = ti.select(h == 0.0, 0, 1), 0, ti.f64(1e300)\n"
        )
        solve = self._named(self._gram.factors.codes["solve"])
        counted = self.code(
            "before = worst\ngoing = 2 - going\nturns += 1\niterations[0] = iterations[0] + 1\n"
        )
        moved = Code.joined([solve, added, move, counted]).inside("if going > 0:")
        turn = Code.joined([self._values(), self._judged(), moved])
        return Code.joined([kept, move, extent, Code(begin), turn.inside("while going > 0:")])

    def tangent(self) -> Code:
        """Tangent velocities; the impulses are in `found`."""
        rates = "rates[e]" if "rates" in self._arrays else "ti.f64(0.0)"
        begin = self.code(f"for e in range(right.shape[0]):\n    right[e] = {rates}\n")
        solve = self._gram.factors.codes["solve"]
        rest = (self._impulses.codes["rate"], solve, self._impulses.codes["kick"])
        return Code.joined([begin, *map(self._named, rest)])

    # Parts of the loops

    def _by_supports(self, part: ElementEquations, leaves: Sequence[Leaf]) -> Iterator[str]:
        """Adds the part of G v by held components to s."""
        for c, (argument, slot, component) in enumerate(leaves):
            name = part.term.fields[argument].name
            if name in self._masks:
                at, v = f"[n{slot}{''.join(f', {k}' for k in component)}]", self._velocities[name].name
                yield f"s += rows[p + {c}] * (ti.f64(1.0) - ti.f64(free_{name}{at})) * ti.f64(f_{v}{at})"

    def _weight(self, part: ElementEquations, leaf: Leaf) -> str:
        """The inverse mass of a number of an element."""
        argument, slot, component = leaf
        field = part.term.fields[argument]
        entries = next(e for e in self._every if e.field is field)
        place = int(np.ravel_multi_index(component, field.shape[1:])) if component else 0
        return f"weights[{entries.first + place} + n{slot} * {entries.width}]"

    def _held(self, part: ElementEquations) -> dict[str, Any]:
        """The arrays that `_by_supports` names."""
        fields = {part.term.fields[a].name for a in part.arguments} & {*self._masks}
        arrays = {f"free_{n}": self._masks[n] for n in fields} if "driven" in self._arrays else {}
        return arrays | {f"f_{v.name}": v.array for n, v in self._velocities.items() if f"free_{n}" in arrays}

    def _values(self) -> Code:
        """right = g / h, and `worst`, the largest violation; `whole` is not finite where one is not."""
        pieces = [Code("worst, whole = ti.f64(0.0), ti.f64(0.0)\n")]
        for part, emitter, first in self._parts():
            found = emitter.derivative_statements([], {}, [], value=True)
            lines = [
                *found.lines,
                f"g = ti.f64({found.value or '0.0'})",
                f"right[{first} + e] = g * rest",
                f"g = ti.abs(g) * scale[{first} + e]",
                "whole += g",
                "worst = ti.max(worst, g)",
            ]
            pieces.append(self._over(emitter, part, lines))
        return Code.joined(pieces)

    def _judged(self) -> Code:
        """Whether iterations go on: `going` is 1, or 2 before one that need not be judged.

        The violation after it would be worst^2 / before, as iterations converge linearly.
        """
        eps = self._eps
        return self.code(
            "worst = worst / far\n"
            f"if {NOT_FINITE.format('whole')}:\n    going, failed[0] = 0, {BAD}\n"
            f"elif worst <= {SOLVED * eps!r} or (worst <= {ROUNDED * eps!r} and worst > 0.5 * before):\n"
            "    going = 0\n"
            f"elif turns >= {MOST} or (worst > {SLOW!r} * before and worst > {ROUNDED * eps!r}):\n"
            f"    going, failed[0] = 0, {LATE}\n"
            f"elif turns > 0 and worst * worst <= {0.5 * SOLVED * eps!r} * before:\n    going = 2\n"
        )

    def _extents(self) -> Iterator[Code]:
        """`far`: the largest coordinate of a node with constraints."""
        for entries in self._every:
            if not len(entries.node):
                continue
            name, shape = entries.field.name, entries.field.shape[1:]
            places = [", ".join(["n", *map(str, c)]) for c in np.ndindex(tuple(shape))]
            lines = [f"for k in range(node_{name}.shape[0]):", f"    n = node_{name}[k]"]
            lines += [f"    far = ti.max(far, ti.abs(ti.f64(f_{name}[{at}])))" for at in places]
            nodes = self._impulses.codes["move"].arrays[f"node_{name}"]
            arrays = {f"node_{name}": nodes, f"f_{name}": entries.field.array}
            yield self._named(Code("".join(f"{line}\n" for line in lines), arrays))

    def _parts(self) -> Iterator[tuple[ElementEquations, ElementStatements, int]]:
        return zip(self.equations.parts.values(), self._emitters, self.equations.first.tolist(), strict=False)

    def _over(self, emitter: ElementStatements, part: ElementEquations, lines: Sequence[str]) -> Code:
        """A loop over the elements e of one constraint, with its nodes n0, n1, ..."""
        nodes = f"{emitter.prefix}nodes"
        inner = [*(f"n{s} = {nodes}[e, {s}]" for s in range(part.term.arity)), *lines]
        text = "\n".join([f"for e in range({nodes}.shape[0]):", *indented(inner), ""])
        code = self.code(text)
        return Code(code.text, {**code.arrays, **emitter.arrays_of(text.splitlines())})

    def code(self, text: str) -> Code:
        """A text with the arrays that it names."""
        used = {*re.findall(r"\w+", text)}
        return self._named(Code(text, {n: array for n, array in self._arrays.items() if n in used}))

    def _named(self, code: Code) -> Code:
        """The same loops with one name for each array, whatever the loops call it; those of fields stay."""
        new = {name: self._name(name, array) for name, array in code.arrays.items()}
        text = re.sub(r"\w+", lambda word: new.get(word[0], word[0]), code.text)
        return Code(text, {new[name]: array for name, array in code.arrays.items()})

    def _name(self, name: str, array: Any) -> str:
        if name.startswith("f_"):
            return name
        return self._names.setdefault(id(array), f"c{len(self._names)}_{name}")


def _slots_apart(part: ElementEquations) -> bool:
    """True if no element has a node of one field twice."""
    by_field: dict[str, list[np.ndarray]] = {}
    for argument in part.arguments:
        by_field.setdefault(part.term.fields[argument].name, []).append(part.nodes[argument])
    every = (np.sort(np.concatenate(nodes, axis=1), axis=1) for nodes in by_field.values())
    return all((nodes[:, 1:] > nodes[:, :-1]).all() for nodes in every)


def _leaves(part: ElementEquations) -> list[Leaf]:
    """The numbers of an element that its equation is differentiated by, in the order of its columns."""
    return [
        (argument, slot, component)
        for argument in part.arguments
        for slot in part.term.slots(argument)
        for component in np.ndindex(tuple(part.term.fields[argument].shape[1:]))
    ]
