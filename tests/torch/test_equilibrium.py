"""Equilibria as functions of tensors: gradients by everything, no state between calls, refusals."""

import numpy as np
import pytest

import minusgrad
import torch
from minusgrad.errors import NonFiniteError, TensorError
from minusgrad.torch import equilibrium
from tests.support.command import SCENES

SHAPE = SCENES / "stiffness_from_shape.toml"
NAMES = ("neo_hookean.youngs_modulus", "neo_hookean.poissons_ratio", "m", "x", "weight.acceleration")
FEW = {"state.cells": [3, 3], "stepper.tolerance": {"force": 1e-12}}
SIZES = {"neo_hookean.youngs_modulus": 2e4, "neo_hookean.poissons_ratio": 0.2, "m": 0.1, "x": 0.1}


@pytest.fixture(scope="module")
def hanging():
    return equilibrium(SHAPE, overrides=FEW)


def test_the_gradient_by_everything_that_an_equilibrium_depends_on(hanging) -> None:
    """Against differences of order 4; parameters, masses, the places of supports, the weight."""
    rng = torch.Generator().manual_seed(1)
    weights = torch.randn(16, 2, dtype=torch.float64, generator=rng)

    def loss(given: dict[str, torch.Tensor]) -> torch.Tensor:
        return (weights * hanging(given)["x"].sin()).sum()

    given = {n: hanging.start(n).requires_grad_() for n in NAMES}
    found = dict(zip(NAMES, torch.autograd.grad(loss(given), list(given.values())), strict=True))
    held = torch.zeros(16, 2, dtype=torch.bool)
    held[3::4] = True
    assert not found["x"][~held].any()
    for name in NAMES:
        way = torch.randn(given[name].shape, dtype=torch.float64, generator=rng) * SIZES.get(name, 10.0)
        way = torch.where(held, way, 0.0) if name == "x" else way
        values = {}
        for k in (-2, -1, 1, 2):
            moved = {n: t.detach() + (1e-3 * k * way if n == name else 0.0) for n, t in given.items()}
            values[k] = loss(moved).item()
        expected = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / 12e-3
        assert (found[name] * way).sum().item() == pytest.approx(expected, rel=1e-7), name


def test_calls_are_independent(hanging) -> None:
    """A function without state: the same tensors give the same bits, whatever was asked between."""
    before = hanging()["x"]
    hanging({NAMES[0]: torch.tensor(6e3, dtype=torch.float64)})
    assert torch.equal(hanging()["x"], before)
    done = minusgrad.build(SHAPE, FEW)
    done.step(60)
    np.testing.assert_array_equal(before.numpy(), done.fields["x"].values)


def test_backward_comes_after_other_calls(hanging) -> None:
    young = hanging.start(NAMES[0]).requires_grad_()
    x = hanging({NAMES[0]: young})["x"]
    (expected,) = torch.autograd.grad(x[0, 1], young, retain_graph=True)
    hanging({NAMES[1]: torch.tensor(0.4, dtype=torch.float64)})
    (found,) = torch.autograd.grad(x[0, 1], young)
    assert torch.equal(found, expected)
    assert found > 0.0  # a stiffer block sags less


def test_a_call_may_begin_at_the_last_equilibrium(hanging) -> None:
    """The same end, to its tolerance."""
    stiff = {NAMES[0]: torch.tensor(1.2e4, dtype=torch.float64)}
    warm = hanging(stiff | {"x": hanging()["x"]})["x"]
    torch.testing.assert_close(warm, hanging(stiff)["x"], rtol=0.0, atol=1e-12)


def test_in_single_precision(hanging) -> None:
    single = equilibrium(SHAPE, overrides={"state.cells": [3, 3], "runtime.precision": "f32"})
    slopes = []
    for function in (single, hanging):
        young = function.start(NAMES[0]).requires_grad_()
        function({NAMES[0]: young})["x"][0, 1].backward()
        slopes.append(young.grad.item())
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-3)


def test_refused(hanging) -> None:
    with pytest.raises(TensorError, match="stepper 'leapfrog': moves in time, and finds no equilibrium"):
        equilibrium(SCENES / "two_body.toml")
    with pytest.raises(NonFiniteError, match="the equilibrium: not converged"):
        equilibrium(SHAPE, 1, overrides=FEW)()
    young = hanging.start(NAMES[0]).requires_grad_()
    (slope,) = torch.autograd.grad(hanging({NAMES[0]: young})["x"].sum(), young, create_graph=True)
    with pytest.raises(TensorError, match="an equilibrium has first derivatives here, and no second ones"):
        slope.backward()
