"""Run folders opened to be read: names, series, how it ended; without an engine, and of every kind."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

import minusgrad
from minusgrad.app.results.csv_export import export
from minusgrad.app.results.ensemble_run import EnsembleRun
from minusgrad.app.results.fit import Fit
from minusgrad.app.results.run import Run
from minusgrad.errors import RunFolderError, UserError
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from tests.support import saved_runs
from tests.support.recorded_runs import T, recorded_run

X = np.linspace(0, 1, len(T) * 6).reshape(len(T), 3, 2)
TOTAL = np.cos(T)


@pytest.fixture
def folder(tmp_path):
    return recorded_run(tmp_path / "run", {"position": X, "phi": X[..., 0]}, {"total": TOTAL})


def test_series_have_one_name_in_three_spellings(folder):
    run = minusgrad.open(str(folder))
    for name in ("position", "x", "particles/all/position"):
        np.testing.assert_array_equal(run[name], X)
    for name in ("total", "observables/total"):
        np.testing.assert_array_equal(run[name], TOTAL)
        np.testing.assert_array_equal(run.series(name).time, T)
    assert run.names == list(run) == ["total", "phi", "position"]
    assert len(run) == 3
    assert "x" in run
    assert "kinetic" not in run
    assert {name: array.shape for name, array in dict(run).items()}["phi"] == (len(T), 3)
    assert run.unit("x") == "AU"
    np.testing.assert_array_equal(run.times, T)
    np.testing.assert_array_equal(run.steps, np.arange(len(T)))


def test_a_field_is_found_under_the_label_that_the_run_says(tmp_path):
    meta = {"labels": {"q": "position", "x": "phi"}}
    run = minusgrad.open(recorded_run(tmp_path / "run", {"position": X, "phi": X[..., 0]}, meta=meta))
    np.testing.assert_array_equal(run["q"], X)
    np.testing.assert_array_equal(run["x"], X[..., 0])


def test_a_name_that_several_series_have_is_written_out(tmp_path):
    value = np.ones(len(T))
    run = minusgrad.open(recorded_run(tmp_path / "run", {"heat": X[..., 0]}, {"heat": value}))
    assert run.names == ["observables/heat", "particles/all/heat"]
    np.testing.assert_array_equal(run["observables/heat"], value)
    with pytest.raises(UserError, match="'heat' may be observables/heat or particles/all/heat"):
        run["heat"]


def test_an_unknown_name_is_answered_with_the_near_one(folder):
    with pytest.raises(UserError, match="no series named 'positon'; did you mean 'position'"):
        minusgrad.open(folder)["positon"]


@pytest.mark.parametrize(
    ("recorded", "name", "cure"),
    [
        ("position", "total", "; record it with the observer 'energies'"),
        ("position", "potential/gravity", "; record it with the observer 'energies'"),
        ("phi", "position", "; record it with the observer 'frames'"),
        ("position", "energy", "; record it with the observer 'energies'"),
        ("position", "mass", ")"),
    ],
)
def test_a_usual_series_that_was_not_recorded_names_its_observer(tmp_path, recorded, name, cure):
    run = minusgrad.open(recorded_run(tmp_path / "run", {recorded: X}))
    with pytest.raises(UserError) as refused:
        run[name]
    assert str(refused.value).endswith(f"(there are: {recorded}){cure.removeprefix(')')}")


def test_units_are_named_in_python_in_tables_and_datasets(tmp_path):
    path, recorder = tmp_path / "run", Recorder({"total": ("m^2 kg s^-2", 1.0)}, ("s", 1.0))
    recorder.record_observables(0, 0.0, {"total": 1.5})
    with RunDir.create(path, b"", []) as folder:
        folder.save(Snapshot(0, 0.0, 0.1, {}, meta={}), recorder, keep=2)
    run = minusgrad.open(path)
    assert run.unit("total") == "J"
    assert run.to_xarray()["total"].attrs["units"] == "J"
    out = io.StringIO()
    export(path, ["total"], out)
    assert out.getvalue().splitlines()[0] == "step,time [s],total [J]"


def test_energy_is_several_series(tmp_path):
    run = minusgrad.open(recorded_run(tmp_path / "run", {}, {"kinetic": T, "potential/well": T, "total": T}))
    with pytest.raises(UserError, match=r"; energies are 'kinetic', 'potential/well', 'total'$"):
        run["energy"]


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(RunFolderError, match="not a run"):
        minusgrad.open(tmp_path)


def test_an_opened_run_says_how_it_ended_and_has_no_simulation(folder):
    run = minusgrad.open(folder)
    assert (run.state, run.outcome) == ("killed", "killed")
    with RunDir.open(folder) as writer:
        assert run.state == "running"
        writer.journal("finished", step=39, outcome="converged")
    assert (run.state, run.outcome) == ("finished", "converged")
    assert repr(run) == f"Run('{folder}', converged: total, phi, position)"
    with pytest.raises(RunFolderError, match="was opened to be read"):
        run.simulation  # noqa: B018


def test_scene_overrides_and_info_are_those_of_the_folder(tmp_path):
    saved_runs.start(tmp_path / "run").close()
    run = minusgrad.open(tmp_path / "run")
    assert run.scene.encode() == saved_runs.SCENE
    assert run.overrides == ["b=2", "a=1"]
    assert run.info()["title"] == "t"
    with pytest.raises(UserError, match="has no recorded series"):
        run.times  # noqa: B018
    assert run
    assert not len(run)


def test_a_running_run_shows_what_has_been_saved_since(tmp_path):
    saved_runs.start(tmp_path / "run").close()
    run = minusgrad.open(tmp_path / "run")
    saved_runs.go_on(tmp_path / "run", 20)
    assert len(run["total"]) == 20
    saved_runs.go_on(tmp_path / "run", 30)
    assert len(run["total"]) == 30
    assert run.steps[-1] == 30


def test_a_fit_is_opened_with_its_estimates(tmp_path):
    folder = recorded_run(tmp_path / "fit", observables={"loss": TOTAL}, meta={"fit": True})
    fit = minusgrad.open(folder)
    assert isinstance(fit, Fit)
    with pytest.raises(RunFolderError, match="has no estimates yet, the fit is killed"):
        fit.estimates  # noqa: B018
    one = {"unit": "N", "components": ["k"], "values": [2.0], "standard_errors": [None], "at_bounds": []}
    found = {"outcome": "converged", "iterations": 3, "loss": 0.5, "observations": 4, "errors_from": "none"}
    found |= {"sigma": None, "reduced_chi_squared": None, "undetermined": [], "parameters": {"spring.k": one}}
    (folder / "fit.json").write_text(json.dumps(found))
    assert fit.estimates.parameters[0].values.tolist() == [2.0]
    assert ">standard error<" not in fit._repr_html_()  # no parameter has one
    assert ">k<" in fit._repr_html_()
    (folder / "fit.json").write_text("{}")
    with pytest.raises(RunFolderError, match="damaged"):
        fit.estimates  # noqa: B018


def test_an_ensemble_is_opened_with_an_axis_for_its_members(tmp_path):
    rows = Recorder({"position": ("m", 1.0)}, ("s", 1.0))
    x = np.arange(12.0).reshape(1, 6, 2)
    rows.record_frame(0, 0.0, {"position": x[0]})
    rows.record_observables(0, 0.0, {"total": np.array([1.0, 2.0, 3.0])})
    meta = {"members": 3, "nodes": 2, "numbers": [[0, 3]], "names": [], "bodies": {}}
    marks = np.frombuffer(b'[1, [[2, 7, "step 7: no"]]]', np.uint8)
    arrays = {"points/gravity.G": np.array([0.5, 1.0, 1.5]), "stepper/members/marks": marks}
    with RunDir.create(tmp_path / "run", b"", []) as run:
        run.save(Snapshot(0, 0.0, 0.1, arrays, meta={"ensemble": meta}), rows, keep=1)
    ensemble = minusgrad.open(tmp_path / "run")
    assert isinstance(ensemble, EnsembleRun)
    np.testing.assert_array_equal(ensemble["x"], x.reshape(1, 3, 2, 2))
    np.testing.assert_array_equal(ensemble["total"], [[1.0, 2.0, 3.0]])
    assert ensemble.points["gravity.G"].tolist() == [0.5, 1.0, 1.5]
    assert ensemble.failures[2].step == 7
    assert [one["state"] for one in ensemble.members] == ["running", "running", "failed"]
    with pytest.raises(RunFolderError, match="was opened to be read"):
        ensemble.ensemble  # noqa: B018


def test_a_damaged_checkpoint_does_not_hide_the_series(folder):
    for path in (folder / "ckpt").glob("*.h5"):
        path.write_bytes(b"no")
    np.testing.assert_array_equal(minusgrad.open(folder)["x"], X)


def test_opening_and_reading_a_run_loads_no_engine(folder):
    code = (
        "import sys, minusgrad\n"
        f"run = minusgrad.open({str(folder)!r})\n"
        "run['position'], run.names, run.times, run.state, run.scene, run.info(), repr(run)\n"
        "print(sorted({'taichi', 'quadrants', 'scipy', 'matplotlib', 'xarray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_run_that_ran_here_is_of_the_same_class():
    from minusgrad.app.jobs import job_runs

    assert Run is job_runs.Run


def test_the_files_that_a_scene_read_are_given_as_they_were(tmp_path):
    saved_runs.start(tmp_path / "run").close()
    (tmp_path / "run" / "inputs").mkdir()
    (tmp_path / "run" / "inputs" / "data.csv").write_bytes(b"1,2")
    run = minusgrad.open(tmp_path / "run")
    assert run.read_input("data.csv") == b"1,2"
    assert run.read_input("none.csv") is None
    with pytest.raises(RunFolderError, match=r"leads out of its folder by '\.\.'"):
        run.read_input("../../../secret")
    (tmp_path / "run" / "inputs" / "link.csv").symlink_to("data.csv")
    with pytest.raises(RunFolderError, match=r"'inputs/link.csv' must be a regular file"):
        run.read_input("link.csv")
