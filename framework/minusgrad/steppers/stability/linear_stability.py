"""Linear stability of a scheme: the largest omega dt at which it does not amplify a harmonic oscillator.

    d2x/dt2 = -omega^2 x - gamma dx/dt          (x, v/omega) <- A (x, v/omega) in one step

Both eigenvalues of the real 2 x 2 matrix A lie in the unit circle if and only if |det A| <= 1 and
|trace A| <= 1 + det A (Jury 1962); without damping det A = 1, and this is |trace A| <= 2. A is the product of
the matrices of the moves, so that a new row of coefficients needs nothing here, and a new move one rule.
Leapfrog: omega dt = 2.

Decisions 0366.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from ..schemes import Scheme
from ..step_sequence import (
    BathDrift,
    Drift,
    Forces,
    HalfFriction,
    Kick,
    Move,
    PressureDrift,
    PressureKick,
    rule,
)

POINTS = 4000
"""Values of omega dt that are tried, up to twice the number of drifts; the first crossing is bisected."""
ROUNDING = 1e-9


@cache
def stability_limit(scheme: Scheme, friction: float = 0.0, bath: float = 0.0) -> float:
    """The largest omega dt up to which a scheme is stable.

    friction, bath: gamma / omega of a dissipation, and of a heat bath. Raises `EnergyError` for a move that
    has no rule here.
    """
    end = 2.2 * max(len(scheme.drifts), 1)
    tried = np.linspace(0.0, min(end, 5.0 / friction) if friction else end, POINTS)[1:]
    bad = np.flatnonzero(~stable(scheme, tried, friction, bath))
    if not len(bad):
        return float(tried[-1])
    low, high = float(tried[bad[0] - 1]) if bad[0] else 0.0, float(tried[bad[0]])
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(scheme, np.array([middle]), friction, bath)[0] else (low, middle)
    return low


def friction_limit(scheme: Scheme) -> float:
    """The largest gamma dt at which friction alone is stable: a slow vibration with gamma / omega = 1e6."""
    return 1e6 * stability_limit(scheme, 1e6)


def stable(scheme: Scheme, steps: np.ndarray, friction: float = 0.0, bath: float = 0.0) -> np.ndarray:
    """Whether a step of omega dt = `steps` (N,) amplifies no start: booleans (N,)."""
    a = propagation(scheme, steps, friction, bath)
    trace, det = a[:, 0, 0] + a[:, 1, 1], a[:, 0, 0] * a[:, 1, 1] - a[:, 0, 1] * a[:, 1, 0]
    return (np.abs(det) <= 1.0 + ROUNDING) & (np.abs(trace) <= 1.0 + det + ROUNDING)


def propagation(scheme: Scheme, steps: np.ndarray, friction: float = 0.0, bath: float = 0.0) -> np.ndarray:
    """The matrices A (N, 2, 2) of one step, for omega dt = `steps` (N,)."""
    one, nothing = np.ones_like(steps), np.zeros_like(steps)

    def matrix(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
        return np.stack([np.stack([a, b], axis=-1), np.stack([c, d], axis=-1)], axis=-2)

    def drift(move: Move) -> np.ndarray:
        return matrix(one, scheme.drifts[move.number] * steps, nothing, one)

    def bath_drift(move: Move) -> np.ndarray:
        h = scheme.drifts[move.number] * steps
        half = matrix(one, 0.5 * h, nothing, one)
        return half @ matrix(one, nothing, nothing, np.exp(-bath * h)) @ half

    def half_friction(move: Move) -> np.ndarray:
        g = 0.5 * friction * steps
        return matrix(one, nothing, nothing, 1.0 - g + 0.5 * g * g)

    def kick(move: Move) -> np.ndarray:
        return matrix(one, nothing, -scheme.kicks[move.number] * steps, one)

    rules: dict[type[Move], Callable[[Move], np.ndarray]] = {
        Kick: kick,
        PressureKick: kick,
        Drift: drift,
        BathDrift: bath_drift,
        PressureDrift: bath_drift,
        HalfFriction: half_friction,
        Forces: lambda move: matrix(one, nothing, nothing, one),
    }
    total = matrix(one, nothing, nothing, one)
    for move in scheme.moves:
        total = rule(rules, move, "linear stability")(move) @ total
    return total
