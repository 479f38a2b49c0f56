"""The shortest orbit of two bodies at the start, and whether the steps of a run resolve it.

Two bodies are bound if e = v^2 / 2 - mu / r < 0, with mu = G (m_i + m_j) and r, v of their relative motion.
Then a = -mu / (2 e), and the period is 2 pi sqrt(a^3 / mu). Gravity is recognised by its values
(`central_mass`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....energies.fields import Motion
from ....potential.potential import Potential
from .central_mass import strength_of

RESOLVED = 20
"""Steps of an orbit below which it is not resolved: leapfrog's phase is then off by 0.4 % of what it goes."""
MOST = 1000
"""Bodies of whose pairs all are looked at."""


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


def shortest_orbit(potential: Potential, motions: Sequence[Motion]) -> Orbit | None:
    """The shortest orbit at the present fields.

    None without gravity, without a bound pair, and of more bodies than `MOST`.
    """
    if len(motions) != 1 or not isinstance(motions[0].inertia, str):
        return None
    motion = motions[0]
    x, v, m = (
        potential.fields[str(n)].values.astype(np.float64)
        for n in (motion.position, motion.velocity, motion.inertia)
    )
    if not 2 <= len(x) <= MOST or x.ndim != 2:
        return None
    found = [s for term in potential.terms.values() if (s := strength_of(term, motion, len(x), 0))]
    i, j = np.triu_indices(len(x), 1)
    r, mu = np.linalg.norm(x[i] - x[j], axis=1), sum(G for _, G in found) * (m[i] + m[j])
    with np.errstate(divide="ignore", invalid="ignore"):
        energy = 0.5 * ((v[i] - v[j]) ** 2).sum(axis=1) - mu / r
        period = 2.0 * np.pi * mu * np.maximum(-2.0 * energy, 0.0) ** -1.5
    if not (np.isfinite(period) & (period > 0.0)).any():
        return None
    k = int(np.argmin(np.where(np.isfinite(period) & (period > 0.0), period, np.inf)))
    return Orbit((int(i[k]), int(j[k])), float(period[k]))
