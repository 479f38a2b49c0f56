"""`minusgrad modes`: the table, the picture and the animation of a run's normal modes; what is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from minusgrad.app import runs
from minusgrad.app.modes import modes
from minusgrad.engine import storage
from tests.support.command import SCENES, files

MOLECULE = """
title = "A bent molecule"
plugins = ["elastic"]

[units]
length = "angstrom"
mass = "Da"
time = "ps"

[state]
kind = "network"
nodes = [[0.0, 0.0], [0.96, 0.0], [-0.24, 0.92951600308978]]
springs = [[0, 1], [0, 2], [1, 2]]
mass = ["16 Da", "1 Da", "1 Da"]
bodies = { ends = [1, 2] }

[[energy]]
kind = "spring"
stiffness = "800 N/m"

[stepper]
kind = "leapfrog"
dt = "0.1 fs"

[run]
steps = 4

[checkpoint]
every = 2
keep = 9
"""
DALTON = 1.66053906892e-27
"""kg; CODATA 2022."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the molecule: as it is, in f32, held at its ends, and stretched."""
    folder = tmp_path_factory.mktemp("made")
    scene = folder / "molecule.toml"
    scene.write_text(MOLECULE)
    runs.run(scene, out=folder / "plain")
    runs.run(scene, {"runtime.precision": "f32"}, folder / "f32")
    runs.run(scene, {"hold": [{"body": "ends"}]}, folder / "held")
    runs.run(scene, {"energy.0.rest": ["0.96 angstrom", "0.96 angstrom", "1.6 angstrom"]}, folder / "bent")
    return folder


def frequencies(masses: tuple[float, float], k: float) -> np.ndarray:
    """Of the three vibrations [Hz], with NumPy: each spring adds k n n^T between its ends."""
    x = np.array([[0.0, 0.0], [0.96, 0.0], [-0.24, 0.92951600308978]])
    hessian = np.zeros((3, 2, 3, 2))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        n = (x[i] - x[j]) / np.linalg.norm(x[i] - x[j])
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            hessian[a, :, b] += sign * k * np.outer(n, n)
    root = np.repeat(np.sqrt(DALTON * np.array([masses[0], masses[1], masses[1]])), 2)
    values = np.linalg.eigvalsh(hessian.reshape(6, 6) / root / root[:, None])
    return np.sqrt(values[3:]) / (2.0 * np.pi)


EXPECTED = frequencies((16.0, 1.0), 800.0)


def test_the_table_and_the_pictures(made: Path, invoke: Callable) -> None:
    """Three zero modes and three vibrations, in the run's unit, THz and cm^-1; the run stays as it is."""
    before = files(made / "plain")
    code, out, err = invoke("modes", made / "plain", "--mode", 4, "--out", "drawn")
    assert (code, err) == (0, "")
    assert files(made / "plain") == before
    head, titles, _, *rows, remark, rest, picture, animation = out.splitlines()
    assert head == f"{made / 'plain'}: step 4"
    assert titles.split() == ["mode", "frequency", "[ps⁻¹]", "omega", "[rad", "ps⁻¹]", "THz", "cm⁻¹"]
    assert [row.split() for row in rows[:3]] == [[str(k), "0", "0", "0", "0", "zero"] for k in (1, 2, 3)]
    numbers = np.array([[float(n) for n in row.split()] for row in rows[3:]])
    assert numbers[:, 0].tolist() == [4, 5, 6]
    assert numbers[:, 1] == pytest.approx(EXPECTED / 1e12, rel=1e-5)
    assert numbers[:, 2] == pytest.approx(2.0 * np.pi * EXPECTED / 1e12, rel=1e-5)
    assert numbers[:, 3] == pytest.approx(EXPECTED / 1e12, rel=1e-5)
    assert numbers[:, 4] == pytest.approx(EXPECTED / 29979245800.0, rel=1e-5)
    assert remark == "6 lowest of 6 modes: 3 zero, 0 unstable"
    assert rest == "largest |dU/dx|: 0 Å Da ps⁻² (at rest)"
    assert (picture, animation) == ("drawn/modes.png", "drawn/mode_4.gif")
    with Image.open(picture) as png, Image.open(animation) as gif:
        assert min(png.size) > 300
        assert gif.n_frames == 24
        assert gif.info["loop"] == 0
        first = np.asarray(gif.convert("RGB"))
        gif.seek(6)
        assert (first[[0, -1], -1] == 255).all()
        assert (np.asarray(gif.convert("RGB")) != first).any()
    code, out, _ = invoke("modes", made / "plain")
    assert out.splitlines()[-1] == f"{made / 'plain' / 'pictures' / 'modes.png'}"
    shutil.rmtree(made / "plain" / "pictures")


