"""Steps of RATTLE in one kernel: against single launches, and their bits where steps are cut or divided."""

import numpy as np
import pytest

from minusgrad.engine.kernels import Code
from minusgrad.errors import MiscompiledError
from minusgrad.plugin import Integrator
from minusgrad.steppers.constrained.constrained_moves import ConstrainedMoves
from minusgrad.steppers.constrained.constraint_loops import ConstraintLoops
from minusgrad_elastic.rods import rod
from tests.support.mechanisms import PIVOT, mechanism, state, violation, weight

RODS = 20


def chain(dt: float = 2e-3, precision: str = "f64", speed: float = 0.0) -> Integrator:
    """A chain that hangs askew at its first node; `speed` of its last node across the last rod."""
    angle = 0.5 + 0.3 * np.arange(RODS)
    steps = 0.1 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    x = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    v = np.zeros_like(x)
    v[-1] = speed * np.array([-np.sin(angle[-1]), np.cos(angle[-1])])
    ends = np.stack([np.arange(RODS), np.arange(1, RODS + 1)], axis=1)
    rods = [(rod, {"tuples": ends, "data": {"length": 0.1}})]
    weights = [(weight, {"parameters": {"g": 9.81}})]
    m, more = 0.1 + 0.01 * np.arange(RODS + 1), {"projected": ["rod"], "precision": precision}
    return mechanism(x, v, m, rods, dt, weights, "leapfrog", [PIVOT], **more)


def test_kernels_and_launches_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    one = chain()
    with monkeypatch.context() as patch:
        patch.setattr(ConstrainedMoves, "steps_in_kernels", lambda self: False)
        other = chain()
    assert one.fused
    assert not other.fused
    for stepper in (one, other):
        stepper.advance(100)
    np.testing.assert_allclose(state(one), state(other), atol=1e-10)
    assert one.multipliers is not None
    np.testing.assert_allclose(one.multipliers, other.multipliers, rtol=1e-8, atol=1e-8)
    assert violation(one) < 1e-15


@pytest.mark.parametrize("precision", ["f64", pytest.param("f32", marks=pytest.mark.long)])
def test_bits_do_not_depend_on_cuts_and_resumption(precision: str) -> None:
    one, other = chain(precision=precision), chain(precision=precision)
    one.advance(20)
    for n in (1, 4, 2):
        other.advance(n)
    again, saved = chain(precision=precision), other.state()
    for field, values in zip(("x", "v"), state(other), strict=True):
        again.potential.fields[field].set(values)
    again.restore(saved)
    again.advance(13)
    np.testing.assert_array_equal(state(one), state(again))


def test_a_run_goes_on_after_a_divided_step_with_the_same_bits() -> None:
    """The last rod turns too far for the factors of one place: launches take these steps, or parts."""
    one, other = chain(dt=5e-3, speed=40.0), chain(dt=5e-3, speed=40.0)
    one.advance(8)
    assert one.events()
    other.advance(2)
    saved, again = other.state(), chain(dt=5e-3)
    for field, values in zip(("x", "v"), state(other), strict=True):
        again.potential.fields[field].set(values)
    again.restore(saved)
    again.advance(6)
    np.testing.assert_array_equal(state(one), state(again))
    assert violation(one) < 1e-15


def test_a_kernel_that_computes_another_jacobian_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ConstraintLoops.rows

    def damaged(self: ConstraintLoops) -> Code:
        code = real(self)
        return Code(code.text.replace(" = g\n", " = g * ti.f64(1.01)\n", 1), code.arrays)

    monkeypatch.setattr(ConstraintLoops, "rows", damaged)
    with pytest.raises(MiscompiledError, match="the kernel of constraints has a Jacobian that is"):
        chain()
