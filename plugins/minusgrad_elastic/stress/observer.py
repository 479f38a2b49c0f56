"""Observers of stress: of cells, at quadrature points, at nodes, along a line and on a side.

    series                                what
    cells/LIST/LABEL                      means over the points of a cell, weighted by volume (E, ...)
    cells/LIST/LABEL_at_points            at quadrature points (E, q, ...), place_at_points (E, q, d) at rest
    particles/all/LABEL_at_nodes          recovered at nodes (`recovery`), NaN at nodes of no cell
    particles/all/LABEL_error_at_nodes    the error there, of measures that are one number
    cells/LIST/stress_error               the error of a cell in the energy norm, in parts of that of the body
    observables/stress_error              of the body
    observables/peak/LABEL                the largest value at nodes; also peak_error, peak_place
    grids/NAME/LABEL, place, distance     along a line, or at the nodes of a side

Cells with fewer points than others of their list end with NaN.

Decisions 0161.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from minusgrad.plugin import Observer, ObserverContext

from .cell_points import CellPoints, row_sums
from .measures import LABELS, PEAKS, PURE, Measure, base_of, measured
from .places import Line, Side
from .point_values import PointStress, PointValues
from .recovery import Recovery, peak_values, relative_error

SHORT = {1.0: "Pa", 1e3: "kPa", 1e6: "MPa", 1e9: "GPa"}
Where = Literal["cells", "points", "nodes"]
How = Literal["superconvergent", "means"]
SCALARS: tuple[Measure, ...] = ("von_mises", "tresca", "hydrostatic")
"""Measures that are one number, whose error at nodes is recorded."""


class Stress(Observer):
    """Records stresses of a list of cells, where they are asked for."""

    def __init__(
        self,
        context: ObserverContext,
        every: int,
        cells: str,
        terms: Mapping[str, np.ndarray],
        measures: Sequence[Measure],
        at: Sequence[Where] = ("cells",),
        recovery: How = "superconvergent",
    ):
        super().__init__(context.stepper, context.recorder, every)
        self.cells, self.measures, self.at = cells, tuple(measures), tuple(at)
        points = context.state.quadratures.get(cells)
        names = points.lists if points else (cells,)
        self.lists = {name: context.state.tuples[name] for name in names}
        self.cell = np.arange(len(self.lists[cells])) if points is None else points.cell
        self.count = sum(map(len, self.lists.values()))
        self.points = PointStress(context, cells, terms)
        self.means = recovery == "means"
        self.recovery: Recovery | None = None
        if ("nodes" in at and not self.means) or "points" in at:
            self.recovery = Recovery(CellPoints(context.state, cells), self.points)
        self._unit, self._length = pressure_unit(context), length_unit(context)[0]
        self._last: Mapping[str, float | np.ndarray] = {}
        self._name_units(context)

    def _name_units(self, context: ObserverContext) -> None:
        unit, recorder = pressure_unit(context), context.recorder
        for measure in self.measures:
            own, label = ("1", 1.0) if measure in PURE else unit, LABELS[measure]
            for name in (label, f"{label}_at_points", at_nodes(label), f"{label}_error_at_nodes"):
                recorder.unit(name, *own)
            for name in ("peak", "peak_error") if measure in PEAKS else ():
                recorder.unit(f"{name}/{label}", *own)
            recorder.unit(f"peak_place/{label}", *length_unit(context))
        recorder.unit("stress_error", "1", 1.0)
        recorder.unit("place_at_points", *length_unit(context))

    def observe(self) -> None:
        stepper = self.stepper
        values = self.points.at(stepper.time, "strain" in self.measures)
        found = self.cell_values(values)
        if "cells" in self.at:
            self._record_by_list({LABELS[m]: one for m, one in found.items()})
        if "points" in self.at:
            self._record_by_list(self._padded_points(values))
        if "nodes" in self.at and self.means:
            named = {LABELS[m]: one for m, one in found.items()}
            self.recorder.record_frame(stepper.step, stepper.time, self.mean_values(named))
        elif "nodes" in self.at:
            self._record_nodes(values)

    def _scale_of(self, value: float) -> tuple[float, str]:
        """A unit in which a stress has few digits: its size in the run's unit, and its name after a space."""
        symbol, size = self._unit
        if symbol == "1":
            return 1.0, ""
        fitting = [one for one in SHORT if abs(value) * size >= one] or [1.0]
        return max(fitting) / size, f" {SHORT[max(fitting)]}"

    def stresses(self, t: float) -> dict[Measure, np.ndarray]:
        """Each measure of every cell: (E,), (E, 3) or (E, 3, 3)."""
        return self.cell_values(self.points.at(t, "strain" in self.measures))

    def cell_values(self, values: PointValues) -> dict[Measure, np.ndarray]:
        """Measures of the means over the points of each cell, weighted by volume."""
        bases = {base_of(measure) for measure in self.measures}
        means = {base: self._of_cells(getattr(values, base)) for base in bases}
        return {measure: measured(measure, means) for measure in self.measures}

    def _of_cells(self, values: np.ndarray) -> np.ndarray:
        if len(self.cell) == self.count:
            return values
        volume = self.points.volume
        total = row_sums(self.cell, volume[:, None, None] * values)
        return total / row_sums(self.cell, volume)[:, None, None]

    def _record_by_list(self, found: Mapping[str, np.ndarray]) -> None:
        stepper, start = self.stepper, 0
        for name, rows in self.lists.items():
            own = {label: values[start : start + len(rows)] for label, values in found.items()}
            self.recorder.record_cells(stepper.step, stepper.time, name, own)
            start += len(rows)

    def _padded_points(self, values: PointValues) -> dict[str, np.ndarray]:
        """Values at points by cell (E, q, ...)."""
        assert self.recovery is not None
        cells, tensors = self.recovery.cells, values._asdict()
        slot = np.arange(len(self.cell)) - np.searchsorted(self.cell, self.cell)
        found = {f"{LABELS[m]}_at_points": measured(m, tensors) for m in self.measures}
        padded = {}
        for label, rows in (found | {"place_at_points": cells.places}).items():
            padded[label] = np.full((self.count, int(slot.max()) + 1, *rows.shape[1:]), np.nan)
            padded[label][self.cell, slot] = rows
        return padded

    def _record_nodes(self, values: PointValues) -> None:
        """Recovered values at nodes, and all errors."""
        step, time, recovery = self.stepper.step, self.stepper.time, self.recovery
        assert recovery is not None
        recovery.prepare()
        tensors = recovered(recovery, values, (*self.measures, "cauchy"))
        seats = recovery.seats_of_nodes(tensors["cauchy"])
        frames, numbers = dict[str, np.ndarray](), dict[str, float | np.ndarray]()
        for measure in self.measures:
            label, value = LABELS[measure], measured(measure, tensors)
            frames[at_nodes(label)] = recovery.at_nodes(seats, value)
            if measure in SCALARS or measure in PEAKS:
                error = recovery.seat_errors(measure, values.cauchy, tensors["cauchy"])
                if measure in SCALARS:
                    frames[f"{label}_error_at_nodes"] = recovery.at_nodes(seats, error)
                if measure in PEAKS:
                    first = value if value.ndim == 1 else value[:, 0]
                    peak = peak_values(seats, first, error, recovery.cells.X)
                    numbers |= {f"{name}/{label}": one for name, one in peak.items()}
        energy = float(self.points.energies(time, self.potential).sum())
        of_cells = recovery.cell_errors(values, energy)
        self._record_by_list({"stress_error": of_cells})
        numbers["stress_error"] = relative_error(of_cells)
        self.recorder.record_frame(step, time, frames)
        self.recorder.record_observables(step, time, numbers)
        self._last = numbers

    def finding(self) -> str:
        """The largest values at nodes and their errors, and the error of the body."""
        if not self._last:
            return ""
        length = "" if self._length == "1" else f" {self._length}"
        peaks = []
        for measure in [m for m in self.measures if m in PEAKS]:
            label = LABELS[measure]
            value, error = (float(self._last[f"{what}/{label}"]) for what in ("peak", "peak_error"))
            place = ", ".join(f"{x:.4g}" for x in np.atleast_1d(self._last[f"peak_place/{label}"]))
            name = label.replace("_", " ").replace("mises", "Mises").replace("tresca", "Tresca")
            size, unit = self._scale_of(value)
            peaks.append(
                f"largest {name} {value / size:.5g} +- {error / size:.2g}{unit} at ({place}){length}"
            )
        found = f"error {100.0 * float(self._last['stress_error']):.2g} % in the energy norm"
        return f"stress in '{self.cells}': {'; '.join([*peaks, found])}"

    def mean_values(self, found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Means over the cells around each node, weighted by volume; NaN at nodes of none."""
        volume = self.points.volume
        volume = volume if len(self.cell) == self.count else row_sums(self.cell, volume)
        nodes = np.concatenate([rows.ravel() for rows in self.lists.values()])
        corners = np.concatenate([np.full(len(r), r.shape[1]) for r in self.lists.values()])
        cells, count = np.repeat(np.arange(len(corners)), corners), len(self.fields["x"])
        weight = row_sums(nodes, volume[cells], count)
        means = {}
        for label, values in found.items():
            shares = values[cells] * volume[cells].reshape(-1, *[1] * (values.ndim - 1))
            with np.errstate(invalid="ignore", divide="ignore"):
                sums = row_sums(nodes, shares, count)
                means[at_nodes(label)] = sums / weight.reshape(-1, *[1] * (values.ndim - 1))
        return means


class StressAlong(Observer):
    """Records recovered stresses along a line or on a side, as fields over a grid of its own, `name`."""

    def __init__(
        self,
        context: ObserverContext,
        every: int,
        name: str,
        recovery: Recovery,
        measures: Sequence[Measure],
        along: Line | Side,
    ):
        super().__init__(context.stepper, context.recorder, every)
        self.name, self.measures, self.recovery, self.along = name, tuple(measures), recovery, along
        count, length = len(along.apart), length_unit(context)
        spacing = float(along.apart[-1]) / max(count - 1, 1) if isinstance(along, Line) else 1.0
        context.recorder.grid(name, (count,), spacing or 1.0, length if isinstance(along, Line) else None)
        for measure in measures:
            unit = ("1", 1.0) if measure in PURE else pressure_unit(context)
            for label in (LABELS[measure], f"{LABELS[measure]}_error"):
                context.recorder.unit(label, *unit)
        for label in ("place", "distance"):
            context.recorder.unit(label, *length)

    def observe(self) -> None:
        step, time = self.stepper.step, self.stepper.time
        for label, value in self.values(time).items():
            self.recorder.record_grid(step, time, self.name, {label: value}, value.shape[1:])

    def values(self, t: float) -> dict[str, np.ndarray]:
        """Place, distance and each measure of the points (Q, ...)."""
        recovery, along = self.recovery, self.along
        recovery.prepare()
        values = recovery.points.at(t, "strain" in self.measures)
        tensors = recovered(recovery, values, (*self.measures, "cauchy"))
        if isinstance(along, Line):
            found = {"place": along.places, "distance": along.apart}
            own = {b: along.values(one[recovery.patches.seat_of]) for b, one in tensors.items()}
            return found | {LABELS[m]: measured(m, own) for m in self.measures}
        found = {"place": recovery.cells.X[along.nodes], "distance": along.apart}
        seats = recovery.seats_of_nodes(tensors["cauchy"])
        for measure in self.measures:
            value = recovery.at_nodes(seats, measured(measure, tensors))
            found[LABELS[measure]] = value[along.nodes]
            if measure in SCALARS:
                error = recovery.seat_errors(measure, values.cauchy, tensors["cauchy"])
                found[f"{LABELS[measure]}_error"] = recovery.at_nodes(seats, error)[along.nodes]
        return found


def recovered(recovery: Recovery, values: PointValues, measures: Sequence[Measure]) -> dict[str, np.ndarray]:
    """The tensors that measures are of, at seats (K, 3, 3), by name."""
    bases = dict.fromkeys(base_of(measure) for measure in measures)
    return {base: recovery.seat_values(getattr(values, base)) for base in bases}


def pressure_unit(context: ObserverContext) -> tuple[str, float]:
    """The name of the run's unit of pressure, by its short one if it has one, and its size in SI."""
    size, symbol = context.units.in_si("Pa"), context.units.symbol("Pa")
    return symbol if symbol == "1" else SHORT.get(size, symbol), size


def length_unit(context: ObserverContext) -> tuple[str, float]:
    """The name of the run's unit of length, and its size in SI."""
    return context.units.symbol("m"), context.units.in_si("m")


def at_nodes(label: str) -> str:
    """The label of values at nodes."""
    return f"{label}_at_nodes"
