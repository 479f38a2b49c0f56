"""Trajectories: what was recorded is what is read, from segments or through the master, moved or not."""

import os
import re
import shutil
import time

import h5py
import numpy as np
import pytest

from minusgrad.errors import CheckpointError, RunFailedError, UserError
from minusgrad.files import durable, h5md, master_file, trajectory
from minusgrad.files.hashes import vouched_files
from minusgrad.files.trajectory import Recorder
from tests.support.masters import place, series_in, through_master

pytestmark = pytest.mark.unit

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
    master_file.write(tmp_path / "run", trajectory.segments(tmp_path / "run"))
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


@pytest.mark.parametrize("read", [trajectory.series, through_master])
@pytest.mark.parametrize("name", EXPECTED)
def test_what_was_recorded_is_read(run, read, name):
    steps, values = EXPECTED[name]
    step, time, value = read(run, name)
    assert step.tolist() == list(steps)
    assert time.tolist() == [0.1 * one for one in steps]
    assert value.dtype == values.dtype
    np.testing.assert_array_equal(value, values)


def test_the_last_row_of_a_series(run):
    for name, (steps, values) in EXPECTED.items():
        step, time, value = trajectory.last_row(run, name)
        assert (step.tolist(), time.tolist()) == ([list(steps)[-1]], [0.1 * list(steps)[-1]])
        np.testing.assert_array_equal(value, values[-1:])
    trajectory.segments(run)[1].unlink()
    assert trajectory.last_row(run, "observables/potential").step.tolist() == [3]


def test_names_are_all_series(run):
    assert trajectory.names(run) == sorted(EXPECTED)
    with h5py.File(run / "trajectory.h5") as file:
        assert series_in(file) == sorted(EXPECTED)


def test_the_master_reads_from_anywhere_and_after_a_move(run, tmp_path, monkeypatch):
    moved = tmp_path / "elsewhere" / "kept"
    moved.parent.mkdir()
    shutil.move(run, moved)
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    assert through_master(moved, "particles/all/position")[2].tolist() == POSITIONS[::2].tolist()
    monkeypatch.chdir(moved.parent)
    with h5py.File("kept/trajectory.h5") as file:
        assert file["minusgrad/observables/kinetic/value"][:].tolist() == (1.5 * np.arange(9)).tolist()


def test_the_master_names_segments_by_relative_paths_only(run):
    with h5py.File(run / "trajectory.h5") as file:
        sources = file["particles/all/position/value"].virtual_sources()
        names = [f"traj/{p.name}" for p in trajectory.segments(run)]
        assert [source.file_name for source in sources] == [*names, "."], "last the zeros of the third axis"
    assert str(run.parent).encode() not in (run / "trajectory.h5").read_bytes()


def test_a_missing_segment_reads_as_nan_through_the_master(run):
    trajectory.segments(run)[0].unlink()
    step, _, value = through_master(run, "particles/all/position")
    assert step.tolist() == [-1, -1, -1, 6, 8]
    assert np.isnan(value[:3]).all()


def test_the_same_segments_give_the_same_master(run):
    before = (run / "trajectory.h5").read_bytes()
    time.sleep(1.1)  # HDF5's own timestamps count whole seconds
    master_file.write(run, trajectory.segments(run))
    assert (run / "trajectory.h5").read_bytes() == before


def test_without_segments_there_is_no_master(run):
    assert master_file.write(run, []) is None
    assert not (run / "trajectory.h5").exists()


def _is_shared(file, one, other, leaf):
    return file[f"{place(file, one)}/{leaf}"] == file[f"{place(file, other)}/{leaf}"]


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
            dimension = 3 if path.name == "trajectory.h5" else 2
            assert box["dimension"] == dimension
            assert box["boundary"].tolist() == [b"none"] * dimension


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
            assert file[place(file, "observables/kinetic") + "/time"].attrs["unit_symbol"] == "yr"
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
    with pytest.raises(RunFailedError, match="already has step 3; two observers use the same name"):
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
    with pytest.raises(
        RunFailedError, match=r"'particles/all/x': must have one shape.*, got float64\[3\] in traj/0+2"
    ):
        master_file.write(tmp_path, trajectory.segments(tmp_path))


def test_damaged_segments_are_not_read(run):
    path = trajectory.segments(run)[1]
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=path.name):
        trajectory.series(run, "particles/all/position")
    path.write_bytes(b"")
    with pytest.raises(CheckpointError, match="damaged: its bytes have"):
        master_file.write(run, trajectory.segments(run))


