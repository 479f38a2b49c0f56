"""`minusgrad buckling`: the claim of the scene `euler_column`, table and pictures, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from minusgrad.app import runs
from tests.support.command import SCENES
from tests.support.tiers import sampled

COLUMN = SCENES / "euler_column.toml"
EULER = np.pi**2 * 1e6 * 0.05**3 / 12.0 / 4.0
"""N, pi^2 E I / (4 L^2): Euler 1744, De curvis elasticis."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_column(invoke: Callable) -> None:
    """The load is the resultant 10 N; the picture and the animation are in the run."""
    runs.run(COLUMN, out="column")
    code, out, err = invoke("buckling", "column", "--mode", 1, "--count", 3)
    assert (code, err) == (0, "")
    head, titles, _, *rows, loads, critical, imperfect, picture, animation = out.splitlines()
    assert head == "column: step 2"
    assert titles.split("  ")[0] == "mode"
    numbers = np.array([[float(n) for n in row.split()] for row in rows])
    assert numbers[:, 0].tolist() == [1, 2, 3]
    assert numbers[:, 2] == pytest.approx(10.0 * numbers[:, 1], rel=1e-5)
    assert numbers[0, 2] / EULER == pytest.approx(1.054, abs=2e-3)
    assert loads == "loads: traction, at factor 1 as in the scene; linearised factors above"
    assert critical.startswith("critical factor 2.71028")
    assert critical.endswith("N: a bifurcation, followed from the state without load")
    assert imperfect == "an imperfect body bends aside below this load"
    assert (picture, animation) == (
        "column/pictures/buckling_modes.png",
        "column/pictures/buckling_mode_1.gif",
    )
    with Image.open(picture) as png, Image.open(animation) as gif:
        assert min(png.size) > 300
        assert gif.n_frames == 24


def test_how_the_load_changes(invoke: Callable) -> None:
    """In proportion to Young's modulus; in JSON, in Python, and refused by name."""
    import minusgrad as mg

    runs.run(COLUMN, {"state.cells": [2, 40]}, "column")
    name = "neo_hookean.youngs_modulus"
    code, out, err = invoke("buckling", "column", "--gradient", name, "--count", 1)
    assert (code, err) == (0, "")
    assert f"per unit of {name}, 1 % for each percent" in out
    found = json.loads(invoke("buckling", "column", "--gradient", name, "--json")[1])
    assert found["shares"][name] == pytest.approx(1.0, abs=1e-8)
    assert found["gradient"][name] == pytest.approx(found["critical"]["factor"] / 1e6, rel=1e-8)
    slopes = mg.buckling("column", gradient=[name]).slopes
    assert slopes is not None
    assert slopes.slopes[name] == pytest.approx(found["gradient"][name], rel=1e-8)
    code, _, err = invoke("buckling", "column", "--gradient", "neo_hookean.youngs")
    assert code == 2
    assert "a buckling load has no slope by 'neo_hookean.youngs'; did you mean" in err


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
def test_json_and_single_precision(precision: str, invoke: Callable) -> None:
    coarse = {"state.cells": [2, 40], "runtime.precision": precision}
    if precision == "f32":
        coarse["stepper.gradient"] = 1e-7
    runs.run(COLUMN, coarse, "column")
    code, out, err = invoke("buckling", "column", "--json", "--mode", 2, "--count", 2, "--out", "drawn")
    assert (code, err) == (0, "")
    found = json.loads(out)
    again = json.loads(invoke("buckling", "column", "--json", "--mode", 2, "--count", 2, "--out", "drawn")[1])
    assert again == found
    assert (found["loads"], found["mode"]) == (["traction"], 2)
    if precision == "f64":
        assert found["critical"]["kind"] == "bifurcation"
    else:
        assert found["remarks"][-1].startswith("in single precision rounding makes the body imperfect")
    assert found["resultant"]["x"] == pytest.approx([0.0, -10.0], abs=1e-6)
    assert found["critical"]["lower"] <= found["critical"]["factor"] <= found["critical"]["upper"]
    assert found["critical"]["factor"] == pytest.approx(4.819269, rel=1e-4)
    assert found["linearised"][0] == pytest.approx(found["critical"]["factor"], rel=2e-3)
    u = np.array(found["displacements"]["x"])
    assert np.linalg.norm(u) == pytest.approx(1.0)
    assert (u[::41] == 0.0).all()


def complaint(invoke: Callable, *arguments: object) -> str:
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, ""), err
    return err.rstrip("\n").removeprefix("minusgrad: ")


COARSE = {"state.cells": [2, 40]}


def test_what_is_refused(invoke: Callable) -> None:
    runs.run(COLUMN, COARSE | {"run.steps": 1, "stepper.gradient": 0.0}, "column")
    text = "--mode: must be from 1 to 6, got 7; --count shows more modes"
    assert complaint(invoke, "buckling", "column", "--mode", 7, "--out", "drawn") == text
    text = "column: buckling: at least one mode is needed, got 0; ask for more"
    assert complaint(invoke, "buckling", "column", "--count", 0) == text
    text = "--load: no energy named 'tracton'; did you mean 'traction'? (there are: neo_hookean, traction)"
    assert complaint(invoke, "buckling", "column", "--load", "tracton") == text


def test_a_scene_without_a_load(invoke: Callable) -> None:
    runs.run(COLUMN, COARSE | {"energy.1.traction": [0.0, 0.0]}, "column")
    assert complaint(invoke, "buckling", "column") == (
        "column: buckling: there is no load, an energy that is linear in the positions; add a traction, a"
        " load or a weight, or name the energies that grow: --load NAME"
    )


def test_a_state_that_is_not_in_equilibrium(invoke: Callable) -> None:
    leapfrog = {"stepper": {"kind": "leapfrog", "dt": "0.1 ms"}, "run.steps": 20}
    runs.run(COLUMN, COARSE | leapfrog, "falling")
    said = complaint(invoke, "buckling", "falling")
    assert said.startswith(
        "falling: buckling: the saved state is not in equilibrium: the largest |dU/dx| is "
    )
    assert said.endswith("; minimise first: [stepper] kind = 'newton'")


def test_a_body_that_nothing_holds(invoke: Callable) -> None:
    free = {"stepper": {"kind": "leapfrog", "dt": "0.1 ms"}, "run.steps": 1, "hold": []}
    runs.run(COLUMN, COARSE | free, "free")
    text = "the body without the load is not stable, as one that can move freely; hold more of it"
    assert complaint(invoke, "buckling", "free") == f"free: buckling: {text}"


def test_a_load_on_the_support(invoke: Callable) -> None:
    runs.run(COLUMN, COARSE | {"energy.1.body": "bottom"}, "pressed")
    text = "the load acts on held components only; put it where the body can move"
    assert complaint(invoke, "buckling", "pressed") == f"pressed: buckling: {text}"
