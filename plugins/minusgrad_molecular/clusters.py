"""Random clusters of atoms: x (n, 3) [m] uniform in a sphere, no two atoms nearer than a distance; at rest.

Atoms are placed one after another, each at the first random point that is far enough from those before
(random sequential addition: Widom 1966, J. Chem. Phys. 44, 3888).
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Motion, Quantity, Record, State, StateContext, UserError, quantities

TRIES = 10_000
"""Random points that are tried for each atom."""


class RandomCluster(Record):
    """`n` atoms of a `mass` at random in a sphere of a `radius`, no two of them nearer than `apart`."""

    n: Annotated[int, Field(ge=1, le=10_000)]
    """Number of atoms, up to 10,000."""
    mass: Annotated[float | str, Quantity("kg", "positive")]
    """Mass of every atom."""
    radius: Annotated[float | str, Quantity("m", "positive")]
    """Radius of the sphere."""
    apart: Annotated[float | str, Quantity("m", "nonnegative")] = 0.0
    """Least distance of two atoms."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        x = self._draw_places(values["radius"], values["apart"], context.random("random_cluster"))
        return State(
            fields={"x": x, "v": np.zeros_like(x), "m": np.full(self.n, values["mass"])},
            units={"x": "m", "v": "m s^-1", "m": "kg"},
            motions=(Motion("x", "v", "m"),),
            labels={"x": "position", "v": "velocity", "m": "mass"},
        )

    def _draw_places(self, radius: float, apart: float, rng: np.random.Generator) -> np.ndarray:
        x = np.zeros((self.n, 3))
        for k in range(self.n):
            for _ in range(TRIES):
                point = radius * rng.uniform(-1.0, 1.0, 3)
                off = x[:k] - point
                if point @ point <= radius * radius and ((off * off).sum(axis=1) >= apart * apart).all():
                    x[k] = point
                    break
            else:
                raise UserError(
                    f"n: found no place for atom {k + 1} of {self.n} in a sphere of radius {self.radius} with"
                    f" apart = {self.apart}; use a larger radius or a smaller `apart`"
                )
        return x


STATES = {"random_cluster": RandomCluster}