@pytest.mark.parametrize("run", ["plain", "f32"])
def test_json_and_single_precision(run: str, made: Path, invoke: Callable) -> None:
    """At a state in f32, U is differentiated in f64: rounding of the state alone is left."""
    code, out, err = invoke("modes", made / run, "--json", "--mode", 6, "--out", "drawn", "--at", 2)
    assert (code, err) == (0, "")
    found = json.loads(out)
    again = json.loads(invoke("modes", made / run, "--json", "--out", "drawn", "--at", 2)[1])
    assert again["modes"] == found["modes"]
    assert (found["step"], found["total"], found["unit_of_time"], found["mode"]) == (2, 6, "ps", 6)
    assert [mode["kind"] for mode in found["modes"]] == ["zero"] * 3 + [""] * 3
    hertz = [mode["hertz"] for mode in found["modes"]]
    assert hertz[3:] == pytest.approx(EXPECTED, rel=1e-6 if run == "f32" else 1e-9)
    x = np.array(found["displacements"]["x"])
    assert np.sum(np.array([[16.0], [1.0], [1.0]]) * x * x) == pytest.approx(1.0, rel=1e-9)


def test_derivatives_at_a_state_in_f32_are_those_of_f64(made: Path) -> None:
    """The largest force is the rounding of the state: that of the springs, by NumPy in double precision."""
    found = modes(made / "f32")
    potential = found.simulation.potential
    x, k = potential.fields["x"].values.astype(np.float64), float(potential.parameter("spring.stiffness"))
    rest, force = storage.host(potential.terms["spring"].data["rest"]).astype(np.float64), np.zeros((3, 2))
    for (i, j), length in zip(((0, 1), (0, 2), (1, 2)), rest, strict=True):
        d = x[i] - x[j]
        pull = k * (np.linalg.norm(d) - length) * d / np.linalg.norm(d)
        force[i] += pull
        force[j] -= pull
    assert found.found.gradient["x"] == pytest.approx(np.abs(force).max(), rel=1e-6)
    assert np.abs(force).max() > 0.0


def test_held_nodes_are_left_out(made: Path, invoke: Callable) -> None:
    """The heavy atom alone swings between two springs: lambda = k / m (1 +- cos angle)."""
    found = json.loads(invoke("modes", made / "held", "--json", "--out", "drawn")[1])
    expected = np.sqrt(800.0 / (16.0 * DALTON) * np.array([0.75, 1.25])) / (2.0 * np.pi)
    assert [mode["hertz"] for mode in found["modes"]] == pytest.approx(expected, rel=1e-9)


def test_a_state_that_is_not_at_rest_is_reported(made: Path, invoke: Callable) -> None:
    out = invoke("modes", made / "bent", "--out", "drawn")[1]
    (said,) = (line for line in out.splitlines() if line.startswith("largest"))
    assert said.endswith("Å Da ps⁻² (NOT at rest: these are modes of the quadratic part of U)")
    cure = "minimise U first for vibrations about a place of rest: [stepper] kind = 'lbfgs'"
    assert cure in out.splitlines()


REST = {"checkpoint.every": 0, "observe.0.every": 1}
WAVE = {"state.size": [12, 9], "run.steps": 2, "observe.1.every": 1} | REST


