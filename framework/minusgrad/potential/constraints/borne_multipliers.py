"""Multipliers of planes as supports bear them, where a load has its potential by these planes.

    G^T d = -b        at the free components of each node with planes, in least squares

b = (forces that supports bear) - dU/dx is along the normals there (`borne_forces`), so that lambda + d are
the forces with which nodes press on their planes.

Decisions 0165.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ...energies.constraint import Constraint
from .constraints import Constraints


def borne_change(
    constraints: Constraints,
    beyond: Mapping[str, np.ndarray | None],
    free: Callable[[str], np.ndarray],
    t: float,
) -> np.ndarray:
    """d (E,) of the present fields; beyond: b by field. free: gives the mask of free components of a field.

    Zero of constraints that keep nodes elsewhere than in planes.
    """
    found, first = [], 0
    rows: dict[tuple[str, int], list[tuple[int, np.ndarray]]] = {}
    for name, term in constraints.terms.items():
        count = len(term.elements.nodes)
        assert isinstance(term.energy, Constraint)
        field = term.fields["x"].name if term.energy.planes is not None else ""
        if (b := beyond.get(field)) is not None:
            part = constraints.equations([field]).parts[name]
            part.load(t)
            for k, (node, row) in enumerate(
                zip(term.elements.nodes[:, 0].tolist(), part.rows(), strict=True)
            ):
                if b[node].any():
                    rows.setdefault((field, node), []).append((first + k, row))
        found.append(np.zeros(count))
        first += count
    change = np.concatenate(found)
    for (field, node), own in rows.items():
        b, mask = beyond[field], free(field)[node]
        assert b is not None
        normals = np.array([row for _, row in own])[:, mask]
        change[[k for k, _ in own]] = np.linalg.lstsq(normals.T, -b[node][mask], rcond=None)[0]
    return change
