"""A search with two photons lights moves that are dark, by `even_power`; without it they stay dark."""

from pathlib import Path

import pytest

import minusgrad

SCENE = """title = "Dark moves"
plugins = ["laser"]

[units]
length = "um"
mass = "kg"
time = "ms"

[state]
kind = "laser_path"
canvas = {{ size = [24, 24], pixel = "0.1 um" }}
target = {{ kind = "disc", radius = "0.7 um" }}
path = {{ kind = "hatch", pitch = "0.3 um", spacing = "0.3 um" }}
power = "0 mW"
speed = "10 mm/s"
{even}
[[map]]
kind = "gaussian_beam_dose"
{fields}waists = ["0.25 um", "0.25 um"]
rayleigh = "0.4 um"
exponent = {n}
reference = "2e11 W/m^2"
full = "4.5e6 J/m^2"

[[energy]]
kind = "dose_l2"

[stepper]
kind = "adam"
rate = 0.1

[stepper.fields]
power = {{ scale = "15 mW", lower = "0 mW", upper = "50 mW" }}

[run]
steps = 40
"""
EVEN = """
[[map]]
kind = "even_power"
exponent = {n}
reference = "15 mW"
"""


def largest_dose(folder: Path, n: float, even: bool, precision: str) -> tuple[float, float]:
    """Of a search that begins in the dark, and its mean square of dose minus target in parts of the first."""
    text = SCENE.format(
        n=n, even=EVEN.format(n=n) if even else "", fields='fields = { power = "even" }\n' if even else ""
    )
    file = folder / "scene.toml"
    file.write_text(text)
    built = minusgrad.build(file, {"runtime.precision": precision})
    built.stepper.begin()
    first = built.stepper.energy
    built.stepper.advance(40)
    return float(built.fields["dose"].values.max()), float(built.stepper.energy / first)


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("n", [2.0, 3.0])
def test_dark_moves_are_lit(n: float, precision: str, tmp_path: Path):
    dose, left = largest_dose(tmp_path, n, True, precision)
    assert dose > 0.5
    assert left < 0.5


def dark_slope(folder: Path, even: bool) -> float:
    """The largest |dU/dP| of a move in the dark."""
    text = SCENE.format(
        n=2.0, even=EVEN.format(n=2.0) if even else "", fields='fields = { power = "even" }\n' if even else ""
    )
    file = folder / f"scene_{even}.toml"
    file.write_text(text)
    built = minusgrad.build(file, {"runtime.precision": "f64"})
    return float(abs(built.potential.gradient("power", 0.0)).max())


def test_a_dark_move_has_a_slope_by_what_is_sought_alone(tmp_path: Path):
    assert dark_slope(tmp_path, False) < 1e-20 * dark_slope(tmp_path, True)
