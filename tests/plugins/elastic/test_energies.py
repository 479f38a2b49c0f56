"""Solids, springs, loads, obstacles, damping: against paper (`continuum`), and what no motion may change."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from minusgrad import Body, Fields, Motion, Potential, bind
from minusgrad.assembly.observers import angular_momentum
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.energies.roles import Datum
from minusgrad.energies.term import Term
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_elastic import contacts, damping, hyperelastic, loads, springs
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.states import solid
from tests.support.continuum import (
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
from tests.support.laws import assert_momentum, assert_order, energy_error, fitted_order
from tests.support.tiers import sampled

SOLIDS = {e.name: e for e in (hyperelastic.st_venant_kirchhoff, hyperelastic.neo_hookean)}
ALL = pytest.mark.parametrize("material", SOLIDS)
MATERIALS = pytest.mark.parametrize("material", sampled(list(SOLIDS), ["neo_hookean"]))
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
    fields = Fields(state.fields | ({} if x is None else {"x": x}), precision=precision, units=state.units)
    return Sample(mesh, Potential(fields, [over_cells(SOLIDS[material], mesh, fields, thickness, **m.given)]))


def over_cells(
    energy: LocalEnergy, mesh: Mesh, fields: Fields, thickness: float = 1.0, **parameters: float | np.ndarray
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


def some_map(d: int, seed: int, spread: float = 0.35) -> np.ndarray:
    """Turned, stretched by 1 - spread to 1 + spread, and turned again."""
    stretch = 1.0 + spread * np.random.default_rng(seed).uniform(-1.0, 1.0, d)
    return rotation(d, seed) @ np.diag(stretch) @ rotation(d, seed + 100)


def off(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference of two rows of vectors, in norm."""
    return float(np.linalg.norm(found - expected, axis=-1).max())


def settle(potential: Potential, free: np.ndarray, gradient: float, scale: float = 0.01) -> LBFGS:
    search = LBFGS(potential, [Unknown("x", scale)], Tolerances(gradient=gradient * scale), free={"x": free})
    search.advance(5000)
    assert search.outcome == "converged", search.verdict
    return search


# The patch test (Irons & Razzaque 1972) ------------------------------------------------------------------


@MATERIALS
@SPACES
def test_an_affine_map_leaves_the_inner_nodes_without_force(material: str, d: int) -> None:
    body, F = Shaken(d), some_map(d, 1)
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
    body, F = Shaken(d), some_map(d, 2, spread=0.2)
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
    noise = np.random.default_rng(3).normal(size=rest.shape) * 0.04 / body.n
    x = rest @ some_map(d, 3).T + noise if deformed else rest
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
    """A thousand sizes away: of the same rounded places, forces to f32's digits."""
    body = Shaken(d)
    x = (body.mesh.points @ some_map(d, 6).T + 1000.0).astype(np.float32)
    single = sample(material, body.mesh, x, precision="f32")
    double = sample(material, body.mesh, x.astype(float))
    assert single.potential.gradient("x").dtype == np.float32
    scale = np.linalg.norm(double.force(), axis=1).max()
    assert off(single.force(), double.force()) < 1e-5 * scale
    assert single.potential.value() == pytest.approx(double.potential.value(), rel=1e-5)


# Homogeneous deformations --------------------------------------------------------------------------------


def assert_homogeneous(
    body: Sample, F: np.ndarray, m: Moduli, energy: float, stress: np.ndarray, by_nu: float
) -> None:
    """Energy, stress, nodal forces and derivatives by the moduli of a body that F deforms, to 1e-12."""
    (name,), volume = body.potential.terms, body.mesh.volumes()
    size = m.E * max(1.0, 1.0 / (1.0 - 2.0 * m.nu))
    body.move(body.mesh.points @ F.T)
    found = body.potential.by_element(name) / volume
    assert np.abs(found - energy).max() < 1e-12 * size
    assert np.abs(body.potential.gradient(f"{name}.F") / volume[:, None, None] - stress).max() < 1e-12 * size
    assert off(body.force(), surface_forces(body.mesh, stress)) < 1e-12 * size
    for parameter, slope in (("youngs_modulus", energy / m.E), ("poissons_ratio", by_nu)):
        found = body.potential.gradient(f"{name}.{parameter}")
        assert found == pytest.approx(slope * volume.sum(), rel=1e-11, abs=1e-12)


