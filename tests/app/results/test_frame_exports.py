"""Frames as extended XYZ, read back by ASE, and as .vtu files, read back by VTK."""

import io
from pathlib import Path

import ase.io
import numpy as np
import pytest

from minusgrad.app import cli
from minusgrad.app.results.vtu_export import export_vtu
from minusgrad.app.results.xyz_export import export_xyz
from minusgrad.errors import UserError
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from tests.support.recorded_runs import T, recorded_run

vtk = pytest.importorskip("vtk")
from vtk.util.numpy_support import vtk_to_numpy  # noqa: E402

RNG = np.random.default_rng(1)
X, V = RNG.normal(size=(2, len(T), 4, 3))
QUADS = {"sheet": np.array([[0, 1, 2, 3]]), "edges": np.array([[0, 1], [1, 2]])}
CELLS = {"sheet/energy_density": np.arange(len(T), dtype=float)[:, None]}


def crystal(path: Path, names: list[str]) -> Path:
    """Three frames of two atoms in a periodic box that grows."""
    units = {"position": ("angstrom", 1e-10), "box/edges": ("angstrom", 1e-10)}
    rows = Recorder(units, ("ps", 1e-12), periodic=(True, True, False))
    with RunDir.create(path, b"", []) as run:
        for step in (0, 10, 20):
            rows.record_box(step, 0.1 * step, np.diag([4.0 + step, 5.0, 6.0]))
            rows.record_frame(step, 0.1 * step, {"position": X[step, :2], "velocity": V[step, :2]})
        run.save(Snapshot(20, 2.0, 0.1, {}, meta={"names": names}), rows, keep=1)
    return path


def read_xyz(run: Path, **options) -> list:
    text = io.StringIO()
    count = export_xyz(run, text, **options)
    found = ase.io.read(io.StringIO(text.getvalue()), index=":", format="extxyz")
    assert len(found) == count
    return found


def test_ase_reads_positions_velocities_species_and_the_box_with_all_digits(tmp_path):
    frames = read_xyz(crystal(tmp_path / "run", ["Ar", "O"]))
    assert [atoms.info["step"] for atoms in frames] == [0, 10, 20]
    assert [atoms.info["Time"] for atoms in frames] == [0.0, 1.0, 2.0]
    for atoms, step in zip(frames, (0, 10, 20), strict=True):
        assert atoms.get_chemical_symbols() == ["Ar", "O"]
        assert atoms.pbc.tolist() == [True, True, False]
        np.testing.assert_array_equal(atoms.positions, X[step, :2])
        np.testing.assert_array_equal(atoms.arrays["velo"], V[step, :2])
        np.testing.assert_array_equal(atoms.cell.array, np.diag([4.0 + step, 5.0, 6.0]))
    assert frames[0].info["units"] == "angstrom, ps"


def test_nodes_without_a_symbol_are_x_and_keep_their_names(tmp_path):
    frames = read_xyz(crystal(tmp_path / "run", ["the sun", "O"]))
    assert frames[0].get_chemical_symbols() == ["X", "O"]
    assert frames[0].arrays["name"].tolist() == ["the_sun", "O"]


def test_the_plane_has_a_third_coordinate_and_other_series_are_columns(tmp_path):
    run = recorded_run(tmp_path / "run", {"position": X[..., :2], "phi": V[..., 0]}, {"total": T})
    frames = read_xyz(run, every=15)
    assert [atoms.info["step"] for atoms in frames] == [0, 15, 30, 39]
    np.testing.assert_array_equal(frames[1].positions, np.c_[X[15, :, :2], np.zeros(4)])
    np.testing.assert_array_equal(frames[1].arrays["phi"], V[15, :, 0])
    assert not frames[0].pbc.any()
    (frame,) = read_xyz(run, step=17, names=["x"])
    assert frame.info["step"] == 17
    assert "phi" not in frame.arrays


@pytest.mark.parametrize("components", [(), (1,)])
def test_positions_on_a_line_lie_along_x(tmp_path, components):
    x = (T[:, None] + np.arange(4.0)).reshape(len(T), 4, *components)
    run = recorded_run(tmp_path / "run", {"position": x, "velocity": x})
    atoms = read_xyz(run)[-1]
    assert np.array_equal(atoms.positions[:, 0], x[-1].ravel())
    assert not atoms.positions[:, 1:].any()
    assert export_vtu(run, tmp_path / "out", every=20) == 3
    points = read_vtu(tmp_path / "out" / "frames_000000000039.vtu").GetPoints().GetData()
    assert np.array_equal(vtk_to_numpy(points)[:, 0], x[-1].ravel())


