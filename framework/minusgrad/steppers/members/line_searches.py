"""Line searches of many members at once, each as in `minimisers.line_search`, with its own bracket.

A round evaluates one trial of every member. Most first trials are taken; the others go on with brackets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..minimisers.line_search import LOWER, MOST, PARTS, TURN, Trial, narrowed, rounded, scatters_of

Along = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Scaled variables (A, n) and places (A,) of members in a round: z as stored, and U there."""


def dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Dot products of rows (A, n): each row is summed by itself, in an order that its length fixes."""
    return np.ascontiguousarray(a * b).sum(axis=1)


@dataclass
class SearchPoints:
    """Points of members in a round: x as stored and z (A, n), U (A,), dU/dz (A, n), dU/dx of whole fields."""

    x: np.ndarray
    z: np.ndarray
    energy: np.ndarray
    slope: np.ndarray
    gradient: np.ndarray

    def at(self, rows: Any) -> "SearchPoints":
        """Those of some rows."""
        return SearchPoints(
            self.x[rows], self.z[rows], self.energy[rows], self.slope[rows], self.gradient[rows]
        )

    def put(self, row: int, other: "SearchPoints") -> None:
        """Overwrite one row by the one of `other`."""
        for name, values in vars(other).items():
            getattr(self, name)[row] = values[0]


@dataclass
class Bracket:
    """The bracket of one member: the next length, the last two short trials, the long one, the best point.

    restarted: the stored pairs gave a bad direction, and this search is along the gradient.
    """

    length: float
    before: Trial
    short: Trial
    long: Trial | None = None
    best: SearchPoints | None = None
    trials: int = 0
    restarted: bool = False

    @classmethod
    def fresh(cls, energy: float, slope: float, restarted: bool = False) -> "Bracket":
        """That of a search that begins; slope: g.d along its direction."""
        start = Trial(0.0, energy, slope)
        return cls(1.0, start, start, restarted=restarted)

    def goes_on(self, judged: "Judgement", k: int) -> bool:
        """Take row k of a round, which is no weak Wolfe step; False if the search ends with `best`."""
        there = judged.there
        if not judged.moved[k] or (self.best is not None and np.array_equal(self.best.x[0], there.x[k])):
            return False
        trial = judged.trial(k, self.length)
        if judged.short[k]:
            self.best, self.before, self.short = there.at(slice(k, k + 1)), self.short, trial
        else:
            self.long = trial
        self.trials += 1
        self.length = narrowed(self.before, self.short, self.long)
        return self.trials < MOST


class Judgement:
    """Which trials of a round are `lower`, which of these too `short`, and which are `taken`; (A,) each."""

    def __init__(
        self,
        here: SearchPoints,
        there: SearchPoints,
        along: Along,
        rounding: Callable[[np.ndarray], np.ndarray],
    ):
        self.here, self.there, self._along, self._rounding = here, there, along, rounding
        self.s = there.z - here.z
        self.first, self.last = dots(here.slope, self.s), dots(there.slope, self.s)
        self.moved = self.s.any(axis=1)
        finite = np.isfinite(there.energy)
        with np.errstate(invalid="ignore", over="ignore"):
            self._change = there.energy - here.energy
            by_energy = self._change <= LOWER * self.first
            by_slopes = self.last <= (2.0 * LOWER - 1.0) * self.first
            downhill = finite & (self.first < 0.0) & self.moved
            self.lower = downhill & by_energy
            if (rows := np.flatnonzero(downhill & (by_energy != by_slopes))).size:
                self.lower[rows] = self._decided(rows, by_energy[rows])
            self.short = self.lower & (self.last < TURN * self.first)
        self.taken = self.lower & ~self.short

    def _decided(self, rows: np.ndarray, by_energy: np.ndarray) -> np.ndarray:
        """`lower` where differences of U and slopes disagree: slopes decide where the former are rounding."""
        size = np.abs(self._change[rows])
        small = size <= self._rounding(rows)
        left = np.flatnonzero(~small)
        if left.size:
            small[left] = rounded(size[left], by_energy[left], self._scatters(rows[left]))
        return by_energy != small

    def _scatters(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The scatters of U close to the points of these rows."""
        each, parts = np.repeat(rows, len(PARTS)), np.tile(PARTS, len(rows))
        there, s, curvature = self.there, self.s[each], self.last[each] - self.first[each]
        z, energy = self._along(there.z[each] - parts[:, None] * s, each)
        linear = dots(there.slope[each], z - there.z[each])
        off = energy - there.energy[each] - linear - 0.5 * parts * parts * curvature
        return scatters_of(np.pad(off.reshape(len(rows), -1), ((0, 0), (1, 0))))

    def trial(self, k: int, length: float) -> Trial:
        """The trial of one row."""
        energy = float(self.there.energy[k])
        return Trial(length, energy, float(self.last[k]) / length if np.isfinite(energy) else np.nan)
