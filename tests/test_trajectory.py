"""Trajectories: what was recorded is what is read, from segments or through the master, moved or not."""

import os
import shutil
import time

import h5py
import numpy as np
import pytest

from minusgrad import durable, trajectory
from minusgrad.errors import CheckpointError, RunFailedError, UserError
from minusgrad.trajectory import Recorder

UNITS = {"position": ("AU", 1.495978707e11), "kinetic": ("µJ", 1e-6), "phi": ("nm", 1e-9), "count": ("", 1.0)}
POSITIONS = np.random.default_rng(2).normal(size=(9, 4, 2))


def _recorder() -> Recorder:
    return Recorder(UNITS, ("yr", 3.15576e7))


def _record(recorder: Recorder, step: int) -> None:
    """Frames at even steps, phi with them; energies at every step; gravity at every third."""
    now, x = 0.1 * step, POSITIONS[step]
    if step % 2 == 0:
        phi = np.float32([step, 1, 2, 3])
        recorder.record_frame(step, now, {"position": x, "phi": phi, "velocity": -x})
    recorder.record_observables(step, now, {"kinetic": 1.5 * step, "momentum": np.array([step, 0.0])})
    if step % 3 == 0:
        recorder.record_observables(step, now, {"potential": -1, "potential/gravity": -step})


@pytest.fixture
def run(tmp_path):
    """Steps 0 to 8 in two segments, sealed at 4 and 8, and a master."""
    (tmp_path / "run" / "traj").mkdir(parents=True)
    recorder = _recorder()
    for step in range(9):
        _record(recorder, step)
        if step in (4, 8):
            recorder.seal(tmp_path / "run" / "traj", step)
    trajectory.write_master(tmp_path / "run", trajectory.segments(tmp_path / "run"))
    return tmp_path / "run"


EXPECTED = {
    "particles/all/position": ([0, 2, 4, 6, 8], POSITIONS[::2]),
    "particles/all/velocity": ([0, 2, 4, 6, 8], -POSITIONS[::2]),
    "particles/all/phi": ([0, 2, 4, 6, 8], np.float32([[step, 1, 2, 3] for step in range(0, 9, 2)])),
    "observables/kinetic": (range(9), 1.5 * np.arange(9)),
    "observables/momentum": (range(9), np.stack([np.arange(9.0), np.zeros(9)], 1)),
    "observables/potential": ([0, 3, 6], np.full(3, -1.0)),
    "observables/potential/gravity": ([0, 3, 6], np.array([0.0, -3, -6])),
}


def _through_master(folder, name):
    with h5py.File(folder / "trajectory.h5") as file:
        return tuple(file[name][leaf][...] for leaf in ("step", "time", "value"))


@pytest.mark.parametrize("read", [trajectory.series, _through_master])
@pytest.mark.parametrize("name", EXPECTED)
def test_what_was_recorded_is_read(run, read, name):
    steps, values = EXPECTED[name]
    step, time, value = read(run, name)
    assert step.tolist() == list(steps)
    assert time.tolist() == [0.1 * one for one in steps]
    assert value.dtype == values.dtype
    np.testing.assert_array_equal(value, values)


def test_names_are_all_series(run):
    assert trajectory.names(run) == sorted(EXPECTED)
    with h5py.File(run / "trajectory.h5") as file:
        assert trajectory._names(file) == sorted(EXPECTED)


def test_the_master_reads_from_anywhere_and_after_a_move(run, tmp_path, monkeypatch):
    moved = tmp_path / "elsewhere" / "kept"
    moved.parent.mkdir()
    shutil.move(run, moved)
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    assert _through_master(moved, "particles/all/position")[2].tolist() == POSITIONS[::2].tolist()
    monkeypatch.chdir(moved.parent)
    with h5py.File("kept/trajectory.h5") as file:
        assert file["observables/kinetic/value"][:].tolist() == (1.5 * np.arange(9)).tolist()


