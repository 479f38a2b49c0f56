"""Scenes that seek equilibria under constraints: fits, `check`, `modes`, torch, and mistakes, by files."""

import json
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.buckling import buckling
from minusgrad.app.modes import modes
from minusgrad.errors import EnergyError, SceneError
from tests.support.command import minusgrad as command
from tests.support.tiers import sampled

SCENE = """
title = "A chain of four rods"
plugins = ["elastic"]

[state]
kind = "network"
nodes = [[0.0, 0.0], [0.2, -0.3], [0.5, -0.5], [0.8, -0.3], [1.0, 0.0]]
springs = [[0, 1], [1, 2], [2, 3], [3, 4]]
mass = "1 kg"
bodies = { ends = [0, 4], second = [1], inner = [1, 2, 3] }

[[energy]]
kind = "body_force"
acceleration = [0.0, -9.81]

[[constraint]]
kind = "rod"
length = ["0.35 m", "0.35 m", "0.35 m", "0.35 m"]
project_start = true

[[hold]]
body = "ends"

[stepper]
kind = "newton"

[run]
steps = 30

[[observe]]
kind = "constraints"
every = 1

[[observe]]
kind = "frames"
every = 30
"""
FIT = """
[fit]
of = "equilibrium"
method = "gauss_newton"
iterations = 20

[fit.parameters."rod.length"]
lower = "10 cm"

[[fit.loss]]
kind = "misfit"
field = "x"
sigma = "0.1 mm"
data = "shape.csv"
"""
LENGTHS = np.array([0.33, 0.36, 0.37, 0.34])


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "chain.toml"
    path.write_text(SCENE)
    return path


def shape(scene: Path) -> np.ndarray:
    """Where the chain hangs with `LENGTHS`."""
    run = minusgrad.run(scene, {"constraint.0.length": LENGTHS.tolist()}, scene.parent / "shape")
    x = run.series("particles/all/position").value[-1]
    np.testing.assert_allclose(np.linalg.norm(np.diff(x, axis=0), axis=1), LENGTHS, rtol=1e-14)
    return x


def test_lengths_of_rods_are_found_from_the_shape(scene: Path) -> None:
    x = shape(scene)
    lines = [f"0,{node},{p[0]!r},{p[1]!r}" for node, p in enumerate(x.tolist())]
    (scene.parent / "shape.csv").write_text("\n".join(["time,node,x,y", *lines]) + "\n")
    scene.write_text(SCENE + FIT)
    fit = minusgrad.fit(scene, out=scene.parent / "fit")
    (found,) = fit.estimates.parameters
    np.testing.assert_allclose(found.values, LENGTHS, rtol=1e-9)


@pytest.mark.long
def test_check_asks_the_equilibrium(scene: Path) -> None:
    (scene.parent / "shape.csv").write_text("time,node,x,y\n0,1,0.2,-0.3\n")
    scene.write_text(SCENE + FIT)
    found = command("check", scene, "--json")
    assert found.returncode == 0, found.stdout
    rows = [row for row in json.loads(found.stdout) if "equilibrium" in row["text"]]
    assert {row["question"] for row in rows} == {"transpose", "taylor"}
    assert {row["argument"] for row in rows if row["question"] == "taylor"} == {"rod.length"}


def test_an_equilibrium_of_tensors(scene: Path) -> None:
    torch = pytest.importorskip("torch")
    from minusgrad.torch import equilibrium

    hanging = equilibrium(scene)
    lengths = torch.tensor(LENGTHS, requires_grad=True)
    weights = torch.tensor(np.random.default_rng(1).normal(size=(5, 2)))

    def value(of):
        return (hanging(**{"rod.length": of})["x"] * weights).sum()

    value(lengths).backward()
    for k, h in ((0, 1e-3), (2, 1e-3)):
        off = torch.zeros(4, dtype=torch.float64)
        off[k] = h
        middle, parts = torch.tensor(LENGTHS), {1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
        rises = {s: value(middle + s * off) - value(middle - s * off) for s in parts}
        expected = sum(w * rises[s] for s, w in parts.items()) / h
        assert float(lengths.grad[k]) == pytest.approx(float(expected), rel=1e-8)


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
def test_modes_are_those_along_the_rods(scene: Path, precision: str) -> None:
    minusgrad.run(scene, {"runtime.precision": precision}, scene.parent / "run")
    found = modes(scene.parent / "run")
    assert (found.found.total, found.found.zero.any(), found.found.unstable.any()) == (2, False, False)
    assert "along the constraints" in "\n".join(found.remarks())
    with pytest.raises(EnergyError, match="can move freely"):  # without its weight a chain is slack
        buckling(scene.parent / "run")


AGAIN = {"kind": "rod", "name": "again", "tuples": [[2, 1]]}
MISTAKES = {
    "violated": (
        {"constraint.0.project_start": False},
        "is violated at the start, got g = 0.0075",
    ),
    "held nodes": (
        {"hold": [{"body": "ends"}, {"body": "second"}]},
        "constraint.0: constraint 'rod', element 0 (nodes 0, 1): all that it binds is held, got nothing that",
    ),
    "all held": (
        {"hold": [{"body": "ends"}, {"body": "inner"}]},
        "unknowns: no component is free to move, all are held or fixed by their bounds",
    ),
    "redundant": (
        {"constraint": [{"kind": "rod"}, AGAIN | {"length": 0.36055512754639896}]},
        "constraint.1: constraint 'again', element 0 (nodes 2, 1): its gradient is a combination of those of"
        " others (constraint 'rod', element 1 (nodes 1, 2)): it is redundant; leave one of them out",
    ),
    "contradictory": (
        {"constraint": [{"kind": "rod"}, AGAIN | {"length": 0.3, "project_start": True}]},
        "(constraint 'rod', element 1 (nodes 1, 2)): they contradict each other; correct the data of one of",
    ),
    "too short": (
        {"constraint.0.length": 0.2},
        "no projection reaches it",
    ),
    "solver": (
        {"stepper.solver": "block_jacobi"},
        "stepper: newton: solver 'block_jacobi' does not solve for the multipliers of constraints; use",
    ),
    "bounds": (
        {"stepper": {"kind": "lbfgs", "fields": {"x": {"lower": -9.0}}}},
        "stepper: 'x': has bounds beside constraints, got both; leave the bounds out, or replace them by an",
    ),
}  # fmt: skip


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str, precision: str, scene: Path) -> None:
    overrides, text = MISTAKES[name]
    with pytest.raises(SceneError) as message:
        minusgrad.build(scene, overrides | {"runtime.precision": precision})
    assert text in str(message.value)


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
def test_a_mistake_by_the_command(precision: str, scene: Path) -> None:
    found = command("run", scene, "constraint.0.length=0.2", f'runtime.precision="{precision}"')
    assert found.returncode == 2
    assert "chain.toml:16:3: constraint.0: constraint 'rod', element" in found.stderr
    assert not (scene.parent / "runs").exists()


def test_a_chain_that_stands_is_unstable(scene: Path) -> None:
    """An equilibrium where the Hessian along the constraints is indefinite: `modes` says so."""
    x = [[0.0, 0.0], [0.0, 0.5]]
    minusgrad.run(
        scene,
        {"state.nodes": x, "state.springs": [[0, 1]], "state.bodies": {"ends": [0]}}
        | {"constraint": [{"kind": "rod"}]},
        scene.parent / "run",
    )
    found = modes(scene.parent / "run")
    assert found.found.unstable.tolist() == [True]
    np.testing.assert_allclose(found.found.eigenvalues, [-9.81 / 0.5], rtol=1e-9)