def test_an_unknown_series_says_what_there_is(run):
    for read in (trajectory.series, trajectory.last_row):
        with pytest.raises(UserError, match=r"no series named 'observables/tot'.*observables/kinetic, "):
            read(run, "observables/tot")


def test_a_segment_is_named_by_step_and_hash(tmp_path):
    recorder = _recorder()
    _record(recorder, 6)
    path = recorder.seal(tmp_path, 6)
    assert path is not None
    assert durable.stem(path) == "000000000006"
    assert durable.verified_bytes(path)


# Lists of tuples, and what is recorded of them -------------------------------------------------------

LISTS = {
    "bonds": np.array([[0, 1], [1, 2], [2, 3], [3, 0]]),
    "cells": np.array([[0, 1, 2], [0, 2, 3]], np.int32),
    "idle": np.array([[0, 1, 2, 3]]),
}
DENSITY = np.random.default_rng(3).uniform(size=(9, 2))


def _meshed(shown=("bonds",), lists=LISTS) -> Recorder:
    units = {"energy_density": ("J m^-3", 1.0), "length": ("nm", 1e-9), "strain/F": ("%", 0.01)}
    return Recorder(UNITS | units, ("yr", 3.15576e7), lists, shown)


def _record_mesh(recorder: Recorder, step: int) -> None:
    """What `_record` does, and at every third step two things of the cells; of the bonds nothing."""
    _record(recorder, step)
    if step % 3 == 0:
        strain = np.float32(np.full((2, 2, 2), step))
        recorder.record_cells(
            step, 0.1 * step, "cells", {"energy_density": DENSITY[step], "strain/F": strain}
        )


def _seal_mesh(folder, recorder: Recorder, cut: int | None = None):
    (folder / "traj").mkdir(parents=True)
    for step in range(9):
        _record_mesh(recorder, step)
        if step == cut:
            saved = {name: array.copy() for name, array in sorted(recorder.state().items())}
            recorder = _meshed()
            recorder.restore(saved)
        if step in (4, 8):
            recorder.seal(folder / "traj", step)
    master_file.write(folder, trajectory.segments(folder))
    return folder


@pytest.fixture
def meshed(tmp_path):
    return _seal_mesh(tmp_path / "meshed", _meshed())


@pytest.mark.parametrize("read", [trajectory.series, through_master])
def test_cells_are_read_like_everything_else(meshed, read):
    step, time, value = read(meshed, "cells/cells/energy_density")
    assert (step.tolist(), time.tolist()) == ([0, 3, 6], [0.0, 0.1 * 3, 0.1 * 6])
    np.testing.assert_array_equal(value, DENSITY[::3])
    _, _, strain = read(meshed, "cells/cells/strain/F")
    assert (strain.dtype, strain.shape) == (np.float32, (3, 2, 2, 2))
    np.testing.assert_array_equal(strain[:, 1, 0, 1], [0, 3, 6])
    for name, (_, values) in EXPECTED.items():
        np.testing.assert_array_equal(read(meshed, name)[2], values)


def test_cells_are_among_the_names_and_have_units(meshed):
    cells = ["cells/cells/energy_density", "cells/cells/strain/F"]
    assert trajectory.names(meshed) == sorted([*EXPECTED, *cells])
    assert trajectory.symbols(meshed, cells[0]) == ("J m^-3", "yr")
    assert trajectory.symbols(meshed, cells[1]) == ("%", "yr")
    with h5py.File(meshed / "trajectory.h5") as file:
        assert series_in(file) == trajectory.names(meshed)
        assert file[f"{cells[0]}/value"].attrs["unit_si"] == 1.0
        assert _is_shared(file, cells[0], cells[1], "time")
        assert _is_shared(file, cells[0], "observables/potential", "step")


def test_lists_are_those_shown_and_those_that_cells_are_of(meshed):
    found = trajectory.connectivity(meshed)
    assert list(found) == ["bonds", "cells"]
    for name, tuples in found.items():
        assert tuples.dtype == np.int32
        np.testing.assert_array_equal(tuples, LISTS[name])