def test_the_master_names_segments_by_relative_paths_only(run):
    with h5py.File(run / "trajectory.h5") as file:
        sources = file["particles/all/position/value"].virtual_sources()
        assert [source.file_name for source in sources] == [
            f"traj/{p.name}" for p in trajectory.segments(run)
        ]
    assert str(run.parent).encode() not in (run / "trajectory.h5").read_bytes()


def test_a_missing_segment_reads_as_nan_through_the_master(run):
    trajectory.segments(run)[0].unlink()
    step, _, value = _through_master(run, "particles/all/position")
    assert step.tolist() == [-1, -1, -1, 6, 8]
    assert np.isnan(value[:3]).all()


def test_the_same_segments_give_the_same_master(run):
    before = (run / "trajectory.h5").read_bytes()
    time.sleep(1.1)  # HDF5's own timestamps count whole seconds
    trajectory.write_master(run, trajectory.segments(run))
    assert (run / "trajectory.h5").read_bytes() == before


def test_without_segments_or_with_too_many_there_is_no_master(run, monkeypatch):
    assert trajectory.write_master(run, []) is None
    assert not (run / "trajectory.h5").exists()
    monkeypatch.setattr(trajectory, "MOST_SEGMENTS", 1)
    assert trajectory.write_master(run, trajectory.segments(run)) is None


def _is_shared(file, one, other, leaf):
    return file[f"{one}/{leaf}"] == file[f"{other}/{leaf}"]


def test_what_is_recorded_together_shares_step_and_time(run):
    for path in [*trajectory.segments(run), run / "trajectory.h5"]:
        with h5py.File(path) as file:
            for leaf in ("step", "time"):
                assert _is_shared(file, "particles/all/position", "particles/all/phi", leaf)
                assert _is_shared(file, "particles/all/position", "particles/all/velocity", leaf)
                assert _is_shared(file, "observables/kinetic", "observables/momentum", leaf)
                assert not _is_shared(file, "particles/all/position", "observables/kinetic", leaf)


def test_segments_and_master_are_h5md(run):
    for path in [*trajectory.segments(run), run / "trajectory.h5"]:
        with h5py.File(path) as file:
            version = file["h5md"].attrs["version"]
            assert (version.dtype, version.tolist()) == (np.int32, [1, 1])
            for owner, name in (("author", "name"), ("creator", "name"), ("creator", "version")):
                kind = file[f"h5md/{owner}"].attrs.get_id(name).get_type()
                assert not kind.is_variable_str()
                assert kind.get_cset() == h5py.h5t.CSET_ASCII
            box = file["particles/all/box"].attrs
            assert box["dimension"] == 2
            assert box["boundary"].tolist() == [b"none", b"none"]


def test_units_stand_where_readers_look(run):
    for path in [*trajectory.segments(run), run / "trajectory.h5"]:
        with h5py.File(path) as file:
            position, phi = file["particles/all/position/value"].attrs, file["particles/all/phi/value"].attrs
            assert (position["unit_symbol"], position["unit_si"]) == ("AU", 1.495978707e11)
            assert "unit" not in position, "MDAnalysis refuses AU"
            assert phi["unit"] == "nm"
            kind = phi.get_id("unit").get_type()
            assert kind.is_variable_str()
            assert kind.get_cset() == h5py.h5t.CSET_ASCII
            assert file["observables/kinetic/time"].attrs["unit_symbol"] == "yr"
            assert "unit_si" not in file["particles/all/velocity/value"].attrs
    assert trajectory.symbols(run, "observables/kinetic") == ("µJ", "yr")
    assert trajectory.symbols(run, "observables/momentum") == ("", "yr")


@pytest.mark.parametrize("cut", range(9))
def test_a_restored_recorder_seals_the_same_bytes(run, tmp_path, cut):
    """Interrupted after any step, restored from arrays, the segments come out with the same names."""
    (tmp_path / "again").mkdir()
    recorder = _recorder()
    for step in range(9):
        _record(recorder, step)
        if step == cut:
            saved = {name: array.copy() for name, array in sorted(recorder.state().items())}
            recorder = _recorder()
            recorder.restore(saved)
        if step in (4, 8):
            recorder.seal(tmp_path / "again", step)
    assert sorted(os.listdir(tmp_path / "again")) == [path.name for path in trajectory.segments(run)]


