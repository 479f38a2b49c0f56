"""Normal modes of meshes with held nodes, against matrices assembled here and diagonalised by LAPACK.

Reference at rest: K = sum of V B^T D B with Hooke's law in Voigt's notation, M = shares of the cells' masses
(Hughes 2000, The Finite Element Method, chapters 2 and 7). Reference under load: differences of forces from
P = mu (F - F^-T) + lambda ln J F^-T, written out with NumPy.
"""

from math import factorial

import numpy as np
import pytest
from scipy.linalg import eigh

from minusgrad import Fields, Hold, Motion, Potential, bind
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.stability.lowest_eigenpairs import DENSE
from minusgrad.steppers.stability.normal_modes import NormalModes, normal_modes
from minusgrad_elastic import generators
from minusgrad_elastic.hyperelastic import neo_hookean
from minusgrad_elastic.mesh import Mesh

YOUNG, POISSON, DENSITY = 1.7e6, 0.3, 900.0
MU, LAMBDA = YOUNG / 2.6, YOUNG * 0.3 / (1.3 * 0.4)
MOTION = (Motion("x", "v", "m"),)


def shaken(mesh: Mesh) -> Mesh:
    """The mesh with its nodes moved by a tenth of a cell, so that no two cells are alike."""
    size = np.ptp(mesh.points, axis=0).min() * len(mesh.points) ** (-1.0 / mesh.dimension)
    shift = np.random.default_rng(4).uniform(-0.1, 0.1, mesh.points.shape)
    return Mesh(mesh.points + size * shift, mesh.cells, mesh.bodies)


def system(mesh: Mesh, x: np.ndarray | None = None, precision: str = "f64") -> Potential:
    places = mesh.points if x is None else x
    lumped = mesh.lumped_masses(DENSITY)
    of = Fields({"x": places, "v": np.zeros_like(places), "m": lumped}, precision=precision)
    data = {"gradients": mesh.gradients(), "volume": mesh.volumes()}
    given = {"youngs_modulus": YOUNG, "poissons_ratio": POISSON}
    return Potential(of, [bind(neo_hookean, of, tuples=mesh.cells, data=data, parameters=given)])


def found(potential: Potential, count: int, holds: tuple[Hold, ...]) -> NormalModes:
    return normal_modes(potential, MOTION, Holds(potential.fields, holds, MOTION), count=count)


def legs(mesh: Mesh) -> np.ndarray:
    corners = mesh.points[mesh.cells]
    return corners[:, 1:] - corners[:, :1]


def hooke(mesh: Mesh) -> np.ndarray:
    """K (n d, n d) at rest."""
    n, d = mesh.points.shape
    pairs = [(a, a) for a in range(d)] + [(a, b) for a in range(d) for b in range(a + 1, d)]
    elastic = np.diag([2.0 * MU] * d + [MU] * (len(pairs) - d))
    elastic[:d, :d] += LAMBDA
    whole = np.zeros((n * d, n * d))
    for cell, leg in zip(mesh.cells, legs(mesh), strict=True):
        of_nodes = np.linalg.solve(leg, np.hstack([-np.ones((d, 1)), np.eye(d)])).T
        strain = np.zeros((len(pairs), d + 1, d))
        for row, (a, b) in enumerate(pairs):
            strain[row, :, a] += of_nodes[:, b]
            if a != b:
                strain[row, :, b] += of_nodes[:, a]
        strain = strain.reshape(len(pairs), -1)
        rows = (cell[:, None] * d + np.arange(d)).ravel()
        volume = abs(np.linalg.det(leg)) / factorial(d)
        whole[np.ix_(rows, rows)] += volume * strain.T @ elastic @ strain
    return whole


def masses(mesh: Mesh) -> np.ndarray:
    d = mesh.dimension
    shares = np.abs(np.linalg.det(legs(mesh))) / factorial(d + 1) * DENSITY
    lumped = np.zeros(len(mesh.points))
    np.add.at(lumped, mesh.cells, shares[:, None])
    return np.repeat(lumped, d)


def forces(mesh: Mesh, x: np.ndarray) -> np.ndarray:
    """dU/dx (n, d) of the neo-Hookean body."""
    leg, corners = legs(mesh), x[mesh.cells]
    inverse = np.linalg.inv(leg).transpose(0, 2, 1)
    gradient = np.einsum("eaj,eak->ejk", corners[:, 1:] - corners[:, :1], inverse)
    back = np.linalg.inv(gradient).transpose(0, 2, 1)
    logarithm = np.log(np.linalg.det(gradient))[:, None, None]
    stress = MU * (gradient - back) + LAMBDA * logarithm * back
    pull = (
        np.einsum("ejk,eak->eaj", stress, inverse)
        * (np.abs(np.linalg.det(leg)) / factorial(mesh.dimension))[:, None, None]
    )
    whole = np.zeros_like(x)
    np.add.at(whole, mesh.cells, np.concatenate([-pull.sum(axis=1, keepdims=True), pull], axis=1))
    return whole


