"""The balance of heat: how much a body holds, and how much each energy and each support gives it.

    H = sum_i C_i T_i                       heat [J], from T = 0
    power of an energy = -sum_i dU/dT_i     [W] conduction moves heat, and gives none
    power of supports  = sum over held nodes of dU/dT_i        what keeps them at their temperatures

Where nothing that is held changes its temperature, dH/dt is the sum of all powers; a step of implicit Euler
adds h times the powers at its end.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Potential, Record, UserError


class Heat(Observer):
    """Records `observables/heat/stored`, `heat/supports` and `heat/TERM`."""

    def __init__(self, context: ObserverContext, every: int):
        super().__init__(context.stepper, context.recorder, every)
        self.held = ~context.system.holds.free("T")
        units = context.units
        potential = context.stepper.potential
        maps = list(potential.chain.parts.values())
        self.terms = {
            name: Potential(potential.fields, [term], maps)
            for name, term in potential.terms.items()
            if any(field.name == "T" for field in term.fields.values())
        }
        context.recorder.unit("heat/stored", units.symbol("J"), units.in_si("J"))
        for name in ("supports", *self.terms):
            context.recorder.unit(f"heat/{name}", units.symbol("W"), units.in_si("W"))

    def observe(self) -> None:
        stepper = self.stepper
        slopes = {n: term.gradient("T", stepper.time).astype(float) for n, term in self.terms.items()}
        total = np.sum(list(slopes.values()), axis=0)
        powers = {f"heat/{name}": -float(slope.sum()) for name, slope in slopes.items()}
        stored = float(np.dot(self.fields["C"].values.astype(float), self.fields["T"].values))
        powers |= {"heat/stored": stored, "heat/supports": float(total[self.held].sum())}
        self.recorder.record_observables(stepper.step, stepper.time, powers)


class HeatBlock(Record):
    """The heat in a body [J], and the power [W] of each energy and of the supports."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""

    def make(self, context: ObserverContext) -> Observer:
        fields = context.stepper.potential.fields
        if missing := [name for name in ("T", "C") if name not in fields]:
            raise UserError(
                f"heat: the state has no field '{missing[0]}'; take [state] kind = \"heat\", or leave it out"
            )
        return Heat(context, self.every)


OBSERVERS = {"heat": HeatBlock}
