"""Modes of a mesh: the elements of Ewald's sum over wave vectors, with their mode numbers and weights.

Decisions 0323.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .mesh import modes_shape
from .splines import damping


@dataclass(frozen=True)
class Modes:
    """Elements over the modes of a real transform of a mesh, all but m = 0.

    rows (E, 1): the mode that each reads. mode (E, 3): its numbers m. weight (E,): |b_1 b_2 b_3|^2, doubled
    where it stands for -m, too.
    """

    rows: np.ndarray
    mode: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, mesh: tuple[int, ...], below: tuple[int, ...] | None = None) -> "Modes":
        """The elements of a mesh with so many cells along each axis; `below`: those with |m| below it alone.

        Of an axis with an even number of cells K the mode K / 2 counts as -K / 2, as in OpenMM, and so in
        -m; in a box that is not rectangular both have a wave vector of their own, so they are two elements.
        """
        half = modes_shape(mesh)
        rows = np.arange(1, prod(half))
        at = np.stack(np.unravel_index(rows, half), axis=-1)
        size = np.array(mesh)
        mode = np.where(2 * at < size, at, at - size)
        weight = np.prod([damping(cells)[at[:, a]] for a, cells in enumerate(mesh)], axis=0)
        halfway = 2 * at == size
        paired = (at[:, 2] > 0) & ~halfway[:, 2]
        split = paired & halfway.any(axis=1)
        other = np.where(halfway, mode, -mode)[split]
        weight = np.where(paired & ~split, 2.0, 1.0) * weight
        made = cls(
            np.concatenate([rows, rows[split]])[:, None],
            np.concatenate([mode, other]),
            np.concatenate([weight, weight[split]]),
        )
        return made if below is None else made.of_rows((np.abs(made.mode) < below).all(axis=1))

    def of_rows(self, chosen: np.ndarray) -> "Modes":
        """Those that a mask (E,) chooses."""
        return Modes(self.rows[chosen], self.mode[chosen], self.weight[chosen])

    @property
    def options(self) -> dict[str, Any]:
        """The elements as `bind` takes them."""
        return {"tuples": self.rows, "data": {"mode": self.mode, "weight": self.weight}}
