"""Saves by the clock: a run with default settings loses minutes at most, and no file tells of the clock."""

import io
import itertools
import os
import random
import shutil
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from vtkmodules.vtkIOHDF import vtkHDFReader

from minusgrad.app import runs
from minusgrad.app.compare import compare
from minusgrad.app.info import info
from minusgrad.app.jobs import job_runs, saver
from minusgrad.app.progress import progress
from minusgrad.app.results.csv_export import export
from minusgrad.app.verify import verify
from minusgrad.errors import SceneError
from minusgrad.files import compaction, trajectory, wall_clock
from minusgrad.files.run_folder import RunDir
from minusgrad.files.writer import Writer
from tests.support.command import SCENES, files
from tests.support.documented import imported
from tests.support.tiers import sampled

JOBS = {
    "two_body": {"run.steps": 120, "observe.0.every": 3, "observe.1.every": 5, "observe.2.every": 2},
    "warm_crystal": {"run.steps": 60, "runtime.precision": "f32"},
    "stretch": {"run.steps": 40},
    "weigh_a_planet": {"fit.iterations": 6, "fit.save_every": 6},
}
"""An integrator; a bath in single precision; a minimiser; a fit."""
DEFAULTS = {"checkpoint.every": 0}


def started(job: str, out: Path, **options) -> job_runs.Run:
    begin = runs.fit if job == "weigh_a_planet" else runs.run
    known = JOBS[job] | ({} if job == "weigh_a_planet" else DEFAULTS)
    return begin(SCENES / f"{job}.toml", known, out, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, bytes]]:
    """The files of each job, run at a stroke while the clock stands."""
    known: dict[str, dict[str, bytes]] = {}

    def of(job: str) -> dict[str, bytes]:
        if job not in known:
            folder = tmp_path_factory.mktemp(job) / "run"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(wall_clock, "now", lambda: 0.0)
                started(job, folder)
            known[job] = files(folder)
        return known[job]

    return of


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by minutes, more or less, whenever it is asked; three segments are joined."""
    chance, state = random.Random(5), [0.0]

    def now() -> float:
        state[0] += chance.expovariate(1 / 400)
        return state[0]

    monkeypatch.setattr(wall_clock, "now", now)
    monkeypatch.setattr(Writer, "busy", property(lambda self: False))  # these steps are faster than a disk
    monkeypatch.setattr(compaction, "JOINED", 3)


def saves(folder: Path) -> list[dict]:
    return [e for e in RunDir.open(folder, read_only=True).events() if e["event"] == "saved"]


@pytest.mark.parametrize("job", sampled(JOBS, ["warm_crystal", "stretch"]))
@pytest.mark.usefixtures("restless")
def test_the_clock_leaves_no_trace(job: str, tmp_path: Path, whole) -> None:
    started(job, tmp_path / "run")
    events = saves(tmp_path / "run")
    by_clock = [event for event in events if event.get("by") == "clock"]
    assert len(by_clock) >= 3
    assert [event["scheduled"] for event in events] == [event not in by_clock for event in events]
    assert files(tmp_path / "run") == whole(job)


class KilledError(BaseException):
    """Nobody catches it."""


@pytest.mark.parametrize("job", sampled(JOBS, ["two_body"]))
@pytest.mark.usefixtures("restless")
def test_a_killed_run_with_default_settings_goes_on_from_the_clock(job: str, tmp_path: Path, whole) -> None:
    """At random changes of the folder, three times: what was called saved is there, and the end is equal."""
    chance, path, acknowledged, found = random.Random(len(job)), tmp_path / "run", -1, 0
    real = {name: getattr(os, name) for name in ("replace", "unlink", "fsync")}
    for trial in range(4):
        left = iter(range(chance.randint(50, 90)))
        with pytest.MonkeyPatch.context() as patch:
            if trial < 3:
                for name in real:

                    def mortal(*arguments, _real=real[name], _left=left, **options):
                        if next(_left, None) is None:
                            raise KilledError
                        return _real(*arguments, **options)

                    patch.setattr(os, name, mortal)
            with suppress(KilledError):
                job_runs.resume(path) if trial else started(job, path)
        events = saves(path)
        kept = [event for event in RunDir.open(path, read_only=True).events() if event["event"] == "restored"]
        if trial:
            assert kept[-1]["step"] >= acknowledged
            found += kept[-1]["step"] > 0
        acknowledged = max(event["step"] for event in events)
    assert found > 0, "it went on from a save by the clock"
    assert files(path) == whole(job)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run with default settings at step 90, behind its second save by the clock: what verbs say of it while
    it is running, and a copy of its folder, which is what a kill leaves."""
    state, real, found = [0.0], trajectory.Recorder.record_frame, {}
    folder = tmp_path_factory.mktemp("seen")

    def record(self, step: int, *rest):
        state[0] = {20: 31.0, 60: 400.0}.get(step, state[0])
        if step == 90 and not found:
            while len(saves(folder / "run")) < 3:
                time.sleep(0.01)
            found.update(info=info(folder / "run"), verify=[*verify(folder / "run")])
            found.update(compare=compare(folder / "run", folder / "run"), folder=folder / "killed")
            shutil.copytree(folder / "run", folder / "killed")
        real(self, step, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wall_clock, "now", lambda: state[0])
        patch.setattr(Writer, "busy", property(lambda self: False))
        patch.setattr(trajectory.Recorder, "record_frame", record)
        started("two_body", folder / "run")
    return found


