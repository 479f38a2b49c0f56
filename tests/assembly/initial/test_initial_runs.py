"""Runs that start from files and from other runs: their first state, resuming, ensembles, fits."""

import re
from pathlib import Path

import numpy as np
import pytest

from minusgrad.app import cli
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import build, fit, run
from minusgrad.assembly.ensembles.members import Members
from minusgrad.assembly.validation import validate
from minusgrad.errors import CheckpointError, InterruptedRunError, SceneError
from minusgrad.files import checkpoint, durable
from minusgrad.scene.document import load
from tests.support import oscillators
from tests.support.command import SCENES, files
from tests.support.short_scenes import ctrl_c

PLUGIN = Path(oscillators.__file__)
SCENE = f"""{oscillators.TETHERS}\
[checkpoint]
every = 10
keep = 50
[[observe]]
kind = "frames"
every = 10
"""
V = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
FROM_FILE = '[initial]\nfields = { v = "v.csv" }\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swing.toml").write_text(SCENE)
    (tmp_path / "v.csv").write_text("x, y\n" + "".join(f"{x}, {y}\n" for x, y in V))
    return tmp_path


def swing(overrides=(), out="runs/swing", **options):
    return run("swing.toml", overrides, out, [PLUGIN], **options)


def test_a_run_from_a_file_keeps_it_and_resumes_to_the_same_bits(here):
    (here / "swing.toml").write_text(SCENE + FROM_FILE)
    whole = swing(out="whole")
    assert (
        checkpoint.load(checkpoint.list_checkpoints(here / "whole/ckpt")[0]).arrays["fields/v"].tolist() == V
    )
    assert (here / "whole/inputs/v.csv").read_bytes() == (here / "v.csv").read_bytes()
    with ctrl_c(15) as progress, pytest.raises(InterruptedRunError):
        swing(out="cut", progress=progress)
    (here / "v.csv").unlink()
    resume("cut", [PLUGIN])
    assert files(here / "cut") == files(here / "whole")
    (here / "cut/inputs/v.csv").write_text("x, y\n0, 0\n0, 0\n0, 0\n")
    with pytest.raises(CheckpointError, match=r"files.v.csv has changed"):
        resume("cut", [PLUGIN])
    assert whole.outcome == "finished"


def test_a_run_starts_from_the_last_state_of_another_with_the_bits_of_one_run(here, capsys):
    """Leapfrog has no memory but its fields: two runs of 20 steps are one of 40."""
    swing(out="long")
    swing({"run.steps": 20}, out="first")
    again = cli.main(
        ["run", "swing.toml", "run.steps=20", "--from", "first", "--out", "second", "--plugin", str(PLUGIN)]
    )
    assert again == 0
    end, start = (
        checkpoint.load(checkpoint.list_checkpoints(here / name / "ckpt")[-1]) for name in ("long", "second")
    )
    for name in ("x", "v", "m"):
        np.testing.assert_array_equal(end.arrays[f"fields/{name}"], start.arrays[f"fields/{name}"])
    assert start.time == pytest.approx(2.0)
    assert start.meta["initial"]["step"] == 20
    capsys.readouterr()
    cli.main(["info", "second"])
    assert "starts from step 20 of another run of 'Three tethers'" in capsys.readouterr().out
    assert start.meta["scene"]["initial"] == {"run": "first", "take": [], "time": False, "fields": {}}


def test_a_run_goes_on_when_the_run_that_it_started_from_is_gone(here):
    swing({"run.steps": 20}, out="first")
    given = {"initial.run": "first", "initial.step": 10, "initial.time": True}
    swing(given, out="whole")
    with ctrl_c(15) as progress, pytest.raises(InterruptedRunError):
        swing(given, out="cut", progress=progress)
    (here / "first").rename(here / "gone")
    done = resume("cut", [PLUGIN])
    assert files(here / "cut") == files(here / "whole")
    assert done.simulation.stepper.time == pytest.approx(5.0)
    (kept,) = (here / "cut/inputs/initial").iterdir()
    kept.write_bytes(b"no")
    with pytest.raises(SceneError, match=r"initial\.step"):
        resume("cut", [PLUGIN])