@EACH
@pytest.mark.parametrize("kind", MODES)
@ALL
@SPACES
def test_modes_by_hand(material: str, d: int, kind: str, m: Moduli) -> None:
    """Also turned in space, F -> Q F and P -> Q P, and of turned material, F -> F R and P -> P R."""
    made, body = MODES[kind](d, m), sample(material, Shaken(d, 2).mesh, m=m)
    parts = principal(material, made.F)
    energy, P, one = made.energy[material], made.stress[material], np.eye(d)
    assert parts.energy(m) == pytest.approx(energy, rel=1e-12)
    for Q, R in ((one, one), (rotation(d, 1), one), (one, rotation(d, 2)), (rotation(d, 3), rotation(d, 4))):
        assert_homogeneous(body, Q @ made.F @ R, m, energy, Q @ P @ R, parts.energy_by_nu(m))


@EACH
@MATERIALS
@SPACES
def test_any_deformation_by_its_principal_stretches(material: str, d: int, m: Moduli) -> None:
    body = sample(material, Shaken(d, 2).mesh, m=m)
    for seed in range(10, 16):
        F = some_map(d, seed, spread=0.6)
        parts = principal(material, F)
        assert_homogeneous(body, F, m, parts.energy(m), parts.stress(m), parts.energy_by_nu(m))


@MATERIALS
def test_moduli_may_vary_from_cell_to_cell(material: str) -> None:
    mesh, F, rng = Shaken(2).mesh, some_map(2, 8), np.random.default_rng(0)
    volume, fields = mesh.volumes(), Fields({"x": mesh.points @ F.T})
    each = [Moduli(rng.uniform(1.0, 9.0), rng.uniform(0.0, 0.4)) for _ in volume]
    given = {name: np.array([m.given[name] for m in each]) for name in M.given}
    potential = Potential(fields, [over_cells(SOLIDS[material], mesh, fields, **given)])
    parts = principal(material, F)
    energy = volume * [parts.energy(m) for m in each]
    np.testing.assert_allclose(potential.by_element(material), energy, rtol=1e-12)
    by_modulus = potential.gradient(f"{material}.youngs_modulus")
    np.testing.assert_allclose(by_modulus, energy / given["youngs_modulus"], rtol=1e-12)
    by_nu = volume * [parts.energy_by_nu(m) for m in each]
    np.testing.assert_allclose(potential.gradient(f"{material}.poissons_ratio"), by_nu, rtol=1e-11)


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
    """A bar between plates, free to slide on them: the plates feel E, or E / (1 - nu^2)."""
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
    assert off(bar.x, mesh.points @ pulled.deformation(material).T) < 1e-10
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
    assert pressure("st_venant_kirchhoff", -1.0) == pytest.approx(0.0, abs=1e-12), (
        "turned inside out, at rest"
    )


def test_neo_hookean_refuses_to_be_turned_inside_out() -> None:
    body = sample("neo_hookean", Shaken(2).mesh)
    body.move(body.mesh.points * [-1.0, 1.0])
    assert not np.isfinite(body.potential.value())


# A deformation that is not homogeneous -------------------------------------------------------------------


