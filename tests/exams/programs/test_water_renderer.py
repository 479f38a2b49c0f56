"""The ground under a wave: against NumPy, `ti.ad.Tape` and differences; a network in the loop; its claim."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.tape import water_renderer as tape

import minusgrad
import minusgrad.torch
import torch
from minusgrad import Loss, Potential, Rollout, bind
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.check import term_check
from minusgrad_grids.misfits import picture_l2
from tests.support.pond import pond

SCENES = Path(__file__).parents[3] / "scenes"
REACH = 0.5 * 6.0 * (1.0 - 1.0 / 1.333)
"""In cells for a difference of 1 between the neighbours on both sides, at the depth 6 of `pond`."""


def refracted(h: np.ndarray, ground: np.ndarray, reach: float = REACH) -> np.ndarray:
    n, wide = len(h), np.pad(h, 1, mode="edge")
    rows, columns = np.indices(h.shape)
    y = np.clip(rows + reach * (wide[2:, 1:-1] - wide[:-2, 1:-1]), 0, n - 1)
    x = np.clip(columns + reach * (wide[1:-1, 2:] - wide[1:-1, :-2]), 0, n - 1)
    low, left = (np.minimum(np.floor(z), n - 2).astype(int) for z in (y, x))
    b, a = y - low, x - left
    below = (1 - a) * ground[low, left] + a * ground[low, left + 1]
    return (1 - b) * below + b * ((1 - a) * ground[low + 1, left] + a * ground[low + 1, left + 1])


def ground_of(made: BuiltScene, n: int) -> np.ndarray:
    ground = made.state.tables["ground"]
    x = np.arange(n)
    np.testing.assert_allclose(
        ground, np.tile(0.5 + 0.5 * np.sin(2.0 * np.pi * x / 16.0), (n, 1)), atol=1e-15
    )
    return np.ascontiguousarray(ground)


def test_the_picture_and_the_gradient_are_those_of_the_tape() -> None:
    n, steps = 16, 12
    made = pond(n, steps)
    start, target = (made.fields[name].values.reshape(n, n).copy() for name in ("height", "target"))
    ground = ground_of(made, n)
    loss = Loss(
        Potential(
            made.fields,
            [bind(picture_l2, made.fields, renamed={"q": "seen"})],
            list(made.potential.maps.values()),
        ),
        (steps,),
    )
    run = Rollout(made.stepper, [loss], steps)
    value, found = run.evaluate(["height", "refracted.depth"])
    expected, gradient, seen = tape.program(n, steps, 0.25, REACH)(start, ground, target)
    assert value == pytest.approx(expected, rel=1e-12)
    size = np.abs(gradient).max()
    np.testing.assert_allclose(found["height"].reshape(n, n), gradient, rtol=0.0, atol=1e-9 * size)
    made.step(steps)
    made.potential.refresh()
    height = made.fields["height"].values.reshape(n, n)
    np.testing.assert_allclose(made.fields["seen"].values.reshape(n, n), seen, atol=1e-12)
    np.testing.assert_allclose(seen, refracted(height, ground), atol=1e-12)
    ahead, behind = (
        np.mean((refracted(height, ground, c * REACH) - target) ** 2) for c in (1 + 1e-6, 1 - 1e-6)
    )
    assert 6.0 * float(found["refracted.depth"]) == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)


def test_still_water_shows_the_ground() -> None:
    made = pond()
    made.fields["height"].set(np.full(256, 2.5))
    made.potential.refresh()
    np.testing.assert_allclose(made.fields["seen"].values.reshape(16, 16), ground_of(made, 16), atol=1e-14)


def test_the_slope_of_still_water_is_the_mean_of_both_sides() -> None:
    """All rays meet the middle of a cell, where the ground has a kink: against central differences."""
    made = pond()
    start, target = np.full(256, 2.5), made.fields["target"].values.reshape(16, 16).copy()
    made.fields["height"].set(start)
    ground = ground_of(made, 16)

    def misfit(step: np.ndarray) -> float:
        return float(np.mean((refracted((start + step).reshape(16, 16), ground) - target) ** 2))

    slopes = [(misfit(e) - misfit(-e)) / 2e-6 for e in 1e-6 * np.eye(256)]
    found = made.potential.gradient("height")
    np.testing.assert_allclose(found, slopes, rtol=0.0, atol=1e-6 * np.abs(slopes).max())
    to_one_side = [(misfit(e) - misfit(0.0 * e)) / 1e-6 for e in 1e-6 * np.eye(256)]
    assert np.abs(found - to_one_side).max() > 0.01 * np.abs(slopes).max()


def test_the_ray_is_bent_as_snell_has_it() -> None:
    """On a plane with the slope g: the refracted direction in vectors, r d + (r c - root) normal, r = 1/n."""
    g, r = 0.01, 1.0 / 1.333
    made = pond()
    made.fields["height"].set((g * np.indices((16, 16))[1]).ravel())
    made.potential.refresh()
    normal, down = np.array([-g, 1.0]) / np.hypot(g, 1.0), np.array([0.0, -1.0])
    c = -normal @ down
    ray = r * down + (r * c - np.sqrt(1.0 - r**2 * (1.0 - c**2))) * normal
    shift = 6.0 * ray[0] / -ray[1]
    assert 0.014 < shift < 0.016
    ground, seen = ground_of(made, 16)[0], made.fields["seen"].values.reshape(16, 16)[8]
    expected = ground[1:-1] + shift * (ground[2:] - ground[1:-1])
    np.testing.assert_allclose(seen[1:-1], expected, atol=1e-6)


def test_check_finds_nothing() -> None:
    found = list(term_check.of_potential(pond(8).potential))
    assert {f.term for f in found} >= {"wave", "refracted", "picture_l2"}
    assert [f.text for f in found if not f.passed] == []


def test_the_heron_appears(tmp_path: Path) -> None:
    """The stored height was found by the fit of the scene, and rounded to half precision."""
    run = minusgrad.run(SCENES / "water_renderer.toml", out=tmp_path / "run")
    misfit = run.series("observables/total").value
    assert misfit[-1] < 0.0138
    assert misfit[:-1].min() > 0.2
    seen = run.series("grids/cells/seen").value[-1]
    target = run.simulation.fields["target"].values.reshape(128, 128)
    assert np.mean((seen - target) ** 2) == pytest.approx(misfit[-1], rel=1e-12)


@pytest.mark.parametrize("n", [32, pytest.param(128, marks=pytest.mark.long)])
def test_a_fit_finds_the_height(tmp_path: Path, n: int) -> None:
    flat = {"kind": "constant", "unit": "m"}
    iterations, part = (100, 25.0) if n == 128 else (10, 4.0)
    sizes = {
        "state.size": [n, n],
        "state.fields.height": flat,
        "run.steps": 2 * n,
        "fit.iterations": iterations,
    }
    found = minusgrad.fit(SCENES / "water_renderer.toml", sizes, tmp_path / "fit")
    loss = found.series("observables/loss").value
    assert len(loss) == iterations + 1
    assert loss[-1] < loss[0] / part


def test_a_network_sees_the_ground_and_its_gradient_reaches_the_first_height() -> None:
    """A convolution and a layer, as a network of the user's; against differences of the whole chain."""
    n, steps = 16, 12
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3, padding=1),
        torch.nn.Tanh(),
        torch.nn.Flatten(),
        torch.nn.Linear(3 * n * n, 4),
    ).double()
    run = minusgrad.torch.rollout(pond(n, steps), steps)
    seen = minusgrad.torch.outputs(pond(n, steps), ["seen"])

    def score(height: torch.Tensor) -> torch.Tensor:
        picture = seen(height=run(height=height)["height"])["seen"]
        return torch.log_softmax(net(picture.reshape(1, 1, n, n)), dim=1)[0, 2]

    height = run.start("height").requires_grad_()
    score(height).backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0.0 for p in net.parameters())
    w = torch.tensor(np.random.default_rng(5).normal(size=n * n))
    h = 1e-6
    with torch.no_grad():
        slope = (score(height + h * w) - score(height - h * w)) / (2.0 * h)
    assert float(height.grad @ w) == pytest.approx(float(slope), rel=1e-6)
