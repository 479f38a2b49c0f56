"""The geometry of a periodic box: distances between its faces, wrapped positions, images within reach.

    vectors (d, d)      its rows are the edge vectors a, b, c; a position is x = s . vectors
    image (d,)          whole numbers: the copy of a point that is displaced by image . vectors

Along an axis that is not periodic there are no images, and positions are not wrapped.

Decisions 0238, 0282.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product

import numpy as np

from ..errors import EnergyError

LEAST_VOLUME = 1e-6
"""The least volume of a box relative to that of the cuboid with the same edges."""

FAR = float(np.iinfo(np.int32).max)
"""Boxes from which on a position has diverged, and is not wrapped."""


@dataclass(frozen=True)
class PeriodicBox:
    """A box with these edge vectors, (d, d), in f64; `periodic` by axis."""

    vectors: np.ndarray
    periodic: tuple[bool, ...]

    @classmethod
    def of(cls, vectors: np.ndarray, periodic: tuple[bool, ...]) -> "PeriodicBox":
        """A checked box. Raises `EnergyError` for edges that are not finite, or that span no volume."""
        h = np.asarray(vectors, np.float64).reshape(len(periodic), len(periodic))
        edges = np.linalg.norm(h, axis=1)
        flat = np.isfinite(h).all() and abs(np.linalg.det(h)) > LEAST_VOLUME * edges.prod()
        if not flat:
            raise EnergyError(
                f"box: needs edge vectors that span a volume, got {h.tolist()}; correct the edges"
            )
        return cls(h, periodic)

    @property
    def volume(self) -> float:
        """The volume, or in a plane the area."""
        return float(abs(np.linalg.det(self.vectors)))

    @property
    def heights(self) -> np.ndarray:
        """The distances between opposite faces, (d,)."""
        return 1.0 / np.linalg.norm(np.linalg.inv(self.vectors), axis=0)

    @property
    def least_height(self) -> float:
        """The smallest distance between opposite faces along periodic axes; infinity without such an axis."""
        return float(min((h for h, p in zip(self.heights, self.periodic, strict=True) if p), default=np.inf))

    def fractions(self, x: np.ndarray) -> np.ndarray:
        """The coordinates s of positions x (n, d), in units of the edge vectors."""
        return np.asarray(x, np.float64) @ np.linalg.inv(self.vectors)

    def wraps(self, x: np.ndarray) -> np.ndarray:
        """How many boxes away from the box each position is, whole numbers (n, d)."""
        whole = np.where(self.periodic, np.floor(self.fractions(x)), 0.0)
        return np.where(np.abs(whole) < FAR, whole, 0.0).astype(np.int32)

    def wrap_positions(self, x: np.ndarray) -> np.ndarray:
        """The positions moved into the box, (n, d)."""
        return np.asarray(x, np.float64) - self.wraps(x) @ self.vectors

    def nearest(self, difference: np.ndarray) -> np.ndarray:
        """The images by which differences of positions, (..., d), become shortest: whole numbers.

        The images around the rounded one are tried, too, in the least skewed box of the same images.
        """
        found = np.zeros(np.shape(difference), np.int32)
        if (far := ~self._surely_nearest(difference, 0.5)).any():
            tried, lengths = self._nearest_candidates(np.asarray(difference, np.float64)[far])
            best = np.argmin(np.round(lengths / max(self.heights.max(), 1e-300), 12), axis=-1)
            found[far] = np.take_along_axis(tried, best[:, None, None], axis=1)[:, 0] @ self._reduced_vectors
        return found

    def ambiguous(self, difference: np.ndarray, times: float) -> np.ndarray:
        """Which differences, (..., d), have a second image less than so many times as long as the nearest."""
        found = np.zeros(np.shape(difference)[:-1], bool)
        if (far := ~self._surely_nearest(difference, 1.0 / (1.0 + times))).any():
            _, lengths = self._nearest_candidates(np.asarray(difference, np.float64)[far])
            first, second = np.partition(lengths, 1, axis=1)[:, :2].T
            found[far] = second < times * first
        return found

    def _surely_nearest(self, difference: np.ndarray, share: float) -> np.ndarray:
        """Which differences are shorter than a share of the least height: no image is shorter than that."""
        limit = share * PeriodicBox(self._reduced_vectors @ self.vectors, self.periodic).least_height
        return np.asarray(np.linalg.norm(np.asarray(difference, np.float64), axis=-1) < limit)

    def _nearest_candidates(self, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Images of differences (n, d) that may be nearest, in the reduced box, and their lengths."""
        vectors = self._reduced_vectors @ self.vectors
        s = difference @ np.linalg.inv(vectors)
        first = np.where(self.periodic, -np.rint(s), 0.0)
        around = np.array([*product(*((-1, 0, 1) if p else (0,) for p in self.periodic))])
        around = around[np.argsort(np.abs(around).sum(axis=1), kind="stable")]
        tried = first[:, None, :] + around
        return tried, np.linalg.norm((s[:, None, :] + tried) @ vectors, axis=-1)

    @cached_property
    def _reduced_vectors(self) -> np.ndarray:
        """Whole numbers (d, d): edge vectors with the same images, as short as pairs can make them."""
        turned, axes = np.eye(len(self.periodic)), np.flatnonzero(self.periodic)
        shorter = True
        while shorter:
            shorter = False
            for i, j in permutations(axes, 2):
                one, other = turned[[i, j]] @ self.vectors
                times = np.rint((one @ other) / (other @ other))
                if times and np.linalg.norm(one - times * other) < (1.0 - 1e-9) * np.linalg.norm(one):
                    turned[i] -= times * turned[j]
                    shorter = True
        return turned

    def images_within(self, x: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
        """The images of wrapped positions x (n, d) that are within `reach` of the box: nodes, images (m, d).

        Those in the box itself, image 0, are not among them.
        """
        s, widths = self.fractions(x), reach / self.heights
        nodes, images = np.arange(len(s)), np.zeros((len(s), len(widths)), np.int32)
        for axis, width in enumerate(widths):
            if self.periodic[axis]:
                most = int(np.ceil(width))
                shifts = np.arange(-most, most + 1, dtype=np.int32)
                moved = s[nodes, axis, None] + shifts
                kept, shift = np.nonzero((moved >= -width) & (moved <= 1.0 + width))
                nodes, images = nodes[kept], images[kept]
                images[:, axis] = shifts[shift]
        order = np.lexsort((nodes, *images.T[::-1]))
        others = order[images[order].any(axis=1)]
        return nodes[others], images[others]
