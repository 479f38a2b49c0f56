"""Runs of cloth and shells: members that are cut and go on, derivatives of motions, pins, the ledger."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.app.jobs.job_runs import resume
from minusgrad.steppers.stability.energy_balance import kinetic
from tests.plugins.shells.test_cloth_motion import LEAPFROG, WEIGHT, flapping
from tests.plugins.shells.test_shell_runs import drop
from tests.support.sheets import sheet_scene
from tests.support.short_scenes import cut
from tests.support.tiers import sampled
from tests.support.toml_scenes import toml_text

SAVED: dict[str, Any] = {"observe": [{"kind": "frames", "every": 4}], "checkpoint": {"every": 4}}
STEPPERS = {"leapfrog": LEAPFROG | {"dt": 2e-4}, "implicit_euler": {"kind": "implicit_euler", "dt": 5e-3}}


def written(tmp_path: Path, what: str, stepper: str, precision: str) -> Path:
    """Two members of a cloth in the wind, or of a shell that falls: as thick as they are, and twice."""
    by, more = STEPPERS[stepper], SAVED | {"runtime": {"precision": precision}}
    if what == "cloth":
        path, thick = flapping(tmp_path, by, 12, **more), 1e-3
    else:
        path, thick = tmp_path / "a.toml", 0.03
        path.write_text(toml_text(drop(12, cells=(2, 1), **more) | {"stepper": by}))
    varied = f'"{what}.thickness" = {{ list = [{thick}, {2 * thick}] }}'
    path.write_text(f"{path.read_text()}\n[ensemble]\nmembers = 2\n\n[ensemble.vary]\n{varied}\n")
    return path


MEMBERS = [f"{w} {s} {p}" for w in ("cloth", "shell") for s in STEPPERS for p in ("f64", "f32")]


@pytest.mark.parametrize("case", sampled(MEMBERS, ["cloth leapfrog f64"]))
def test_members_that_are_cut_go_on_and_are_what_they_are_alone(tmp_path: Path, case: str) -> None:
    """Bit for bit: two members that were cut at step 6, the same without a cut, and the second one alone."""
    path = written(tmp_path, *case.split())
    whole = mg.run(path, out=tmp_path / "whole")["position"]
    resume(cut(tmp_path / "part", path, {}, 6))
    np.testing.assert_array_equal(mg.open(tmp_path / "part")["position"], whole)
    alone = mg.run(path, {"ensemble.member": 1}, out=tmp_path / "alone")["position"][-1]
    np.testing.assert_array_equal(whole[-1][1], alone)
    assert (whole[-1][0] != alone).any()


BY = {
    "cloth": ("cloth.thickness", "cloth.youngs_modulus", "cloth.poissons_ratio", "air_drag.normal_drag"),
    "shell": ("shell.thickness", "shell.youngs_modulus", "shell_bending.rest"),
}


@pytest.mark.parametrize("what", sampled(["cloth", "shell"], ["cloth"]))
def test_derivatives_of_a_motion_in_pytorch(tmp_path: Path, what: str) -> None:
    """The last corner after 30 steps by stiffness, thickness and drag, as differences are: to 1e-8."""
    torch = pytest.importorskip("torch")
    import minusgrad.torch

    scene = flapping(tmp_path, LEAPFROG, 30) if what == "cloth" else drop(30, cells=(2, 1))
    run = minusgrad.torch.rollout(mg.load(scene))
    start = {name: run.start(name).requires_grad_() for name in BY[what]}
    run(start)["x"][-1].sum().backward()
    for name, value in start.items():
        along = value.detach() * torch.tensor(np.random.default_rng(1).uniform(0.5, 1.5, value.shape))
        exact = float((value.grad * along).sum())

        def corner(size: float, name: str = name, along: Any = along) -> float:
            moved = {key: one.detach().clone() for key, one in start.items()}
            moved[name] = moved[name] + size * along
            return float(run(moved)["x"][-1].sum())

        h = 1e-2
        slopes = [(corner(k * h) - corner(-k * h)) / (2.0 * k * h) for k in (1, 2, 3)]
        found = (15.0 * slopes[0] - 6.0 * slopes[1] + slopes[2]) / 10.0
        assert abs(exact - found) < 1e-8 * abs(found) + 1e-12, (name, exact, found)


def test_pins_and_a_wind_of_their_velocity_carry_a_sheet() -> None:
    """x = x(0) + v t to rounding: no stretch, no drag, no work."""
    velocity = [0.3, -0.2, 0.5]
    scene = sheet_scene(
        {"velocity": velocity},
        {},
        LEAPFROG | {"dt": 2e-4},
        hold=[{"body": ["top_left", "right"], "field": "x", "velocity": velocity}],
        dissipation=[{"kind": "air_drag", "wind": velocity}],
    )
    made: Any = mg.load(scene)
    start = made.fields["x"].values.copy()
    made.step(50)
    moved = made.fields["x"].values - start
    np.testing.assert_allclose(moved, np.tile(0.01 * np.array(velocity), (len(start), 1)), atol=1e-12)
    assert abs(made.stepper.work) < 1e-12
    assert abs(made.stepper.dissipated) < 1e-12


def test_work_of_pins_and_drag_are_on_the_ledger() -> None:
    """Kinetic energy + U - work + dissipated stays, with order 2, while two corners are lifted in a wind."""
    lifted = [0.03, 0.02, 0.08]
    pins = {"body": ["top_left", "top_right"], "field": "x", "displacement": lifted, "duration": 0.05}
    air = {"kind": "air_drag", "wind": [2.0, 0.5, 1.0]}
    errors, parts = [], {}
    for steps in (250, 500):
        scene = sheet_scene(
            {"cells": [4, 2]},
            {"material": "neo_hookean", "youngs_modulus": 2e4},
            LEAPFROG | {"dt": 0.05 / steps},
            hold=[pins],
            energy=WEIGHT,
            dissipation=[air],
        )
        made: Any = mg.load(scene)
        potential = made.potential.value()
        made.step(3 * steps // 5)  # the pins move
        parts = {"work": made.stepper.work, "dissipated": made.stepper.dissipated}
        kept = (
            kinetic(made.stepper) + made.potential.value() - potential - parts["work"] + parts["dissipated"]
        )
        errors.append(abs(kept))
    assert min(abs(one) for one in parts.values()) > 1e3 * errors[1]
    assert errors[1] < 0.3 * errors[0]
