"""Line search with the weak Wolfe conditions, along a direction d downhill from z.

    z(a) = P(z + a d),  s = z(a) - z                      P: the nearest point within the bounds
    U(z(a)) <= U(z) + c1 g.s                              Armijo (1966)
    g(z(a)).s >= c2 g.s                                   weak Wolfe (1969); with it s.y > 0

A step that fails the first is too long, one that fails the second too short; the bracket between the longest
short step and the shortest long step is narrowed by the minima of cubics. The search ends also at kinks,
where strong Wolfe conditions may have no solution (Lewis & Overton 2013, Math. Program. 141, 135). A step to
where U is not finite is too long.

Near a minimum the differences of U are below its rounding, while slopes still have digits. There

    g(z(a)).s <= (2 c1 - 1) g.s                           approximate Wolfe

is the same condition with the trapezoidal rule in place of the difference (Hager & Zhang 2005, SIAM J.
Optim. 16, 170). Where the two disagree, the difference decides if it exceeds its rounding: eps sum |u|, or
the scatter of U measured close to z(a). It may be far more: F - 1 - log F, when 1e-9, has the rounding of 1.

Decisions 0360.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .minimiser import Minimiser, Point, dot

LOWER, TURN = 1e-4, 0.9
"""c1 and c2."""
MOST = 60
"""Most trials of one search: 2^-60 is below the rounding of z."""
CLOSE, SCATTERS = 2.0**-5, 4.0
"""The scatter of U is measured at multiples of this part of a step, so that z differs; rounding is a few
times the scatter."""
GAIN = 0.1
"""The part by which a step that a barrier ends must be longer than one that is short."""
PARTS = [k * CLOSE for k in range(1, 7)]
"""The parts of a step, back from its end."""


@dataclass(frozen=True)
class Trial:
    """A step length, with U and its slope along the direction there."""

    length: float
    energy: float
    slope: float


def search(minimiser: Minimiser, here: Point, direction: np.ndarray, length: float) -> Point | None:
    """The point after a weak Wolfe step from `here`, `length` tried first; None if there is none.

    The fields are set to the point returned.
    """
    before = short = Trial(0.0, here.energy, dot(here.slope, direction))
    long: Trial | None = None
    best: Point | None = None
    length = minimiser.free_length(here, direction, length)
    for _ in range(MOST):
        there = minimiser.evaluate_at(here.z + length * direction)
        s = there.z - here.z
        if not s.any() or (best is not None and (there.x == best.x).all()):
            break
        if not lowers(minimiser, here, there):
            long = _trial(length, there, s)
        elif dot(there.slope, s) < TURN * dot(here.slope, s):
            best, before, short = there, short, _trial(length, there, s)
        else:
            return there
        wanted = narrowed(before, short, long)
        length = wanted if long else minimiser.free_length(here, direction, wanted)
        if length < wanted and length <= (1.0 + GAIN) * short.length:
            break  # a barrier stands where a longer step would end
    if best is not None:
        minimiser.return_to(best)
    return best


def lowers(minimiser: Minimiser, here: Point, there: Point) -> bool:
    """True if U is sufficiently lower at `there`: by its difference, or by slopes if that is mere rounding.

    The fields must be those of `there`.
    """
    if not there.finite:
        return False
    s, change = there.z - here.z, there.energy - here.energy
    first, last = dot(here.slope, s), dot(there.slope, s)
    if first >= 0.0:
        return False
    by_energy, by_slopes = change <= LOWER * first, last <= (2.0 * LOWER - 1.0) * first
    if by_energy == by_slopes:
        return by_energy
    size = abs(change)
    if size <= minimiser.rounding():
        return by_slopes
    return by_slopes if rounded(size, by_energy, scatter(minimiser, there, s, last - first)) else by_energy


def rounded(size: Any, lower: Any, scatters: tuple[Any, Any]) -> Any:
    """True if a change of U of this size is mere rounding; `lower`: U decreased, `scatters`: of `scatter`.

    Of numbers, or arrays of them.
    """
    rough, smooth = scatters
    return size <= SCATTERS * np.where(lower, rough, np.minimum(rough, smooth))


def scatter(minimiser: Minimiser, there: Point, s: np.ndarray, curvature: float) -> tuple[float, float]:
    """The scatter of U close to a point, without the parabola of slope and `curvature` s.H.s.

    The first is the median of six differences, which one or two jumps do not affect; the second is that of
    fourth differences, which are small for every smooth U (Hamming's table: those of independent noise are
    sqrt(70) times as large). A decrease that slopes do not confirm counts as rounding by the first alone; an
    increase must be rounding by both.
    """
    off = [0.0]
    with np.errstate(invalid="ignore", over="ignore"):
        for part in PARTS:
            z, energy = minimiser.value_at(there.z - part * s)
            off.append(energy - there.energy - dot(there.slope, z - there.z) - 0.5 * part * part * curvature)
        minimiser.coordinates.put(there.x)
        rough, smooth = scatters_of(np.array(off))
        return float(rough), float(smooth)


def scatters_of(off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scatters of seven values at equal distances, (..., 7)."""
    estimates = np.diff(off), np.diff(off, 4) * math.sqrt(2.0 / 70.0)
    rough, smooth = (np.median(np.abs(estimate), axis=-1) for estimate in estimates)
    return rough, smooth


def _trial(length: float, there: Point, s: np.ndarray) -> Trial:
    return Trial(length, there.energy, dot(there.slope, s) / length if there.finite else math.nan)


def narrowed(before: Trial, short: Trial, long: Trial | None) -> float:
    """The length of the next trial."""
    return _between(short, long) if long else _beyond(before, short)


def _between(short: Trial, long: Trial) -> float:
    """The minimum of the cubic through both ends, kept well inside; the middle if it has no minimum."""
    width = long.length - short.length
    bend = 3.0 * (short.energy - long.energy) / width + short.slope + long.slope
    square = bend * bend - short.slope * long.slope
    part = 0.5
    if square > 0.0 and math.isfinite(bend):
        root = math.sqrt(square)
        part = (bend + root - short.slope) / (long.slope - short.slope + 2.0 * root or math.inf)
    return short.length + width * min(max(part, 0.1), 0.9)


def _beyond(before: Trial, short: Trial) -> float:
    """The zero of the line through the last two slopes, 1.1 to 10 times as far; else twice as far."""
    gain = short.slope - before.slope
    step = -short.slope * (short.length - before.length) / gain if gain > 0.0 else short.length
    return short.length + min(max(step, 0.1 * short.length), 9.0 * short.length)
