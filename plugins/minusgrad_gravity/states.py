"""Initial states of point masses: x (n, d), v (n, d), m (n,), in the run's units."""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Body,
    CsvTable,
    Motion,
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    memory,
    quantities,
)

from .constants import G_UNIT, NEWTONS_CONSTANT, gravity_quantities
from .draws import directions

Count = Annotated[int, Field(ge=2), memory.fits(600)]
"""A number of bodies: each needs about 500 bytes, with work arrays and a checkpoint."""
TINY = "a body without mass has no acceleration -dU/dx / m: give it a tiny one, such as 1e-20 of the largest"
Mass = Annotated[float | str, Quantity("kg", "positive", TINY)]
Length = Annotated[float | str, Quantity("m", "positive")]
GravitationalConstant = Annotated[float | str, Quantity(G_UNIT, "positive")]


def point_masses(x: np.ndarray, v: np.ndarray, m: np.ndarray, names: tuple[str, ...] = ()) -> State:
    """A state whose field x moves with velocity v and inertia m; every named node is a body of its own."""
    bodies = tuple(Body(name, [k]) for k, name in enumerate(names))
    return State(
        fields={"x": x, "v": v, "m": m},
        units={"x": "m", "v": "m s^-1", "m": "kg"},
        motions=(Motion("x", "v", "m"),),
        bodies=bodies,
        labels={"x": "position", "v": "velocity", "m": "mass"},
        names=names,
    )


class TwoBody(Record):
    """A Kepler orbit in the plane, in the centre-of-mass frame, started at pericentre on the x axis.

    At pericentre the separation is a (1 - e) and the relative speed sqrt(G M (1 + e) / (a (1 - e))).
    """

    masses: tuple[Mass, Mass]
    """Masses of the two bodies."""
    semi_major_axis: Length
    """Semi-major axis of the relative orbit."""
    eccentricity: Annotated[float, Field(ge=0.0, lt=1.0)]
    """Eccentricity, 0 up to 1."""
    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""

    def make(self, context: StateContext) -> State:
        values = gravity_quantities(self, context.units)
        m, a, e = np.array(values["masses"]), values["semi_major_axis"], self.eccentricity
        M = m.sum()
        shares = np.array([[-m[1] / M], [m[0] / M]])
        separation = a * (1.0 - e)
        speed = np.sqrt(values["G"] * M * (1.0 + e) / (a * (1.0 - e)))
        return point_masses(shares * [separation, 0.0], shares * [0.0, speed], m)


class PlummerSphere(Record):
    """A Plummer sphere in equilibrium, equal masses (Aarseth, Henon & Wielen 1974, A&A 37, 183).

    `radius` is the scale radius a of the potential -G M / sqrt(r^2 + a^2); the outermost 0.1 % of the mass
    is left out, and the centre of mass is put to rest at the origin.
    """

    n: Count
    """Number of bodies."""
    mass: Mass
    """Mass of the whole sphere."""
    radius: Length
    """Scale radius a of the potential -G M / sqrt(r^2 + a^2)."""
    G: GravitationalConstant = NEWTONS_CONSTANT
    """Newton's constant."""

    def make(self, context: StateContext) -> State:
        values, rng = gravity_quantities(self, context.units), context.random("plummer_sphere")
        M, a = values["mass"], values["radius"]
        enclosed = rng.uniform(0.0, 0.999, self.n)
        r = a / np.sqrt(enclosed ** (-2.0 / 3.0) - 1.0)
        escape = np.sqrt(2.0 * values["G"] * M) * (r * r + a * a) ** -0.25
        x = r[:, None] * _random_directions(rng, self.n)
        v = (escape * _speed_fractions(rng, self.n))[:, None] * _random_directions(rng, self.n)
        m = np.full(self.n, M / self.n)
        return point_masses(x - x.mean(axis=0), v - v.mean(axis=0), m)


