"""Tubes and sheets read back by VTK: radius and axes of lines, thickness and normals of facets."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.app.results.vtu_export import export_vtu
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.frames.looks import ListLook
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder

vtk = pytest.importorskip("vtk")
from vtk.util.numpy_support import vtk_to_numpy  # noqa: E402

METRE = ("m", 1.0)
X = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]])
EDGES, FACES = np.array([[0, 1], [1, 2]]), np.array([[3, 4, 5]])
HALF = np.sqrt(0.5)


def both(path: Path) -> Path:
    """Two tubes that turn about themselves, one twice as thick, and a facet, in two frames."""
    looks = {
        "edges": ListLook("tube", np.array([[0.2, 0.2], [0.4, 0.4]]), "q", METRE),
        "faces": ListLook("sheet", np.array([[0.05]]), "", METRE),
    }
    rows = Recorder(
        {"position": METRE}, ("s", 1.0), {"edges": EDGES, "faces": FACES}, ("edges", "faces"), looks=looks
    )
    with RunDir.create(path, b"", []) as run:
        for step in (0, 1):
            q = np.array([[HALF, 0.0, HALF, 0.0]] * 2) if step else np.array([[1.0, 0.0, 0.0, 0.0]] * 2)
            rows.record_frame(step, float(step), {"position": X, "q": q, "d1": 1.0 * step + np.zeros((2, 3))})
        run.save(Snapshot(1, 1.0, 1.0, {}, meta={}), rows, keep=1)
    return path


def cells_of(data) -> dict[str, np.ndarray]:
    arrays = data.GetCellData()
    return {
        arrays.GetArrayName(k): vtk_to_numpy(arrays.GetArray(k)) for k in range(arrays.GetNumberOfArrays())
    }


def test_exported_frames_have_axes_radii_normals_and_thickness(tmp_path: Path) -> None:
    export_vtu(both(tmp_path / "run"), tmp_path / "out")
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(tmp_path / "out/frames_000000000001.vtu"))
    reader.Update()
    grid = reader.GetOutput()
    cells = cells_of(grid)
    nan = np.nan
    np.testing.assert_allclose(cells["radius"], [0.1, 0.2, nan])
    np.testing.assert_allclose(cells["thickness"], [nan, nan, 0.05])
    for name, axis in (("d2", [0.0, 1.0, 0.0]), ("d3", [1.0, 0.0, 0.0])):
        np.testing.assert_allclose(cells[name], [axis, axis, [nan] * 3], atol=1e-15)
    points = grid.GetPointData()
    np.testing.assert_allclose(vtk_to_numpy(points.GetArray("radius")), [0.1, 0.15, 0.2, nan, nan, nan])
    np.testing.assert_allclose(
        vtk_to_numpy(points.GetArray("normal")), [[nan] * 3] * 3 + [[0.0, 0.0, 1.0]] * 3, atol=1e-15
    )
    assert points.GetArray("q") is None, "it has no value for each node"


def test_the_tube_filter_takes_the_radius(tmp_path: Path) -> None:
    """A tube by VTK around the first line reaches 0.1 to 0.15 from it."""
    export_vtu(both(tmp_path / "run"), tmp_path / "out")
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(tmp_path / "out/frames_000000000000.vtu"))
    lines, tube = vtk.vtkGeometryFilter(), vtk.vtkTubeFilter()
    lines.SetInputConnection(reader.GetOutputPort())
    lines.Update()
    surface = lines.GetOutput()
    surface.GetPointData().SetActiveScalars("radius")
    tube.SetInputData(surface)
    tube.SetVaryRadiusToVaryRadiusByAbsoluteScalar()
    tube.SetNumberOfSides(24)
    tube.Update()
    made = vtk_to_numpy(tube.GetOutput().GetPoints().GetData())
    first = made[np.isclose(made[:, 0], 0.0) & (made[:, 2] < 0.5)]
    assert np.hypot(first[:, 1], first[:, 2]) == pytest.approx(0.1, rel=1e-6)


def test_the_trajectory_has_them_for_vtk(tmp_path: Path) -> None:
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(both(tmp_path / "run") / "trajectory.h5"))
    reader.UpdateInformation()
    for step in (0, 1):
        reader.SetStep(step)
        reader.Update()
        cells = cells_of(reader.GetOutputDataObject(0))
        np.testing.assert_allclose(cells["radius"], [0.1, 0.2, np.nan])
        np.testing.assert_allclose(cells["thickness"], [np.nan, np.nan, 0.05])
        w = HALF if step else 1.0
        np.testing.assert_allclose(cells["q"][:, 0], [w, w, np.nan])
        np.testing.assert_allclose(cells["d1"][:2], step + np.zeros((2, 3)))
