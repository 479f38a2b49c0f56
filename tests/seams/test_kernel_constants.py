"""Kernels of stages: Taichi compiles each once, so that other constants, and decorators, are refused."""

import functools
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Node, Potential, bind_staged, ti
from minusgrad.plugin import EnergyError, Stage, staged_energy

C = 1.0


def real(ndim: int = 1) -> Any:
    return ti.types.ndarray(dtype=ti.f64, ndim=ndim)


def squares() -> Any:
    @ti.kernel
    def square(y: real(), U: real(0)):
        ti.loop_config(serialize=True)
        for i in range(y.shape[0]):
            U[None] += C * y[i] ** 2

    return square


def energy_of(kernel: Any) -> Any:
    return staged_energy("squares", stages=[Stage(kernel, writes=("U",))], y=Node())


def potential_of(energy: Any) -> Potential:
    fields = Fields({"y": np.array([2.0, 3.0])})
    return Potential(fields, [bind_staged(energy, fields)])


@pytest.fixture(autouse=True)
def constant():
    yield
    globals()["C"] = 1.0


def test_a_constant_that_changes_before_the_reverse_is_compiled() -> None:
    potential = potential_of(energy_of(squares()))
    assert potential.value() == 13.0
    globals()["C"] = 5.0
    assert potential.value() == 13.0
    with pytest.raises(EnergyError, match="'square': reads constants that have changed since it was bound"):
        potential.gradient("y")


def test_a_kernel_that_was_compiled_with_another_constant() -> None:
    energy = energy_of(squares())
    first = potential_of(energy)
    np.testing.assert_allclose(first.gradient("y"), [4.0, 6.0])
    globals()["C"] = 5.0
    with pytest.raises(EnergyError, match="'square': was compiled with other values of constants"):
        potential_of(energy).value()
    np.testing.assert_allclose(first.gradient("y"), [4.0, 6.0])
    np.testing.assert_allclose(potential_of(energy_of(squares())).gradient("y"), [20.0, 30.0])


def scaled(f):
    @functools.wraps(f)
    def wrapper(*args):
        return 3.0 * f(*args)

    return wrapper


@pytest.mark.skipif(ti.__name__.startswith("quadrants"), reason="Quadrants itself refuses such functions")
def test_decorators_that_taichi_leaves_out() -> None:
    @ti.func
    @scaled
    def power(y):
        return y**2

    @ti.kernel
    def square(y: real(), U: real(0)):
        for i in range(y.shape[0]):
            U[None] += power(y[i])

    with pytest.raises(EnergyError, match="Taichi compiles 'power' without its decorators"):
        energy_of(square)
    with pytest.raises(EnergyError, match="is decorated above"):
        energy_of(scaled(squares()))
