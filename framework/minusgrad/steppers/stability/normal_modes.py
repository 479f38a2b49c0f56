"""Normal modes: the small vibrations of a system about its present state.

    W e = lambda e,    W = M^(-1/2) H M^(-1/2),  H = d2U/dx2,  M the inertia
    u = M^(-1/2) e     the displacement, with sum of m u^2 = 1
    omega = sqrt(lambda)  [rad/time];  lambda < 0: u grows as exp(sqrt(-lambda) t)

over the free components of all that moves; held components are left out. Friction is, too. At a place of rest
(dU/dx = 0) the motion is a sum of these; elsewhere they belong to the quadratic part of U. (Wilson, Decius &
Cross 1955, Molecular Vibrations.) Under constraints they are those of the motion along them
(`constrained_modes`), and the gradient is its part along them.

Decisions 0374.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...energies.fields import Motion
from ...errors import EnergyError
from ...potential.constraints.constraints import Constraints
from ...potential.potential import Potential
from ..holds import Holds
from ..timed.inertias import inertia
from .constrained_modes import TangentSpace
from .exact_hessian import exact_hessian
from .free_components import FreeComponents
from .lowest_eigenpairs import lowest_eigenpairs
from .rigid_motions import rigid_motions

ZERO = 1e-12
"""Eigenvalues below this part of the largest are zero: fewer digits are rounding of the Hessian."""
REST = 1e-6
"""At rest, the gradient adds less than this part of the largest eigenvalue to that of a rotation."""
RIGID = 0.99
"""The part of a mode's square that is rigid motion, where it counts as one."""


@dataclass(frozen=True)
class NormalModes:
    """The lowest normal modes, by their eigenvalues.

    `eigenvalues` (k,) [1/time^2], ascending; `shapes`: by field the displacements u (k, *shape); `total`: the
    number of unknowns. `zero` (k,): booleans, true where nothing restores. `gradient`: the largest |dU/dx| of
    a free component, by field; `at_rest`: whether it is negligible.
    """

    eigenvalues: np.ndarray
    shapes: dict[str, np.ndarray]
    total: int
    zero: np.ndarray
    gradient: dict[str, float]
    at_rest: bool

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @cached_property
    def unstable(self) -> np.ndarray:
        """Booleans (k,): true where a displacement grows."""
        return (self.eigenvalues < 0.0) & ~self.zero

    @cached_property
    def frequencies(self) -> np.ndarray:
        """omega / (2 pi) (k,) [1/time]; of an unstable mode -rate / (2 pi); 0 where nothing restores."""
        sizes = np.sqrt(np.abs(self.eigenvalues)) / (2.0 * np.pi)
        return np.where(self.zero, 0.0, np.where(self.unstable, -sizes, sizes))


def normal_modes(
    potential: Potential,
    motions: Sequence[Motion],
    holds: Holds,
    t: float = 0.0,
    count: int = 30,
    constraints: Constraints | None = None,
) -> NormalModes:
    """The `count` lowest normal modes of U at the present fields and time t, or all if there are fewer.

    Raises `EnergyError` where nothing moves freely, where U has no second derivatives, and for constraints
    that are dependent or are not met.
    """
    if not motions:
        raise EnergyError(
            "normal modes: no field moves by Newton's law; give a state with positions and masses"
        )
    if count < 1:
        raise EnergyError(f"normal modes: at least one is needed, got {count}; ask for more")
    arrays = {m.position: inertia(m, potential) for m in motions}
    free = FreeComponents(potential.fields, arrays, holds)
    if not free.size:
        raise EnergyError("normal modes: every component is held; leave some free")
    gradient = {n: potential.gradient(n, t).astype(np.float64) for n in arrays}
    matrix, force, total = _mass_weighted(potential, free, t), free.vector(gradient), free.size
    if constraints is None:
        values, vectors, largest = lowest_eigenpairs(matrix, min(count, total))
    else:
        kept = TangentSpace(constraints, free, force, t)
        force, total = kept.force, kept.size
        values, vectors, largest = kept.lowest_eigenpairs(matrix, min(count, total))
    rigid, moment = rigid_motions(potential.fields, motions, free)
    turned = float(np.linalg.norm(force * free.inverse_root)) / np.sqrt(moment) if moment else 0.0
    at_rest = turned <= REST * largest if moment else not force.any()
    part = np.sum((rigid.T @ vectors) ** 2, axis=0)
    allowed = np.where((part > RIGID) & at_rest, 4.0 * turned, 0.0)
    largest_forces = {n: float(np.abs(f).max()) for n, f in free.by_field(force).items()}
    shapes = [free.by_field(v * free.inverse_root) for v in signed(vectors).T]
    return NormalModes(
        values,
        {n: np.array([shape[n] for shape in shapes]) for n in arrays},
        total,
        np.abs(values) <= ZERO * largest + allowed,
        largest_forces,
        bool(at_rest),
    )


def _mass_weighted(potential: Potential, free: FreeComponents, t: float) -> Any:
    """W over the free components, sparse."""
    from scipy.sparse import diags_array

    hessian = exact_hessian(potential, list(free.shapes), t)[free.rows][:, free.rows]
    scale = diags_array(free.inverse_root)
    return (scale @ hessian @ scale).tocsc()


def signed(vectors: np.ndarray) -> np.ndarray:
    """The vectors (N, k) with the sign that makes the largest component positive, to bits that repeat."""
    at = np.argmax(np.round(np.abs(vectors) / np.abs(vectors).max(axis=0), 6), axis=0)
    return vectors * np.where(vectors[at, np.arange(vectors.shape[1])] < 0.0, -1.0, 1.0)
