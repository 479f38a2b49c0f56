"""A harmonic trap whose strength is modulated: the energy that depends on time explicitly.

    u(x, t) = k (1 + a sin(w t)) |x|^2 / 2

and a well u = b |x|^4 / 4, in which a step that is too long makes the numbers explode.
"""

import numpy as np

from minusgrad import Fields, Motion, Node, Parameter, Potential, Time, bind, local_energy, ti
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System


@local_energy(
    "trap",
    over="nodes",
    x=Node("m", ("d",)),
    k=Parameter("kg s^-2", default=1.0),
    a=Parameter(default=0.5),
    w=Parameter("s^-1", default=1.7),
    t=Time(),
)
def trap(x, k, a, w, t):
    """A harmonic trap of modulated strength."""
    return 0.5 * k * (1.0 + a * ti.sin(w * t)) * x[0].dot(x[0])


@local_energy("well", over="nodes", x=Node("m", ("d",)), b=Parameter("kg m^-2 s^-2", default=1.0))
def well(x, b):
    """A quartic well."""
    r2 = x[0].dot(x[0])
    return 0.25 * b * r2 * r2


def trapped(kind: str, dt: float, energies=(trap,), precision: str = "f64", t0: float = 0.3) -> Integrator:
    """Three nodes in the plane, of different inertia, in the trap (or in a well)."""
    x = np.array([[1.0, 0.2], [-0.4, 0.9], [0.3, -1.1]])
    v = np.array([[0.1, 0.5], [0.6, -0.2], [-0.3, 0.4]])
    fields = Fields({"x": x, "v": v, "m": [1.0, 2.0, 0.5]}, precision=precision)
    potential = Potential(fields, [bind(energy, fields) for energy in energies])
    return Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES[kind], dt, t0)
