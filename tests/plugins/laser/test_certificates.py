"""Certificates: the dose that a search computed is the dose that the exported file leaves, replayed."""

import numpy as np

from minusgrad import Fields, Grid, Potential, bind
from minusgrad_laser.dose.spots import gaussian_dose
from minusgrad_laser.jobs.gcode import write
from minusgrad_laser.jobs.toolpath import Toolpath
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
    parameters = {"waist": PROFILE.waist, "full": FULL}
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
