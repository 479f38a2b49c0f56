"""The loops of maps from the cells of a grid: each element sums over its window, and reads fields there.

    forward   y_p += sum over c of f(e, c, q_c)           each element sums over its window
    adjoint   dU/dz += lambda_p sum over c of df/dz       the same, for the element's own numbers z
              dU/dq_c += sum over e of lambda_p df/dq_c   each band of rows sums the elements that reach it

with p the first node of element e, and lambda = dU/dy. Every sum has a fixed order, at any number of threads.

Decisions 0267, 0269, 0294.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...elements.elements import each_once
from ...energies.local_energy import WINDOW
from ...engine import storage
from ...engine.kernels import Code
from ...symbolic.graph import inputs
from ...symbolic.scalar import Scalar
from ..derivative_request import DerivativeRequest, Place, Sweep, outputs
from ..map_loops import MapLoops, map_outputs
from ..statements import indented, subscript
from ..tracing import Trace
from ..verification.element_samples import Number
from ..verification.sweep_verification import relaunch_kernel
from .scatter_loops import LOST, OfCell, Read, WindowLoops, with_tangents
from .verification import Windows, verify_cells, verify_sums, verify_windows


class GatherLoops(WindowLoops):
    """The loops of a map from the cells of a grid."""

    few = 9

    @property
    def gives_to_all(self) -> bool:
        return not self._one_each or self.term.elements.rows == len(self.given[0])

    @property
    def _one_each(self) -> bool:
        """True if each element gives to a node of its own."""
        receivers = self.term.elements.nodes[:, 0]
        return len(each_once(receivers)) == len(receivers)

    @property
    def in_window(self) -> list[str]:
        """The arguments that are read at cells."""
        return [a for a in self.term.fields if self.term.energy.set_of(a) == WINDOW]

    # Loops

    def _emit_forward(
        self, outs: Sequence[str], moved: DerivativeRequest, overwrite: Sequence[bool]
    ) -> list[str]:
        traced, one_each = self._trace_energy(), self._one_each
        values = map_outputs(traced, moved)
        sums = [f"s{k}" for k in range(len(values))]
        lost = [f"if b0 == {LOST}:", *(f"    {one} = {self.type}(ti.math.nan)" for one in sums)]
        if one_each:
            put = self._stored_outputs(outs, overwrite, "n0", sums)
        else:
            self._row_buffers(self._output_places)
            buffer = self._output_places[0].buffer
            put = [f"{self.row(buffer, k)} = ti.f64({one})" for k, one in enumerate(sums)]
        loop = self._window_sums(traced, values, [*lost, *put])
        after = [] if one_each else self._receiver_loop(partial(self._stored_outputs, outs, overwrite))
        return [*([] if moved.tangents else self._put_windows()), *loop, *after]

    def _window_sums(self, traced: Trace, values: list[Scalar], after: list[str]) -> list[str]:
        """For each element the sums of graphs over its window, `s0`, `s1`, ..., and statements after them."""
        late, leaves = self._late_serials(traced), list(inputs(values))
        read = self._at_cells(traced, leaves)
        early, cells = self._summing_loop(traced, values, read, dict(self._floors))
        own = [leaf for leaf in leaves if leaf.serial not in late]
        lines = [*self._element_loads(own), *self._window_corners(), *early, *cells, *after]
        return [f"for e in range({self.prefix}nodes.shape[0]):", *indented(lines)]

    def _by_element(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """The element's own derivatives, and those of cells; of one field, overwriting ones come first."""
        at_cells = [p for p in places if p.argument in self.in_window]
        own = [p for p in places if p not in at_cells]
        begins = {p.argument for p in at_cells if p.overwrite}
        first = [p for p in at_cells if p.argument in begins]
        return [
            *self._to_cells(value, first, along),
            *(super()._by_element(value, own, along) if own else []),
            *self._to_cells(value, [p for p in at_cells if p not in first], along),
        ]

    def _to_cells(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """Derivatives with respect to fields at cells, band by band."""
        if not places:
            return []
        traced = self._traced
        values = outputs(value, places, along)
        late, leaves = self._late_serials(traced), list(inputs(values))
        numbers = [(self.output(place), place.component) for place in places]
        read = self._at_cells(traced, leaves)
        early, adds, texts = self._hoist_statements(values, late, dict(self._floors))
        puts = [
            (f"{out}[cell{subscript(c)}] = {out}[cell{subscript(c)}] + ", text)
            for (out, c), text in zip(numbers, texts, strict=True)
        ]
        fetch = self._fetch_statements(read)
        cells = self._over_cells(traced, *self._in_band(), [*fetch, *adds], puts)
        own = [leaf for leaf in leaves if leaf.serial not in late]
        element = [*self._element_loads(own), *self._window_corners(), *early, *cells]
        cleared = [number for number, place in zip(numbers, places, strict=True) if place.overwrite]
        return self._in_bands(cleared, element)

    # Pieces

    def _trace_energy(self, *purpose: Hashable) -> Trace:
        """lambda_p . f; the fields that are read at cells are known late."""
        self._traced = MapLoops._trace_energy(self)  # a new one for every purpose
        return self._traced

    def _late_serials(self, traced: Trace) -> set[int]:
        return super()._late_serials(traced) | {leaf.serial for leaf, _ in self._at_cells(traced)}

    def _at_cells(self, traced: Trace, among: Sequence[Scalar] | None = None) -> Read:
        """The leaves that are read at a cell, and their tangents; `among`: only those of some leaves."""
        found = [
            (leaf, (f"f_{self._field_name(a)}", leaf.value[2]))
            for a in self.in_window
            for leaf in traced.inputs[a][0]
        ]
        dots = {leaf.serial: traced.graph.input(*leaf.value, "dot") for leaf, _ in found}
        every = with_tangents(found, dots)
        known = None if among is None else {leaf.serial for leaf in among}
        return [one for one in every if known is None or one[0].serial in known]

    def _pair_with_lambda(self, value: Scalar) -> tuple[list[Scalar], Callable[[Sequence[Scalar]], Scalar]]:
        return [value], lambda bodies: bodies[0]

    def _cell_leaves(self, traced: Trace, along: Mapping[int, Scalar]) -> Read:
        found = self._at_cells(traced)
        return with_tangents([one for one in found if len(one[0].value) == 3], along)

    # Verification

    def verify_forward(self, code: Code, along: Mapping[str, Any], t: float) -> bool:
        if (storage.host(self._arrays["window"])[:, 0] == LOST).any():
            return False
        outs, values = (
            self._output_names(bool(along)),
            map_outputs(self._trace_energy(), DerivativeRequest(tangents=along)),
        )
        if self._one_each:
            fresh, nodes = relaunch_kernel(code, {*outs}, t), self.term.elements.nodes[:, 0]
            found = [storage.host(fresh[outs[k]])[(nodes, *c)] for k, c in self.components]
        else:
            found = list(storage.host(self._arrays[self._output_places[0].buffer]).T)
        verify_sums(self.term, self.numbers(values), self._stored_windows(), found, t, along)
        return True

    def verify(self, wanted: DerivativeRequest, code: Code, t: float) -> None:
        if self.swept is None:
            self._emitted_graph(wanted)
        assert self.swept is not None
        sweep, self.swept = self.swept, None
        traced, along, windows = sweep.traced, sweep.along, self._stored_windows()
        at_cells = [p for p in sweep.places if p.argument in self.in_window]
        own = [p for p in sweep.places if p not in at_cells]
        outs = [{self.output(p) for p in some if not p.is_summed} for some in (own, at_cells)]
        of_own, of_cells = (self._code_on_copies(code, others) for others in reversed(outs))
        if outs[0] & outs[1]:
            self._traced = traced  # both kinds are added to one array: each once more, alone
            of_own = self._code_of_lines(super()._by_element(traced.value, own, along), wanted)
            of_cells = self._code_of_lines(self._to_cells(traced.value, at_cells, along), wanted)
        if own:
            verify_windows(self, Sweep(traced, own, along), windows, of_own, t, wanted.tangents)
        if at_cells:
            self._verify_cells(Sweep(traced, at_cells, along), windows, of_cells, t, wanted.tangents)

    def _code_on_copies(self, code: Code, names: set[str]) -> Code:
        """The same kernel with other arrays of these names: once more, it would add to them once more."""
        fresh = {name: storage.host(code.arrays[name]) for name in names}
        return code.naming(**{name: storage.allocate(np.zeros_like(a)) for name, a in fresh.items()})

    def _verify_cells(
        self, sweep: Sweep, windows: Windows, code: Code, t: float, along: Mapping[str, Any]
    ) -> None:
        """Compare derivatives by fields at some cells; several arguments may be bound to one field."""
        summed: dict[OfCell, Number] = {}
        graphs = outputs(sweep.traced.value, sweep.places, sweep.along)
        for place, graph in zip(sweep.places, graphs, strict=True):
            at, number = (self.output(place), place.component), Number.at(place, graph)
            before = summed.get(at)
            summed[at] = replace(before, graph=before.graph + graph) if before else number
        fresh = relaunch_kernel(code, {name for name, _ in summed}, t)
        arrays = {name: storage.host(array) for name, array in fresh.items()}
        found = [np.moveaxis(arrays[name], 0, -1)[c] for name, c in summed]
        verify_cells(self.term, list(summed.values()), windows, found, t, along)
