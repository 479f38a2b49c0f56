"""Polygons of cells in pictures: the facets of reference cells, each edge once, drawn at the nodes."""

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

import minusgrad
from minusgrad.plot import pictures
from minusgrad.plot.shapes import cell_shapes
from minusgrad_elastic.cells import reference_cells
from tests.support import cell_meshes

KINDS = [*reference_cells.cells()]
kinds = pytest.mark.parametrize("kind", KINDS, ids=[one.name for one in reference_cells.cells().values()])


@kinds
@pytest.mark.unit
def test_outlines_are_those_of_the_facets(kind: tuple[int, int]) -> None:
    """Each loop goes around a facet: its nodes but a middle one, corners in the same order."""
    cell, loops = reference_cells.cells()[kind], cell_shapes.OUTLINES[kind]
    if kind[0] == 2:
        (loop,) = loops
        assert {node for facet in cell.facets for node in facet} == {*loop}
        sides = {frozenset(pair) for pair in zip(loop, (*loop[1:], loop[0]), strict=True)}
        halves = [(f[0], *f[2:], f[1]) for f in cell.facets]
        assert sides == {frozenset(h[k : k + 2]) for h in halves for k in range(len(h) - 1)}
        return
    assert len(loops) == len(cell.facets)
    for loop, facet in zip(loops, cell.facets, strict=True):
        corners = [node for node in facet if node < cell.corners]
        assert [node for node in loop if node < cell.corners] == corners
        assert {*facet} - {*loop} <= {*range(20, 27)}


@kinds
@pytest.mark.unit
def test_polygons_cover_the_sides_of_a_cube_once(kind: tuple[int, int]) -> None:
    """The area of all drawn polygons, and the outward side of each."""
    mesh = cell_meshes.mesh_of(*kind)
    drawn = cell_shapes.outline(mesh.cells, kind[0])
    corners = mesh.points[drawn.polygons]
    following = np.roll(corners, -1, axis=1)
    if kind[0] == 2:
        (x, y), (u, v) = np.moveaxis(corners, 2, 0), np.moveaxis(following, 2, 0)
        areas = 0.5 * (x * v - y * u).sum(axis=1)
        assert areas.min() > 0.0
        assert areas.sum() == pytest.approx(1.0, rel=1e-13)
        lengths = np.linalg.norm(np.diff(mesh.points[drawn.rim], axis=1)[:, 0], axis=1)
        assert lengths.sum() == pytest.approx(4.0, rel=1e-13)
        return
    vectors = 0.5 * np.cross(corners, following).sum(axis=1)
    assert np.linalg.norm(vectors, axis=1).sum() == pytest.approx(6.0, rel=1e-13)
    away = corners.mean(axis=1) - mesh.points[drawn.inner]
    assert ((vectors * away).sum(axis=1) > 0.0).all()


SCENE = """
[units]
system = "si"

[state]
kind = "gmsh"
file = "kinds_8.msh"
length = "m"
density = 1.0

[[energy]]
kind = "neo_hookean"
tuples = "cells"
youngs_modulus = 100.0
poissons_ratio = 0.3

[[energy]]
kind = "body_force"
acceleration = [0.0, -1.0]

[[hold]]
body = "clamp"

[stepper]
kind = "leapfrog"
dt = 1e-3

[run]
steps = 20

[[observe]]
kind = "energy_density"
every = 10

[[observe]]
kind = "frames"
every = 10
"""


def test_a_mixed_mesh_of_order_two_is_drawn_and_recorded_cell_by_cell(tmp_path: Path) -> None:
    """The recorded densities times areas are the energy; the picture has colours."""
    file = Path(__file__).parents[1] / "meshes" / "kinds_8.msh"
    (tmp_path / "kinds_8.msh").write_bytes(file.read_bytes())
    (tmp_path / "sheet.toml").write_text(SCENE)
    run = minusgrad.run(tmp_path / "sheet.toml", out=tmp_path / "run")
    total, state = 0.0, run.simulation.state
    assert state.shown == ("cells_8_node_quadrilaterals", "cells_6_node_triangles")
    start, points = 0, state.quadratures["cells"]
    areas = np.bincount(points.cell, weights=state.data["cells"]["volume"])
    for name in state.shown:
        values = run.series(f"cells/{name}/energy_density").value[-1]
        total += values @ areas[start : start + len(values)]
        start += len(values)
    assert total == pytest.approx(run.simulation.potential.by_term()["neo_hookean"], rel=1e-12)
    picture = next(one for one in pictures.plot(tmp_path / "run") if one.stem == "mesh")
    image = matplotlib.image.imread(picture)[..., :3]
    coloured = np.ptp(image, axis=2) > 0.1
    assert coloured.sum() > 5000
