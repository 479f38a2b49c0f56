"""Search for pairs that a list of neighbours lacks, among the nodes that have moved furthest.

A pair that is not listed was beyond the reach r_l of the list. It is now within the cutoff r_c only if

    displacement of one + displacement of the other > slack,    slack = r_l - r_c

so that both have moved further than the slack less the largest displacement: few nodes, as long as the
largest displacement is little above half the slack. Of these, the pairs within the cutoff are found, and
their distances in the reference decide.

Decisions 0285.
"""

from dataclasses import dataclass

import numpy as np

from .periodic_box import PeriodicBox

ROUNDING = 1e-9
"""More than the relative rounding of distances: a pair this close to the reach counts as not listed."""
MOST = 1 / 32
"""Part of the nodes that is searched: for more of them new lists are cheaper."""


@dataclass(frozen=True)
class Moved:
    """Nodes that moved from the positions `before` to x, both (n, d), by the distances `far`, (n,).

    box: the present one. In a box that changed, positions before are multiplied by `deformation`.
    """

    x: np.ndarray
    before: np.ndarray
    far: np.ndarray
    deformation: np.ndarray
    box: PeriodicBox | None

    def enter(self, cutoff: float, reach: float) -> bool:
        """True if a pair that was beyond reach may be within the cutoff."""
        reach *= 1.0 - ROUNDING
        slack, largest = reach - cutoff, float(self.far.max())
        if 2.0 * largest <= slack:
            return False
        fast = np.flatnonzero(self.far > slack - largest)
        if len(fast) > max(MOST * len(self.far), 2) or slack <= 0.0:
            return True
        first, second, shift = self._pairs_within(fast, cutoff)
        apart = (self.before[first].astype(np.float64) - self.before[second]) @ self.deformation - shift
        beyond = np.einsum("ij,ij->i", apart, apart) > reach * reach
        return bool((beyond & (self.far[first] + self.far[second] > slack)).any())

    def _pairs_within(self, nodes: np.ndarray, cutoff: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of these nodes within the cutoff, and how far the second of each is displaced, (m, d)."""
        from scipy.spatial import cKDTree

        x = self.x[nodes].astype(np.float64)
        row, shift = np.arange(len(nodes)), np.zeros_like(x)
        if self.box is not None:
            wrap = -self.box.wraps(x) @ self.box.vectors
            copy, images = self.box.images_within(x + wrap, cutoff)
            row = np.concatenate([row, copy])
            shift = np.concatenate([wrap, wrap[copy] + images @ self.box.vectors])
        near = cKDTree(x[row] + shift).query_pairs(cutoff * (1.0 + ROUNDING), output_type="ndarray")
        a, b = near.T
        return nodes[row[a]], nodes[row[b]], shift[b] - shift[a]
