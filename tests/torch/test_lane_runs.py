"""Batches of runs in lanes: rows with the same bits in every batch, and those of single calls to rounding."""

import numpy as np
import pytest

import torch
from minusgrad.errors import NonFiniteError
from minusgrad.torch import rollout
from tests.support.command import SCENES

STARS = {"state.n": 3, "runtime.precision": "f64"}
NAMES = ("x", "v", "m", "gravity.G", "gravity.softening")
STACKED = ("x", "m", "gravity.G")


def stars(lanes: bool = True, steps: int = 7, memory: int = 1 << 30):
    scene = SCENES / "plummer.toml"
    return rollout(scene, steps, observe=[0, 3, steps], overrides=STARS, lanes=lanes, memory=memory)


def inputs(run, count: int, members: slice = slice(None)) -> dict[str, torch.Tensor]:
    """The first values of `count` members, of which some are taken."""
    rng, given = np.random.default_rng(3), {}
    for name in NAMES:
        start = run.start(name)
        if name in STACKED:
            noise = torch.tensor(rng.normal(size=(40, *start.shape)), dtype=start.dtype)
            start = (start * (1.0 + 0.05 * noise))[:count][members].contiguous()
        given[name] = start.requires_grad_()
    return given


def slopes(run, given: dict[str, torch.Tensor], count: int) -> list[torch.Tensor]:
    states = run(given, batch=count)
    loss = (states["x"][:, 1].sin() + states["v"][:, 2].square() + states["x"][:, 0]).sum()
    return [states["x"], states["v"], *torch.autograd.grad(loss, [*given.values()])]


def test_rows_have_the_same_bits_in_every_batch() -> None:
    run = stars()
    many = slopes(run, inputs(run, 19), 19)
    few = slopes(run, inputs(run, 19, slice(16, 18)), 2)
    stacked = [0, 1, *(2 + NAMES.index(name) for name in STACKED)]
    for place in stacked:
        assert torch.equal(many[place][16:18], few[place])


def test_states_and_derivatives_are_those_of_single_calls() -> None:
    run, one = stars(), stars(lanes=False)
    for found, wanted in zip(slopes(run, inputs(run, 9), 9), slopes(one, inputs(one, 9), 9), strict=True):
        assert torch.allclose(found, wanted, rtol=1e-13, atol=1e-13 * wanted.abs().max().item())


def test_blocks_of_a_small_budget_give_the_same_bits() -> None:
    run, small = stars(), stars(memory=20_000)
    for found, wanted in zip(slopes(small, inputs(small, 9), 9), slopes(run, inputs(run, 9), 9), strict=True):
        assert torch.equal(found, wanted)


def test_a_second_call_does_not_see_the_first() -> None:
    run = stars()
    first = slopes(run, inputs(run, 5), 5)
    other = {name: one.detach() * 1.01 for name, one in inputs(run, 5).items()}
    run(other, batch=5)
    for found, wanted in zip(slopes(run, inputs(run, 5), 5), first, strict=True):
        assert torch.equal(found, wanted)


def test_a_member_that_explodes_is_named() -> None:
    run = stars()
    x = inputs(run, 3)["x"].detach()
    x[1] = x[1, :1]
    with pytest.raises(NonFiniteError, match=r"^member 1: the run: step 7: '.' is not finite at node 0"):
        run({"x": x, "gravity.softening": torch.tensor(1e-200).double()}, batch=3)
