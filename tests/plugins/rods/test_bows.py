"""Rods whose ends a rod of fixed length ties, a constraint: Euler's bow at rest, and in motion."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipe, ellipk

import minusgrad as mg
from tests.support.laws import fitted_order
from tests.support.rods import YOUNG, places, rod_scene

THIN = {"kind": "circle", "radius": 2e-3}
EI = YOUNG * np.pi * 2e-3**4 / 4.0
ANGLE = 2.0
"""rad, of the arc of 1 m that the bow begins as."""


def bow(n: int, stepper: dict[str, Any], **blocks: Any) -> mg.Simulation:
    """A straight rod of n elements, bent to an arc whose chord is kept: it is free in space but for it."""
    state = {
        "kind": "rod_circle",
        "elements": n,
        "section": THIN,
        "angle": ANGLE,
        "radius": 0.5 / n / np.sin(0.5 * ANGLE / n),
    }
    scene = rod_scene(
        state | {"natural": "straight"},
        {"clamps": []},
        stepper,
        hold=[{"body": "first", "field": "x"}],
        constraint=[{"kind": "rod", "name": "string", "tuples": [[0, n]], "length": chord(n)}],
    )
    return mg.load(scene | blocks)


def chord(n: int) -> float:
    """The distance of the ends of the arc."""
    return float(np.sin(0.5 * ANGLE) / n / np.sin(0.5 * ANGLE / n))


def euler_tension(length: float) -> float:
    """The force between the ends of an elastica of 1 m that are this far apart: 2 E / K - 1, P = 4 K^2 EI."""
    m = brentq(lambda m: 2.0 * ellipe(m) / ellipk(m) - 1.0 - length, 1e-6, 0.9)
    return float(4.0 * ellipk(m) ** 2 * EI)


def test_a_string_between_the_ends_bears_eulers_force() -> None:
    """The reaction of the hinge is the string's: along it, of second order."""
    errors = []
    for n in (10, 20, 40):
        made = bow(n, {"kind": "newton"})
        made.step(60)
        stepper: Any = made.stepper
        assert not stepper.failed, stepper.verdict
        x = places(made)
        along = (x[-1] - x[0]) / chord(n)
        assert np.linalg.norm(along) == pytest.approx(1.0, abs=1e-12)
        force = made.potential.gradient("x")[-1]
        assert np.abs(force + force @ -along * along).max() < 1e-6 * np.abs(force).max()
        errors.append(abs(abs(force @ along) / euler_tension(chord(n)) - 1.0))
    assert errors[-1] < 2e-3
    assert abs(fitted_order(errors, (10, 20, 40)) - 2.0) < 0.1


def test_a_bow_that_swings_keeps_its_string() -> None:
    """By leapfrog along the constraint, in f64 and f32."""
    weight = [{"kind": "body_force", "acceleration": [0.0, 0.0, -9.81]}]
    last = []
    for precision, close in (("f64", 1e-12), ("f32", 1e-6)):
        more: dict[str, Any] = {"energy": weight, "runtime": {"precision": precision}}
        made = bow(8, {"kind": "leapfrog", "dt": 2e-4}, **more)
        made.step(50)
        x = places(made).astype(np.float64)
        assert abs(np.linalg.norm(x[-1] - x[0]) / chord(8) - 1.0) < close
        last.append(x)
    assert np.abs(last[1] - last[0]).max() < 1e-5
    assert np.ptp(last[0][:, 2]) > 1e-4
