"""Runs with constraints as functions of tensors, and as layers that learn lengths of rods."""

import pytest

import torch
from minusgrad.torch import Layer, rollout
from tests.support.command import SCENES

RODS = SCENES / "rods_from_path.toml"
SIZES = {"rod.length": 0.05, "x": 0.05, "v": 0.3, "m": 0.05, "weight.acceleration": 1.0}


@pytest.fixture(scope="module")
def swinging():
    return rollout(RODS, 12, observe=[0, 5, 12])


@pytest.mark.long
def test_the_gradient_by_everything_that_a_run_depends_on(swinging) -> None:
    """Against differences of order 4; by places that leave the rods, too: the start is projected."""
    rng = torch.Generator().manual_seed(1)
    weights = {n: torch.randn(3, 4, 2, dtype=torch.float64, generator=rng) for n in "xv"}

    def loss(given: dict[str, torch.Tensor]) -> torch.Tensor:
        return sum((weights[n] * state.sin()).sum() for n, state in swinging(given).items())

    given = {n: swinging.start(n).requires_grad_() for n in SIZES}
    found = dict(zip(SIZES, torch.autograd.grad(loss(given), list(given.values())), strict=True))
    assert not found["x"][0].any()
    for name, size in SIZES.items():
        way = torch.randn(given[name].shape, dtype=torch.float64, generator=rng) * size
        if name in "xv":
            way[0] = 0.0
        values = {}
        for k in (-2, -1, 1, 2):
            moved = {n: t.detach() + (5e-3 * k * way if n == name else 0.0) for n, t in given.items()}
            values[k] = loss(moved).item()
        expected = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / 60e-3
        assert (found[name] * way).sum().item() == pytest.approx(expected, rel=1e-6), name


@pytest.mark.long
def test_multipliers_are_no_inputs(swinging) -> None:
    assert "rod.length" in swinging.guests
    assert "rod.multiplier" not in swinging.guests


def test_a_layer_learns_the_lengths() -> None:
    """From where the bobs are after 12 steps, by L-BFGS of PyTorch; the data are those of other lengths."""
    layer = Layer(RODS, ["rod.length"], steps=12)
    truth = torch.tensor([0.31, 0.22, 0.27], dtype=torch.float64)
    with torch.no_grad():
        there = rollout(RODS, 12)({"rod.length": truth})["x"]
    search = torch.optim.LBFGS(layer.parameters(), line_search_fn="strong_wolfe", max_iter=30)

    def loss() -> torch.Tensor:
        search.zero_grad()
        off = ((layer()["x"] - there) ** 2).sum()
        off.backward()
        return off

    search.step(loss)
    (found,) = layer.parameters()
    torch.testing.assert_close(found.detach(), truth, rtol=0.0, atol=1e-5)
