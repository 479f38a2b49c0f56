"""The loops of maps to the cells of a grid, each element within its window.

    forward   y_p += f(e, p)                            each band of rows sums the elements that reach it
    adjoint   dU/dq += sum over p of lambda_p df/dq     each element sums over its window; lambda = dU/dy

Every sum has a fixed order, at any number of threads; there are no atomics. Numbers that do not depend on the
cell are computed once for an element. The adjoint is summed over the cells for the few numbers in which the
two parts meet (`differentiation.split_by_late_leaves`), and propagated back through the first part once.
Everything behind a min, max or abs belongs to the second part, so that a tie is settled with the whole
derivative.

The floors that a window begins at are computed once and stored: another kernel might round x / h to the
other side of an integer, and read a neighbouring entry of a table.

Decisions 0259, 0265, 0268, 0269.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...energies.term import Term
from ...engine import runtime, storage
from ...engine.kernels import Code, dealt
from ...symbolic import differentiation, ties
from ...symbolic.graph import inputs, reachable
from ...symbolic.integer_forms import form, is_rounded
from ...symbolic.operations import OPERATIONS
from ...symbolic.scalar import Scalar
from ..derivative_request import DerivativeRequest, Place, adjoint_of, outputs, weights_of
from ..map_loops import MapLoops, map_outputs
from ..statements import WHOLE_TYPE, bounded_lookup, fill_templates, indented, leaf_name, subscript
from ..term_loops import Emitter
from ..tracing import Trace
from ..verification.sweep_verification import relaunch_kernel
from .device_tiles import DeviceTiles
from .verification import Windows, verify_cells, verify_windows

Meets = Sequence[tuple[Scalar, Scalar]]
"""A cut: each new leaf with the node that it replaces."""
Box = tuple[list[str], list[str]]
"""Of cells: the lowest along each axis, and the one after the highest."""
OfCell = tuple[str, tuple[int, ...]]
"""A number of every cell: the array over the cells, and the component."""
Read = Sequence[tuple[Scalar, OfCell]]
"""Leaves with the numbers of a cell that they are read from."""
BAND = {1: 256, 2: 16, 3: 4}
"""Cells along the first axis that make a band, at least, by the number of axes."""
BANDS = 4
"""Bands for each thread: few, because each looks at all elements and prepares those that reach it."""
SECTIONS = 64
"""Most bands of one axis: they cut windows, and the cuts must not depend on the number of threads."""
Put = tuple[str, str]
"""The beginning of a statement that stores a number of a cell, and the text of the number."""
ROW = 32
"""Windows of up to this many cells along the last axis, times numbers of a cell, are summed row by row."""
FARTHEST = 1 << 30
"""Windows end here: beyond every grid, and within the range of an i32."""
LOST = -FARTHEST - 1
"""Both ends of a NaN window, or of one that left the grid: it reaches no cell, and cell 0 becomes NaN."""


class WindowLoops(MapLoops):
    """The loops of a map to the cells of a grid.

    Arrays of its own: `window`, the lowest and the highest cell of each element along each axis; `floors`,
    the rounded numbers that they come from.
    """

    few = 0
    """Windows of up to this many cells have sums without a loop in adjoints without tangents."""

    def __init__(self, term: Term, adjoints: Mapping[str, Field]):
        super().__init__(term, adjoints)
        assert term.grid is not None
        self.shape, self.axes = term.grid.shape, range(len(term.grid.shape))
        self.edges = term.window_edges
        self.beyond = [a for a in self.axes if self.edges[a] != "zero"]
        bands = BANDS * runtime.threads() if len(self.shape) > 1 else SECTIONS
        self.band = max(BAND[len(self.shape)], -(-self.shape[0] // bands))
        self._tiles: DeviceTiles | None = None
        if runtime.arch() != "cpu":
            self._tiles = DeviceTiles(self.prefix, self.shape, term.elements.count, bool(self.beyond))
            self.band = self._tiles.band
        self._reads, self._begin = self._known_reads()
        self._floors = self._rounded_numbers()
        self._own_array("floors", np.zeros((term.elements.count, max(len(self._floors), 1))))
        self._own_array("window", np.zeros((term.elements.count, 2 * len(self.shape)), np.int32))
        if term.outside == "refuse" and len(self.beyond) < len(self.shape):
            self._own_array("outside", np.zeros(1, np.int32))

    @property
    def cells(self) -> int:
        """The most cells that an element reaches."""
        sizes = [size_of(ends) for ends in self._trace_energy().window]
        return math.prod(
            n if size is None else min(size, n) for size, n in zip(sizes, self.shape, strict=True)
        )

    @property
    def exits(self) -> Any | None:
        """One number, not 0 if a window has left the grid; None where that is not refused."""
        return self._arrays.get("outside")

    @property
    def windows(self) -> np.ndarray:
        """The lowest and the highest cell of each element along each axis, (E, 2 axes)."""
        return storage.host(self._arrays["window"])

    # Verification

    def verify_forward(self, code: Code, along: Mapping[str, Any], t: float) -> bool:
        if (self.windows[:, 0] == LOST).any():
            return False
        outs, values = (
            self._output_names(bool(along)),
            map_outputs(self._trace_energy(), DerivativeRequest(tangents=along)),
        )
        fresh = relaunch_kernel(code, {*outs}, t)
        found = [storage.host(fresh[outs[k]])[(slice(None), *c)] for k, c in self.components]
        wanted = self.numbers(values, " in this cell")
        verify_cells(self.term, wanted, self._stored_windows(), found, t, along)
        return True

    def verify(self, wanted: DerivativeRequest, code: Code, t: float) -> None:
        if self.swept is None:
            self._emitted_graph(wanted)
        assert self.swept is not None
        sweep, self.swept = self.swept, None
        verify_windows(self, sweep, self._stored_windows(), code, t, wanted.tangents)

    def _stored_windows(self) -> Windows:
        floors = storage.host(self._arrays["floors"])
        known = {serial: floors[:, k] for k, serial in enumerate(self._floors)}
        return Windows(self.windows, known, self.shape, self.edges)

    # Loops

    def location_loops(self) -> Code:
        return self._code_of_lines(self._put_windows())

    def _put_windows(self) -> list[str]:
        window = self._trace_energy().window
        corners = [corner for pair in window for corner in pair]
        reals = [corner.args[0] for corner in corners if corner.op == "to_int"]
        floors = [node for node in reachable(corners) if node.serial in self._floors]
        lines, texts = self._output_statements([*corners, *reals, *floors])
        of_corners, of_reals = texts[: len(corners)], texts[len(corners) : len(corners) + len(reals)]
        of_floors = texts[len(corners) + len(reals) :]
        put = [self._corner_text(k // 2, k % 2, text, window[k // 2]) for k, text in enumerate(of_corners)]
        put += [f"{self.prefix}floors[e, {k}] = ti.f64({text})" for k, text in enumerate(of_floors)]
        if self.exits is not None:
            put += self._mark_lost_windows()
        if of_reals:
            lost = " | ".join(f"ti.math.isnan({text}) | ti.math.isinf({text})" for text in of_reals)
            put += [f"if {lost}:", *(f"    {self.prefix}window[e, {k}] = {LOST}" for k in (0, 1))]
        loop = [*self._element_loads(inputs(corners)), *lines, *put]
        return [f"for e in range({self.prefix}nodes.shape[0]):", *indented(loop)]

    def _mark_lost_windows(self) -> list[str]:
        """Statements that make a window that is not within the grid a lost one, and keep that it was."""
        p = self.prefix
        beyond = " | ".join(
            f"({p}window[e, {2 * a}] < 0) | ({p}window[e, {2 * a + 1}] >= {n})"
            for a, n in enumerate(self.shape)
            if a not in self.beyond
        )
        lost = [f"{p}window[e, {k}] = {LOST}" for k in (0, 1)]
        return [f"if {beyond}:", *indented([*lost, f"{p}outside[0] = 1"])]

    @property
    def gives_to_all(self) -> bool:
        return True

    def _emit_forward(
        self, outs: Sequence[str], moved: DerivativeRequest, overwrite: Sequence[bool]
    ) -> list[str]:
        """The windows of all elements; then band by band, every element that reaches it, in their order."""
        traced = self._trace_energy()
        values, places = map_outputs(traced, moved), self._late_serials(traced)
        leaves = [leaf for leaf in inputs(values) if leaf.serial not in places]
        numbers = [(outs[k], c) for k, c in self.components]
        early, cells = self._giving_loop(traced, values, self._in_band(), numbers)
        nan = f"{self.type}(ti.math.nan)"
        lost = [] if moved.tangents else [f"{out}[0{subscript(c)}] = {nan}" for out, c in numbers]
        cleared = [one for one, (k, _) in zip(numbers, self.components, strict=True) if overwrite[k]]
        bands = self._in_bands(
            cleared, [*self._element_loads(leaves), *self._window_corners(), *early, *cells], lost
        )
        return bands if moved.tangents else [*self._put_windows(), *bands]

    def _in_band(self) -> Box:
        """The cells of element e's window that lie in a band of rows; all of a window that leaves the grid
        where there are cells beyond the rim.
        """
        low, high = self._on_grid()
        low[0], high[0] = f"ti.max(b0, band * {self.band})", f"ti.min(c0 + 1, {self._band_end('band')})"
        if self._tiles:
            self._tiles.restrict_to_tile(low, high)
        return low, high

    @property
    def _reaches_band(self) -> str:
        """Whether the window of element e, of rows b0 to c0, may have rows of the band."""
        reaches = f"(b0 < {self._band_end('band')}) & (c0 >= band * {self.band})"
        return f"({reaches}) | (b0 < 0) | (c0 >= {self.shape[0]})" if 0 in self.beyond else reaches

    def _in_bands(self, cleared: Sequence[OfCell], element: list[str], lost: Sequence[str] = ()) -> list[str]:
        """Band by band, with one thread each: zeros in some numbers of its cells, and then each element.

        lost: statements that follow where an element has no window. On devices, tile by tile.
        """
        if self._tiles:
            zeros = [f"{out}[cell{subscript(c)}] = {self.type}(0.0)" for out, c in cleared]
            for name, array in self._tiles.arrays.items():
                self._own_array(name, array)
            last = [f"if b0 == {LOST}:", *indented(lost)] if lost else []
            return self._tiles.loops(self._reaches_band, zeros, element, last)
        row = int(np.prod(self.shape[1:], dtype=int))
        band = f"band * {self.band * row}, {self._band_end('band')} * {row}"
        begin = self._clear_cells(cleared, band) if cleared else []
        each = [
            f"b0, c0 = {self.prefix}window[e, 0], {self.prefix}window[e, 1]",
            f"if {self._reaches_band}:",
            *indented(element),
        ]
        if lost:
            each += [f"if (b0 == {LOST}) & (band == 0):", *indented(lost)]
        elements = [f"for e in range({self.prefix}nodes.shape[0]):", *indented(each)]
        return dealt("band", f"{-(-self.shape[0] // self.band)}", [*begin, *elements])

    def _clear_cells(self, numbers: Sequence[OfCell], cells: str) -> list[str]:
        """Zeros in a range of cells."""
        zeros = [f"{out}[cell{subscript(c)}] = {self.type}(0.0)" for out, c in numbers]
        return [f"for cell in range({cells}):", *indented(zeros)]

    def _giving_loop(
        self, traced: Trace, values: Sequence[Scalar], box: Box, numbers: Sequence[OfCell]
    ) -> tuple[list[str], list[str]]:
        """Statements for an element, and the loop that adds the values to the numbers of a box's cells."""
        early, late, texts = self._hoist_statements(values, self._late_serials(traced), dict(self._floors))
        places = [f"{out}[cell{subscript(c)}]" for out, c in numbers]
        puts = [(f"{at} = {at} + ", text) for at, text in zip(places, texts, strict=True)]
        return early, self._over_cells(traced, *box, late, puts)

    def _summing_loop(
        self, traced: Trace, summed: Sequence[Scalar], read: Read, names: dict[int, str], few: int = 0
    ) -> tuple[list[str], list[str]]:
        """Statements for an element, and the loop that sums over its cells, into `s0`, `s1`, ...

        Up to `few` cells are written one after another.
        """
        late = self._late_serials(traced) | {leaf.serial for leaf, _ in read}
        early, each, adds = self._hoist_statements(summed, late, names)
        fetch = self._fetch_statements(read)
        begin = [f"s{k} = {self.type}(0.0)" for k in range(len(adds))]
        add = [f"s{k} += {text}" for k, text in enumerate(adds)]
        box, body = self._on_grid(), [*fetch, *each, *add]
        cells = self._over_cells(traced, *box, body)
        if unrolled := self._unrolled_cells(traced, body, few):
            inside = " & ".join(f"(b{a} >= {box[0][a]}) & (c{a} < {box[1][a]})" for a in self.axes)
            cells = [f"if {inside}:", *indented(unrolled), "else:", *indented(cells)]
        return early, [*begin, *cells]

    def _fetch_statements(self, read: Read) -> list[str]:
        """Statements that read the numbers of a cell."""
        return [f"{leaf_name(leaf)} = {array}[cell{subscript(c)}]" for leaf, (array, c) in read]

    def _element_loop(
        self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar], write: list[str]
    ) -> list[str]:
        """For each element the derivatives of sum over its cells of lambda . f, and how they change."""
        graph, traced = value.graph, self._traced
        values, paired = self._pair_with_lambda(value)
        read = self._cell_leaves(traced, along)
        moving_late = {leaf.serial: along[leaf.serial] for leaf, _ in read if leaf.serial in along}
        late = self._late_serials(traced) | {leaf.serial for leaf, _ in read}
        wrt = [p.leaf for p in places if p.leaf is not None]
        bodies, meets = differentiation.split_by_late_leaves(
            values,
            late | ties.kink_serials(values),
            [*wrt, *(n for n in inputs(values) if n.serial in along)],
        )
        of_cell = differentiation.gradient(paired(bodies), [leaf for leaf, _ in meets])
        dots = differentiation.tangent([node for _, node in meets], along)
        moving = [(leaf, dot) for (leaf, _), dot in zip(meets, dots, strict=True) if dot.number != 0.0]
        at_cell = {leaf.serial: graph.input(*leaf.value, "dot") for leaf, _ in moving}
        changing = differentiation.tangent(of_cell, at_cell | moving_late) if along else []
        summed = ties.settle_ties([*of_cell, *changing])

        sums = [graph.input("the sum", None, (k,)) for k in range(len(summed))]
        first, second = sums[: len(of_cell)], sums[len(of_cell) :]
        back = self._chain_through_cut(bodies, meets, first, second)
        chain = outputs(back, places, {**along, **{s.serial: d for s, d in zip(first, second, strict=False)}})

        names = self._floors | {s.serial: f"s{k}" for k, s in enumerate(sums)}
        known_at = [*(node for _, node in meets), *(dot for _, dot in moving)]
        _, known, texts = self._hoist_statements(known_at, None, names)
        names |= dict(
            zip(
                [*(leaf.serial for leaf, _ in meets), *(d.serial for d in at_cell.values())],
                texts,
                strict=True,
            )
        )
        early, cells = self._summing_loop(traced, summed, read, names, 0 if along else self.few)
        _, after, results = self._hoist_statements(chain, None, names)

        needed = inputs([*known_at, *summed, *chain])
        leaves = [
            leaf for leaf in needed if leaf.serial not in late and leaf.value[0] in self.term.energy.roles
        ]
        lines = [*self._element_loads(leaves), *self._window_corners(), *known, *early, *cells, *after]
        return [
            f"for e in range({self.prefix}nodes.shape[0]):",
            *indented([*lines, *fill_templates(write, results)]),
        ]

    def _chain_through_cut(
        self, bodies: Sequence[Scalar], meets: Meets, first: Sequence[Scalar], second: Sequence[Scalar]
    ) -> Scalar:
        """The sum over the cut of a sum over cells times the node of the cut.

        A node behind a branch that no cell took is left out: it may be infinite there.
        """
        graph = bodies[0].graph
        guarded = any(OPERATIONS[node.op].branches is not None for node in reachable(bodies))
        back = graph.constant(0.0)
        for k, (_, node) in enumerate(meets):
            part = first[k] * node
            if guarded:
                taken = first[k] != 0.0
                taken = (taken | (second[k] != 0.0)) if second else taken
                part = graph.apply("select", taken, part, 0.0)
            back = back + part
        return back

    # Pieces

    def _trace_energy(self, *purpose: Hashable) -> Trace:
        """f itself; lambda is a value of the cell and multiplies outside."""
        traced = Emitter._trace_energy(self)  # a new one for every purpose
        weights: dict[str, list[list[Scalar]]] = {}
        for k, c in self.components:
            (leaves,) = weights.setdefault(adjoint_of(k), [[]])
            leaves.append(traced.graph.input(adjoint_of(k), None, c))
        self._traced = replace(traced, inputs={**traced.inputs, **weights})
        return self._traced

    def _pair_with_lambda(self, value: Scalar) -> tuple[list[Scalar], Callable[[Sequence[Scalar]], Scalar]]:
        """The graphs that are cut, and their sum with lambda, which is a number of the cell."""
        weights = weights_of(self._traced)

        def paired(bodies: Sequence[Scalar]) -> Scalar:
            return reduce(add, (weight * body for weight, body in zip(weights, bodies, strict=True)))

        return list(self._traced.given), paired

    def _cell_leaves(self, traced: Trace, along: Mapping[int, Scalar]) -> Read:
        """The leaves that are numbers of a cell, and then their tangents."""
        of_cells = [(f"f_{self._field_name(adjoint_of(k))}", c) for k, c in self.components]
        every = list(zip(weights_of(traced), of_cells, strict=True))
        return with_tangents(every, along)

    def _place_leaves(self, traced: Trace) -> list[Scalar]:
        """The leaves that are the cell's place: known late, within the innermost loop."""
        (places,) = traced.inputs[self.map.cell or ""]
        return places

    def _late_serials(self, traced: Trace) -> set[int]:
        return {leaf.serial for leaf in self._place_leaves(traced)}

    def _corner_text(self, axis: int, side: int, text: str, ends: tuple[Scalar, Scalar]) -> str:
        """One number of an element's window; the highest follows from the lowest where the width is known."""
        place = f"{self.prefix}window[e, {2 * axis + side}]"
        if side and (size := size_of(ends)) is not None:
            return f"{place} = {self.prefix}window[e, {2 * axis}] + {size - 1}"
        return f"{place} = ti.cast(ti.min(ti.max({text}, -{FARTHEST}.0), {FARTHEST}.0), ti.i32)"

    def _window_corners(self) -> list[str]:
        """b, c: the lowest and the highest cell of element e along each axis; and the stored floors."""
        p = self.prefix
        lowest = [f"b{a} = {p}window[e, {2 * a}]" for a in self.axes]
        lowest += [f"{name} = {self.type}({p}floors[e, {k}])" for k, name in enumerate(self._floors.values())]
        return [*lowest, *(f"c{a} = {p}window[e, {2 * a + 1}]" for a in self.axes)]

    def _on_grid(self) -> tuple[list[str], list[str]]:
        """The range of element e's cells along each axis that lie on the grid."""
        low = [f"ti.max(b{a}, 0)" for a in self.axes]
        return low, [f"ti.min(c{a} + 1, {n})" for a, n in enumerate(self.shape)]

    def _band_end(self, band: str) -> str:
        """The row after the last of a band."""
        return f"ti.min(({band} + 1) * {self.band}, {self.shape[0]})"

    def _over_cells(
        self, traced: Trace, low: list[str], high: list[str], body: list[str], puts: Sequence[Put] = ()
    ) -> list[str]:
        """For every cell of a box the body, and then the statements that put numbers.

        Where windows have one size, and this one does not leave the box along the last axis, the loop over
        that has a constant length, which compilers like. A row is computed before it is put: stores between
        loads, which might be to the same memory, would keep the compiler from making vectors of them; devices
        have no use for vectors, and SPIR-V no arrays of a thread.
        """
        last = self.axes[-1]
        end = [f"{put}{text}" for put, text in puts]
        if self.beyond:
            return self._beyond_the_rim(traced, low, high, [*body, *end])
        clipped = self._nested_loops(
            low, high, self._last_axis_loop(traced, f"{low[last]}, {high[last]}", [*body, *end])
        )
        if (size := size_of(traced.window[last])) is None:
            return clipped
        ends = f"b{last}, b{last} + {size}"
        if puts and size * len(puts) <= ROW and runtime.arch() == "cpu":
            rows = [f"row{k}" for k in range(len(puts))] if len(puts) > 1 else ["row"]
            named = list(zip(rows, puts, strict=True))
            kept = [f"{one}[i{last} - b{last}] = {text}" for one, (_, text) in named]
            added = [f"{put}{one}[k]" for one, (put, _) in named]
            row = [
                *(f"{one} = ti.Vector([{self.type}(0.0)] * {size})" for one in rows),
                *self._last_axis_loop(traced, ends, [*body, *kept]),
                f"for k in ti.static(range({size})):",
                *indented([f"i{last} = b{last} + k", self._cell_number(), *added]),
            ]
        else:
            row = self._last_axis_loop(traced, ends, [*body, *end])
        inside = f"if (b{last} >= {low[last]}) & (c{last} < {high[last]}):"
        return [inside, *indented(self._nested_loops(low, high, row)), "else:", *indented(clipped)]

    def _unrolled_cells(self, traced: Trace, body: list[str], few: int) -> list[str]:
        """The body for each cell of a window on the grid, without a loop; none for more than `few` cells.

        Compilers then compute once what depends on a row or a column alone.
        """
        sizes = [size_of(ends) or math.inf for ends in traced.window]
        if self.beyond or math.prod(sizes) > few:
            return []
        lines = [self._cell_number(), *self._cell_place_names(traced), *body]
        for a in reversed(self.axes):
            lines = [f"for k{a} in ti.static(range({sizes[a]})):", *indented([f"i{a} = b{a} + k{a}", *lines])]
        return lines

    def _beyond_the_rim(self, traced: Trace, low: list[str], high: list[str], body: list[str]) -> list[str]:
        """The body for every cell of a box; beyond the rim that of the cell which the edges say.

        Of a window that leaves the grid all cells are visited, and those of other bands left out. One whose
        place is NaN has none.
        """
        inside = " & ".join(f"(b{a} >= 0) & (c{a} < {self.shape[a]})" for a in self.beyond)
        banded = "band" in low[0]
        lines = [self._cell_number("j"), *self._cell_place_names(traced), *body]
        for a in reversed(self.axes):
            wrapped = {
                "zero": f"i{a}",
                "clamped": f"ti.min(ti.max(i{a}, 0), {self.shape[a] - 1})",
                "periodic": f"i{a} % {self.shape[a]}",
            }
            if a == 0 and banded and a in self.beyond:
                lines = [
                    f"if (j0 >= band * {self.band}) & (j0 < {self._band_end('band')}):",
                    *indented(lines),
                ]
            ends = f"b{a}, c{a} + 1" if a in self.beyond else f"{low[a]}, {high[a]}"
            lines = [f"for i{a} in range({ends}):", *indented([f"j{a} = {wrapped[self.edges[a]]}", *lines])]
        last = self.axes[-1]
        size = size_of(traced.window[last]) if last in self.beyond and not (last == 0 and banded) else None
        ends = f"{low[last]}, {high[last]}" if size is None else f"b{last}, b{last} + {size}"
        plain = self._nested_loops(low, high, self._last_axis_loop(traced, ends, body))
        known = f"b0 != {LOST}"
        return [f"if {inside}:", *indented(plain), f"elif {known}:", *indented(lines)]

    def _last_axis_loop(self, traced: Trace, ends: str, body: list[str]) -> list[str]:
        """The loop over the last axis."""
        each = [self._cell_number(), *self._cell_place_names(traced), *body]
        return [f"for i{self.axes[-1]} in range({ends}):", *indented(each)]

    def _cell_place_names(self, traced: Trace) -> list[str]:
        """The place of the cell at i0, i1, ..."""
        return [f"{leaf_name(leaf)} = i{a}" for a, leaf in enumerate(self._place_leaves(traced))]

    def _nested_loops(self, low: list[str], high: list[str], lines: list[str]) -> list[str]:
        """The lines within loops over all axes but the last."""
        for a in reversed(self.axes[:-1]):
            lines = [f"for i{a} in range({low[a]}, {high[a]}):", *indented(lines)]
        return lines

    def _cell_number(self, index: str = "i") -> str:
        """The number of the cell at i0, i1, ..."""
        text = f"{index}0"
        for a in self.axes[1:]:
            text = f"({text}) * {self.shape[a]} + {index}{a}"
        return f"cell = {text}"

    def _rounded_numbers(self) -> dict[int, str]:
        """The rounded numbers that windows come from, by serial, in their order; and their names."""
        corners = [corner for pair in self._trace_energy().window for corner in pair]
        atoms = {s for corner in corners for s, node in form(corner).atoms.items() if is_rounded(node)}
        return {serial: f"w{k}" for k, serial in enumerate(sorted(atoms))}

    # Tables

    def _known_reads(self) -> tuple[dict[int, list[tuple[int, int] | None]], dict[str, list[int]]]:
        """Where the places of a lookup are known relative to the window; where tables begin in their arrays.

        A place that is (the cell - the window's lowest cell) + c on an axis, is within c .. c + size - 1: the
        table is padded with zeros, and kernels need not test whether a place is within.
        """
        traced = self._trace_energy()
        cells = self._place_leaves(traced)
        reads: dict[int, list[tuple[int, int] | None]] = {}
        tables = self.term.tables
        pads = {name: [[0, 0] for _ in table.shape] for name, table in tables.items()}
        for node in reachable(traced.given):
            if node.op == "lookup":
                reads[node.serial] = [_relative_place(place, cells, traced.window) for place in node.args]
                shape = tables[node.value].shape
                for pad, n, read in zip(pads[node.value], shape, reads[node.serial], strict=True):
                    if read is not None:
                        size = size_of(traced.window[read[0]]) or 0
                        pad[:] = max(pad[0], -read[1]), max(pad[1], read[1] + size - n)
        for name, around in pads.items():
            self._arrays[f"table_{name}"] = storage.allocate(np.pad(tables[name], around))
        return reads, {name: [before for before, _ in around] for name, around in pads.items()}

    def _needed_nodes(self, node: Scalar) -> tuple[Scalar, ...]:
        known = node.op == "lookup" and None not in self._reads.get(node.serial, [None])
        return () if known else node.args

    def _operation_text(self, node: Scalar, arguments: Sequence[str]) -> str:
        text = super()._operation_text(node, arguments)
        return f"{WHOLE_TYPE}({arguments[0]}) * {arguments[1]}" if node.op == "mul" and node.integer else text

    def _lookup_text(self, node: Scalar, places: Sequence[str]) -> str:
        reads = self._reads.get(node.serial, [None] * len(node.args))  # nodes of the window, and beyond a cut
        begin = self._begin[node.value]
        table = f"{self.prefix}table_{node.value}"
        if None not in reads:
            shifted = [
                f"i{r[0]} - b{r[0]} + {r[1] + first}" for r, first in zip(reads, begin, strict=True) if r
            ]
            return f"{table}[{', '.join(shifted)}]"
        texts = [
            f"ti.cast({text}, ti.i32)" if read is None else f"(i{read[0]} - b{read[0]} + {read[1]})"
            for read, text in zip(reads, places, strict=True)
        ]
        return bounded_lookup(table, texts, self.term.tables[node.value].shape, self.type, begin)


def with_tangents(every: Read, along: Mapping[int, Scalar]) -> Read:
    """Leaves with the numbers that they are read from, and then those of their tangents."""
    moving = [(along[leaf.serial], (f"w{name[1:]}", c)) for leaf, (name, c) in every if leaf.serial in along]
    return [*((leaf, number) for leaf, number in every), *moving]


def _relative_place(
    place: Scalar, cells: Sequence[Scalar], window: Sequence[tuple[Scalar, Scalar]]
) -> tuple[int, int] | None:
    """The axis and the number c for which a place is (the cell - the window's lowest cell) + c, if there are.

    And the window has the same size at every state.
    """
    for axis, (cell, (low, high)) in enumerate(zip(cells, window, strict=True)):
        offset = form(place).minus(form(cell)).plus(form(low)).known_value
        if offset is not None and size_of((low, high)) is not None:
            return axis, offset
    return None


def size_of(ends: tuple[Scalar, Scalar]) -> int | None:
    """The cells of a window along an axis, if they are as many at every state."""
    between = form(ends[1]).minus(form(ends[0])).known_value
    return None if between is None or not 0 <= between < FARTHEST else between + 1