def test_every_file_has_the_lists_and_they_refer_to_the_particles(meshed):
    """H5MD 1.1: an integer dataset [N, T] whose attribute is an HDF5 object reference."""
    for path in [*trajectory.segments(meshed), meshed / "trajectory.h5"]:
        with h5py.File(path) as file:
            assert h5md.lists_in(file) == ["bonds", "cells"]
            for name in ("bonds", "cells"):
                tuples = file["connectivity"][name]
                assert (tuples.dtype, tuples[...].tolist()) == (np.int32, LISTS[name].tolist())
                reference = tuples.attrs["particles_group"]
                assert isinstance(reference, h5py.h5r.Reference)
                assert file[reference] == file["particles/all"]
                assert file[reference].name == "/particles/all"


def test_the_master_takes_lists_from_the_first_segment_that_has_them(meshed):
    first = trajectory.segments(meshed)[0]
    with h5py.File(meshed / "trajectory.h5") as file:
        (source,) = file["connectivity/cells"].virtual_sources()
        assert (source.file_name, source.dset_name) == (f"traj/{first.name}", "connectivity/cells")
    first.unlink()
    with h5py.File(meshed / "trajectory.h5") as file:
        assert file["connectivity/cells"][...].tolist() == [[-1] * 3] * 2, "H5MD: a fill value is ignored"
    np.testing.assert_array_equal(trajectory.connectivity(meshed)["cells"], LISTS["cells"])


def test_the_same_meshed_segments_give_the_same_master(meshed):
    before = (meshed / "trajectory.h5").read_bytes()
    time.sleep(1.1)
    master_file.write(meshed, trajectory.segments(meshed))
    assert (meshed / "trajectory.h5").read_bytes() == before


def test_a_segment_of_observables_alone_has_no_lists(tmp_path):
    recorder = _meshed(shown=("bonds", "cells"))
    recorder.record_observables(1, 0.0, {"total": 1.0})
    (tmp_path / "traj").mkdir()
    for step in (1, 2):
        with h5py.File(recorder.seal(tmp_path / "traj", step)) as file:
            assert set(file) == {"h5md", "particles", *(["observables"] if step == 1 else ["connectivity"])}
        recorder.record_frame(2, 0.0, {"position": np.zeros((4, 2))})
    master_file.write(tmp_path, trajectory.segments(tmp_path))
    with h5py.File(tmp_path / "trajectory.h5") as file:
        assert file["connectivity/cells"][...].tolist() == LISTS["cells"].tolist()


def test_cells_alone_bring_their_list(tmp_path):
    recorder = _meshed(shown=())
    recorder.record_cells(1, 0.0, "bonds", {"length": np.ones(4)})
    with h5py.File(recorder.seal(tmp_path, 1)) as file:
        assert h5md.lists_in(file) == ["bonds"]
        assert file["cells/bonds/length/value"].attrs["unit"] == "nm"
        assert file[file["connectivity/bonds"].attrs["particles_group"]].name == "/particles/all"


def test_lists_that_nobody_asks_for_change_no_byte(run, tmp_path):
    (tmp_path / "again").mkdir()
    recorder = _meshed(shown=())
    for step in range(9):
        _record(recorder, step)
        if step in (4, 8):
            recorder.seal(tmp_path / "again", step)
    assert sorted(os.listdir(tmp_path / "again")) == [path.name for path in trajectory.segments(run)]
    assert trajectory.connectivity(run) == {}


@pytest.mark.parametrize("cut", range(9))
def test_a_restored_recorder_seals_the_same_bytes_of_cells(meshed, tmp_path, cut):
    again = _seal_mesh(tmp_path / "again", _meshed(), cut)
    assert [path.name for path in trajectory.segments(again)] == [
        path.name for path in trajectory.segments(meshed)
    ]
    assert (again / "trajectory.h5").read_bytes() == (meshed / "trajectory.h5").read_bytes()


def test_the_state_holds_cells_but_no_lists():
    recorder, other = _meshed(), _meshed()
    _record_mesh(recorder, 3)
    state = recorder.state()
    assert not [name for name in state if "connectivity" in name or "bonds" in name]
    np.testing.assert_array_equal(state["cells/cells/energy_density/value"], DENSITY[3:4])
    other.restore(state)
    assert {n: a.tobytes() for n, a in other.state().items()} == {n: a.tobytes() for n, a in state.items()}
    with pytest.raises(RunFailedError, match=r"^no list of tuples named 'cells' \(there are: none\)$"):
        _recorder().restore(state)


