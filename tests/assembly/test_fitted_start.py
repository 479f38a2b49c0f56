"""Runs and fits that start with what an earlier fit found: the same bits, from its folder and without it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from minusgrad.app import cli
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import build, fit, run
from minusgrad.assembly.fits.fitted import Fitted
from minusgrad.errors import CheckpointError, InterruptedRunError, RunFolderError, UserError
from minusgrad.files import checkpoint, durable, trajectory
from tests.support import oscillators
from tests.support.command import complaints, files
from tests.support.oscillators import leapfrog
from tests.support.short_scenes import ctrl_c

PLUGIN = Path(oscillators.__file__)
SCENE = f"""{oscillators.TETHERS}\
[[observe]]
kind = "frames"
every = 10
[fit]
method = "adam"
rate = 0.1
iterations = 3
[fit.parameters."tether.k"]
lower = 0.1
[fit.parameters.v]
body = "left"
[[fit.loss]]
kind = "reach"
"""
X, M = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 0.5])
ANOTHER = (
    "a fit of another scene, which differs in {}; give the fit's overrides here too, or as key=value what is"
    " to differ from its scene"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swing.toml").write_text(SCENE)
    return tmp_path


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        plugin = ("--plugin", str(PLUGIN)) if arguments[0] not in ("info", "verify") else ()
        code = cli.main([*map(str, arguments), *plugin])
        out, err = capsys.readouterr()
        return code, out, complaints(err)

    return call


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The fit of the scene as it is."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "swing.toml").write_text(SCENE)
    return fit(folder / "swing.toml", {}, folder / "fit", [PLUGIN])


@pytest.fixture
def done(here: Path, made: Any) -> Any:
    """The same, with its folder `fit` here."""
    shutil.copytree(made.folder, "fit")
    return made


def fitted(overrides: dict | None = None, out: str = "fit", **more: Any) -> Any:
    return fit("swing.toml", overrides or {}, out, [PLUGIN], **more)


def started(overrides: dict | None = None, fit: str = "fit") -> Any:
    return build("swing.toml", overrides or {}, [PLUGIN], fitted=fit)


def refusal(overrides: dict | None = None, fit: str = "fit") -> str:
    with pytest.raises(UserError) as error:
        started(overrides, fit)
    return str(error.value)


def values(simulation: Any) -> tuple[np.ndarray, np.ndarray]:
    return simulation.fields["v"].values, simulation.potential.parameter("tether.k")


def reported(folder: str) -> tuple[np.ndarray, np.ndarray]:
    """v and k in fit.json, v with the nodes that were not fitted."""
    found = json.loads((Path(folder) / "fit.json").read_bytes())["parameters"]
    v = np.array([found["v"]["values"], [0.3, 0.0], [0.1, 0.0]])
    return v, np.array(found["tether.k"]["values"])


# The values -----------------------------------------------------------------------------------------


def test_a_run_takes_what_a_fit_reports(here: Path, done, invoke) -> None:
    v, k = reported("fit")
    assert all(map(np.array_equal, values(started()), (v, k)))
    code, _, err = invoke("run", "swing.toml", "--fitted", "fit", "--out", "run")
    assert (code, err) == (0, "minusgrad: starts from iteration 3 of the fit in fit: tether.k, v\n")
    x = trajectory.series(Path("run"), "particles/all/position").value
    path = leapfrog(X, v, M, k, 0.1, 40)  # in NumPy
    assert np.allclose(x, [path[s] for s in (0, 10, 20, 30, 40)], rtol=0, atol=1e-13)
    assert -x[-1][:, 0].sum() == done.estimates.loss  # the loss of the fit, bit for bit


def test_single_precision(here: Path) -> None:
    done = fitted({"runtime.precision": "f32"})
    one = started({"runtime.precision": "f32"})
    one.step(40)
    assert float(-one.fields["x"].values[:, 0].sum(dtype=np.float64)) == pytest.approx(
        done.estimates.loss, 1e-7
    )
    assert all(a.dtype == np.float32 for a in values(one))


def test_a_search_that_is_interrupted_gives_its_newest_values(here: Path) -> None:
    with ctrl_c(2) as progress, pytest.raises(InterruptedRunError):
        fitted(progress=progress)
    shorter = fitted({"fit.iterations": 2}, "two")
    want = shorter.simulation.potential.parameter("tether.k")
    assert np.array_equal(values(started())[1], want)
    assert Fitted.of_fit(Path("fit")).remark.startswith("starts from iteration 2 of the fit in fit: ")


def test_a_fit_goes_on_from_an_earlier_one(here: Path, done, invoke) -> None:
    code, _, err = invoke("fit", "swing.toml", "fit.iterations=0", "--fitted", "fit", "--out", "again")
    assert (code, err) == (0, "minusgrad: starts from iteration 3 of the fit in fit: tether.k, v\n")
    assert all(map(np.array_equal, reported("again"), reported("fit")))
    start = {"fit.parameters.v.start": [5.0, 5.0]}  # of the scene
    third = fitted(start | {"fit.iterations": 0}, "third", fitted="fit").parameter_fit
    assert np.array_equal(third.objective.fields["v"].values, reported("fit")[0])


def test_values_that_a_later_fit_does_not_vary_are_passed_on(here: Path, done) -> None:
    text = SCENE.replace('[fit.parameters."tether.k"]\nlower = 0.1\n', "")
    (here / "swing.toml").write_text(text)
    fitted(out="later", fitted="fit")
    shutil.rmtree("fit")
    v, k = values(started(fit="later"))
    assert np.array_equal(v, build_v("later"))
    assert not np.array_equal(k, [1.0, 1.0, 1.0])
    assert [one.name for one in Fitted.of_fit(Path("later")).checkpoints] == [
        *(path.name for path in Path("later/inputs/fitted").iterdir()),
        checkpoint.list_checkpoints(Path("later/ckpt"))[-1].name,
    ]
    (here / "swing.toml").write_text(SCENE)
    fitted(out="all", fitted="later")
    assert len(Fitted.of_fit(Path("all")).checkpoints) == 1  # it varied everything


def build_v(folder: str) -> np.ndarray:
    found = json.loads((Path(folder) / "fit.json").read_bytes())["parameters"]["v"]["values"]
    return np.array([found, [0.3, 0.0], [0.1, 0.0]])


def test_parameters_of_friction(here: Path) -> None:
    more = '[[dissipation]]\nkind = "mass_damping"\nrate = 0.1\n[stepper]'
    text = SCENE.replace("[stepper]", more).replace(
        "[fit.parameters.v]\nbody", '[fit.parameters."mass_damping.rate"]\n#'
    )
    (here / "swing.toml").write_text(text)
    done = fitted()
    rate = done.simulation.dissipation.parameter("mass_damping.rate")
    assert rate != 0.1
    assert started().dissipation.parameter("mass_damping.rate") == rate


# Files and resuming ---------------------------------------------------------------------------------


def test_a_resumed_run_needs_no_folder_of_the_fit(here: Path, done, invoke) -> None:
    many = {"observe.0.every": 1}
    run("swing.toml", many, "whole", [PLUGIN], fitted="fit")
    with ctrl_c(17) as progress, pytest.raises(InterruptedRunError):
        run("swing.toml", many, "half", [PLUGIN], progress=progress, fitted="fit")
    shutil.rmtree("fit")
    again = resume("half", [PLUGIN])
    assert files(Path("half")) == files(Path("whole"))
    assert np.array_equal(again.simulation.potential.parameter("tether.k"), build_k("whole"))
    assert invoke("verify", "half")[0] == 0


def build_k(folder: str) -> np.ndarray:
    (copied,) = Path(folder, "inputs", "fitted").iterdir()
    with h5py.File(copied) as file:
        return file["arrays/fields/tether.k"][...]


def test_a_run_says_where_its_values_come_from(here: Path, done, invoke) -> None:
    run("swing.toml", {}, "run", [PLUGIN], fitted="fit")
    meta = checkpoint.load(checkpoint.list_checkpoints(Path("run/ckpt"))[-1]).meta
    last = checkpoint.list_checkpoints(Path("fit/ckpt"))[-1]
    (facts,) = meta["fitted"]
    assert facts["checkpoint"] == last.name
    assert f"fitted/{last.name}" in meta["files"]
    assert (facts["iteration"], facts["loss"]) == (3, done.estimates.loss)
    assert facts["values"] == {"tether.k": [3], "v": [3, 2]}
    assert facts["fit"]["title"] == "Three tethers"
    assert facts["fit"]["scene"]["fit"]["method"] == "adam"
    assert Path("run/inputs/fitted", last.name).read_bytes() == last.read_bytes()
    assert "  starts from iteration 3 of a fit of 'Three tethers': tether.k, v\n" in invoke("info", "run")[1]


def test_without_it_nothing_is_recorded(here: Path) -> None:
    run("swing.toml", {}, "run", [PLUGIN])
    assert "fitted" not in checkpoint.load(checkpoint.list_checkpoints(Path("run/ckpt"))[-1]).meta
    assert not Path("run/inputs").exists()


@pytest.mark.parametrize("harm", ["lost", "flipped"])
def test_damaged_values_are_not_resumed(here: Path, done, harm: str) -> None:
    with ctrl_c(17) as progress, pytest.raises(InterruptedRunError):
        run("swing.toml", {"observe.0.every": 1}, "run", [PLUGIN], progress=progress, fitted="fit")
    (copied,) = Path("run/inputs/fitted").iterdir()
    data = bytearray(copied.read_bytes())
    data[-1] ^= 1
    copied.unlink() if harm == "lost" else copied.write_bytes(data)
    with pytest.raises(CheckpointError, match=copied.name):
        resume("run", [PLUGIN])


def test_check_asks_at_the_fitted_values(here: Path, done, invoke) -> None:
    assert invoke("check", "swing.toml", "--fitted", "fit")[0] == 0
    code, _, err = invoke("check", "swing.toml", "--fitted", "nothing")
    assert code == 2
    assert "nothing: no such folder; runs here: fit" in err
    code, _, err = invoke("check", "tether", "--fitted", "fit")
    assert (code, err) == (2, "minusgrad: tether: --fitted needs a scene; give the scene that was fitted\n")


# Refusals -------------------------------------------------------------------------------------------


def test_the_fit_of_another_scene(here: Path, done) -> None:
    (here / "swing.toml").write_text(SCENE.replace("m = [1.0", "m = [3.0").replace("k = [1.0", "k = [2.0"))
    assert refusal() == f"fit: {ANOTHER.format('state.m.0, energy.0.k.0')}"


def test_what_overrides_ask_for_may_differ(here: Path, invoke) -> None:
    fitted({"state.m": [1.0, 1.0, 1.0]})
    assert refusal() == f"fit: {ANOTHER.format('state.m.1, state.m.2')}"
    one = started({"state.m": [1.0, 1.0, 2.0]})
    assert one.fields["m"].values.tolist() == [1.0, 1.0, 2.0]
    assert np.array_equal(values(one)[1], reported("fit")[1])
    assert refusal({"runtime.seed": 3, "state.m.1": 1.0}) == f"fit: {ANOTHER.format('state.m.2')}"


def test_a_file_of_the_scene_that_has_changed(here: Path) -> None:
    table = "m,x,y,vx,vy\n1,1,0,0,0.5\n2,0,2,0.3,0\n"
    (here / "bodies.csv").write_text(table)
    state = 'kind = "from_csv"\nfile = "bodies.csv"\n'
    head, rest = SCENE.split('kind = "tethered"\n')[0], SCENE.split("[[energy]]")[1]
    text = head + state + "[[energy]]" + rest.replace("[1.0, 1.0, 1.0]", "1.0").replace('body = "left"', "")
    (here / "swing.toml").write_text(text)
    fitted()
    started()
    (here / "bodies.csv").write_text(table.replace("0.5", "0.6"))
    assert refusal() == f"fit: {ANOTHER.format('bodies.csv')}"


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        (
            {"state.x": X.tolist()[:2], "state.v": X.tolist()[:2], "state.m": [1.0, 2.0], "energy.0.k": 1.0},
            "fit: 'tether.k' has shape [3], needs [1]; fit this scene for values that it can take",
        ),
        (
            {"energy.0.name": "rope"},
            "fit: no term named 'tether' (there are: rope); fit this scene for values that it can take",
        ),
    ],
)
def test_values_without_a_place(here: Path, done, overrides: dict, text: str) -> None:
    assert refusal(overrides) == text


def test_a_field_of_another_shape(here: Path) -> None:
    (here / "swing.toml").write_text(SCENE.replace('[fit.parameters."tether.k"]\nlower = 0.1\n', ""))
    fitted()
    less = {"state.x": X.tolist()[:2], "state.v": X.tolist()[:2], "state.m": [1.0, 2.0], "energy.0.k": 1.0}
    text = "fit: 'v' has shape [3, 2], needs [2, 2]; fit this scene for values that it can take"
    assert refusal(less) == text


def test_another_unit(here: Path, done) -> None:
    path = checkpoint.list_checkpoints(Path("fit/ckpt"))[-1]
    found = checkpoint.load(path)
    found.units["fields/v"] = "km"
    checkpoint.save(path.parent, found)
    durable.remove(path)
    assert refusal() == "fit: 'v' is in km, needs 1; fit this scene for values that it can take"


def test_folders_that_hold_no_fit(here: Path, done) -> None:
    run("swing.toml", {}, "run", [PLUGIN])
    with pytest.raises(RunFolderError) as error:
        started(fit="run")
    assert str(error.value) == "run: contains a run; give the folder of a fit (`minusgrad fit`)"
    with pytest.raises(RunFolderError, match="nowhere: no such folder; runs here: run, fit"):
        started(fit="nowhere")
    shutil.rmtree("fit/ckpt")
    with pytest.raises(RunFolderError, match="fit: has no usable checkpoint; fit again"):
        started()
