"""The Hessian of a minimiser's objective in scaled variables, as a system for linear solvers.

Decisions 0361.
"""

from collections.abc import Sequence

import numpy as np

from ...solvers.sparse_system import SparseSystem, scale_symmetrically
from .objective import Curved
from .soft_motions import SoftMotion
from .unknowns import ScaledVariables


def scaled_hessian(
    objective: Curved,
    variables: ScaledVariables,
    motions: Sequence[SoftMotion],
    t: float,
    project: str | None = None,
) -> SparseSystem:
    """d2U/dz2 at the present fields, with the rigid `motions` as its modes; `project`: "clamp" or "abs"."""
    node, component = variables.nodes
    whole = objective.hessian([field.name for field in variables.fields], t, project)
    free = variables.selection.of(whole.tocsr())
    modes = [variables.components(motion.by_field(variables.fields)) / variables.scale for motion in motions]
    return SparseSystem(scale_symmetrically(free, variables.scale), node, component, np.stack(modes, axis=1))


def images(variables: ScaledVariables, motions: Sequence[SoftMotion], slope: np.ndarray) -> np.ndarray:
    """d2U/dz2 times each motion (N, k), where nothing resists it; `slope` (N,): dU/dz."""
    slopes = variables.spread(slope / variables.scale)
    turned = [variables.components(motion.image(slopes)) for motion in motions]
    return np.stack(turned, axis=1) * variables.scale[:, None]
