"""Fits, fitted starts and tensors of the numbers of holds, by scenes."""

from pathlib import Path

import numpy as np
import pytest

import torch
from minusgrad.adjoint.checks.equilibrium_check import of_equilibrium
from minusgrad.adjoint.supports.support_derivatives import SupportDerivatives
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import build, fit, run
from minusgrad.errors import InterruptedRunError, TensorError, UserError
from minusgrad.torch import Layer, equilibrium, rollout
from tests.support.command import files
from tests.support.short_scenes import ctrl_c
from tests.support.tiers import sampled

SCENE = """\
plugins = ["elastic"]

[state]
kind = "network"
nodes = [[0.0, 0.0], [1.0, 0.2], [2.0, -0.1], [3.0, 0.0]]
springs = [[0, 1], [1, 2], [2, 3]]
mass = "1 kg"
bodies = { left = [0], right = [3] }

[[energy]]
kind = "spring"
stiffness = 30.0

[[hold]]
body = "left"
rotation = { centre = [-0.5, 0.0], angle = "10 deg" }
duration = "0.2 s"

[[hold]]
name = "grip"
body = "right"
displacement = ["10 cm", "5 cm"]
velocity = ["0.2 m/s", "0.0 m/s"]
duration = "0.3 s"

[stepper]
kind = "leapfrog"
dt = "20 ms"

[run]
steps = 20

[[observe]]
kind = "frames"
every = 4

[fit]
method = "gauss_newton"
iterations = 30

[fit.parameters."left.angle"]

[fit.parameters."grip.displacement"]
scale = "10 cm"

[fit.parameters."grip.velocity"]
scale = "10 cm/s"

[[fit.loss]]
kind = "misfit"
field = "x"
body = "free"
data = "x.csv"
"""
TRUE = {"left.angle": 0.5, "grip.displacement": (0.25, -0.1), "grip.velocity": (0.3, 0.15)}
OVERRIDES = {
    "hold.0.rotation.angle": 0.5,
    "hold.1.displacement": [0.25, -0.1],
    "hold.1.velocity": [0.3, 0.15],
}


EQUILIBRIUM = {
    "stepper": {"kind": "newton"},
    "state.nodes": [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]],
    "hold": [{"body": "left"}, {"name": "grip", "body": "right", "displacement": [0.1, 0.0]}],
    "fit.of": "equilibrium",
    "fit.parameters": {"grip.displacement": {}},
    "fit.loss": [{"kind": "misfit", "field": "x", "body": "free", "data": "x.csv"}],
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = SCENE.replace("right = [3]", "right = [3], free = [1, 2]")
    Path("net.toml").write_text(text)
    return tmp_path


@pytest.mark.parametrize("kind", sampled(["leapfrog", "implicit_midpoint"], ["implicit_midpoint"]))
def test_numbers_of_supports_are_found_from_the_motion_of_others(kind: str, here: Path) -> None:
    """And the run that starts from the fit is the one that was measured."""
    stepper = {"stepper.kind": kind}
    true = build("net.toml", OVERRIDES | stepper)
    rows = ["time, node, x, y"]
    for _ in range(5):
        true.stepper.advance(4)
        x = true.fields["x"].values
        rows += [f"{true.stepper.time:.17g}, {node}, {x[node, 0]:.17g}, {x[node, 1]:.17g}" for node in (1, 2)]
    Path("x.csv").write_text("\n".join(rows))
    done = fit("net.toml", stepper, "fit")
    found = done.parameter_fit.objective.fields
    for name, values in TRUE.items():
        assert found[name].values.ravel() == pytest.approx(np.ravel(values), rel=1e-7)
    again = run("net.toml", stepper, "again", fitted="fit")
    np.testing.assert_allclose(again.simulation.fields["x"].values, true.fields["x"].values, atol=1e-7)


def test_check_asks_for_the_number_of_a_hold_that_is_fitted(here: Path) -> None:
    """Its Taylor test fails where its derivative is wrong."""
    one = build("net.toml", EQUILIBRIUM)
    found = list(of_equilibrium(one.stepper, ["grip.displacement"], 60))
    assert [(f.argument, f.question, f.passed) for f in found] == [
        ("", "transpose", True),
        ("grip.displacement", "taylor", True),
    ]
    with pytest.MonkeyPatch.context() as damage:
        damage.setattr(SupportDerivatives, "found", lambda self, name: np.ones(2))
        assert not all(f.passed for f in of_equilibrium(one.stepper, ["grip.displacement"], 60))


