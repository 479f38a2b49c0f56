"""Observers of a laser deposition: dose and error on the canvas, the path, and scalars of both.

mean_square_error = mean over cells of (dose - target)^2        peak_dose = the largest dose
path_length = sum over segments of |x_b - x_a|                  job_time = sum of |x_b - x_a| / speed_b

or, in scenes with planned motion, job_time = sum of the field `duration`. Of the developed map, cut at 1/2
(`scores`): intersection over union, the areas that are over- and under-exposed, and the mean, the 95th
percentile and the largest distance of its contour from the target's.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Fields, Grid, Observer, ObserverContext, Record, UserError, ordered_sum

from . import scores
from .contours import Contour

OF_LENGTH = ("edge_error_mean", "edge_error_95_percent", "edge_error_max")
OF_AREA = ("over_exposed_area", "under_exposed_area")


class Deposition(Observer):
    """Records dose and error (dose - target) over the canvas, the path, and each segment's power and speed.

    A segment is written with the power and the speed of its end. `developed`: the field that is scored; where
    it is not the dose, it is recorded over the canvas, too.
    """

    def __init__(self, context: ObserverContext, every: int, dose: str, developed: str):
        super().__init__(context.stepper, context.recorder, every)
        self.dose, self.developed, self.segments = dose, developed, context.state.tuples["segments"]
        self.grid: Grid = context.state.grids["canvas"]
        self.contour = Contour.of(self._canvas_map("target"))
        of_dose = self.fields[dose].unit
        units = dict.fromkeys(("dose", "error", "peak_dose"), of_dose)
        units |= {"mean_square_error": f"{of_dose} {of_dose}", "job_time": "s", "path_length": "m"}
        units |= {"position": "m", "power": "W", "speed": "m s^-1", "intersection_over_union": "1"}
        units |= dict.fromkeys(OF_LENGTH, "m") | dict.fromkeys(OF_AREA, "m^2")
        units |= {"developed": self.fields[developed].unit} if developed != dose else {}
        for label, unit in units.items():
            context.recorder.unit(label, context.units.symbol(unit), context.units.in_si(unit))

    def observe(self) -> None:
        step, time = self.stepper.step, self.stepper.time
        self.potential.refresh(time)
        dose = self.fields[self.dose].values
        error = dose - self.fields["target"].values
        maps = {"dose": dose, "error": error}
        if self.developed != self.dose:
            maps["developed"] = self.fields[self.developed].values
        self.recorder.record_grid(step, time, "canvas", maps)
        x, y, power, speed = (self.fields[name].values for name in ("x", "y", "power", "speed"))
        self.recorder.record_frame(step, time, {"position": np.stack([x, y], axis=1)})
        ends = self.segments[:, 1]
        written = {"power": power[ends], "speed": speed[ends]}
        self.recorder.record_cells(step, time, "segments", written)
        square = ordered_sum(error.astype(np.float64) ** 2) / len(error)
        values = {"mean_square_error": square, "peak_dose": float(dose.max())}
        values |= travel(self.fields, self.segments) | self._map_scores()
        self.recorder.record_observables(step, time, values)

    def _canvas_map(self, name: str) -> np.ndarray:
        """A field over the canvas, (rows, columns)."""
        return self.fields[name].values.reshape(self.grid.shape).astype(np.float64)

    def _map_scores(self) -> dict[str, float]:
        """Scores of the developed map; NaN where it is not finite, or the target has no contour."""
        developed, target, pixel = (
            self._canvas_map(self.developed),
            self._canvas_map("target"),
            self.grid.spacing,
        )
        if not np.isfinite(developed).all():
            return dict.fromkeys(("intersection_over_union", *OF_LENGTH, *OF_AREA), np.nan)
        placed = scores.edge_placement(developed, target, pixel, contour=self.contour)
        return {
            "intersection_over_union": scores.intersection_over_union(developed, target),
            **dict(zip(OF_LENGTH, (placed.mean, placed.quantile(0.95), placed.largest_error), strict=True)),
            **dict(zip(OF_AREA, scores.misplaced_areas(developed, target, pixel), strict=True)),
        }


def travel(fields: Fields, segments: np.ndarray) -> dict[str, float]:
    """`path_length` [m] and `job_time` [s]: each segment (a, b) at the speed of its end b, or as planned."""
    x, y, speed = (fields[name].values.astype(np.float64) for name in ("x", "y", "speed"))
    a, b = segments.T
    length = np.hypot(x[b] - x[a], y[b] - y[a])
    planned = "duration" in fields
    duration = fields["duration"].values.astype(np.float64) if planned else length / speed[b]
    return {"path_length": ordered_sum(length), "job_time": ordered_sum(duration)}


class DepositionBlock(Record):
    """Dose and error over the canvas, the path, and numbers of both; scores of the developed map."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    dose: str = "dose"
    """Name of the field of the dose."""
    developed: str | None = None
    """Name of the field that is cut at 1/2 and scored (default: "developed", or else the dose)."""

    def make(self, context: ObserverContext) -> Observer:
        grid, fields = context.state.grids.get("canvas"), context.stepper.potential.fields
        developed = self.developed or ("developed" if "developed" in fields else self.dose)
        for key, name in (("dose", self.dose), ("developed", developed)):
            shape = fields[name].shape
            if grid is None:
                raise UserError("the state has no canvas; take [state] kind = 'laser_path'")
            if shape != (len(grid),):
                raise UserError(f"{key}: field '{name}' has shape {shape}; the canvas has {len(grid)} cells")
        return Deposition(context, self.every, self.dose, developed)


OBSERVERS = {"deposition": DepositionBlock}
