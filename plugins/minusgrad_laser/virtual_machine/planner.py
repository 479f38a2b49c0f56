"""Speeds that a controller plans along its blocks: junctions, look-ahead, trapezoids, late lines.

Block k has length L, direction u, acceleration a = min over axes of a_axis / |u_axis|, and nominal speed
V = min(F, min over axes of V_axis / |u_axis|). It is entered with at most (squares of speeds)

    w_k = min(V_{k-1}^2, V_k^2, junction),      junction = a_j d s / (1 - s)

d the junction deviation, s = sin(half the angle between the blocks), a_j the acceleration along u_k - u_{k-1}
(GRBL 1.1; Jeon 2011). With Marlin's classic jerk the junction is the speed at which no axis changes by more
than its jerk. The planner knows N blocks from the one that runs, fewer where lines arrive late, and stops
after the last that it knows. So block k is left with

    v_{k+1}^2 = min(v_k^2 + 2 a_k L_k, b_{k+1}),    b_j = min(w_j, b_{j+1} + 2 a_j L_j),  b = 0 behind the
    last

Within a block the speed is a trapezoid: up with a, at V, down with a.
"""

from dataclasses import dataclass

import numpy as np

from ..machine.profile import Profile
from .program import Program

STRAIGHT = 1.0 - 1e-6
"""GRBL: cosine between blocks beyond which they are straight, or a reversal."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Of each block (n,): start [s], speeds when it is entered, at its peak and when it is left [m/s],
    acceleration [m/s^2], nominal speed [m/s], length [m], direction (n, 2), the three durations (n, 3) [s];
    `late` counts the blocks for which the head stood and waited, because no line had arrived.
    """

    start: np.ndarray
    entry: np.ndarray
    peak: np.ndarray
    exit: np.ndarray
    acceleration: np.ndarray
    nominal: np.ndarray
    length: np.ndarray
    direction: np.ndarray
    durations: np.ndarray
    late: int

    @property
    def seconds(self) -> float:
        """Of the whole job."""
        return float(self.start[-1] + self.durations[-1].sum())


def plan(program: Program, profile: Profile) -> Plan:
    """Speeds and times of all blocks."""
    step = np.stack([np.diff(program.x), np.diff(program.y)], axis=1)
    length = np.hypot(*step.T)
    waits = length == 0.0
    direction = step / np.where(waits, 1.0, length)[:, None]
    acceleration = limit(profile.acceleration, direction)
    nominal = np.minimum(program.feed, limit(profile.speed, direction))
    nominal[waits] = 0.0
    caps = np.zeros(len(program) + 1)
    caps[1:-1] = junctions(direction, nominal, profile)
    if profile.corner_jerk is not None:  # Marlin begins and ends with its jerk
        caps[[0, -1]] = (np.minimum(nominal, limit(profile.corner_jerk, direction)) ** 2)[[0, -1]]
    caps[:-1][program.halt | waits] = 0.0
    caps[1:][waits] = 0.0
    reach = 2.0 * np.where(waits, 0.0, acceleration) * length
    start, squares, late = _plan_run(program, profile, length, acceleration, nominal, caps, reach)
    entry, out = np.sqrt(squares[:, 0]), np.sqrt(squares[:, 1])
    peak = np.sqrt(np.minimum(nominal**2, 0.5 * (reach + squares.sum(axis=1))))
    peak = np.maximum(peak, np.maximum(entry, out))
    safe = np.where(waits, 1.0, acceleration)
    up, down = (peak - entry) / safe, (peak - out) / safe
    cruise = length - 0.5 * (up * (entry + peak) + down * (peak + out))
    durations = np.stack([up, np.maximum(cruise, 0.0) / np.where(waits, 1.0, peak), down], axis=1)
    durations[waits] = np.stack([np.zeros(waits.sum()), program.wait[waits], np.zeros(waits.sum())], axis=1)
    return Plan(start, entry, peak, out, acceleration, nominal, length, direction, durations, late)


def limit(of_axes: tuple[float, float], direction: np.ndarray) -> np.ndarray:
    """The largest rate along a direction (n, 2) that keeps both axes within theirs; inf for no direction."""
    with np.errstate(divide="ignore"):
        return (np.array(of_axes) / np.abs(direction)).min(axis=1)


