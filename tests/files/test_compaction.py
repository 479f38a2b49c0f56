"""Long runs: few files over many saves, nothing lost, and nobody can tell where the run was cut."""

import os

import h5py
import numpy as np
import pytest

from minusgrad.errors import CheckpointError
from minusgrad.files import checkpoint, compaction, durable, run_folder, trajectory
from minusgrad.files.h5md import LEAVES, Raster
from minusgrad.files.run_folder import RECORDER, RunDir
from minusgrad.files.trajectory import Recorder
from tests.support.long_runs import KEEP, SERIES, files, go_on, moment, record, recorder, simulate, started
from tests.support.masters import through_master
from tests.support.tiers import sampled


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of files is asked here, and not the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(run_folder, "RENEWAL", 0.0)


def expected(name: str, end: int) -> list[int]:
    every = dict(zip(SERIES, (2, 1, 3, 7), strict=True))[name]
    return [step for step in range(1, end + 1) if step % every == 0]


def assert_whole(path, end: int) -> None:
    """Every row is there, once, read segment by segment and through the master."""
    whole = recorder()
    for step in range(1, end + 1):
        record(whole, step)
    state = whole.state()
    for name in SERIES:
        through = dict(zip(LEAVES, through_master(path, name), strict=True))
        for leaf, read in trajectory.series(path, name)._asdict().items():
            right = state[f"{name}/{leaf}"]
            np.testing.assert_array_equal(read, right)
            np.testing.assert_array_equal(through[leaf], right)
    with h5py.File(path / "trajectory.h5") as master:
        assert master["particles/all/position/value"].attrs["unit_symbol"] == "m"
    assert trajectory.connectivity(path)["bonds"].tolist() == [[0, 1], [1, 2]]
    assert trajectory.grids(path) == {"canvas": Raster((2, 3), 0.5, ("mm", 1e-3))}