def manufactured_error(material: str, d: int, n: int) -> float:
    """The sides held where the map has them, but the right one, which its traction pulls; L2 distance."""
    body, paper = Shaken(d, n, shake=0.15), Manufactured.of(material, d, M)
    mesh = body.mesh
    assert np.linalg.det(paper.deformation(mesh.points)).min() > 0.5
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
            loads.traction,
            fields,
            tuples=facets,
            data={"area": size, "shares": np.full(facets.shape[1], 1.0 / facets.shape[1])},
            parameters={"traction": pull},
        ),
    ]
    settle(Potential(fields, terms), free, 1e-10, scale=0.1 / n)
    return distance(mesh, fields["x"].values, paper.place)


@pytest.mark.parametrize(
    ("material", "d", "parts"),
    [
        ("neo_hookean", 2, (4, 8, 16, 32)),
        pytest.param("st_venant_kirchhoff", 2, (4, 8, 16), marks=pytest.mark.long),
        pytest.param("neo_hookean", 3, (2, 4, 8), marks=pytest.mark.long),
    ],
)
def test_a_manufactured_solution_is_met_to_second_order(material: str, d: int, parts: Sequence[int]) -> None:
    errors = [manufactured_error(material, d, n) for n in parts]
    assert fitted_order(errors, parts) == pytest.approx(2.0, abs=0.15), errors


def test_the_manufactured_forces_are_in_balance() -> None:
    """The references themselves: F by differences, and by Gauss's theorem over a small square."""
    paper, h = Manufactured.of("neo_hookean", 2, M), 1e-3
    X, steps = np.array([[0.3, 0.5], [0.9, 0.1]]), h * np.eye(2)
    slopes = [(paper.place(X + k) - paper.place(X - k)) / (2.0 * h) for k in steps]
    np.testing.assert_allclose(paper.deformation(X), np.stack(slopes, axis=-1), atol=1e-5)
    across = [(paper.stress(X + k) - paper.stress(X - k))[..., j] / (2.0 * h) for j, k in enumerate(steps)]
    np.testing.assert_allclose(paper.body_force(X), -sum(across), atol=1e-5)


# Springs -------------------------------------------------------------------------------------------------

STIFF = 3.0


def row(x: np.ndarray, rest: float | np.ndarray, *others, m: float | np.ndarray = 1.0) -> Potential:
    """Nodes on a string of springs, one after another."""
    fields = Fields({"x": x, "v": np.zeros_like(x), "m": np.broadcast_to(m, len(x))})
    links = [[i, i + 1] for i in range(len(x) - 1)]
    strung = bind(springs.spring, fields, tuples=links, data={"rest": rest}, parameters={"stiffness": STIFF})
    return Potential(fields, [strung, *(bind(e, fields, parameters=p) for e, p in others)])


@pytest.mark.parametrize("k", [1, 4, 7])
def test_normal_modes_of_a_chain(k: int) -> None:
    """Between walls, along its line: exactly linear; leapfrog's own solution is known to the last digit."""
    n, mass, dt = 7, 0.4, 0.05
    shape, square = mode(n, k)
    begun = np.zeros((n + 2, 2))
    begun[:, 0] = np.arange(n + 2) * 0.5
    begun[1:-1, 0] += 0.1 * shape
    masses = np.full(n + 2, mass)
    masses[[0, -1]] = 1e30
    potential = row(begun, 0.3, m=masses)
    stepper = Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], dt)
    places = []
    for _ in range(60):
        stepper.advance(1)
        places.append(potential.fields["x"].values[1:-1].copy())
    swing = leapfrogged(np.arange(1.0, 61.0), square * STIFF / mass * dt**2)
    expected = 0.5 * np.arange(1, n + 1) + 0.1 * shape * swing[:, None]
    assert np.ptp(swing) > 0.5
    np.testing.assert_allclose(np.array(places)[:, :, 0], expected, rtol=0.0, atol=1e-12)
    assert not np.array(places)[:, :, 1].any()


