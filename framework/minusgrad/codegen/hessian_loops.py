"""The loops of element Hessians: per element the lower half of d2u/(da db), row by row.

    entry (i, j), j <= i, is stored at i (i + 1) / 2 + j;  rows are ordered by (argument, slot, component)

Only the lower half is computed, so that matrices assembled from it are symmetric bit for bit. Column j is the
tangent of du/da along the unit tangent of row j. Where u depends on a field through F = sum_a x_a (x) w_a
alone, only the second derivatives in the few components of F are written out, and loops over the nodes give

    H_(a c)(b d) = sum over k and l of w_ak  d2u/(dF_ck dF_dl)  w_bl

Written out in full, the Hessian of a cell of eight nodes takes ten seconds to compile; this takes one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..energies.term import in_blocks
from ..engine import lane_blocks, storage
from ..engine.kernels import Code
from ..symbolic import differentiation, ties
from ..symbolic.graph import inputs, reachable
from ..symbolic.scalar import Scalar
from .element_samples import Number, at_rows
from .kernel_verification import compare
from .lane_loops import Lanes
from .statements import indented, subscript
from .term_loops import Emitter
from .tracing import Trace


class HessianLoops(Emitter):
    """The loops of one term's element Hessians, over the same arrays as the loops of `emitter`.

    They run element by element, also where the other loops of the elements are over targets.
    """

    def __init__(self, emitter: Emitter):
        term, arrays = emitter.term, dict(emitter._arrays)
        if emitter.loop.per_target:
            arrays = {name: array for name, array in arrays.items() if name not in term.elements.arrays()}
            term = term.one_by_one()
        super().__init__(term, arrays)
        self._traced: Trace | None = None
        self._straight_entries: list[Scalar] = []

    def size(self, arguments: Sequence[str]) -> int:
        """m: how many rows an element's Hessian has."""
        return sum(len(self.term.slots(a)) * self._width(a) for a in arguments)

    def _width(self, argument: str) -> int:
        return prod(self.term.fields[argument].shape[1:])

    def hessians(self, arguments: Sequence[str]) -> tuple[Code, Any]:
        """Loops over the elements, and the buffer they fill: (E, m (m + 1) / 2) in rows or blocks."""
        name, m = self._name(arguments), self.size(arguments)
        buffer = self._halves(name, m * (m + 1) // 2)
        self._traced = traced = self._trace("hessian", tuple(arguments))
        forms = self._forms(traced, arguments)
        value = replaced(traced.value, {n.serial: leaf for form in forms for leaf, n in form.numbers})
        leaves = [leaf for a in arguments for row in traced.inputs[a] for leaf in row]
        if len(forms) < len(arguments) or {n.serial for n in leaves} & {n.serial for n in inputs([value])}:
            self._straight_entries = lower(traced.value, leaves)
            return self._code(self._straight(name, self._straight_entries)), buffer
        return self._code(self._congruence(name, value, forms)), buffer

    def verify_hessians(self, arguments: Sequence[str], t: float) -> None:
        """Verify the output of a new kernel, after its launch: all entries, or the columns of a few rows.

        Raises `MiscompiledError` and `RangeError`.
        """
        if not self.term.elements.rows:
            return
        traced, entries = self._traced, self._straight_entries
        assert traced is not None
        leaves = [leaf for a in arguments for row in traced.inputs[a] for leaf in row]
        name, m = f"a number of d2u/d{' '.join(arguments)}2", len(leaves)
        chosen = range(m) if entries else sorted({0, m // 2, m - 1})
        graphs = entries or [g for j in chosen for g in column(traced.value, leaves, j)]
        at = [(i, j) for j in chosen for i in range(j, m)] if not entries else _places(m)
        found = self.packed_rows(arguments)
        places = at_rows(self.term, t, {})
        kept = [found[places.labels, i * (i + 1) // 2 + j] for i, j in at]
        compare(places, [Number(name, graph) for graph in graphs], kept)

    def packed_rows(self, arguments: Sequence[str]) -> np.ndarray:
        """The lower halves, row by row, (E, m (m + 1) / 2)."""
        return storage.host(self._arrays[self._name(arguments)])

    def _name(self, arguments: Sequence[str]) -> str:
        """The name of the buffer, by numbers: the names `a`, `b_c` and `a_b`, `c` would be joined alike."""
        order = list(self.term.energy.roles)
        return "_".join(["hessian", *(str(order.index(a)) for a in arguments)])

    def _halves(self, name: str, numbers: int) -> Any:
        return self._own(name, np.zeros((self.term.elements.rows, numbers), self.term.dtype))

    def _entry(self, out: str, number: str) -> str:
        """Where a number of element e is written."""
        return f"{out}[e, {number}]"

    def _weight(self, weights: str, node: str, component: tuple[int, ...]) -> str:
        """The text of a weight of a node of element e."""
        return f"data_{weights}[e, {node}{subscript(component)}]"

    def _straight(self, out: str, wanted: list[Scalar]) -> list[str]:
        """Every entry by a line of its own."""
        lines, texts = self._statements(wanted)
        stores = [f"{self._entry(out, str(k))} = {text}" for k, text in enumerate(texts)]
        return self._each(list(inputs(wanted)), [*lines, *stores])

    def _each(self, leaves: list[Scalar], lines: list[str]) -> list[str]:
        return ["for e in range(nodes.shape[0]):", *indented([*self._loads(leaves), *lines])]

    def _forms(self, traced: Trace, arguments: Sequence[str]) -> "list[LinearForm]":
        """The Linear argument made of each field; fields with several, or with none, are left out."""
        made = {role.field: name for name, role in self.term.energy.linear.items()}
        once = len(made) == len(self.term.energy.linear)
        found, begin = [], 0
        for argument in arguments:
            if once and argument in made:
                name = made[argument]
                leaves = [traced.graph.input(name, None, (k,)) for k in range(len(traced.inputs[name][0]))]
                numbers = list(zip(leaves, traced.inputs[name][0], strict=True))
                weights = self.term.energy.linear[name].weights
                found.append(
                    LinearForm(begin, self._width(argument), weights, self.term.shape(weights)[1:], numbers)
                )
            begin += self.term.arity * self._width(argument)
        return found

    def _congruence(self, out: str, value: Scalar, forms: "Sequence[LinearForm]") -> list[str]:
        """Second derivatives in the components of F, written out; then loops over the nodes."""
        leaves = [leaf for form in forms for leaf, _ in form.numbers]
        known = [number for form in forms for _, number in form.numbers]
        wanted = lower(value, leaves)
        names: dict[int, str] = {}
        _, before, found = self._hoisted(known, None, names)
        names |= {leaf.serial: text for leaf, text in zip(leaves, found, strict=True)}
        _, lines, texts = self._hoisted(wanted, None, names)
        bend: dict[tuple[int, int], str] = {}
        for text, (i, j) in zip(texts, _places(len(leaves)), strict=True):
            bend[leaves[i].serial, leaves[j].serial] = bend[leaves[j].serial, leaves[i].serial] = text
        loops = [
            line for k, f in enumerate(forms) for g in forms[: k + 1] for line in self._block(out, bend, f, g)
        ]
        over = {leaf.serial for leaf in leaves}
        read = [leaf for leaf in inputs([*known, *wanted]) if leaf.serial not in over]
        return self._each(read, [*before, *lines, *loops])

    def _block(
        self, out: str, bend: Mapping[tuple[int, int], str], f: "LinearForm", g: "LinearForm"
    ) -> list[str]:
        """The entries of two arguments: of one alone, and of nodes a and b, those with a >= b."""
        half = [
            f"t{i}_{d} = " + _sum(f"{bend[f.leaf(i), g.leaf(d * g.axes + k)]} * w{k}" for k in range(g.axes))
            for i, d in product(range(len(f.numbers)), range(g.width))
        ]
        first = "b + 1" if f is g else "0"
        inner = [*self._weighed(f, "v", "a"), *self._entries(out, f, g, ("a", "v"), False)]
        loop = [
            *self._weighed(g, "w", "b"),
            *half,
            *(self._entries(out, f, g, ("b", "w"), True) if f is g else []),
            f"for a in range({first}, {self.term.arity}):",
            *indented(inner),
        ]
        return [f"for b in range({self.term.arity}):", *indented(loop)]

    def _weighed(self, form: "LinearForm", name: str, node: str) -> list[str]:
        """The weights of a node, as local variables."""
        places = [self._weight(form.weights, node, c) for c in np.ndindex(*form.shape)]
        return [f"{name}{k} = {place}" for k, place in enumerate(places)]

    def _entries(
        self, out: str, f: "LinearForm", g: "LinearForm", of: tuple[str, str], lower_only: bool
    ) -> list[str]:
        """The entries of a node, whose weights have a name, with node b."""
        node, weight = of
        lines: list[str] = []
        for c in range(f.width):
            lines.append(f"row = {f.begin + c} + {node} * {f.width}")
            lines.append(f"entry = row * (row + 1) // 2 + {g.begin} + b * {g.width}")
            for d in range(c + 1 if lower_only else g.width):
                text = _sum(f"{weight}{k} * t{c * f.axes + k}_{d}" for k in range(f.axes))
                lines.append(f"{self._entry(out, f'entry + {d}')} = {text}")
        return lines


@dataclass(frozen=True)
class LinearForm:
    """F = sum_a x_a (x) w_a in a Hessian: `begin`, the first row of x; `width`, its components.

    `weights`: the argument w, of `shape` at each node; `numbers`: the components of F, each with its leaf.
    """

    begin: int
    width: int
    weights: str
    shape: tuple[int, ...]
    numbers: Sequence[tuple[Scalar, Scalar]]

    @property
    def axes(self) -> int:
        return prod(self.shape)

    def leaf(self, k: int) -> int:
        """The serial of a number's leaf."""
        return self.numbers[k][0].serial


def lower(value: Scalar, leaves: Sequence[Scalar]) -> list[Scalar]:
    """d2(value)/(d(leaf i) d(leaf j)) for j <= i, row by row."""
    key = ("lower", value.serial, tuple([leaf.serial for leaf in leaves]))
    return value.graph.once(key, lambda: _lower(value, leaves))


def _lower(value: Scalar, leaves: Sequence[Scalar]) -> list[Scalar]:
    slopes = differentiation.gradient(value, leaves)
    columns = [_column(slopes, leaf, j) for j, leaf in enumerate(leaves)]
    return ties.settled([columns[j][i - j] for i, j in _places(len(leaves))])


def column(value: Scalar, leaves: Sequence[Scalar], j: int) -> list[Scalar]:
    """d2(value)/(d(leaf i) d(leaf j)) for i >= j."""
    key = ("column", value.serial, j, tuple([leaf.serial for leaf in leaves]))
    return value.graph.once(key, lambda: _settled_column(value, leaves, j))


def _settled_column(value: Scalar, leaves: Sequence[Scalar], j: int) -> list[Scalar]:
    return ties.settled(_column(differentiation.gradient(value, leaves), leaves[j], j))


def _column(slopes: Sequence[Scalar], leaf: Scalar, j: int) -> list[Scalar]:
    return differentiation.tangent(slopes[j:], {leaf.serial: slopes[j].graph.constant(1.0)})


def replaced(value: Scalar, others: Mapping[int, Scalar]) -> Scalar:
    """The same expression with other nodes in the place of some (by serial)."""
    new = dict(others)
    for node in reachable([value]):
        if node.serial not in new and any(a.serial in new for a in node.args):
            new[node.serial] = node.graph.rebuilt(node, tuple(new.get(a.serial, a) for a in node.args))
    return new.get(value.serial, value)


def _places(m: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(m) for j in range(i + 1)]


def _sum(parts: Iterable[str]) -> str:
    return " + ".join(parts)


class LaneHessians(HessianLoops, Lanes):
    """The loops of one term's element Hessians, over the same arrays as the loops of `emitter`."""

    def packed_rows(self, arguments: Sequence[str]) -> np.ndarray:
        packed = self._arrays[self._name(arguments)]
        return lane_blocks.rows(packed, self.term.elements.rows)

    def _halves(self, name: str, numbers: int) -> Any:
        return self._own_blocks(name, numbers, self.term.dtype)

    def _entry(self, out: str, number: str) -> str:
        return f"{out}[block * {self._arrays[out].shape[1]} + {number}]"

    def _weight(self, weights: str, node: str, component: tuple[int, ...]) -> str:
        shape = self.term.shape(weights)[1:]
        axes, number = (
            int(np.prod(shape, dtype=int)),
            int(np.ravel_multi_index(component, shape)) if shape else 0,
        )
        return self._vector_at(in_blocks(weights), f"{node} * {axes} + {number}")

    def _each(self, leaves: list[Scalar], lines: list[str]) -> list[str]:
        uniform = [self._load(leaf) for leaf in leaves if self._uniform(leaf)]
        own = [leaf for leaf in leaves if not self._uniform(leaf)]
        return [*self._rows_loop(own), *self._block_loop(uniform, [*self._lane_loads(own), *lines])]
