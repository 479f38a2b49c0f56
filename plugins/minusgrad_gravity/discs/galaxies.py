"""States of disc galaxies: a disc and spheres in equilibrium with each other, alone or two on an orbit."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import Body, ByKind, Quantity, Record, State, StateContext, UserError, quantities

from ..constants import NEWTONS_CONSTANT, gravity_quantities
from ..draws import Draws
from ..spheres.eddington import Potential
from ..spheres.profiles import INNER, CuspedSphere, log_grid
from ..spheres.states import HernquistPart, NfwPart, in_equilibrium, tail
from ..states import Count, GravitationalConstant, Length, Mass, point_masses
from .encounter import encounter, tilt_rotation
from .exponential import ExponentialDisc

Angle = Annotated[float | str, Quantity("rad")]
SpherePart = Annotated[HernquistPart | NfwPart, ByKind()]


class DiscPart(Record):
    """An exponential disc: `toomre_q` is the least value of Toomre's Q over all radii.

    It is refused if more than 5 % of the mass were too hot to rotate (<v_f>^2 < 0 by Jeans' equation).
    """

    n: Count
    """Number of stars of the disc."""
    mass: Mass
    """Mass of the disc."""
    scale_length: Length
    """Scale length a: the surface density falls off as exp(-R / a)."""
    scale_height: Length
    """Scale height h: the density falls off as sech^2(z / h)."""
    toomre_q: Annotated[float, Field(gt=0.0)] = 1.5
    """Least value of Toomre's Q over all radii."""

    def profile(self, values: dict[str, Any]) -> ExponentialDisc:
        """The disc of this record's numbers, in the run's units."""
        return ExponentialDisc(values["mass"], values["scale_length"], values["scale_height"], self.toomre_q)


class Parts(Record):
    """The parts of a galaxy: a disc, and spheres by name."""

    disc: DiscPart | None = None
    """An exponential disc (default: none)."""
    spheres: dict[str, SpherePart] = Field(default_factory=dict)
    """Spheres by name, such as a bulge and a halo."""

    def drawn(self, context: StateContext, stream: str, G: float) -> "Drawn":
        """Its stars, with the centre of mass at rest at the origin."""
        if self.disc is None and not self.spheres:
            raise UserError(f"{stream}: a galaxy has a disc or spheres, got neither; give it a disc")
        if "disc" in self.spheres:
            raise UserError(f"{stream}: a sphere is named 'disc', which is the disc's name; rename it")
        spheres = {name: part.profile(quantities(part, context.units)) for name, part in self.spheres.items()}
        everything: list[CuspedSphere | ExponentialDisc] = [*spheres.values()]
        found = Drawn.none()
        if self.disc is not None:
            disc = self.disc.profile(quantities(self.disc, context.units))
            disc.refuse_too_hot([*spheres.values()], f"{stream}/disc")
            draws = Draws(context.seed, f"{stream}/disc", self.disc.n)
            found = found.joined("disc", *disc.draw(draws, [*spheres.values()], G), disc.mass)
            everything.append(disc)
        reach = max(part.reach for part in everything)
        for name, sphere in spheres.items():
            potential = Potential.of(everything, log_grid(INNER * sphere.radius, reach))
            draws = Draws(context.seed, f"{stream}/{name}", self.spheres[name].n)
            x, v = in_equilibrium(sphere, potential, G).draw(draws, tail(sphere))
            found = found.joined(name, x, v, sphere.mass)
        return found.centred()


class Drawn:
    """Stars of a galaxy: x, v (n, 3), m (n,), and the numbers of each part's stars."""

    def __init__(self, x: np.ndarray, v: np.ndarray, m: np.ndarray, parts: dict[str, np.ndarray]):
        self.x, self.v, self.m, self.parts = x, v, m, parts

    @classmethod
    def none(cls) -> "Drawn":
        return cls(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), {})

    def joined(self, name: str, x: np.ndarray, v: np.ndarray, mass: float) -> "Drawn":
        """With the stars of another part, of equal masses."""
        rows = np.arange(len(self.m), len(self.m) + len(x))
        x, v, m = (
            np.concatenate(pair)
            for pair in ((self.x, x), (self.v, v), (self.m, np.full(len(x), mass / len(x))))
        )
        return Drawn(x, v, m, self.parts | {name: rows})

    def centred(self) -> "Drawn":
        x, v = (part - self.m @ part / self.m.sum() for part in (self.x, self.v))
        return Drawn(x, v, self.m, self.parts)

    def state(self) -> State:
        """The state whose bodies are the parts."""
        bodies = tuple(Body(name, rows) for name, rows in self.parts.items())
        return replace(point_masses(self.x, self.v, self.m), bodies=bodies)


class Galaxy(Parts):
    """A galaxy of a disc and spheres, each in equilibrium in the potential of all."""

    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""

    def make(self, context: StateContext) -> State:
        return self.drawn(context, "galaxy", gravity_quantities(self, context.units)["G"]).state()


class InclinedGalaxy(Parts):
    """A galaxy whose disc is inclined to the orbit, about the line at the angle `node` from pericentre."""

    inclination: Angle = 0.0
    """Inclination of the disc to the plane of the orbit."""
    node: Angle = 0.0
    """Angle of the line about which the disc is inclined, from pericentre."""

    def turned(self, context: StateContext, stream: str, G: float) -> "Drawn":
        """Its stars about the origin, with the disc inclined."""
        given = gravity_quantities(self, context.units)
        axes = tilt_rotation(given["inclination"], given["node"])
        drawn = self.drawn(context, stream, G)
        return Drawn(drawn.x @ axes.T, drawn.v @ axes.T, drawn.m, drawn.parts)


class GalaxyEncounter(Record):
    """Two galaxies before their pericentre, on the Kepler orbit of two point masses in the plane of x and y.

    `pericentre` and `separation` are distances of their centres; eccentricity 1 is a parabola.
    """

    first: InclinedGalaxy
    """The first galaxy."""
    second: InclinedGalaxy
    """The second galaxy."""
    pericentre: Length
    """Distance of the centres at pericentre."""
    eccentricity: Annotated[float, Field(gt=0.0)] = 1.0
    """Eccentricity of the orbit; 1 is a parabola."""
    separation: Length
    """Distance of the centres at the start."""
    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""

    def make(self, context: StateContext) -> State:
        values = gravity_quantities(self, context.units)
        first, second = (
            one.turned(context, f"galaxy_encounter/{name}", values["G"])
            for name, one in (("first", self.first), ("second", self.second))
        )
        mass = first.m.sum() + second.m.sum()
        x, v = encounter(values["G"] * mass, values["pericentre"], self.eccentricity, values["separation"])
        both = Drawn.none()
        shares = -second.m.sum() / mass, first.m.sum() / mass
        for name, one, share in zip(("first", "second"), (first, second), shares, strict=True):
            for part, rows in one.parts.items():
                places, speeds = one.x[rows] + share * x, one.v[rows] + share * v
                both = both.joined(f"{name}_{part}", places, speeds, one.m[rows].sum())
        return both.state()


STATES = {"galaxy": Galaxy, "galaxy_encounter": GalaxyEncounter}
