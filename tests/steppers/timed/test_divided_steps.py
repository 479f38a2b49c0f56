"""The journal's record of divided steps."""

import pytest

from minusgrad.steppers.timed.divided_steps import DividedSteps

pytestmark = pytest.mark.unit


def test_steps_are_reported_once_and_those_taken_again_count_once() -> None:
    """As in a fit, which runs the same steps at each of its points."""
    divided = DividedSteps()
    assert divided.report() == []
    for _ in range(3):
        divided.add(2, 4)
        divided.add(5, 2)
    assert divided.report() == [{"event": "substeps", "steps": [[2, 4], [5, 2]]}]
    assert divided.report() == []
