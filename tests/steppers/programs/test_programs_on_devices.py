"""Programs on a device: states and gradients of the CPU to rounding, bits twice the same, no copies."""

import numpy as np
import pytest

from minusgrad.engine import runtime
from minusgrad.engine.kernels import BoundKernel
from minusgrad.engine.storage import Crossings
from tests.steppers.programs.test_serial_steps import (
    Made,
    bits,
    gradient,
    held_chain,
    table,
)
from tests.support.devices import needed, on

pytestmark = needed


@table()
def test_runs_are_those_of_the_cpu(row: tuple[Made, str]) -> None:
    """30 steps, and the derivatives of losses by states and parameters."""
    made, precision = row
    runtime.start()
    paper = gradient(made, precision)
    with on():
        assert made(precision).fused
        found, again = gradient(made, precision), gradient(made, precision)
    assert bits(found) == bits(again)
    for one, other in zip(found, paper, strict=True):
        bound = 1e-12 if precision == "f64" else 2e-4
        np.testing.assert_allclose(one, other, bound, bound * np.abs(other).max())


def test_a_step_is_one_launch_and_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call copies one number, the flag of finite numbers."""
    runtime.start()
    paper = held_chain("f64")
    paper.advance(7)
    with on():
        one = held_chain("f64")
        one.advance(1)
        launched, crossed = [], Crossings.count()
        launch = BoundKernel._launch
        monkeypatch.setattr(
            BoundKernel, "_launch", lambda self, *s: (launched.append(self), launch(self, *s))[1]
        )
        one.advance(6)
        assert np.subtract(Crossings.count(), crossed).tolist() == [1, 0]
        assert len(launched) == 6 + 1
        for field, other in zip(one.moving, paper.moving, strict=True):
            np.testing.assert_allclose(field.values, other.values, 1e-13)
