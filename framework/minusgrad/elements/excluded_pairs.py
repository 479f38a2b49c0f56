"""Pairs within a cutoff that do not interact, such as bonded atoms of a molecule, and their images."""

from dataclasses import dataclass

import numpy as np

from .periodic_box import PeriodicBox


@dataclass(frozen=True)
class Excluded:
    """Pairs that do not interact: the smaller node first, (n, 2), and the image of the second, (n, d)."""

    pairs: np.ndarray
    images: np.ndarray

    @classmethod
    def of(cls, pairs: np.ndarray, x: np.ndarray, box: PeriodicBox | None) -> "Excluded":
        """The pairs with the images that are nearest at positions x; each pair once."""
        ordered = np.unique(np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1), axis=0)
        apart = np.asarray(x, np.float64)[ordered[:, 1]] - np.asarray(x, np.float64)[ordered[:, 0]]
        images = box.nearest(apart) if box else np.zeros(apart.shape, np.int32)
        return cls(ordered, images)

    def hit(self, first: np.ndarray, second: np.ndarray, images: np.ndarray, count: int) -> np.ndarray:
        """Which of these pairs, first < second, are excluded: (n,). `count`: of nodes."""
        keys = self.pairs[:, 0] * count + self.pairs[:, 1]
        wanted = first * count + second
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return (keys[at] == wanted) & (self.images[at] == images).all(axis=1)

    def by_node(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each of `count` nodes the others and their images: CSR, (count + 1), (2 n), (2 n, d)."""
        first, second = self.pairs.T
        node, other = np.concatenate([first, second]), np.concatenate([second, first])
        images = np.concatenate([self.images, -self.images])
        order = np.lexsort((other, node))
        begin = np.searchsorted(node[order], np.arange(count + 1))
        return begin, other[order], images[order]
