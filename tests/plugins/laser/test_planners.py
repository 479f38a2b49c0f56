"""The planner of the virtual machine against closed forms, a plain loop, and the limits of the axes."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.virtual_machine.planner import Plan, plan
from minusgrad_laser.virtual_machine.program import Program, parse

pytestmark = pytest.mark.unit

GRBL = Profile("engraver", planner_blocks=16)
MARLIN = replace(GRBL, dialect="marlin", junction_deviation=None, jerk=(0.01, 0.008))


def planned(text: str, profile: Profile = GRBL) -> tuple[Program, Plan]:
    program = parse(f"G21 G90\n{text}", profile)
    return program, plan(program, profile)


@pytest.mark.parametrize(("length", "seconds"), [(30.0, 0.3 + 0.1 / 1.5), (1.5, 2.0 * sqrt(1.5e-3 / 1.5))])
def test_one_block(length: float, seconds: float) -> None:
    """L / v + v / a where the speed is reached, 2 sqrt(L / a) where it is not."""
    _, done = planned(f"G1 X{length} F6000")
    assert done.seconds == pytest.approx(seconds, rel=1e-9)


def test_axes_along_a_diagonal() -> None:
    """Speed and acceleration are sqrt 2 times those of an axis."""
    _, done = planned("G0 X30 Y30")
    assert done.peak[0] == pytest.approx(0.1 * sqrt(2.0), rel=1e-9)
    assert done.acceleration[0] == pytest.approx(1.5 * sqrt(2.0), rel=1e-9)


def test_a_square_corner_in_grbl() -> None:
    """v^2 = a d s / (1 - s), s = sin 45 degrees, a = 1.5 sqrt 2 m/s^2 across the corner: 7.16 mm/s."""
    _, done = planned("G1 X10 F6000\nY10")
    s = sqrt(0.5)
    assert done.entry[1] == pytest.approx(sqrt(1.5 * sqrt(2.0) * 1e-5 * s / (1.0 - s)), rel=1e-6)
    assert done.entry[1] == pytest.approx(7.156e-3, abs=1e-6)


def test_reversals_stop_and_straight_lines_go_on() -> None:
    _, done = planned("G1 X10 F6000\nX20\nX10")
    np.testing.assert_allclose(done.entry, [0.0, 0.1, 0.0], atol=1e-12)


def test_corners_in_marlin() -> None:
    """No axis changes by more than its jerk: x from v to 0 and y from 0 to v; a reversal stops first."""
    _, done = planned("G1 X10 F6000\nY10\nY0", MARLIN)
    np.testing.assert_allclose(done.entry, [0.01, 0.008, 0.008], rtol=1e-9)
    _, bend = planned("G1 X10 F6000\nX20 Y1", MARLIN)
    after = np.array([10.0, 1.0]) / np.hypot(10.0, 1.0)
    change = bend.entry[1] * abs(after - [1.0, 0.0])
    assert (change / [0.01, 0.008]).max() == pytest.approx(1.0, rel=1e-9)


def test_look_ahead_limits_the_speed_of_short_blocks() -> None:
    """With N blocks of length l known, v^2 = 2 a (N - 1) l behind the one that runs."""
    lines = "\n".join(f"X{0.02 * k:.2f}" for k in range(2, 400))
    _, done = planned(f"G1 X0.02 F6000\n{lines}")
    assert done.entry.max() == pytest.approx(sqrt(2.0 * 1.5 * 15 * 2e-5), rel=1e-9)
    _, more = planned(f"G1 X0.02 F6000\n{lines}", replace(GRBL, planner_blocks=400))
    assert more.entry.max() == pytest.approx(0.1, rel=1e-9)


def test_lines_that_come_slowly() -> None:
    """At 100 lines a second, blocks of 20 um take 10 ms each, and the head stands between them."""
    lines = "\n".join(f"X{0.02 * k:.2f}" for k in range(2, 300))
    _, slow = planned(f"G1 X0.02 F6000\n{lines}", replace(GRBL, lines_per_second=100.0))
    assert slow.seconds == pytest.approx(301 / 100.0, rel=0.02)
    assert slow.late > 250
    _, quick = planned(f"G1 X0.02 F6000\n{lines}", replace(GRBL, lines_per_second=1e5))
    _, free = planned(f"G1 X0.02 F6000\n{lines}")
    assert quick.late == 0
    assert quick.seconds == pytest.approx(free.seconds, rel=0.01)


def slow_plan(program: Program, profile: Profile) -> np.ndarray:
    """Squared entry speeds by the definition: before each block, plan all that are known, back and forth."""
    step = np.stack([np.diff(program.x), np.diff(program.y)], axis=1)
    length = np.hypot(*step.T)
    u = step / length[:, None]
    a = [
        min(profile.acceleration[k] / abs(u[j, k]) if u[j, k] else inf for k in (0, 1)) for j in range(len(u))
    ]
    v = [
        min(program.feed[j], *(profile.speed[k] / abs(u[j, k]) if u[j, k] else inf for k in (0, 1)))
        for j in range(len(u))
    ]
    cap = [0.0]
    for j in range(1, len(u)):
        angle = np.arccos(np.clip(-(u[j - 1] @ u[j]), -1.0, 1.0))
        bisector = u[j] - u[j - 1]
        bisector = bisector / max(np.hypot(*bisector), 1e-300)
        rate = min(profile.acceleration[k] / abs(bisector[k]) if bisector[k] else inf for k in (0, 1))
        s = np.sin(angle / 2.0)
        junction = rate * profile.junction_deviation * s / (1.0 - s) if s < 1.0 else inf
        cap.append(min(junction, v[j - 1] ** 2, v[j] ** 2))
    now, entries = 0.0, []
    for j in range(len(u)):
        entries.append(now)
        limit = 0.0
        for k in range(min(j + profile.planner_blocks, len(u)) - 1, j, -1):
            limit = min(cap[k], limit + 2.0 * a[k] * length[k])
        now = min(limit, now + 2.0 * a[j] * length[j])
    return np.array(entries)


def test_speeds_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(5)
    places = np.cumsum(rng.normal(0.0, 0.3, (120, 2)) + 0.1, axis=0)
    feeds = rng.uniform(300, 5000, 120)
    text = "\n".join(f"G1 X{x:.3f} Y{y:.3f} F{f:.0f}" for (x, y), f in zip(places, feeds, strict=True))
    program, done = planned(text)
    np.testing.assert_allclose(done.entry**2, slow_plan(program, GRBL), rtol=1e-5, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 60),
    size=st.sampled_from([0.01, 0.2, 5.0]),
    profile=st.sampled_from([GRBL, MARLIN, replace(GRBL, speed=(0.1, 0.02), acceleration=(1.5, 0.3))]),
    rate=st.sampled_from([inf, 500.0, 20.0]),
)
def test_no_limit_is_passed(seed: int, count: int, size: float, profile: Profile, rate: float) -> None:
    """Of random programs: blocks follow one another in time, speeds agree at their ends, and ways add up."""
    rng = np.random.default_rng(seed)
    places = np.cumsum(rng.normal(0.0, size, (count, 2)), axis=0) + 1.0
    text = "\n".join(
        f"G{rng.integers(0, 2)} X{x:.3f} Y{y:.3f} F{rng.uniform(100, 6000):.0f}" for x, y in places
    )
    profile = replace(profile, lines_per_second=rate)
    _, done = planned(text, profile)
    ends = done.start + done.durations.sum(axis=1)
    gaps = done.start[1:] - ends[:-1]
    assert gaps.min(initial=0.0) >= -1e-9
    np.testing.assert_allclose(done.entry[1:], done.exit[:-1], atol=1e-12)
    up, steady, down = done.durations.T
    way = 0.5 * up * (done.entry + done.peak) + steady * done.peak + 0.5 * down * (done.peak + done.exit)
    np.testing.assert_allclose(way, done.length, rtol=1e-7, atol=1e-12)
    axes = done.peak[:, None] * abs(done.direction)
    assert (axes <= np.array(profile.speed) * (1.0 + 1e-9)).all()
    rates = done.acceleration[:, None] * abs(done.direction)
    assert (rates <= np.array(profile.acceleration) * (1.0 + 1e-9)).all()
