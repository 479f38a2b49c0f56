"""The distance between the ends of a chain, |x_(n-1) - x_0| [m]."""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Record


class Length(Observer):
    """Records `observables/length`."""

    def observe(self) -> None:
        x = self.fields["x"].values
        length = float(np.linalg.norm(x[-1] - x[0]))
        self.recorder.record_observables(self.stepper.step, self.stepper.time, {"length": length})


class LengthBlock(Record):
    """The distance between the first and the last node."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one record to the next."""

    def make(self, context: ObserverContext) -> Observer:
        context.recorder.unit("length", context.units.symbol("m"), context.units.in_si("m"))
        return Length(context.stepper, context.recorder, self.every)
