"""Planes at any angle in which constraints keep nodes of a surface under pressure.

    dx -> (I - A^+ A) dx,     A (m, d) the normals of a node's planes, and the axes along which it is held
    S = W / tr W,  W = I - projector on some of the normals;     c with n . (c - p) = 0 for all others

are the motions that supports admit, and the openings of a surface whose rim slides in such planes: a rim in
planes through c has no part in the volume of cones, and a rim in a plane across n none where S n = 0.

Decisions 0165.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from minusgrad.plugin import TermElements

SAME = 1e-6
"""Normals are of one direction where the sine of the angle between them is smaller."""
MOST = 8
"""The most directions of planes among which openings are looked for."""


@dataclass(frozen=True)
class SurfacePlanes:
    """Of the nodes with planes: all their normals and held axes, and which of these planes move.

    normals, by node: rows (m, d); offsets, by node: n . p of each; moving, by node: the number of the
    constraint that moves each, or -1. axes, by node: the rows that are axes, which are held.
    """

    normals: dict[int, np.ndarray]
    offsets: dict[int, np.ndarray]
    moving: dict[int, np.ndarray]
    free: np.ndarray

    @classmethod
    def of(cls, given: TermElements, free: np.ndarray) -> "SurfacePlanes":
        """free (n, d): the components that holds leave free."""
        x, rows = given.fields["x"], dict[int, list[tuple[np.ndarray, float, int]]]()
        for number, planes in enumerate(p for p in given.planes if p.field == given.names["x"]):
            for node, normal, place in zip(planes.nodes.tolist(), planes.normals, planes.places, strict=True):
                moved = number if planes.moves else -1
                rows.setdefault(node, []).append((normal, float(normal @ place), moved))
        for node in rows:
            for axis in np.flatnonzero(~free[node]):
                rows[node].append((np.eye(x.shape[1])[axis], float(x[node, axis]), -1))

        def column(k: int) -> dict[int, np.ndarray]:
            return {node: np.array([row[k] for row in own]) for node, own in rows.items()}

        return cls(column(0), column(1), column(2), free)

    def are_at(self, nodes: np.ndarray) -> bool:
        """True if one of these nodes has a plane."""
        return any(node in self.normals for node in nodes.tolist())

    def admitted(self, nodes: np.ndarray, motion: np.ndarray) -> np.ndarray:
        """The part (k, d) of motions that the supports of these nodes (k,) admit."""
        found = motion.copy()
        for row, node in enumerate(nodes.tolist()):
            if node in self.normals:
                held = self.normals[node]
                found[row] -= np.linalg.pinv(held, rcond=SAME) @ (held @ found[row])
        return found

    def led(self, nodes: np.ndarray, rng: np.random.Generator, size: float) -> np.ndarray:
        """A random motion (k, d) of the planes that move, along their normals."""
        found, far = np.zeros((len(nodes), self.free.shape[1])), size * rng.normal(size=64)
        for row, node in enumerate(nodes.tolist()):
            if node in self.normals and (moving := self.moving[node] >= 0).any():
                shift = np.where(moving, far[self.moving[node] % len(far)], 0.0)
                found[row] = np.linalg.pinv(self.normals[node], rcond=SAME) @ shift
        return found

    def openings(
        self, x: np.ndarray, rim: np.ndarray, centre: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Apexes (d,) and shares (d, d) to try: cones first, then prisms beside some of the normals."""
        d = x.shape[1]
        normals, offsets = self._of_rim(x, rim)
        directions = _distinct(normals)[:MOST]
        for count in range(d):
            for chosen in combinations(range(len(directions)), count):
                across = directions[list(chosen)]
                w = np.eye(d) - (np.linalg.pinv(across, rcond=SAME) @ across if count else 0.0)
                if (trace := float(np.trace(w))) < 0.5:
                    continue
                met = np.linalg.norm(normals @ w, axis=1) > SAME
                apex = centre.copy()
                if met.any():
                    off = offsets[met] - normals[met] @ centre
                    apex += np.linalg.lstsq(normals[met], off, rcond=SAME)[0]
                yield apex, w / trace

    def _of_rim(self, x: np.ndarray, rim: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The planes in which nodes of a rim slide: normals (m, d), n . p (m,); with held axes."""
        d = x.shape[1]
        normals, offsets = [np.zeros((0, d))], [np.zeros(0)]
        for node in rim.tolist():
            own = self.normals.get(node)
            if own is None:
                held = np.flatnonzero(~self.free[node])
                own, at = np.eye(d)[held], x[node, held]
            else:
                at = self.offsets[node]
            if len(own) and np.linalg.matrix_rank(own, tol=SAME) < d:
                normals.append(own)
                offsets.append(at)
        return np.concatenate(normals), np.concatenate(offsets)


def _distinct(normals: np.ndarray) -> np.ndarray:
    """The different directions among normals (m, d), up to their signs."""
    found: list[np.ndarray] = []
    for n in normals:
        if all(np.linalg.norm(n - (n @ one) * one) > SAME for one in found):
            found.append(n)
    return np.array(found).reshape(-1, normals.shape[1])
