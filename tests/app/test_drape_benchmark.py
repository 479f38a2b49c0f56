"""The cloth of the benchmark `drape`: forces of C and ours are those of NumPy, steps solve their equation."""

import shutil

import numpy as np
import pytest
from benchmarks import cloth_in_c, drape
from benchmarks.cloth import Cloth
from benchmarks.harness import cases

from minusgrad_shells.bending import fold_angles

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not on the PATH")
PARTS = (5, 9)
"""90 triangles and 121 hinges: the last registers are not full."""


def test_slopes_of_folds_are_differences() -> None:
    cloth, h = Cloth.of(PARTS).shaken(), 1e-6
    places, slopes = cloth.x[cloth.hinges], cloth.fold_slopes()
    for corner in range(4):
        for axis in range(3):
            ends = []
            for sign in (1.0, -1.0):
                moved = places.copy()
                moved[:, corner, axis] += sign * h
                ends.append(fold_angles(moved))
            assert np.abs((ends[0] - ends[1]) / (2.0 * h) - slopes[:, corner, axis]).max() < 1e-6


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_our_forces_are_those_of_numpy(precision: str) -> None:
    case = drape.gradient(PARTS, precision)
    found = drape.our_gradient(drape.shaken(PARTS, precision), precision)()
    assert case.expected
    assert cases.error(found, case.expected()) < case.tolerance


@needs_gcc
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_forces_in_c_are_those_of_numpy(precision: str, threads: int) -> None:
    case = drape.gradient(PARTS, precision)
    found = cloth_in_c.gradient(drape.shaken(PARTS, precision), precision, threads)()
    assert case.expected
    assert cases.error(found, case.expected()) < case.tolerance


@needs_gcc
def test_folds_of_all_angles_in_c() -> None:
    """Folds beyond a quarter of a turn and of both signs: all branches of its arc tangent."""
    cloth = Cloth.of(PARTS).shaken()
    cloth.x[:, 2] += 0.3 * np.random.default_rng(2).uniform(-1.0, 1.0, len(cloth.x))
    angles = fold_angles(cloth.x[cloth.hinges])
    assert angles.min() < -1.9
    assert angles.max() > 1.9
    expected = cloth.gradient()
    assert cases.error(cloth_in_c.gradient(cloth, "f64", 1)(), expected) < 1e-12


def test_steps_solve_their_equation() -> None:
    case = drape.steps(drape.QUICK)
    done = case.columns[cases.OURS].make()()
    assert done.seconds > 0.0
    assert np.abs(done.answer).max() < case.tolerance