def test_an_empty_list_is_a_list(tmp_path):
    (tmp_path / "traj").mkdir()
    recorder = _meshed(lists={"bonds": np.empty((0, 2), np.int32)})
    recorder.record_frame(1, 0.0, {"position": np.zeros((4, 2))})
    recorder.record_cells(1, 0.0, "bonds", {"length": np.empty(0)})
    recorder.seal(tmp_path / "traj", 1)
    master_file.write(tmp_path, trajectory.segments(tmp_path))
    with h5py.File(tmp_path / "trajectory.h5") as file:
        assert file["connectivity/bonds"][...].shape == (0, 2)
        assert file["cells/bonds/length/value"][...].shape == (1, 0)


def test_recorded_cells_may_be_overwritten_afterwards():
    recorder, density = _meshed(), np.ones(2)
    recorder.record_cells(0, 0.0, "cells", {"energy_density": density})
    density[:] = 7
    assert recorder.state()["cells/cells/energy_density/value"].tolist() == [[1, 1]]


def _exactly(text: str) -> str:
    return f"^{re.escape(text)}$"


def test_mistakes_about_lists_are_named():
    recorder = _meshed()
    text = "no list of tuples named 'cell'; did you mean 'cells'? (there are: bonds, cells, idle)"
    with pytest.raises(RunFailedError, match=_exactly(text)):
        recorder.record_cells(3, 0.0, "cell", {"energy_density": np.zeros(2)})
    with pytest.raises(RunFailedError, match=_exactly(text)):
        _meshed(shown=("bonds", "cell"))
    for shape in ((4,), (), (1, 2)):
        text = (
            f"step 3: series 'cells/cells/energy_density' has shape {shape}; "
            "list 'cells' has 2 tuples: give one value for each"
        )
        with pytest.raises(RunFailedError, match=_exactly(text)):
            recorder.record_cells(3, 0.0, "cells", {"energy_density": np.zeros(shape)})
    recorder.record_cells(3, 0.0, "cells", {"energy_density": np.zeros(2)})
    text = (
        "step 3: series 'cells/cells/energy_density' already has step 3; "
        "two observers use the same name: rename one"
    )
    with pytest.raises(RunFailedError, match=_exactly(text)):
        recorder.record_cells(3, 0.0, "cells", {"energy_density": np.zeros(2)})
    with pytest.raises(RunFailedError, match="'cells/cells/a/value' cannot name a series"):
        recorder.record_cells(3, 0.0, "cells", {"a/value": np.zeros(2)})
    for name in ("a/b", "", "..", "value"):
        text = f"'{name}' cannot name a list of tuples: slashes, dots, step, time and value are taken"
        with pytest.raises(RunFailedError, match=_exactly(text)):
            _meshed(lists={name: LISTS["bonds"]}, shown=())
    for rows, what in ((np.zeros((2, 3)), "float64[2, 3]"), (np.arange(3), "int64[3]")):
        text = f"list 'cells': needs integers (E, k), the nodes of one tuple in each row, got {what}"
        with pytest.raises(RunFailedError, match=_exactly(text)):
            _meshed(lists={"cells": rows}, shown=())


def test_a_list_that_changes_between_segments_is_named(tmp_path):
    (tmp_path / "traj").mkdir()
    for step, count in ((1, 4), (2, 3)):
        recorder = _meshed(lists={"bonds": LISTS["bonds"][:count]})
        recorder.record_frame(step, 0.0, {"x": np.zeros(4)})
        recorder.seal(tmp_path / "traj", step)
    with pytest.raises(
        RunFailedError, match=r"^list 'bonds': must have one shape .* got int32\[3, 2\] in traj/0+2\..* and "
    ):
        master_file.write(tmp_path, trajectory.segments(tmp_path))


def test_an_observer_can_say_its_unit(tmp_path):
    recorder = _recorder()
    recorder.unit("reaction", "N", 1.0)
    recorder.unit("reaction", "N", 1.0)
    with pytest.raises(
        RunFailedError,
        match=r"^series 'reaction' is already recorded in N, got J; two observers use the same",
    ):
        recorder.unit("reaction", "J", 1.0)
    recorder.record_frame(0, 0.0, {"reaction": np.zeros((2, 3))})
    with h5py.File(recorder.seal(tmp_path, 0)) as file:
        assert file["particles/all/reaction/value"].attrs["unit_symbol"] == "N"
    assert "reaction" not in UNITS