def test_a_chain_sags_under_its_weight() -> None:
    """Each spring carries what hangs below it."""
    n, g, rest = 6, 2.0, np.array([0.5, 0.2, 0.7, 0.4, 0.3])
    m = np.array([9.0, 0.4, 1.2, 0.3, 0.8, 0.5])
    x = np.stack([np.zeros(n), -0.6 * np.arange(n)], axis=1)
    x[1:] += np.random.default_rng(1).normal(size=(n - 1, 2)) * 0.1
    potential = row(x, rest, (loads.body_force, {"acceleration": [0.0, -g]}), m=m)
    free = np.ones(x.shape, bool)
    free[0] = False
    settle(potential, free, 1e-12)
    hanging = np.cumsum(m[:0:-1])[::-1]
    found = potential.fields["x"].values
    np.testing.assert_allclose(-np.diff(found[:, 1]), rest + hanging * g / STIFF, rtol=1e-10)
    assert np.abs(found[:, 0]).max() < 1e-10
    support = potential.gradient("x")[0]
    np.testing.assert_allclose(support, [0.0, m.sum() * g], atol=1e-10)


def test_a_spring_by_hand() -> None:
    """A stretch of 5 - 3 along (3, 4) / 5, one pressed by 1, one at rest; dU/dL = -k stretch."""
    x = np.array([[1.0, 2.0], [4.0, 6.0], [4.0, 4.0], [5.0, 4.0]])
    potential, rest = row(x, [3.0, 3.0, 1.0]), np.array([3.0, 3.0, 1.0])
    assert potential.value() == pytest.approx(STIFF * (0.5 * 4.0 + 0.5 * 1.0), rel=1e-15)
    np.testing.assert_allclose(
        potential.gradient("spring.rest"), STIFF * (rest - [5.0, 2.0, 1.0]), atol=1e-14
    )
    pull = STIFF * 2.0 * np.array([0.6, 0.8])
    push = STIFF * np.array([0.0, -1.0])
    np.testing.assert_allclose(potential.gradient("x"), [-pull, pull + push, -push, [0.0, 0.0]], atol=1e-14)
    assert potential.gradient("spring.stiffness") == pytest.approx(2.5, rel=1e-15)


def test_a_net_of_springs_is_a_body_of_edges() -> None:
    """The edges of a mesh, at their rest lengths: no force; stretched by s: k/2 (s - 1)^2 L^2."""
    state = solid(Shaken(3).mesh, 1.0)
    fields = Fields(state.fields)
    rows, data = state.tuples["edges"], state.data["edges"]
    net = Potential(
        fields, [bind(springs.spring, fields, tuples=rows, data=data, parameters={"stiffness": STIFF})]
    )
    assert np.abs(net.gradient("x")).max() < 1e-14
    fields["x"].set(1.3 * state.fields["x"] + 2.0)
    energy = 0.5 * STIFF * 0.09 * (data["rest"] ** 2).sum()
    assert net.value() == pytest.approx(energy, rel=1e-12)


# Loads ---------------------------------------------------------------------------------------------------


def loaded(energy: LocalEnergy, mesh: Mesh, x: np.ndarray, thickness: float = 1.0, **options) -> Potential:
    """One load on a body: on all of it, or on `bodies`."""
    state = solid(mesh, 2.5, thickness)
    fields = Fields(state.fields | {"x": x})
    rows = state.tuples["boundary"] if energy.listed else None
    wanted = energy.of_role(Datum) if energy.listed else {}
    data = {name: state.data["boundary"][name] for name in wanted}
    return Potential(fields, [bind(energy, fields, tuples=rows, data=data, **options)])


def moment(x: np.ndarray, force: np.ndarray, about: np.ndarray) -> np.ndarray:
    """Sum of (x - about) (x) f, whose antisymmetric part is the torque."""
    tensor = np.einsum("ni,nj->ij", x - about, force)
    return tensor - tensor.T


