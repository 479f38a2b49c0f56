"""Lagrangians in fits by Gauss-Newton and in layers of PyTorch, with constraints and without."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import minusgrad
import torch
from minusgrad.torch import rollout
from tests.support.lagrangians import G

PENDULA = """
title = "Pendula of two rods"
plugins = ["control"]
[state]
kind = "coordinates"
[state.coordinates.q]
unit = "rad"
start = [1.0, 1.4]
[[lagrangian]]
kind = "double_pendulum"
m1 = 1.0
m2 = 1.0
l1 = 1.0
l2 = 1.0
[stepper]
kind = "variational"
order = 4
dt = 0.01
[run]
steps = 100
"""
ON_A_WIRE = """
title = "A weight on a wire"
plugins = ["control", "elastic"]
[state]
kind = "coordinates"
[state.coordinates.x]
unit = "m"
start = [[0.0, 0.0, 0.0], [0.6, 0.0, -0.8]]
rate = [[0.0, 0.0, 0.0], [0.0, 0.9, 0.0]]
[[lagrangian]]
kind = "turning_weight"
m = 1.0
w = [0.0, 0.3, 0.5]
[[constraint]]
kind = "rod"
tuples = [[0, 1]]
length = 1.0
project_start = true
[[hold]]
body = "0"
name = "hook"
[stepper]
kind = "variational"
order = 4
dt = 0.05
[run]
steps = 12
"""
FIT = """
[fit]
method = "gauss_newton"
iterations = 12
[[fit.loss]]
kind = "misfit"
field = "{field}"
body = "{body}"
sigma = 1e-3
data = "data.csv"
"""


def fitted(
    folder: Path,
    scene: str,
    field: str,
    body: str,
    rate: Callable,
    start: Any,
    names: Sequence[str],
    dt: float,
) -> dict[str, np.ndarray]:
    """The values that Gauss-Newton finds from coordinates that DOP853 gives with the right ones, by name."""
    times = 10 * dt * np.arange(1, 11) if field == "q" else dt * np.arange(1, 13)
    ends = solve_ivp(rate, (0.0, times[-1]), start, t_eval=times, method="DOP853", rtol=1e-12, atol=1e-12).y.T
    width = len(start) // 2
    columns = ",".join(["time", *"xyz"[:width]])
    rows = [",".join(repr(float(c)) for c in (t, *y[:width])) for t, y in zip(times, ends, strict=True)]
    (folder / "data.csv").write_text("\n".join([columns, *rows, ""]))
    sought = "".join(f'[fit.parameters."{name}"]\n' + "lower = 0.1\n" * (field == "q") for name in names)
    (folder / "scene.toml").write_text(scene + FIT.format(field=field, body=body) + sought)
    found = minusgrad.fit(folder / "scene.toml", out=folder / "fit")
    assert found.outcome == "settled"
    by_name = {one.name: one.values for one in found.estimates.parameters}
    return {name: by_name[name] for name in names}


def twin_rate(t: float, y: np.ndarray, l1: float, l2: float, m2: float) -> list[float]:
    a, b, u, w = y
    s, c = np.sin(a - b), np.cos(a - b)
    mass = np.array([[(1.0 + m2) * l1 * l1, m2 * l1 * l2 * c], [m2 * l1 * l2 * c, m2 * l2 * l2]])
    pull = [
        -m2 * l1 * l2 * w * w * s - (1.0 + m2) * G * l1 * np.sin(a),
        m2 * l1 * l2 * u * u * s - m2 * G * l2 * np.sin(b),
    ]
    return [u, w, *np.linalg.solve(mass, pull)]


def wire_rate(t: float, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    x, v = y[:3], y[3:]
    free = -G * np.eye(3)[2] - 2.0 * np.cross(w, v) - np.cross(w, np.cross(w, x))
    return np.concatenate([v, free - (x @ free + v @ v) / (x @ x) * x])


@pytest.mark.long
def test_gauss_newton_finds_rods_and_a_mass_of_a_double_pendulum(tmp_path) -> None:
    truth = {"double_pendulum.l1": 1.1, "double_pendulum.l2": 0.8, "double_pendulum.m2": 1.3}
    rate = partial(twin_rate, l1=1.1, l2=0.8, m2=1.3)
    found = fitted(tmp_path, PENDULA, "q", "0", rate, [1.0, 1.4, 0.0, 0.0], [*truth], 0.01)
    assert {n: float(v[0]) for n, v in found.items()} == pytest.approx(truth, rel=1e-5)


@pytest.mark.long
def test_gauss_newton_finds_how_the_ground_turns_under_a_weight_on_a_wire(tmp_path) -> None:
    w, start = np.array([0.1, 0.35, 0.42]), [0.6, 0.0, -0.8, 0.0, 0.9, 0.0]
    found = fitted(tmp_path, ON_A_WIRE, "x", "1", partial(wire_rate, w=w), start, ["turning_weight.w"], 0.05)
    np.testing.assert_allclose(found["turning_weight.w"], w, atol=1e-3)


SIZES = {
    PENDULA: {"q": 0.1, "v": 0.3, "double_pendulum.l1": 0.1, "double_pendulum.m2": 0.2},
    ON_A_WIRE: {"x": 0.05, "v": 0.3, "turning_weight.w": 0.3, "turning_weight.m": 0.1, "rod.length": 0.05},
}


@pytest.mark.long
@pytest.mark.parametrize("scene", SIZES, ids=["angles", "wire"])
def test_gradients_of_tensors_are_those_of_differences(scene, tmp_path) -> None:
    """Of order 4, by all inputs; a start off the wire is projected onto it."""
    (tmp_path / "scene.toml").write_text(scene)
    run, rng = rollout(tmp_path / "scene.toml", 8, observe=[0, 4, 8]), torch.Generator().manual_seed(1)
    weights = {n: torch.randn(t.shape, dtype=t.dtype, generator=rng) for n, t in run({}).items()}

    def loss(given: dict[str, torch.Tensor]) -> torch.Tensor:
        return sum((weights[n] * states.sin()).sum() for n, states in run(given).items())

    sizes = SIZES[scene]
    given = {n: run.start(n).requires_grad_() for n in sizes}
    found = dict(zip(sizes, torch.autograd.grad(loss(given), list(given.values())), strict=True))
    for name, size in sizes.items():
        way = torch.randn(given[name].shape, dtype=torch.float64, generator=rng) * size
        if name in "xv" and scene is ON_A_WIRE:
            way[0] = 0.0
        values = {}
        for k in (-2, -1, 1, 2):
            moved = {n: t.detach() + (5e-3 * k * way if n == name else 0.0) for n, t in given.items()}
            values[k] = loss(moved).item()
        expected = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / 60e-3
        assert (found[name] * way).sum().item() == pytest.approx(expected, rel=1e-6, abs=1e-9), name
