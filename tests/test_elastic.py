"""Solids, springs, loads, obstacles and damping against paper (`continuum`), and what no motion may change."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from continuum import (
    MODES,
    Manufactured,
    Moduli,
    Pulled,
    Shaken,
    distance,
    leapfrogged,
    mode,
    nodal_loads,
    outward,
    principal,
    strain,
    surface_forces,
)
from laws import assert_momentum, assert_order, energy_error, fitted_order
from minusgrad import Body, Fields, Motion, Potential, bind
from minusgrad.energy import LocalEnergy
from minusgrad.integrators import Integrator
from minusgrad.lbfgs import LBFGS
from minusgrad.outcomes import Enough
from minusgrad.reports import angular_momentum
from minusgrad.schemes import SCHEMES
from minusgrad.terms import Term
from minusgrad.unknowns import Unknown
from minusgrad_elastic import contacts, damping, generators, hyperelastic, loads, springs
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.states import solid

SOLIDS = {e.name: e for e in (hyperelastic.st_venant_kirchhoff, hyperelastic.neo_hookean)}
MATERIALS = pytest.mark.parametrize("material", SOLIDS)
SPACES = pytest.mark.parametrize("d", [2, 3])
MODULI = [Moduli(), Moduli(E=40.0, nu=0.49), Moduli(E=0.3, nu=0.0), Moduli(E=2.0, nu=-0.6)]
EACH = pytest.mark.parametrize("m", MODULI, ids=lambda m: f"nu={m.nu}")
"""Stiff, soft, nearly incompressible, without lateral contraction, and auxetic."""

M = Moduli()


@dataclass
class Sample:
    """A solid over a mesh, deformed to x, with whatever else acts on it."""

    mesh: Mesh
    potential: Potential

    @property
    def x(self) -> np.ndarray:
        return self.potential.fields["x"].values

    def move(self, x: np.ndarray) -> "Sample":
        self.potential.fields["x"].set(x)
        return self

    def force(self) -> np.ndarray:
        """dU/dx: what has to pull at the nodes."""
        return self.potential.gradient("x").astype(float)


def sample(
    material: str,
    mesh: Mesh,
    x: np.ndarray | None = None,
    m: Moduli = M,
    precision: str = "f64",
    thickness: float = 1.0,
) -> Sample:
    state = solid(mesh, 1.0, thickness)
    fields = Fields(
        state.fields | ({} if x is None else {"x": x}), precision=precision, units=state.units
    )
    return Sample(mesh, Potential(fields, [over_cells(SOLIDS[material], mesh, fields, thickness, **m.given)]))


def over_cells(
    energy: LocalEnergy, mesh: Mesh, fields: Fields, thickness: float = 1.0, **parameters: float
) -> Term:
    data = solid(mesh, 1.0, thickness).data["cells"]
    return bind(energy, fields, tuples=mesh.cells, data=data, parameters=parameters)


def rotation(d: int, seed: int = 0) -> np.ndarray:
    """A large one: turns by 1 to 5 radians, in the xy plane and, in space, in the yz plane."""
    turned = np.eye(d)
    for axis, angle in enumerate(np.random.default_rng(seed).uniform(1.0, 5.0, d - 1)):
        turn = np.eye(d)
        turn[axis : axis + 2, axis : axis + 2] = [
            [np.cos(angle), -np.sin(angle)],
            [np.sin(angle), np.cos(angle)],
        ]
        turned = turned @ turn
    return turned


def some_F(d: int, seed: int, spread: float = 0.35) -> np.ndarray:
    """Turned, stretched by 1 - spread to 1 + spread, and turned again."""
    stretch = 1.0 + spread * np.random.default_rng(seed).uniform(-1.0, 1.0, d)
    return rotation(d, seed) @ np.diag(stretch) @ rotation(d, seed + 100)


def off(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference of two rows of vectors, in norm."""
    return float(np.linalg.norm(found - expected, axis=-1).max())


def settle(potential: Potential, free: np.ndarray, gradient: float, scale: float = 0.01) -> LBFGS:
    search = LBFGS(potential, [Unknown("x", scale)], Enough(gradient=gradient * scale), free={"x": free})
    search.advance(5000)
    assert search.outcome == "converged", search.verdict
    return search


# The patch test (Irons & Razzaque 1972) ------------------------------------------------------------------


