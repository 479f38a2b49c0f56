"""Accuracy of elements: measured orders, a beam by Timoshenko's theory, locking and F-bar."""

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.energies.roles import Datum
from minusgrad.energies.written.mean_dilatation import with_mean_dilatation
from minusgrad_elastic import generators
from minusgrad_elastic.hyperelastic import neo_hookean
from minusgrad_elastic.materials.linear import linear
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.published.linear_statics import LinearBody
from minusgrad_elastic.published.solids import deflection_over_timoshenko
from minusgrad_elastic.solids import solid
from tests.support import cell_meshes
from tests.support.laws import fitted_order
from tests.support.tiers import sampled

E, NU = 2.5, 0.3


# Orders


def warped(mesh: Mesh) -> Mesh:
    """The mesh in the unit square, with a smooth map of it onto itself, which bends the edges inside."""
    bump = np.prod(np.sin(np.pi * mesh.points), axis=1, keepdims=True)
    return Mesh(mesh.points + 0.06 * bump * np.array([1.0, -0.7]), mesh.cells)


def exact(X: np.ndarray) -> np.ndarray:
    x, y = np.pi * X.T
    return np.stack([np.sin(x) * np.sin(y), np.sin(2.0 * x) * np.sin(y)], axis=1)


def body_force(X: np.ndarray) -> np.ndarray:
    """f = -mu lap u - (lambda + mu) grad div u, worked out by hand."""
    mu, lam = E / (2.0 * (1.0 + NU)), E * NU / ((1.0 + NU) * (1.0 - 2.0 * NU))
    (x, y), p = np.pi * X.T, np.pi**2
    laplacian = -p * np.stack([2.0 * np.sin(x) * np.sin(y), 5.0 * np.sin(2.0 * x) * np.sin(y)], axis=1)
    first = -np.sin(x) * np.sin(y) + 2.0 * np.cos(2.0 * x) * np.cos(y)
    second = np.cos(x) * np.cos(y) - np.sin(2.0 * x) * np.sin(y)
    return -mu * laplacian - (lam + mu) * p * np.stack([first, second], axis=1)