@pytest.mark.long
def test_eleven_hundred_saves_make_few_files(tmp_path):
    path, most = tmp_path / "run", 0
    with started(path) as run:
        rows = Recorder({}, ("s", 1.0))
        for step in range(1, 1101):
            rows.record_observables(step, 0.1 * step, {"total": np.sin(step)})
            run.save(moment(step), rows, KEEP)
            most = max(most, len(list((path / "traj").iterdir())))
    assert most < 200
    levels = [s.level for s, _ in trajectory.spans(path)]
    assert levels == [3] + [1] * 9 + [0] * 10
    with h5py.File(path / "trajectory.h5") as master:
        plan = master["observables/total/value"].id.get_create_plist()
        assert plan.get_virtual_count() == 20
        steps, values = master["observables/total/step"][...], master["observables/total/value"][...]
    np.testing.assert_array_equal(steps, np.arange(1, 1101))
    np.testing.assert_array_equal(values, np.sin(np.arange(1, 1101)))
    np.testing.assert_array_equal(trajectory.series(path, "observables/total").value, values)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four make one, so that levels come soon."""
    monkeypatch.setattr(compaction, "JOINED", 4)


@pytest.mark.usefixtures("few")
def test_levels_join_too(tmp_path):
    path = tmp_path / "run"
    with started(path) as run:
        simulate(run, recorder(), 0, 88)
    found = trajectory.spans(path)
    assert [s.level for s, _ in found] == [3, 2, 1, 0, 0, 0, 0]
    assert found[0][1].name.startswith("000000000001-000000000064.3.")
    assert [s.first for s, _ in found[1:]] == [s.last + 1 for s, _ in found[:-1]]
    assert_whole(path, 88)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("stops", sampled([(3,), (4, 5, 6, 7), (18, 19), (16, 64, 67)], [(16, 64, 67)]))
def test_a_run_that_was_cut_has_the_same_files(tmp_path, stops):
    with started(tmp_path / "whole") as run:
        simulate(run, recorder(), 0, 70)
    started(tmp_path / "cut").close()
    for stop in (*stops, 70):
        go_on(tmp_path / "cut", stop)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


class KilledError(BaseException):
    """Nobody catches it."""


@pytest.mark.usefixtures("few")
def test_a_kill_at_any_moment_of_joining_leaves_all_rows_once(tmp_path, monkeypatch):
    """At the save that joins on two levels; a kill at each change of the folder."""
    with started(tmp_path / "whole") as run:
        simulate(run, recorder(), 0, 25)
    real, deaths = {name: getattr(os, name) for name in ("replace", "unlink")}, 0
    for calls in range(100):
        path, left = tmp_path / str(calls), iter(range(calls))
        with started(path) as run:
            rows = recorder()
            simulate(run, rows, 0, 17)
            for name in real:

                def mortal(*arguments, _real=real[name], _left=left, **options):
                    if next(_left, None) is None:
                        raise KilledError
                    return _real(*arguments, **options)

                monkeypatch.setattr(os, name, mortal)
            try:
                simulate(run, rows, 17, 18)
            except KilledError:
                deaths += 1
            for name, function in real.items():
                monkeypatch.setattr(os, name, function)
        steps = trajectory.series(path, "observables/total").step.tolist()
        assert steps == list(range(1, steps[-1] + 1))
        go_on(path, 25)
        assert files(path) == files(tmp_path / "whole")
        if deaths <= calls:
            break
    assert deaths > 12


@pytest.mark.usefixtures("few")
def test_going_back_to_a_kept_checkpoint_meets_whole_segments(tmp_path):
    path = tmp_path / "run"
    with started(path) as run:
        simulate(run, recorder(), 0, 66)
    before = files(path)
    for newest in checkpoint.list_checkpoints(path / "ckpt")[-2:]:
        newest.write_bytes(b"damaged")
    remarks = go_on(path, 66)
    assert len(remarks) == 2
    assert all("skipped" in remark for remark in remarks)
    assert files(path) == before


@pytest.mark.usefixtures("few")
def test_going_back_further_cuts_what_was_joined(tmp_path):
    path = tmp_path / "run"
    with started(path) as run:
        rows = recorder()
        for step in range(66):
            record(rows, step + 1)
            run.save(moment(step + 1), rows, KEEP, keep_every=21)
    kept = checkpoint.list_checkpoints(path / "ckpt")
    assert [checkpoint.step_of(p) for p in kept] == [0, 21, 42, 63, 64, 65, 66]
    for newest in kept[3:]:
        newest.write_bytes(b"damaged")
    with RunDir.open(path) as run:
        snapshot, remarks = run.restore()
        assert snapshot.step == 42
        assert "extends beyond step 42; later steps are recomputed" in remarks[-1]
        rows = recorder()
        rows.restore(snapshot.arrays_under(RECORDER))
        run.tidy(KEEP, 21)
        assert trajectory.series(path, "observables/total").step.tolist() == [*range(1, 43), 65, 66]
        simulate(run, rows, 42, 70)
    assert_whole(path, 70)


@pytest.mark.usefixtures("few")
def test_a_damaged_segment_is_not_joined_and_told(tmp_path):
    path = tmp_path / "run"
    with started(path) as run:
        rows = recorder()
        simulate(run, rows, 0, 5)
        bad = trajectory.segments(path)[1]
        bad.write_bytes(bad.read_bytes()[:-1])
        record(rows, 6)
        (remark,) = run.save(moment(6), rows, KEEP)
    assert f"{bad}: damaged" in remark
    assert len(trajectory.segments(path)) == 6
    with pytest.raises(CheckpointError, match="damaged"):
        trajectory.series(path, "observables/total")


def test_names_that_are_no_segments(tmp_path):
    (tmp_path / "traj").mkdir()
    for stem in (
        "000000000001-000000000004",
        "000000000004.1",
        "notes",
        "1",
        "000000000001.interrupted",
        "000000000001.clock",
    ):
        durable.write_new(tmp_path / "traj", stem, b"")
    assert trajectory.segments(tmp_path) == []
