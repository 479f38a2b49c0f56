"""Steppers that work on the host while energies are computed on a device: the CPU's numbers, and a remark."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad.engine import runtime
from minusgrad.steppers.minimisers.first_order import FIRE, Adam
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.timed.gauss_radau.gauss_radau import GaussRadau
from tests.plugins.gravity.kepler_drifts.test_kepler_splitting import system
from tests.steppers.timed.gauss_radau.test_gauss_radau import two
from tests.support.devices import needed, on
from tests.support.kepler import two_bodies
from tests.support.optima import chain, q

pytestmark = needed

METHODS = [LBFGS, *(pytest.param(method, marks=pytest.mark.long) for method in (Newton, FIRE, Adam))]


def searched(method: Callable) -> np.ndarray:
    """The state of a search of a chain's rest after some steps."""
    potential, free = chain(8)
    search = method(potential, q(), free=free)
    search.advance(6)
    assert "host" in search.device_remark("vulkan")
    return np.append(potential.fields["q"].values, search.energy)


@pytest.mark.parametrize("method", METHODS)
def test_searches_are_those_of_the_cpu(method: Callable) -> None:
    runtime.start()
    paper = searched(method)
    with on():
        found, again = searched(method), searched(method)
    np.testing.assert_allclose(found, paper, 1e-12, 1e-14)
    np.testing.assert_array_equal(found, again)


@pytest.mark.long
def test_gauss_radau_takes_launches() -> None:
    """Loops of one thread end early on software devices: such a kernel gave wrong numbers, silently."""

    def ended() -> tuple[GaussRadau, np.ndarray]:
        one = two(0.3, 0.5)
        one.advance(4)
        return one, one.potential.fields["x"].values.copy()

    runtime.start()
    paper = ended()[1]
    with on():
        one, found = ended()
        assert not one.fused
        np.testing.assert_allclose(found, paper, 1e-13)


@pytest.mark.long
def test_drifts_along_kepler_orbits_are_those_of_the_cpu() -> None:
    def ended() -> np.ndarray:
        one = system(0.1)
        one.advance(10)
        return one.potential.fields["x"].values.copy()

    runtime.start()
    paper = ended()
    with on():
        np.testing.assert_allclose(ended(), paper, 1e-13)


def test_who_works_on_the_host_says_so() -> None:
    assert system(0.1).device_remark("cuda") == (
        "stepper 'Integrator' on cuda: one thread takes its drifts along Kepler orbits; a small system is"
        ' faster with arch = "cpu"'
    )
    assert (
        two(0.3, 0.5)
        .device_remark("cuda")
        .startswith("stepper 'GaussRadau' on cuda: each substep copies numbers")
    )
    assert two(0.3, 0.5).device_remark("cpu") == two_bodies("leapfrog", 0.1).device_remark("cuda") == ""
