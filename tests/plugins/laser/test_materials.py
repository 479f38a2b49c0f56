"""Materials against formulas of SciPy and NumPy."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from minusgrad import Fields, Potential, bind
from minusgrad_laser.materials.responses import sigmoid_threshold

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