# Fields over grids -----------------------------------------------------------------------------------

CANVAS = h5md.Raster((2, 3), 0.5, ("µm", 1e-6))
RASTERS = {"canvas": CANVAS, "block": h5md.Raster((2, 1, 2), 3.0, None), "idle": CANVAS}
DOSE = np.random.default_rng(4).uniform(size=(9, 2, 3))


def _gridded(grids=RASTERS) -> Recorder:
    units = {"dose": ("J m^-2", 1.0), "depth/after": ("nm", 1e-9)}
    return Recorder(UNITS | units, ("yr", 3.15576e7), grids=grids)


def _record_grids(recorder: Recorder, step: int) -> None:
    """What `_record` does, and at every third step fields over two grids, one of them flat."""
    _record(recorder, step)
    if step % 3 == 0:
        recorder.record_grid(step, 0.1 * step, "canvas", {"dose": DOSE[step].ravel()})
        recorder.record_grid(step, 0.1 * step, "canvas", {"depth/after": np.float32(DOSE[step])})
    if step == 6:
        recorder.record_grid(step, 0.1 * step, "block", {"dose": np.arange(4.0)})


def _seal_grids(folder, recorder: Recorder, cut: int | None = None):
    (folder / "traj").mkdir(parents=True)
    for step in range(9):
        _record_grids(recorder, step)
        if step == cut:
            saved = {name: array.copy() for name, array in sorted(recorder.state().items())}
            recorder = _gridded()
            recorder.restore(saved)
        if step in (4, 8):
            recorder.seal(folder / "traj", step)
    master_file.write(folder, trajectory.segments(folder))
    return folder


@pytest.fixture
def gridded(tmp_path):
    return _seal_grids(tmp_path / "gridded", _gridded())


@pytest.mark.parametrize("read", [trajectory.series, through_master])
def test_fields_over_grids_are_read_with_rows_and_columns(gridded, read):
    step, time, value = read(gridded, "grids/canvas/dose")
    assert (step.tolist(), time.tolist()) == ([0, 3, 6], [0.0, 0.1 * 3, 0.1 * 6])
    np.testing.assert_array_equal(value, DOSE[::3])
    depth = read(gridded, "grids/canvas/depth/after")[2]
    assert (depth.dtype, depth.shape) == (np.float32, (3, 2, 3))
    np.testing.assert_array_equal(depth, np.float32(DOSE[::3]))
    assert read(gridded, "grids/block/dose")[2].tolist() == [[[[0, 1]], [[2, 3]]]]
    for name, (_, values) in EXPECTED.items():
        np.testing.assert_array_equal(read(gridded, name)[2], values)


def test_the_last_field_over_a_grid_and_its_pieces(gridded):
    np.testing.assert_array_equal(trajectory.last_row(gridded, "grids/canvas/dose").value, DOSE[6:7])
    pieces = [piece.step.tolist() for piece in trajectory.pieces(gridded, "grids/canvas/dose")]
    assert pieces == [[0, 3], [6]]


def test_fields_over_grids_are_among_the_names_and_have_units(gridded):
    fields = ["grids/block/dose", "grids/canvas/depth/after", "grids/canvas/dose"]
    assert trajectory.names(gridded) == sorted([*EXPECTED, *fields])
    assert [h5md.label(name) for name in fields] == ["dose", "depth/after", "dose"]
    assert [h5md.grid_of(name) for name in [*fields, "cells/grids/a"]] == ["block", "canvas", "canvas", ""]
    assert trajectory.symbols(gridded, fields[2]) == ("J m^-2", "yr")
    for path in [trajectory.segments(gridded)[1], gridded / "trajectory.h5"]:
        with h5py.File(path) as file:
            assert set(h5md.series_in(file)) >= set(fields)
            assert file[f"{fields[1]}/value"].attrs["unit"] == "nm"
            assert _is_shared(file, fields[1], fields[2], "time")
            assert _is_shared(file, fields[2], "observables/potential", "step")


