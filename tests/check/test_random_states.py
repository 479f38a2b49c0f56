"""Random states near a given one."""

import numpy as np
import pytest

from minusgrad.check.random_states import random_state_near


def test_the_displacement_is_halved_until_it_is_accepted() -> None:
    start, sizes = {"x": np.ones((5, 2)), "m": np.full(3, 7.0)}, {"x": 1.0, "m": 2.0}
    whole = random_state_near(start, sizes, np.random.default_rng(0))
    near = random_state_near(start, sizes, np.random.default_rng(0), lambda s: np.ptp(s["x"]) < 0.5)
    assert np.ptp(whole["x"]) > 0.5 > np.ptp(near["x"]) > 0.125
    part = (near["m"] - 7.0) / (whole["m"] - 7.0)
    assert np.log2(part[0]) == pytest.approx(round(np.log2(part[0])), abs=1e-9)
    np.testing.assert_allclose((near["x"] - 1.0) / (whole["x"] - 1.0), part[0], rtol=1e-9)
    assert (start["x"] == 1.0).all()