def test_half_a_fit_and_half(here: Path) -> None:
    """Of numbers of an equilibrium: every file of the folder is the same, bit for bit."""
    changed = EQUILIBRIUM | {"fit.method": "lbfgs", "fit.save_every": 2, "fit.iterations": 8}
    Path("x.csv").write_text("time, node, x, y\n0, 1, 1.2, 0.1\n0, 2, 2.4, 0.1\n")
    expected = files(fit("net.toml", changed, "whole").folder)
    with ctrl_c(3) as progress, pytest.raises(InterruptedRunError):
        fit("net.toml", changed, "half", progress=progress)
    assert not Path("half/fit.json").exists()
    resume("half")
    assert files(here / "half") == expected


def test_half_a_run_and_half_from_a_fit(here: Path) -> None:
    changed = {"fit.iterations": 1, "checkpoint.every": 4}
    Path("x.csv").write_text("time, node, x, y\n0.1, 1, 1.1, 0.2\n0.1, 2, 2.1, 0\n")
    fit("net.toml", changed, "fit")
    more = {"checkpoint.every": 4}
    expected = files(run("net.toml", more, "whole", fitted="fit").folder)
    with ctrl_c(9) as progress, pytest.raises(InterruptedRunError):
        run("net.toml", more, "half", fitted="fit", progress=progress)
    resume("half")
    assert files(here / "half") == expected


def test_a_number_of_an_equilibrium(here: Path) -> None:
    """Three equal springs in a row divide the way of the grip into three."""
    Path("x.csv").write_text("time, node, x, y\n0, 1, 1.2, 0\n0, 2, 2.4, 0\n")
    found = fit("net.toml", EQUILIBRIUM, "fit").parameter_fit.objective.fields["grip.displacement"].values
    assert found == pytest.approx([0.6, 0.0], abs=1e-9)


def test_what_a_fit_cannot_vary_is_named(here: Path) -> None:
    Path("x.csv").write_text("time, node, x, y\n0.02, 1, 1.2, 0\n0.02, 2, 2.4, 0\n")
    with pytest.raises(
        UserError, match=r"hold 'grip': has no derivative by its duration, got 'grip\.duration'"
    ):
        fit("net.toml", {"fit.parameters": {"grip.duration": {}}}, "fit")


# Tensors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sampled(["leapfrog", "bdf2"], ["leapfrog"]))
def test_runs_as_functions_of_numbers_of_holds(kind: str, here: Path) -> None:
    net = rollout("net.toml", 6, observe=[3, 6], overrides={"stepper.kind": kind})
    names = ("left.angle", "left.rate", "grip.displacement", "grip.velocity")
    given = tuple(net.start(name).requires_grad_() for name in names)
    assert torch.autograd.gradcheck(lambda *z: net(dict(zip(names, z, strict=True)))["x"], given)
    before = net()["x"]
    assert not torch.equal(net({"left.angle": torch.tensor(0.9, dtype=torch.float64)})["x"], before)
    assert torch.equal(net()["x"], before)
    layer = Layer("net.toml", ["grip.velocity"], steps=6)
    layer()["x"].sum().backward()
    assert layer.grip.velocity.grad.shape == (2,)


def test_equilibria_as_functions_of_numbers_of_holds(here: Path) -> None:
    pulled = {"name": "grip", "body": "right", "displacement": [1.0, 0.3]}
    changed = {"stepper": {"kind": "newton"}, "hold": [{"body": "left"}, pulled]}
    net = equilibrium("net.toml", overrides=changed)
    end = net.start("grip.displacement").requires_grad_()
    assert torch.autograd.gradcheck(lambda z: net({"grip.displacement": z})["x"], (end,))
    moved = net.start("x")
    moved[3] += 0.3
    of_places = net(x=moved)["x"]
    assert torch.equal(of_places[3], moved[3])
    assert torch.equal(net({"grip.displacement": end})["x"], net()["x"])
    assert torch.equal(net(x=moved)["x"], of_places)
    with pytest.raises(
        TensorError, match=r"'x' and 'grip\.displacement': both move the same supports; give one"
    ):
        net({"x": moved, "grip.displacement": end})
