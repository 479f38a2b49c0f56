"""Lagrangian radii: the radii of spheres about the centre that hold given fractions of the mass."""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Record

from .stars import Centre, Names, Stars

SERIES = "lagrangian_radius"
Fraction = Annotated[float, Field(gt=0.0, lt=1.0)]


class LagrangianRadii(Observer):
    """Records lagrangian_radius/FRACTION [length], of a body lagrangian_radius/BODY/FRACTION."""

    def __init__(self, context: ObserverContext, block: "LagrangianRadiiBlock"):
        super().__init__(context.stepper, context.recorder, block.every)
        self.stars = Stars.of("lagrangian_radii", context, block.body, block.centre)
        stem = Stars.stem(SERIES, block.body)
        self.labels = {f"{stem}/{fraction:g}": fraction for fraction in block.fractions}
        for label in self.labels:
            context.recorder.unit(label, context.units.symbol("m"), context.units.in_si("m"))

    def observe(self) -> None:
        found = lagrangian_radii(*self.stars.radii(self.fields), np.array([*self.labels.values()]))
        values: dict[str, float | np.ndarray] = dict(zip(self.labels, map(float, found), strict=True))
        self.recorder.record_observables(self.stepper.step, self.stepper.time, values)


def lagrangian_radii(r: np.ndarray, m: np.ndarray, fractions: np.ndarray) -> np.ndarray:
    """The radii (k,) that hold these fractions of the mass, by ascending radii r (n,) and masses m (n,).

    A star counts as half inside at its own radius.
    """
    return np.interp(fractions, (np.cumsum(m) - 0.5 * m) / m.sum(), r)


class LagrangianRadiiBlock(Record):
    """Radii about the centre that hold these fractions of the mass, of all stars or of a `body`.

    `centre`: "mass", the centre of mass, or "shrinking", the densest place by a shrinking sphere.
    """

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    fractions: Annotated[tuple[Fraction, ...], Field(min_length=1)] = (0.1, 0.5, 0.9)
    """Fractions of the mass, between 0 and 1."""
    body: Names | None = None
    """The stars: a body, or several (default: all)."""
    centre: Centre = "mass"
    """Centre of mass, or the densest place by a shrinking sphere."""

    def make(self, context: ObserverContext) -> Observer:
        return LagrangianRadii(context, self)
