"""Smooth colours by values of nodes: the pieces of polygons, and the values at them."""

import numpy as np
import pytest

from minusgrad.plot import meshes
from minusgrad.plot.shapes import node_shades
from minusgrad_elastic import generators


@pytest.mark.parametrize(
    ("shape", "order"),
    [("triangles", 1), ("triangles", 2), ("quadrilaterals", 1), ("quadrilaterals", 2)],
)
def test_pieces_fill_the_cells_and_have_the_values_of_a_linear_field(shape: str, order: int) -> None:
    mesh = generators.rectangle((2.0, 1.0), (3, 2), shape, order)
    part = meshes.part(mesh.points, mesh.cells, np.eye(2))
    shade = node_shades.shaded(mesh.points, 1.0 + mesh.points @ np.array([2.0, -3.0]), part)
    assert shade is not None
    corners = shade.nodes[shade.part.shown]
    legs = corners[:, 1:] - corners[:, :1]
    area = 0.5 * np.abs(legs[:, 0, 0] * legs[:, 1, 1] - legs[:, 0, 1] * legs[:, 1, 0])
    assert area.sum() == pytest.approx(2.0, rel=1e-12)
    assert shade.values == pytest.approx(1.0 + corners.mean(axis=1) @ np.array([2.0, -3.0]), abs=1e-12)
    assert (shade.nodes[: len(mesh.points)] == mesh.points).all()


def test_a_peak_at_a_node_is_nearly_its_colour() -> None:
    """The mean over a cell of four nodes would have a quarter of it."""
    mesh = generators.rectangle((1.0, 1.0), (2, 2), "quadrilaterals")
    value = np.zeros(len(mesh.points))
    value[4] = 1.0
    shade = node_shades.shaded(mesh.points, value, meshes.part(mesh.points, mesh.cells, np.eye(2)))
    assert shade is not None
    assert shade.values.max() > 0.85


def test_fields_that_are_not_everywhere_and_large_meshes_keep_means() -> None:
    mesh = generators.rectangle((1.0, 1.0), (2, 2))
    part = meshes.part(mesh.points, mesh.cells, np.eye(2))
    value = np.zeros(len(mesh.points))
    value[0] = np.nan
    assert node_shades.shaded(mesh.points, value, part) is None
    many = part._replace(shown=np.tile(part.shown, (3000, 1)))
    assert node_shades.shaded(mesh.points, np.zeros(len(mesh.points)), many) is None