def junctions(direction: np.ndarray, nominal: np.ndarray, profile: Profile) -> np.ndarray:
    """Largest squared speed (n - 1,) between a block and the next."""
    before, after = direction[:-1], direction[1:]
    slower = np.minimum(nominal[:-1], nominal[1:])
    if profile.corner_jerk is not None:
        return (slower * _jerk_part(before, after, slower, np.array(profile.corner_jerk))) ** 2
    if profile.junction_deviation is None:
        return np.zeros(len(slower))
    cosine = -(before * after).sum(axis=1)
    sine = np.sqrt(np.maximum(0.5 * (1.0 - cosine), 0.0))
    turn = after - before
    size = np.maximum(np.hypot(*turn.T), 1e-300)
    across = limit(profile.acceleration, turn / size[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        square = across * profile.junction_deviation * sine / (1.0 - sine)
    square = np.where(cosine > STRAIGHT, 0.0, np.where(cosine < -STRAIGHT, np.inf, square))
    return np.minimum(square, slower**2)


def _jerk_part(before: np.ndarray, after: np.ndarray, speed: np.ndarray, jerk: np.ndarray) -> np.ndarray:
    """The part of `speed` at which each axis changes by its jerk at most; one that reverses stops first."""
    a, b = before * speed[:, None], after * speed[:, None]
    change = np.where(a * b >= 0.0, np.abs(a - b), np.maximum(np.abs(a), np.abs(b)))
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, (jerk / change).min(axis=1))


def _plan_run(program, profile, length, acceleration, nominal, caps, reach):
    """Start (n,) [s] and squared speeds (n, 2) at entry and exit of each block, as lines arrive."""
    n, ahead = len(program), max(1, profile.planner_blocks)
    full = _known_speeds(caps, reach, ahead - 1).tolist()
    w, r, v, a, l = (z.tolist() for z in (caps, reach, nominal, acceleration, length))  # noqa: E741
    wait, command = program.wait.tolist(), program.command.tolist()
    gap = profile.line_time
    arrival, ends = [0.0] * n, [0.0] * n
    arrived, known, now, square, late = 0, -1, 0.0, full[0], 0
    starts, squares = [0.0] * n, [(0.0, 0.0)] * n

    for k in range(n):
        last = min(k + ahead, n) - 1
        while arrived <= last:  # a line takes its time over the port, and needs a place in the buffer
            at = arrival[arrived - 1] + gap * (command[arrived] - command[arrived - 1]) if arrived else gap
            arrival[arrived] = max(at, ends[arrived - ahead]) if arrived >= ahead else at
            arrived += 1
        if k == 0:
            now = arrival[last]
        elif arrival[k] > now:
            late, now = late + 1, arrival[k]
        starts[k] = now
        moment = now
        while True:  # blocks that arrive until it has to brake are looked at, too
            while known < last and arrival[known + 1] <= moment:
                known += 1
            if known >= last:
                ceiling = full[k + 1]
            else:
                ceiling = 0.0
                for j in range(known, k, -1):
                    ceiling = min(w[j], ceiling + r[j])
            leave = min(ceiling, square + r[k])
            up, steady, down = (
                _trapezoid_times(square, leave, v[k], a[k], l[k]) if l[k] else (0.0, wait[k], 0.0)
            )
            if known >= last or arrival[known + 1] > now + up + steady:
                break
            moment = now + up + steady
        squares[k] = (square, leave)
        now += up + steady + down
        ends[k], square = now, leave
    return np.array(starts), np.array(squares), late


def _trapezoid_times(
    first: float, last: float, speed: float, a: float, length: float
) -> tuple[float, float, float]:
    """Of a trapezoid [s], from the squares of its speeds at both ends."""
    top = min(speed * speed, 0.5 * (2.0 * a * length + first + last))
    peak = max(top, first, last) ** 0.5
    up, down = (peak - first**0.5) / a, (peak - last**0.5) / a
    steady = (length - 0.5 * (up * (first**0.5 + peak) + down * (last**0.5 + peak))) / peak
    return up, max(steady, 0.0), down


def _known_speeds(caps: np.ndarray, reach: np.ndarray, ahead: int) -> np.ndarray:
    """b_j (n + 1,), if blocks j to j + ahead - 1 are known, and the head stops behind them.

    Behind the last block of all, it has the speed of the last cap.
    """
    n = len(reach)
    padded, steps = np.full(n + 1 + ahead, np.inf), np.full(n + 1 + ahead, np.inf)
    padded[: n + 1], steps[:n] = caps, reach
    known = np.where(np.arange(n + 1) + ahead == n, caps[-1], 0.0)
    for m in range(ahead - 1, -1, -1):
        known = np.minimum(padded[m : m + n + 1], known + steps[m : m + n + 1])
    return known
