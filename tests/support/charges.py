"""Charges in magnetic fields: the exact orbit, fields A(x), and the systems that must come near them.

dv/dt = v x omega,  omega = q B / m        v = parallel + perpendicular cos(wt) + (v x e) sin(wt)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minusgrad import Fields, Motion, Node, Parameter, Potential, bind, local_energy, ti, vector_potential
from minusgrad.energies.fields import Body
from minusgrad.energies.magnetic_field import MagneticField
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.magnetic.force import MagneticForce, MagneticTerm
from minusgrad.steppers.schemes import SCHEMES
from tests.support.systems import system_from

UNITS = {"x": "m", "v": "m s^-1", "m": "kg", "q": "C"}
MOTION = Motion("x", "v", "m")
PLACE = Node("m", ("d",))


@vector_potential("bottle", x=PLACE, B0=Parameter("T"), length=Parameter("m"))
def bottle(x, B0, length):
    """A magnetic bottle about the z axis: B_z = B0 (1 + (z / length)^2), B_r = -B0 r z / length^2."""
    r = x[0]
    return 0.5 * B0 * (1.0 + (r[2] / length) ** 2) * ti.Vector([-r[1], r[0], 0.0])


@vector_potential("sheet", x=PLACE, B0=Parameter("T"), length=Parameter("m"))
def sheet(x, B0, length):
    """In the plane: B = B0 (1 + cos(x / length) y^2), with a branch that adds a gradient."""
    r = x[0]
    A = ti.Vector([-B0 * r[1], B0 * length * ti.sin(r[0] / length) * r[1] * r[1]])
    if r[0] > 0.1:
        A = A + ti.Vector([(r[0] - 0.1) ** 2, 0.0])
    return A


@local_energy("well", over="nodes", x=PLACE, k=Parameter("N/m"))
def well(x, k):
    """k (|x|^2 / 2 + x_0^4 / 10)."""
    return k * (0.5 * x[0].dot(x[0]) + 0.1 * x[0][0] ** 4)


@local_energy("quadrupole", over="nodes", x=PLACE, k=Parameter("N/m"))
def quadrupole(x, k):
    """k (2 z^2 - x^2 - y^2) / 4: the electric field of a Penning trap."""
    r = x[0]
    return 0.25 * k * (2.0 * r[2] * r[2] - r[0] * r[0] - r[1] * r[1])


def fields(d: int, nodes: int = 3, precision: str = "f64", seed: int = 3) -> Fields:
    """Some charges at random places with random velocities."""
    rng = np.random.default_rng(seed)
    values = {"x": rng.normal(size=(nodes, d)), "v": rng.normal(size=(nodes, d))}
    values |= {
        "m": rng.uniform(1.0, 2.0, nodes),
        "q": rng.uniform(0.5, 1.5, nodes) * (-1.0) ** np.arange(nodes),
    }
    return Fields(values, UNITS, precision)


B3 = np.array([0.3, -0.5, 1.1])


def along(d: int, size: float = 1.0) -> dict[str, Any]:
    """A uniform field that a system in d dimensions can have."""
    return {"B": size * B3 * ([1.0, 1.0, 1.0] if d == 3 else [0.0, 0.0, 1.0])}


def moving(
    of: Fields,
    scheme: str,
    dt: float,
    field: MagneticField,
    parameters: Mapping[str, Any],
    charge: Any = "q",
    energies: Mapping[Any, float] | None = None,
    body: list[int] | None = None,
    **more: Any,
) -> Integrator:
    """An integrator of charges in one field called "field"; `energies` with their constant k."""
    bodies = [] if body is None else [Body("charged", body)]
    term = MagneticTerm(field, charge, parameters, name="field", bodies=bodies)
    terms = [bind(energy, of, parameters={"k": k}) for energy, k in (energies or {}).items()]
    force = MagneticForce(of, [MOTION], [term])
    system = system_from(more, Potential(of, terms), [MOTION], magnetic=force)
    return Integrator(system, SCHEMES[scheme], dt, **more)


def exact_orbit(start: Fields, B: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    """x and v at time t in a uniform field without other forces, each (n, d)."""
    x, v, m, q = (start[n].values.astype(float) for n in "xvmq")
    d = x.shape[1]
    x, v = (np.pad(a, ((0, 0), (0, 3 - d))) for a in (x, v))
    omega = (q / m)[:, None] * B
    w = np.linalg.norm(omega, axis=1, keepdims=True)
    e = omega / w
    straight = e * (e * v).sum(1, keepdims=True)
    level, turned = v - straight, np.cross(v, e)
    sine, versine = np.sin(w * t), 2.0 * np.sin(0.5 * w * t) ** 2
    place = x + straight * t + (level * sine + turned * versine) / w
    speed = straight + level * np.cos(w * t) + turned * sine
    return place[:, :d], speed[:, :d]
