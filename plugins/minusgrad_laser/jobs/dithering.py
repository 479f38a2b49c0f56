"""Dithering of the power along a path, where it follows speed and has few levels.

In a move that speeds up or down the power passes through levels, rounded up by GRBL to floor(c v / F) + 1,
with c = S / S_max (L - 1). The energy of move k, in levels times seconds, is the mean of these levels times
T_k, and should be P_k L_k / F_k. S is the step whose energy is nearest to that plus what the moves before
left over.

Decisions 0228.
"""

import numpy as np

from ..machine.profile import Profile
from ..virtual_machine.planner import Plan, plan
from .moves import Moves, events_of_parts, least_level, most_levels
from .planned import planned_program

TIMES = (np.arange(64) + 0.5) / 64.0
"""Parts of a move's duration at which its speed is looked at."""
TRIED = np.linspace(-1.5, 1.5, 13)
"""Levels around the first guess that are tried."""
COARSE, STEADY, MOST = 40.0, 0.99, 16
"""A move of fewer levels that takes longer than at its feed by this part is cut, in so many parts at most."""


def dither_moves(
    moves: Moves, feeds: np.ndarray, planned: Plan, chosen: np.ndarray, step: float, profile: Profile
) -> np.ndarray:
    """c of the chosen moves (m,), in levels; 0 for others, and where no power is nearest. `step`: of c, of S.

    What is left over is carried on from move to move, up to one that is longer than the spot's smaller waist.
    """
    seconds = planned.durations.sum(axis=1)
    part = np.minimum(_chosen_speeds(planned, chosen) / feeds[chosen, None], 1.0)
    wanted = (moves.wanted / moves.feed * planned.length)[chosen]
    most, least = most_levels(profile) - 1, least_level(profile)
    low = step if least == 1 else least - 0.5
    found, left, before = np.zeros(len(moves)), 0.0, -2
    rows = zip(np.flatnonzero(chosen).tolist(), part, wanted.tolist(), seconds[chosen].tolist(), strict=True)
    for k, parts, energy, time in rows:
        if k != before + 1 or planned.length[k] > min(profile.waists):
            left = 0.0
        aim = (energy + left) / time
        guess = (aim - 0.5) / parts.mean() + TRIED
        tried = np.append(np.clip(np.rint(guess / step) * step, low, most), 0.0)
        levels = np.floor(tried[:, None] * parts + 1e-9).mean(axis=1) + 1.0
        levels[-1] = 0.0
        best = int(np.argmin(np.abs(levels - aim)))
        found[k], left, before = tried[best], (aim - levels[best]) * time, k
    return found


def cut_coarse_moves(moves: Moves, profile: Profile) -> Moves:
    """With moves of few levels that do not keep their feed cut in parts of a fourth of a spot."""
    planned = plan(planned_program(moves, profile), profile)
    seconds = planned.durations.sum(axis=1)
    uneven = planned.length < STEADY * moves.feed * seconds
    coarse = (moves.wanted > 0.0) & (moves.wanted < COARSE) & uneven
    least = max(1.2 * profile.line_time, profile.minimum_dwell, 1e-300)
    parts = (
        np.minimum(planned.length / (0.25 * min(profile.spot)), seconds / least).clip(1.0, MOST).astype(int)
    )
    counts = np.where(coarse, parts, 1)
    move = np.repeat(np.arange(len(moves)), counts)
    number = np.arange(len(move)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    steps = np.diff(moves.places, axis=0)[move] * (number / counts[move])[:, None]
    places = np.concatenate([moves.places[:1], np.rint(moves.places[move] + steps).astype(int)])
    keep = (np.diff(places, axis=0) != 0).any(axis=1)
    feed, wanted, lit = (z[move][keep] for z in (moves.feed, moves.wanted, moves.lit))
    return Moves(places[np.append(True, keep)], feed, wanted, lit, events_of_parts(moves, move[keep]))


def _chosen_speeds(planned: Plan, chosen: np.ndarray) -> np.ndarray:
    """Speeds (k, times) within the chosen moves [m/s]."""
    up, steady, down = planned.durations[chosen].T[:, :, None]
    entry, peak, a = (z[chosen, None] for z in (planned.entry, planned.peak, planned.acceleration))
    t = TIMES * (up + steady + down)
    after = np.maximum(t - up - steady, 0.0)
    return np.where(t < up, entry + a * t, peak - a * after)
