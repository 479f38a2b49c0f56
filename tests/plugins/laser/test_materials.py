"""Materials against formulas of SciPy and NumPy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import correlate1d
from scipy.special import expit, ive

from minusgrad import Fields, Potential, bind, bind_staged
from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import UserError
from minusgrad.scene.units import UnitSystem
from minusgrad_laser.materials.blur import blur, open_blur
from minusgrad_laser.materials.measured_depths import DepthTable
from minusgrad_laser.materials.response_table import depth_table
from minusgrad_laser.materials.responses import linear_response, sigmoid_threshold
from tests.support.energies import readout

DOSES = np.linspace(-0.5, 1.5, 41)


def developed(made: Any, dose: np.ndarray, precision: str = "f64", **parameters: Any) -> np.ndarray:
    fields = Fields({"dose": dose}, precision=precision)
    Potential(fields, [], [bind(made, fields, parameters=parameters)]).refresh()
    return fields["developed"].values.copy()


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_sigmoid_threshold_is_the_logistic_function(precision: str):
    near = 1e-15 if precision == "f64" else 2e-7
    found = developed(sigmoid_threshold, DOSES, precision)
    assert found == pytest.approx(expit(5.0 * (DOSES - 0.5)), abs=near)
    found = developed(sigmoid_threshold, DOSES, precision, steepness=20.0, threshold=0.3)
    assert found == pytest.approx(expit(20.0 * (DOSES - 0.3)), abs=4.0 * near)


def test_doses_far_from_the_threshold_are_finite():
    assert developed(sigmoid_threshold, np.array([-1e6, 0.5, 1e6])).tolist() == [0.0, 0.5, 1.0]


def test_the_linear_response():
    found = developed(linear_response, DOSES, gain=1.3, offset=-0.1)
    assert found == pytest.approx(1.3 * DOSES - 0.1, abs=1e-15)
    assert developed(linear_response, DOSES).tolist() == DOSES.tolist()


# Blur --------------------------------------------------------------------------------------------------

ROWS, COLUMNS, PIXEL = 23, 31, 0.8


def blurred(made: Any, dose: np.ndarray, width: float, precision: str = "f64") -> np.ndarray:
    return potential_of(made, dose, width, precision).fields["blurred"].values.reshape(dose.shape).copy()


def potential_of(made: Any, dose: np.ndarray, width: float, precision: str = "f64") -> Potential:
    """U = sum of lean B + B^2 / 2."""
    lean = np.random.default_rng(3).normal(size=dose.size)
    fields = Fields({"dose": dose.ravel(), "lean": lean}, precision=precision)
    data = {"canvas_cells": dose.shape, "pixel": PIXEL}
    term = bind_staged(made, fields, data=data, parameters={"width": width})
    potential = Potential(fields, [bind(readout, fields, renamed={"y": "blurred"})], [term])
    potential.refresh()
    return potential


def weights(width: float, far: int) -> np.ndarray:
    """Of cells up to `far` apart: Lindeberg's, by SciPy's Bessel functions."""
    t = (width / PIXEL) ** 2
    return ive(np.abs(np.arange(-far, far + 1)), t)


def by_weights(dose: np.ndarray, width: float, closed: bool) -> np.ndarray:
    """One axis after the other, over a canvas that is mirrored, or zero, beyond its rim."""
    far = dose.size
    found = np.pad(dose, far, mode="symmetric" if closed else "constant")
    for axis in (0, 1):
        found = correlate1d(found, weights(width, far // 2), axis=axis, mode="constant")
    return found[far:-far, far:-far]


@pytest.mark.parametrize(("made", "closed"), [(blur, True), (open_blur, False)])
@pytest.mark.parametrize("width", [0.3, 1.7, 5.0])
def test_a_blur_against_its_weights(made: Any, closed: bool, width: float):
    dose = np.random.default_rng(1).uniform(size=(9, 13))
    expected = by_weights(dose, width, closed)
    assert blurred(made, dose, width) == pytest.approx(expected, abs=1e-14)
    assert blurred(made, dose, width, "f32") == pytest.approx(expected, abs=1e-6)
    if closed:
        assert expected.sum() == pytest.approx(dose.sum(), rel=1e-13)
    else:
        assert expected.sum() < 0.98 * dose.sum()


@pytest.mark.parametrize("made", [blur, open_blur])
def test_a_wide_blur_is_a_gaussian_and_none_changes_nothing(made: Any):
    dose = np.zeros((101, 101))
    dose[50, 50] = 1.0
    width, x = 8.0, (np.arange(101) - 50) * PIXEL
    gauss = np.exp(-0.5 * (x / width) ** 2) * PIXEL / (width * np.sqrt(2.0 * np.pi))
    assert blurred(made, dose, width) == pytest.approx(np.outer(gauss, gauss), abs=4e-3 * gauss.max() ** 2)
    spread = blurred(made, dose, 2.0)
    assert (spread.sum(axis=0) * x**2).sum() == pytest.approx(4.0, rel=1e-9)
    assert spread.min() > -1e-16
    assert blurred(made, dose, 0.0) == pytest.approx(dose, abs=1e-15)


@pytest.mark.parametrize("made", [blur, open_blur])
def test_derivatives_of_a_blur(made: Any):
    """By dose and by width against differences of the value; products against those of the gradient."""
    rng = np.random.default_rng(2)
    dose, direction, width, h = rng.normal(size=(5, 7)), rng.normal(size=(5, 7)), 1.1, 1e-4

    def value(step: float, wider: float = 0.0) -> float:
        return potential_of(made, dose + step * direction, width + wider).value()

    potential = potential_of(made, dose, width)
    slope = (value(h) - value(-h)) / (2.0 * h)
    assert potential.gradient("dose") @ direction.ravel() == pytest.approx(slope, rel=1e-8)
    slope = (value(0.0, h) - value(0.0, -h)) / (2.0 * h)
    assert float(potential.gradient(f"{made.name}.width")) == pytest.approx(slope, rel=1e-7)
    ahead, behind = (potential_of(made, dose + s * direction, width).gradient("dose") for s in (h, -h))
    product = potential.product({"dose": direction.ravel()}, "dose")
    assert product == pytest.approx((ahead - behind) / (2.0 * h), abs=1e-8)


# A measured response -----------------------------------------------------------------------------------

CURVE = "dose, depth\n0.2, 0\n0.5, 2\n0.6, 9\n1.1, 14\n2.0, 14\n"


def response(text: str, **more: Any) -> np.ndarray:
    context = StateContext(UnitSystem(), 0, Path(), attached={"depth.csv": text.encode()})
    return DepthTable(file="depth.csv", **more).samples(context)


def read(text: str, doses: np.ndarray, precision: str = "f64", **more: Any) -> np.ndarray:
    fields = Fields({"dose": doses}, precision=precision)
    bound = bind(depth_table, fields, tables={"response": response(text, **more)})
    Potential(fields, [], [bound]).refresh()
    return fields["developed"].values.astype(float)


def test_a_measured_response_goes_through_its_rows_and_never_falls():
    rows = np.array([0.2, 0.5, 0.6, 1.1, 2.0])
    assert read(CURVE, rows, full=10.0) == pytest.approx([0.0, 0.2, 0.9, 1.4, 1.4], abs=1e-5)
    fine = np.linspace(-0.5, 3.0, 20001)
    for precision, near in (("f64", 1e-5), ("f32", 1.2e-5)):
        found = read(CURVE, fine, precision)
        of_scipy = PchipInterpolator(rows, np.array([0.0, 2.0, 9.0, 14.0, 14.0]) / 14.0)
        assert found == pytest.approx(of_scipy(np.clip(fine, 0.2, 2.0)), abs=near)
        assert np.diff(found).min() >= -1e-6 * (precision == "f32")
    assert (found[fine < 0.2] == 0.0).all()
    assert found[fine > 2.0] == pytest.approx(1.0, abs=1e-6)


def test_the_slope_of_a_measured_response_is_that_of_its_curve():
    doses = np.array([0.1, 0.33, 0.55, 0.7, 0.9, 1.6, 2.5])
    fields = Fields({"dose": doses, "lean": np.zeros(7)})
    bound = bind(depth_table, fields, tables={"response": response(CURVE)})
    potential = Potential(fields, [bind(readout, fields, renamed={"y": "developed"})], [bound])
    value = read(CURVE, doses)
    h = 1e-6
    slope = (read(CURVE, doses + h) - read(CURVE, doses - h)) / (2.0 * h)
    assert potential.gradient("dose") == pytest.approx(value * slope, abs=1e-8)
    assert (slope[1:5] > 0.1).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dose,depth\n0,0\n", "depth.csv: needs two rows or more, got 1; add rows"),
        (
            "dose,depth\n0,0\n1,2\n1,3\n",
            "depth.csv:4: column 'dose': must grow, got 1 after 1; sort the rows, each with",
        ),
        (
            "dose,depth\n0,0\n1,3\n2,2\n",
            "depth.csv:4: column 'depth': must not fall, got 2 after 3; correct it",
        ),
        (
            "dose,depth\n0,0\n1,0\n",
            "depth.csv: column 'depth': must grow to more than 0, got 0 to 0; nothing is developed",
        ),
        ("dose,deep\n0,0\n1,1\n", "depth.csv: no column named 'depth'"),
    ],
)
def test_a_response_that_is_no_curve_is_refused(text: str, message: str):
    with pytest.raises(UserError) as error:
        response(text)
    assert str(error.value).startswith(message)
