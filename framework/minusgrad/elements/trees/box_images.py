"""The images of a tree in a periodic box: copies of all its cells, displaced by whole numbers of boxes.

    x_i - x_j - n . box,   n = 0, then one of each n and -n, then the others in the same order

A pair of nodes at n is the one at -n from its other node. Positions are wrapped into the box first, so that
two nodes are less than a box apart, and the images within a reach are known.

Decisions 0309.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from ..periodic_box import PeriodicBox

MOST = 3
"""The most boxes that an image may be away, along each axis."""


@dataclass(frozen=True)
class BoxImages:
    """Whole numbers (K, d): no image, `half` of them, and the opposites of these."""

    vectors: np.ndarray

    @classmethod
    def none(cls, d: int) -> "BoxImages":
        """Space without a box."""
        return cls(np.zeros((1, d), np.int32))

    @classmethod
    def within_reach(cls, box: PeriodicBox, reach: float) -> "BoxImages":
        """Those of a box whose nodes may be within reach of a node; `boxes_within` is at most `MOST`."""
        most = boxes_within(box, reach)
        every = [*product(*(range(-m, m + 1) for m in most))]
        ahead = [n for n in every if n > (0,) * len(most)]
        vectors = [(0,) * len(most), *ahead, *(tuple(-c for c in n) for n in ahead)]
        return cls(np.array(vectors, np.int32))

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def half(self) -> int:
        """How many have an opposite behind them."""
        return len(self.vectors) // 2


def boxes_within(box: PeriodicBox, reach: float) -> list[int]:
    """How many boxes away images within reach can be, by axis."""
    away = [int(min(reach / height, 1e6)) + 1 for height in box.heights]
    return [m if periodic else 0 for m, periodic in zip(away, box.periodic, strict=True)]
