"""The fastest vibration of a system, and its fastest growth, by the Lanczos method.

    W = M^(-1/2) H M^(-1/2),  H = d2U/dx2          eigenvalues omega^2 of vibrations, -rate^2 of growth

over the free components of all that moves. A few steps of Lanczos with full reorthogonalisation from a fixed
vector give the outer eigenvalues from inside (Ritz values), the largest to some digits: it is at most the
true omega_max^2, so that a step which it forbids is unstable indeed.

Decisions 0366.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ...potential.potential import Potential
from ..stepper import Stepper
from .free_components import FreeComponents

PRODUCTS = 16
"""Hessian products; 16 find the largest eigenvalue of a spring network to about 1 %."""
SECONDS = 2.0
"""No further product is begun after this time."""


FEWEST = 6
"""With fewer products, Ritz values say nothing."""


@dataclass(frozen=True)
class Vibrations:
    """The largest and the smallest Ritz value of M^-1/2 H M^-1/2 [1/time^2]."""

    largest: float
    smallest: float

    @property
    def omega(self) -> float:
        """The highest angular frequency found; 0 if nothing vibrates."""
        return float(np.sqrt(max(self.largest, 0.0)))

    @property
    def growth(self) -> float:
        """The fastest rate of exponential growth; 0 where the potential is convex, to rounding."""
        small = self.smallest < -1e-6 * max(abs(self.largest), abs(self.smallest))
        return float(np.sqrt(-self.smallest)) if small else 0.0


def vibrations(stepper: Stepper) -> Vibrations | None:
    """The outer Ritz values at the present fields and time; None where products take too long.

    Raises `EnergyError` where the potential has no second derivatives.
    """
    names = {m.position: m.position for m in stepper.motions}
    values = ritz_values(MassWeighted(stepper, stepper.potential, names))
    return None if values is None else Vibrations(float(values[-1]), float(values[0]))


def friction_rate(stepper: Stepper) -> float | None:
    """The largest eigenvalue of M^-1/2 (d2R/dv2) M^-1/2 at the present state [1/time].

    0 without a dissipation; None and `EnergyError` as for `vibrations`.
    """
    if stepper.dissipation is None:
        return 0.0
    names = {m.position: m.velocity for m in stepper.motions}
    values = ritz_values(MassWeighted(stepper, stepper.dissipation, names))
    return None if values is None else max(float(values[-1]), 0.0)


class MassWeighted:
    """Products of M^(-1/2) H M^(-1/2) with vectors (N,) over the free components of all motions.

    `names`: the fields of H, by the position whose inertia and holds they have.
    """

    def __init__(self, stepper: Stepper, potential: Potential, names: Mapping[str, str]):
        self.potential, self.t = potential, stepper.time
        inertia = {n: stepper.inertia[x] for x, n in names.items()}
        positions = {n: x for x, n in names.items()}
        self._free = FreeComponents(potential.fields, inertia, stepper.holds, positions)
        self.size = self._free.size

    def product(self, y: np.ndarray) -> np.ndarray:
        """M^(-1/2) H M^(-1/2) y; the tangent is scaled to size 1, so that it does not over- or underflow."""
        w = y * self._free.inverse_root
        size = float(np.abs(w).max()) or 1.0
        tangents = self._free.by_field(w / size)
        found = {n: self.potential.product(tangents, n, self.t) for n in tangents}
        return self._free.vector(found) * self._free.inverse_root * size


def ritz_values(system: MassWeighted) -> np.ndarray | None:
    """The Ritz values, ascending, after `PRODUCTS` steps of Lanczos from a fixed vector; None if too slow."""
    start = np.random.Generator(np.random.Philox(key=0)).normal(size=system.size)
    if not system.size:
        return np.zeros(1)
    system.product(start)  # compiles
    diagonal, beside = lanczos(system.product, start, PRODUCTS, time.monotonic() + SECONDS)
    if len(diagonal) < min(FEWEST, system.size) and len(beside) == len(diagonal):
        return None
    beside = beside[: len(diagonal) - 1]
    return np.linalg.eigvalsh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))


def lanczos(
    product: Callable[[np.ndarray], np.ndarray], start: np.ndarray, most: int, until: float = np.inf
) -> tuple[list[float], list[float]]:
    """The tridiagonal matrix of a symmetric operator (Lanczos 1950): its diagonal, and the numbers beside it.

    At most so many products, none begun after the time `until` of the monotonic clock. There is one number
    less beside the diagonal if the vectors span an invariant space.
    """
    basis = [start / np.linalg.norm(start)]
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(most, len(start))):
        w = product(basis[-1])
        diagonal.append(float(w @ basis[-1]))
        size = float(np.linalg.norm(w))
        for _ in range(2):  # twice is enough (Parlett 1980)
            for q in basis:
                w = w - (q @ w) * q
        beta = float(np.linalg.norm(w))
        if not beta > 1e-7 * size:
            break
        beside.append(beta)
        basis.append(w / beta)
        if time.monotonic() > until:
            break
    return diagonal, beside