def test_a_field_over_a_grid(invoke: Callable) -> None:
    """A membrane with free edges: lambda = 4 sigma (sin(p/2)^2 + sin(q/2)^2), p = k pi / 12, q = l pi / 9."""
    run = runs.run(SCENES / "wave_energy.toml", WAVE, "wave").folder
    found = json.loads(invoke("modes", run, "--json", "--count", 5, "--mode", 2)[1])
    sides = [np.sin(np.arange(n) * np.pi / n / 2.0) ** 2 for n in (12, 9)]
    expected = np.sort((4.0 * np.add.outer(*sides)).ravel())[:5]
    assert [mode["eigenvalue"] for mode in found["modes"]] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert found["modes"][0]["kind"] == "zero"
    assert [path.name for path in sorted((run / "pictures").iterdir())] == ["mode_2.gif", "modes.png"]


def complaint(invoke: Callable, *arguments: object) -> str:
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, ""), err
    return err.rstrip("\n").removeprefix("minusgrad: ")


def test_a_step_that_was_not_saved(made: Path, invoke: Callable) -> None:
    text = f"{made / 'plain'}: no state of step 3 was saved (there are: 0, 2, 4); [checkpoint] keep_every"
    assert complaint(invoke, "modes", made / "plain", "--at", 3) == f"{text} keeps more"


def test_a_mode_that_is_not_in_the_table(made: Path, invoke: Callable) -> None:
    text = "--mode: must be from 1 to 4, got 5; --count shows more modes"
    assert complaint(invoke, "modes", made / "plain", "--count", 4, "--mode", 5) == text
    text = "normal modes: at least one is needed, got 0; ask for more"
    assert complaint(invoke, "modes", made / "plain", "--count", 0) == f"{made / 'plain'}: {text}"


def test_what_has_no_motion(invoke: Callable) -> None:
    """The state of a program moves by maps."""
    runs.run(SCENES / "billiards.toml", {"run.steps": 1, "run.allow_dead": True} | REST, "balls")
    text = "normal modes: no field moves by Newton's law; give a state with positions and masses"
    assert complaint(invoke, "modes", "balls") == f"balls: {text}"


def test_a_fit_is_no_run(invoke: Callable) -> None:
    runs.fit(SCENES / "spring_stiffness.toml", {"fit.iterations": 1}, "fitted")
    text = "fitted: is a fit, which has no state of its own; give the folder of a run"
    assert complaint(invoke, "modes", "fitted") == text


def test_a_magnetic_field(invoke: Callable) -> None:
    runs.run(SCENES / "crossed_fields.toml", {"run.steps": 1}, "crossed")
    assert complaint(invoke, "modes", "crossed") == (
        "crossed: modes: has no rule for a magnetic field, got 'uniform_field'; leave it out for the modes"
        " without it"
    )


def test_a_plugin_is_asked_for(made: Path, invoke: Callable) -> None:
    hill = "from minusgrad import Node, local_energy\n\n\n"
    hill += '@local_energy("hill", over="nodes", x=Node("m", ("d",)))\n'
    hill += "def hill(x):\n    return -x[0].norm_sqr()\n"
    Path("hill.py").write_text(hill)
    scene = {"energy": [{"kind": "hill"}], "units": {"system": "dimensionless"}}
    plain = {"state.mass": 1.0, "stepper.dt": 0.01, "run.steps": 1, "plugins": ["elastic"]}
    runs.run(made / "molecule.toml", scene | plain, "hilly", ["hill.py"])
    text = "hilly: was run with --plugin hill.py, and a run folder holds no code;"
    again = f"{text} give it again: minusgrad modes hilly --plugin hill.py"
    assert complaint(invoke, "modes", "hilly") == again
    code, out, _ = invoke("modes", "hilly", "--plugin", "hill.py")
    assert code == 0
    row = ["1", "0.225079", "i", "1.41421", "i", "unstable"]
    assert row in [line.split() for line in out.splitlines()]
    Path("hill.py").write_text(hill.replace("-x", "-2.0 * x"))
    err = complaint(invoke, "modes", "hilly", "--plugin", "hill.py")
    assert err.startswith("hilly: not the run that was saved:\n")
    assert err.endswith("\nrun the scene again")
