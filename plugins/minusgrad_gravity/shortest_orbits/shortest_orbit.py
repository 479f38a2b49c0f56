"""The shortest orbit of two bodies at the start, and whether the steps of a run resolve it.

Two bodies are bound if e = v^2 / 2 - mu / sqrt(r^2 + eps^2) < 0, with mu = G (m_i + m_j), r and v of their
relative motion, and the softening eps. Their period is that of a turn (`softened_orbit`), Kepler's
without softening.
Gravity is recognised by its values (`central_mass`, `softened_gravity`).

Decisions 0115.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minusgrad.plugin import Integrator, Motion, Potential, Stepper

from ..kepler_drifts.central_mass import strength_of
from .softened_gravity import Gravity, gravity_of
from .softened_orbit import Numbers, least_period, period

RESOLVED = 20
"""Steps of an orbit below which it is not resolved: leapfrog's phase is then off by 0.4 % of what it goes."""
MOST = 1000
"""Bodies of whose pairs all are looked at; of more, those of near neighbours and of the heaviest."""
NEAREST = 8
"""Neighbours of each body, and heaviest bodies, of whose pairs are looked at."""
BLOCK = 256
"""Pairs whose periods are computed at once."""


@dataclass(frozen=True)
class Orbit:
    """The bound pair of nodes with the shortest period [the run's unit of time]."""

    nodes: tuple[int, int]
    period: float

    def remark(self, dt: float) -> str:
        """A warning with the number of steps of an orbit, if these are too few; else empty."""
        steps = self.period / abs(dt)
        if steps >= RESOLVED:
            return ""
        i, j = self.nodes
        return (
            f"dt = {dt:g}: the shortest orbit at the start, of nodes {i} and {j}, has a"
            f" period of {self.period:.3g}, which is {steps:.2g} steps; take at least {RESOLVED}, or use"
            " gauss_radau"
        )


def warning(stepper: Stepper, steps: int) -> str:
    """That the steps of a splitting scheme are too long for the shortest orbit at the start; else empty.

    Drifts along Kepler orbits, and steps that choose their length, have none too short.
    """
    if not isinstance(stepper, Integrator) or stepper.part_flow:
        return ""
    orbit = shortest_orbit(stepper.potential, stepper.motions, RESOLVED * abs(stepper.dt))
    return orbit.remark(stepper.dt) if orbit else ""


def shortest_orbit(potential: Potential, motions: Sequence[Motion], longest: float = np.inf) -> Orbit | None:
    """The shortest orbit at the present fields, if it is shorter than `longest`.

    None without gravity, with gravities of several softenings, and without such a pair. Of more than `MOST`
    bodies it is that of near neighbours, or of the heaviest ones with any other.
    """
    if len(motions) != 1 or not isinstance(motions[0].inertia, str):
        return None
    motion = motions[0]
    x, v, m = (
        potential.fields[str(n)].values.astype(np.float64)
        for n in (motion.position, motion.velocity, motion.inertia)
    )
    if len(x) < 2 or x.ndim != 2 or not np.isfinite(x).all():
        return None
    law = _gravity_law(potential, motion, len(x))
    if law is None:
        return None
    i, j = _looked_at_pairs(x, m)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r, w, mu = x[i] - x[j], v[i] - v[j], law.G * (m[i] + m[j])
        r2, w2 = (r**2).sum(axis=1), (w**2).sum(axis=1)
        energy = 0.5 * w2 - mu / np.sqrt(r2 + law.softening**2)
        momentum = np.sqrt(np.maximum(r2 * w2 - (r * w).sum(axis=1) ** 2, 0.0))
    least = least_period(energy, mu, law.softening)
    near = np.flatnonzero(least < longest)
    near = near[np.argsort(least[near], kind="stable")]
    best, pair = longest, -1
    for block in (near[k : k + BLOCK] for k in range(0, len(near), BLOCK)):
        if least[block[0]] >= best:
            break
        found: Numbers = period(energy[block], momentum[block], mu[block], law.softening)
        if found.min() < best:
            best, pair = float(found.min()), int(block[found.argmin()])
    return None if pair < 0 else Orbit((int(i[pair]), int(j[pair])), best)


def _gravity_law(potential: Potential, motion: Motion, n: int) -> Gravity | None:
    """All gravity of the bodies as one law."""
    terms = potential.terms.values()
    found = [Gravity(s[1], 0.0) for term in terms if (s := strength_of(term, motion, n, 0))]
    found += [law for term in terms if (law := gravity_of(term, motion, n))]
    if not found or np.ptp([law.softening for law in found]) > 1e-9 * found[0].softening:
        return None
    return Gravity(sum(law.G for law in found), found[0].softening)


def _looked_at_pairs(x: Numbers, m: Numbers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The pairs of nodes that are looked at."""
    n = len(x)
    if n <= MOST:
        return np.triu_indices(n, 1)
    from scipy.spatial import cKDTree

    count = min(NEAREST, n - 1)
    _, near = cKDTree(x).query(x, k=count + 1)
    heavy = np.broadcast_to(np.argsort(-m, kind="stable")[:count], (n, count))
    other = np.concatenate([near, heavy], axis=1).ravel()
    one = np.repeat(np.arange(n), 2 * count + 1)
    apart = one != other
    return np.minimum(one, other)[apart], np.maximum(one, other)[apart]
