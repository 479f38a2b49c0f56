"""Run folders: what was called saved survives any kill; a resumed run ends with an unbroken one's files."""

import json
import os
import random
import signal
import time

import h5py
import numpy as np
import pytest

from minusgrad.errors import RunFailedError, RunFolderError
from minusgrad.files import checkpoint, master_file, run_folder, trajectory, wall_clock
from minusgrad.files.run_folder import RECORDER, RunDir
from tests.support import saved_runs


@pytest.fixture(autouse=True)
def renewed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each save rewrites the master, so that every change of the folder is within a save."""
    monkeypatch.setattr(run_folder, "RENEWAL", 0.0)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    path = tmp_path_factory.mktemp("unbroken") / "run"
    with saved_runs.start(path) as run:
        saved_runs.simulate(run, np.zeros((4, 2)), saved_runs.recorder(), 0, 60)
    return saved_runs.files(path)


def test_an_unbroken_run_leaves_what_it_should(unbroken):
    names = [name.split(".")[0] for name in unbroken]
    kept = [f"ckpt/{step:012d}" for step in (40, 50, 60)]
    sealed = [f"traj/{step:012d}" for step in (10, 20, 30, 40, 50, 60)]
    assert names == [*kept, "overrides", "scene", *sealed, "trajectory"]
    assert unbroken["scene.toml"] == saved_runs.SCENE
    assert json.loads(unbroken["overrides.json"]) == ["b=2", "a=1"]


@pytest.mark.parametrize("stops", [(7,), (10,), (13, 14, 27), (1, 29, 30, 31, 59), (60,)])
def test_an_interrupted_run_ends_with_the_same_files(tmp_path, unbroken, stops):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    for stop in (*stops, 60):
        saved_runs.go_on(path, stop)
    assert saved_runs.files(path) == unbroken


def test_an_interruption_leaves_its_checkpoint_until_the_next_scheduled_save(tmp_path):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    for stop, steps in ((13, [0, 10, 13]), (17, [0, 10, 13, 17]), (20, [0, 10, 20])):
        saved_runs.go_on(path, stop)
        assert [checkpoint.step_of(p) for p in checkpoint.list_checkpoints(path / "ckpt")] == steps
    assert len(RunDir.open(path, read_only=True).segments()) == 2


def test_fifteen_kills_lose_nothing_that_was_called_saved(tmp_path):
    path, chance = tmp_path / "run", random.Random(0)
    saved_runs.start(path).close()
    acknowledged = 0
    for _ in range(15):
        child = saved_runs.spawn(path)
        assert child.stdout is not None
        lines = [child.stdout.readline()]
        time.sleep(0.1 * chance.random())
        child.send_signal(signal.SIGKILL)
        lines += child.communicate()[0].splitlines(keepends=True)
        steps = [int(line.split()[1]) for line in lines if line.endswith("\n")]
        assert steps
        assert steps[0] > acknowledged, "it went on from the last save"
        acknowledged = steps[-1]
        with RunDir.open(path) as run:
            snapshot, remarks = run.restore()
        assert snapshot.step >= acknowledged
        assert remarks == []
        assert not list(path.rglob(".tmp-*"))
        acknowledged = snapshot.step
    steps = [event["step"] for event in run.events() if event["event"] == "saved"]
    assert steps == sorted(steps)
    assert not [event for event in run.events() if event["event"] == "not deterministic"]

    with saved_runs.start(
        tmp_path / "whole"
    ) as whole:  # and in the end nobody can tell that there were kills
        saved_runs.simulate(whole, np.zeros((4, 2)), saved_runs.recorder(), 0, acknowledged + 20)
    saved_runs.go_on(path, acknowledged + 20)
    assert saved_runs.files(path) == saved_runs.files(tmp_path / "whole")


class Killed(BaseException):
    pass


def _mortal(monkeypatch, calls: int) -> None:
    """Let so many changes of the file system happen, and 'kill' the process at the next."""
    left = iter(range(calls))

    def mortal(real):
        def call(*arguments, **options):
            if next(left, None) is None:
                raise Killed
            return real(*arguments, **options)

        return call

    for name in ("replace", "unlink", "fsync"):
        monkeypatch.setattr(os, name, mortal(getattr(os, name)))


@pytest.mark.parametrize("calls", range(38))
def test_a_kill_at_any_change_of_the_folder_leaves_the_same_end(tmp_path, monkeypatch, unbroken, calls):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    saved_runs.go_on(path, 37)
    with RunDir.open(path) as run:
        snapshot, _ = run.restore()
        recorder = saved_runs.recorder()
        recorder.restore(snapshot.arrays_under(RECORDER))
        _mortal(monkeypatch, calls)
        with pytest.raises(Killed):
            saved_runs.simulate(run, snapshot.arrays["fields/x"], recorder, 37, 60)
        monkeypatch.undo()
    saved_runs.go_on(path, 60)
    assert saved_runs.files(path) == unbroken


def test_a_save_writes_segment_checkpoint_master_journal_in_this_order(tmp_path, monkeypatch):
    run = saved_runs.start(tmp_path / "run")
    order = []
    real = os.fsync

    def fsync(descriptor):
        name = os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), run.path)
        order.append("trajectory.h5" if "trajectory" in name else name.split("/")[0])
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    recorder = saved_runs.recorder()
    recorder.record_observables(10, 1.0, {"total": 1.0})
    run.save(saved_runs.snapshot(10, np.zeros(2)), recorder, saved_runs.KEEP)
    assert list(dict.fromkeys(order)) == ["traj", "ckpt", "trajectory.h5", ".", "journal.jsonl"]
    run.close()


def test_a_damaged_checkpoint_is_passed_over_with_a_remark_and_healed(tmp_path, unbroken):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    saved_runs.go_on(path, 60)
    newest = checkpoint.list_checkpoints(path / "ckpt")[-1]
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 4
    newest.write_bytes(data)
    with RunDir.open(path) as run:
        snapshot, remarks = run.restore()
        assert snapshot.step == 50
        assert len(remarks) == 1
        assert newest.name in remarks[0]
        assert "damaged" in remarks[0]
        line = run.events()[-1]
        assert (line["event"], line["step"], line["remarks"]) == ("restored", 50, remarks)
    saved_runs.go_on(path, 60)
    assert saved_runs.files(path) == unbroken


def test_a_damaged_newest_never_outlives_good_ones(tmp_path):
    """With keep = 1 and another rhythm after the damage, the good new checkpoint must stay."""
    path = tmp_path / "run"
    saved_runs.start(path).close()
    saved_runs.go_on(path, 20)
    checkpoint.list_checkpoints(path / "ckpt")[-1].write_bytes(b"damaged")
    with RunDir.open(path) as run:
        run.restore()
        run.save(saved_runs.snapshot(15, np.zeros(2)), None, keep=1)
    assert [checkpoint.step_of(p) for p in checkpoint.list_checkpoints(path / "ckpt")] == [15]
    assert RunDir.open(path).restore()[0].step == 15


def test_a_run_that_is_not_deterministic_says_so(tmp_path):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    saved_runs.go_on(path, 20)
    checkpoint.list_checkpoints(path / "ckpt")[-1].unlink()  # as if killed between segment and checkpoint
    old = trajectory.segments(path)[-1]
    with RunDir.open(path) as run:
        snapshot, _ = run.restore()
        assert snapshot.step == 10
        recorder = saved_runs.recorder()
        recorder.record_observables(20, 2.0, {"total": 42.0})
        remarks = run.save(saved_runs.snapshot(20, np.zeros(2)), recorder, saved_runs.KEEP)
        assert len(remarks) == 1
        assert f"traj/{old.name}: not deterministic" in remarks[0]
        assert [event["event"] for event in run.events()][-2:] == ["not deterministic", "saved"]
        assert not old.exists()
        assert len(run.segments()) == 2
    assert trajectory.series(path, "observables/total").value[-1] == 42.0


def test_a_lost_attempt_in_another_rhythm_leaves_no_overlap(tmp_path):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    saved_runs.go_on(path, 10)
    lost = saved_runs.recorder()
    lost.record_observables(12, 1.2, {"total": 42.0})
    lost.seal(path / "traj", 12)
    saved_runs.go_on(path, 13)
    saved_runs.go_on(path, 20)
    assert trajectory.series(path, "observables/total").step.tolist() == list(range(1, 21))


def test_segments_beyond_the_checkpoint_are_not_in_the_master(tmp_path):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    saved_runs.go_on(path, 20)
    checkpoint.list_checkpoints(path / "ckpt")[-1].unlink()
    with RunDir.open(path) as run:
        run.restore()
        run.tidy(saved_runs.KEEP)
    with h5py.File(path / "trajectory.h5") as file:
        assert file["minusgrad/observables/total/step"][:].tolist() == list(range(1, 11))


def test_a_second_process_is_refused_while_the_first_lives(tmp_path):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    child = saved_runs.spawn(path)
    assert child.stdout is not None
    child.stdout.readline()
    try:
        for attempt in (
            lambda: RunDir.open(path),
            lambda: RunDir.create(path, saved_runs.SCENE, [], force=True),
        ):
            with pytest.raises(RunFolderError, match=f"is in use by process {child.pid}; wait for it"):
                attempt()
        assert RunDir.open(path, read_only=True).scene == saved_runs.SCENE
    finally:
        child.kill()
        child.communicate()
    RunDir.open(path).close()


def test_strays_are_swept_and_torn_lines_tolerated(tmp_path):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    for folder in ("", "ckpt", "traj"):
        (path / folder / ".tmp-01234567-x.h5").touch()
    with (path / "journal.jsonl").open("a") as journal:
        journal.write('{"event": "sav')
    with RunDir.open(path) as run:
        run.restore()
        assert not list(path.rglob(".tmp-*"))
        run.journal("finished", step=1)
        assert [event["event"] for event in run.events()] == [
            "started",
            "saved",
            "resumed",
            "restored",
            "finished",
        ]
        assert run.events()[0]["pid"] == os.getpid()
        assert run.overrides == ["b=2", "a=1"]


def test_occupied_folders_are_refused(tmp_path):
    foreign, path = tmp_path / "foreign", tmp_path / "run"
    foreign.mkdir()
    (foreign / "scene.toml").write_text("mine")
    for force in (False, True):
        with pytest.raises(RunFolderError, match="not empty, and not a run; use another --out"):
            RunDir.create(foreign, saved_runs.SCENE, [], force)
    assert os.listdir(foreign) == ["scene.toml"]
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match="Not a directory; use another --out"):
        RunDir.create(tmp_path / "file", saved_runs.SCENE, [])
    saved_runs.start(path).close()
    with pytest.raises(
        RunFolderError, match="contains a run already; use another --out, or `minusgrad resume"
    ):
        RunDir.create(path, saved_runs.SCENE, [])


def test_force_starts_anew_and_leaves_foreign_files(tmp_path, unbroken):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    saved_runs.go_on(path, 25)
    (path / "notes.txt").touch()
    with RunDir.create(path, saved_runs.SCENE, ["b=2", "a=1"], force=True) as run:
        assert [event["event"] for event in run.events()] == ["started"]
        run.save(saved_runs.snapshot(0, np.zeros((4, 2))), saved_runs.recorder(), saved_runs.KEEP)
    saved_runs.go_on(path, 60)
    (path / "notes.txt").unlink()
    assert saved_runs.files(path) == unbroken


def test_a_run_killed_while_it_took_the_place_of_another_is_begun_again(tmp_path, monkeypatch):
    """Its journal is empty, and files of the other run may be there that only the caller knows."""
    path = tmp_path / "run"
    saved_runs.start(path).close()
    (path / "inputs").mkdir()
    (path / "inputs" / "data.csv").touch()
    with monkeypatch.context() as patch:
        patch.setattr(RunDir, "journal", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            RunDir.create(path, saved_runs.SCENE, [], force=True)
    assert (path / "journal.jsonl").read_bytes() == b""
    with pytest.raises(RunFolderError, match="or --force to overwrite it"):
        RunDir.create(path, saved_runs.SCENE, [])
    RunDir.create(path, saved_runs.SCENE, [], force=True).close()


def test_what_is_no_run_or_has_no_checkpoint_says_so(tmp_path):
    with pytest.raises(RunFolderError, match="not a run"):
        RunDir.open(tmp_path)
    with (
        RunDir.create(tmp_path / "run", saved_runs.SCENE, []) as run,
        pytest.raises(RunFolderError, match=r"has no usable checkpoint; start the run again: .*--force"),
    ):
        run.restore()


def test_looking_writes_nothing(tmp_path):
    path = tmp_path / "run"
    saved_runs.start(path).close()
    before = (path / "journal.jsonl").read_bytes()
    run = RunDir.open(path, read_only=True)
    for attempt in (
        run.restore,
        lambda: run.journal("x"),
        lambda: run.save(saved_runs.snapshot(1, np.zeros(1)), None, 1),
    ):
        with pytest.raises(RunFolderError, match="is closed, or opened read-only"):
            attempt()
    assert (path / "journal.jsonl").read_bytes() == before


def test_a_full_disk_stops_the_run_and_the_last_checkpoint_stands(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    path = tmp_path / "run"
    with saved_runs.start(path) as run:
        monkeypatch.setattr(
            os, "replace", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left on device"))
        )
        with pytest.raises(RunFailedError, match="No space left"):
            run.save(saved_runs.snapshot(10, np.zeros(2)), None, saved_runs.KEEP)
        monkeypatch.undo()
    with RunDir.open(path) as run:
        assert run.restore()[0].step == 0


def test_steps_beyond_ten_to_the_twelve_are_found(tmp_path):
    """Names get a 13th digit: resumed, pruned, joined, compared and read like all others."""
    first, path = 10**12 - 30, tmp_path / "run"
    with RunDir.create(path, saved_runs.SCENE, []) as run:
        run.save(saved_runs.snapshot(first, np.zeros((4, 2))), saved_runs.recorder(), saved_runs.KEEP)
    for stop in (first + 20, first + 37, first + 60):
        assert saved_runs.go_on(path, stop) == []
    steps = [checkpoint.step_of(p) for p in checkpoint.list_checkpoints(path / "ckpt")]
    assert steps == [first + 40, first + 50, first + 60]
    seen = trajectory.series(path, "observables/total").step
    assert seen.tolist() == list(range(first + 1, first + 61))
    with h5py.File(path / "trajectory.h5") as file:
        assert len(file["particles/all/position/value"]) == len(range(first, first + 61)) // 3
    with RunDir.open(path) as run:
        assert run.restore()[0].step == 10**12 + 30


def test_the_master_is_not_rewritten_at_each_of_frequent_saves(tmp_path, monkeypatch):
    """At most every five seconds, and at the end: the files are those of a run that rewrote it always."""
    clock, written, real = [0.0], [], master_file.write

    def write(run, segments):
        written.append(clock[0])
        return real(run, segments)

    def simulated(path):
        rows = saved_runs.recorder()
        with RunDir.create(path, saved_runs.SCENE, []) as run:
            for step in range(60):
                clock[0] += 0.25
                rows.record_observables(step, 0.1 * step, {"total": float(step)})
                run.save(saved_runs.snapshot(step, np.zeros(2)), rows, saved_runs.KEEP)
        return saved_runs.files(path)

    monkeypatch.setattr(wall_clock, "now", lambda: clock[0])
    monkeypatch.setattr(master_file, "write", write)
    always = simulated(tmp_path / "always")
    assert len(written) == 60
    clock[0] = 0.0
    written.clear()
    monkeypatch.setattr(run_folder, "RENEWAL", 5.0)
    assert simulated(tmp_path / "rarely") == always
    assert written == [0.25, 5.25, 10.25, 15.0]
