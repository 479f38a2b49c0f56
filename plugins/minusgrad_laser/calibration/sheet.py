"""The sheet of a grid: test lines and squares, corner marks and a code, as they shall be burnt.

    mark 3 o   lines along x         lines along y   o mark 2
               both diagonals        squares
    mark 0 o   code                                  o mark 1

A mark is a disc in a ring about one centre; the code is a row of pairs of cells, of each of which one is
burnt, that says which sheet it is and which side is up.

All lengths are in metres, in coordinates of the job file; powers in watts, speeds in m/s.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np

BITS = 16
"""Of the code."""
STEP, FILED = 1e-7, 1e-6
"""Of places [m]: of a tiny sheet, and of job files."""
RADII = 5.0, 10.0, 16.0
"""Of a mark, in modules: of its disc, and of its ring within and without."""


@dataclass(frozen=True)
class Line:
    """A line from `start` to `end` at the power `power` and the speed `speed`."""

    start: tuple[float, float]
    end: tuple[float, float]
    power: float
    speed: float

    @property
    def length(self) -> float:
        return float(np.hypot(self.end[0] - self.start[0], self.end[1] - self.start[1]))

    @property
    def direction(self) -> tuple[float, float]:
        """The unit vector from start to end."""
        size = self.length
        return (self.end[0] - self.start[0]) / size, (self.end[1] - self.start[1]) / size


@dataclass(frozen=True)
class Square:
    """An area filled by lines along x that are `pitch` apart; `corner` is its lower left one."""

    corner: tuple[float, float]
    side: float
    pitch: float
    power: float
    speed: float

    @property
    def fluence(self) -> float:
        """Energy on an area [J/m^2]."""
        return self.power / (self.pitch * self.speed)


@dataclass(frozen=True)
class Sheet:
    """All that a grid has, for a machine; `module` is the length that its design is made of, about a spot.

    marks (4, 2): counter-clockwise, the first at the lower left. ink: the square whose pitch, power and speed
    marks and code have. code: where its cells begin. reference [W/m^2]: intensity at which thresholds are
    stated as fluences.
    """

    machine: str
    module: float
    reference: float
    marks: tuple[tuple[float, float], ...]
    code: tuple[float, float]
    ink: Square
    lines: tuple[Line, ...]
    squares: tuple[Square, ...]
    focus: float = 0.0
    """Height of the head [m], of a machine whose Z moves the focus."""

    @property
    def number(self) -> int:
        """What the code says: a sum over all lines and squares, wherever the sheet lies."""
        text = repr([
            *((*self._steps(one.start, one.end), *_setting(one)) for one in self.lines),
            *((*self._steps(one.corner), *_setting(one)) for one in self.squares),
            *self._steps(*self.marks),
            round(self.focus / STEP),
        ])  # fmt: skip
        return crc32(text.encode()) % (1 << BITS)

    @property
    def cell(self) -> float:
        """Side of a cell of the code [m]."""
        return 6.0 * self.module

    def code_cells(self) -> Iterator[tuple[tuple[float, float], bool]]:
        """The lower left corners of the cells of the code, and whether each is burnt."""
        for k in range(BITS):
            bit = bool(self.number >> k & 1)
            for second in (False, True):
                corner = self.code[0] + (2 * k + second) * self.cell, self.code[1]
                yield corner, bit != second

    def reversed_pairs(self) -> np.ndarray:
        """Numbers (m, 2) of lines next to each other, the second in the opposite direction of the first."""
        found: list[tuple[int, int]] = []
        for k in range(len(self.lines) - 1):
            one, other = self.lines[k], self.lines[k + 1]
            same = one.power == other.power and one.speed == other.speed
            if same and np.dot(one.direction, other.direction) < -0.999 and (not found or found[-1][1] != k):
                found.append((k, k + 1))
        return np.array(found, int).reshape(-1, 2)

    def ink_rows(self, half: float) -> np.ndarray:
        """Heights of the lines that fill what lies within `half` of 0 [m]."""
        count = int(half / self.ink.pitch)
        return self.ink.pitch * np.arange(-count, count + 1)

    def _steps(self, *places: tuple[float, float]) -> list[int]:
        """Distances from the first mark in whole `STEP`."""
        first = self.marks[0]
        return [round((z - o) / STEP) for place in places for z, o in zip(place, first, strict=True)]


def _setting(one: Line | Square) -> tuple[str, str]:
    return f"{one.power:.4g}", f"{one.speed:.4g}"


def rounded(module: float, x: float, y: float) -> tuple[float, float]:
    """A place that is given in modules [m], in whole steps of a job file; in finer ones of a tiny sheet."""
    step = FILED if module > 20.0 * FILED else STEP
    return round(module * x / step) * step, round(module * y / step) * step