def at_fine_points(mesh: Mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shape functions (q, k), places (E, q, d) and volumes (E, q) at the points of a finer rule."""
    (kind,) = mesh.kinds
    places, weights = kind.fine
    shapes, corners = kind.values(places), mesh.points[mesh.cells]
    slopes = np.einsum("qkj,eki->eqij", kind.slopes(places), corners)
    return shapes, np.einsum("qk,eki->eqi", shapes, corners), np.linalg.det(slopes) * weights / kind.parts


def distance(d_nodes: int, n: int) -> float:
    """The L2 distance of the displacement from the exact one, on n x n parts."""
    mesh = warped(cell_meshes.mesh_of(2, d_nodes, n))
    shapes, places, volumes = at_fine_points(mesh)
    forces = body_force(places.reshape(-1, 2)).reshape(places.shape)
    load = np.zeros(mesh.points.shape)
    np.add.at(load, mesh.cells, np.einsum("eq,qk,eqi->eki", volumes, shapes, forces))
    held = np.repeat(~cell_meshes.inner(mesh)[:, None], 2, axis=1)
    u = LinearBody(mesh, linear, {"youngs_modulus": E, "poissons_ratio": NU}).displaced(held, load)
    off = np.einsum("qk,eki->eqi", shapes, u[mesh.cells]) - exact(places.reshape(-1, 2)).reshape(places.shape)
    return float(np.sqrt((volumes * (off**2).sum(axis=2)).sum()))


ORDERS = [pytest.param(*row) for row in ((3, 2), (4, 2), (6, 3), (8, 3), (9, 3))]


@pytest.mark.parametrize(("nodes", "order"), sampled(ORDERS, [ORDERS[1], ORDERS[2]]))
def test_a_manufactured_solution_is_met_at_the_order_of_the_cells(nodes: int, order: int) -> None:
    parts = (8, 16, 32)
    slope = fitted_order([distance(nodes, n) for n in parts], parts)
    assert slope == pytest.approx(order, abs=0.12)


# A beam


def tip(cell: str, order: int, parts: tuple[int, int, int], nu: float, energy: LocalEnergy) -> float:
    """The deflection of a cantilever's end under a small shear traction, over Timoshenko's."""
    mesh = generators.beam(10.0, 1.0, 1.0, parts, cell, order)
    body = LinearBody(mesh, energy, {"youngs_modulus": 1e6, "poissons_ratio": nu})
    assert body.facet_load("right", np.array([0.0, 0.0, 1.0])).sum() == pytest.approx(1.0, rel=1e-12)
    assert 3 * (len(mesh.points) - len(mesh.bodies["left"])) == 3000
    return deflection_over_timoshenko(body, 1e6, nu)


def test_quadratic_tetrahedra_bend_as_timoshenkos_beam() -> None:
    """0.99986 with 3,000 unknowns; linear ones reach 0.824."""
    assert tip("tetrahedra", 2, (20, 2, 2), 0.0, neo_hookean) == pytest.approx(1.0, abs=1e-3)
    assert tip("tetrahedra", 1, (40, 4, 4), 0.0, neo_hookean) == pytest.approx(0.824, abs=2e-3)


@pytest.mark.long
def test_fbar_hexahedra_do_not_lock() -> None:
    """Nearly incompressible, nu = 0.499: 0.966 with 3,000 unknowns."""
    assert tip("hexahedra", 1, (40, 4, 4), 0.499, with_mean_dilatation(neo_hookean)) == pytest.approx(
        1.0, abs=0.04
    )


@pytest.mark.long
def test_hexahedra_and_tetrahedra_without_fbar_lock() -> None:
    """Hexahedra alone reach 0.587 and tetrahedra 0.053; at nu = 0 F-bar costs nothing."""
    fbar = with_mean_dilatation(neo_hookean)
    assert tip("hexahedra", 1, (40, 4, 4), 0.0, fbar) == pytest.approx(0.990, abs=2e-3)
    assert tip("hexahedra", 1, (40, 4, 4), 0.499, neo_hookean) == pytest.approx(0.587, abs=2e-3)
    assert tip("tetrahedra", 1, (40, 4, 4), 0.499, neo_hookean) == pytest.approx(0.053, abs=2e-3)


CELLS = [pytest.param(*row) for row in ((2, 4), (2, 8), (3, 8))]


@pytest.mark.parametrize(("d", "nodes"), sampled(CELLS, CELLS[:1]))
def test_fbar_passes_the_patch_test_and_has_no_energy_for_rotations(d: int, nodes: int) -> None:
    """Of a homogeneous deformation J_0 = J, so that energy and forces are those without it."""
    mesh = cell_meshes.shaken(cell_meshes.mesh_of(d, nodes, 3), 0.03)
    state, free = solid(mesh, 1.0), cell_meshes.inner(mesh)
    A = np.eye(d) + 0.1 * np.random.default_rng(1).normal(size=(d, d))
    energies = {}
    for name, energy in (("plain", neo_hookean), ("fbar", with_mean_dilatation(neo_hookean))):
        fields = Fields(dict(state.fields))
        data = {argument: state.data["cells"][argument] for argument in energy.of_role(Datum)}
        moduli = {"youngs_modulus": E, "poissons_ratio": NU}
        rows = state.quadratures["cells"].nodes
        potential = Potential(fields, [bind(energy, fields, tuples=rows, data=data, parameters=moduli)])
        fields["x"].set(mesh.points @ A.T)
        force = potential.gradient("x")
        assert np.abs(force[free]).max() <= 1e-12 * np.abs(force).max()
        energies[name] = potential.value()
        turned = np.linalg.svd(A)[0] @ np.linalg.svd(A)[2]
        fields["x"].set(mesh.points @ turned.T)
        assert abs(potential.value()) < 1e-12
    assert energies["fbar"] == pytest.approx(energies["plain"], rel=1e-12)
