"""The path of the end of three rods, from the equations of motion in angles: data for a fit, by SciPy alone.

    M_ij = s_max(i, j) L_i L_j cos(a_i - a_j),      s_k = sum of the masses from bob k on
    M a'' = -(sum over j of  s_max(i, j) L_i L_j sin(a_i - a_j) a_j'^2 + s_i g L_i sin a_i)

a_i: angles of rods of lengths L_i from the vertical; each hangs from the last one, with a bob at its end.
"""

import numpy as np
from scipy.integrate import solve_ivp

LENGTHS = np.array([0.31, 0.22, 0.27])
MASSES = np.array([0.2, 0.1, 0.15])
GRAVITY, ANGLE, SIGMA = 9.81, 1.1, 1e-3
TIMES = np.arange(1, 61) * 0.02


def acceleration(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """a'' (3,) at angles a and their rates w."""
    below = np.cumsum(MASSES[::-1])[::-1]
    shared = below[np.maximum.outer(np.arange(3), np.arange(3))] * np.outer(LENGTHS, LENGTHS)
    apart = a[:, None] - a[None, :]
    pull = (shared * np.sin(apart)) @ w**2 + below * GRAVITY * LENGTHS * np.sin(a)
    return np.linalg.solve(shared * np.cos(apart), -pull)


def path(times: np.ndarray) -> np.ndarray:
    """The places of the last bob (n, 2), let go in a straight line."""

    def slope(t: float, state: np.ndarray) -> np.ndarray:
        return np.concatenate([state[3:], acceleration(state[:3], state[3:])])

    start = np.array([ANGLE] * 3 + [0.0] * 3)
    done = solve_ivp(slope, (0.0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-13)
    angles = done.y[:3]
    return np.stack([LENGTHS @ np.sin(angles), -LENGTHS @ np.cos(angles)], axis=1)


def table() -> str:
    """The path as it was measured, with an error of a millimetre."""
    seen = path(TIMES) + SIGMA * np.random.default_rng(7).normal(size=(len(TIMES), 2))
    rows = [f"{t:.2f},{x:.4f},{y:.4f}" for t, (x, y) in zip(TIMES, seen, strict=True)]
    return "\n".join(["time,x,y", *rows]) + "\n"