@MATERIALS
@SPACES
def test_an_affine_map_leaves_the_inner_nodes_without_force(material: str, d: int) -> None:
    body, F = Shaken(d), some_F(d, 1)
    shake = np.abs(body.mesh.points - Shaken(d, shake=0.0).mesh.points)
    assert shake[body.inner].min(axis=0).max() > 0.0
    force = sample(material, body.mesh, body.mesh.points @ F.T + 0.3).force()
    scale = M.E * body.facet
    assert np.linalg.norm(force[body.inner], axis=1).max() < 1e-12 * scale
    expected = surface_forces(body.mesh, principal(material, F).stress(M))
    assert np.linalg.norm(expected, axis=1).max() > 0.1 * scale
    assert off(force, expected) < 1e-12 * scale


@MATERIALS
@SPACES
def test_the_affine_map_is_found(material: str, d: int) -> None:
    """The boundary moved, the inner nodes in disorder: they settle where the map carries them."""
    body, F = Shaken(d), some_F(d, 2, spread=0.2)
    end = body.mesh.points @ F.T
    noise = np.random.default_rng(0).uniform(-1.0, 1.0, end.shape) * 0.12 / body.n
    patch = sample(material, body.mesh, end + body.inner[:, None] * noise)
    assert off(patch.x, end) > 0.02
    settle(patch.potential, np.repeat(body.inner[:, None], d, axis=1), 1e-13)
    assert off(patch.x, end) < 1e-10


# No motion of the whole changes anything -----------------------------------------------------------------


@pytest.mark.parametrize("deformed", [True, False])
@MATERIALS
@SPACES
def test_rigid_motion(material: str, d: int, deformed: bool) -> None:
    body = Shaken(d)
    scale, rest = M.E * body.facet, body.mesh.points
    noise = np.random.default_rng(3).normal(size=rest.shape) * 0.1 / body.n
    x = rest @ some_F(d, 3).T + noise if deformed else rest
    turned = sample(material, body.mesh, x)
    energy, force = turned.potential.value(), turned.force()
    assert (energy > 0.01 * M.E * body.mesh.volumes().sum()) == deformed
    for seed in (4, 5):
        Q, c = rotation(d, seed), np.array([3.0, -2.0, 5.0])[:d]
        assert np.abs(Q - np.eye(d)).max() > 0.5
        turned.move(x @ Q.T + c)
        assert abs(turned.potential.value() - energy) < 1e-12 * M.E
        assert off(turned.force(), force @ Q.T) < 1e-12 * scale
        assert np.linalg.norm(turned.force().sum(axis=0)) < 1e-12 * scale
        torque = np.einsum("ni,nj->ij", turned.x, turned.force())
        assert np.abs(torque - torque.T).max() < 1e-12 * scale
    assert (np.linalg.norm(force, axis=1).max() > 0.1 * scale) == deformed


@MATERIALS
@SPACES
def test_single_precision_far_from_the_origin(material: str, d: int) -> None:
    """A thousand sizes away: of the same rounded places, forces to f32's digits, and not a thousandth of them."""
    body = Shaken(d)
    x = (body.mesh.points @ some_F(d, 6).T + 1000.0).astype(np.float32)
    single = sample(material, body.mesh, x, precision="f32")
    double = sample(material, body.mesh, x.astype(float))
    assert single.potential.gradient("x").dtype == np.float32
    scale = np.linalg.norm(double.force(), axis=1).max()
    assert off(single.force(), double.force()) < 1e-5 * scale
    assert single.potential.value() == pytest.approx(double.potential.value(), rel=1e-5)


# Homogeneous deformations --------------------------------------------------------------------------------


def assert_homogeneous(
    material: str, mesh: Mesh, F: np.ndarray, m: Moduli, energy: float, stress: np.ndarray, by_nu: float
) -> None:
    """Energy, stress, nodal forces and derivatives by the moduli of a body that F deforms, to 1e-12."""
    body, volume = sample(material, mesh, mesh.points @ F.T, m), mesh.volumes()
    size = m.E * max(1.0, 1.0 / (1.0 - 2.0 * m.nu))
    np.testing.assert_allclose(
        body.potential.by_element(material) / volume, energy, rtol=0.0, atol=1e-12 * size
    )
    found = body.potential.gradient(f"{material}.F") / volume[:, None, None]
    np.testing.assert_allclose(
        found, np.broadcast_to(stress, found.shape), rtol=0.0, atol=1e-12 * size
    )
    assert off(body.force(), surface_forces(mesh, stress)) < 1e-12 * size
    by_modulus = body.potential.gradient(f"{material}.youngs_modulus")
    assert by_modulus == pytest.approx(energy * volume.sum() / m.E, rel=1e-11, abs=1e-12)
    by_ratio = body.potential.gradient(f"{material}.poissons_ratio")
    assert by_ratio == pytest.approx(by_nu * volume.sum(), rel=1e-11, abs=1e-12)


