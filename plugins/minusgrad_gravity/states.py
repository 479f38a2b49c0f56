"""Initial states of point masses: x (n, d), v (n, d), m (n,), in the run's units."""

import csv
import io
from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.contexts import Starting
from minusgrad.errors import UserError
from minusgrad.fields import Body, Motion, State
from minusgrad.records import Quantity, Record, quantities

Mass = Annotated[float | str, Quantity("kg", "positive")]
Length = Annotated[float | str, Quantity("m", "positive")]
G_UNIT = "m^3 kg^-1 s^-2"
GravitationalConstant = Annotated[float | str, Quantity(G_UNIT, "positive")]


def point_masses(x: np.ndarray, v: np.ndarray, m: np.ndarray, names: tuple[str, ...] = ()) -> State:
    """A state whose field x moves with velocity v and inertia m; every named node is a body of its own."""
    bodies = tuple(Body(name, k, k + 1) for k, name in enumerate(names))
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
    semi_major_axis: Length
    eccentricity: Annotated[float, Field(ge=0.0, lt=1.0)]
    G: GravitationalConstant

    def make(self, context: Starting) -> State:
        values = quantities(self, context.units)
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

    n: Annotated[int, Field(ge=2, le=100_000_000)]
    mass: Mass
    radius: Length
    G: GravitationalConstant

    def make(self, context: Starting) -> State:
        values, rng = quantities(self, context.units), context.random("plummer_sphere")
        M, a = values["mass"], values["radius"]
        enclosed = rng.uniform(0.0, 0.999, self.n)
        r = a / np.sqrt(enclosed ** (-2.0 / 3.0) - 1.0)
        escape = np.sqrt(2.0 * values["G"] * M) * (r * r + a * a) ** -0.25
        x = r[:, None] * _directions(rng, self.n)
        v = (escape * _speed_fractions(rng, self.n))[:, None] * _directions(rng, self.n)
        m = np.full(self.n, M / self.n)
        return point_masses(x - x.mean(axis=0), v - v.mean(axis=0), m)


class RandomPoints(Record):
    """Equal masses at rest, uniform in a cube (or square) with one corner at the origin."""

    n: Annotated[int, Field(ge=2)]
    dimension: Annotated[int, Field(ge=1, le=3)] = 3
    side: Length
    mass: Mass

    def make(self, context: Starting) -> State:
        values, rng = quantities(self, context.units), context.random("random_points")
        x = rng.uniform(0.0, values["side"], (self.n, self.dimension))
        return point_masses(x, np.zeros_like(x), np.full(self.n, values["mass"]))


class FromCsv(Record):
    """Bodies from a table with columns name, m, x, y, z, vx, vy, vz (z and vz may be missing).

    Numbers are in the run's units; lines that begin with # are comments. A body of zero mass has no finite
    acceleration under -dU/dx / m: it is refused, or takes the mass `zero_mass`.
    """

    file: str
    zero_mass: Mass | None = None

    def make(self, context: Starting) -> State:
        columns, rows = _table(self.file, context.read(self.file))
        axes = [axis for axis in "xyz" if axis in columns]
        if missing := [c for c in ("m", "x", "y", *(f"v{a}" for a in axes)) if c not in columns]:
            raise UserError(f"'{self.file}' has no column {', '.join(missing)} (it has: {', '.join(columns)})")
        m = rows["m"]
        zero = np.flatnonzero(m <= 0.0)
        names = tuple(rows.pop("name", [str(k) for k in range(len(m))]))
        if zero.size and self.zero_mass is None:
            raise UserError(
                f"'{self.file}': body '{names[zero[0]]}' has mass {m[zero[0]]:g}, so its acceleration -dU/dx / m is"
                ' undefined; give it a small one, e.g. zero_mass = "1e-20 Msun"'
            )
        if zero.size:
            m[zero] = quantities(self, context.units)["zero_mass"]
        x, v = (np.stack([rows[prefix + a] for a in axes], axis=1) for prefix in ("", "v"))
        return point_masses(x, v, m, names)


STATES = {
    "two_body": TwoBody,
    "plummer_sphere": PlummerSphere,
    "random_points": RandomPoints,
    "from_csv": FromCsv,
}


def _directions(rng: np.random.Generator, n: int) -> np.ndarray:
    """Unit vectors, isotropic; shape (n, 3)."""
    z = rng.uniform(-1.0, 1.0, n)
    phi = rng.uniform(0.0, 2.0 * np.pi, n)
    s = np.sqrt(1.0 - z * z)
    return np.stack([s * np.cos(phi), s * np.sin(phi), z], axis=1)


def _speed_fractions(rng: np.random.Generator, n: int) -> np.ndarray:
    """q = v / v_escape with density q^2 (1 - q^2)^(7/2), by von Neumann's rejection (its maximum is < 0.1)."""
    accepted = np.empty(0)
    while len(accepted) < n:
        q, y = rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 0.1, n)
        accepted = np.concatenate([accepted, q[y < q * q * (1.0 - q * q) ** 3.5]])
    return accepted[:n]


def _table(file: str, data: bytes) -> tuple[list[str], dict]:
    """The columns' names, and each column: numbers, except for `name`."""
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip() and line[0] != "#"]
    reader = list(csv.reader(io.StringIO("\n".join(lines)), skipinitialspace=True))
    if len(reader) < 2:
        raise UserError(f"'{file}' has no rows")
    columns = reader[0]
    rows: dict = {c: [] for c in columns}
    for number, row in enumerate(reader[1:], 1):
        if len(row) != len(columns):
            raise UserError(f"'{file}': row {number} has {len(row)} values, not {len(columns)}")
        for column, text in zip(columns, row, strict=True):
            rows[column].append(text if column == "name" else _number(file, number, column, text))
    return columns, {c: v if c == "name" else np.array(v) for c, v in rows.items()}


def _number(file: str, row: int, column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"'{file}': row {row}, column {column}: '{text}' is not a number") from None
