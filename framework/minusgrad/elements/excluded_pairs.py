"""Pairs within a cutoff that do not interact, such as bonded atoms of a molecule, image by image.

Decisions 0020, 0272, 0288.
"""

from typing import Any

import numpy as np

from .periodic.linked_pairs import LinkedPairs, orient_pairs
from .periodic_box import PeriodicBox


class Excluded:
    """Pairs that do not interact: the smaller node first, (n, 2), and the image of the second, (n, d).

    A pair of one node is a node and its own image. `version`: how often the images were changed.
    """

    def __init__(self, pairs: np.ndarray, images: np.ndarray, links: LinkedPairs | None = None):
        self.links, self.version = links or LinkedPairs.of(pairs), 0
        self._take_pairs(pairs, images)
        self.key = self.pairs.tobytes(), self.images.tobytes(), self.links.steps.tobytes()
        """Equal keys are equal pairs when they were made, which stay equal."""

    @classmethod
    def of(cls, given: Any, x: np.ndarray, box: PeriodicBox | None) -> "Excluded":
        """The pairs with their images at positions x; each pair of nodes and images once."""
        x = np.asarray(x, np.float64)
        links = LinkedPairs.of(given)
        if box is None:
            links = links.different(x, None)
            return cls(*orient_pairs(links.pairs, np.zeros((len(links), x.shape[1]), np.int32)), links)
        links = links.placed(x, box).different(x, box)
        return cls(*orient_pairs(links.pairs, links.at(x, box)[:, 1]), links)

    def _take_pairs(self, pairs: np.ndarray, images: np.ndarray) -> None:
        order = np.lexsort((*images.T[::-1], *pairs.T[::-1]))
        self.pairs, self.images = pairs[order].astype(np.int64), images[order].astype(np.int32)
        self._most = int(np.abs(self.images).max(initial=0))

    def follow(self, x: np.ndarray, box: PeriodicBox) -> bool:
        """Take the images at other positions; True if one is another."""
        before = self.images
        self._take_pairs(*orient_pairs(self.links.pairs, self.links.at(np.asarray(x, np.float64), box)[:, 1]))
        changed = not np.array_equal(before, self.images)
        self.version += int(changed)
        return changed

    def twin(self) -> "Excluded":
        """The same pairs, whose images may change apart from these."""
        return Excluded(self.pairs, self.images, self.links)

    def hit(self, first: np.ndarray, second: np.ndarray, images: np.ndarray, count: int) -> np.ndarray:
        """Which of these pairs, first <= second, are excluded: (n,). `count`: of nodes."""
        pairs = np.stack([first, second], axis=1)
        if (own := np.flatnonzero(first == second)).size:
            images = images.copy()
            _, images[own] = orient_pairs(pairs[own], images[own])
        keys, wanted = self._pair_keys(self.pairs, self.images, count), self._pair_keys(pairs, images, count)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return (keys[at] == wanted) & (np.abs(images) <= self._most).all(axis=1)

    def _pair_keys(self, pairs: np.ndarray, images: np.ndarray, count: int) -> np.ndarray:
        """A number for each pair and its image, in the order of both; images that are too far have any."""
        keys, base = pairs[:, 0] * count + pairs[:, 1], 2 * self._most + 1
        for image in np.clip(images, -self._most, self._most).T:
            keys = keys * base + image + self._most
        return keys

    def by_node(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each of `count` nodes the others and their images: CSR, (count + 1), (2 n), (2 n, d)."""
        first, second = self.pairs.T
        node, other = np.concatenate([first, second]), np.concatenate([second, first])
        images = np.concatenate([self.images, -self.images])
        order = np.lexsort((other, node))
        begin = np.searchsorted(node[order], np.arange(count + 1))
        return begin, other[order], images[order]
