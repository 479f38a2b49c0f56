"""Density profile: the mass in shells about the centre over their volumes."""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Quantity, Record, UserError, quantities

from .stars import Centre, Names, Stars

SERIES = "density_profile"
Length = Annotated[float | str, Quantity("m", "positive")]


class DensityProfile(Observer):
    """Records density_profile/density (shells,) at density_profile/r; of a body density_profile/BODY/..."""

    def __init__(self, context: ObserverContext, block: "DensityProfileBlock"):
        super().__init__(context.stepper, context.recorder, block.every)
        values = quantities(block, context.units)
        self.stars = Stars.of(SERIES, context, block.body, block.centre)
        self.edges = np.geomspace(values["inner"], values["outer"], block.shells + 1)
        self.stem = Stars.stem(SERIES, block.body)
        for label, unit in (("r", "m"), ("density", "kg m^-3")):
            size = context.units.symbol(unit), context.units.in_si(unit)
            context.recorder.unit(f"{self.stem}/{label}", *size)

    def observe(self) -> None:
        r, m = self.stars.radii(self.fields)
        values: dict[str, float | np.ndarray] = {
            f"{self.stem}/r": np.sqrt(self.edges[1:] * self.edges[:-1]),
            f"{self.stem}/density": densities(r, m, self.edges),
        }
        self.recorder.record_observables(self.stepper.step, self.stepper.time, values)


def densities(r: np.ndarray, m: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The mean density of each shell between edges (k + 1,), by radii r (n,) and masses m (n,)."""
    return np.histogram(r, edges, weights=m)[0] / (4.0 * np.pi / 3.0 * np.diff(edges**3))


class DensityProfileBlock(Record):
    """The mean density of `shells` shells from `inner` to `outer`, in equal steps of ln r."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    inner: Length
    """Inner radius of the first shell."""
    outer: Length
    """Outer radius of the last shell."""
    shells: Annotated[int, Field(ge=1, le=100_000)] = 30
    """Number of shells, in equal steps of ln r."""
    body: Names | None = None
    """The stars: a body, or several (default: all)."""
    centre: Centre = "mass"
    """Centre of mass, or the densest place by a shrinking sphere."""

    def make(self, context: ObserverContext) -> Observer:
        values = quantities(self, context.units)
        if values["inner"] >= values["outer"]:
            raise UserError(
                f"{SERIES}: `inner` is below `outer`, got {self.inner} and {self.outer}; exchange them"
            )
        return DensityProfile(context, self)
