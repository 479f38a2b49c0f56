"""Charges that repel each other on a sphere, the problem of Thomson (1904, Philos. Mag. 7, 237).

    U(x) = sum over pairs strength / |x_i - x_j|,    |x_i|^2 = radius^2

x (n, 3) [m], strength [J m], radius [m], U [J].
"""

from math import inf
from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Motion,
    Node,
    Parameter,
    Quantity,
    Record,
    State,
    StateContext,
    constraint,
    local_energy,
    quantities,
)


@local_energy(
    "thomson_repulsion",
    over="pairs",
    x=Node("m", ("d",)),
    strength=Parameter("J m", bounds=(0.0, inf), about="Product of two charges and Coulomb's constant."),
    symmetries=("translation", "rotation", "permutation"),
)
def thomson_repulsion(x, strength):
    """Equal charges: U = strength / |x_0 - x_1|."""
    return strength / (x[0] - x[1]).norm()


@constraint(
    "on_sphere",
    over="nodes",
    x=Node("m", ("d",)),
    radius=Parameter("m", bounds=(0.0, inf), about="Radius of the sphere."),
)
def on_sphere(x, radius):
    """A node at a distance from the origin."""
    return x[0].dot(x[0]) - radius * radius


class Charges(Record):
    """Equal masses at random places of a sphere around the origin, at rest."""

    n: Annotated[int, Field(ge=2)]
    """Number of charges."""
    radius: Annotated[float | str, Quantity("m", "positive")]
    """Radius of the sphere."""

    def make(self, context: StateContext) -> State:
        x = context.random("places").normal(size=(self.n, 3))
        x *= quantities(self, context.units)["radius"] / np.linalg.norm(x, axis=1, keepdims=True)
        return State(
            fields={"x": x, "v": np.zeros_like(x), "m": np.ones(self.n)},
            units={"x": "m", "v": "m s^-1", "m": "kg"},
            motions=(Motion("x", "v", "m"),),
            labels={"x": "position", "v": "velocity"},
        )
