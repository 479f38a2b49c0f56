"""A chain of masses with springs that stiffen, between two walls.

    U(x) = sum over neighbours k (r^2 / 2 + alpha r^3 / 3 + beta r^4 / 4),    r = x_1 - x_0

x (n + 1,) [m]: displacements of n - 1 masses and of the two walls, which are nodes 0 and n. k [N/m],
alpha [1/m], beta [1/m^2], U [J]. Fermi, Pasta, Ulam and Tsingou 1955, Los Alamos report LA-1940.
"""

from math import inf
from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Body,
    Hold,
    Motion,
    Node,
    Parameter,
    Quantity,
    Record,
    State,
    StateContext,
    local_energy,
    quantities,
)


@local_energy(
    "fput_bond",
    over=2,
    x=Node("m"),
    k=Parameter("N/m", bounds=(0.0, inf), about="Stiffness of a bond."),
    alpha=Parameter("1/m", about="Strength of the cubic term."),
    beta=Parameter("1/m^2", about="Strength of the quartic term."),
    symmetries=("translation",),
)
def fput_bond(x, k, alpha, beta):
    """A spring with cubic and quartic terms: U = k (r^2 / 2 + alpha r^3 / 3 + beta r^4 / 4)."""
    r = x[1] - x[0]
    return k * r * r * (0.5 + alpha * r / 3.0 + 0.25 * beta * r * r)


class Chain(Record):
    """A chain at rest, displaced by A sin(mode pi j / n) at node j."""

    n: Annotated[int, Field(ge=2)]
    """Number of bonds."""
    mass: Annotated[float | str, Quantity("kg", "positive")]
    """Mass of every node."""
    amplitude: Annotated[float | str, Quantity("m")]
    """Amplitude A of the displacement."""
    mode: Annotated[int, Field(ge=1)] = 1
    """Normal mode that is displaced."""

    def make(self, context: StateContext) -> State:
        numbers = quantities(self, context.units)
        j = np.arange(self.n + 1)
        x = numbers["amplitude"] * np.sin(self.mode * np.pi * j / self.n)
        x[[0, -1]] = 0.0
        walls = Body("walls", np.array([0, self.n]))
        return State(
            fields={"x": x, "v": np.zeros(self.n + 1), "m": np.full(self.n + 1, numbers["mass"])},
            units={"x": "m", "v": "m s^-1", "m": "kg"},
            motions=(Motion("x", "v", "m"),),
            bodies=(walls,),
            holds=(Hold("walls", "x", walls.nodes),),
            tuples={"bonds": np.stack([j[:-1], j[1:]], axis=1)},
            labels={"x": "displacement", "v": "velocity"},
        )
