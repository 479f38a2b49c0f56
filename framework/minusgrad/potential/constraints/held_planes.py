"""Planes in which a constraint keeps nodes: what it says to terms whose data follow from the supports.

    n . (x - p) = 0        n (d,) a normal of size 1, p (d,) [m] a point of the plane, of each node

Decisions 0165.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...energies.constraint import Constraint
from ...engine import storage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...energies.fields import Hold
    from ...energies.term import Term

HELD = 1e-9
"""A normal whose part along free axes is smaller is that of a plane that holds nothing more."""


@dataclass(frozen=True, eq=False)
class HeldPlanes:
    """The planes of the nodes of one constraint: nodes (n,), normals (n, d) of size 1, places (n, d) [m].

    name: of the constraint. field: of the positions. moves: the planes are away from where nodes start.
    """

    name: str
    field: str
    nodes: np.ndarray
    normals: np.ndarray
    places: np.ndarray
    moves: bool

    def idle_nodes(self, holds: "Sequence[Hold]") -> np.ndarray:
        """The nodes (k,) whose free components the normals have no part of; they are held at rest."""
        free = np.ones((int(self.nodes.max()) + 1, self.normals.shape[1]), bool)
        for hold in holds:
            if hold.field != self.field or hold.displacement or hold.velocity or hold.rotation:
                continue
            own = np.asarray(hold.nodes)
            axes = np.arange(free.shape[1]) if hold.axes is None else np.array(hold.axes)
            free[np.ix_(own[own < len(free)], axes)] = False
        size = np.linalg.norm(np.where(free[self.nodes], self.normals, 0.0), axis=1)
        return self.nodes[(size < HELD) & (not self.moves)]


def held_planes(term: "Term") -> HeldPlanes | None:
    """The planes of a bound constraint; None of one that keeps nodes elsewhere."""
    if not isinstance(term.energy, Constraint) or term.energy.planes is None or term.elements.empty:
        return None
    nodes = np.asarray(term.elements.nodes)[:, 0]
    values = {a: storage.host(v).astype(np.float64) for a, v in term.data.items()}
    for argument, held in term.parameters.items():
        rows = held.rows.astype(np.float64)
        chosen = np.zeros(len(nodes), int) if held.index is None else held.index
        values[argument] = rows[chosen]
    normals, places, distance = term.energy.planes(values)
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return HeldPlanes(term.name, term.fields["x"].name, nodes, normals, places, bool(np.any(distance)))
