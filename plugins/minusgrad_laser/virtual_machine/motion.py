"""Motion of a planned job: phases of constant acceleration, and the power of the laser during them.

    s(t) = v0 t + a t^2 / 2,   power = P in constant mode,  P v / F where it follows the speed

P and F are the programmed power and feed of the block. The digital value of the power has L = 2^bits - 1
levels: GRBL takes floor(p (L - 1)) + 1 of them for a part p > 0 of full power, Marlin the nearest. A power
above zero is at least the machine's least. Power follows motion by the latency: at time t it is that of t -
latency. An axis that moves towards smaller numbers lags by its backlash; towards larger ones it is true.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..machine.profile import Profile
from .planner import Plan
from .program import Program

MANY = 128
"""The most levels at which one piece is cut."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Pieces (m,) of constant acceleration and one law of power: start `t` and `duration` [s], `block`,
    distance `s` from the block's start [m], speed `v` [m/s] and acceleration `a` along the block; for the
    power, the block `source` whose power it is, and that one's speed and acceleration at the start of the
    piece.
    """

    t: np.ndarray
    duration: np.ndarray
    block: np.ndarray
    s: np.ndarray
    v: np.ndarray
    a: np.ndarray
    source: np.ndarray
    source_v: np.ndarray
    source_a: np.ndarray
    program: Program
    plan: Plan
    profile: Profile
    lag: np.ndarray
    """Of each axis at the start of each block (n, 2) [m]: how far the head is beyond the commanded place."""

    def places(self, pieces: np.ndarray, since: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x, y [m] of the head in pieces, `since` [s] after their starts."""
        block = self.block[pieces]
        s = self.s[pieces] + since * (self.v[pieces] + 0.5 * self.a[pieces] * since)
        axes = []
        for axis, start in enumerate((self.program.x, self.program.y)):
            commanded = start[block] + s * self.plan.direction[block, axis]
            old, play = start[block] + self.lag[block, axis], self.profile.backlash[axis]
            axes.append(np.minimum(np.maximum(old, commanded), commanded + play) if play else commanded)
        return axes[0], axes[1]

    def speeds(self, pieces: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Of the head along the block [m/s]."""
        return self.v[pieces] + self.a[pieces] * since

    def powers(self, pieces: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Of the laser [W], in levels of its digital value."""
        source = self.source[pieces]
        known = np.maximum(source, 0)
        power = np.where(source < 0, 0.0, self.program.power[known])
        base = self.program.feed[known] if self.profile.rules.scaled_by_feed else self.plan.nominal[known]
        speed = self.source_v[pieces] + self.source_a[pieces] * since
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = np.where(self.program.dynamic[known], power * np.minimum(speed / base, 1.0), power)
        return quantise_power(np.where(power > 0.0, scaled, 0.0), self.profile)

    def of_one_level(self) -> "Motion":
        """The same motion in shorter pieces, cut where the digital value of the power changes.

        Pieces that pass through more than `MANY` levels stay whole: theirs are fine enough.
        """
        source, most = np.maximum(self.source, 0), self.profile.power[1]
        rules, levels = self.profile.rules, 2**self.profile.bits - 1
        base = self.program.feed[source] if rules.scaled_by_feed else self.plan.nominal[source]
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = self.program.power[source] / base * (levels - rules.first_level) / most
        ends = self.source_v, self.source_v + self.source_a * self.duration
        shift = 0.0 if rules.first_level else 0.5
        low, high = (f(*ends) * rate - shift for f in (np.minimum, np.maximum))
        varies = (self.source >= 0) & self.program.dynamic[source] & (self.source_a != 0.0) & (rate > 0.0)
        first = np.where(varies, np.ceil(low), 0.0)
        count = np.where(varies, np.floor(high) - first + 1.0, 0.0)
        count = np.where((count > 0.0) & (count <= MANY), count, 0.0).astype(int)
        piece = np.repeat(np.arange(len(self.t)), count)
        level = first[piece] + np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
        since = ((level + shift) / rate[piece] - self.source_v[piece]) / self.source_a[piece]
        piece = np.concatenate([np.arange(len(self.t)), piece])
        since = np.append(np.zeros(len(self.t)), since).clip(0.0, self.duration[piece])
        order = np.lexsort((since, piece))
        piece, since = piece[order], since[order]
        last = np.append(piece[1:] != piece[:-1], True)
        until = np.where(last, self.duration[piece], np.append(since[1:], 0.0))
        v, a = self.v[piece], self.a[piece]
        return replace(
            self, t=self.t[piece] + since, duration=until - since, block=self.block[piece],
            s=self.s[piece] + since * (v + 0.5 * a * since), v=v + a * since, a=a, source=self.source[piece],
            source_v=self.source_v[piece] + self.source_a[piece] * since, source_a=self.source_a[piece],
        )  # fmt: skip

    def cut_after(self, seconds: float, least: float) -> tuple["Motion", np.ndarray]:
        """The same motion with pieces of a steady speed and power that last `least` [s] cut after `seconds`.

        And which pieces (m,) are the second part of one. Dwells are steady, and so are slow moves.
        """
        dynamic = self.program.dynamic[np.maximum(self.source, 0)]
        steady = (self.a == 0.0) & ((self.source_a == 0.0) | ~dynamic)
        long = np.flatnonzero(steady & (self.duration >= max(least, seconds)))
        piece = np.insert(np.arange(len(self.t)), long + 1, long)
        is_second = np.append(False, piece[1:] == piece[:-1])
        is_first = np.append(is_second[1:], False)
        since = np.where(is_second, seconds, 0.0)
        until = np.where(is_first, seconds, self.duration[piece])
        return replace(
            self, t=self.t[piece] + since, duration=until - since, block=self.block[piece],
            s=self.s[piece] + since * self.v[piece], v=self.v[piece], a=self.a[piece],
            source=self.source[piece], source_v=self.source_v[piece] + self.source_a[piece] * since,
            source_a=self.source_a[piece],
        ), is_second  # fmt: skip

    def table(self) -> np.ndarray:
        """Rows (m + 1, 5) of t [s], x, y [m], v [m/s], P [W] at the start of each piece, and at the end."""
        pieces, zero = np.arange(len(self.t)), np.zeros(len(self.t))
        last = pieces[-1:]
        rows = [
            np.stack(
                [self.t[p] + since, *self.places(p, since), self.speeds(p, since), self.powers(p, since)],
                axis=1,
            )
            for p, since in ((pieces, zero), (last, self.duration[last]))
        ]
        return np.concatenate(rows)


def quantise_power(power: np.ndarray, profile: Profile) -> np.ndarray:
    """The power [W] that the laser has when `power` is asked of it."""
    least, most = profile.power
    levels = 2**profile.bits - 1
    part = np.minimum(np.where(power > 0.0, np.maximum(power, least), 0.0) / most, 1.0)
    if profile.rules.first_level:
        level = np.where(part > 0.0, np.floor(part * (levels - 1) + 1e-9) + 1.0, 0.0)
    else:
        level = np.rint(part * levels)
    return level * most / levels


def motion(program: Program, plan: Plan, profile: Profile) -> Motion:
    """The pieces of a planned job."""
    t, block, s, v, a = _motion_phases(program, plan)
    if profile.latency:  # the power that was asked for last
        rest = plan.seconds, len(program) - 1, plan.length[-1], 0.0, 0.0
        t, block, s, v, a = (np.append(z, one) for z, one in zip((t, block, s, v, a), rest, strict=True))
    end = plan.seconds + profile.latency
    power_starts = t + profile.latency
    edges = np.unique(np.concatenate([t, power_starts[power_starts < end]])) if profile.latency else t
    phase = np.searchsorted(t, edges, side="right") - 1
    cause = np.searchsorted(power_starts, edges, side="right") - 1
    ends = np.append(edges[1:], end)
    inside, before = edges - t[phase], edges - power_starts[np.maximum(cause, 0)]
    source = np.where(cause < 0, -1, block[np.maximum(cause, 0)])
    idle = np.maximum(cause, 0)
    return Motion(
        edges, ends - edges, block[phase], s[phase] + inside * (v[phase] + 0.5 * a[phase] * inside),
        v[phase] + a[phase] * inside, a[phase], source, v[idle] + a[idle] * before, a[idle],
        program, plan, profile,
        _axis_lags(program, profile),
    )  # fmt: skip


def _motion_phases(program: Program, plan: Plan) -> tuple[np.ndarray, ...]:
    """Start, block, distance, speed and acceleration of up, steady, down and of the pauses between blocks."""
    n = len(program)
    up, steady, down = plan.durations.T
    a = np.where(plan.length > 0.0, plan.acceleration, 0.0)
    pause = np.append(plan.start[1:], plan.seconds) - (plan.start + plan.durations.sum(axis=1))
    first = 0.5 * (plan.entry + plan.peak) * up
    begins = np.stack(
        [plan.start, plan.start + up, plan.start + up + steady, plan.start + up + steady + down]
    )
    s = np.stack([np.zeros(n), first, first + plan.peak * steady, plan.length])
    v = np.stack([plan.entry, plan.peak, plan.peak, np.zeros(n)])
    rates = np.stack([a, np.zeros(n), -a, np.zeros(n)])
    durations = np.stack([up, steady, down, np.maximum(pause, 0.0)])
    block = np.broadcast_to(np.arange(n), (4, n))
    keep = (durations > 1e-12).T.ravel()
    return tuple(z.T.ravel()[keep] for z in (begins, block, s, v, rates))


def _axis_lags(program: Program, profile: Profile) -> np.ndarray:
    """Of both axes at the start of each block: the play operator along the program."""
    lags = np.zeros((len(program), 2))
    for axis, (places, play) in enumerate(zip((program.x, program.y), profile.backlash, strict=True)):
        if play:
            head = places[0]
            for k, place in enumerate(places[:-1].tolist()):
                head = min(max(head, place), place + play)
                lags[k, axis] = head - place
    return lags