@SPACES
def test_weight(d: int) -> None:
    """m a at each node, rho V a in all, at the centre of mass; wherever the body is, and however bent."""
    mesh, thick = Shaken(d).mesh, 0.25 if d == 2 else 1.0
    a = np.array([0.3, -9.81, 1.7])[:d]
    bent = mesh.points + 0.1 * np.sin(7.0 * mesh.points)
    for x in (mesh.points, bent, bent @ rotation(d, 1).T + 5.0):
        weight = loaded(loads.body_force, mesh, x, thick, parameters={"acceleration": a})
        force, m = -weight.gradient("x"), weight.fields["m"].values
        np.testing.assert_allclose(force, m[:, None] * a, rtol=1e-15)
        np.testing.assert_allclose(force.sum(axis=0), 2.5 * thick * (0.8 if d == 2 else 0.48) * a, rtol=1e-13)
        centre = m @ x / m.sum()
        assert np.abs(moment(x, force, centre)).max() < 1e-12
        assert weight.value() == pytest.approx(-m.sum() * a @ centre, rel=1e-12)
        np.testing.assert_allclose(weight.gradient("body_force.acceleration"), -m @ x, rtol=1e-12)


@pytest.mark.parametrize(
    ("d", "side"),
    [
        (2, "left"),
        (2, "right"),
        (2, "bottom"),
        (2, "top"),
        (3, "left"),
        (3, "right"),
        (3, "back"),
        (3, "top"),
    ],
)
def test_traction_on_a_side(d: int, side: str) -> None:
    """t A in all, at the centre of the side; nothing elsewhere; the same on the moved body (a dead load)."""
    mesh, thick = Shaken(d).mesh, 0.25 if d == 2 else 1.0
    nodes, t = mesh.bodies[side], np.array([1.2, -0.7, 0.4])[:d]
    lengths = np.array([1.0, 0.8, 0.6 if d == 3 else thick])
    axis = {"left": 0, "right": 0, "back": 1, "top": d - 1, "bottom": d - 1}[side]
    area = np.delete(lengths, axis).prod()
    on = {"bodies": [Body(side, nodes)], "parameters": {"traction": t}}
    pulled = loaded(loads.traction, mesh, mesh.points, thick, **on)
    force = -pulled.gradient("x")
    np.testing.assert_allclose(force.sum(axis=0), area * t, rtol=1e-13)
    assert not np.delete(force, nodes, axis=0).any()
    centre = 0.5 * (mesh.points[nodes].min(axis=0) + mesh.points[nodes].max(axis=0))
    assert np.abs(moment(mesh.points, force, centre)).max() < 1e-13
    assert pulled.value() == pytest.approx(-area * t @ centre, rel=1e-12)
    moved = loaded(loads.traction, mesh, mesh.points @ some_map(d, 1).T + 3.0, thick, **on)
    np.testing.assert_array_equal(moved.gradient("x"), pulled.gradient("x"))


@SPACES
def test_a_uniform_traction_on_the_whole_surface_moves_and_turns(d: int) -> None:
    """It is no pressure: all of it together is t A, at the centre of the surface."""
    mesh, t = Shaken(d).mesh, np.array([1.2, -0.7, 0.4])[:d]
    force = -loaded(loads.traction, mesh, mesh.points, parameters={"traction": t}).gradient("x")
    np.testing.assert_allclose(force.sum(axis=0), (3.6 if d == 2 else 3.76) * t, rtol=1e-13)
    assert np.abs(moment(mesh.points, force, np.array([0.5, 0.4, 0.3])[:d])).max() < 1e-13


def test_a_load_is_the_same_on_every_node_of_its_body() -> None:
    mesh, f = Shaken(3).mesh, np.array([0.5, 0.0, -2.0])
    on = Body("tip", mesh.bodies["right"])
    held = loaded(loads.load, mesh, mesh.points, bodies=[on], parameters={"force": f})
    expected = np.zeros_like(mesh.points)
    expected[mesh.bodies["right"]] = f
    np.testing.assert_array_equal(-held.gradient("x"), expected)
    assert held.value() == pytest.approx(-(mesh.points[mesh.bodies["right"]] @ f).sum(), rel=1e-14)