def test_state_goes_round_exactly(tmp_path):
    recorder, other = _recorder(), _recorder()
    for step in range(5):
        _record(recorder, step)
    recorder.seal(tmp_path, 4)
    _record(recorder, 5)
    state = recorder.state()
    assert state["particles/all/position/value"].shape == (0, 4, 2), "a sealed series keeps its shape"
    other.restore(state)
    assert state.keys() == other.state().keys()
    for name, array in other.state().items():
        assert (array.dtype, array.shape, array.tobytes()) == (
            state[name].dtype,
            state[name].shape,
            state[name].tobytes(),
        )


def test_an_empty_recorder_seals_nothing(tmp_path):
    recorder = _recorder()
    assert recorder.seal(tmp_path, 0) is None
    recorder.record_observables(1, 0.0, {"kinetic": 1.0})
    assert recorder.seal(tmp_path, 1) is not None
    assert recorder.seal(tmp_path, 2) is None
    assert len(os.listdir(tmp_path)) == 1


def test_a_recorded_array_may_be_overwritten_afterwards(tmp_path):
    recorder, x = _recorder(), np.ones((2, 2))
    recorder.record_frame(0, 0.0, {"position": x})
    x[:] = 7
    assert recorder.state()["particles/all/position/value"].tolist() == [[[1, 1], [1, 1]]]


def test_mistakes_of_observers_are_named():
    recorder = _recorder()
    recorder.record_frame(3, 0.0, {"x": np.zeros((2, 3))})
    with pytest.raises(
        RunFailedError, match=r"step 4: series 'particles/all/x' was float64\[2, 3\].*\[3, 3\]"
    ):
        recorder.record_frame(4, 0.0, {"x": np.zeros((3, 3))})
    with pytest.raises(RunFailedError, match="float32"):
        recorder.record_frame(4, 0.0, {"x": np.zeros((2, 3), np.float32)})
    with pytest.raises(RunFailedError, match="already has step 3; two observers record one name"):
        recorder.record_frame(3, 0.0, {"x": np.zeros((2, 3))})
    for name in ("", "a//b", "a/value", "../a"):
        with pytest.raises(RunFailedError, match="cannot name a series"):
            recorder.record_observables(3, 0.0, {name: 1.0})
    with pytest.raises(RunFailedError, match="cannot name a series"):
        recorder.record_frame(3, 0.0, {"box": np.zeros(2)})


def test_a_shape_that_changes_between_segments_is_named(tmp_path):
    (tmp_path / "traj").mkdir()
    for step, size in ((1, 2), (2, 3)):
        recorder = _recorder()
        recorder.record_frame(step, 0.0, {"x": np.zeros(size)})
        recorder.seal(tmp_path / "traj", step)
    with pytest.raises(RunFailedError, match=r"'particles/all/x' is float64\[3\] in traj/000000000002"):
        trajectory.write_master(tmp_path, trajectory.segments(tmp_path))


def test_damaged_segments_are_not_read(run):
    path = trajectory.segments(run)[1]
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=path.name):
        trajectory.series(run, "particles/all/position")
    path.write_bytes(b"")
    with pytest.raises(CheckpointError, match="cannot be opened as a segment"):
        trajectory.write_master(run, trajectory.segments(run))


def test_an_unknown_series_says_what_there_is(run):
    with pytest.raises(UserError, match=r"no series 'observables/tot' was recorded.*observables/kinetic, "):
        trajectory.series(run, "observables/tot")


def test_a_segment_is_named_by_step_and_hash(tmp_path):
    recorder = _recorder()
    _record(recorder, 6)
    path = recorder.seal(tmp_path, 6)
    assert path is not None
    assert durable.stem(path) == "000000000006"
    assert durable.verified(path)
