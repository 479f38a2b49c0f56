"""Certificates: the dose that a search computed is the dose that the exported file leaves, replayed."""

from dataclasses import replace

import numpy as np
import pytest

from minusgrad import Fields, Grid, Potential, bind, bind_staged
from minusgrad_laser.dose.spots import gaussian_dose
from minusgrad_laser.jobs.gcode import write
from minusgrad_laser.jobs.toolpath import Toolpath
from minusgrad_laser.machine.planned_motion import planned_motion
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.virtual_machine import replay

PROFILE = Profile("GRBL diode engraver", lines_per_second=500.0)
SHAPE, FULL = (60, 70), 2.5e5


def curl(n: int = 120) -> Toolpath:
    """A curl of 20 um moves in two strokes, each move with a power and a speed of its own."""
    rng = np.random.default_rng(3)
    turn = np.linspace(0.0, 5.0, n)
    radius = 2e-4 + 6e-5 * turn
    lit = np.ones(n, bool)
    lit[[0, n // 2]] = False
    x, y = 7e-4 + radius * np.cos(2.0 * turn), 6e-4 + radius * np.sin(2.0 * turn)
    return Toolpath(x, y, rng.uniform(0.5, 4.0, n), rng.uniform(0.01, 0.06, n), lit)


def computed(path: Toolpath, speed: np.ndarray) -> np.ndarray:
    """The dose (rows, columns) of the framework's map, at the given speeds."""
    beam = path.power * path.lit
    fields = Fields({"x": path.x, "y": path.y, "power": beam, "speed": speed})
    parameters = {"waist": PROFILE.waists[0], "full": FULL}
    segments = np.stack([np.arange(len(path) - 1), np.arange(1, len(path))], axis=1)
    grid = Grid(SHAPE, PROFILE.pixel)
    term = bind(gaussian_dose, fields, tuples=segments, grid=grid, parameters=parameters)
    Potential(fields, [], [term]).refresh()
    return fields["dose"].values.reshape(SHAPE)


def apart(dose: np.ndarray, wanted: np.ndarray) -> float:
    """L1 of the difference, over L1 of the wanted dose."""
    return float(abs(dose - wanted).sum() / wanted.sum())


def test_power_that_follows_speed_replays_the_programmed_dose() -> None:
    path = curl()
    done = replay(write(path, PROFILE), PROFILE, SHAPE, full=FULL)
    assert done.violations == ()
    assert apart(done.dose, computed(path, path.speed)) < 0.01


def attained(path: Toolpath, profile: Profile) -> tuple[np.ndarray, float]:
    """Mean speed of each move (n,) [m/s], and seconds of all, by the framework's map."""
    limits = {
        "axis_speed": list(profile.speed),
        "axis_acceleration": list(profile.acceleration),
        "junction_deviation": profile.junction_deviation,
        "line_time": 0.0,
        "lit_time": 0.0,
    }
    fields = Fields({"x": path.x, "y": path.y, "speed": path.speed, "lit": path.lit.astype(float)})
    blocks = {"planner_blocks": profile.planner_blocks}
    found = bind_staged(planned_motion, fields, data=blocks, parameters=limits).output_values()
    return found["feed"], float(found["duration"].sum())


def test_constant_power_replays_the_dose_of_attained_speeds() -> None:
    """The planner of the virtual machine attains the feeds of the framework's map, and so does the dose."""
    t, profile = np.linspace(0.0, 9.0, 240), replace(PROFILE, dynamic_power=False, lines_per_second=np.inf)
    path = replace(curl(240), power=2.2 + 1.7 * np.sin(t), speed=0.04 + 0.015 * np.cos(t))
    feed, seconds = attained(path, profile)
    done = replay(write(path, profile), profile, SHAPE, full=FULL)
    first = done.plan.start[1]
    assert done.violations == ()
    assert done.seconds - first == pytest.approx(seconds, rel=0.01)
    assert apart(done.dose, computed(path, feed)) < 0.01
    assert apart(done.dose, computed(path, path.speed)) > 0.1, "the programmed speeds are not attained"
