"""Members on a device: the numbers of the CPU, and no copies between saves but one flag for each member."""

import numpy as np
import pytest

from minusgrad.engine.storage import Crossings
from minusgrad.steppers.members.integrator_lanes import IntegratorLanes
from tests.support.devices import needed, on
from tests.support.kepler import two_bodies

pytestmark = needed
COUNT = 5


def started() -> IntegratorLanes:
    """Members of two bodies, each displaced by another length, which took a step."""
    lanes = IntegratorLanes(two_bodies("leapfrog", 0.1), COUNT)
    state = lanes.state()
    state["fields/x"] += 0.01 * np.arange(COUNT)[:, None, None] * np.array([[1.0, 0.0], [0.0, -1.0]])
    lanes.restore(state)
    lanes.evaluate(0.0)
    lanes.advance(0, 1)
    return lanes


def test_members_stay_on_the_device() -> None:
    paper = started()
    paper.advance(1, 7)
    paper.advance(8, 2)
    with on():
        lanes = started()
        lanes.finite()
        before = Crossings.count()
        lanes.advance(1, 7)
        assert Crossings.count() == before
        assert lanes.finite().all()
        lanes.advance(8, 2)
        assert np.subtract(Crossings.count(), before).tolist() == [1, 0]
        found = lanes.state()
    for name, values in paper.state().items():
        np.testing.assert_allclose(found[name], values, rtol=0.0, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_member_that_is_not_finite_is_found_and_can_be_replaced(wrong: float) -> None:
    with on():
        lanes = started()
        state = lanes.state()
        state["fields/v"][3, 1, 0] = wrong
        lanes.put_rows(state, np.array([3]))
        assert lanes.finite().tolist() == [True, True, True, False, True]
        lanes.reveal(0)
        x = lanes.integrator.potential.fields["x"].values
        np.testing.assert_array_equal(x, state["fields/x"][0])
        state["fields/v"][3] = state["fields/v"][0]
        lanes.put_rows(state, np.array([3]))
        assert lanes.finite().all()
        lanes.capture(3)
        lanes.advance(1, 1)
        moved = lanes.state()["fields/x"]
        assert (moved != state["fields/x"]).any(axis=(1, 2)).all()
