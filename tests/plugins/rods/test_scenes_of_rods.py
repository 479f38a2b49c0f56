"""The claims of the scenes with rods."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import minusgrad as mg
from tests.plugins.rods.test_stability import greenhill_moment
from tests.plugins.rods.test_statics import elastica
from tests.support.sagging_strip import ANGLE, YOUNG

SCENES = Path(__file__).parents[3] / "scenes"


def test_euler_elastica():
    """0.8106 m below and 0.4450 m beside the clamp, off by 0.3 mm."""
    made = mg.load(SCENES / "euler_elastica.toml")
    made.step(8)
    tip = made.fields["x"].values[-1]
    down, along = elastica(10.0)
    assert abs(down - 0.8106) < 5e-5
    assert abs(along - 0.4450) < 5e-5
    assert np.hypot(-tip[2] - down, tip[0] - along) < 3.3e-4


def pulled_side(load: float) -> tuple[float, float]:
    """Height and width of a rod of length 1, at 45 degrees at its start to a force F L^2 / EI on its end."""

    def end_of(angle: float) -> np.ndarray:
        def slope(s, y):
            return [y[1], load * np.sin(y[0]), np.cos(y[0]), np.sin(y[0])]

        return solve_ivp(slope, (0.0, 1.0), [angle, 0.0, 0.0, 0.0], rtol=1e-12, atol=1e-14).y[:, -1]

    angle = brentq(lambda angle: end_of(angle)[0] - np.pi / 4.0, 1e-9, np.pi / 4.0)
    return float(end_of(angle)[2]), float(end_of(angle)[3])


def test_diamond_frame():
    """1.8528 m high and 0.6678 m wide, each within 1 mm: both sides of each half are as the equation says."""
    made = mg.load(SCENES / "diamond_frame.toml")
    made.step(4)
    assert not made.stepper.failed, made.stepper.verdict
    _, right, above, left = made.fields["x"].values[:4]
    height, width = (2.0 * part for part in pulled_side(5.0))
    assert abs(height - 1.8528) < 5e-5
    assert abs(width - 0.6678) < 5e-5
    assert abs(above[2] - height) < 1e-3
    assert abs(right[0] - left[0] - width) < 1e-3
    assert abs(above[0]) < 1e-9


def test_twisted_rod():
    """A limit point at 15.630 rad, 0.08 % below Greenhill's critical twist, then the middle coils aside."""
    made = mg.load(SCENES / "twisted_rod.toml")
    made.step(55)
    (point,) = made.stepper.points
    greenhill = greenhill_moment(10.0) * 1.5
    assert abs(greenhill - 15.643) < 1e-3
    assert abs(20.0 * point.load - 15.630) < 1e-3
    assert abs(20.0 * point.load / greenhill - 1.0) < 1e-3
    x = made.fields["x"].values
    assert np.hypot(*x[20, 1:]) > 0.1
    assert x[-1, 0] < 0.9


def test_hanging_spring():
    """6.98 mm, 0.7 % below W / (2 k) of close turns."""
    made = mg.load(SCENES / "hanging_spring.toml")
    made.step(5)
    wire, radius, turns = 0.3e-3, 0.02, 10.0
    length = turns * np.hypot(2.0 * np.pi * radius, 0.006)
    weight = 7850.0 * np.pi * wire**2 * length * 9.80665
    shear = 200e9 / 2.6
    close = weight / (2.0 * shear * (2.0 * wire) ** 4 / (8.0 * (2.0 * radius) ** 3 * turns))
    sinks = -made.fields["x"].values[-1, 2] - 0.06
    assert abs(close - 7.03e-3) < 5e-6
    assert abs(sinks - 6.98e-3) < 5e-6


def test_buckling_ring():
    """Above Michell's twist the ring leaves its plane: 13 cm high after 1.2 s, 0.8 of its radius."""
    michell = 2.0 * np.pi * np.sqrt(3.0) * 1.5
    assert abs(michell - 16.32) < 5e-3
    made = mg.load(SCENES / "buckling_ring.toml")
    height = np.ptp(made.fields["x"].values[:, 2])
    assert abs(height - 2e-3) < 1e-9
    made.step(200)
    height = np.ptp(made.fields["x"].values[:, 2])
    assert abs(height - 0.13) < 0.01
    assert abs(height * 2.0 * np.pi - 0.8) < 0.07


def estimate(fit, name: str):
    return next(p for p in fit.estimates.parameters if p.name == name)


@pytest.mark.long
def test_strip_from_photo(tmp_path):
    """10 MPa and 25 degrees within 2.5 standard errors, E to 1 %."""
    fit = mg.fit(SCENES / "strip_from_photo.toml", out=tmp_path / "fit")
    assert fit.outcome == "settled"
    young, angle = estimate(fit, "rod.youngs_modulus"), estimate(fit, "rod_first.angle")
    assert abs(young.values[0] - YOUNG) < 2.5 * young.errors[0] < 0.0125 * YOUNG
    assert abs(angle.values[0] - ANGLE) < 2.5 * angle.errors[0]