def test_series_and_steps_that_no_frame_has_are_refused(tmp_path):
    run = recorded_run(tmp_path / "run", {"position": X}, {"total": T})
    with pytest.raises(UserError, match="observables/total: has no value for each node"):
        read_xyz(run, names=["total"])
    with pytest.raises(UserError, match="its first frame is that of step 0, got --step -1"):
        read_xyz(run, step=-1)
    with pytest.raises(UserError, match="must be at least 1, got 0"):
        read_xyz(run, every=0)
    bare = recorded_run(tmp_path / "bare", observables={"total": T})
    with pytest.raises(UserError, match="has no recorded positions"):
        read_xyz(bare)


def test_numbers_are_those_that_were_recorded(tmp_path):
    """Of forces in units that pictures show reduced, here 0.01 kJ/mol/angstrom for u angstrom/ps^2."""
    rows = Recorder({"force": ("angstrom u ps^-2", 1.66053906892e-13)}, ("ps", 1e-12))
    with RunDir.create(tmp_path / "run", b"", []) as run:
        rows.record_frame(0, 0.0, {"position": X[0], "force": V[0]})
        run.save(Snapshot(0, 0.0, 0.1, {}), rows, keep=1)
    (atoms,) = read_xyz(tmp_path / "run")
    np.testing.assert_array_equal(atoms.get_forces(), V[0])
    export_vtu(tmp_path / "run", tmp_path / "out")
    force = read_vtu(tmp_path / "out" / "frames_000000000000.vtu").GetPointData().GetArray("force")
    np.testing.assert_array_equal(vtk_to_numpy(force), V[0])


def read_vtu(path: Path):
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(path))
    reader.Update()
    assert reader.GetErrorCode() == 0
    return reader.GetOutput()


def test_vtk_reads_points_cells_and_their_values(tmp_path):
    frames = {"position": X, "velocity": V, "phi": V[..., 0]}
    run = recorded_run(tmp_path / "run", frames, lists=QUADS, cells=CELLS)
    assert export_vtu(run, tmp_path / "out", every=20) == 3
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "frames.pvd", *(f"frames_{step:012d}.vtu" for step in (0, 20, 39))
    ]  # fmt: skip
    grid = read_vtu(tmp_path / "out" / "frames_000000000020.vtu")
    np.testing.assert_array_equal(vtk_to_numpy(grid.GetPoints().GetData()), X[20])
    np.testing.assert_array_equal(vtk_to_numpy(grid.GetPointData().GetArray("velocity")), V[20])
    np.testing.assert_array_equal(vtk_to_numpy(grid.GetPointData().GetArray("phi")), V[20, :, 0])
    assert [grid.GetCellType(k) for k in range(3)] == [vtk.VTK_LINE, vtk.VTK_LINE, vtk.VTK_TETRA]
    density = vtk_to_numpy(grid.GetCellData().GetArray("energy_density"))
    np.testing.assert_array_equal(density, [np.nan, np.nan, 20.0])
    assert grid.GetFieldData().GetArray("TimeValue").GetValue(0) == T[20]
    ids = grid.GetCell(2).GetPointIds()
    assert [ids.GetId(k) for k in range(4)] == [0, 1, 2, 3]
    times = (tmp_path / "out" / "frames.pvd").read_text()
    assert f'timestep="{float(T[20])!r}" part="0" file="frames_000000000020.vtu"' in times


def test_particles_are_vertices_and_the_plane_is_flat(tmp_path):
    run = recorded_run(tmp_path / "run", {"position": X[..., :2].astype(np.float32)})
    export_vtu(run, tmp_path / "out", step=5)
    grid = read_vtu(tmp_path / "out" / "frames_000000000005.vtu")
    points = vtk_to_numpy(grid.GetPoints().GetData())
    assert points.dtype == np.float32
    np.testing.assert_array_equal(points, np.c_[X[5, :, :2], np.zeros(4)].astype(np.float32))
    assert {grid.GetCellType(k) for k in range(grid.GetNumberOfCells())} == {vtk.VTK_VERTEX}


def test_the_command_writes_frames(tmp_path, capsys):
    run = recorded_run(tmp_path / "run", {"position": X})
    assert cli.main(["export", str(run), "--format", "xyz", "--out", str(tmp_path / "a.xyz")]) == 0
    assert len(ase.io.read(tmp_path / "a.xyz", index=":")) == len(T)
    assert cli.main(["export", str(run), "--format", "vtu", "--every", "20"]) == 0
    assert (tmp_path / "run-vtu" / "frames.pvd").is_file()
    assert "a.xyz: 40 frames" in capsys.readouterr().out
    assert cli.main(["export", str(run), "--every", "2"]) == 2
    assert "--step and --every: choose frames, got csv" in capsys.readouterr().err
