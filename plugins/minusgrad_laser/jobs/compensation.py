"""Compensation of backlash and latency: other moves are commanded, so that the wanted dose is left.

Backlash b of an axis: towards larger numbers the head is where it is commanded to be, towards smaller ones it
lags by b, so these moves end b further, and where an axis turns round, a dark move takes up the play while
the head stands.

Latency tau: the power at time t is that of t - tau. If the head passes the end of move k at t_k, the power
must change at t_k - tau, so its commands are put where the planned motion is at that time. Let q be the
wanted energy of a length. A part of the path, commanded from t_0 to t_1, acts while the head goes from s(t_0
+ tau) to s(t_1 + tau), so its power is

    P = q F [s(t_1 + tau) - s(t_0 + tau)] / [s(t_1) - s(t_0)]          where power follows speed,   q = P_k /
    F_k P = q [s(t_1 + tau) - s(t_0 + tau)] / (t_1 - t_0)                  at constant power,   q = P_k T_k /
    L_k

T_k is the time that move k of length L_k takes without compensation.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..machine.profile import Profile
from ..virtual_machine.motion import Motion, motion
from ..virtual_machine.planner import plan
from ..virtual_machine.program import Program
from .moves import UM, Moves, digital, follows

NEAR = 6e-6
"""A change of power so near to a place of the path [m] is put there: short moves slow the head down."""
ROUNDS = 4
"""Plans of the motion whose lines are changed by what is read from it."""


def compensate_moves(moves: Moves, profile: Profile) -> Moves:
    """The moves to command, so that `moves` are done; the same where neither axes nor power are late."""
    if not any(profile.backlash) and profile.latency == 0.0:
        return moves
    if follows(profile):
        density = moves.wanted / moves.feed
    else:
        planned = plan(planned_program(moves, profile), profile)
        density = moves.wanted * planned.durations.sum(axis=1) / planned.length
    taken, origin = without_backlash(moves, profile)
    density = np.where(origin < 0, 0.0, density[origin])
    everyone = np.arange(len(taken))
    split = _Split(taken, everyone, np.zeros(len(taken)), everyone)
    for _ in range(ROUNDS if profile.latency else 0):
        split = _split_at_knots(taken, *_power_knots(split, profile), profile)
    length = np.hypot(*np.diff(taken.places, axis=0).T) * UM
    return _powered_parts(split, np.append(0.0, np.cumsum(density * length)), density, profile)


def without_backlash(moves: Moves, profile: Profile) -> tuple[Moves, np.ndarray]:
    """The moves to command to axes with play, and the move that each stands for; -1 takes up play."""
    play = np.rint(np.array(profile.backlash) / UM).astype(int)
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
    return Moves(np.concatenate([moves.places[:1], places]), feed, wanted, lit), origin


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
    length = np.hypot(*steps.T) * UM
    near = np.minimum(NEAR, 0.5 * length[knots])
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
    parts = Moves(places[np.append(True, keep)], feed[keep], wanted[keep], lit[keep])
    return _Split(parts, whole[keep], begin[keep], last)


def _powered_parts(split: _Split, energy: np.ndarray, density: np.ndarray, profile: Profile) -> Moves:
    """The parts with powers that leave the wanted energy where they act: `energy` up to each whole move, and
    `density` along it.
    """
    motions = _commanded_motion(split.moves, profile)
    start, seconds = motions.plan.start, motions.plan.durations.sum(axis=1)
    acts = []
    for moment in (np.append(0.0, start[1:] + profile.latency), start + seconds + profile.latency):
        part, along = _places_at_times(motions, moment)
        whole = split.whole[part]
        acts.append(energy[whole] + density[whole] * (split.begin[part] + along))
    rate = split.moves.feed / motions.plan.length if follows(profile) else 1.0 / seconds
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


def planned_program(moves: Moves, profile: Profile) -> Program:
    """The moves as a controller reads them from the job file, behind the one to the first place."""
    n = len(moves)
    x, y = moves.places.T * UM
    none, numbers = np.zeros(n), np.arange(n)
    feed = digital(moves, profile)[1]
    if not profile.rules.feed_in_rapids:
        feed = np.where(moves.lit, feed, np.inf)
    never = np.zeros(n, bool)
    return Program(x, y, feed, none, never, numbers, numbers, never, none, True, (), ())
