"""Pressure on deformed facets: volumes, forces on areas, Lame's cylinder, symmetry of the Hessian."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

from minusgrad import Body, Fields, Hold, Potential, bind
from minusgrad_elastic import generators, loads
from minusgrad_elastic.materials.linear import linear
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.solids import solid
from tests.support.continuum import Shaken, outward

CELLS = {
    "triangles": lambda: Shaken(2).mesh,
    "tetrahedra": lambda: Shaken(3).mesh,
    "quadrilaterals": lambda: generators.rectangle((1.0, 0.8), (3, 2), cell="quadrilaterals"),
    "hexahedra": lambda: generators.box((1.0, 0.8, 0.6), (2, 2, 1), cell="hexahedra"),
    "hexahedra of order 2": lambda: generators.box((1.0, 0.8, 0.6), (2, 1, 1), cell="hexahedra", order=2),
}
P = 3.0


def pressed(
    mesh: Mesh, thickness: float = 1.0, body: Body | None = None, holds: Sequence[Hold] = ()
) -> Potential:
    """Pressure on the boundary of a mesh, or on a part of it."""
    state = solid(mesh, 1.0, thickness)
    fields = Fields(state.fields, units=state.units)
    points = state.quadratures.get("boundary")
    rows = points.nodes if points else state.tuples["boundary"]
    data = {k: v for k, v in state.data["boundary"].items() if k in loads.pressure.roles}
    term = bind(
        loads.pressure,
        fields,
        tuples=rows,
        data=data,
        parameters={"pressure": P},
        bodies=[body] if body else [],
        holds=holds,
    )
    return Potential(fields, [term])


def deformed(x: np.ndarray) -> np.ndarray:
    """A map that bends: no facet stays flat."""
    bent = x + 0.1 * np.sin(2.0 * x[:, ::-1] + 0.3)
    return bent + 0.05 * x * np.roll(x, 1, axis=1)


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("place", [0.0, 7.0])
def test_the_energy_of_a_closed_surface_is_pressure_times_the_volume_inside(cells: str, place: float) -> None:
    """The volume is that of all cells, by det F at points; wherever the body is."""
    mesh = CELLS[cells]()
    potential = pressed(mesh, thickness=0.2)
    x = deformed(mesh.points) + place
    potential.fields["x"].set(x)
    state = solid(mesh, 1.0, 0.2)
    points = state.quadratures.get("cells")
    rows = points.nodes if points else state.tuples["cells"]
    F = np.einsum("pai,paj->pij", x[rows], state.data["cells"]["gradients"])
    volume = (np.linalg.det(F) * state.data["cells"]["volume"]).sum()
    assert abs(volume / state.data["cells"]["volume"].sum() - 1.0) > 0.02
    exact = 1e-12 if "order" not in cells else 1e-6
    assert potential.value() == pytest.approx(P * volume, rel=exact)
    force = potential.gradient("x")
    assert np.abs(force.sum(axis=0)).max() < 1e-12 * (1.0 + place)


@pytest.mark.parametrize("cells", ["triangles", "tetrahedra"])
def test_the_force_is_pressure_times_the_deformed_area(cells: str) -> None:
    """Each facet gives its nodes equal parts of p times its area vector as it is (by cross products)."""
    mesh = CELLS[cells]()
    potential, x, thickness = pressed(mesh, thickness=0.5), deformed(mesh.points), 0.5
    potential.fields["x"].set(x)
    d, facets = mesh.dimension, mesh.boundary()
    expected, there = np.zeros_like(x), replace(mesh, points=x)
    areas = outward(there, facets) * (thickness if d == 2 else 1.0)
    np.add.at(expected, facets, (P * areas / d)[:, None, :])
    assert (
        np.abs(areas - outward(mesh, facets) * (thickness if d == 2 else 1.0)).max()
        > 0.01 * np.abs(areas).max()
    )
    assert np.abs(potential.gradient("x") - expected).max() < 1e-13 * np.abs(expected).max()


def test_a_surface_with_a_held_rim_has_the_same_forces_inside_and_others_at_the_rim() -> None:
    """Of the upper face of a box: nodes within it see p times their areas, those at its rim do not."""
    mesh = generators.box((1.0, 1.0, 0.5), (3, 3, 1))
    upper = np.flatnonzero(mesh.points[:, 2] > 0.49)
    rim = np.isin(mesh.points[:, :2], [0.0, 1.0]).any(axis=1)
    held = Hold("rim", "x", np.intersect1d(upper, np.flatnonzero(rim)))
    potential = pressed(mesh, body=Body("upper", upper), holds=[held])
    x = deformed(mesh.points) + 2.0
    potential.fields["x"].set(x)
    facets = mesh.boundary()
    facets = facets[np.isin(facets, upper).all(axis=1)]
    expected = np.zeros_like(x)
    np.add.at(expected, facets, (P * outward(replace(mesh, points=x), facets) / 3.0)[:, None, :])
    inside = np.setdiff1d(upper, np.flatnonzero(rim))
    off = np.abs(potential.gradient("x") - expected)
    assert len(inside) == 4
    assert off[inside].max() < 1e-12
    assert off[np.intersect1d(upper, np.flatnonzero(rim))].max() > 0.1


@pytest.mark.parametrize("cells", ["triangles", "tetrahedra", "hexahedra of order 2"])
def test_the_hessian_of_a_closed_surface_is_symmetric_and_that_of_the_forces(cells: str) -> None:
    """Against differences of the forces; it is symmetric, and blind to translations."""
    mesh = CELLS[cells]()
    potential, x = pressed(mesh), deformed(mesh.points)
    potential.fields["x"].set(x)
    rng = np.random.default_rng(2)
    v, w = rng.normal(size=(2, *x.shape))
    Hv, Hw = potential.product({"x": v}, "x"), potential.product({"x": w}, "x")
    assert (v * Hw).sum() == pytest.approx((w * Hv).sum(), rel=1e-12)
    h, forces = 1e-4, []
    for step in (h, -h):
        potential.fields["x"].set(x + step * v)
        forces.append(potential.gradient("x"))
    assert np.abs((forces[0] - forces[1]) / (2.0 * h) - Hv).max() < 1e-8 * np.abs(Hv).max()
    moved = potential.product({"x": np.tile(rng.normal(size=mesh.dimension), (len(x), 1))}, "x")
    assert np.abs(moved).max() < 1e-12


# Lame's thick cylinder ------------------------------------------------------------------------------------


def ring(n: int, inner: float = 1.0, outer: float = 2.0) -> Mesh:
    """A quarter of a ring of n by 2 n by 2 triangles, and a bow between its radii."""
    r, angle = np.meshgrid(
        np.linspace(inner, outer, n + 1), np.linspace(0.0, np.pi / 2, 2 * n + 1), indexing="ij"
    )
    points = np.stack([r.ravel() * np.cos(angle.ravel()), r.ravel() * np.sin(angle.ravel())], axis=1)
    return Mesh(points, np.array(list(_triangles(n, 2 * n + 1)), np.int32))


def _triangles(n: int, row: int) -> Iterator[tuple[int, int, int]]:
    for i in range(n):
        for j in range(row - 1):
            a, b, c, d = i * row + j, (i + 1) * row + j, (i + 1) * row + j + 1, i * row + j + 1
            yield a, b, c
            yield a, c, d


def test_a_thick_cylinder_widens_by_lames_solution() -> None:
    """u(r) = p a^2 / (b^2 - a^2) (1 + nu) / E ((1 - 2 nu) r + b^2 / r) in plane strain; order 2 in the mesh.

    A quarter with sliding edges; its inner bow is under pressure (Timoshenko & Goodier 1951, section 26). The
    bow's ends slide along radii, so the cone of each facet has the rim's force along the held axis alone.
    """
    E, nu, p, errors = 1.0, 0.3, 1e-6, []
    for n in (8, 16):
        mesh = ring(n)
        radius = np.linalg.norm(mesh.points, axis=1)
        state = solid(mesh, 1.0)
        fields = Fields(state.fields, units=state.units)
        bow = Body("bow", np.flatnonzero(radius < 1.0 + 1e-9))
        facets = {k: v for k, v in state.data["boundary"].items() if k in loads.pressure.roles}
        terms = [
            bind(
                linear,
                fields,
                tuples=mesh.cells,
                data=state.data["cells"],
                parameters={"youngs_modulus": E, "poissons_ratio": nu},
            ),
            bind(
                loads.pressure,
                fields,
                tuples=state.tuples["boundary"],
                data=facets,
                parameters={"pressure": p},
                bodies=[bow],
                holds=[
                    Hold(f"plane {a}", "x", np.flatnonzero(np.abs(mesh.points[:, a]) < 1e-9), (a,))
                    for a in (0, 1)
                ],
            ),
        ]
        potential = Potential(fields, terms)
        free = (np.abs(mesh.points) > 1e-9).ravel()
        hessian = potential.hessian("x").tocsr()[free][:, free]
        moved = np.zeros(mesh.points.size)
        moved[free] = spsolve(hessian.tocsc(), -potential.gradient("x").ravel()[free])
        u = (moved.reshape(-1, 2) * mesh.points).sum(axis=1) / radius
        exact = p / 3.0 * (1.0 + nu) / E * ((1.0 - 2.0 * nu) * radius + 4.0 / radius)
        errors.append(np.abs(u / exact - 1.0).max())
    assert errors[1] < 0.01
    assert 1.7 < np.log2(errors[0] / errors[1]) < 2.3
