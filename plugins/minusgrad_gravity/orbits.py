"""Bodies on Keplerian orbits about a central mass: a state, and observers of elements and encounters."""

import math
from collections.abc import Mapping
from itertools import combinations
from math import inf
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Observer,
    ObserverContext,
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    quantities,
)

from .constants import NEWTONS_CONSTANT, gravity_quantities
from .orbital_elements import Elements, refuse_mismatch
from .states import GravitationalConstant, Length, Mass, point_masses

Angle = Annotated[float | str, Quantity("rad")]
ELEMENTS = ("semi_major_axis", "eccentricity", "inclination", "node", "pericentre", "mean_anomaly")


class CentralBody(Record):
    """The body that the orbits are about."""

    name: str = "central"
    """Name of the central body."""
    mass: Mass
    """Mass of the central body."""


class OrbitingBody(Record):
    """A body by its Keplerian elements about the central one, with mu = G (M + m); angles in rad or "7 deg".

    A hyperbola has a negative semi-major axis. A parabola, of eccentricity 1, is given by
    `pericentre_distance` q; its `mean_anomaly` is sqrt(mu / (2 q^3)) (t - T), T the time of pericentre.
    """

    name: str
    """Name of the body."""
    mass: Mass
    """Mass of the body."""
    semi_major_axis: Annotated[float | str, Quantity("m")] | None = None
    """Semi-major axis; negative of a hyperbola (default: the pericentre distance is given)."""
    pericentre_distance: Length | None = None
    """Distance at pericentre, in place of the semi-major axis (default: none)."""
    eccentricity: Annotated[float, Field(ge=0.0)] = 0.0
    """Eccentricity, at least 0."""
    inclination: Angle = 0.0
    """Inclination to the plane of x and y."""
    node: Angle = 0.0
    """Longitude of the ascending node, from the axis x."""
    pericentre: Angle = 0.0
    """Argument of the pericentre, from the ascending node."""
    mean_anomaly: Angle = 0.0
    """Mean anomaly at the start."""

    def elements(self, given: Mapping[str, Any]) -> Elements:
        """Those of this record's numbers, in the run's units."""
        a, q = given["semi_major_axis"], given["pericentre_distance"]
        if (a is None) == (q is None):
            both = "neither" if a is None else "both"
            raise UserError(
                f"body '{self.name}': needs one of `semi_major_axis` and `pericentre_distance`, got {both};"
                " give one of them"
            )
        others = {name: float(given[name]) for name in ELEMENTS[1:]}
        found = Elements(math.inf if a is None else float(a), **others, pericentre_distance=q)
        refuse_mismatch(self.name, found)
        return found


class Orbits(Record):
    """A central body and others on Keplerian orbits about it, in space, in the centre-of-mass frame."""

    central: CentralBody
    """The body that the orbits are about."""
    bodies: list[OrbitingBody] = Field(min_length=1)
    """The other bodies, by their elements."""
    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""

    def make(self, context: StateContext) -> State:
        G = gravity_quantities(self, context.units)["G"]
        M = quantities(self.central, context.units)["mass"]
        x, v, m = [np.zeros(3)], [np.zeros(3)], [M]
        for body in self.bodies:
            given = quantities(body, context.units)
            place, speed = body.elements(given).state(G * (M + given["mass"]))
            x.append(place)
            v.append(speed)
            m.append(given["mass"])
        names = (self.central.name, *(body.name for body in self.bodies))
        if twice := [name for k, name in enumerate(names) if name in names[:k]]:
            raise UserError(f"bodies: a second body is named '{twice[0]}'; rename one")
        places, speeds, masses = np.array(x), np.array(v), np.array(m)
        places, speeds = (part - masses @ part / masses.sum() for part in (places, speeds))
        return point_masses(places, speeds, masses, names)


class OrbitalElements(Observer):
    """Records orbit/NAME of each body: its osculating elements about the central one, as `ELEMENTS`."""

    def __init__(self, context: ObserverContext, every: int, central: int, G: float, names: list[str]):
        super().__init__(context.stepper, context.recorder, every)
        self.central, self.G, self.names = central, G, names
        for name in (n for k, n in enumerate(names) if k != central):
            context.recorder.unit(f"orbit/{name}", "1", 1.0)

    def observe(self) -> None:
        x, v, m = (self.fields[n].values.astype(np.float64) for n in "xvm")
        c = self.central
        found: dict[str, float | np.ndarray] = {}
        for k, name in enumerate(self.names):
            if k != c:
                one = Elements.of(x[k] - x[c], v[k] - v[c], self.G * (m[c] + m[k]))
                found[f"orbit/{name}"] = np.array([getattr(one, element) for element in ELEMENTS])
        self.recorder.record_observables(self.stepper.step, self.stepper.time, found)


class OrbitalElementsBlock(Record):
    """Osculating elements of every body about the node `central`: a, e, i, node, pericentre, mean anomaly."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    central: Annotated[int, Field(ge=0)] = 0
    """Number of the node that the elements are about."""
    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""

    def make(self, context: ObserverContext) -> Observer:
        n = _body_count(context, "orbital_elements")
        if self.central >= n:
            raise UserError(
                f"orbital_elements: `central` is a node from 0 to {n - 1}, got {self.central};"
                " give one of these"
            )
        names = [*context.state.names] or [str(k) for k in range(n)]
        G = gravity_quantities(self, context.units)["G"]
        return OrbitalElements(context, self.every, self.central, G, names)


class ClosestApproach(Observer):
    """Records closest_approach, the least distance of two bodies in the states seen, and closest_pair."""

    def __init__(self, context: ObserverContext, every: int):
        super().__init__(context.stepper, context.recorder, every)
        self.least, self.pair = inf, (0, 0)
        context.recorder.unit("closest_pair", "1", 1.0)
        context.recorder.unit("closest_approach", context.units.symbol("m"), context.units.in_si("m"))

    def observe(self) -> None:
        x = self.fields["x"].values.astype(np.float64)
        for i, j in combinations(range(len(x)), 2):
            if (r := float(np.linalg.norm(x[i] - x[j]))) < self.least:
                self.least, self.pair = r, (i, j)
        values: dict[str, float | np.ndarray] = {
            "closest_approach": self.least,
            "closest_pair": np.array(self.pair, np.float64),
        }
        self.recorder.record_observables(self.stepper.step, self.stepper.time, values)

    def state(self) -> dict[str, np.ndarray]:
        """The least distance until now, and its pair."""
        return {"least": np.array(self.least), "pair": np.array(self.pair, np.float64)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set what `state` returned."""
        self.least = float(state["least"])
        self.pair = (int(state["pair"][0]), int(state["pair"][1]))


class ClosestApproachBlock(Record):
    """The least distance between two bodies, of all states that were looked at."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""

    def make(self, context: ObserverContext) -> Observer:
        _body_count(context, "closest_approach")
        return ClosestApproach(context, self.every)


def _body_count(context: ObserverContext, kind: str) -> int:
    """The number of bodies. Raises `UserError` for a state that is no set of point masses."""
    fields: Any = context.stepper.potential.fields
    if missing := [name for name in "xvm" if name not in fields]:
        raise UserError(f"{kind}: the state has no field '{missing[0]}'; take a state of point masses")
    return len(fields["x"].values)


OBSERVERS = {"orbital_elements": OrbitalElementsBlock, "closest_approach": ClosestApproachBlock}
