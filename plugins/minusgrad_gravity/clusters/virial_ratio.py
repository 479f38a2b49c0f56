"""Virial ratio: twice the kinetic energy over Clausius's virial.

    ratio = 2 T / (-sum x F)

x and v are about the centre of mass, T = sum m v^2 / 2, F the total force: -dU/dx, and that of friction and
constraints. Of gravity with its softening it is sum x dU/dx: without a softening it is -U, and the ratio
-2 T / U. It is 1 in equilibrium (Clausius 1870).
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Record, UserError

from .stars import Stars


class VirialRatio(Observer):
    """Records virial_ratio."""

    def observe(self) -> None:
        x, v, m = (self.fields[name].values.astype(np.float64) for name in "xvm")
        x, v = x - m @ x / m.sum(), v - m @ v / m.sum()
        pull = self.total_gradient("x")
        virial = float(np.sum(x * pull))
        double = float(np.sum(m[:, None] * v * v))
        ratio = double / virial if virial else np.nan
        self.recorder.record_observables(self.stepper.step, self.stepper.time, {"virial_ratio": ratio})


class VirialRatioBlock(Record):
    """2 T over the virial -sum x F of all forces, softening included: 1 in equilibrium."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""

    def make(self, context: ObserverContext) -> Observer:
        Stars.of("virial_ratio", context, None, "mass")
        if not context.stepper.motions:
            raise UserError("virial_ratio: is of stars that move, got a search; give an integrator")
        context.recorder.unit("virial_ratio", "1", 1.0)
        made = VirialRatio(context.stepper, context.recorder, self.every)
        made.total_gradient("x")  # refuses what it has no rule for
        return made
