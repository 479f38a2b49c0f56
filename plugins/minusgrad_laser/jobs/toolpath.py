"""A toolpath: moves from point to point, each with the power and the speed that a job file programs.

Move i goes straight from point i - 1 to point i, at the programmed speed `speed[i]`. If `lit[i]`, the laser
is on with `power[i]`, the power at the programmed speed; else the move is a travel. The first point is where
the job begins; its power, speed and lit are not used. An event (i, text) is a line of the job file, such as
M8 or a comment, before the move to point i; one for i = n is behind all moves.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Toolpath:
    """x, y (n,) [m]; power (n,) [W], speed (n,) [m/s], lit (n,) [bool] of the move that ends at each point.

    The axes are those of the canvas: y points up, and (0, 0) is the centre of its first cell.
    """

    x: np.ndarray
    y: np.ndarray
    power: np.ndarray
    speed: np.ndarray
    lit: np.ndarray
    events: tuple[tuple[int, str], ...] = ()

    def __len__(self) -> int:
        return len(self.x)

    @property
    def lengths(self) -> np.ndarray:
        """Of the moves (n - 1,) [m]."""
        return np.hypot(np.diff(self.x), np.diff(self.y))
