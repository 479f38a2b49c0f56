"""Slew of the power against its definition, a minimum over all moves; its gradient against differences."""

from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, bind_staged
from minusgrad_laser.machine.power_slew import power_slew

pytestmark = pytest.mark.exam
SLEW = 40.0


def given(rng: np.random.Generator, n: int = 30) -> dict[str, np.ndarray]:
    """Powers that jump, moves of a few milliseconds, strokes with travels between."""
    lit = (rng.random(n) < 0.85) * 1.0
    return {"power": rng.uniform(0.1, 1.0, n), "duration": rng.uniform(1e-3, 8e-3, n), "lit": lit}


def slow(power: np.ndarray, duration: np.ndarray, lit: np.ndarray, slew: float = SLEW) -> np.ndarray:
    """min over moves j of the same stroke of power_j + slew |time from middle to middle|."""
    found = np.array(power, dtype=float)
    for i in range(len(power)):
        for way in (1, -1):
            j, change = i, 0.0
            while 0 <= j + way < len(power) and lit[j] * lit[j + way] > 0.0:
                change += 0.5 * slew * (duration[j] + duration[j + way]) / (lit[j] * lit[j + way])
                j += way
                found[i] = min(found[i], power[j] + change)
    return found


def term(fields: dict[str, np.ndarray], precision: str = "f64") -> Any:
    return bind_staged(power_slew, Fields(fields, precision=precision), parameters={"slew": SLEW})


@pytest.mark.parametrize(("precision", "rounding"), [("f64", 1e-12), ("f32", 1e-5)])
def test_is_the_largest_power_that_the_laser_can_follow(precision: str, rounding: float):
    rng = np.random.default_rng(1)
    for _ in range(5):
        fields = given(rng)
        expected = slow(**fields)
        found = term(fields, precision).output_values()["drive"]
        np.testing.assert_allclose(found, expected, rtol=rounding)
        assert (expected < fields["power"] - 1e-3).sum() > 5
        assert found.min() >= fields["power"].min() * (1.0 - rounding)


def test_gradient_against_differences():
    rng = np.random.default_rng(2)
    fields = given(rng)
    fields["lit"] = np.where(fields["lit"] > 0.0, rng.uniform(0.6, 1.0, 30), 0.0)
    weights = rng.normal(size=30)
    bound = term(fields)
    bound.output_values()
    gradients = bound.gradients([*fields, "slew"], 0.0, {"drive": weights})
    for name, base in (fields | {"slew": np.array(SLEW)}).items():
        step = 1e-6 * float(np.abs(base).max())
        for place in np.ndindex(base.shape):
            if name == "lit" and base[place] == 0.0:
                continue
            ends = []
            for sign in (1.0, -1.0):
                moved = np.array(base)
                moved[place] += sign * step
                ends.append(float(weights @ slow(**(fields | {name: moved}))))
            difference = (ends[0] - ends[1]) / (2.0 * step)
            scale = float(np.abs(gradients[name]).max())
            assert gradients[name][place] == pytest.approx(difference, abs=1e-6 * scale), (name, place)


def test_moves_without_duration_have_the_power_of_their_neighbours_at_most():
    """No time, no change: and all derivatives are finite."""
    fields = {"power": np.array([1.0, 0.5, 0.8]), "duration": np.zeros(3), "lit": np.ones(3)}
    still = term(fields)
    assert still.output_values()["drive"].tolist() == [0.5] * 3
    found = still.gradients(list(fields), 0.0, {"drive": np.ones(3)})
    assert all(np.isfinite(values).all() for values in found.values())
    assert found["power"].tolist() == [0.0, 3.0, 0.0]