class RandomPoints(Record):
    """Equal masses at rest, uniform in a cube (or square) with one corner at the origin."""

    n: Count
    """Number of bodies."""
    dimension: Annotated[int, Field(ge=1, le=3)] = 3
    """Number of axes of space."""
    side: Length
    """Side of the cube, square or segment."""
    mass: Mass
    """Mass of every body."""

    def make(self, context: StateContext) -> State:
        values, rng = quantities(self, context.units), context.random("random_points")
        x = rng.uniform(0.0, values["side"], (self.n, self.dimension))
        return point_masses(x, np.zeros_like(x), np.full(self.n, values["mass"]))


class FromCsv(Record):
    """Bodies from a table with columns m, x, y, z, vx, vy, vz; name if you like; in the plane no z and vz.

    Numbers are in the units `length`, `mass` and `time` (default: the run's); lines that begin with # are
    comments, other columns are not read. A body of zero mass has no finite acceleration -dU/dx / m: it is
    refused, or takes the mass `zero_mass`.
    """

    file: str
    """CSV file beside the scene, with columns m, x, y, z, vx, vy, vz and, if wanted, name."""
    length: str | None = None
    """Unit of lengths in the file (default: the run's)."""
    mass: str | None = None
    """Unit of masses in the file (default: the run's)."""
    time: str | None = None
    """Unit of times in the file (default: the run's)."""
    zero_mass: Mass | None = None
    """Mass of bodies that have none in the file (default: they are refused)."""

    def make(self, context: StateContext) -> State:
        table = CsvTable(self.file, context.read(self.file))
        axes = "xyz" if {"z", "vz"} & set(table.columns) else "xy"
        m, *columns = (table.numbers(c) for c in ("m", *axes, *(f"v{a}" for a in axes)))
        x, v = np.stack(columns[: len(axes)], axis=1), np.stack(columns[len(axes) :], axis=1)
        names = self._row_names(table)
        length, mass, time = (
            self._column_unit(context, *pair) for pair in (("length", "m"), ("mass", "kg"), ("time", "s"))
        )
        return point_masses(
            x * length, v * (length / time), self._checked_masses(m * mass, names, context), names
        )

    def _row_names(self, table: CsvTable) -> tuple[str, ...]:
        """The column `name`, or the rows' numbers from 0 where there is none."""
        if "name" not in table.columns:
            return tuple(map(str, range(len(table))))
        names = table.texts("name")
        for k, name in enumerate(names):
            if names.index(name) < k:
                raise UserError(f"{table.places[k]}: column 'name': a second body '{name}'; rename one")
        return tuple(names)

    def _column_unit(self, context: StateContext, what: str, unit: str) -> float:
        """One of the table's units in the run's."""
        own = getattr(self, what)
        return 1.0 if own is None else context.units.convert(f"1 {own}", unit)

    def _checked_masses(self, m: np.ndarray, names: tuple[str, ...], context: StateContext) -> np.ndarray:
        """The masses, `zero_mass` in the place of 0. Raises `UserError` for those that are not positive."""
        if self.zero_mass is not None:
            m = np.where(m == 0.0, quantities(self, context.units)["zero_mass"], m)
        if (bad := np.flatnonzero(m <= 0.0)).size:
            mass = f"'{self.file}': body '{names[bad[0]]}' has mass {m[bad[0]]:g}"
            if m[bad[0]] < 0.0:
                raise UserError(f"{mass}; a mass is above 0")
            raise UserError(
                f"{mass}, so its acceleration -dU/dx / m is undefined; give it a small one: zero_mass = 1e-20"
            )
        return m


STATES = {
    "two_body": TwoBody,
    "plummer_sphere": PlummerSphere,
    "random_points": RandomPoints,
    "from_csv": FromCsv,
}


def _random_directions(rng: np.random.Generator, n: int) -> np.ndarray:
    """Unit vectors, isotropic; shape (n, 3)."""
    return directions(rng.random(n), rng.random(n))


def _speed_fractions(rng: np.random.Generator, n: int) -> np.ndarray:
    """q = v / v_escape with density q^2 (1 - q^2)^(7/2), which is below 0.1, by von Neumann's rejection."""
    accepted = np.empty(0)
    while len(accepted) < n:
        q, y = rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 0.1, n)
        accepted = np.concatenate([accepted, q[y < q * q * (1.0 - q * q) ** 3.5]])
    return accepted[:n]
