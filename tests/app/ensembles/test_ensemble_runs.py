"""Ensembles as runs: the bits of a member, cuts, failing members, and the files of a member."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from minusgrad.app.cli import main
from minusgrad.app.compare import compare
from minusgrad.app.ensembles.member_folder import write_member
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.results.ensemble_run import EnsembleRun
from minusgrad.app.runs import build, run
from minusgrad.engine import memory
from minusgrad.errors import CheckpointError, RunFailedError, SceneError, UserError
from minusgrad.files import checkpoint, trajectory
from minusgrad.files.run_folder import RunDir
from minusgrad.steppers import scheduler
from tests.support.command import files
from tests.support.ensembles import TWO_BODIES, ensemble, rows_of, unlike, written
from tests.support.short_scenes import cut


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="module")
def sixteen(scene: Path) -> Path:
    return ensemble(scene, scene.parent / "sixteen").folder


def test_a_member_has_the_same_bits_alone_and_in_any_number(scene: Path, sixteen: Path) -> None:
    three = ensemble(scene, scene.parent / "three", "ensemble.members=3").folder
    alone = ensemble(scene, scene.parent / "alone", "ensemble.member=2").folder
    assert trajectory.names(alone) == trajectory.names(sixteen)
    assert unlike(alone, sixteen, 16, 2) == unlike(alone, three, 3, 2) == []
    assert unlike(alone, sixteen, 16, 3) != []


def test_a_member_is_exported_as_the_run_of_it_alone(scene: Path, sixteen: Path, tmp_path: Path) -> None:
    """Every checkpoint and every segment, byte for byte; and it can be resumed."""
    alone = ensemble(scene, tmp_path / "alone", "ensemble.member=5").folder
    own = write_member(sixteen, 5, tmp_path / "own")
    found = compare(own, alone)
    assert found.differences == []
    assert found.arrays
    assert found.rows
    ours, theirs = files(own), files(alone)
    assert {name: data for name, data in ours.items() if name.startswith(("traj", "ckpt"))} == {
        name: data for name, data in theirs.items() if name.startswith(("traj", "ckpt"))
    }
    assert resume(own).outcome == "finished"
    with pytest.raises(UserError, match="no member 16, there are 0 to 15"):
        write_member(sixteen, 16, tmp_path / "none")


@pytest.mark.parametrize("at", [1, 4, 7])
def test_cut_at_any_step_and_resumed_every_file_is_the_same(
    scene: Path, sixteen: Path, tmp_path: Path, at: int
) -> None:
    out = tmp_path / "run"
    cut(out, scene, {}, at)
    done = resume(out)
    assert isinstance(done, EnsembleRun)
    assert files(out) == files(sixteen)


def test_a_shard_has_the_bits_of_the_whole(scene: Path, sixteen: Path, tmp_path: Path) -> None:
    """And its members are exported by their numbers."""
    shard = ensemble(scene, tmp_path / "shard", "ensemble.shard=[4, 6]").folder
    whole = rows_of(sixteen, "particles/all/position", 16, 5)
    assert rows_of(shard, "particles/all/position", 2, 1).tobytes() == whole.tobytes()
    ours = write_member(shard, 5, tmp_path / "ours")
    assert compare(ours, write_member(sixteen, 5, tmp_path / "theirs")).differences == []
    with pytest.raises(UserError, match="no member 0, there are 4 to 5"):
        write_member(shard, 0, tmp_path / "none")


def test_members_lie_one_after_another_in_one_file(sixteen: Path) -> None:
    with h5py.File(sixteen / "trajectory.h5") as file:
        assert np.array_equal(file["particles/all/member"][...], np.repeat(np.arange(16), 2))
        assert file["particles/all/position/value"].shape == (5, 32, 3)
        assert file["minusgrad/observables/total/value"].shape == (7, 16)
    events = RunDir.open(sixteen, read_only=True).events()
    assert [e["members"] for e in events if e["event"] == "built"] != [""]


APART, TOGETHER = "[[-0.5, 0.0], [0.5, 0.0]]", "[[0.0, 0.0], [0.0, 0.0]]"
STILL, COLLIDING = "[[0.0, 0.5], [0.0, -0.5]]", "[[1.0, 0.0], [-1.0, 0.0]]"
FAILING = TWO_BODIES.partition("[ensemble]")[0].replace("G = 1.0\n\n[[obs", "G = 1e-40\n\n[[obs")
FAILING = (
    FAILING.replace("dt = 0.01", "dt = 0.125")
    + f"""