def test_fields_of_files_are_put_after_those_of_a_run(here):
    swing({"run.steps": 10}, out="first")
    last = checkpoint.load(checkpoint.list_checkpoints(here / "first/ckpt")[-1]).arrays
    made = build("swing.toml", {"initial.run": "first", "initial.fields": {"v": "v.csv"}}, [PLUGIN])
    assert made.fields["v"].values.tolist() == V
    np.testing.assert_array_equal(made.fields["x"].values, last["fields/x"])
    place = "its v is then replaced by v.csv (initial.fields.v)"
    assert made.remarks == [f"starts from step 10 of the run in first; {place}"]
    (here / "placed.toml").write_text(SCENE + FROM_FILE)
    (remark,) = build("placed.toml", {"initial.run": "first"}, [PLUGIN]).remarks
    assert re.search(r"its v is then replaced by v\.csv \(placed\.toml:\d+\)$", remark)
    made = build("swing.toml", {"initial.run": "first", "initial.take": ["v"]}, [PLUGIN])
    np.testing.assert_array_equal(made.fields["v"].values, last["fields/v"])
    assert made.fields["x"].values[0].tolist() == [1.0, 0.0]


def test_mistakes_about_the_run_are_reported_at_their_place(here):
    swing({"run.steps": 10}, out="first")
    (here / "swing.toml").write_text(SCENE + '[initial]\nrun = "first"\n')

    def refused(overrides) -> str:
        with pytest.raises(SceneError) as caught:
            build("swing.toml", overrides, [PLUGIN])
        return str(caught.value)

    few = {"state.x": [[1.0, 0.0]], "state.v": [[0.0, 0.0]], "state.m": [1.0], "energy.0.k": [1.0]}
    assert refused(few).startswith("swing.toml:24:7: initial.run: first: its field 'm' has shape [3], this")
    missing = refused({"initial.step": 7})
    assert "initial.step: first: no state of step 7 was saved (there are: 0, 10)" in missing
    assert "no field named 'y'" in refused({"initial.take": ["y"]})
    assert "second: no such folder; runs here: first" in refused({"initial.run": "second"})
    assert "has no members, got member 3" in refused({"initial.member": 3})
    still = {"stepper": {"kind": "lbfgs"}, "initial.time": True}
    assert "initial.time: stepper 'lbfgs' has no clock, got time = true" in refused(still)
    held = {"hold": [{"body": "left", "velocity": [1.0, 0.0]}], "initial.time": True}
    assert "initial.time: holds move on from where nodes are at time 0" in refused(held)
    (path,) = (p for p in checkpoint.list_checkpoints(here / "first/ckpt") if checkpoint.step_of(p) == 10)
    durable.replace(path, path.read_bytes()[:-1])
    damaged = refused({"initial.step": 10})
    assert "initial.step: first/ckpt/" in damaged


def test_members_begin_with_the_values_of_files_and_one_of_them_starts_a_run(here):
    vary = "[ensemble]\nmembers = 2\n[ensemble.vary]\n'tether.k' = { uniform = [1.0, 2.0] }\n"
    (here / "swing.toml").write_text(SCENE + FROM_FILE + vary)
    done = swing({"run.steps": 10}, out="many")
    start = checkpoint.load(checkpoint.list_checkpoints(here / "many/ckpt")[0]).arrays["stepper/fields/v"]
    assert start.tolist() == [V, V]
    end = done.ensemble.values("v")
    (here / "swing.toml").write_text(SCENE)
    made = build("swing.toml", {"initial.run": "many", "initial.member": 1}, [PLUGIN])
    np.testing.assert_array_equal(made.fields["v"].values, end[1])
    with pytest.raises(SceneError, match="is an ensemble of 2 members; choose one by `member`"):
        build("swing.toml", {"initial.run": "many"}, [PLUGIN])


def test_a_fit_begins_with_the_values_of_files(here):
    text = '[fit]\nmethod = "adam"\nrate = 0.1\niterations = 1\n[fit.parameters.v]\nbody = "left"\n'
    (here / "swing.toml").write_text(SCENE + FROM_FILE + text + '[[fit.loss]]\nkind = "reach"\n')
    found = fit("swing.toml", {"fit.iterations": 0}, "fit", [PLUGIN]).estimates
    assert found.parameters[0].values.tolist() == V[0]
    with pytest.raises(SceneError, match="is a fit, which has no state; start with what it found"):
        build("swing.toml", {"initial.run": "fit"}, [PLUGIN])


def test_members_whose_states_differ_have_the_values_of_files_too(here):
    text = (SCENES / "two_body.toml").read_text()
    vary = '[ensemble]\n[ensemble.vary]\n"state.eccentricity" = { list = [0.1, 0.2] }\n'
    (here / "v2.csv").write_text("x, y\n1, 2\n3, 4\n")
    (here / "two.toml").write_text(f'{text}[initial]\nfields = {{ v = "v2.csv" }}\n{vary}')
    members = Members(validate(load(here / "two.toml")))
    assert members.initial("v").tolist() == [V[:2], V[:2]]
    x = members.initial("x")
    assert not np.array_equal(x[0], x[1])
    assert members.simulation(1).fields["v"].values.tolist() == V[:2]
    np.testing.assert_array_equal(members.simulation(1).fields["x"].values, x[1])
