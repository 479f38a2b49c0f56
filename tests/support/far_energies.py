"""Three energies over pairs with far pairs: gravity, a screened charge, a soft logarithm; their forces.

The forces are sums over all pairs in NumPy, from derivatives by hand.
"""

from collections.abc import Callable

import numpy as np

from minusgrad import Node, Parameter, local_energy
from minusgrad.plugin import ti

X, CHARGE = Node("m", ("d",)), Node("1")


@local_energy("attraction", over="pairs", x=X, m=Node("kg"), G=Parameter("1"), softening=Parameter("m"))
def attraction(x, m, G, softening):
    """Softened gravity."""
    r = x[0] - x[1]
    return -G * m[0] * m[1] / ti.sqrt(r.dot(r) + softening * softening)


@local_energy("yukawa", over="pairs", x=X, q=CHARGE, strength=Parameter("J"), length=Parameter("m"))
def yukawa(x, q, strength, length):
    """A screened charge."""
    r = (x[0] - x[1]).norm()
    return strength * q[0] * q[1] * ti.exp(-r / length) / r


@local_energy("vortices", over="pairs", x=X, q=CHARGE, core=Parameter("m"))
def vortices(x, q, core):
    """A softened logarithm, with a constant part and squares of charges."""
    r = x[0] - x[1]
    return (q[0] * q[1] + 0.1 * q[0] ** 2 * q[1] ** 2) * ti.log(r.dot(r) + core * core) + 0.0 * core


def slope_of_attraction(s: np.ndarray, one: float, other: np.ndarray) -> np.ndarray:
    """2 du/ds of G = 1.3, softening 0.05."""
    return 1.3 * one * other * (s + 0.05**2) ** -1.5


def slope_of_yukawa(s: np.ndarray, one: float, other: np.ndarray) -> np.ndarray:
    r = np.sqrt(s)
    return -0.7 * one * other * np.exp(-r / 0.6) * (1.0 / r + 1.0 / 0.6) / s


def slope_of_vortices(s: np.ndarray, one: float, other: np.ndarray) -> np.ndarray:
    return 2.0 * (one * other + 0.1 * (one * other) ** 2) / (s + 0.1**2)


CASES = {
    "gravity": (attraction, "m", {"G": 1.3, "softening": 0.05}, slope_of_attraction),
    "yukawa": (yukawa, "q", {"strength": 0.7, "length": 0.6}, slope_of_yukawa),
    "logarithm": (vortices, "q", {"core": 0.1}, slope_of_vortices),
}


def direct(slope: Callable[..., np.ndarray], x: np.ndarray, w: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The gradient by all pairs, at some nodes."""
    found = np.zeros((len(rows), x.shape[1]))
    for k, i in enumerate(rows):
        apart = np.delete(x[i] - x, i, axis=0)
        found[k] = slope((apart**2).sum(axis=1), w[i], np.delete(w, i)) @ apart
    return found


def percentiles(found: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """The rms of the errors of forces, and that which 1 % of nodes exceed, over the rms of the forces."""
    off, rms = np.linalg.norm(found - exact, axis=1), np.sqrt((exact**2).sum(axis=1).mean())
    return float(np.sqrt((off**2).mean()) / rms), float(np.quantile(off, 0.99) / rms)
