"""Two masses in the plane on stiffening springs with friction, between supports that turn and move.

    U = sum over springs of  k s^2 / 2 + q s^4 / 4 + b s cos(3 t),      s = |x_i - x_j| - L
    R = sum over springs of  (c |w|^2 / 2 + e |w|^4 / 4) (1 + |x_i - x_j|^2),      w = v_i - v_j

The same motion by SciPy's DOP853 from forces written by hand.
"""

from functools import cache
from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp

from minusgrad import Fields, Hold, Motion, Node, Parameter, Potential, Rotation, Time, bind, local_energy, ti
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.implicit.implicit_integrator import ImplicitIntegrator
from minusgrad.steppers.implicit.stage import IMPLICIT_SCHEMES
from tests.support.systems import system_from

K, Q, B, L = 3.0, 2.0, 0.4, 0.8
C, E = 0.3, 0.05
ENDS = np.array([[0, 1], [0, 2], [1, 3]])
X = np.array([[0.1, 0.9], [1.3, 0.7], [0.0, 0.0], [1.5, -0.2]])
V = np.array([[0.4, -0.3], [-0.2, 0.6], [0.0, 0.0], [0.0, 0.0]])
MASSES = np.array([0.7, 1.1, 1.0, 1.0])
CENTRE, ANGLE, RAMP, SPIN = np.array([0.2, -0.3]), 1.2, 1.7, 0.5
FAR, DRIFT = np.array([0.3, 0.4]), np.array([-0.1, 0.2])
KINDS = tuple(IMPLICIT_SCHEMES)
ORDERS = {"implicit_euler": 1, "implicit_midpoint": 2, "bdf2": 2, "newmark": 2}


@local_energy(
    "stiffening",
    over=2,
    x=Node("1", ("d",)),
    k=Parameter(),
    q=Parameter(),
    b=Parameter(),
    rest=Parameter(),
    t=Time(),
)
def stiffening(x, k, q, b, rest, t):
    """A spring that stiffens, and is pulled in time."""
    s = (x[0] - x[1]).norm() - rest
    return 0.5 * k * s * s + 0.25 * q * s**4 + b * s * ti.cos(3.0 * t)


@local_energy("rub", over=2, x=Node("1", ("d",)), v=Node("1", ("d",)), c=Parameter(), e=Parameter())
def rub(x, v, c, e):
    """Friction that grows with speed and length."""
    w, d = v[0] - v[1], x[0] - x[1]
    square = w.dot(w)
    return (0.5 * c * square + 0.25 * e * square * square) * (1.0 + d.dot(d))


def swing(
    kind: str,
    dt: float,
    damped: bool = True,
    moving: bool = True,
    precision: str = "f64",
    **options,
) -> ImplicitIntegrator:
    """The system, about to move; `moving`: the supports do, too."""
    fields = Fields({"x": X, "v": V, "m": MASSES}, precision=precision)
    terms = [bind(stiffening, fields, tuples=ENDS, parameters={"k": K, "q": Q, "b": B, "rest": L})]
    losses = [bind(rub, fields, tuples=ENDS, parameters={"c": C, "e": E})]
    turn = Rotation(tuple(CENTRE), angle=ANGLE, rate=SPIN) if moving else None
    push = {"displacement": tuple(FAR), "velocity": tuple(DRIFT), "duration": RAMP} if moving else {}
    holds = [
        Hold("turning", "x", np.array([2]), rotation=turn, duration=RAMP),
        Hold("pushed", "x", np.array([3]), **push),
    ]
    motions = [Motion("x", "v", "m")]
    lost = Potential(fields, losses) if damped else None
    held = Holds(fields, holds, motions)
    system = system_from(options, Potential(fields, terms), motions, holds=held, dissipation=lost)
    return ImplicitIntegrator(system, IMPLICIT_SCHEMES[kind], dt, **options)


def ended(kind: str, steps: int, end: float, **how) -> np.ndarray:
    """x and v of the free masses at the end, (2, 2, 2)."""
    one = swing(kind, end / steps, **how)
    one.advance(steps)
    fields = one.potential.fields
    return np.stack([fields["x"].values[:2], fields["v"].values[:2]]).astype(np.float64)


# By hand ------------------------------------------------------------------------------------------------


def supports(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Places and velocities of nodes 2 and 3."""
    s = min(t / RAMP, 1.0)
    r, speed = s**3 * (10 - 15 * s + 6 * s * s), 30 * s * s * (1 - s) ** 2 / RAMP
    theta, rate = ANGLE * r + SPIN * t, ANGLE * speed + SPIN
    turn = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    arm = turn @ (X[2] - CENTRE)
    x = np.array([CENTRE + arm, X[3] + FAR * r + DRIFT * t])
    v = np.array([rate * np.array([-arm[1], arm[0]]), FAR * speed + DRIFT])
    return x, v


def forces(t: float, x: np.ndarray, v: np.ndarray, damped: bool) -> tuple[np.ndarray, np.ndarray]:
    """Of U and of R on all nodes, (4, 2) each."""
    pull, rubbing = np.zeros((4, 2)), np.zeros((4, 2))
    for i, j in ENDS:
        d, w = x[i] - x[j], v[i] - v[j]
        r = np.sqrt(d @ d)
        s = r - L
        one = -(K * s + Q * s**3 + B * np.cos(3.0 * t)) * d / r
        two = -(C + E * (w @ w)) * (1.0 + d @ d) * w * damped
        pull[i], pull[j] = pull[i] + one, pull[j] - one
        rubbing[i], rubbing[j] = rubbing[i] + two, rubbing[j] - two
    return pull, rubbing


@cache
def exact(end: float, damped: bool = True, moving: bool = True) -> np.ndarray:
    """x and v of the free masses, and the work of supports and of the pull in time, and friction: (10,)."""

    def slope(t: float, z: np.ndarray) -> np.ndarray:
        held = supports(t) if moving else (X[2:], np.zeros((2, 2)))
        x, v = np.concatenate([z[:4].reshape(2, 2), held[0]]), np.concatenate([z[4:8].reshape(2, 2), held[1]])
        pull, rubbing = forces(t, x, v, damped)
        lengths = sum(np.linalg.norm(x[i] - x[j]) - L for i, j in ENDS)
        work = -((pull + rubbing)[2:] * v[2:]).sum() - 3.0 * B * np.sin(3.0 * t) * lengths
        accelerations = (pull + rubbing)[:2] / MASSES[:2, None]
        return np.concatenate([v[:2].ravel(), accelerations.ravel(), [work, -(rubbing * v).sum()]])

    breaks = [0.0, *([RAMP] if end > RAMP else []), end]
    z = np.concatenate([X[:2].ravel(), V[:2].ravel(), [0.0, 0.0]])
    for a, b in pairwise(breaks):
        z = solve_ivp(slope, (a, b), z, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return z