def hanging(X: np.ndarray, height: float, q: float) -> np.ndarray:
    """Places of a St Venant-Kirchhoff column between frictionless walls that hangs on its top.

    The force at Y carries what is below: s (s^2 - 1) = q Y, q = 2 rho g / (lambda + 2 mu), by Cardano's
    cosine; and the integral of s dY is that of s (3 s^2 - 1) ds / q.
    """

    def fallen(Y):
        s = 2.0 / np.sqrt(3.0) * np.cos(np.arccos(1.5 * np.sqrt(3.0) * q * Y + 0j) / 3.0).real
        return (0.75 * s**4 - 0.5 * s**2) / q

    x, Y = X[..., 0], X[..., 1]
    return np.stack([x, height - fallen(height) + fallen(Y)], axis=-1)


def column_error(n: int) -> float:
    g, mesh = 0.9, Shaken(2, n, shake=0.0).mesh
    fields, paper = (
        Fields(solid(mesh, 1.0).fields),
        partial(hanging, height=0.8, q=2.0 * g / (M.lam + 2.0 * M.mu)),
    )
    weight = bind(loads.body_force, fields, parameters={"acceleration": [0.0, -g]})
    column = over_cells(hyperelastic.st_venant_kirchhoff, mesh, fields, **M.given)
    potential, free = Potential(fields, [column, weight]), np.zeros(mesh.points.shape, bool)
    free[:, 1] = True
    free[mesh.bodies["top"], 1] = False
    settle(potential, free, 1e-11)
    support = potential.gradient("x")[mesh.bodies["top"]].sum(axis=0)
    assert support[1] == pytest.approx(g * 0.8, rel=1e-9)
    assert paper(np.zeros(2))[1] < -0.1
    return distance(mesh, fields["x"].values, paper)


def test_a_column_under_its_own_weight() -> None:
    assert_order(column_error, 2, (3, 6, 12))


# Obstacles -----------------------------------------------------------------------------------------------

OBSTACLES = {
    "floor": (contacts.floor, {"height": 0.3}, [[0.5, 0.7, 0.3], [0.0, 0.0, 1.0]]),
    "wall": (
        contacts.wall,
        {"normal": [2.0, -1.0, 2.0], "offset": 0.6},
        [[1.4, 0.6, -0.2], [2.0, -1.0, 2.0]],
    ),
    "sphere": (
        contacts.sphere,
        {"centre": [0.5, 0.0, -1.0], "radius": 2.0},
        [[1.7, 0.0, 0.6], [3.0, 0.0, 4.0]],
    ),
}
"""With their parameters; a place on the surface, and a direction out of it."""
OBSTACLE = pytest.mark.parametrize("name", OBSTACLES)
K = 7.0


def approached(name: str, depths: np.ndarray, **also) -> tuple[Potential, np.ndarray]:
    """Nodes at these depths below the surface, on one line; and the way out."""
    energy, given, (place, out) = OBSTACLES[name]
    normal = np.array(out) / np.linalg.norm(out)
    fields = Fields({"x": np.array(place) - np.asarray(depths)[:, None] * normal})
    return Potential(fields, [bind(energy, fields, parameters={"stiffness": K} | given | also)]), normal