def test_every_file_says_where_the_cells_lie(gridded):
    for path in [*trajectory.segments(gridded), gridded / "trajectory.h5"]:
        with h5py.File(path) as file:
            canvas = file["grids/canvas"].attrs
            assert set(canvas) == {"shape", "spacing", "unit_symbol", "unit_si"}
            assert (canvas["shape"].dtype, canvas["shape"].tolist()) == (np.int64, [2, 3])
            assert (canvas["spacing"].dtype, canvas["spacing"]) == (np.float64, 0.5)
            assert (canvas["unit_symbol"], canvas["unit_si"]) == ("µm", 1e-6)
            assert h5md.grids_in(file)["canvas"] == CANVAS
    assert trajectory.grids(gridded) == {"block": RASTERS["block"], "canvas": CANVAS}
    assert list(trajectory.grids(gridded)) == ["block", "canvas"]
    with h5py.File(trajectory.segments(gridded)[0]) as file:
        assert list(h5md.grids_in(file)) == ["canvas"], "a segment has the grids of its series only"
    with h5py.File(gridded / "trajectory.h5") as file:
        assert set(file["grids/block"].attrs) == {"shape", "spacing"}


def test_a_segment_without_fields_over_grids_has_no_grids(tmp_path):
    (tmp_path / "traj").mkdir()
    recorder = _gridded()
    recorder.record_grid(1, 0.0, "canvas", {"dose": np.zeros(6)})
    recorder.seal(tmp_path / "traj", 1)
    recorder.record_observables(2, 0.0, {"total": 1.0})
    with h5py.File(recorder.seal(tmp_path / "traj", 2)) as file:
        assert set(file) == {"h5md", "particles", "observables"}
    assert trajectory.grids(tmp_path) == {"canvas": CANVAS}


def test_beside_grids_the_file_is_as_h5md_readers_expect(gridded, run):
    """H5MD 1.1 leaves other groups at the root to whoever writes them."""
    for ours, plain in zip(trajectory.segments(gridded), trajectory.segments(run), strict=True):
        with h5py.File(ours) as file, h5py.File(plain) as other:
            found: list[str] = []
            other.visit(found.append)
            assert set(file) - set(other) == {"grids"}
            assert all(path in file for path in found)
            assert file["h5md"].attrs["version"].tolist() == [1, 1]


def test_the_grids_edges_are_half_a_cell_beyond_the_centres():
    assert CANVAS.edges == [(-0.25, 0.75), (-0.25, 1.25)]
    assert CANVAS.cells == 6


@pytest.mark.parametrize("cut", range(9))
def test_a_restored_recorder_seals_the_same_bytes_of_grids(gridded, tmp_path, cut):
    again = _seal_grids(tmp_path / "again", _gridded(), cut)
    assert [path.name for path in trajectory.segments(again)] == [
        path.name for path in trajectory.segments(gridded)
    ]
    assert (again / "trajectory.h5").read_bytes() == (gridded / "trajectory.h5").read_bytes()


def test_the_same_gridded_segments_give_the_same_master(gridded):
    before = (gridded / "trajectory.h5").read_bytes()
    time.sleep(1.1)
    master_file.write(gridded, trajectory.segments(gridded))
    assert (gridded / "trajectory.h5").read_bytes() == before


def test_grids_that_nobody_asks_for_change_no_byte(run, tmp_path):
    (tmp_path / "again").mkdir()
    recorder = _gridded()
    for step in range(9):
        _record(recorder, step)
        if step in (4, 8):
            recorder.seal(tmp_path / "again", step)
    assert sorted(os.listdir(tmp_path / "again")) == [path.name for path in trajectory.segments(run)]
    assert trajectory.grids(run) == {}


def test_the_state_holds_fields_over_grids():
    recorder, other = _gridded(), _gridded()
    _record_grids(recorder, 3)
    state = recorder.state()
    np.testing.assert_array_equal(state["grids/canvas/dose/value"], DOSE[3:4])
    other.restore(state)
    assert {n: a.tobytes() for n, a in other.state().items()} == {n: a.tobytes() for n, a in state.items()}
    with pytest.raises(RunFailedError, match=r"^no grid named 'canvas' \(there are: none\)$"):
        _recorder().restore(state)


def test_a_recorded_grid_may_be_overwritten_afterwards():
    recorder, dose = _gridded(), np.ones((2, 3))
    recorder.record_grid(0, 0.0, "canvas", {"dose": dose})
    dose[:] = 7
    assert recorder.state()["grids/canvas/dose/value"].tolist() == [[[1, 1, 1], [1, 1, 1]]]


