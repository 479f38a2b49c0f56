"""The period of two bodies bound by Plummer-softened gravity, by quadrature between its turning points.

With r, v of their relative motion, L = |r x v|, mu = G (m_1 + m_2), s = sqrt(r^2 + eps^2) and
e = v^2 / 2 - mu / s < 0:

    s^3 (ds/dt)^2 = 2 |e| (s - s_1) (s_2 - s) (s + s_0)       turning points s_1 <= s_2 and a root -s_0 < 0
    radial period     T = 2 / sqrt(2 |e|) int_0^pi f(s) d theta,   f = s^(3/2) / (s + s_0)^(1/2),
                      s = (s_1 + s_2) / 2 + (s_2 - s_1) / 2 cos theta
    angle in T        D = 2 L / sqrt(2 |e|) int_0^pi f(s) / (s^2 - eps^2) d theta,   pi < D < 2 pi
    period of a turn  2 pi T / D

The midpoint rule converges exponentially in theta. The pole of D at s = eps, which is near for almost radial
orbits, is integrated in closed form: it contributes pi. A radial orbit so has the period of passing the
centre twice, 2 T. Without softening T is Kepler's, and D = 2 pi.
"""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

PLACES = 32, 4096
"""Points of the quadrature: at first, and at most."""
ERROR = 1e-10


def least_period(energy: Numbers, mu: Numbers, softening: float) -> Numbers:
    """A lower bound of `period`: its value without softening, or that of an oscillator.

    Infinite for pairs that are not bound. Shapes (n,).

    T >= the Kepler period of the same energy, because f is convex (Jensen), and D <= 2 pi.
    A turn also takes at least 2 pi sqrt(eps^3 / mu), because the acceleration is at most mu r /
    eps^3 (Sturm).
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kepler = 2.0 * np.pi * mu * np.maximum(-2.0 * energy, 0.0) ** -1.5
        bound = np.maximum(kepler, 2.0 * np.pi * np.sqrt(softening**3 / mu))
    return np.where(np.isfinite(bound) & (kepler > 0.0), bound, np.inf)


def period(energy: Numbers, momentum: Numbers, mu: Numbers, softening: float) -> Numbers:
    """The mean time of a turn by 2 pi of bound pairs; momentum: L per reduced mass. Shapes (n,)."""
    if softening == 0.0:
        return least_period(energy, mu, softening)
    a = mu / (-2.0 * energy)
    eps, lam = softening / a, momentum**2 / (-2.0 * energy * a**2)
    near, far = _turning_points(eps, lam)
    root = 2.0 * eps**2 / (near * far)
    places, last = PLACES[0], np.zeros_like(a)
    while True:
        now = _turn_ratio(near, far, root, eps, np.sqrt(lam), places)
        if places >= PLACES[1] or (abs(now - last) <= ERROR * now).all():
            return now * a / np.sqrt(-2.0 * energy)
        places, last = 2 * places, now


def _turning_points(eps: Numbers, lam: Numbers) -> tuple[Numbers, Numbers]:
    """s_1 and s_2 in units of a: roots of u^3 - 2 u^2 + (lam - eps^2) u + 2 eps^2."""
    companion = np.zeros((len(eps), 3, 3))
    companion[:, 0] = np.stack([np.full_like(eps, 2.0), eps**2 - lam, -2.0 * eps**2], axis=1)
    companion[:, 1, 0] = companion[:, 2, 1] = 1.0
    roots = np.sort(np.linalg.eigvals(companion).real, axis=1)
    return np.maximum(roots[:, 1], eps), np.maximum(roots[:, 2], eps)


def _turn_ratio(
    near: Numbers, far: Numbers, root: Numbers, eps: Numbers, momentum: Numbers, places: int
) -> Numbers:
    """2 pi T / D in units with a = 2 |e| = 1, by that many places."""
    theta = np.pi * (np.arange(places) + 0.5) / places
    column = [n[:, None] for n in (near, far, root, eps)]
    near, far, root, eps = column
    s = 0.5 * (near + far) + 0.5 * (far - near) * np.cos(theta)
    f = s * np.sqrt(s / (s + root))
    pole = 0.5 * np.sqrt(eps / (eps + root))
    above = s - eps
    rest = np.divide(f / (s + eps) - pole, above, out=np.zeros_like(s), where=above > 0.0)
    radial = 2.0 * np.pi * f.mean(axis=1)
    angle = np.pi * (1.0 + 2.0 * momentum * rest.mean(axis=1))
    return 2.0 * np.pi * radial / angle