@OBSTACLE
def test_outside_there_is_nothing_and_inside_a_cubic_penalty(name: str) -> None:
    """Force k delta^2 outward; a sphere's depth is (R^2 - r^2) / 2 R, and its force has the factor r / R."""
    depths = np.array([-3.0, -1e-3, 0.0, 1e-3, 0.2, 1.0])
    potential, out = approached(name, depths)
    r = 2.0 - depths
    delta = (4.0 - r**2) / 4.0 if name == "sphere" else depths
    inside = np.maximum(delta, 0.0)
    pushed = K * inside**2 * (r / 2.0 if name == "sphere" else 1.0)
    np.testing.assert_allclose(potential.by_element(name), K * inside**3 / 3.0, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(-potential.gradient("x"), pushed[:, None] * out, rtol=1e-11, atol=1e-14)
    assert potential.by_element(name)[:2].tolist() == [0.0, 0.0]


@OBSTACLE
def test_the_second_derivative_is_continuous_and_the_third_is_not(name: str) -> None:
    """One-sided differences across the surface; the third is 2 k inside, 0 outside."""
    h = 1e-3
    potential, out = approached(name, h * np.arange(-3.0, 4.0))
    u = potential.by_element(name)
    slope = potential.gradient("x") @ -out
    assert max(u[:4]) < 1e-15
    jumps = []
    for order in (1, 2):
        inner, outer = np.diff(slope[3:], order)[0] / h**order, np.diff(slope[:4], order)[-1] / h**order
        jumps.append(inner - outer)
    assert abs(slope[3]) < 1e-12
    assert abs(jumps[0]) < 2.0 * K * h
    assert jumps[1] == pytest.approx(2.0 * K, rel=0.01)


@pytest.mark.parametrize("d", [2, 3])
def test_the_last_axis_is_height(d: int) -> None:
    fields = Fields({"x": [[5.0] * (d - 1) + [-0.5], [-5.0] * (d - 1) + [0.5]]})
    floor = Potential(fields, [bind(contacts.floor, fields, parameters={"stiffness": K})])
    expected = np.zeros((2, d))
    expected[0, -1] = K * 0.25
    np.testing.assert_allclose(-floor.gradient("x"), expected, rtol=1e-14)
    assert floor.gradient("floor.height") == pytest.approx(K * 0.25, rel=1e-14)


def test_a_normal_may_have_any_length() -> None:
    depths = np.array([-0.1, 0.3, 0.7])
    one, _ = approached("wall", depths)
    for length in (1e-6, 50.0):
        other, _ = approached("wall", depths, normal=length * np.array([2.0, -1.0, 2.0]))
        np.testing.assert_allclose(other.by_element("wall"), one.by_element("wall"), rtol=1e-13)
        np.testing.assert_allclose(other.gradient("x"), one.gradient("x"), rtol=1e-12, atol=1e-15)
        along = other.gradient("wall.normal") @ [2.0, -1.0, 2.0]
        assert abs(along) * length < 1e-12, "the length says nothing"


def test_the_centre_of_a_sphere_is_not_singular() -> None:
    """At the centre it is R / 2 deep, and no direction is better than another; near it the force is small."""
    potential, out = approached("sphere", np.array([2.0, 2.0 - 1e-9]))
    assert potential.by_element("sphere")[0] == pytest.approx(K / 3.0, rel=1e-14)
    force = potential.gradient("x")
    assert np.abs(force[0]).max() < 1e-15
    np.testing.assert_allclose(-force[1], K * 0.5e-9 * out, rtol=1e-6)


# Damping -------------------------------------------------------------------------------------------------


@SPACES
def test_strain_rate_damping_leaves_rigid_motion_alone_and_resists_shear(d: int) -> None:
    """x = X + g Y, g' = w: E' = w/2 (e1 e2 + e2 e1) + w g e2 e2; power w^2 (eta (1 + 2 g^2) + zeta g^2) V."""
    mesh, g, w, eta, zeta = Shaken(d).mesh, 0.6, 1.3, 0.4, 0.9
    shear = np.zeros((d, d))
    shear[0, 1] = 1.0
    fields = Fields({"x": mesh.points @ (np.eye(d) + g * shear).T, "v": w * mesh.points @ shear.T})
    rubs = over_cells(damping.strain_rate_damping, mesh, fields, viscosity=eta, bulk_viscosity=zeta)
    potential, volume = Potential(fields, [rubs]), mesh.volumes().sum()
    lost = volume * w**2 * (eta * (1.0 + 2.0 * g**2) + zeta * g**2)
    assert 2.0 * potential.value() == pytest.approx(lost, rel=1e-12)
    v = fields["v"].values.copy()
    assert (potential.gradient("v") * v).sum() == pytest.approx(lost, rel=1e-12)
    spin = np.random.default_rng(1).normal(size=(d, d))
    rigid = fields["x"].values @ (spin - spin.T) + 4.0
    fields["v"].set(v + rigid)
    assert 2.0 * potential.value() == pytest.approx(lost, rel=1e-12)
    fields["v"].set(rigid)
    assert np.abs(potential.gradient("v")).max() < 1e-13


def test_mass_damping_fades_every_motion_alike() -> None:
    """Without forces friction's half steps are v (1 - z + z^2 / 2), z = alpha h / 2: e^-z to second order."""
    v, m = np.array([[1.0, 2.0], [-3.0, 0.5], [0.0, 7.0]]), np.array([1.0, 2.0, 5.0])
    fields = Fields({"x": np.zeros((3, 2)), "v": v, "m": m})
    none = Potential(fields, [bind(loads.load, fields, parameters={"force": [0.0, 0.0]})])
    rubs = Potential(fields, [bind(damping.mass_damping, fields, parameters={"rate": 0.8})])
    h, n = 0.05, 40
    stepper = Integrator(System(none, [Motion("x", "v", "m")], dissipation=rubs), SCHEMES["leapfrog"], h)
    stepper.advance(n)
    z = 0.8 * h / 2.0
    np.testing.assert_allclose(fields["v"].values, v * (1.0 - z + z * z / 2.0) ** (2 * n), rtol=1e-12)
    np.testing.assert_allclose(fields["v"].values, v * np.exp(-0.8 * h * n), rtol=1e-3)
    kinetic = rubs.value() / 0.8
    assert kinetic + stepper.dissipated == pytest.approx(0.5 * (m[:, None] * v**2).sum(), rel=1e-12)


# A free body, tumbling -----------------------------------------------------------------------------------


def tumbling(material: str, d: int, steps: int, end: float = 1.5) -> Integrator:
    """Deformed, spinning and drifting; steps that take it to `end`."""
    mesh, rng = Shaken(d, 2).mesh, np.random.default_rng(d)
    state = solid(mesh, 1.3)
    spin = rng.normal(size=(d, d))
    x = mesh.points @ some_map(d, 7, spread=0.2).T
    v = (x - x.mean(axis=0)) @ (spin - spin.T) + rng.normal(size=d) + 0.1 * rng.normal(size=x.shape)
    fields = Fields(state.fields | {"x": x, "v": v})
    potential = Potential(fields, [over_cells(SOLIDS[material], mesh, fields, **M.given)])
    return Integrator(System(potential, state.motions), SCHEMES["leapfrog"], end / steps)


@MATERIALS
@SPACES
def test_a_free_body_keeps_its_momenta(material: str, d: int) -> None:
    stepper = tumbling(material, d, 300)
    fields, (motion,) = stepper.potential.fields, stepper.motions
    m, x = fields["m"].values, fields["x"].values.copy()
    before = angular_momentum(fields, motion, m)
    assert_momentum(stepper, 300)
    after = angular_momentum(fields, motion, m)
    size = (m[:, None] * np.abs(fields["v"].values)).sum() * np.abs(fields["x"].values).max()
    assert np.abs(before).max() > 0.05 * size
    assert np.abs(after - before).max() < 1e-12 * size
    assert off(fields["x"].values, x) > 0.5


@MATERIALS
@SPACES
def test_the_energy_of_a_free_body_is_kept_to_second_order(material: str, d: int) -> None:
    assert_order(lambda n: energy_error(tumbling(material, d, n), n), 2, (200, 400, 800))
