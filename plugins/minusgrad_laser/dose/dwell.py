"""Dwell of each move: how long a machine without inertia takes for it, but at least a minimum.

    duration_i = max(l_i / v_i, lit_i t_min)        feed_i = l_i / duration_i
    arrival_i  = sum over k <= i of duration_k

of the move that ends at point i, of length l_i [m] at the programmed speed v_i [m/s]; t_min [s] is the
least time of a move with the laser on, as galvanometers and shutters have it. With constant power, maps of
dose read the feed as their speed, so that such a move gets more. The first point ends no move: its duration
is 0. A move of length zero keeps its speed, since its feed would be zero; it leaves no dose. Where t_min
counts, a duration does not depend on the path, and its derivative is zero.

Machines that accelerate have `planned_motion` in the place of `dwell`, which gives the same two fields.
"""

from math import inf

import numpy as np

from minusgrad.plugin import Node, Output, Parameter, Stage, staged_map


def _lit_moves(x, y, speed, lit, minimum):
    """dx, dy, length, duration of all moves but the first, in f64, and whether the minimum counts."""
    x, y, v, on = (a.to_numpy().astype(np.float64) for a in (x, y, speed, lit))
    dx, dy = np.diff(x), np.diff(y)
    length = np.hypot(dx, dy)
    least = np.where(on[1:] > 0.5, float(minimum[None]), 0.0)
    held = length / v[1:] < least
    return dx, dy, length, v[1:], np.where(held, least, length / v[1:]), held


def move(x, y, speed, lit, minimum, duration, feed):
    """Duration and feed of each move."""
    _, _, length, v, time, held = _lit_moves(x, y, speed, lit, minimum)
    slow = held & (length > 0.0)
    duration.from_numpy(np.append(0.0, time).astype(duration.to_numpy().dtype))
    fed = speed.to_numpy().copy()
    fed[1:] = np.where(slow, length / np.where(slow, time, 1.0), v)
    feed.from_numpy(fed)


def move_back(x, y, speed, lit, minimum, d_duration, d_feed, d_x, d_y, d_speed, d_minimum):
    """By length: 1 / v of a duration, 1 / t_min of a feed; by speed, where the minimum does not count."""
    dx, dy, length, v, time, held = _lit_moves(x, y, speed, lit, minimum)
    of_time, of_feed = (a.to_numpy().astype(np.float64) for a in (d_duration, d_feed))
    slow = held & (length > 0.0)
    by_length = np.where(held, 0.0, of_time[1:] / v)
    by_length += np.where(slow, of_feed[1:] / np.where(slow, time, 1.0), 0.0)
    by_speed = np.where(held, 0.0, -of_time[1:] * length / v**2) + np.where(slow, 0.0, of_feed[1:])
    safe = np.where(length > 0.0, length, 1.0)
    for d_axis, along in ((d_x, dx), (d_y, dy)):
        pull = by_length * along / safe
        _add_values(d_axis, np.append(0.0, pull) - np.append(pull, 0.0))
    _add_values(d_speed, np.append(of_feed[0], by_speed))
    slower = np.where(slow, -of_feed[1:] * length / np.where(slow, time, 1.0) ** 2, 0.0)
    d_minimum[None] += float((np.where(held, of_time[1:], 0.0) + slower).sum())


def _add_values(array, values):
    old = array.to_numpy()
    array.from_numpy((old + values).astype(old.dtype))


def _example_path(rng: np.random.Generator) -> dict:
    """Lengths near 1, speeds near 1: about half of the moves take less than 1.3."""
    drawn = {"x": rng.normal(size=7), "y": rng.normal(size=7), "speed": rng.uniform(0.5, 1.5, 7)}
    return drawn | {"lit": np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), "minimum": 1.3}


dwell = staged_map(
    "dwell",
    gives={"duration": Output("s"), "feed": Output("m s^-1")},
    stages=[Stage(move, writes=("duration", "feed"), backward=move_back)],
    claim="Time of each move, which is at least a minimum where the laser is on; and the mean speed.",
    example=_example_path,
    x=Node("m"),
    y=Node("m"),
    speed=Node("m s^-1", bounds=(0.0, inf), open=True, reason="a move takes length / speed"),
    lit=Node(bounds=(0.0, 1.0)),
    minimum=Parameter("s", default=0.0, bounds=(0.0, inf), about="Least time of a move with the laser on."),
)


def add_up(duration, arrival):
    """In f64, rounded at the end."""
    given = duration.to_numpy()
    arrival.from_numpy(np.cumsum(given.astype(np.float64)).astype(given.dtype))


def add_up_back(duration, d_arrival, d_duration):
    """Each duration delays all later arrivals."""
    later = np.cumsum(d_arrival.to_numpy().astype(np.float64)[::-1])[::-1]
    _add_values(d_duration, later)


clock = staged_map(
    "clock",
    gives="arrival",
    unit="s",
    stages=[Stage(add_up, writes=("arrival",), backward=add_up_back)],
    claim="Time at which the spot arrives at each point: the sum of the durations until then.",
    example=lambda rng: {"duration": rng.uniform(0.5, 1.5, 9)},
    linear=True,
    duration=Node("s"),
)
