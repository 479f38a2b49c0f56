"""Entries of a gradient by symmetric steps, for runs that are too large to be replayed.

    g_i = (U(x + h e_i) - U(x - h e_i)) / 2h,     extrapolated from h and h/2

The largest entries and some at random are asked. If a share p of all entries is wrong, m random ones miss all
of them with the probability (1 - p)^m; the answer states the share that would show with 95 % certainty.
"""

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from ..kernel_subject import KernelSubject
from ..questions import Finding
from ..variables import Variable

LARGEST, RANDOM = 4, 16
"""How many of the largest entries, and of all at random, are asked."""
SECONDS = 10.0
"""No further entry is asked after so long."""
STEP = 1e-2
"""The step of an entry, in parts of the step of physical size; larger in low precision."""
NARROWER = (1 / 8, 1 / 64, 1 / 512)
"""Further steps, in parts of that one, where the slope differs: at a kink the difference shrinks."""
CERTAINTY = 0.95
SURE = 10.0
"""An entry is wrong that is off by so many uncertainties of the difference."""


def entry_steps(
    asked: KernelSubject, variable: Variable, found: np.ndarray, rng: np.random.Generator
) -> Finding:
    """Some entries of the gradient, each against symmetric steps; states the power of the test."""
    begin, worst, count, at_random = perf_counter(), 0.0, 0, 0
    largest = float(np.abs(found).max(initial=0.0)) or 1.0
    for place, drawn in _entries_to_move(variable, found, rng):
        if perf_counter() - begin > SECONDS:
            break
        slope, uncertain = _entry_slope(asked, variable, place)
        off = abs(slope - float(found[place]))
        for part in NARROWER:
            if off <= SURE * uncertain + 1e-6 * largest:
                break
            slope, uncertain = _entry_slope(asked, variable, place, part)
            before, off = off, abs(slope - float(found[place]))
            if off > 0.5 * before and uncertain < 0.1 * off:
                break  # it stays
        count, at_random = count + 1, at_random + drawn
        worst = max(worst, off / largest)
        if off > SURE * uncertain + 1e-6 * largest:
            at = f"[{', '.join(map(str, place))}]" if place else ""
            text = (
                f"d loss / d {variable.name}{at} is {slope:.6g} by symmetric steps, the reverse gives"
                f" {found[place]:.6g}"
            )
            return asked.finding(variable.name, "entries", False, off / largest, text)
    if not count:
        return asked.finding(variable.name, "entries", True, None, "no entry can be moved")
    text = f"{count} of {found.size:,} entries agree with symmetric steps"
    if at_random and count < found.size:
        share = 1.0 - (1.0 - CERTAINTY) ** (1.0 / at_random)
        text += f"; a reverse that is wrong in {share:.0%} of them would show with {CERTAINTY:.0%} certainty,"
    return asked.finding(variable.name, "entries", True, worst, text)


def _entries_to_move(
    variable: Variable, found: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Entries to move, and whether they were drawn at random."""
    drawn = rng.permutation(found.size)[:RANDOM]
    top = np.argsort(-np.abs(found).ravel(), kind="stable")[:LARGEST]
    random = set(drawn.tolist())
    for flat, at_random in [(k, k in random) for k in dict.fromkeys([*top.tolist(), *drawn.tolist()])]:
        place = tuple(int(i) for i in np.unravel_index(int(flat), found.shape))
        if variable.free is None or variable.free[place]:
            yield place, at_random


def _entry_slope(
    asked: KernelSubject, variable: Variable, place: tuple[int, ...], part: float = 1.0
) -> tuple[float, float]:
    """The derivative by one entry, and its uncertainty: of the extrapolation, and of rounding."""
    low, high = variable.bounds
    value = float(variable.values[place])
    h = part * variable.size * max(STEP, 3.0 * asked.eps**0.25)
    room = max(min(high - value, value - low), 0.0)
    h = min(h, room) if room > 0.1 * h else h
    wide, narrow = (_central_difference(asked, variable, place, h * half) for half in (1.0, 0.5))
    variable.put(variable.values)
    slope = (4.0 * narrow - wide) / 3.0
    return slope, abs(narrow - wide) + asked.rounding() / h


def _central_difference(asked: KernelSubject, variable: Variable, place: tuple[int, ...], h: float) -> float:
    values = []
    for side in (1.0, -1.0):
        moved = np.array(variable.values)
        moved[place] += side * h
        variable.put(moved)
        values.append(asked.value())
    return (values[0] - values[1]) / (2.0 * h)
