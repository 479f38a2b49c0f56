"""The raster that a search is compared with: its scores and its seconds against the replay of its file."""

from dataclasses import replace

import numpy as np
import pytest

from minusgrad_laser.jobs import gcode
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.scores import intersection_over_union
from minusgrad_laser.search import baseline as raster
from minusgrad_laser.search.baseline import baseline
from minusgrad_laser.search.recipe import Exposure
from minusgrad_laser.virtual_machine import replay

PROFILE = Profile("engraver", lines_per_second=500.0)


def letter() -> np.ndarray:
    """An O 1 mm high, of a stroke about 0.25 mm wide."""
    y, x = np.mgrid[:64, :56]
    r = np.hypot((x - 27.0) / 18.0, (y - 31.0) / 26.0)
    return ((r > 0.4) & (r < 1.0)).astype(float)


@pytest.fixture(scope="module")
def found() -> raster.Baseline:
    return baseline(letter(), PROFILE, pitches=(0.5, 0.8, 1.0, 1.2), insets=(0.0, 0.2))


def test_the_fastest_within_a_hundredth_of_the_best_is_chosen(found: raster.Baseline) -> None:
    good = [one for one in found.table if one.score >= found.best - 0.01]
    assert len(good) > 3
    assert found.chosen.seconds == min(one.seconds for one in good)
    assert found.best > found.chosen.score > 0.9
    slowest = max(one.seconds for one in good)
    assert found.chosen.seconds < 0.95 * slowest
    assert all(np.isnan(one.seconds) for one in found.table if one not in good)


def test_its_score_and_its_seconds_are_those_of_the_replay(found: raster.Baseline) -> None:
    done = replay(gcode.write(found.path, PROFILE), PROFILE, (64, 56), full=2.5e5)
    chosen = found.chosen
    assert done.violations == ()
    assert done.seconds == pytest.approx(chosen.seconds, rel=1e-12)
    assert intersection_over_union(done.dose > 0.5, letter()) == pytest.approx(chosen.score, abs=4e-3)


def test_its_dose_is_that_of_the_replay(found: raster.Baseline) -> None:
    chosen, target = found.chosen, letter() > 0.5
    lines = raster._offset_lines(
        target.T if chosen.across else target, chosen.pitch / 2e-5, chosen.offset / 2e-5
    )
    shape = target.T.shape if chosen.across else target.shape
    dose = raster._line_dose(lines, shape, chosen.inset / 2e-5, 2e-5, 5e-5, 5e-5) * chosen.exposure / 2.5e5
    fine = replace(PROFILE, bits=16)
    done = replay(gcode.write(found.path, fine), fine, (64, 56), full=2.5e5).dose
    done = done.T if chosen.across else done
    assert np.abs(done - dose).sum() < 0.01 * dose.sum()


def test_scores_of_all_levels_at_once_are_those_one_by_one() -> None:
    rng = np.random.default_rng(0)
    dose, target, levels = rng.random((20, 30)), rng.random((20, 30)) < 0.3, np.array([0.9, 0.6, 0.25, 0.01])
    expected = [((dose > c) & target).sum() / ((dose > c) | target).sum() for c in levels]
    assert raster._level_scores(dose, levels, target) == pytest.approx(expected)


def test_lines_across_are_those_along_of_the_picture_turned() -> None:
    few = {"pitches": (0.8,), "insets": (0.0,)}
    one, turned = (baseline(picture, PROFILE, **few) for picture in (letter(), letter().T))
    assert sorted(r.score for r in one.table) == pytest.approx(sorted(r.score for r in turned.table))
    assert one.chosen.seconds == pytest.approx(turned.chosen.seconds, rel=1e-6)


def test_a_material_that_needs_more_is_drawn_slower() -> None:
    few = {"pitches": (0.8,), "insets": (0.0,)}
    usual, hard = (baseline(letter(), PROFILE, Exposure(full), **few).chosen for full in (2.5e5, 2.5e6))
    assert hard.exposure / usual.exposure > 5.0
    assert hard.speed < 0.4 * usual.speed
    assert hard.seconds > usual.seconds
