"""Compensation of backlash and latency: other moves are commanded, so that the wanted dose is left.

Backlash b of an axis: towards larger numbers the head is where it is commanded to be, towards smaller ones it
lags by b, so these moves end b further, and where an axis turns round, a dark move takes up the play while
the head stands.

Latency tau: the power at time t is that of t - tau. If the head passes the end of move k at t_k, the power
must change at t_k - tau, so its commands are put where the planned motion is at that time. Let E(s) be the
wanted energy up to a place (`wanted_energy`). A part of the path, commanded from t_0 to t_1, acts while the
head goes from s(t_0 + tau) to s(t_1 + tau), so its power is

    P = F [E(s(t_1 + tau)) - E(s(t_0 + tau))] / [s(t_1) - s(t_0)]                 where power follows speed
    P = [E(s(t_1 + tau)) - E(s(t_0 + tau))] / (t_1 - t_0)                         at constant power

At constant power a head that stands to take up play burns more around that place. Moves that it slows down
are cut in `CUTS` pieces, which get less power.

Decisions 0184.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..machine.profile import Profile
from ..virtual_machine.motion import Motion, motion
from ..virtual_machine.planner import plan
from .moves import Moves, events_of_parts, keeps_dose
from .planned import planned_program
from .wanted_energy import WantedEnergy, speeds_of_power

NEAR = 0.06
"""A change of power so near to a place of the path, in spots, is put there: short moves slow down."""
OTHER, CUTS = 0.01, 16
"""At constant power a move whose speeds at its ends are others than wanted by this part is cut in so many."""
ROUNDS = 4
"""Plans of the motion whose lines are changed by what is read from it."""


def compensate_moves(moves: Moves, profile: Profile) -> Moves:
    """The moves to command, so that `moves` are done; the same where neither axes nor power are late."""
    if not any(profile.backlash) and profile.latency == 0.0:
        return moves
    energy = WantedEnergy.of(moves, profile)
    taken, origin = without_backlash(moves, profile)
    begin = np.zeros(len(taken))
    if not keeps_dose(profile):
        taken, origin, begin = _cut_other_moves(taken, origin, energy, profile)
    everyone = np.arange(len(taken))
    split = _Split(taken, everyone, np.zeros(len(taken)), everyone)
    for _ in range(ROUNDS if profile.latency else 0):
        split = _split_at_knots(taken, *_power_knots(split, profile), profile)
    return _powered_parts(split, _Stretches(origin, begin, energy), profile)


def without_backlash(moves: Moves, profile: Profile) -> tuple[Moves, np.ndarray]:
    """The moves to command to axes with play, and the move that each stands for; -1 takes up play."""
    play = np.rint(np.array(profile.backlash) / profile.place).astype(int)
    side = np.sign(np.diff(moves.places, axis=0))
    for axis in (0, 1):  # an axis that rests keeps the side of the move before; at first it is the upper one
        moving = side[:, axis] != 0
        last = np.maximum.accumulate(np.where(moving, np.arange(len(side)), -1))
        side[:, axis] = np.where(last >= 0, side[np.maximum(last, 0), axis], 1)
    shift = np.where(side < 0, -play, 0)
    turns = (np.diff(np.concatenate([np.zeros((1, 2), int), shift]), axis=0) != 0).any(axis=1)
    slots = np.arange(len(moves)) + np.cumsum(turns)
    count = len(moves) + int(turns.sum())
    places, origin = np.zeros((count, 2), int), np.full(count, -1)
    places[slots], origin[slots] = moves.places[1:] + shift, np.arange(len(moves))
    places[slots[turns] - 1] = (moves.places[:-1] + shift)[turns]
    taken = origin < 0
    feed = np.where(taken, min(profile.speed), moves.feed[origin])
    wanted, lit = np.where(taken, 0.0, moves.wanted[origin]), ~taken & moves.lit[origin]
    first = slots - turns  # the dark move that takes up play goes with the one behind it
    events = tuple((int(np.append(first, count)[k]) if k >= 0 else k, text) for k, text in moves.events)
    return Moves(np.concatenate([moves.places[:1], places]), feed, wanted, lit, events), origin


def _cut_other_moves(
    moves: Moves, origin: np.ndarray, energy: WantedEnergy, profile: Profile
) -> tuple[Moves, np.ndarray, np.ndarray]:
    """Moves whose speeds at their ends are not those wanted, cut in pieces of equal times; of each piece the
    move that it stands for (-1: none), and the way [m] along that one to its begin.
    """
    motions = _commanded_motion(moves, profile)
    done, wanted = motions.plan, np.maximum(origin, 0)
    seconds = done.durations.sum(axis=1)
    other = np.maximum(
        abs(done.entry - energy.planned.entry[wanted]), abs(done.exit - energy.planned.exit[wanted])
    )
    cut = (origin >= 0) & (moves.wanted > 0.0) & (other > OTHER * done.peak)
    fitting = (seconds / max(1.2 * profile.line_time, 1e-300)).clip(1.0, CUTS).astype(int)
    counts = np.where(cut, fitting, 1)
    move = np.repeat(np.arange(len(moves)), counts)
    number = np.arange(len(move)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    block, along = _places_at_times(motions, done.start[move] + seconds[move] * number / counts[move])
    last = number == counts[move]
    part = np.where(last, 1.0, np.where(block == move, along, 0.0) / done.length[move])
    steps = np.diff(moves.places, axis=0)
    places = np.concatenate(
        [moves.places[:1], np.rint(moves.places[move] + steps[move] * part[:, None]).astype(int)]
    )
    keep = (np.diff(places, axis=0) != 0).any(axis=1)
    begin = np.where(number > 1, np.append(0.0, (part * done.length[move])[:-1]), 0.0)[keep]
    events = events_of_parts(moves, move[keep])
    feed, wanted, lit = (z[move][keep] for z in (moves.feed, moves.wanted, moves.lit))
    return Moves(places[np.append(True, keep)], feed, wanted, lit, events), origin[move][keep], begin


@dataclass(frozen=True, eq=False)
class _Stretches:
    """What moves to command stand for: `origin`, the wanted move (-1: none), from the way `begin` [m] on."""

    origin: np.ndarray
    begin: np.ndarray
    energy: WantedEnergy

    def until(self, move: np.ndarray, way: np.ndarray) -> np.ndarray:
        """The wanted energy where the head is `way` [m] along a move to command."""
        last = np.maximum.accumulate(self.origin)[move]
        idle = self.origin[move] < 0
        found = self.energy.until(np.maximum(last, 0), self.begin[move] + way)
        return np.where(idle, self.energy.before[last + 1], found)


@dataclass(frozen=True, eq=False)
class _Split:
    """Moves that are parts of others. Of each part: `whole`, the number of the other, `begin`, the distance
    along it where the part begins [m]. `last` (n,) is the
    part with which each of the others ends.
    """

    moves: Moves
    whole: np.ndarray
    begin: np.ndarray
    last: np.ndarray


def _power_knots(split: _Split, profile: Profile) -> tuple[np.ndarray, np.ndarray]:
    """Where the head is by the latency before the end of each move: move (n,), and distance along it [m]."""
    motions = _commanded_motion(split.moves, profile)
    ends = motions.plan.start + motions.plan.durations.sum(axis=1)
    part, along = _places_at_times(motions, ends[split.last] - profile.latency)
    return split.whole[part], split.begin[part] + along


def _split_at_knots(moves: Moves, knots: np.ndarray, along: np.ndarray, profile: Profile) -> _Split:
    """The moves cut at knots (n,): the power of move k is commanded up to knot k."""
    steps = np.diff(moves.places, axis=0)
    length = np.hypot(*steps.T) * profile.place
    near = np.minimum(NEAR * min(profile.spot), 0.5 * length[knots])
    along = np.where(along < near, 0.0, np.where(along > length[knots] - near, length[knots], along))
    whole = np.concatenate([np.arange(len(moves)), knots])
    ends = np.concatenate([length, along])
    knot = np.repeat([0, 1], [len(moves), len(knots)])
    order = np.lexsort((1 - knot, ends, whole))
    whole, ends, knot = whole[order], ends[order], knot[order]
    source = np.cumsum(knot) - knot  # behind the last knot no power is commanded
    exact = moves.places[whole] + steps[whole] * (ends / length[whole])[:, None]
    places = np.concatenate([moves.places[:1], np.rint(exact).astype(int)])
    wanted, feed = np.append(moves.wanted, 0.0)[source], moves.feed[whole]
    keep = (np.diff(places, axis=0) != 0).any(axis=1)
    begin = np.where(whole == np.append(-1, whole[:-1]), np.append(0.0, ends[:-1]), 0.0)
    last = np.cumsum(keep)[knot == 0] - 1
    lit = moves.lit[whole] | (wanted > 0.0)
    events = events_of_parts(moves, whole[keep])
    parts = Moves(places[np.append(True, keep)], feed[keep], wanted[keep], lit[keep], events)
    return _Split(parts, whole[keep], begin[keep], last)


def _powered_parts(split: _Split, stretches: _Stretches, profile: Profile) -> Moves:
    """The parts with powers that leave the wanted energy where they act."""
    motions = _commanded_motion(split.moves, profile)
    start, seconds = motions.plan.start, motions.plan.durations.sum(axis=1)
    acts = []
    for moment in (np.append(0.0, start[1:] + profile.latency), start + seconds + profile.latency):
        part, along = _places_at_times(motions, moment)
        acts.append(stretches.until(split.whole[part], split.begin[part] + along))
    base = speeds_of_power(split.moves, motions.plan, profile)
    rate = 1.0 / seconds if base is None else base / motions.plan.length
    return replace(split.moves, wanted=np.where(split.moves.wanted > 0.0, (acts[1] - acts[0]) * rate, 0.0))


def _commanded_motion(moves: Moves, profile: Profile) -> Motion:
    program = planned_program(moves, profile)
    return motion(program, plan(program, profile), replace(profile, latency=0.0))


def _places_at_times(motions: Motion, when: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Block, and distance along it [m], at given times [s]."""
    piece = np.maximum(np.searchsorted(motions.t, when, side="right") - 1, 0)
    inside = np.clip(when - motions.t[piece], 0.0, motions.duration[piece])
    return motions.block[piece], motions.s[piece] + inside * (
        motions.v[piece] + 0.5 * motions.a[piece] * inside
    )