@EACH
@pytest.mark.parametrize("kind", MODES)
@MATERIALS
@SPACES
def test_modes_by_hand(material: str, d: int, kind: str, m: Moduli) -> None:
    """Also turned in space, F -> Q F and P -> Q P, and of turned material, F -> F Q and P -> P Q."""
    made, mesh = MODES[kind](d, m), Shaken(d, 2).mesh
    parts = principal(material, made.F)
    assert parts.energy(m) == pytest.approx(made.energy[material], rel=1e-12)
    P, one = made.stress[material], np.eye(d)
    for Q, R in ((one, one), (rotation(d, 1), one), (one, rotation(d, 2)), (rotation(d, 3), rotation(d, 4))):
        stretched = Q @ made.F @ R
        assert_homogeneous(
            material, mesh, stretched, m, made.energy[material], Q @ P @ R, parts.energy_by_nu(m)
        )


@EACH
@MATERIALS
@SPACES
def test_any_deformation_by_its_principal_stretches(material: str, d: int, m: Moduli) -> None:
    for seed in range(10, 16):
        F = some_F(d, seed, spread=0.6)
        parts = principal(material, F)
        assert_homogeneous(
            material, Shaken(d, 2).mesh, F, m, parts.energy(m), parts.stress(m), parts.energy_by_nu(m)
        )


@pytest.mark.parametrize("nu", [-0.6, 0.2, 0.45])
def test_the_moduli_on_paper(nu: float) -> None:
    """The references themselves: lambda two ways, and its slope by differences."""
    m, h = Moduli(nu=nu), 1e-6
    assert m.lam == pytest.approx(m.E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), rel=1e-13)
    for k, name in enumerate(("mu", "lam")):
        slope = (getattr(Moduli(nu=nu + h), name) - getattr(Moduli(nu=nu - h), name)) / (2.0 * h)
        assert m.by_nu[k] == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize("stretch", [0.8, 1.3])
@MATERIALS
@SPACES
def test_uniaxial_stress(material: str, d: int, stretch: float) -> None:
    """A bar between plates, free to slide on them: its sides come in, and the plates feel E or E / (1 - nu^2)."""
    pulled, thick = Pulled(stretch, M, d), 0.25 if d == 2 else 1.0
    mesh = Shaken(d, 2).mesh
    x = mesh.points * np.append(stretch, np.ones(d - 1))
    free = np.ones(x.shape, bool)
    free[mesh.bodies["left"], 0] = free[mesh.bodies["right"], 0] = False
    free[0] = False
    free[mesh.bodies["bottom"], d - 1] = False
    if d == 3:
        free[mesh.bodies["front"], 1] = False
    bar = sample(material, mesh, x, thickness=thick)
    settle(bar.potential, free, 1e-13)
    assert off(bar.x, mesh.points @ pulled.F(material).T) < 1e-10
    area = 0.8 * thick if d == 2 else 0.48
    for end, sign in (("right", 1.0), ("left", -1.0)):
        reaction = bar.force()[mesh.bodies[end]].sum(axis=0)
        assert reaction[0] == pytest.approx(sign * area * pulled.force[material], rel=1e-10)
        assert np.abs(reaction[1:]).max() < 1e-11


@EACH
@MATERIALS
@SPACES
def test_small_strains_obey_hookes_law(material: str, d: int, m: Moduli) -> None:
    """The strain that Hooke's law finds in the stress is the strain put in, up to one of second order."""
    rng = np.random.default_rng(d)
    pattern, mesh = rng.uniform(-1.0, 1.0, (d, d)), Shaken(d, 2).mesh
    body, sizes, errors = sample(material, mesh, m=m), 10.0 ** -np.arange(2.0, 5.5, 0.5), []
    for size in sizes:
        body.move(mesh.points @ (np.eye(d) + size * pattern).T)
        stress = body.potential.gradient(f"{material}.F")[0] / mesh.volumes()[0]
        small = 0.5 * size * (pattern + pattern.T)
        assert np.abs(small).max() > 0.1 * size
        errors.append(np.linalg.norm(strain(stress, m) - small) / np.linalg.norm(small))
    assert errors[0] < 0.5
    assert fitted_order(errors, 1.0 / sizes) == pytest.approx(1.0, abs=0.05), errors


