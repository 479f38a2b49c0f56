"""A net of springs, rolled into a tube and free in space.

    U(x) = sum over struts k (|x_0 - x_1| - rest)^2 / 2

x (n, 3) [m], v (n, 3) [m s^-1], m (n,) [kg], rest (E,) [m], k [N/m], U [J]. Node (j, i) is mass i of ring j.
Hoops join neighbours on a ring, rods the same mass of two rings; at rest, all struts are as long as an edge.
"""

from math import inf
from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Body,
    Datum,
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
    "strut",
    over=2,
    x=Node("m", ("d",)),
    rest=Datum("m", differentiable=True),
    k=Parameter("N/m", bounds=(0.0, inf)),
)
def strut(x, rest, k):
    """A spring that pulls and pushes: U = k (|x_0 - x_1| - rest)^2 / 2."""
    stretch = (x[0] - x[1]).norm() - rest
    return 0.5 * k * stretch * stretch


class Tube(Record):
    """A tube at rest, widened by a fraction of its radius, its rings shifted along the axis by a mode.

    Ring j stands at z = edge (j + shifted cos(mode pi (j + 1/2) / rings)).
    """

    around: Annotated[int, Field(ge=3)]
    rings: Annotated[int, Field(ge=2)]
    edge: Annotated[float | str, Quantity("m", "positive")]
    mass: Annotated[float | str, Quantity("kg", "positive")]
    widened: Annotated[float, Field(gt=-1.0)] = 0.0
    shifted: float = 0.0
    mode: Annotated[int, Field(ge=1)] = 1

    def make(self, context: StateContext) -> State:
        edge, mass = (quantities(self, context.units)[name] for name in ("edge", "mass"))
        nodes = np.arange(self.rings * self.around).reshape(self.rings, self.around)
        j, angle = nodes // self.around, 2.0 * np.pi / self.around * (nodes % self.around)
        r = (1.0 + self.widened) * edge / (2.0 * np.sin(np.pi / self.around))
        z = edge * (j + self.shifted * np.cos(self.mode * np.pi * (j + 0.5) / self.rings))
        x = np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=2).reshape(-1, 3)
        pairs = {"hoops": (nodes, np.roll(nodes, -1, axis=1)), "rods": (nodes[:-1], nodes[1:])}
        tuples = {name: np.stack(ends, axis=2).reshape(-1, 2) for name, ends in pairs.items()}
        return State(
            fields={"x": x, "v": np.zeros_like(x), "m": np.full(len(x), mass)},
            units={"x": "m", "v": "m s^-1", "m": "kg"},
            motions=(Motion("x", "v", "m"),),
            bodies=(Body("bottom", nodes[0]), Body("top", nodes[-1])),
            tuples=tuples,
            data={name: {"rest": np.full(len(rows), edge)} for name, rows in tuples.items()},
            labels={"x": "position", "v": "velocity"},
        )
