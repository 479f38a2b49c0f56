"""Adjoints and tangents of runs on a device: the numbers of the CPU, bits twice the same, no copies."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad.adjoint.rollout import Rollout
from minusgrad.engine import runtime
from minusgrad.engine.kernels import BoundKernel
from minusgrad.engine.storage import Crossings
from minusgrad.steppers.integrator import Integrator
from tests.adjoint.variational import test_variational_runs as variational
from tests.support.devices import needed, on
from tests.support.rollouts import drawn, line, mapped, names, net, pair, probes, space

pytestmark = needed

STEPS, LOOKS = 8, (0, 4, 8)
RUNS: dict[str, Callable[[], Integrator]] = {
    "friction, supports, time": line,
    "of order 4": lambda: line("yoshida4", damped=False),
    "in f32": lambda: line(precision="f32"),
    "springs": net,
    "two that move": pair,
    "maps": mapped,
    "in space": space,
}
ROWS = [name if name == "springs" else pytest.param(name, marks=pytest.mark.long) for name in RUNS]


def rollout(name: str) -> Rollout:
    """A run with losses at three of its steps."""
    one = RUNS[name]()
    return Rollout(one, probes(one, LOOKS)[0], STEPS)


def gradient(name: str) -> dict[str, np.ndarray]:
    """The derivatives of a run by all that it begins with."""
    run = rollout(name)
    return run.evaluate(names(run.stepper))[1]


@pytest.mark.parametrize("name", ROWS)
def test_gradients_are_those_of_the_cpu(name: str) -> None:
    runtime.start()
    paper = gradient(name)
    with on():
        found, again = gradient(name), gradient(name)
    size = max(np.abs(values).max() for values in paper.values())
    for key, values in paper.items():
        np.testing.assert_allclose(found[key], values, 0, size * (3e-6 if name == "in f32" else 1e-13), key)
        np.testing.assert_array_equal(found[key], again[key], key)


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_tangents_are_those_of_the_cpu(name: str) -> None:
    runtime.start()
    run = rollout(name)
    direction = drawn(run.stepper)
    paper = run.end_tangents(direction)
    with on():
        found = rollout(name).end_tangents(direction)
    size = max(np.abs(values).max() for values in paper.values())
    for key, values in paper.items():
        np.testing.assert_allclose(found[key], values, 0, size * (3e-6 if name == "in f32" else 1e-13), key)


def of_variational(case: str) -> dict[str, np.ndarray]:
    """Derivatives of a run of variational steps, and tangents of its end."""
    make, names = variational.CASES[case]
    run, rng = variational.rollout(make()), np.random.default_rng(2)
    found = run.evaluate(names)[1]
    along = {name: rng.normal(size=np.shape(found[name])) for name in names}
    return found | {f"end of {name}": end for name, end in run.end_tangents(along).items()}


@pytest.mark.long
@pytest.mark.parametrize("case", variational.CASES)
def test_derivatives_of_variational_runs_are_those_of_the_cpu(case: str) -> None:
    runtime.start()
    paper = of_variational(case)
    with on():
        found = of_variational(case)
    for key, values in paper.items():
        np.testing.assert_allclose(found[key], values, 0, 1e-12 * np.abs(values).max(), key)


@pytest.mark.parametrize("name", ROWS[:4:3])
def test_a_step_back_is_one_launch_and_no_copy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with on():
        run = rollout(name)
        asked = names(run.stepper)
        run.evaluate(asked)
        (back,) = run._adjoints.values()
        crossed, launched = Crossings.count(), []
        launch = BoundKernel._launch
        monkeypatch.setattr(
            BoundKernel, "_launch", lambda self, *s: (launched.append(self), launch(self, *s))[1]
        )
        back.back(STEPS, 5)
        assert len(launched) == 5
        assert Crossings.count() == crossed
