"""What is seen of lists of tuples, and in which colours: boundaries, contours, views, scales."""

import numpy as np
import pytest
from matplotlib.colors import LogNorm, to_rgb

from minusgrad.plot import mesh_artists
from minusgrad.plot.shapes import surfaces
from minusgrad_elastic import generators

# What is seen of lists of tuples ------------------------------------------------------------------------


def test_the_boundary_of_a_tetrahedron_is_its_faces():
    facets, cells, inner = surfaces.boundary(np.array([[4, 7, 2, 9]]))
    assert [set(facet) | {node} for facet, node in zip(facets.tolist(), inner.tolist(), strict=True)] == [
        {2, 4, 7, 9}
    ] * 4
    assert {frozenset(facet) for facet in facets.tolist()} == {
        frozenset(f) for f in ((4, 7, 2), (4, 7, 9), (4, 2, 9), (7, 2, 9))
    }
    assert cells.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("mesh", [generators.box((3, 2, 1), (4, 3, 2)), generators.rectangle((2, 1), (5, 3))])
def test_the_boundary_is_what_the_mesh_says(mesh):
    facets, cells, inner = surfaces.boundary(mesh.cells)
    assert {frozenset(f) for f in facets.tolist()} == {frozenset(f) for f in mesh.boundary().tolist()}
    assert len(facets) == len(mesh.boundary())
    assert (np.diff(cells) >= 0).all()
    together = np.sort(np.column_stack([facets, inner]), axis=1)
    np.testing.assert_array_equal(together, np.sort(mesh.cells[cells], axis=1))


def test_edges_are_those_of_the_mesh():
    mesh = generators.box((1, 1, 1), (2, 2, 2))
    np.testing.assert_array_equal(surfaces.edges(mesh.cells), mesh.edges())


def test_normals_point_outward_whatever_the_order_of_nodes():
    mesh = generators.box((2, 2, 2), (3, 3, 3))
    facets, _, inner = surfaces.boundary(mesh.cells)
    normal = surfaces.outward(mesh.points, facets, inner)
    np.testing.assert_allclose(np.abs(normal).max(axis=1), 1.0)
    outside = mesh.points[facets].mean(axis=1) - 1.0
    assert (np.einsum("ij,ij->i", normal, outside) > 0.9).all()
    np.testing.assert_array_equal(
        surfaces.outward(np.zeros((4, 3)), facets[:1] % 4, inner[:1] % 4), [[0, 0, 0]]
    )


def test_the_contour_of_a_box_is_its_twelve_sides():
    mesh = generators.box((3.0, 2.0, 1.0), (3, 2, 1))
    facets, _, inner = surfaces.boundary(mesh.cells)
    lines = surfaces.contour(mesh.points, facets, inner, np.array([0.3, -0.8, 0.5]))
    start, end = mesh.points[lines[:, 0]], mesh.points[lines[:, 1]]
    assert len(lines) == 4 * (3 + 2 + 1)
    faces = (np.isclose(start, 0) & np.isclose(end, 0)) | (
        np.isclose(start, [3, 2, 1]) & np.isclose(end, [3, 2, 1])
    )
    assert (faces.sum(axis=1) == 2).all(), "each lies on two faces"


def test_the_contour_of_a_round_body_turns_from_the_eye():
    mesh = generators.box((2.0, 2.0, 2.0), (12, 12, 12))
    centred = mesh.points - 1.0
    ball = (
        centred * (np.abs(centred).max(axis=1) / np.maximum(np.linalg.norm(centred, axis=1), 1e-9))[:, None]
    )
    facets, _, inner = surfaces.boundary(mesh.cells)
    eye = np.array([0.0, -0.6, 0.8])
    lines = surfaces.contour(ball, facets, inner, eye)
    assert 60 < len(lines) < 200
    assert (np.abs(ball[np.unique(lines)] @ eye) < 0.2).all()


@pytest.mark.parametrize(
    ("size", "across", "steep"), [((4, 1, 1), 0, 24), ((1, 4, 1), 1, 24), ((4, 3, 0.1), 0, 38)]
)
def test_a_view_shows_the_long_side_and_keeps_z_upright(size, across, steep):
    view = surfaces.sensible_view(generators.box(size, (1, 1, 1)).points)
    np.testing.assert_allclose(view @ view.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(view) > 0
    assert view[0, 2] == 0
    assert view[0, across] > 0.85
    np.testing.assert_allclose(view[2, 2], np.sin(np.radians(steep)))


def test_fifty_thousand_tetrahedra_are_seen_by_their_boundary():
    mesh = generators.box((1, 1, 1), (20, 20, 21))
    assert len(mesh.cells) == 50400
    assert len(surfaces.boundary(mesh.cells)[0]) == 2 * 2 * (20 * 20 + 2 * 20 * 21)


# Colours ------------------------------------------------------------------------------------------------


def test_colours_begin_at_zero_and_end_at_the_largest():
    scale = mesh_artists.colours(np.array([0.2, 0.5, 2.0]), "cells")
    assert (scale.norm.vmin, scale.norm.vmax, scale.beyond) == (0.0, 2.0, "neither")
    np.testing.assert_allclose(scale(np.array([2.0])), [to_rgb("#8e2434")], atol=1e-3)
    np.testing.assert_allclose(scale(np.array([0.0])), [to_rgb("#e3e7eb")], atol=1e-3)


def test_colours_of_both_signs_lie_around_zero():
    scale = mesh_artists.colours(np.array([-1.0, 0.5, 3.0]), "lines")
    assert (scale.norm.vmin, scale.norm.vmax) == (-3.0, 3.0)
    red, _, blue = scale(np.array([3.0]))[0]
    assert red > blue + 0.3
    red, _, blue = scale(np.array([-3.0]))[0]
    assert blue > red + 0.3
    assert np.ptp(scale(np.array([0.0]))[0]) < 0.06
    assert scale(np.array([0.0]))[0].max() < 0.8, "a line is seen on white"


def test_colours_of_a_few_large_values_are_logarithmic():
    values = np.append(np.full(99, 1e-5), 10.0)
    scale = mesh_artists.colours(values, "cells")
    assert isinstance(scale.norm, LogNorm)
    assert (scale.norm.vmin, scale.norm.vmax, scale.beyond) == (1e-3, 10.0, "min")
    assert mesh_artists.colours(np.append(np.full(99, 0.01), 10.0), "cells").beyond == "neither"
    with_zero = mesh_artists.colours(np.append(np.zeros(99), 10.0), "cells")
    np.testing.assert_allclose(with_zero(np.zeros(1)), with_zero(np.array([1e-3])))


@pytest.mark.parametrize(
    ("values", "limits"), [([0.0, 0.0], (0, 1)), ([2.0, 2.0], (0, 2)), ([-3.0, -1.0], (-3, 0))]
)
def test_colours_of_constant_and_negative_values(values, limits):
    scale = mesh_artists.colours(np.array(values), "cells")
    assert (scale.norm.vmin, scale.norm.vmax) == limits
    np.testing.assert_allclose(scale(np.zeros(1)), [to_rgb("#e3e7eb")], atol=1e-3)
