"""A stroke: a piece of a path that is followed without a travel to another place."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Stroke:
    """Points (k, 2) with k >= 2; lit (k - 1,) of the moves between them, 0 in gaps and in an overscan."""

    points: np.ndarray
    lit: np.ndarray

    @classmethod
    def gapless_stroke(cls, points: np.ndarray) -> "Stroke":
        """A stroke without gaps."""
        return cls(points, np.ones(len(points) - 1))

    @property
    def reversed(self) -> "Stroke":
        return Stroke(self.points[::-1], self.lit[::-1])

    @property
    def is_closed(self) -> bool:
        """It ends where it begins, and may be entered at any of its points."""
        return len(self.points) > 3 and bool((self.points[0] == self.points[-1]).all())

    def entered_at(self, at: int) -> "Stroke":
        """A closed stroke that begins and ends at point `at`."""
        ring, lit = self.points[:-1], np.roll(self.lit, -at)
        ring = np.roll(ring, -at, axis=0)
        return Stroke(np.concatenate([ring, ring[:1]]), lit)


def resample_line(line: np.ndarray, spacing: float) -> np.ndarray:
    """Points (m, 2) at equal distances of at most `spacing` along a polyline (k, 2); both ends are kept."""
    along = np.append(0.0, np.cumsum(np.hypot(*np.diff(line, axis=0).T)))
    least = 3 if (line[0] == line[-1]).all() else 1
    steps = max(least, int(np.ceil(along[-1] / spacing - 1e-9)))
    at = np.linspace(0.0, along[-1], steps + 1)
    points = np.stack([np.interp(at, along, line[:, axis]) for axis in (0, 1)], axis=1)
    points[0], points[-1] = line[0], line[-1]
    return points
