"""The choice of projections: by the sizes of the groups of equations that share nodes, and by nothing else.

All classes have the methods `begin`, `positions`, `velocities` and `solve` of `Projections`; they differ in
the kernels that compute them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import Motion
from ...engine import runtime
from ...potential.constraints.constraints import Constraints
from ..holds import Holds
from .incidence import groups
from .kernel_projections import KernelProjections
from .projections import Projections

Kind = type[Projections]


def projections(
    constraints: Constraints, motions: Sequence[Motion], inertia: Mapping[str, Any], holds: Holds
) -> Projections:
    """The projections of these motions onto constraints."""
    equations = constraints.equations([m.position for m in motions])
    kind = chosen(np.bincount(groups(equations, holds))) if runtime.arch() == "cpu" else Projections
    return kind(constraints, motions, inertia, holds)


def chosen(sizes: np.ndarray) -> Kind:
    """The class for groups of so many equations each."""
    return KernelProjections
