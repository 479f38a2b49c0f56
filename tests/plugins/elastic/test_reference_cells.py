"""Reference cells: shape functions and numbering as in vtk, quadrature of its degree, facets outward."""

from itertools import product
from math import factorial

import numpy as np
import pytest

from minusgrad_elastic.cells import quadrature, reference_cells
from minusgrad_elastic.mesh import Mesh
from tests.support import cell_meshes

KINDS = [*reference_cells.cells()]
kinds = pytest.mark.parametrize("kind", KINDS, ids=[one.name for one in reference_cells.cells().values()])
pytestmark = pytest.mark.unit


def own_place(kind: tuple[int, int], at: np.ndarray) -> np.ndarray:
    """vtk's parametric coordinates are in [0, 1]; those of our cubes in [-1, 1]."""
    if kind in ((2, 3), (2, 6), (3, 4), (3, 10)):
        return at
    return np.array([*at[:2], 2.0 * at[2] - 1.0]) if kind == (3, 6) else 2.0 * at - 1.0


@kinds
def test_shape_functions_and_numbering_are_those_of_vtk(kind: tuple[int, int]) -> None:
    cell, rng = reference_cells.cells()[kind], np.random.default_rng(1)
    for at in rng.uniform(0.05, 0.3, (5, kind[0])):
        found = cell.values(own_place(kind, at)[None])[0]
        np.testing.assert_allclose(found, cell_meshes.functions(*kind, at), rtol=0.0, atol=1e-14)


@kinds
def test_slopes_are_those_of_the_shape_functions(kind: tuple[int, int]) -> None:
    cell, rng = reference_cells.cells()[kind], np.random.default_rng(2)
    at, h = rng.uniform(0.05, 0.3, (4, kind[0])), 1e-5
    for axis in range(kind[0]):
        step = h * np.eye(kind[0])[axis]
        difference = (
            8.0 * (cell.values(at + step) - cell.values(at - step))
            - (cell.values(at + 2.0 * step) - cell.values(at - 2.0 * step))
        ) / (12.0 * h)
        np.testing.assert_allclose(cell.slopes(at)[..., axis], difference, rtol=0.0, atol=1e-10)


def on_simplex(powers: tuple[int, ...]) -> float:
    """The mean of a monomial over a triangle or tetrahedron (Dirichlet's integral)."""
    d = len(powers)
    return factorial(d) * np.prod([factorial(p) for p in powers]) / factorial(d + sum(powers))


def degree(rule: quadrature.Rule, mean) -> int:
    """The highest degree up to which all monomials have their mean."""
    points, weights = rule
    d, share = points.shape[1], weights / weights.sum()
    for most in range(12):
        for powers in product(range(most + 1), repeat=d):
            if sum(powers) == most and abs(share @ np.prod(points**powers, axis=1) - mean(powers)) > 1e-14:
                return most - 1
    return 12


@pytest.mark.parametrize(
    ("rule", "exact"),
    [
        (quadrature.CENTRE_2, 1),
        (quadrature.CENTRE_3, 1),
        (quadrature.DEGREE_2[2], 2),
        (quadrature.DEGREE_2[3], 2),
        (quadrature.DEGREE_3, 3),
        (quadrature.DEGREE_4, 4),
        (quadrature.collapsed_points(4, 2), 6),
        (quadrature.collapsed_points(4, 3), 5),
    ],
)
def test_rules_of_triangles_and_tetrahedra_are_exact_to_their_degree(rule, exact: int) -> None:
    assert degree(rule, on_simplex) == exact
    assert rule[1].min() > 0.0
    assert rule[1].sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (2, 2), (3, 2), (2, 3), (3, 3)])
def test_gauss_points_are_exact_to_their_degree(n: int, d: int) -> None:
    def mean(powers):
        return np.prod([0.0 if p % 2 else 1.0 / (p + 1) for p in powers])

    assert degree(quadrature.gauss(n, d), mean) == 2 * n - 1
    assert quadrature.gauss(n, d)[1].sum() == pytest.approx(2.0**d, rel=1e-14)


@kinds
def test_a_cell_turned_over_is_inverted_at_all_points(kind: tuple[int, int]) -> None:
    mesh, cell = cell_meshes.mesh_of(*kind, parts=1), reference_cells.cells()[kind]
    turned = Mesh(mesh.points, mesh.cells[:, cell.mirror])
    assert mesh.least_jacobians().min() > 0.0
    assert turned.least_jacobians().max() < 0.0
    assert sorted(cell.mirror) == list(range(cell.count))
    np.testing.assert_allclose(turned.volumes(), -mesh.volumes(), rtol=1e-13)


@kinds
def test_facets_are_closed_and_look_outward(kind: tuple[int, int]) -> None:
    """The divergence theorem on cells with shaken, so curved, edges: both sides by quadrature, exact."""
    mesh = cell_meshes.mesh_of(*kind, parts=2)
    points = mesh.points + 0.02 * np.random.default_rng(4).uniform(-1.0, 1.0, mesh.points.shape)
    mesh = Mesh(points, mesh.cells)
    flux, closed = 0.0, np.zeros(mesh.dimension)
    for facet in mesh.boundary():
        nodes = facet[facet >= 0]
        shape = reference_cells.facets()[mesh.dimension, len(nodes)]
        for at, weight in zip(*shape.rule, strict=True):
            place = shape.values(at[None])[0] @ points[nodes]
            legs = shape.slopes(at[None])[0].T @ points[nodes]
            normal = np.cross(*legs) if len(legs) == 2 else np.array([legs[0, 1], -legs[0, 0]])
            closed += weight / shape.parts * normal
            flux += weight / shape.parts * place @ normal
    assert np.abs(closed).max() < 1e-14
    assert flux / mesh.dimension == pytest.approx(mesh.volumes().sum(), rel=1e-12)
    assert mesh.volumes().min() > 0.0


@kinds
def test_masses_are_positive_and_those_of_the_cells(kind: tuple[int, int]) -> None:
    """A cube of constant density: its mass, its centre, and for 8- and 4-node cubes equal shares."""
    mesh = cell_meshes.mesh_of(*kind, parts=2)
    masses = mesh.lumped_masses(3.0)
    assert masses.min() > 0.0
    assert masses.sum() == pytest.approx(3.0, rel=1e-13)
    np.testing.assert_allclose(masses @ mesh.points, np.full(mesh.dimension, 1.5), rtol=1e-12)
    shaken = cell_meshes.shaken(mesh, 0.05)
    assert shaken.lumped_masses(3.0).min() > 0.0
    assert shaken.lumped_masses(3.0).sum() == pytest.approx(3.0, rel=1e-12)


def test_masses_of_a_quadratic_triangle_by_hand() -> None:
    """int N^2 is A/30 at corners and 8 A/45 at middles: shares 3/57 and 16/57."""
    points = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]], float)
    masses = Mesh(points, np.arange(6, dtype=np.int32)[None]).lumped_masses(2.0)
    np.testing.assert_allclose(masses, np.repeat([3 / 57, 16 / 57], 3), rtol=1e-13)
