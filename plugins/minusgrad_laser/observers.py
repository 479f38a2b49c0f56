"""Observers of a laser deposition: dose and error on the canvas, the path, and scalars of both.

mean_square_error = mean over cells of (dose - target)^2        peak_dose = the largest dose
path_length = sum over segments of |x_b - x_a|                  job_time = sum of |x_b - x_a| / speed_b
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Fields, Observer, ObserverContext, Record, UserError, ordered_sum


class Deposition(Observer):
    """Records dose and error (dose - target) over the canvas, the path, and each segment's power and speed.

    A segment is written with the power and the speed of its end.
    """

    def __init__(self, context: ObserverContext, every: int, dose: str):
        super().__init__(context.stepper, context.recorder, every)
        self.dose, self.segments = dose, context.state.tuples["segments"]
        of_dose = self.fields[dose].unit
        units = dict.fromkeys(("dose", "error", "peak_dose"), of_dose)
        units |= {"mean_square_error": f"{of_dose} {of_dose}", "job_time": "s", "path_length": "m"}
        units |= {"position": "m", "power": "W", "speed": "m s^-1"}
        for label, unit in units.items():
            context.recorder.unit(label, context.units.symbol(unit), context.units.in_si(unit))

    def observe(self) -> None:
        step, time = self.stepper.step, self.stepper.time
        self.potential.refresh(time)
        dose = self.fields[self.dose].values
        error = dose - self.fields["target"].values
        self.recorder.record_grid(step, time, "canvas", {"dose": dose, "error": error})
        x, y, power, speed = (self.fields[name].values for name in ("x", "y", "power", "speed"))
        self.recorder.record_frame(step, time, {"position": np.stack([x, y], axis=1)})
        ends = self.segments[:, 1]
        written = {"power": power[ends], "speed": speed[ends]}
        self.recorder.record_cells(step, time, "segments", written)
        square = ordered_sum(error.astype(np.float64) ** 2) / len(error)
        values = {"mean_square_error": square, "peak_dose": float(dose.max())}
        self.recorder.record_observables(step, time, values | travel(self.fields, self.segments))


def travel(fields: Fields, segments: np.ndarray) -> dict[str, float]:
    """`path_length` [m] and `job_time` [s]: each segment (a, b) at the speed of its end b."""
    x, y, speed = (fields[name].values.astype(np.float64) for name in ("x", "y", "speed"))
    a, b = segments.T
    length = np.hypot(x[b] - x[a], y[b] - y[a])
    return {"path_length": ordered_sum(length), "job_time": ordered_sum(length / speed[b])}


class DepositionBlock(Record):
    """The dose (which field it is: `dose`) and its error over the canvas, the path, and numbers of both."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    dose: str = "dose"
    """Name of the field of the dose."""

    def make(self, context: ObserverContext) -> Observer:
        grid, field = context.state.grids.get("canvas"), context.stepper.potential.fields[self.dose]
        if grid is None:
            raise UserError("the state has no canvas; take [state] kind = 'laser_path'")
        if field.shape != (len(grid),):
            raise UserError(
                f"dose: field '{self.dose}' has shape {field.shape}; the canvas has {len(grid)} cells"
            )
        return Deposition(context, self.every, self.dose)


OBSERVERS = {"deposition": DepositionBlock}
