"""Steps on a device: the numbers of the CPU to rounding, the same bits twice, and no copies in a step."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.engine import runtime
from minusgrad.engine.kernels import BoundKernel
from minusgrad.engine.storage import Crossings
from minusgrad.errors import NonFiniteError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.heat_bath import Bath
from minusgrad_gravity.gravity import gravity
from tests.steppers.magnetic.test_uniform_field import free
from tests.support.devices import needed, on
from tests.support.held_motions import swung
from tests.support.kepler import two_bodies
from tests.support.modulated_trap import trapped

pytestmark = needed


def warm(precision: str = "f64") -> Integrator:
    """Three bodies in a heat bath."""
    x = np.array([[1.0, 0.2], [-0.4, 0.9], [0.3, -1.1]])
    fields = Fields({"x": x, "v": 0.1 * x[::-1], "m": [1.0, 2.0, 0.5]}, precision=precision)
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.5})])
    return Integrator(
        System(potential, [Motion("x", "v", "m")], bath=Bath(0.4, 0.3, 7)), SCHEMES["leapfrog"], 0.02
    )


CASES: dict[str, tuple[Callable[[], Integrator], int]] = {
    "leapfrog": (lambda: two_bodies("leapfrog", 0.01), 100),
    "yoshida4": (lambda: two_bodies("yoshida4", 0.01), 30),
    "yoshida6": (lambda: two_bodies("yoshida6", 0.01), 10),
    "drifts at the ends": (lambda: two_bodies("blanes_moan_rkn4", 0.01), 10),
    "in f32": (lambda: two_bodies("leapfrog", 0.01, precision="f32"), 100),
    "explicit time": (lambda: trapped("leapfrog", 0.02), 30),
    "friction and supports": (lambda: swung("leapfrog"), 15),
    "heat bath": (warm, 20),
    "heat bath in f32": (lambda: warm("f32"), 20),
    "magnetic": (lambda: free(3, 0.7, "leapfrog"), 20),
}
MOVED = {"explicit time": "work", "friction and supports": "dissipated", "heat bath": "heat"}


def ran(name: str, fused: bool = True) -> dict[str, Any]:
    """The state after the steps of a case, with its balance."""
    made, steps = CASES[name]
    one = made()
    assert one.fused == fused
    one.advance(steps)
    return {field.name: field.values.copy() for field in one.moving} | one.balance | one.state()


def rows(names: Iterable[str], short: Sequence[str]) -> list[Any]:
    """The rows of a test; all but the short ones are long."""
    return [name if name in short else pytest.param(name, marks=pytest.mark.long) for name in names]


SHORT = ("drifts at the ends", "heat bath in f32")
"""Rows of the short tier: each compiles its kernels for both processors."""


@pytest.mark.parametrize("name", rows(CASES, SHORT))
def test_steps_are_those_of_the_cpu(name: str) -> None:
    runtime.start()
    paper = ran(name)
    with on():
        found, again = ran(name), ran(name)
    assert found.keys() == paper.keys()
    tolerance = 2e-5 if "f32" in name else 1e-12
    for key, values in paper.items():
        np.testing.assert_allclose(found[key], values, tolerance, tolerance, err_msg=key)
        np.testing.assert_array_equal(found[key], again[key], key)
    if name in MOVED:
        assert abs(paper[MOVED[name]]) > 1e-3


@pytest.mark.parametrize("name", rows(MOVED, ()))
def test_steps_move_by_move_are_those_of_the_cpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for elements that are rebuilt, maps and staged energies."""
    runtime.start()
    paper = ran(name)
    monkeypatch.setattr("minusgrad.steppers.integrator.LEAST_WORK", -1)
    with on():
        found, again = ran(name, fused=False), ran(name, fused=False)
    for key, values in paper.items():
        np.testing.assert_allclose(found[key], values, 1e-12, 1e-12, err_msg=key)
        np.testing.assert_array_equal(found[key], again[key], key)


@pytest.mark.parametrize("name", rows(("heat bath", "friction and supports"), ("heat bath",)))
def test_steps_move_by_move_copy_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minusgrad.steppers.integrator.LEAST_WORK", -1)
    with on():
        one = CASES[name][0]()
        one.advance(1)
        crossed = Crossings.count()
        one.advance(4)
        assert np.subtract(Crossings.count(), crossed).tolist() == [1, 0]


@pytest.mark.parametrize("name", rows(MOVED, ("heat bath",)))
def test_a_step_is_one_launch_and_no_copy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call copies one number, the flag of finite numbers."""
    with on():
        one = CASES[name][0]()
        one.advance(1)
        launched, crossed = [], Crossings.count()
        launch = BoundKernel._launch
        monkeypatch.setattr(
            BoundKernel, "_launch", lambda self, *s: (launched.append(self), launch(self, *s))[1]
        )
        one.advance(6)
        assert np.subtract(Crossings.count(), crossed).tolist() == [1, 0]
        assert len(launched) == 6 + 1
        assert len(set(map(id, launched))) == 2


def test_bits_do_not_depend_on_the_cuts() -> None:
    found = []
    with on():
        for cuts in ((7,), (1, 2, 4)):
            one = warm()
            for steps in cuts:
                one.advance(steps)
            found.append(np.concatenate([field.values for field in one.moving[:2]]))
    np.testing.assert_array_equal(*found)


def test_a_number_that_is_not_finite_is_named() -> None:
    with on():
        one = two_bodies("leapfrog", 0.01)
        one.advance(2)
        before = one.potential.fields["x"].values.copy()
        v = one.potential.fields["v"].values.copy()
        v[1, 0] = np.nan
        one.potential.fields["v"].set(v)
        with pytest.raises(NonFiniteError, match="step 3: field 'v', node 1"):
            one.advance(3)
        np.testing.assert_array_equal(one.potential.fields["x"].values, before)
