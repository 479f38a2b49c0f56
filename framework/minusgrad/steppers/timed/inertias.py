"""Inertias of motions: the numbers by which forces are divided, judged at the start and after every write.

Decisions 0041.
"""

from typing import Any

import numpy as np

from ...energies.fields import Motion
from ...engine import storage
from ...errors import EnergyError
from ...potential.potential import Potential


def inertia(motion: Motion, potential: Potential) -> Any:
    """The array of inertias: one for each node, or a single one.

    Raises `EnergyError` for zero inertia, and for a velocity or inertia that does not fit the position.
    """
    x, v = (potential.fields[name] for name in (motion.position, motion.velocity))
    if v.shape != x.shape:
        raise EnergyError(f"'{x.name}' has shape {list(x.shape)}, its velocity '{v.name}' {list(v.shape)}")
    if not isinstance(motion.inertia, str):
        values = np.array([motion.inertia], x.dtype)
        refuse_massless(f"'{x.name}'", values)
        return storage.allocate(values)
    inertia = potential.fields[motion.inertia]
    if inertia.shape != (len(x),):
        raise EnergyError(
            f"inertia '{inertia.name}' has shape {list(inertia.shape)}; '{x.name}' needs [{len(x)}]"
        )
    refuse_massless(f"'{x.name}'", inertia.values)
    return inertia.array


def refuse_massless(what: str, inertia: np.ndarray) -> None:
    """Raise `EnergyError` for an inertia that is not above 0 and finite, with its node.

    Numbers below the smallest normal one are zero to an engine.
    """
    least = np.finfo(inertia.dtype).smallest_normal
    if (bad := np.flatnonzero(~((inertia >= least) & np.isfinite(inertia)))).size:
        raise EnergyError(
            f"{what} moves with inertia {inertia[bad[0]]:g} at node {bad[0]}: it has no acceleration that"
            " an energy could give; give it a positive one, such as 1e-20 of the largest for a body that"
            " moves no other, and hold nodes that should stay ([[hold]])"
        )
