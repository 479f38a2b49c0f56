"""Elements with quadrature against paper: patch tests of every kind of cell, values of cells.

A patch is a square or cube whose inner nodes, also those between corners, are shaken, so that edges are
curved; an affine motion of all nodes then has no force inside, and the energy of the homogeneous
deformation.
"""

from functools import partial

import numpy as np
import pytest

from minusgrad import Fields, Potential
from minusgrad.energies.term import Term
from minusgrad.energies.term_spec import TermSpec
from minusgrad_elastic import generators
from minusgrad_elastic.cells import reference_cells
from minusgrad_elastic.hyperelastic import neo_hookean, st_venant_kirchhoff
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.solids import solid
from tests.support import cell_meshes
from tests.support.continuum import Moduli, principal
from tests.support.tiers import sampled

M = Moduli(1e6, 0.3)
CELLS = reference_cells.cells()
PATCHES = {one.name: partial(cell_meshes.mesh_of, *key) for key, one in CELLS.items()}
PATCHES |= {"mixed in the plane": cell_meshes.mixed_plane, "mixed in space": cell_meshes.mixed_space}


def body(mesh: Mesh, energy=neo_hookean, **parameters) -> tuple[Fields, Potential]:
    state = solid(mesh, 1.0)
    points, fields = state.quadratures.get("cells"), Fields(dict(state.fields))
    data = {name: state.data["cells"][name] for name in ("gradients", "volume")}
    spec = TermSpec(
        energy,
        tuples=points.nodes if points else state.tuples["cells"],
        cells=points.cell if points else None,
        data=data,
        parameters=M.given | parameters,
    )
    return fields, Potential(fields, [Term.of(spec, fields)])


@pytest.mark.parametrize("name", sampled(list(PATCHES), [n for n in PATCHES if not n.startswith("27")]))
def test_patches_of_every_kind_of_cell(name: str) -> None:
    mesh = cell_meshes.shaken(PATCHES[name](), 0.03)
    free, d = cell_meshes.inner(mesh), mesh.dimension
    assert free.sum() > 0
    assert mesh.least_jacobians().min() > 0.0
    A = np.eye(d) + 0.1 * np.random.default_rng(1).normal(size=(d, d))
    fields, potential = body(mesh)
    assert abs(potential.value()) < 1e-9, "at rest"
    fields["x"].set(mesh.points @ A.T + 1.0)
    force = potential.gradient("x")
    assert np.abs(force[free]).max() <= 1e-12 * np.abs(force).max()
    assert potential.value() == pytest.approx(principal("neo_hookean", A).energy(M), rel=1e-12)


def test_a_curved_disc_has_no_force_inside_where_it_is_stretched() -> None:
    """Triangles with nodes on the circle, under an affine motion: the area converges as h^4."""
    off = []
    for rings in (2, 4):
        mesh = generators.disc(1.0, rings, order=2)
        assert np.linalg.norm(mesh.points[mesh.bodies["rim"]], axis=1) == pytest.approx(1.0, rel=1e-14)
        off.append(np.pi - mesh.volumes().sum())
        fields, potential = body(mesh)
        fields["x"].set(mesh.points @ np.array([[1.2, 0.1], [0.0, 0.9]]))
        force, free = potential.gradient("x"), np.setdiff1d(np.arange(len(mesh.points)), mesh.bodies["rim"])
        assert np.abs(force[free]).max() <= 1e-12 * np.abs(force).max()
    assert 12.0 < off[0] / off[1] < 20.0


@pytest.mark.parametrize("name", ["10-node tetrahedra", "hexahedra", "mixed in the plane"])
def test_hessians_are_those_of_differences(name: str) -> None:
    mesh = cell_meshes.shaken(PATCHES[name](), 0.03)
    fields, potential = body(mesh)
    x = mesh.points + 0.005 * np.random.default_rng(2).normal(size=mesh.points.shape)
    w = np.random.default_rng(3).normal(size=x.shape)
    found, h = 0.0, 2e-5
    for step, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
        fields["x"].set(x + step * h * w)
        found = found + weight * potential.gradient("x") / (12.0 * h)
    fields["x"].set(x)
    product = (potential.hessian("x") @ w.ravel()).reshape(x.shape)
    np.testing.assert_allclose(product, found, rtol=0.0, atol=1e-8 * np.abs(product).max())
    np.testing.assert_allclose(potential.product({"x": w}, "x"), product, atol=1e-11 * np.abs(product).max())


def test_values_by_element_are_those_of_cells() -> None:
    """A modulus for each cell of a mixed mesh: U is the sum of its parts, dU/dE by cell is U_e / E."""
    mesh = cell_meshes.mixed_plane()
    E = np.random.default_rng(5).uniform(1.0, 2.0, mesh.count)
    A = np.array([[1.1, 0.2], [0.0, 0.95]])
    fields, potential = body(mesh, youngs_modulus=E)
    fields["x"].set(mesh.points @ A.T)
    one = principal("neo_hookean", A).energy(Moduli(1.0, 0.3))
    assert potential.value() == pytest.approx(one * (E * mesh.volumes()).sum(), rel=1e-12)
    found = potential.gradient("neo_hookean.youngs_modulus")
    np.testing.assert_allclose(found, one * mesh.volumes(), rtol=1e-12)
    assert potential.parameter("neo_hookean.youngs_modulus").shape == (mesh.count,)


@pytest.mark.parametrize(
    "nodes", [(4, 10, 8), pytest.param((4, 10, 5, 6, 8, 20, 27), marks=pytest.mark.long)]
)
def test_small_strains_of_curved_cells_are_those_of_linear_ones(nodes: tuple[int, ...]) -> None:
    """All solids in one: the energy of a shear does not depend on the cells."""
    A = np.eye(3) + np.array([[0.0, 0.3, 0.0], [0.0, 0.0, 0.1], [0.0, 0.0, 0.0]])
    energies = []
    for k in nodes:
        mesh = cell_meshes.shaken(cell_meshes.mesh_of(3, k), 0.03)
        fields, potential = body(mesh, st_venant_kirchhoff)
        fields["x"].set(mesh.points @ A.T)
        energies.append(potential.value())
    np.testing.assert_allclose(energies, principal("st_venant_kirchhoff", A).energy(M), rtol=1e-12)
