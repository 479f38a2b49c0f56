"""The members of a process window against NumPy, and what its block refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from minusgrad.app.runs import build
from minusgrad.errors import SceneError

SCENES = Path(__file__).parents[3] / "scenes"
SMALL = ["state.canvas.size=[20, 24]"]


def window(**changes: Any) -> Any:
    given = [f"compound.0.{key}={value}" for key, value in changes.items()]
    return build(SCENES / "process_window.toml", [*SMALL, *given])


def spread_spot(at: tuple[np.ndarray, np.ndarray], begin: np.ndarray, end: np.ndarray, waist: float) -> Any:
    """The mean over a segment of the spot k, by Gauss's rule of 60 points."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    mean = 0.0
    for s, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        x, y = begin + s * (end - begin)
        mean = mean + weight * np.exp(-2.0 * ((at[0] - x) ** 2 + (at[1] - y) ** 2) / waist**2)
    return mean * 2.0 / (np.pi * waist**2)


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_the_members_are_the_losses_at_their_dose_and_focus(loss: str):
    made = window(loss=f'"{loss}"')
    fields = {name: field.values.astype(float) for name, field in made.fields.items()}
    x, y, power, speed = (fields[name] for name in ("x", "y", "power", "speed"))
    rows, columns = np.indices((24, 20)) * 20.0  # um
    path, found = np.stack([x, y], axis=1), made.potential.by_term()
    expected = {}
    for i, z in enumerate((0.0, 800.0), 1):
        waist, dose = 50.0 * np.sqrt(1.0 + (z / 1000.0) ** 2), np.zeros((24, 20))
        for k in range(1, len(x)):
            time = np.hypot(*(path[k] - path[k - 1])) / speed[k]
            dose += power[k] * time * spread_spot((columns, rows), path[k - 1], path[k], waist)
        for j, error in enumerate((-0.05, 0.0, 0.05), 1):
            exposure = (1.0 + error) * dose / made.units.convert("2.5e5 J/m^2", "J m^-2")
            off = np.abs(expit(5.0 * (exposure - 0.5)).ravel() - fields["target"])
            expected[f"window_{i}_{j}"] = np.mean(off if loss == "l1" else off**2) / 6.0
    assert found == pytest.approx(expected, rel=1e-5)
    assert made.potential.value() == pytest.approx(sum(expected.values()), rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dose": "[-1.0]"}, "needs a number above -1"),
        ({"focus": "[]"}, "at least 1"),
        ({"fields": '{ dose = "d" }'}, "fields: needs arguments of its members, got 'dose'; known are x, y"),
        ({"full": '"0 J/m^2"'}, "needs a quantity above 0"),
    ],
)
def test_a_window_that_is_none_is_refused(changes: dict[str, str], message: str):
    with pytest.raises(SceneError) as error:
        window(**changes)
    assert message in str(error.value)
    assert "compound.0" in str(error.value) or "process_window.toml:" in str(error.value)
