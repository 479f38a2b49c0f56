"""Balls at places that the scene lists: x (n, d) [m], v (n, d) [m/s], with bodies by name."""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Body, Quantity, Record, State, StateContext, UserError, quantities

Place = Annotated[float | str, Quantity("m")]
Speed = Annotated[float | str, Quantity("m s^-1")]
Number = Annotated[int, Field(ge=0)]


class Balls(Record):
    """Balls at given `places`, at rest but for the bodies in `velocities`; `bodies`: numbers by name."""

    places: Annotated[tuple[tuple[Place, ...], ...], Field(min_length=1)]
    """Centres of the balls, two or three coordinates each."""
    velocities: dict[str, tuple[Speed, ...]] = {}  # noqa: RUF012
    """By body: the velocity of its balls; others are at rest."""
    bodies: dict[str, Annotated[tuple[Number, ...], Field(min_length=1)]] = {}  # noqa: RUF012
    """By name: the numbers of the balls of a body."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        self._refuse_misfits()
        x = np.array(values["places"], float)
        v = np.zeros_like(x)
        for name, velocity in values["velocities"].items():
            v[list(self.bodies[name])] = velocity
        return State(
            fields={"x": x, "v": v},
            units={"x": "m", "v": "m s^-1"},
            bodies=tuple(Body(name, sorted(nodes)) for name, nodes in self.bodies.items()),
            labels={"x": "position", "v": "velocity"},
        )

    def _refuse_misfits(self) -> None:
        """Raises `UserError` for vectors of different lengths, missing balls and missing bodies."""
        n, d = len(self.places), len(self.places[0])
        for k, place in enumerate(self.places):
            if len(place) != d or d not in (2, 3):
                raise UserError(f"places.{k}: got {len(place)} numbers; give 2 for each ball, or 3 for each")
        for name, nodes in self.bodies.items():
            if max(nodes) >= n:
                raise UserError(f"bodies.{name}: no ball {max(nodes)}; there are {n}, counted from 0")
            if len(set(nodes)) < len(nodes):
                raise UserError(f"bodies.{name}: names a ball twice; leave one out")
        owners = dict[int, str]()
        for name, velocity in self.velocities.items():
            if name not in self.bodies:
                raise UserError(f"velocities.{name}: no body has this name; add it to `bodies`")
            if len(velocity) != d:
                raise UserError(f"velocities.{name}: got {len(velocity)} numbers for {d} axes")
            for ball in self.bodies[name]:
                other = owners.setdefault(ball, name)
                if self.velocities[other] != velocity:
                    raise UserError(
                        f"velocities.{name}: ball {ball} is in '{other}', too, got another velocity; name"
                        " bodies that share none"
                    )


BALLS = {"balls": Balls}