def test_mistakes_about_grids_are_named():
    recorder = _gridded()
    text = "no grid named 'canva'; did you mean 'canvas'? (there are: canvas, block, idle)"
    with pytest.raises(RunFailedError, match=_exactly(text)):
        recorder.record_grid(3, 0.0, "canva", {"dose": np.zeros(6)})
    for shape in ((5,), (3, 2), (), (1, 2, 3), (6, 1)):
        text = (
            f"step 3: series 'grids/canvas/dose' has shape {shape}; grid 'canvas' has shape (2, 3): "
            "give one number for each of its 6 cells"
        )
        with pytest.raises(RunFailedError, match=_exactly(text)):
            recorder.record_grid(3, 0.0, "canvas", {"dose": np.zeros(shape)})
    recorder.record_grid(3, 0.0, "canvas", {"dose": np.zeros(6)})
    text = (
        "step 3: series 'grids/canvas/dose' already has step 3; two observers use the same name: rename one"
    )
    with pytest.raises(RunFailedError, match=_exactly(text)):
        recorder.record_grid(3, 0.0, "canvas", {"dose": np.zeros((2, 3))})
    for label in ("a/value", "", "..", "step"):
        with pytest.raises(RunFailedError, match=f"'grids/canvas/{label}' cannot name a series"):
            recorder.record_grid(3, 0.0, "canvas", {label: np.zeros(6)})
    for name in ("a/b", "", "..", "value"):
        text = f"'{name}' cannot name a grid: slashes, dots, step, time and value are taken"
        with pytest.raises(RunFailedError, match=_exactly(text)):
            _gridded({name: CANVAS})
    for shape, spacing in (((), 1.0), ((2, 0), 1.0), ((2, 3), 0.0), ((2, 3), np.nan), ((2, 3), np.inf)):
        text = (
            f"grid 'canvas': needs a number of cells along each axis and a positive spacing,"
            f" got {shape} and {spacing}"
        )
        with pytest.raises(RunFailedError, match=_exactly(text)):
            _gridded({"canvas": h5md.Raster(shape, spacing, None)})


def test_a_grid_that_changes_between_segments_is_named(tmp_path):
    (tmp_path / "traj").mkdir()
    for step, raster in ((1, CANVAS), (2, h5md.Raster((3, 2), 0.5, None))):
        recorder = _gridded({"canvas": raster})
        recorder.record_grid(step, 0.0, "canvas", {"dose": np.zeros(6)})
        recorder.seal(tmp_path / "traj", step)
    with pytest.raises(
        RunFailedError, match=r"'grids/canvas/dose': must have .* got float64\[3, 2\] in traj/0+2"
    ):
        master_file.write(tmp_path, trajectory.segments(tmp_path))


def test_a_damaged_segment_tells_of_no_grids(gridded):
    path = trajectory.segments(gridded)[1]
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=path.name):
        trajectory.grids(gridded)


def test_each_segment_is_hashed_once_whatever_is_asked(run, monkeypatch):
    time.sleep(0.1)  # a file of this moment may change within one tick of the clock, and is not trusted yet
    vouched_files.forget()
    hashed, real = [], durable.check_stream

    def counted(path, stream):
        hashed.append(path.stat().st_size)
        real(path, stream)

    monkeypatch.setattr(durable, "check_stream", counted)
    for _ in range(3):
        trajectory.names(run)
        trajectory.grids(run)
        trajectory.connectivity(run)
        for name in EXPECTED:
            trajectory.series(run, name)
            trajectory.symbols(run, name)
            trajectory.last_row(run, name)
    assert sum(hashed) == sum(path.stat().st_size for path in trajectory.segments(run))


def test_a_segment_that_changes_is_hashed_again(run):
    """By its bytes in place, with the time of its last change put back, and by another file of its name."""
    time.sleep(0.1)
    first = trajectory.segments(run)[0]
    trajectory.names(run)
    data, stamp = first.read_bytes(), first.stat()
    with first.open("r+b") as file:
        file.seek(len(data) // 2)
        file.write(bytes([data[len(data) // 2] ^ 1]))
    os.utime(first, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with pytest.raises(CheckpointError, match="damaged"):
        trajectory.names(run)
    first.write_bytes(data)
    assert trajectory.names(run) == sorted(EXPECTED)
    other = first.with_name("other")
    other.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(other, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    os.replace(other, first)
    with pytest.raises(CheckpointError, match="damaged"):
        trajectory.names(run)
