"""The energy balance of a moving system, and a watch over it while a run goes on.

    kept = kinetic + U - work + dissipated - heat + cell     constant, up to the error of the method
    error = |kept - kept at the start| / E,
            E the largest so far of: |kept| at the start, the kinetic energy, the work, the heat, the friction

A run whose error exceeds `BOUND` has diverged. The error is measured by the energies that the run has seen,
so that a system which begins near energy zero, or is driven far from its start, is not accused: a diverging
run has an error near 1 or above, because it gains kinetic energy. Sums in double precision, in fixed order.

Decisions 0358, 0367.
"""

from collections.abc import Callable

import numpy as np

from ...energies.fields import Fields, Motion, ordered_sum
from ...engine import storage
from ...errors import DivergedError, NonFiniteError, NonFiniteStartError
from ..scheduler import Every
from ..stepper import Stepper

EARLY, BOUND = 0.1, 0.5
"""The error from which a run is warned of, and that from which it has diverged."""
LOOKS, RARELY = 100, 50
"""The watch looks about this often in a run, and at most every so many steps."""
SMALLER = "try a smaller dt"
"""The cure of numbers that become infinite, or leave their range, while a run goes on."""
UNITS = "and if that does not help, units in which such numbers are nearer to 1"


def kinetic_energy(fields: Fields, motion: Motion, inertia: np.ndarray) -> float:
    """Sum over nodes of inertia v^2 / 2."""
    v = fields[motion.velocity].values.astype(np.float64)
    return ordered_sum(0.5 * by_node(inertia, v) * v * v)


def by_node(inertia: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Inertias, one for each node or a single one, in a shape that broadcasts to velocities."""
    return inertia.astype(np.float64).reshape(-1, *[1] * (v.ndim - 1))


def energies(stepper: Stepper) -> dict[str, float]:
    """The energy of each term at the present fields. Raises `NonFiniteError` for infinity and NaN."""
    by_term = stepper.potential.by_term(stepper.time)
    for name, energy in by_term.items():
        if not np.isfinite(energy):
            found = stepper.potential.first_nonfinite(stepper.time, stepper.gradient)
            error = NonFiniteError if stepper.step else NonFiniteStartError
            cure = f"; {SMALLER}" if stepper.step and stepper.motions else ""
            raise error(
                f"step {stepper.step}: the energy of term '{name}' is {energy};"
                f" {found or 'all its forces are finite'}{cure}"
            )
    return by_term


def kinetic(stepper: Stepper) -> float:
    """The kinetic energy of all that moves; of a Lagrangian its energy function."""
    if stepper.lagrangian is not None:
        return stepper.energy_function()
    fields, inertia = stepper.potential.fields, stepper.inertia
    return sum(kinetic_energy(fields, m, storage.host(inertia[m.position])) for m in stepper.motions)


def motion_label(stepper: Stepper) -> str:
    """The name under which the energy of the motion is recorded."""
    return "kinetic" if stepper.lagrangian is None else "energy_function"


def energy_flows(stepper: Stepper) -> dict[str, float]:
    """The stepper's `balance`, with the work of parameters that were written between steps."""
    found = dict(stepper.balance)
    if stepper.given_work is not None:
        found["work"] = found.get("work", 0.0) + stepper.given_work
    return found


def kept(total: float, balance: dict[str, float]) -> float:
    """The part of the total energy that is conserved."""
    left = total - balance.get("work", 0.0) + balance.get("dissipated", 0.0) - balance.get("heat", 0.0)
    return left + balance.get("cell", 0.0)


def reference(stepper: Stepper, kinetic: float, conserved: float) -> float:
    """The size of a conserved energy; where that is nothing (1e-9 of them), kinetic energy and sum |u|."""
    size = abs(kinetic) + stepper.potential.magnitude(stepper.time)
    if stepper.lagrangian is not None:
        size += stepper.lagrangian.magnitude(stepper.time)
    return abs(conserved) if abs(conserved) > 1e-9 * size else size


class EnergyWatch:
    """Looks at the energy balance of a run from time to time; an observer that records nothing.

    steps: those of the run. say: called once with a warning, when the error exceeds `EARLY`. Raises
    `DivergedError` when it exceeds `BOUND`.
    """

    def __init__(self, stepper: Stepper, steps: int, say: Callable[[str], None]):
        self.stepper, self._say, self._warned = stepper, say, False
        self.trigger = Every(max(RARELY, steps // LOOKS))
        self.start = self.scale = np.nan

    def begin(self, start: float | None = None, scale: float | None = None) -> None:
        """Take the present energy as that of the start; or the `start` and `scale` of an earlier part."""
        moving, balance, conserved = self._now()
        if start is None or scale is None:
            start, scale = conserved, reference(self.stepper, moving, conserved)
        self.start, self.scale = start, max([scale, moving, *map(abs, balance.values())])

    def observe(self) -> None:
        error = self.refused()
        if error > EARLY and not self._warned:
            self._warned = True
            self._say(
                f"step {self.stepper.step}: the total energy is off by {error:.0%} of the largest energy in"
                " the run; a smaller dt is more accurate"
            )

    def refused(self) -> float:
        """The error of the energy at the present fields. Raises `DivergedError` beyond `BOUND`."""
        error = self.error()
        if not error <= BOUND:
            off = f"is off by {error:.0%} of the largest energy in the run" if error < np.inf else "overflows"
            raise DivergedError(f"step {self.stepper.step}: the run has diverged: the total energy {off}")
        return error

    def error(self) -> float:
        """The error of the energy at the present fields; infinity where an energy overflows."""
        with np.errstate(all="ignore"):
            moving, balance, conserved = self._now()
            scale = max([self.scale, moving, *map(abs, balance.values())])
            error = abs(conserved - self.start) / (scale or 1.0)
        if not np.isfinite([error, scale]).all():
            return np.inf
        self.scale = scale
        return error

    def _now(self) -> tuple[float, dict[str, float], float]:
        """Kinetic energy, the flows of energy, and the energy that is conserved."""
        with self.stepper.observed():
            moving, balance = kinetic(self.stepper), energy_flows(self.stepper)
            return moving, balance, kept(moving + sum(energies(self.stepper).values()), balance)
