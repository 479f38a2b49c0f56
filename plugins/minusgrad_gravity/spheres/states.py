"""States of spheres: uniform at rest, King's, Hernquist's, and Navarro, Frenk and White's, in equilibrium."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import Record, State, StateContext, UserError, quantities

from ..constants import NEWTONS_CONSTANT, gravity_quantities
from ..draws import Draws
from ..states import Count, GravitationalConstant, Length, Mass, point_masses
from .eddington import Potential, distribution
from .isotropic import IsotropicSphere
from .king import KingModel
from .profiles import INNER, CuspedSphere, log_grid

TAIL = 0.01
"""The outermost fraction of the mass that is left out of a sphere without an edge."""


class UniformSphere(Record):
    """Equal masses at rest, uniform in a sphere about the origin: it collapses."""

    n: Count
    """Number of stars."""
    mass: Mass
    """Mass of the whole sphere."""
    radius: Length
    """Radius of the sphere."""

    def make(self, context: StateContext) -> State:
        values, draws = quantities(self, context.units), Draws(context.seed, "uniform_sphere", self.n)
        x = values["radius"] * np.cbrt(draws.uniform(0))[:, None] * draws.direction(1)
        return at_rest(x, np.zeros_like(x), values["mass"])


class KingSphere(Record):
    """A King model in equilibrium: the depth `W0` of its centre, and the radius where its density ends."""

    n: Count
    """Number of stars."""
    mass: Mass
    """Mass of the whole sphere."""
    W0: Annotated[float, Field(ge=0.1, le=16.0)]
    """Depth of the centre: dimensionless potential, 0.1 to 16."""
    tidal_radius: Length
    """Radius at which the density ends."""
    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""

    def make(self, context: StateContext) -> State:
        values, draws = gravity_quantities(self, context.units), Draws(context.seed, "king_sphere", self.n)
        model = KingModel.solved(self.W0)
        sphere, _ = model.sphere(values["mass"], values["tidal_radius"], values["G"])
        return at_rest(*sphere.draw(draws), values["mass"])


class HernquistPart(Record):
    """A Hernquist sphere with scale radius `radius`; its density is truncated by sech(r / truncation)."""

    kind: Literal["hernquist"] = "hernquist"
    n: Count
    """Number of stars."""
    mass: Mass
    """Mass of the sphere."""
    radius: Length
    """Scale radius."""
    truncation: Length | None = None
    """Length r_t at which the density is truncated, by sech(r / r_t) (default: the outermost 1 % is left
    out)."""

    def profile(self, values: dict[str, Any]) -> CuspedSphere:
        return cusped_sphere(values, outer=4.0)


class NfwPart(Record):
    """A sphere of Navarro, Frenk and White, truncated by sech(r / truncation); `mass` is all of it."""

    kind: Literal["nfw"] = "nfw"
    n: Count
    """Number of stars."""
    mass: Mass
    """Mass of the truncated sphere."""
    radius: Length
    """Scale radius."""
    truncation: Length
    """Length r_t at which the density is truncated, by sech(r / r_t)."""

    def profile(self, values: dict[str, Any]) -> CuspedSphere:
        return cusped_sphere(values, outer=3.0)


class HernquistSphere(Record):
    """A Hernquist sphere in equilibrium; without `truncation` the outermost 1 % of the mass is left out."""

    n: Count
    """Number of stars."""
    mass: Mass
    """Mass of the sphere."""
    radius: Length
    """Scale radius."""
    truncation: Length | None = None
    """Length r_t at which the density is truncated, by sech(r / r_t) (default: the outermost 1 % is left
    out)."""
    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""

    def make(self, context: StateContext) -> State:
        return sphere_alone(self, context, "hernquist_sphere", outer=4.0)


class NfwSphere(Record):
    """A truncated sphere of Navarro, Frenk and White in equilibrium; `mass` is all of it."""

    n: Count
    """Number of stars."""
    mass: Mass
    """Mass of the truncated sphere."""
    radius: Length
    """Scale radius."""
    truncation: Length
    """Length r_t at which the density is truncated, by sech(r / r_t)."""
    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""

    def make(self, context: StateContext) -> State:
        return sphere_alone(self, context, "nfw_sphere", outer=3.0)


def sphere_alone(record: Any, context: StateContext, kind: str, outer: float) -> State:
    """The state of a sphere in its own potential."""
    values = gravity_quantities(record, context.units)
    sphere = cusped_sphere(values, outer)
    tables = isolated_tables(sphere, values["G"])
    return at_rest(*tables.draw(Draws(context.seed, kind, record.n), tail(sphere)), values["mass"])


def cusped_sphere(values: dict[str, Any], outer: float) -> CuspedSphere:
    """The sphere of a record's numbers. Raises `UserError` for a truncation inside the scale radius."""
    radius, truncation = values["radius"], values["truncation"]
    if truncation is not None and truncation < radius:
        raise UserError(
            f"truncation: lies outside the scale radius {radius:g}, got {truncation:g}; give a larger one"
        )
    return CuspedSphere(values["mass"], radius, outer, np.inf if truncation is None else truncation)


def isolated_tables(sphere: CuspedSphere, G: float) -> IsotropicSphere:
    """Tables of a sphere in equilibrium in its own potential."""
    r = log_grid(INNER * sphere.radius, sphere.reach)
    return in_equilibrium(sphere, Potential.of([sphere], r), G)


def in_equilibrium(sphere: CuspedSphere, potential: Potential, G: float) -> IsotropicSphere:
    """Tables of a sphere whose stars are in equilibrium in a potential of several parts (G = 1 there)."""
    log_f = np.log(np.maximum(distribution(sphere, potential), 1e-300))[::-1]
    energies = G * potential.psi[::-1]

    def f(energy: np.ndarray) -> np.ndarray:
        return np.exp(np.interp(energy, energies, log_f))

    inside = sphere.enclosed(potential.r) / sphere.mass
    return IsotropicSphere(potential.r, inside, G * potential.psi, f)


def tail(sphere: CuspedSphere) -> float:
    """The mass fraction that is left out."""
    return TAIL if np.isinf(sphere.truncation) else 0.0


def at_rest(x: np.ndarray, v: np.ndarray, mass: float) -> State:
    """Equal masses (n, 3) with the centre of mass at rest at the origin."""
    return point_masses(x - x.mean(axis=0), v - v.mean(axis=0), np.full(len(x), mass / len(x)))


STATES = {
    "uniform_sphere": UniformSphere,
    "king_sphere": KingSphere,
    "hernquist_sphere": HernquistSphere,
    "nfw_sphere": NfwSphere,
}
