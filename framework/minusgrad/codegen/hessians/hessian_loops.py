"""The loops of element Hessians: per element the lower half of d2u/(da db), row by row.

    entry (i, j), j <= i, is stored at i (i + 1) / 2 + j;  rows are ordered by (argument, slot, component)

Only the lower half is computed, so that matrices assembled from it are symmetric bit for bit. Column j is the
tangent of du/da along the unit tangent of row j. Where u depends on the fields through linear forms F alone,
the second derivatives in F (the tangent moduli) are written out, from one sweep, and loops over the nodes
make H of them (`linear_forms`). Written out in full, the Hessian of a cell of eight nodes takes ten seconds
to compile; this takes one. Where the moduli are projected, they are stored between the two.

Decisions 0167, 0277, 0278.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...energies.term import in_blocks
from ...engine import lane_blocks, storage
from ...engine.kernels import Code
from ...symbolic import differentiation, ties
from ...symbolic.graph import inputs, replace_nodes
from ...symbolic.scalar import Scalar
from ..element_lanes.lane_loops import Lanes
from ..statements import indented, subscript
from ..term_loops import Emitter
from ..verification.element_samples import Number, at_rows
from ..verification.kernel_verification import compare
from .curvatures import curvatures
from .linear_forms import FormLoops, LinearForm, halves

MOST_MODULI = 9
"""Most rows of moduli in lanes: vectors of more do not stay in registers, and take ten seconds to compile."""


class HessianLoops(FormLoops):
    """The loops of one term's element Hessians, over the same arrays as the loops of `emitter`.

    They run element by element, also where the other loops of the elements are over targets.
    """

    def __init__(self, emitter: Emitter, arguments: Sequence[str]):
        term, arrays = emitter.term, dict(emitter._arrays)
        if emitter.loop.per_target:
            arrays = {name: array for name, array in arrays.items() if name not in term.elements.arrays()}
            term = term.one_by_one()
        super().__init__(term, arrays)
        self.arguments = tuple(arguments)
        self._traced = self._trace_energy("hessian", self.arguments)
        self._in_forms = self._depends_on_forms_alone()

    def size(self) -> int:
        """m: how many rows an element's Hessian has."""
        return sum(len(self.term.slots(a)) * self._argument_width(a) for a in self.arguments)

    @property
    def moduli_rows(self) -> int:
        """Rows of the matrix of second derivatives in the linear forms; 0 if u reads more than these."""
        return len(self._in_forms[1]) if self._in_forms else 0

    def _depends_on_forms_alone(self) -> tuple[list[LinearForm], list[Scalar], list[Scalar]] | None:
        """The forms, their leaves, and the lower half of the moduli; None if u reads the fields otherwise."""
        traced = self._traced
        forms = self._linear_forms(traced, self.arguments)
        if len(forms) < len(self.arguments):
            return None
        value = replace_nodes(traced.value, {n.serial: leaf for form in forms for leaf, n in form.numbers})
        if {n.serial for n in self._row_leaves()} & {n.serial for n in inputs([value])}:
            return None
        leaves = [leaf for form in forms for leaf in form.leaves]
        return forms, leaves, swept_lower(value, leaves)

    def _row_leaves(self) -> list[Scalar]:
        """The components of the fields at all nodes, in the order of rows."""
        return [leaf for a in self.arguments for row in self._traced.inputs[a] for leaf in row]

    def hessians(self) -> Code:
        """Loops over the elements that fill the `buffer`."""
        out = self._buffer_name()
        self.buffer()
        if self._in_forms is None:
            return self._code_of_lines(
                self._straight_entries(out, lower(self._traced.value, self._row_leaves()))
            )
        forms, _, wanted = self._in_forms
        read, lines, texts = self._moduli_statements(forms, wanted)
        return self._code_of_lines(
            self._loop_over_elements(read, [*lines, *self._contraction_loops(out, forms, texts)])
        )

    def moduli(self) -> Code:
        """Loops that store the lower halves of the moduli alone, in the `moduli_buffer`."""
        assert self._in_forms is not None
        forms, _, wanted = self._in_forms
        self.moduli_buffer()
        read, lines, texts = self._moduli_statements(forms, wanted)
        stores = [
            f"{self._entry_text(self._buffer_name('moduli'), str(k))} = {text}"
            for k, text in enumerate(texts)
        ]
        return self._code_of_lines(self._loop_over_elements(read, [*lines, *stores]))

    def contraction(self) -> Code:
        """Loops that make the Hessians of the stored moduli, in the `buffer`."""
        assert self._in_forms is not None
        forms, _, wanted = self._in_forms
        self.buffer(), self.moduli_buffer()
        names = [f"m{k}" for k in range(len(wanted))]
        loads = [
            f"{m} = {self._entry_text(self._buffer_name('moduli'), str(k))}" for k, m in enumerate(names)
        ]
        return self._code_of_lines(
            self._loop_over_elements(
                [], [*loads, *self._contraction_loops(self._buffer_name(), forms, names)]
            )
        )

    def buffer(self) -> Any:
        """The lower halves of the Hessians, (E, m (m + 1) / 2) in rows or blocks."""
        return self._lower_half_buffer(self._buffer_name(), self.size())

    def moduli_buffer(self) -> Any:
        """The same of the moduli."""
        return self._lower_half_buffer(self._buffer_name("moduli"), self.moduli_rows)

    def verify_hessians(self, t: float) -> None:
        """Verify the output of new kernels, after their launch: all entries, or the columns of a few rows.

        Raises `MiscompiledError` and `RangeError`.
        """
        if not self.term.elements.rows:
            return
        name, value, leaves = self._entry_label, self._traced.value, self._row_leaves()
        if self._in_forms is None:
            graphs, at = lower(value, leaves), [*halves(len(leaves))]
        else:
            chosen = sorted({0, len(leaves) // 2, len(leaves) - 1})
            graphs = [graph for j in chosen for graph in column(value, leaves, j)]
            at = [(i, j) for j in chosen for i in range(j, len(leaves))]
        found = self.packed_rows()
        places = at_rows(self.term, t, {})
        kept = [found[places.labels, i * (i + 1) // 2 + j] for i, j in at]
        compare(places, [Number(name, graph) for graph in graphs], kept)

    @property
    def _entry_label(self) -> str:
        return f"a number of d2u/d{' '.join(self.arguments)}2"

    def packed_rows(self) -> np.ndarray:
        """The lower halves, row by row, (E, m (m + 1) / 2)."""
        return storage.host(self._arrays[self._buffer_name()])

    def _buffer_name(self, what: str = "hessian") -> str:
        """The name of a buffer, by numbers: the names `a`, `b_c` and `a_b`, `c` would be joined alike."""
        order = list(self.term.energy.roles)
        return "_".join([what, *(str(order.index(a)) for a in self.arguments)])

    def _lower_half_buffer(self, name: str, m: int) -> Any:
        return self._own_array(name, np.zeros((self.term.elements.room, m * (m + 1) // 2), self.term.dtype))

    def _straight_entries(self, out: str, wanted: list[Scalar]) -> list[str]:
        """Every entry by a line of its own."""
        lines, texts = self._output_statements(wanted)
        stores = [f"{self._entry_text(out, str(k))} = {text}" for k, text in enumerate(texts)]
        return self._loop_over_elements(list(inputs(wanted)), [*lines, *stores])

    def _loop_over_elements(self, leaves: list[Scalar], lines: list[str]) -> list[str]:
        return ["for e in range(nodes.shape[0]):", *indented([*self._element_loads(leaves), *lines])]


def lower(value: Scalar, leaves: Sequence[Scalar]) -> list[Scalar]:
    """d2(value)/(d(leaf i) d(leaf j)) for j <= i, row by row."""
    key = ("lower", value.serial, tuple([leaf.serial for leaf in leaves]))
    return value.graph.once(key, lambda: _settled_lower(value, leaves))


def _settled_lower(value: Scalar, leaves: Sequence[Scalar]) -> list[Scalar]:
    slopes = differentiation.gradient(value, leaves)
    columns = [_hessian_column(slopes, leaf, j) for j, leaf in enumerate(leaves)]
    return ties.settle_ties([columns[j][i - j] for i, j in halves(len(leaves))])


def swept_lower(value: Scalar, leaves: Sequence[Scalar]) -> list[Scalar]:
    """The same by one sweep: a fraction of the operations where many leaves meet in few numbers."""
    key = ("swept", value.serial, tuple([leaf.serial for leaf in leaves]))
    return value.graph.once(key, lambda: _settled_sweep(value, leaves))


def _settled_sweep(value: Scalar, leaves: Sequence[Scalar]) -> list[Scalar]:
    found, zero = curvatures(value, leaves), value.graph.constant(0.0)
    return ties.settle_ties([found.get(place, zero) for place in halves(len(leaves))])


def column(value: Scalar, leaves: Sequence[Scalar], j: int) -> list[Scalar]:
    """d2(value)/(d(leaf i) d(leaf j)) for i >= j."""
    key = ("column", value.serial, j, tuple([leaf.serial for leaf in leaves]))
    return value.graph.once(key, lambda: _settled_column(value, leaves, j))


def _settled_column(value: Scalar, leaves: Sequence[Scalar], j: int) -> list[Scalar]:
    return ties.settle_ties(_hessian_column(differentiation.gradient(value, leaves), leaves[j], j))


def _hessian_column(slopes: Sequence[Scalar], leaf: Scalar, j: int) -> list[Scalar]:
    return differentiation.tangent(slopes[j:], {leaf.serial: slopes[j].graph.constant(1.0)})


class LaneHessians(HessianLoops, Lanes):
    """The loops of one term's element Hessians, over the same arrays as the loops of `emitter`."""

    def packed_rows(self) -> np.ndarray:
        return lane_blocks.rows(self._arrays[self._buffer_name()], self.term.elements.rows)

    def _lower_half_buffer(self, name: str, m: int) -> Any:
        return self._own_blocks(name, m * (m + 1) // 2, self.term.dtype)

    def _entry_text(self, out: str, number: str) -> str:
        return f"{out}[block * {self._arrays[out].shape[1]} + {number}]"

    def _weight_text(self, weights: str, node: str, component: tuple[int, ...]) -> str:
        shape = self.term.shape(weights)[1:]
        axes, number = (
            int(np.prod(shape, dtype=int)),
            int(np.ravel_multi_index(component, shape)) if shape else 0,
        )
        return self._vector_at(in_blocks(weights), f"{node} * {axes} + {number}")

    def _zero_text(self) -> str:
        return self._to_all(super()._zero_text())

    def _values_at_node(self, form: LinearForm) -> list[str]:
        nodes = f"na = {self._vector_at(self.NODES, 'a')}"
        if array := next(iter(self._row_arrays(form.first)), ""):
            rows = [f"q_{lane} = {self.prefix}{self.QUADS}{array}[na[{lane}]]" for lane in range(self.wide)]
            texts = [f"q_{{lane}}[{c}]" for c in range(form.width)]
        else:
            array, rows = self._nodal_entry(form.first[0]).partition("[")[0], []
            texts = [f"{array}[na[{{lane}}]{subscript(at)}]" for at in form.places]
        return [nodes, *rows, *(f"x{c} = {self._by_lane(text)}" for c, text in enumerate(texts))]

    def _loop_over_elements(self, leaves: list[Scalar], lines: list[str]) -> list[str]:
        uniform = [self._load_statement(leaf) for leaf in leaves if self._is_uniform(leaf)]
        own = [leaf for leaf in leaves if not self._is_uniform(leaf)]
        return [*self._rows_loop(own), *self._block_loop(uniform, [*self._lane_loads(own), *lines])]
