"""What searches say: motions that nothing resists, jumps of load steps through a limit point."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.plugin import RunFailedError

SHEET = {
    "state": {"kind": "rectangle", "size": [1.0, 0.5], "cells": [4, 2], "density": 1.0},
    "energy": [{"kind": "neo_hookean", "youngs_modulus": 10.0, "poissons_ratio": 0.3}],
    "stepper": {"kind": "newton"},
    "run": {"steps": 30},
}
PULL = [
    {"kind": "traction", "name": "to_right", "body": "right", "traction": [0.5, 0.0]},
    {"kind": "traction", "name": "to_left", "body": "left", "traction": [-0.5, 0.0]},
]
RIGID = ("a translation along x", "a translation along y", "a rotation")


def free(*loads: dict, **more: object) -> dict:
    return {**SHEET, "energy": [*SHEET["energy"], *loads], **more}


@pytest.mark.parametrize("precision", ["f64", pytest.param("f32", marks=pytest.mark.long)])
def test_a_free_body_under_balanced_loads_comes_to_rest_and_says_what_nothing_resists(
    tmp_path: Path, precision: str
) -> None:
    done = mg.run(free(*PULL, runtime={"precision": precision}), out=tmp_path / "run")
    assert done.outcome == "converged"
    (remark,) = (one for one in done.remarks if "nothing resists" in one)
    assert all(name in remark for name in RIGID[:2])
    assert "one of many; hold a part of the body to choose one" in remark
    assert remark in (tmp_path / "run" / "journal.jsonl").read_text()
    x = done.simulation.fields["x"].values
    assert 1.03 < np.ptp(x[:, 0]) < 1.06


def test_load_steps_of_a_free_body_do_the_same(tmp_path: Path) -> None:
    steps = {"kind": "newton", "load_steps": 2, "loads": ["to_right.traction", "to_left.traction"]}
    done = mg.run(free(*PULL, stepper=steps, run={"steps": 2}), out=tmp_path / "run")
    assert done.outcome == "converged"
    assert any("nothing resists a translation along x" in one for one in done.remarks)


def test_a_search_for_temperatures_says_that_a_constant_is_free(tmp_path: Path) -> None:
    """As much heat flows in as out: T is known but for a constant. Without the outflow nothing is steady."""
    scene = {
        "state": {"kind": "heat", "temperature": 300.0, "specific_heat": 1.0, "mesh": SHEET["state"]},
        "energy": [
            {"kind": "heat_conduction", "conductivity": 2.0},
            {"kind": "heat_flux", "name": "in", "body": "left", "flux": 3.0},
            {"kind": "heat_flux", "name": "out", "body": "right", "flux": -3.0},
        ],
        "stepper": {"kind": "newton", "fields": {"T": {"scale": 1.0}}},
        "run": {"steps": 30},
    }
    done = mg.run(scene, out=tmp_path / "run")
    assert any("nothing resists a constant added to T" in one for one in done.remarks)
    assert np.ptp(done.simulation.fields["T"].values) == pytest.approx(3.0 / 2.0)
    with pytest.raises(RunFailedError, match="nothing resists a constant added to T, and U falls along it"):
        mg.run({**scene, "energy": scene["energy"][:2]}, out=tmp_path / "unbalanced")


def two_bars(push: float) -> dict:
    """Two separate springs of two nodes along x; one is held, the other is pulled at both ends."""
    return {
        "fields": {"x": np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0], [1.0, 5.0]]), "m": np.ones(4)},
        "bodies": {"held": [0], "far": [2], "near": [3], "lane": [0, 1, 2, 3]},
        "energies": [
            mg.energy("spring", tuples=[[0, 1], [2, 3]], rest=[0.9, 1.0], stiffness=10.0),
            mg.energy("load", name="pull", body="near", force=[1.0, 0.0]),
            mg.energy("load", name="push", body="far", force=[push, 0.0]),
        ],
        "holds": [{"body": "held", "axes": "x"}, {"body": "lane", "axes": "y", "name": "rails"}],
        "stepper": mg.Newton(),
    }


def test_a_part_that_nothing_holds_is_named_beside_one_that_is_held() -> None:
    simulation = mg.Simulation(**two_bars(-1.0))
    simulation.step(20)
    assert simulation.stepper.outcome == "converged"
    assert "nothing resists a translation along x of the part with node 2" in simulation.stepper.verdict
    x = simulation.fields["x"].values[:, 0]
    assert x[1] == pytest.approx(0.9)
    assert x[3] - x[2] == pytest.approx(1.1)
    with pytest.raises(RunFailedError, match="nothing resists a translation along x of the part with node 2"):
        mg.Simulation(**two_bars(0.0)).step(20)


# A shallow truss of two bars ------------------------------------------------------------------------------

SPAN, RISE, STIFF = 1.0, 0.3, 1000.0
LENGTH = float(np.hypot(SPAN, RISE))
AT_LIMIT = (LENGTH * SPAN**2) ** (1.0 / 3.0)
LIMIT = 2.0 * STIFF * (LENGTH / AT_LIMIT - 1.0) * np.sqrt(AT_LIMIT**2 - SPAN**2)
"""The largest load P(y) = 2 k (L0 / L - 1) y of the path from rest, where L^3 = L0 a^2."""


def truss(load: float, steps: int, folder: Path) -> mg.Simulation:
    simulation = mg.Simulation(
        fields={"x": np.array([[-SPAN, 0.0], [0.0, RISE], [SPAN, 0.0]]), "m": np.ones(3)},
        bodies={"feet": [0, 2], "top": [1]},
        energies=[
            mg.energy("spring", tuples=[[0, 1], [1, 2]], rest=[LENGTH, LENGTH], stiffness=STIFF),
            mg.energy("load", body="top", force=[0.0, -load]),
        ],
        holds=[{"body": "feet"}, {"body": "top", "axes": "x", "name": "rail"}],
        stepper=mg.Newton(load_steps=steps, loads=["load.force"]),
    )
    simulation.done = simulation.run(steps, out=folder)
    return simulation


@pytest.mark.parametrize("steps", [3, 10])
def test_load_steps_say_at_which_load_they_jump_through_a_limit_point(tmp_path: Path, steps: int) -> None:
    simulation = truss(2.0 * LIMIT, steps, tmp_path / "run")
    assert simulation.fields["x"].values[1, 1] < -RISE
    (remark,) = (one for one in simulation.done.remarks if "jumps at load" in one)
    found = float(remark.split("at load ")[1].split(" of")[0])
    assert found == pytest.approx(0.5, abs=0.01)
    assert "limit point" in remark
    assert remark in simulation.stepper.verdict


def test_a_path_below_the_limit_has_no_jump(tmp_path: Path) -> None:
    """Up to 0.97 of the limit load, where the path is steep, in two and in ten steps."""
    for steps in (2, 10):
        simulation = truss(0.97 * LIMIT, steps, tmp_path / str(steps))
        assert simulation.fields["x"].values[1, 1] > 0.0
        assert not [one for one in simulation.done.remarks if "jumps" in one]
