"""Steppers of the core with substeps to a tolerance, and programs in time."""

from typing import Annotated

from pydantic import Field as Limits

from ...scene.records import Quantity, Record, quantities
from ...steppers.programs.evolution import Evolution
from ...steppers.timed.gauss_radau.gauss_radau import TOLERANCE, GaussRadau
from ..contexts import StepperContext


class GaussRadauBlock(Record):
    """Gauss-Radau steps of order 15 (IAS15): each step of `dt` in as many substeps as `tolerance` asks for.

    tolerance: of the last term of a substep's accelerations, in parts of the largest one; rounding alone is
    more than 1e-12 of it.
    """

    dt: Annotated[float | str, Quantity("s", "positive")]
    """Length of a step, which is divided into substeps as the tolerance asks."""
    tolerance: Annotated[float, Limits(ge=1e-11)] = TOLERANCE
    """Largest last term of a substep's accelerations, relative to the largest acceleration."""

    def make(self, context: StepperContext) -> GaussRadau:
        return GaussRadau(context.system, quantities(self, context.units)["dt"], tolerance=self.tolerance)


class EvolutionBlock(Record):
    """A program in time: in steps of length `dt` fields become the results of maps and slopes.

    `next`: for each field that changes, the field that it becomes.
    """

    next: dict[str, str] = Limits(min_length=1)
    """For each field that changes, the field that it becomes at the end of a step."""
    dt: Annotated[float | str, Quantity("s", "positive")] = 1.0
    """Length of a step."""

    def make(self, context: StepperContext) -> Evolution:
        dt = quantities(self, context.units)["dt"]
        return Evolution(context.system, self.next, dt)