[ensemble.vary]
"state.x" = {{ list = [{APART}, {APART}, {APART}, {TOGETHER}] }}
"state.v" = {{ list = [{STILL}, {COLLIDING}, {STILL}, {STILL}] }}
"""
)
"""Bodies that meet at step 4 in member 1, and at the start in member 3."""


def test_a_member_that_fails_is_marked_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, out = written(tmp_path, FAILING), tmp_path / "run"
    assert main(["run", str(scene), "--out", str(out)]) == 1
    printed = capsys.readouterr().out
    assert "4 members: 2 failed, 2 finished" in printed
    assert "member 1 failed after 3 steps: step 4:" in printed
    assert "member 3 failed after 0 steps" in printed
    assert "node 0" in printed
    total = trajectory.series(out, "observables/total").value
    assert np.isfinite(total[:, [0, 2]]).all()
    assert np.isnan(total[-1, [1, 3]]).all()
    assert np.isfinite(total[1, 1])
    alone = ensemble(scene, tmp_path / "alone", "ensemble.member=2").folder
    assert unlike(alone, out, 4, 2) == []
    events = [e for e in RunDir.open(out, read_only=True).events() if e["event"] == "member failed"]
    assert sorted(e["member"] for e in events) == [1, 3]


def test_failures_are_resumed(tmp_path: Path) -> None:
    scene, out = written(tmp_path, FAILING), tmp_path / "run"
    cut(out, scene, {}, 5)
    done = resume(out)
    assert isinstance(done, EnsembleRun)
    assert {number: one.step for number, one in done.failures.items()} == {1: 3, 3: 0}
    whole = run(scene, [], tmp_path / "whole")
    assert files(out) == files(whole.folder)


def test_members_that_all_fail_end_the_run(tmp_path: Path) -> None:
    scene = written(tmp_path, FAILING.replace(STILL, COLLIDING))
    assert main(["run", str(scene), "--out", str(tmp_path / "run")]) == 3
    with pytest.raises(RunFailedError, match="step 4"):
        run(scene, ["ensemble.member=1"], tmp_path / "alone")


def test_langevin_members_have_streams_of_their_own(scene: Path, tmp_path: Path) -> None:
    bath = ['stepper.kind="langevin"', "stepper.friction=1.0", "stepper.temperature=0.1", "ensemble.vary={}"]
    all_ = ensemble(scene, tmp_path / "all", *bath, "ensemble.members=3").folder
    alone = ensemble(scene, tmp_path / "alone", *bath, "ensemble.member=2").folder
    assert unlike(alone, all_, 3, 2) == []
    ends = [rows_of(all_, "particles/all/position", 3, row)[-1].tobytes() for row in range(3)]
    assert len(set(ends)) == 3


def test_statistics_leave_out_members_that_failed(tmp_path: Path) -> None:
    table = '\n[ensemble.statistics]\nof = ["total", "potential/gravity"]\nquantiles = [0.25]\n'
    scene = written(tmp_path, FAILING + table)
    out = ensemble(scene, tmp_path / "run").folder
    total = trajectory.series(out, "observables/total").value[:, [0, 2]]
    found = {
        kind: trajectory.series(out, f"observables/{kind}/total").value for kind in ("mean", "std", "count")
    }
    assert np.array_equal(found["mean"][-1], total[-1].mean())
    assert np.array_equal(found["std"][-1], total[-1].std(ddof=1))
    assert found["count"][-1] == 2.0
    quarter = trajectory.series(out, "observables/quantile_0.25/potential/gravity").value
    assert np.isfinite(quarter).all()
    only = ensemble(scene, tmp_path / "only", "ensemble.statistics.only=true").folder
    assert "observables/total" not in trajectory.names(only)
    assert "observables/kinetic" in trajectory.names(only)
    with pytest.raises(SceneError, match="no observable named 'totl'; did you mean 'total'"):
        run(scene, ['ensemble.statistics.of=["totl"]'], tmp_path / "none")


def test_a_checkpoint_with_other_points_is_refused(scene: Path, sixteen: Path) -> None:
    from minusgrad.app.jobs.job_runs import rebuilt

    folder = RunDir.open(sixteen, read_only=True)
    newest = checkpoint.load(checkpoint.list_checkpoints(sixteen / "ckpt")[-1])
    job, grave, _ = rebuilt(folder, newest, ())
    assert not grave
    newest.arrays["points/gravity.G"] = newest.arrays["points/gravity.G"] + 1.0
    with pytest.raises(CheckpointError, match=r"other values of 'gravity\.G'"):
        job.restore(newest)


def test_rows_that_do_not_fit_into_memory_are_refused(scene: Path, tmp_path: Path) -> None:
    """Before the first step, at the observer."""
    big = ["ensemble.members=2000", "run.steps=1000000000", "checkpoint.wall_time=0", "checkpoint.every=0"]
    with pytest.raises(SceneError, match="rows until the next checkpoint"):
        run(scene, [*big, "observe.0.every=1"], tmp_path / "run")


def test_the_report_in_json(scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = written(tmp_path, FAILING)
    assert main(["run", str(scene), "--out", str(tmp_path / "run"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [one["member"] for one in found["failed"]] == [1, 3]
    assert found["last"]["total"]["least"] <= found["last"]["total"]["mean"]


def test_a_member_is_the_scene_with_its_values(tmp_path: Path) -> None:
    """Bit for bit, with observers whose memory begins with the fields, and a mass that differs."""
    start, _, _ = TWO_BODIES.partition("[ensemble]")
    scene = written(tmp_path, start + '[[observe]]\nkind = "megno"\nevery = 3\n')
    vary = '{"gravity.G" = {list = [1.0, 1.25]}, "state.m" = {list = [[0.75, 0.25], [0.5, 0.125]]}}'
    x = "[[-0.25, 0.0], [0.5, 0.125]]"
    vary = vary.removesuffix("}") + f', "state.x" = {{list = [{x}, {x}]}}}}'
    given = [f"ensemble.vary={vary}", "ensemble.lanes=false"]
    all_ = ensemble(scene, tmp_path / "all", *given)
    lanes = ensemble(scene, tmp_path / "lanes", given[0])
    plain = build(scene, [*given, "ensemble.member=1"])
    for observer in plain.observers:
        observer.observe()
    nothing = Nothing()
    scheduler.run(plain.stepper, 12, plain.observers, nothing)
    rows = plain.recorder.state()
    names = trajectory.names(all_.folder)
    assert {f"{name}/value" for name in names} == {name for name in rows if name.endswith("/value")}
    for name in names:
        assert rows[f"{name}/value"].tobytes() == rows_of(all_.folder, name, 2, 1).tobytes(), name
        if name != "observables/drift":
            assert np.allclose(lanes.series(name).value, all_.series(name).value, rtol=1e-12, atol=1e-12), (
                name
            )


class Nothing:
    """No checkpoints."""

    trigger = scheduler.Every(0)

    def observe(self) -> None:
        pass


@pytest.mark.long
@pytest.mark.parametrize("lanes", ["true", "false"])
def test_a_member_of_a_thousand_is_that_of_four_thousand_on_any_threads(
    lanes: str, scene: Path, tmp_path: Path
) -> None:
    more = [f"ensemble.lanes={lanes}", "observe.0.every=12", "checkpoint.every=0", "run.steps=12"]
    some, many = (
        ensemble(
            scene, tmp_path / str(n), *more, f"ensemble.members={n}", f"runtime.threads={threads}"
        ).folder
        for n, threads in ((1024, 1), (4096, 2))
    )
    alone = ensemble(scene, tmp_path / "alone", *more, "ensemble.members=1024", "ensemble.member=1017").folder
    assert unlike(alone, some, 1024, 1017) == unlike(alone, many, 4096, 1017) == []


@pytest.mark.parametrize("count", [10**4, 10**12])
def test_members_that_do_not_fit_into_memory_are_refused(
    count: int, scene: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their values, or by their states; with the number that fits."""
    monkeypatch.setattr(memory, "free", lambda: memory.Free(10**7))
    with pytest.raises(SceneError, match=r"members: .* of memory needed, .* fit; run fewer"):
        run(scene, [f"ensemble.members={count}"], scene.parent / "none")
    assert not (scene.parent / "none").exists()
