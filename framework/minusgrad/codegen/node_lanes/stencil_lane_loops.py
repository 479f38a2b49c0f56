"""The loops of maps over the cells of a grid, with 16 cells (f32) or 8 (f64) of a row to one vector.

    forward   y_c = f(q_c, q_{c + o_1}, ...)                        o_s: the offsets of the neighbours
    adjoint   dU/dq_c = sum over s of d(lambda f)/dq_s at c - o_s   the same with exchanged offsets

So a cell gathers its adjoint from its neighbours: no list of neighbours is read, nothing is scattered, and
sums have one order. A derivative is computed again for every cell that gathers it.

This holds in the inner part of the grid, whose stencils end before its edges. The cells near the edges are
listed, and have the plain loops (`term_loops`).

Decisions 0270.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...energies.local_energy import INSIDE
from ...energies.roles import Datum, Node
from ...energies.term import Term
from ...engine import runtime, storage
from ...engine.kernels import Code, dealt
from ...symbolic.graph import inputs, reachable
from ...symbolic.scalar import Scalar
from ..derivative_request import DerivativeRequest, Place, Sweep, outputs
from ..lane_statements import SMALL, AllVectors, serve
from ..map_loops import MapLoops, map_outputs
from ..statements import DOT, indented, is_tangent, leaf_name, subscript
from ..term_loops import Emitter
from ..tracing import Trace, of_term
from ..verification.element_samples import Number, Places, Sample, rows_of
from ..verification.kernel_verification import compare
from ..verification.sweep_verification import relaunch_kernel, verify_map, verify_sweep
from ..windows.scatter_loops import OfCell

LEAST_CELLS = 16_384
"""Smaller grids have plain loops, of which many steps can stand in one kernel."""
MOST_OPERATIONS = 300
"""Operations of the derivatives that a cell gathers; where there are more, elements store them."""
ROWS = 8
"""Rows of cells that one thread takes at once."""
SLOT = "is the slot"
"""The leaf that tells whether a node is in a slot of an element."""

Numbers = Mapping[OfCell, Scalar]
"""Graphs by the number of a cell that they are."""


def suits(term: Term) -> bool:
    """True if a map over cells has a vector of cells in the inner part of its grid, and real numbers only."""
    grid, wide = term.cells, runtime.lanes(term.dtype)
    if grid is None or term.grid is not None or len(grid.shape) == 1 or len(grid) < LEAST_CELLS:
        return False
    if not wide or term.elements.count != len(grid) or any(r.integer for r in _datum_names(term)):
        return False
    inner = [n - 4 * reach for n, reach in zip(grid.shape, reaches(term), strict=True)]
    return min(inner) > 0 and inner[-1] >= wide and serve(reduce(add, of_term(term).values))


def reaches(term: Term) -> list[int]:
    """The farthest cells that a stencil reads, along each axis."""
    return [max(map(abs, steps)) for steps in zip(*term.energy.offsets, strict=True)]


def _datum_names(term: Term) -> list[Datum]:
    return list(term.energy.of_role(Datum).values())


class StencilLanes(AllVectors, MapLoops):
    """The loops of a map over the cells of a grid, a vector of cells at a time."""

    def __init__(self, term: Term, adjoints: Mapping[str, Field]):
        super().__init__(term, adjoints)
        assert term.cells is not None
        self.wide, self.shape, self.reach = runtime.lanes(term.dtype), term.cells.shape, reaches(term)
        strides = [int(np.prod(self.shape[a + 1 :], dtype=int)) for a in range(len(self.shape))]
        self.shifts = [int(np.dot(offset, strides)) for offset in term.energy.offsets]

    def _trace_energy(self, *purpose: Hashable) -> Trace:
        return (
            super()._trace_energy()
        )  # a new one for every purpose: graphs follow from the grid and from names

    # Loops

    def _emit_forward(
        self, outs: Sequence[str], moved: DerivativeRequest, overwrite: Sequence[bool]
    ) -> list[str]:
        traced = Emitter._trace_energy(self)
        values = map_outputs(traced, moved)
        self.forwarded = traced, values
        numbers = {(outs[k], c): v for (k, c), v in zip(self.components, values, strict=True)}
        first = [(outs[k], c) for k, c in self.components if overwrite[k]]
        inner = {number: self._shifted_graph(value, 0) for number, value in numbers.items()}
        own, plain = [(number, _cell_number_text(number, "n0")) for number in numbers], self._plain_loops()
        puts = [f"{at} = {{}}" if number in first else f"{at} = {at} + {{}}" for number, at in own]
        near = self._near_edges(plain._each_element(values, puts), 1)
        return self._own_of(plain, [*self._inner_loops(1, inner, first), *near])

    def _by_element(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """Derivatives by fields are gathered by cells; those by other arguments are stored by elements."""
        summed = [place for place in places if place.is_summed]
        nodal = [place for place in places if not place.is_summed]
        gathered, plain = self._gathered_sums(value, nodal, along), self._plain_loops()
        if not _has_few_operations(gathered):
            return self._own_of(plain, plain._by_element(value, places, along))
        lines = []
        if nodal:
            first = [(self.output(place), place.component) for place in nodal if place.overwrite]
            near = plain._by_element(value, nodal, along) if any(self.reach) else []
            lines += [*self._inner_loops(2, gathered, first), *self._near_edges(near, 3)]
        if summed:
            graphs = outputs(value, summed, along)
            rows: list[OfCell] = [(f"{self.prefix}{p.buffer}", (p.column or 0,)) for p in summed]
            inner: Numbers = {r: self._shifted_graph(graph, 0) for r, graph in zip(rows, graphs, strict=True)}
            write = [f"{_cell_number_text(row, 'e')} = ti.f64({{}})" for row in rows]
            near = plain._element_loop(value, summed, along, write)
            lines += [*self._inner_loops(1, inner, rows, in_f64=True), *self._near_edges(near, 1)]
        return self._own_of(plain, lines)

    def _gathered_sums(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> Numbers:
        """For each number of a cell the sum of derivatives at the elements that read it."""
        found: dict[OfCell, Scalar] = {}
        for place, graph in zip(places, outputs(value, places, along), strict=True):
            number, part = (
                (self.output(place), place.component),
                self._shifted_graph(graph, -self.shifts[place.slot]),
            )
            found[number] = found[number] + part if number in found else part
        return found

    def _shifted_graph(self, value: Scalar, shift: int) -> Scalar:
        """The graph at the cell that lies `shift` numbers further, where no neighbour is beyond an edge.

        Leaves have the number of their cell, from the present one, in the place of a slot.
        """
        graph, moved = value.graph, dict[int, Scalar]()
        for node in reachable([value]):
            if node.op == "input" and node.value[0] == INSIDE:
                moved[node.serial] = graph.constant(1.0)
            elif node.op == "input" and not self._is_uniform(node):
                argument, slot, component, *dot = node.value
                of_node = isinstance(self.term.energy.roles[argument], Node)
                place = shift + self.shifts[slot] if of_node else shift
                moved[node.serial] = graph.input(argument, place, component, *dot)
            elif node.args:
                moved[node.serial] = graph.rebuilt(node, tuple(moved[a.serial] for a in node.args))
            else:
                moved[node.serial] = node
        return moved[value.serial]

    def _inner_loops(
        self,
        margin: int,
        numbers: Numbers,
        first: Sequence[OfCell],
        in_f64: bool = False,
    ) -> list[str]:
        """Store numbers of cells that are `margin` reaches from the edges; add to those not in `first`."""
        wanted, wide = list(numbers.values()), self.wide
        leaves = list(inputs(wanted))
        own = [leaf for leaf in leaves if not self._is_uniform(leaf)]
        early, lines, texts = self._hoist_statements(wanted, {leaf.serial for leaf in own}, {})
        begin, end = self._inner_box(margin)
        put = []
        for number, text in zip(numbers, texts, strict=True):
            at = _cell_number_text(number, "cell + {lane}")
            if in_f64:
                stores = (f"{at} = ti.f64(put[{{lane}}])".replace("{lane}", str(k)) for k in range(wide))
                put += [f"put = {text}", *stores]
                continue
            was = self._by_lane(at)
            new = text if number in first else f"{was} + {text}"
            put += self._put_lanes(at, f"ti.select(inside, {new}, {was})")
        row = "i0"
        for a in range(1, len(self.shape)):
            row = f"({row}) * {self.shape[a]}" + (f" + i{a}" if a < len(self.shape) - 1 else "")
        shifts = dict.fromkeys(leaf.value[1] for leaf in own)
        body = [
            f"begin = {begin[-1]} + part * {wide}",
            f"lane0 = ti.min(begin, {end[-1] - wide})",
            f"cell = ({row} + lane0) & {SMALL}",
            f"inside = lanes >= {self._to_all(f'{self.type}(begin - lane0)')}",
            *(f"{_first_lane_cell(shift)} = ({row} + lane0 + ({shift})) & {SMALL}" for shift in shifts),
            *(self._load_statement(leaf) for leaf in own),
            *lines,
            *put,
        ]
        loops = [f"for part in range({-(-(end[-1] - begin[-1]) // wide)}):", *indented(body)]
        for a in range(len(self.shape) - 2, 0, -1):
            loops = [f"for i{a} in range({begin[a]}, {end[a]}):", *indented(loops)]
        rows = f"{begin[0]} + job * {ROWS}, ti.min({begin[0]} + (job + 1) * {ROWS}, {end[0]})"
        before = [*(self._load_statement(leaf) for leaf in leaves if self._is_uniform(leaf)), *early]
        each = [*before, f"lanes = {self._lane_numbers()}", f"for i0 in range({rows}):", *indented(loops)]
        return dealt("job", f"{-(-(end[0] - begin[0]) // ROWS)}", each)

    def _near_edges(self, lines: Sequence[str], margin: int) -> list[str]:
        """Plain loops, over the elements that are less than `margin` reaches from the edges.

        Those over nodes have one reach less: the nodes that only such elements read.
        """
        if not any(self.reach):
            return []
        p, found = self.prefix, list[str]()
        for line in lines:
            if line.startswith(f"for e in range({p}nodes.shape[0]):"):
                found += [
                    f"for r in range({p}{self._rim_name(margin)}.shape[0]):",
                    f"    e = {p}rim{margin}[r]",
                ]
            elif line.startswith("for n in range("):
                name = self._rim_name(margin - 1)
                found += [f"for r in range({p}{name}.shape[0]):", f"    n = {p}{name}[r]"]
            else:
                found.append(line)
        return found

    # Pieces

    def _plain_loops(self) -> Emitter:
        """The loops for elements one by one, with the same arrays."""
        return Emitter(self.term, self._arrays).with_prefix(self.prefix)

    def _own_of(self, plain: Emitter, lines: list[str]) -> list[str]:
        """The lines, whose arrays are now known here."""
        self._arrays = {**plain._arrays, **self._arrays}
        return lines

    def _inner_box(self, margin: int) -> tuple[list[int], list[int]]:
        """The first cell along each axis that is so many reaches from the edges; the one after the last."""
        begin = [margin * reach for reach in self.reach]
        return begin, [n - low for n, low in zip(self.shape, begin, strict=True)]

    def _rim_name(self, margin: int) -> str:
        """The name of the array of the cells outside of a box."""
        outside = np.ones(self.shape, bool)
        outside[tuple(map(slice, *self._inner_box(margin)))] = False
        self._own_array(f"rim{margin}", np.flatnonzero(outside).astype(np.int32))
        return f"rim{margin}"

    def _load_statement(self, leaf: Scalar) -> str:
        if self._is_uniform(leaf):
            name, _, text = super()._load_statement(leaf).partition(" = ")
            return f"{name} = {self._to_all(text)}"
        (argument, shift, component), p = leaf.value[:3], self.prefix
        at, own = f"{_first_lane_cell(shift)} + {{lane}}", p + DOT * is_tangent(leaf)
        if argument in self.term.fields:
            array = f"{'w' if is_tangent(leaf) else 'f'}_{self._field_name(argument)}"
        elif argument in self.term.data:
            array = f"{own}data_{argument}"
        else:
            array, at = f"{own}rows_{argument}", f"{p}row_of_{argument}[{at}]"
        return f"{leaf_name(leaf)} = {self._by_lane(f'{array}[{at}{subscript(component)}]')}"

    # Verification

    def verify_forward(self, code: Code, along: Mapping[str, Any], t: float) -> bool:
        traced, values = self._emitted_outputs(along)
        outs = self._output_names(bool(along))
        fresh = relaunch_kernel(code, {*outs}, t)
        found = [storage.host(fresh[outs[k]])[(slice(None), *c)] for k, c in self.components]
        verify_map(self.term, traced, self.numbers(values), found, t, along)
        return True

    def verify(self, wanted: DerivativeRequest, code: Code, t: float) -> None:
        sweep = self.swept if self.swept is not None else self._emitted_graph(wanted)
        self.swept = None
        nodal = [place for place in sweep.places if not place.is_summed]
        summed = [place for place in sweep.places if place.is_summed]
        if not _has_few_operations(self._gathered_sums(sweep.traced.value, nodal, sweep.along)):
            verify_sweep(self, sweep, code, t, wanted.tangents, plainly=False)
            return
        if summed:
            kept = Sweep(sweep.traced, summed, sweep.along)
            verify_sweep(self, kept, code, t, wanted.tangents, plainly=False)
        if nodal:
            self._verify_gathered(Sweep(sweep.traced, nodal, sweep.along), code, t, wanted.tangents)

    def _verify_gathered(self, sweep: Sweep, code: Code, t: float, along: Mapping[str, Any]) -> None:
        """Compare derivatives by fields at some cells with sums over the elements that read them."""
        graph, every = sweep.traced.graph, self.term.elements.nodes
        wanted: dict[OfCell, Number] = {}
        for place, value in zip(
            sweep.places, outputs(sweep.traced.value, sweep.places, sweep.along), strict=True
        ):
            at, part = (self.output(place), place.component), graph.input(SLOT, None, (place.slot,)) * value
            wanted[at] = Number.at(place, wanted[at].graph + part if at in wanted else part)
        cells, samples = rows_of(self.term), []
        for cell in cells:
            rows = np.flatnonzero((every == cell).any(axis=1))
            samples.append(AroundNode(self.term, rows, list(every[rows].T), t, along, node=int(cell)))
        fresh = relaunch_kernel(code, {name for name, _ in wanted}, t)
        found = [storage.host(fresh[name])[(cells, *component)] for name, component in wanted]
        compare(Places(cells, samples, sums=True), list(wanted.values()), found)


@dataclass(frozen=True)
class AroundNode(Sample):
    """All elements that read a node."""

    node: int = 0

    def leaf(self, leaf: Scalar) -> np.ndarray:
        if leaf.value[0] == SLOT:
            return (self.nodes[leaf.value[2][0]] == self.node).astype(np.float64)
        return super().leaf(leaf)


def _has_few_operations(numbers: Numbers) -> bool:
    """True if there are few operations."""
    return sum(bool(node.args) for node in reachable(list(numbers.values()))) <= MOST_OPERATIONS


def _cell_number_text(number: OfCell, cell: str) -> str:
    """The text of a number of a cell."""
    return f"{number[0]}[{cell}{subscript(number[1])}]"


def _first_lane_cell(shift: int) -> str:
    """The number of the first lane's cell, so far from the present one."""
    return f"cell_{'m' if shift < 0 else 'p'}{abs(shift)}"
