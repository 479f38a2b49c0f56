"""The reference of neighbour lists: the positions, and the box, for which they were built.

A pair that is not listed was further apart than the reach of its list, the cutoff and the skin. It cannot be
within the cutoff as long as

    least stretch * reach - 2 * largest displacement >= cutoff

where the displacement is that from the reference position, moved with the box, and the least stretch is the
smallest singular value of the deformation of the box. The reference is saved with a run, because the order of
sums follows from it: a resumed run has the lists of one that was not interrupted.
"""

from typing import Any

import numpy as np

from ..engine import storage
from .periodic_box import PeriodicBox

POSITIONS, BOX = "x", "box"
"""The fields with the positions of nodes, which periodic images displace, and with the box."""


class ListReference:
    """Positions (n, d) and box (1, d, d), or None, for which the lists of neighbours of fields are built.

    `margins`: cutoff and reach of each list; `lists`: those that terms share, by what they list.
    """

    def __init__(self, positions: np.ndarray, box: np.ndarray | None):
        self.positions = storage.ArraySlot(storage.allocate(positions))
        self.box = None if box is None else storage.ArraySlot(storage.allocate(box))
        self.margins: set[tuple[float, float]] = set()
        self.lists: dict[Any, Any] = {}

    def twin(self) -> "ListReference":
        """The same positions and box in memory of their own, without lists."""
        box = None if self.box is None else storage.host(self.box)
        return ListReference(storage.host(self.positions), box)

    @property
    def version(self) -> int:
        """How often the reference was overwritten; it only grows."""
        return self.positions.writes + (self.box.writes if self.box is not None else 0)

    def follow(self, x: Any, box: Any) -> bool:
        """Move the reference to these positions and this box, unless all lists still have every pair.

        False if the positions or the box are not finite, so that no list can be built.
        """
        served = self._serves(x, box)
        if served is None:
            return False
        if not served:
            self.move(x, box)
        return True

    def move(self, x: Any, box: Any) -> None:
        """Overwrite the reference: all lists are rebuilt before they are used again."""
        storage.store(self.positions, x)
        if self.box is not None:
            storage.store(self.box, box)

    def _serves(self, x: np.ndarray, box: np.ndarray | None) -> bool | None:
        """True if no unlisted pair can be within its cutoff; None where numbers are not finite."""
        before, least = storage.host(self.positions), 1.0
        if self.box is not None and box is not None:
            old = storage.host(self.box)
            if not np.array_equal(old, box):
                if not np.isfinite(box).all():
                    return None
                deformation = np.linalg.solve(old[0].astype(np.float64), box[0].astype(np.float64))
                least = float(np.linalg.svd(deformation, compute_uv=False).min())
                before = before @ deformation
        moved = np.subtract(x, before, dtype=np.float64)
        far = float(np.sqrt(np.einsum("ij,ij->i", moved, moved).max()))
        if not np.isfinite(far):
            return None
        return all(least * reach - 2.0 * far >= cutoff for cutoff, reach in self.margins)

    def geometry(self, periodic: tuple[bool, ...]) -> PeriodicBox | None:
        """The box of the reference; None without one."""
        return None if self.box is None else PeriodicBox.of(storage.host(self.box)[0], periodic)