@pytest.fixture
def killed(seen: dict[str, Any], tmp_path: Path) -> Path:
    shutil.copytree(seen["folder"], tmp_path / "run")
    return tmp_path / "run"


def test_a_running_run_is_not_called_damaged(seen: dict[str, Any]) -> None:
    assert (seen["info"]["state"], seen["info"]["step"]) == ("running", 60)
    assert {answer.what for answer in seen["verify"] if not answer.passed} == set()
    assert seen["verify"][-1] == ("run", True, "running: checked up to step 60")
    assert (seen["compare"].differences, seen["compare"].until) == ([], 60)


def test_what_is_seen_of_a_killed_run_is_its_newest_save_by_the_clock(killed: Path) -> None:
    """The first comes after half a minute, the next after five more."""
    steps = [event["step"] for event in saves(killed)]
    assert steps[0] == 0
    assert 20 <= steps[1] < 24
    assert 60 <= steps[2] < 64
    found = info(killed)
    assert (found["state"], found["step"]) == ("killed", steps[2])
    assert found["checkpoints"] == ["0", f"{steps[1]} (by the clock)", f"{steps[2]} (by the clock)"]
    rows = {one["name"]: (one["rows"], one["last"]) for one in found["series"]}
    last = steps[2] // 2 * 2
    assert rows["particles/all/position"] == (last // 2 + 1, last)
    text = io.StringIO()
    export(killed, ["total"], text)
    assert len(text.getvalue().splitlines()) == steps[2] // 3 + 2
    assert [answer for answer in verify(killed) if not answer.passed] == []
    assert compare(killed, killed).differences == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = imported("MDAnalysis").Universe.empty(2, trajectory=False)
        universe.load_new(str(killed / "trajectory.h5"), format="H5MD", convert_units=False)
    assert [int(frame.data["step"]) for frame in universe.trajectory] == list(range(0, last + 1, 2))
    reader = vtkHDFReader()
    reader.SetFileName(str(killed / "trajectory.h5"))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == last // 2 + 1


@pytest.mark.parametrize("kind", ["traj/*.interim.*", "ckpt/*.interim.*"])
def test_damage_to_the_newest_save_goes_back_to_the_one_before(kind: str, killed: Path, whole) -> None:
    newest = max(killed.glob(kind))
    newest.write_bytes(newest.read_bytes()[:-1])
    assert f"{newest.parent.name}/{newest.name}" in [a.what for a in verify(killed) if not a.passed]
    before = saves(killed)[1]["step"]
    run = job_runs.resume(killed)
    assert any("skipped" in remark and newest.name in remark for remark in run.remarks)
    events = RunDir.open(killed, read_only=True).events()
    assert [event["step"] for event in events if event["event"] == "restored"] == [before]
    assert files(killed) == whole("two_body")


def test_a_deleted_interim_segment_is_told(killed: Path) -> None:
    max(killed.glob("traj/*.interim.*")).unlink()
    assert "traj/" in [answer.what for answer in verify(killed) if not answer.passed]


def test_rows_do_not_pile_up_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole) -> None:
    """With a clock that stands: rows of many bytes are written, whatever it says."""
    monkeypatch.setattr(wall_clock, "now", lambda: 0.0)
    monkeypatch.setattr(saver, "HELD", 400)
    most, real = [0], trajectory.Recorder._record_row

    def record(self, *arguments):
        real(self, *arguments)
        most[0] = max(most[0], self.held)

    monkeypatch.setattr(trajectory.Recorder, "_record_row", record)
    started("two_body", tmp_path / "run")
    assert 400 < most[0] < 1000
    assert files(tmp_path / "run") == whole("two_body")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (300, "needs a time like '5 min', or 0 for none, not 300"),
        ("-1 s", "needs a time like '5 min', or 0 for none, not '-1 s'"),
        ("5 m", "is a length"),
    ],
)
def test_other_times_are_refused(value, message: str) -> None:
    with pytest.raises(SceneError) as error:
        runs.build(SCENES / "two_body.toml", {"checkpoint.wall_time": value})
    assert "checkpoint.wall_time" in str(error.value)
    assert message in str(error.value)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(("value", "least", "most"), [(0, 0, 0), ("90 s", 6, 50), ("2 h", 1, 4)])
def test_the_interval_is_a_key(value, least: int, most: int, tmp_path: Path) -> None:
    known = JOBS["two_body"] | DEFAULTS | {"checkpoint.wall_time": value, "run.steps": 30}
    runs.run(SCENES / "two_body.toml", known, tmp_path / "run")
    by_clock = [event for event in saves(tmp_path / "run") if not event["scheduled"]]
    assert least <= len(by_clock) <= most


def test_progress_tells_what_is_saved() -> None:
    stream = io.StringIO()
    with progress(0, 100, stream) as tell, pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.monotonic", itertools.count(time.monotonic() + 10.0, 10.0).__next__)
        tell(10)
        tell.saved(7)
        tell(20)
    first, second = stream.getvalue().splitlines()
    assert first.endswith(" s left")
    assert second.endswith(" s left, saved at step 7")