def test_st_venant_kirchhoff_gives_way_in_compression_and_neo_hookean_does_not() -> None:
    """The largest force is at the stretch 1 / sqrt(3), (lambda + 2 mu) / (3 sqrt(3)) per area; then it falls
    (Raoult 1986, Aequationes Math. 30, 228)."""
    mesh = Shaken(2).mesh
    stiffness = M.lam + 2.0 * M.mu

    def pressure(material: str, stretch: float) -> float:
        body = pressed[material].move(mesh.points * [stretch, 1.0])
        return -body.force()[mesh.bodies["right"], 0].sum() / 0.8

    pressed = {material: sample(material, mesh) for material in SOLIDS}
    worst = minimize_scalar(
        lambda s: -pressure("st_venant_kirchhoff", s), bounds=(0.2, 0.9), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    assert worst.x == pytest.approx(1.0 / np.sqrt(3.0), abs=1e-7)
    assert -worst.fun == pytest.approx(stiffness / (3.0 * np.sqrt(3.0)), rel=1e-13)
    ways = {material: [pressure(material, s) for s in (0.9, 0.7, 0.5, 0.3, 0.1)] for material in SOLIDS}
    assert np.diff(ways["st_venant_kirchhoff"]).tolist()[-1] < 0.0 < min(np.diff(ways["neo_hookean"]))
    assert pressure("st_venant_kirchhoff", -1.0) == pytest.approx(0.0, abs=1e-12), "turned inside out, at rest"


def test_neo_hookean_refuses_to_be_turned_inside_out() -> None:
    body = sample("neo_hookean", Shaken(2).mesh)
    body.move(body.mesh.points * [-1.0, 1.0])
    assert not np.isfinite(body.potential.value())


# A deformation that is not homogeneous -------------------------------------------------------------------


def manufactured_error(material: str, d: int, n: int) -> float:
    """The sides held where the map has them, but the right one, which its traction pulls; L2 distance."""
    body, paper = Shaken(d, n, shake=0.15), Manufactured.of(material, d, M)
    mesh = body.mesh
    assert np.linalg.det(paper.F(mesh.points)).min() > 0.5
    facets = mesh.boundary()[np.isin(mesh.boundary(), mesh.bodies["right"]).all(axis=1)]
    middle, area = mesh.points[facets].mean(axis=1), outward(mesh, facets)
    size = np.linalg.norm(area, axis=1)
    pull = np.einsum("bij,bj->bi", paper.stress(middle), area / size[:, None])
    x = paper.place(mesh.points)
    free = np.zeros(x.shape, bool)
    free[body.inner] = True
    others = np.setdiff1d(np.arange(len(x)), np.flatnonzero(body.inner))
    on_right = np.setdiff1d(
        mesh.bodies["right"], np.concatenate([b for n, b in mesh.bodies.items() if n != "right"])
    )
    free[on_right] = True
    assert len(others) > len(on_right) > 0
    noise = np.random.default_rng(n).uniform(-1.0, 1.0, x.shape) * 0.1 / n
    fields = Fields({"x": x + noise * free})
    terms = [
        over_cells(SOLIDS[material], mesh, fields, **M.given),
        bind(loads.load, fields, parameters={"force": nodal_loads(mesh, paper.body_force)}),
        bind(
            loads.traction, fields, tuples=facets, data={"area": size}, parameters={"traction": pull}
        ),
    ]
    settle(Potential(fields, terms), free, 1e-10, scale=0.1 / n)
    return distance(mesh, fields["x"].values, paper.place)


@pytest.mark.parametrize(
    ("material", "d", "parts"),
    [
        ("neo_hookean", 2, (4, 8, 16, 32)),
        ("st_venant_kirchhoff", 2, (4, 8, 16)),
        ("neo_hookean", 3, (2, 4, 8)),
    ],
)
def test_a_manufactured_solution_is_met_to_second_order(material: str, d: int, parts: Sequence[int]) -> None:
    errors = [manufactured_error(material, d, n) for n in parts]
    print(errors, fitted_order(errors, parts))
    assert fitted_order(errors, parts) == pytest.approx(2.0, abs=0.15), errors


def test_the_manufactured_body_force_balances_its_stress() -> None:
    """The reference itself: differences of P at h, and what the whole boundary pulls against the body force."""
    paper, h = Manufactured.of("neo_hookean", 2, M), 1e-4
    X = np.array([[0.3, 0.5], [0.9, 0.1]])
    steps = h * np.eye(2)
    slopes = [(8.0 * (P(1) - P(-1)) - (P(2) - P(-2))) / (12.0 * h) for j in range(2)
              for P in [lambda k, j=j: paper.stress(X + k * steps[j])[..., :, j]]]  # fmt: skip
    np.testing.assert_allclose(paper.body_force(X), -sum(slopes), rtol=1e-9)
    F = [(paper.place(X + k) - paper.place(X - k)) / (2.0 * h) for k in steps]
    np.testing.assert_allclose(paper.F(X), np.stack(F, axis=-1), atol=1e-7)
