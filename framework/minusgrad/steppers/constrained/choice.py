"""The choice of projections: by sizes and kinds of the groups of equations that share nodes, and no more.

All classes have the methods `begin`, `positions`, `velocities` and `solve` of `Projections`; they differ in
the kernels that compute them.

Decisions 0378.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import Motion
from ...engine import runtime
from ...potential.constraints.constraints import Constraints
from ..holds import Holds
from .group_kinds import group_kinds
from .group_projections import LARGEST, GroupProjections, fits
from .incidence import groups
from .kernel_projections import KernelProjections
from .projections import Projections

MANY = 16
"""From how many groups on each is a system of its own."""


def projections(
    constraints: Constraints, motions: Sequence[Motion], inertia: Mapping[str, Any], holds: Holds
) -> Projections:
    """The projections of these motions onto constraints."""
    equations = constraints.equations([m.position for m in motions])
    labels, given = groups(equations, holds), (constraints, motions, inertia, holds)
    sizes = np.bincount(labels)
    if len(sizes) >= MANY and sizes.max() <= LARGEST:
        kinds = group_kinds(equations, labels)
        if fits(kinds, equations):
            return GroupProjections(*given, kinds)
    if runtime.arch() == "cpu" and (whole := KernelProjections(*given)).fits:
        return whole
    return Projections(*given)
