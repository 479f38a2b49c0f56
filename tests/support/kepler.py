"""Two bodies on a Kepler orbit: the exact answer, and the system that must come near it.

M = E - e sin E                                          mean anomaly M = t, for a = 1 and G (m1 + m2) = 1
r = (cos E - e, sqrt(1 - e^2) sin E)                     separation, pericentre on the x axis at t = 0
dr/dt = (-sin E, sqrt(1 - e^2) cos E) / (1 - e cos E)
"""

import numpy as np

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity

SHORT = ("symplectic_euler", "leapfrog", "yoshida4", "yoshida6")
"""The rows that stand for all schemes where the moves are tested: the others have more stages of the same."""

MASSES = np.array([0.75, 0.25])
SHARES = np.array([[-0.25], [0.75]])
"""Each body's place and velocity in parts of the separation and its rate."""


def eccentric_anomaly(t: float, e: float) -> float:
    """Kepler's equation by Newton's method."""
    anomaly = t
    for _ in range(50):
        anomaly -= (anomaly - e * np.sin(anomaly) - t) / (1.0 - e * np.cos(anomaly))
    return anomaly


def orbit(t: float, e: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of both bodies, shape (2, 2) each."""
    anomaly, b = eccentric_anomaly(t, e), np.sqrt(1.0 - e * e)
    separation = np.array([np.cos(anomaly) - e, b * np.sin(anomaly)])
    rate = np.array([-np.sin(anomaly), b * np.cos(anomaly)]) / (1.0 - e * np.cos(anomaly))
    return SHARES * separation, SHARES * rate


def two_bodies(kind: str, dt: float, e: float = 0.3, precision: str = "f64") -> Integrator:
    """The two bodies at pericentre, about to move by a scheme."""
    x, v = orbit(0.0, e)
    fields = Fields({"x": x, "v": v, "m": MASSES}, precision=precision)
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0})])
    return Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES[kind], dt)


def error(kind: str, steps: int, t: float = 5.0, e: float = 0.3) -> float:
    """How far the scheme is from Kepler at time t: the largest distance in x and v."""
    stepper = two_bodies(kind, t / steps, e)
    stepper.advance(steps)
    fields, (x, v) = stepper.potential.fields, orbit(t, e)
    return max(np.abs(fields["x"].values - x).max(), np.abs(fields["v"].values - v).max())