BLOCKS = {
    "plane": shaken(generators.rectangle((0.3, 0.1), (7, 4))),
    "space": shaken(generators.box((0.3, 0.1, 0.2), (4, 2, 3))),
}


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("held", ["clamped", "on rollers", "free"])
@pytest.mark.parametrize("where", BLOCKS)
def test_a_body_at_rest(where: str, held: str, precision: str) -> None:
    mesh = BLOCKS[where]
    d, left = mesh.dimension, mesh.bodies["left"]
    axes = {"clamped": tuple(range(d)), "on rollers": (0,), "free": ()}[held]
    holds = (Hold("left", "x", left, axes=axes),) if axes else ()
    free = np.delete(np.arange(mesh.points.size), [i * d + a for i in left for a in axes])
    stiffness, mass = hooke(mesh)[np.ix_(free, free)], masses(mesh)[free]
    expected, vectors = eigh(stiffness, np.diag(mass))
    modes = found(system(mesh, precision=precision), 12, holds)
    loose = {"clamped": 0, "on rollers": {2: 1, 3: 3}[d], "free": {2: 3, 3: 6}[d]}[held]
    assert modes.total == len(free)
    rounding = 2e-12 if precision == "f64" else 1e-5
    assert modes.eigenvalues == pytest.approx(expected[:12], rel=10 * rounding, abs=rounding * expected[-1])
    if precision == "f64":
        assert modes.zero.sum() == loose
        u = modes.shapes["x"].reshape(12, -1)
        assert (np.delete(u, free, axis=1) == 0.0).all()
        along = u[loose:, free] @ (mass[:, None] * vectors[:, loose:12])
        assert np.abs(along) == pytest.approx(np.eye(12 - loose), abs=1e-7)


@pytest.mark.parametrize("where", BLOCKS)
def test_a_body_under_load(where: str) -> None:
    """Stretched by a third and sheared: the tangent there, by differences of order 4 of forces on paper."""
    mesh = BLOCKS[where]
    d, left = mesh.dimension, mesh.bodies["left"]
    x = mesh.points.copy()
    x[:, 0] *= 4.0 / 3.0
    x[:, 1] += 0.2 * mesh.points[:, 0]
    step, columns = 1e-5, []
    for unit in np.eye(x.size).reshape(-1, *x.shape):
        near, far = (forces(mesh, x + k * step * unit) - forces(mesh, x - k * step * unit) for k in (1, 2))
        columns.append(((8.0 * near - far) / (12.0 * step)).ravel())
    stiffness = np.array(columns)
    free = np.delete(np.arange(x.size), [i * d + a for i in left for a in range(d)])
    expected = eigh(stiffness[np.ix_(free, free)], np.diag(masses(mesh)[free]), eigvals_only=True)
    modes = found(system(mesh, x), 8, (Hold("left", "x", left),))
    assert not modes.at_rest
    assert modes.eigenvalues == pytest.approx(expected[:8], rel=1e-7)
    assert modes.eigenvalues[0] != pytest.approx(
        found(system(mesh), 8, (Hold("left", "x", left),)).eigenvalues[0], rel=0.05
    )


def test_a_body_of_some_thousand_nodes() -> None:
    """By sparse factors: 3,300 nodes, the same as its mirror image, whose nodes have other numbers."""
    mesh = generators.rectangle((3.0, 1.0), (99, 32))
    other = Mesh(mesh.points[::-1].copy(), len(mesh.points) - 1 - mesh.cells, {})
    left = np.flatnonzero(mesh.points[:, 0] == 0.0)
    modes = found(system(mesh), 10, (Hold("left", "x", left),))
    assert modes.total == 2 * 99 * 33 > DENSE
    again = found(system(other), 10, (Hold("left", "x", len(mesh.points) - 1 - left),))
    assert again.eigenvalues == pytest.approx(modes.eigenvalues, rel=1e-8)
    u, mass = modes.shapes["x"], mesh.lumped_masses(DENSITY)
    assert np.einsum("kna,n,lna->kl", u, mass, u) == pytest.approx(np.eye(10), abs=1e-10)
    assert (modes.eigenvalues > 0.0).all()
