"""The energies of the normal modes of a chain.

    a_q = sqrt(2 / n) sum_j x_j sin(q pi j / n),    E_q = m (da_q/dt)^2 / 2 + 2 k sin^2(q pi / 2 n) a_q^2

E_q [J], q = 1, 2, ...; without alpha and beta each is constant.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Record


class Modes(Observer):
    """Records `observables/mode/Q` for the first modes."""

    def __init__(self, context: ObserverContext, every: int, count: int, term: str):
        super().__init__(context.stepper, context.recorder, every)
        self.count, self.term = count, term
        units = context.units
        for q in range(1, count + 1):
            context.recorder.unit(f"mode/{q}", units.symbol("J"), units.in_si("J"))

    def observe(self) -> None:
        x, v, m = (self.fields[name].values.astype(float) for name in ("x", "v", "m"))
        n = len(x) - 1
        q = np.arange(1, self.count + 1)
        sines = np.sqrt(2.0 / n) * np.sin(np.outer(q, np.arange(n + 1)) * np.pi / n)
        stiffness = 4.0 * float(self.potential.parameter(f"{self.term}.k")) * np.sin(0.5 * q * np.pi / n) ** 2
        energies = 0.5 * m[1] * (sines @ v) ** 2 + 0.5 * stiffness * (sines @ x) ** 2
        found = {f"mode/{k}": float(one) for k, one in zip(q, energies, strict=True)}
        self.recorder.record_observables(self.stepper.step, self.stepper.time, found)


class ModesBlock(Record):
    """The energies of the first normal modes."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one record to the next."""
    count: Annotated[int, Field(ge=1)] = 4
    """Number of modes."""
    term: str = "fput_bond"
    """Name of the energy of the bonds, which has the stiffness k."""

    def make(self, context: ObserverContext) -> Observer:
        return Modes(context, self.every, self.count, self.term)
