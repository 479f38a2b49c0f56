"""Frames of rigid sides: nodes far apart that all others follow, and the numbers with which they do.

    X = P + a U + b V + c U x V         of every point X of the side; in the plane X = P + a U + b (-U_y, U_x)

Decisions 0166.
"""

from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError

FLAT = 1e-6
"""Nodes are on one line where they are as near to it, in parts of their extent."""


@dataclass(frozen=True)
class RigidFrame:
    """The frame of a side: nodes (3,), in the plane (2,), and their places at rest x (3, d) or (2, d)."""

    nodes: np.ndarray
    x: np.ndarray

    @classmethod
    def of(cls, label: str, nodes: np.ndarray, places: np.ndarray) -> "RigidFrame":
        """A frame among nodes (n,) at places (n, d). Raises `UserError` for too few, or nodes on one line."""
        d = places.shape[1]
        first = int(np.argmax(np.linalg.norm(places - places.mean(axis=0), axis=1)))
        far = places - places[first]
        second = int(np.argmax(np.linalg.norm(far, axis=1)))
        if not (size := float(np.linalg.norm(far[second]))) > 0.0:
            raise UserError(f"{label}: needs two nodes at least at different places, got {len(nodes)}")
        chosen = [first, second]
        if d == 3:
            along = far[second] / size
            off = np.linalg.norm(far - np.outer(far @ along, along), axis=1)
            chosen.append(int(np.argmax(off)))
            if off[chosen[2]] <= FLAT * size:
                raise UserError(
                    f"{label}: needs three nodes that are not on one line, got a line; name a side"
                )
        return cls(nodes[chosen], places[chosen])

    @property
    def columns(self) -> np.ndarray:
        """U, V and W as columns (d, d)."""
        u = self.x[1] - self.x[0]
        if len(u) == 2:
            return np.stack([u, [-u[1], u[0]]], axis=1)
        v = self.x[2] - self.x[0]
        return np.stack([u, v, np.cross(u, v)], axis=1)

    @property
    def dual(self) -> np.ndarray:
        """The inverse of `columns`, (d, d)."""
        return np.linalg.inv(self.columns)

    def weights(self, places: np.ndarray) -> np.ndarray:
        """a, b, c (n, 3) of points (n, d); in the plane c = 0."""
        found = (places - self.x[0]) @ self.dual.T
        return np.concatenate([found, np.zeros((len(found), 3 - found.shape[1]))], axis=1)

    @property
    def rods(self) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of nodes of the frame (R, 2), and their distances (R,)."""
        pairs = np.array([[0, 1]] if len(self.nodes) == 2 else [[0, 1], [0, 2], [1, 2]])
        return self.nodes[pairs], np.linalg.norm(self.x[pairs[:, 0]] - self.x[pairs[:, 1]], axis=1)
