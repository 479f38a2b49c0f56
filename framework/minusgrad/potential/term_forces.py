"""The forces of single terms: how large forces are that balance each other in an equilibrium.

Decisions 0363.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest
from ..engine import storage
from .requests.term_request import targets_of

if TYPE_CHECKING:
    from .potential import Potential


def largest_forces(potential: "Potential", wrt: Sequence[str], t: float) -> dict[str, float]:
    """The largest component of dU/d(field) that one term, or map, contributes at one node, by field."""
    if potential.maps:
        potential.sweep(DerivativeRequest(), t)  # the adjoints of map outputs
    else:
        potential.refresh(t)
    found = dict.fromkeys(wrt, 0.0)
    for name, part in (potential.terms | potential.maps).items():
        kernels = potential.chain.staged.get(name) or potential.kernels[name]
        for field in wrt:
            out: Any = storage.allocate(np.zeros_like(potential.fields[field].values))
            if targets := targets_of(part, {field: out}):
                kernels.gradient_into(targets, t)
                found[field] = max(found[field], float(np.abs(storage.host(out)).max()))
    return found
