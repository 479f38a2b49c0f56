"""One file, read by the field's tools: what MDAnalysis and VTK see in trajectory.h5 is what was recorded."""

import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader

from minusgrad.files import trajectory
from minusgrad.files.h5md import Raster
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from tests.support.documented import imported
from tests.support.long_runs import moment

MDAnalysis = imported("MDAnalysis")
triclinic_box = imported("MDAnalysis.lib.mdamath").triclinic_box

pytestmark = pytest.mark.unit

X = np.random.default_rng(0)


def shown(path: Path, step: int):
    """What VTK makes of one moment."""
    reader = vtkHDFReader()
    assert reader.CanReadFile(str(path))
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    reader.SetStep(step)
    reader.Update()
    return reader.GetOutputDataObject(0), reader.GetTimeValue(), reader.GetNumberOfSteps()


def data_of(attributes) -> dict[str, np.ndarray]:
    found = [attributes.GetArray(k) for k in range(attributes.GetNumberOfArrays())]
    return {array.GetName(): vtk_to_numpy(array) for array in found}


def padded(x: np.ndarray) -> np.ndarray:
    return np.pad(x, ((0, 0), (0, 3 - x.shape[1])))


def recorded(path: Path, recorder: Recorder, note, steps: int, every: int) -> Path:
    """A run of so many steps in which `note` records something, saved at every so many."""
    with RunDir.create(path, b"", []) as run:
        for step in range(steps + 1):
            note(recorder, step)
            if step % every == 0:
                run.save(moment(step), recorder, 3)
    assert len(trajectory.segments(path)) == steps // every + 1
    return path / "trajectory.h5"


