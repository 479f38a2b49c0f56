"""Moves as a job file has them: places in steps of its resolution, feeds, and the laser's part of full power.

A toolpath asks for the dose P / v per length. Where power follows speed, rounding is made up for in the feed,

    F = v  (level / wanted level)  (rounded length / length),

so that P / F times the length is what was asked for. Where the axes do not reach that feed, they get what
they reach.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

from ..machine.profile import Profile
from ..virtual_machine.planner import limit
from .toolpath import Toolpath


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves k from place k to place k + 1: places (m + 1, 2), whole numbers of the profile's `place`;
    of each move (m,) the feed [m/s], `wanted` (power in levels of the digital value, a real number), and
    `lit` (false: a travel). events: lines of the file, each with the number of the move before which it
    stands, -1 before the first place.
    """

    places: np.ndarray
    feed: np.ndarray
    wanted: np.ndarray
    lit: np.ndarray
    events: tuple[tuple[int, str], ...] = ()

    def __len__(self) -> int:
        return len(self.feed)


def events_of_parts(moves: Moves, whole: np.ndarray) -> tuple[tuple[int, str], ...]:
    """The events of moves that are cut in parts; whole (parts,): the move of which each is a part."""
    starts = np.searchsorted(whole, np.arange(len(moves) + 1))
    return tuple((int(starts[k]) if k >= 0 else k, text) for k, text in moves.events)


def follows(profile: Profile) -> bool:
    """True if the power is scaled by actual over programmed speed, GRBL's M4."""
    return profile.dynamic_power and profile.dialect == "grbl"


def keeps_dose(profile: Profile) -> bool:
    """True if power falls with the speed, so that the dose of a length stays: M4 of GRBL, M3 I of Marlin."""
    return profile.dynamic_power and not profile.fan_pin


def most_levels(profile: Profile) -> int:
    """The largest digital value of the power."""
    return 2**profile.bits - 1


def of_toolpath(toolpath: Toolpath, profile: Profile) -> Moves:
    """The moves of a toolpath that are longer than rounding."""
    exact = np.stack([toolpath.x, toolpath.y], axis=1) / profile.place
    places = np.rint(exact).astype(int)
    keep = np.append(True, (np.diff(places, axis=0) != 0).any(axis=1))
    power, speed, lit = (values[1:][keep[1:]] for values in (toolpath.power, toolpath.speed, toolpath.lit))
    lit = lit.astype(bool)
    wanted = np.where(lit, power / profile.power[1] * most_levels(profile), 0.0)
    feed = np.where(lit, speed, reachable_speed(places[keep], profile))
    if follows(profile):
        travelled = np.append(0.0, np.cumsum(np.hypot(*np.diff(exact, axis=0).T)))
        true, rounded = np.diff(travelled[keep]), np.hypot(*np.diff(places[keep], axis=0).T)
        feed = np.where(lit, feed * rounded / true, feed)
    kept = np.cumsum(keep) - 1
    events = tuple((int(kept[k - 1]) if k else -1, text) for k, text in toolpath.events)
    return Moves(places[keep], feed, wanted, lit, events)


def least_level(profile: Profile) -> int:
    """The smallest digital value at which the laser has its least power or more."""
    least, most = profile.power
    return max(1, ceil(least / most * most_levels(profile) - 1e-9))


def whole_level_speed(power: np.ndarray, speed: np.ndarray, profile: Profile) -> np.ndarray:
    """The speeds at which whole levels of the power leave the dose power / speed, no larger than `speed`.

    Where power follows speed the feeds of a file make up for rounding, and `speed` is returned.
    """
    if follows(profile):
        return speed
    wanted = np.where(power > 0.0, power / profile.power[1] * most_levels(profile), 1.0)
    levels = np.maximum(np.floor(wanted * (1.0 + 1e-9)), least_level(profile))
    return speed * np.minimum(levels / wanted, 1.0)


def digital(moves: Moves, profile: Profile) -> tuple[np.ndarray, np.ndarray]:
    """Levels (m,) of the power, whole numbers, and feeds (m,) [m/s] that make up for rounding.

    If the nearest level would need more feed than the axes reach, the one below is taken.
    """
    wanted, reach, low = moves.wanted, reachable_speed(moves.places, profile), float(least_level(profile))
    levels = np.where(wanted > 0.0, np.clip(np.rint(wanted), low, most_levels(profile)), 0.0)
    if not follows(profile):
        return levels.astype(int), np.minimum(moves.feed, reach)
    safe = np.where(wanted > 0.0, wanted, 1.0)
    too_fast = (moves.feed * levels / safe > reach) & (levels > low)
    levels = np.where(too_fast, np.minimum(levels, np.maximum(np.floor(wanted), low)), levels)
    feeds = np.where(wanted > 0.0, moves.feed * levels / safe, moves.feed)
    return levels.astype(int), np.minimum(feeds, reach)


def reachable_speed(places: np.ndarray, profile: Profile) -> np.ndarray:
    """The largest speed (m,) [m/s] between places (m + 1, 2), no two alike, that both axes reach."""
    steps = np.diff(places, axis=0)
    return limit(profile.speed, steps / np.hypot(*steps.T)[:, None])
