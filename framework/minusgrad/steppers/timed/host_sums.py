"""Sums that the host adds up between launches, in double precision and in the order of nodes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import Fields, Motion, ordered_sum
from ...engine import storage


class HostSums:
    """Kinetic energies of all that moves; inertia: by the position's name."""

    def __init__(self, fields: Fields, motions: Sequence[Motion], inertia: Mapping[str, Any]):
        self.fields, self.motions, self.inertia = fields, motions, inertia

    def kinetic(self) -> float:
        """The kinetic energy."""
        total = 0.0
        for motion in self.motions:
            v = self.fields[motion.velocity].values
            total += ordered_sum(0.5 * self._mass(motion, v.ndim) * v.astype(np.float64) ** 2)
        return total

    def kinetic_losses(self, before: Mapping[str, Any]) -> Iterator[float]:
        """How much less it is than with the velocities `before`, by their names: for each motion."""
        for motion in self.motions:
            v, old = self.fields[motion.velocity].values, storage.host(before[motion.velocity])
            with np.errstate(all="ignore"):  # values that are not finite are reported by name
                change = old.astype(np.float64) ** 2 - v.astype(np.float64) ** 2
                yield ordered_sum(0.5 * self._mass(motion, v.ndim) * change)

    def _mass(self, motion: Motion, axes: int) -> np.ndarray:
        mass = storage.host(self.inertia[motion.position]).astype(np.float64)
        return mass.reshape(-1, *[1] * (axes - 1))


def add_to(total: Any, value: float) -> None:
    """Add a number to a sum, an array of one."""
    storage.store(total, storage.host(total) + value)