@pytest.mark.parametrize("dimension", [2, 3])
def test_particles(dimension: int, tmp_path: Path) -> None:
    """PolyData of vertices; what is recorded twice as often is shown at the frames' steps."""
    x, v, q = (X.normal(size=(13, 5, d)) for d in (dimension, dimension, 1))

    def note(recorder: Recorder, step: int) -> None:
        recorder.record_observables(step, 0.5 * step, {"potential/total": float(step)})
        recorder.record_frame(step, 0.5 * step, {"charge": q[step, :, 0]})
        if step % 2 == 0:
            recorder.record_frame(step, 0.5 * step, {"position": x[step], "velocity": v[step]})
        if step % 3 == 0:
            recorder.record_frame(step, 0.5 * step, {"rare": x[step]})

    file = recorded(tmp_path / "run", Recorder({"position": ("nm", 1e-9)}, ("ps", 1e-12)), note, 12, 4)
    for k in range(7):
        seen, time, count = shown(file, k)
        assert (seen.GetClassName(), time, count) == ("vtkPolyData", float(k), 7)
        assert np.array_equal(vtk_to_numpy(seen.GetPoints().GetData()), padded(x[2 * k]))
        data = data_of(seen.GetPointData())
        assert data.keys() == {"velocity", "charge"}
        assert np.array_equal(data["velocity"], padded(v[2 * k]))
        assert np.array_equal(data["charge"], q[2 * k, :, 0])
        assert seen.GetNumberOfVerts() == 5

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe.empty(5, trajectory=False)
        universe.load_new(str(file), format="H5MD", convert_units=False)
        assert universe.trajectory.n_frames == 7
        for k, frame in enumerate(universe.trajectory):
            assert frame.time == float(k)
            assert np.array_equal(frame.positions, padded(x[2 * k]).astype(np.float32))
            assert np.array_equal(frame.velocities, padded(v[2 * k]).astype(np.float32))
        with h5py.File(file) as h5:
            assert h5["particles/all/position/value"].attrs["unit_si"] == 1e-9
            assert h5["minusgrad"].attrs["dimension"] == dimension
            assert "observables" not in h5, "MDAnalysis would read row 1 at frame 1, which is of step 2"
            assert h5["minusgrad/observables/potential/total/value"][...].tolist() == list(range(13))


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_box_that_moves_is_that_of_each_frame(dimension: int, tmp_path: Path) -> None:
    """Edge vectors in rows, at the steps of frames, in joined segments; MDAnalysis reads those in space."""
    chance = np.random.default_rng(dimension)
    x, strain = chance.normal(size=(31, 5, dimension)), chance.normal(size=(31, dimension, dimension))
    edges = 8.0 * np.eye(dimension) + np.tril(0.2 * strain)

    def note(recorder: Recorder, step: int) -> None:
        recorder.record_frame(step, 0.5 * step, {"position": x[step]})
        recorder.record_box(step, 0.5 * step, edges[step])

    periodic = (True, True, dimension == 3)[:dimension]
    units = {"position": ("nm", 1e-9), "box/edges": ("nm", 1e-9)}
    recorder = Recorder(units, ("ps", 1e-12), periodic=periodic)
    with RunDir.create(tmp_path / "run", b"", []) as run:
        for step in range(31):
            note(recorder, step)
            run.save(moment(step), recorder, 3)
    file = tmp_path / "run" / "trajectory.h5"
    assert any(trajectory.span(path).level for path in trajectory.segments(tmp_path / "run")), (
        "some are joined"
    )
    assert np.array_equal(trajectory.series(tmp_path / "run", "particles/all/box/edges").value, edges)
    for k in (0, 17, 30):
        seen, _, _ = shown(file, k)
        assert np.array_equal(vtk_to_numpy(seen.GetPoints().GetData()), padded(x[k]))
        assert not data_of(seen.GetPointData())
    with h5py.File(file) as h5:
        box = h5["particles/all/box"]
        assert box.attrs["boundary"].tolist() == [b"periodic"] * dimension + [b"none"] * (3 - dimension)
        place = box if dimension == 3 else h5["minusgrad/particles/all/box"]
        assert np.array_equal(place["edges/value"][...], edges)
        assert place["edges/value"].attrs["unit_si"] == 1e-9
        assert "edges" in box or dimension == 2
        assert place["edges/step"][...].tolist() == list(range(31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe.empty(5, trajectory=False)
        universe.load_new(str(file), format="H5MD", convert_units=False)
        for k, frame in enumerate(universe.trajectory):
            expected = None if dimension == 2 else triclinic_box(*edges[k])
            assert frame.dimensions is None if expected is None else np.allclose(frame.dimensions, expected)


MESHES = {
    "triangles": (2, [[0, 1, 2], [1, 3, 2]], 5),
    "tetrahedra": (3, [[0, 1, 2, 3], [1, 2, 3, 4]], 10),
    "quadrangles": (2, [[0, 1, 2, 3]], 9),
    "hexahedra": (3, [[0, 1, 2, 3, 4, 5, 6, 7]], 12),
    "6-node triangles": (2, [[0, 1, 2, 3, 4, 5]], 22),
    "8-node quadrangles": (2, [[0, 1, 2, 3, 4, 5, 6, 7]], 23),
    "9-node quadrangles": (2, [[0, 1, 2, 3, 4, 5, 6, 7, 0]], 28),
    "wedges": (3, [[0, 1, 2, 3, 4, 5]], 13),
    "pyramids": (3, [[0, 1, 2, 3, 4]], 14),
    "10-node tetrahedra": (3, [[0, 1, 2, 3, 4, 5, 6, 7, 0, 1]], 24),
    "20-node hexahedra": (3, [[*range(8), *range(8), *range(4)]], 25),
    "27-node hexahedra": (3, [[*range(8), *range(8), *range(8), *range(3)]], 29),
    "springs": (3, [[0, 1], [4, 2], [5, 6]], 3),
}


@pytest.mark.parametrize("kind", MESHES)
def test_meshes(kind: str, tmp_path: Path) -> None:
    """An UnstructuredGrid, here with a second list: cell data of one are NaN at the cells of the other."""
    dimension, cells, number = MESHES[kind]
    x, e = X.normal(size=(4, 8, dimension)), X.normal(size=(4, len(cells)))
    lists = {"body": np.array(cells), "rods": np.array([[6, 7]])}
    tensor = X.normal(size=(4, 1, 2, 2))

    def note(recorder: Recorder, step: int) -> None:
        recorder.record_frame(step, step, {"position": x[step]})
        recorder.record_cells(step, step, "body", {"energy": e[step]})
        recorder.record_cells(step, step, "rods", {"strain": tensor[step]})

    recorder = Recorder({}, ("s", 1.0), lists, tuple(lists))
    file = recorded(tmp_path / "run", recorder, note, 3, 1)
    for k in range(4):
        seen, time, count = shown(file, k)
        assert (seen.GetClassName(), time, count) == ("vtkUnstructuredGrid", float(k), 4)
        assert np.array_equal(vtk_to_numpy(seen.GetPoints().GetData()), padded(x[k]))
        assert [seen.GetCellType(c) for c in range(len(cells) + 1)] == [number] * len(cells) + [3]
        for c, nodes in enumerate([*cells, [6, 7]]):
            ids = seen.GetCell(c).GetPointIds()
            assert [ids.GetId(i) for i in range(ids.GetNumberOfIds())] == nodes
        data = data_of(seen.GetCellData())
        assert np.array_equal(data["energy"], [*e[k], np.nan], equal_nan=True)
        assert np.isnan(data["strain"][:-1]).all()
        assert np.array_equal(data["strain"][-1], tensor[k].ravel())


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_grids(shape: tuple[int, ...], tmp_path: Path) -> None:
    """ImageData of cells, the first centred at the origin, x last."""
    dose = np.float32(X.random((3, *shape)))

    def note(recorder: Recorder, step: int) -> None:
        recorder.record_frame(step, 0.0, {"position": np.zeros((2, 2))})
        recorder.record_grid(step, 0.0, "canvas", {"dose": dose[step]})

    grids = {"canvas": Raster(shape, 0.5, ("mm", 1e-3))}
    file = recorded(tmp_path / "run", Recorder({}, ("s", 1.0), grids=grids), note, 2, 1)
    for k in range(3):
        seen, time, count = shown(file, k)
        assert (seen.GetClassName(), time, count) == ("vtkImageData", float(k), 3), (
            "a search: steps for times"
        )
        ends = [*reversed(shape), 0][:3]
        assert seen.GetExtent() == tuple(np.array([[0, end] for end in ends]).ravel())
        assert seen.GetSpacing() == (0.5, 0.5, 0.5)
        assert seen.GetOrigin() == (-0.25, -0.25, -0.25 if len(shape) == 3 else 0.0)
        assert np.array_equal(data_of(seen.GetCellData())["dose"], dose[k].ravel())


def test_nothing_to_see(tmp_path: Path) -> None:
    """Observables alone make no VTKHDF group, and are H5MD all the same."""

    def note(recorder: Recorder, step: int) -> None:
        recorder.record_observables(step, 0.0, {"total": 1.0})

    file = recorded(tmp_path / "run", Recorder({}, ("s", 1.0)), note, 2, 1)
    with h5py.File(file) as h5:
        assert set(h5) == {"h5md", "minusgrad", "observables", "particles"}


RHYTHMS = {"equal": 4, "denser": 1, "rarer": 8}
"""Steps from one row of observables to the next; of frames, 4."""


def universe_of(file: Path, nodes: int, **options):
    """As a user opens it; units are converted unless `options` say otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe.empty(nodes, trajectory=False)
        universe.load_new(str(file), format="H5MD", **options)
        return universe


@pytest.mark.parametrize("rhythm", RHYTHMS)
def test_observables_that_mdanalysis_shows_are_those_of_the_frame(rhythm: str, tmp_path: Path) -> None:
    """It reads row k at frame k, whatever its step: of another rhythm it sees none, and fails at none."""
    x = X.normal(size=(17, 5, 3))

    def note(recorder: Recorder, step: int) -> None:
        if step % RHYTHMS[rhythm] == 0:
            values = {"total": 10.0 * step, "potential/pair": -step, "reaction/x/left": np.full(3, step)}
            recorder.record_observables(step, 0.5 * step, values)
        if step % 4 == 0:
            recorder.record_frame(step, 0.5 * step, {"position": x[step]})

    file = recorded(tmp_path / "run", Recorder({}, ("s", 1.0)), note, 16, 4)
    seen = {}
    for frame in universe_of(file, 5, convert_units=False).trajectory:
        step = int(frame.data["step"])
        known = [name for name in ("total", "potential/pair") if name in frame.data]
        seen[step] = {name: float(frame.data[name]) for name in known}
        assert np.array_equal(frame.positions, x[step].astype(np.float32))
    right = {step: {"total": 10.0 * step, "potential/pair": -float(step)} for step in range(0, 17, 4)}
    assert seen == (right if rhythm == "equal" else {step: {} for step in right})
    with h5py.File(file) as h5:
        for name, factor in (("total", 10.0), ("potential/pair", -1.0)):
            group = h5[("" if rhythm == "equal" else "minusgrad/") + f"observables/{name}"]
            assert group["value"][...].tolist() == [factor * step for step in range(0, 17, RHYTHMS[rhythm])]
            assert group["step"][...].tolist() == list(range(0, 17, RHYTHMS[rhythm]))
        assert len(h5["minusgrad/observables/reaction/x/left/value"]) == 16 // RHYTHMS[rhythm] + 1, "too deep"
    assert trajectory.series(tmp_path / "run", "observables/total").value.tolist() == [
        10.0 * step for step in range(0, 17, RHYTHMS[rhythm])
    ]


def test_velocities_of_another_rhythm_are_not_shown_as_those_of_the_frame(tmp_path: Path) -> None:
    x = X.normal(size=(9, 2, 3))

    def note(recorder: Recorder, step: int) -> None:
        recorder.record_frame(step, step, {"velocity": -x[step]})
        if step % 2 == 0:
            recorder.record_frame(step, step, {"position": x[step]})

    file = recorded(tmp_path / "run", Recorder({}, ("s", 1.0)), note, 8, 4)
    universe = universe_of(file, 2, convert_units=False)
    assert not universe.trajectory.ts.has_velocities
    for k, frame in enumerate(universe.trajectory):
        assert np.array_equal(frame.positions, x[2 * k].astype(np.float32))
    with h5py.File(file) as h5:
        assert np.array_equal(h5["minusgrad/particles/all/velocity/value"], -x)


UNITS = {
    "nm, ps, u": (("nm", "nm ps^-1", "nm u ps^-2", "ps"), (10.0, 10.0, 0.1)),
    "angstrom, fs": (("angstrom", "angstrom fs^-1", "", "fs"), (1.0, 1000.0, 0.0)),
}
"""Symbols of position, velocity, force and time; what MDAnalysis multiplies by (A, A/ps, kJ/mol/A)."""


@pytest.mark.parametrize("system", UNITS)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_units_are_converted_by_default(system: str, dimension: int, tmp_path: Path) -> None:
    (length, speed, force, time), factors = UNITS[system]
    x, v, f = X.normal(size=(3, 3, 4, dimension))

    def note(recorder: Recorder, step: int) -> None:
        arrays = {"position": x[step], "velocity": v[step]} | ({"force": f[step]} if force else {})
        recorder.record_frame(step, 2.0 * step, arrays)

    units = {"position": (length, 1e-9), "velocity": (speed, 1e3)} | (
        {"force": (force, 1e-12)} if force else {}
    )
    file = recorded(tmp_path / "run", Recorder(units, (time, 1e-12)), note, 2, 1)
    for k, frame in enumerate(universe_of(file, 4).trajectory):
        assert frame.time == pytest.approx(2.0 * k * {"ps": 1.0, "fs": 1e-3}[time], abs=1e-12)
        np.testing.assert_allclose(frame.positions, factors[0] * padded(x[k]), rtol=1e-6)
        np.testing.assert_allclose(frame.velocities, factors[1] * padded(v[k]), rtol=1e-6)
        if force:
            np.testing.assert_allclose(frame.forces, factors[2] * padded(f[k]), rtol=1e-6)


def test_metres_are_read_without_conversion(tmp_path: Path) -> None:
    """MDAnalysis does not know metres: the page says `convert_units=False`."""

    def note(recorder: Recorder, step: int) -> None:
        recorder.record_frame(step, step, {"position": np.ones((2, 3)), "velocity": np.ones((2, 3))})

    units = {"position": ("m", 1.0), "velocity": ("m s^-1", 1.0)}
    file = recorded(tmp_path / "run", Recorder(units, ("s", 1.0)), note, 2, 1)
    with pytest.raises(ValueError, match="must have readable units"):
        universe_of(file, 2)
    universe = universe_of(file, 2, convert_units=False)
    assert universe.trajectory.n_frames == 3
    assert universe.trajectory.units["velocity"] == "m/s"
