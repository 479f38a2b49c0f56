"""A straight chain of equal atoms, a bond between each and the next.

x (n, 3) [m], v (n, 3) [m s^-1], m (n,) [kg]; the list `bonds` (n - 1, 2) has the datum r0 (n - 1,) [m].
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Motion, Quantity, Record, State, StateContext, quantities


class Chain(Record):
    """A chain along the first axis at rest, stretched by a fraction of its spacing."""

    n: Annotated[int, Field(ge=2)]
    """Number of atoms."""
    spacing: Annotated[float | str, Quantity("m", "positive")]
    """Length of each bond at rest."""
    mass: Annotated[float | str, Quantity("kg", "positive")]
    """Mass of every atom."""
    stretched: Annotated[float, Field(gt=-1.0)] = 0.0
    """Fraction by which all bonds begin longer."""

    def make(self, context: StateContext) -> State:
        numbers = quantities(self, context.units)
        x = np.zeros((self.n, 3))
        x[:, 0] = numbers["spacing"] * (1.0 + self.stretched) * np.arange(self.n)
        nodes = np.arange(self.n)
        return State(
            fields={"x": x, "v": np.zeros_like(x), "m": np.full(self.n, numbers["mass"])},
            units={"x": "m", "v": "m s^-1", "m": "kg"},
            motions=(Motion("x", "v", "m"),),
            tuples={"bonds": np.stack([nodes[:-1], nodes[1:]], axis=1)},
            data={"bonds": {"r0": np.full(self.n - 1, numbers["spacing"])}},
            labels={"x": "position", "v": "velocity"},
        )
