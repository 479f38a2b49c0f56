"""Spots of two diameters: replays against sums of spots and the search's map; over-burn, rasters, recipe."""

from dataclasses import replace

import numpy as np
import pytest

from minusgrad import Fields, Grid, Potential, bind
from minusgrad_laser.dose.spots import gaussian_dose
from minusgrad_laser.jobs.gcode import write
from minusgrad_laser.jobs.toolpath import Toolpath
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.search import baseline as raster
from minusgrad_laser.search import recipe
from minusgrad_laser.tool.report import limits
from minusgrad_laser.virtual_machine import replay
from minusgrad_laser.virtual_machine.overburn import overburn

SPOT = (6e-5, 1.5e-4)
MACHINE = Profile("engraver", spot=SPOT, bits=16, power_scale=65535.0)
WX, WY = MACHINE.waists
SHAPE, PIXEL, FULL = (90, 110), 2e-5, 2.5e5


def line_profile(angle: float, beside: np.ndarray) -> np.ndarray:
    """Dose of an endless line of 1 J/m: sum of spots along it, by the trapezium rule, exact for Gaussians."""
    along = np.linspace(-6e-4, 6e-4, 4001)[:, None]
    c, s = np.cos(angle), np.sin(angle)
    x, y = along * c - beside * s, along * s + beside * c
    spots = 2.0 / (np.pi * WX * WY) * np.exp(-2.0 * ((x / WX) ** 2 + (y / WY) ** 2))
    return spots.sum(axis=0) * (along[1, 0] - along[0, 0])


@pytest.mark.parametrize("angle", [0.0, 90.0, 31.0, 135.0])
def test_a_replayed_line_has_the_profile_of_the_spot_across_it(angle: float) -> None:
    """Along x and y by the closed form, else by samples; energies are 4 W / 100 mm/s."""
    end = np.round([8.0 * np.cos(np.radians(angle)), 8.0 * np.sin(np.radians(angle))], 3)
    c, s = end / np.hypot(*end)
    text = f"G21 M4\nG0 X10 Y10\nG1 X{10 + end[0]:.3f} Y{10 + end[1]:.3f} F6000 S52428\nM5"
    origin = (0.01 + 4e-3 * c - 5e-4, 0.01 + 4e-3 * s - 5e-4)
    done = replay(text, MACHINE, (51, 51), PIXEL, origin=origin)
    rows, columns = np.mgrid[:51, :51] - 25
    beside = PIXEL * (rows * c - columns * s)
    expected = line_profile(np.arctan2(s, c), beside.ravel()).reshape(beside.shape) * 4.0 / 0.1
    np.testing.assert_allclose(done.dose, expected, rtol=0.0, atol=5e-4 * expected.max())


def curl(n: int = 160) -> Toolpath:
    """A curl of moves of 20 um in two strokes, each move with a power and a speed of its own."""
    rng = np.random.default_rng(3)
    turn = np.linspace(0.0, 5.0, n)
    lit = np.ones(n, bool)
    lit[[0, n // 2]] = False
    x, y = (9e-4 + (2e-4 + 6e-5 * turn) * f(2.0 * turn) for f in (np.cos, np.sin))
    return Toolpath(x, y, rng.uniform(0.5, 4.0, n), rng.uniform(0.01, 0.06, n), lit)


def searched_dose(path: Toolpath, profile: Profile) -> np.ndarray:
    fields = Fields({"x": path.x, "y": path.y, "power": path.power * path.lit, "speed": path.speed})
    spot = {"waist": profile.waists[0], "aspect": profile.waists[1] / profile.waists[0], "full": FULL}
    segments = np.stack([np.arange(len(path) - 1), np.arange(1, len(path))], axis=1)
    term = bind(gaussian_dose, fields, tuples=segments, grid=Grid(SHAPE, PIXEL), parameters=spot)
    Potential(fields, [], [term]).refresh()
    return fields["dose"].values.reshape(SHAPE)


@pytest.mark.parametrize("spot", [SPOT, SPOT[::-1]])
def test_the_replay_has_the_dose_of_the_search(spot: tuple[float, float]) -> None:
    path, profile = curl(), replace(MACHINE, spot=spot)
    done, wanted = (
        replay(write(path, profile), profile, SHAPE, PIXEL, full=FULL),
        searched_dose(path, profile),
    )
    assert done.violations == ()
    assert abs(done.dose - wanted).sum() < 0.01 * wanted.sum()
    other = searched_dose(path, replace(profile, spot=spot[::-1]))
    assert abs(done.dose - other).sum() > 0.1 * wanted.sum(), "the axes are not swapped"


def test_over_burn_is_one_along_lines_of_any_direction() -> None:
    """Programmed alike, a line along x has 2.5 times the peak of one along y; neither burns."""
    text = "G21 M4\nG0 X1 Y1\nG1 X9 F3000 S30000\nG0 X1 Y3\nG1 Y9\nG0 X3 Y3\nG1 X9 Y9\nM5"
    done = replay(text, MACHINE, pixel=PIXEL, full=FULL)
    found = overburn(done)
    x, y = (
        (np.array(at) * 1e-3 - o) / PIXEL for at, o in zip(((5, 1, 6), (1, 6, 6)), done.origin, strict=True)
    )
    np.testing.assert_allclose(found[np.rint(y).astype(int), np.rint(x).astype(int)], 1.0, atol=0.01)


def test_a_raster_has_the_dose_of_its_replay_in_both_directions() -> None:
    target = np.zeros((90, 90))
    target[20:70, 15:60] = 1.0
    for across in (False, True):
        one = raster.Raster(across, 6e-5, 1e-5, 1e-5, 8.0, 0.05, 0.0)
        path = raster.toolpath(target, one, PIXEL)
        along, beside = MACHINE.waists[::-1] if across else MACHINE.waists
        turned = target.T if across else target
        lines = raster._offset_lines(turned, one.pitch / PIXEL, one.offset / PIXEL)
        unit = raster._line_dose(lines, turned.shape, one.inset / PIXEL, PIXEL, along, beside)
        wanted = (unit.T if across else unit) * one.exposure / FULL
        done = replay(write(path, MACHINE), MACHINE, target.shape, PIXEL, full=FULL)
        np.testing.assert_allclose(done.dose, wanted, rtol=0.0, atol=0.01 * wanted.max())


def test_the_recipe_searches_with_the_spot_of_the_machine() -> None:
    """Contours by the smaller diameter, lines of a raster by the one across them; the report names both."""
    target = np.zeros((60, 60))
    target[10:50, 10:50] = 1.0
    picture = recipe.Picture('{ kind = "disc" }', target)
    text = recipe.text(picture, MACHINE)
    assert 'waist = "30 um"\naspect = 2.5\n' in text
    assert 'pitch = "66 um"' in text
    assert 'pitch = "150 um"' in recipe.text(picture, MACHINE, start="raster")
    assert "aspect" not in recipe.text(picture, replace(MACHINE, spot=(1e-4, 1e-4)))
    assert ("spot, 1/e² diameter", "60 x 150 µm") in limits(MACHINE)
