"""Particles of a fluid: kernel, density, pressure and viscosity against formulas written out in NumPy."""

from itertools import product
from math import pi

import numpy as np
import pytest
from scipy.integrate import quad

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_sph.compression import tait
from minusgrad_sph.density import kernel_density, self_density
from minusgrad_sph.kernels import lattice_sum
from minusgrad_sph.viscosity import artificial_viscosity

H, C, REST, ALPHA = 0.13, 11.0, 900.0, 0.3
UNITS = {"x": "m", "v": "m s^-1", "m": "kg"}


def wendland(r: np.ndarray, d: int) -> np.ndarray:
    """W: 7/(4 pi) or 21/(16 pi) h^-d (1 - q/2)^4 (2 q + 1)."""
    q = np.asarray(r) / H
    scale = {2: 7.0 / (4.0 * pi), 3: 21.0 / (16.0 * pi)}[d] / H**d
    return scale * np.clip(1.0 - 0.5 * q, 0.0, None) ** 4 * (2.0 * q + 1.0)


def steepness(r: np.ndarray, d: int) -> np.ndarray:
    """-W'/r, by differences of W."""
    e = 1e-6 * H
    return -(wendland(r + e, d) - wendland(r - e, d)) / (2.0 * e * r)


def fluid(d: int, precision: str = "f64", middle: float = 1.0) -> Fields:
    """A shaken lattice of particles of unequal masses; half of them have densities above `middle` REST."""
    rng, side = np.random.default_rng(d), {2: 5, 3: 3}[d]
    x = 0.1 * np.array(list(product(range(side), repeat=d))) + 0.01 * rng.normal(size=(side**d, d))
    m = rng.uniform(0.9, 1.1, len(x))
    m *= middle * REST / np.median(densities(x, m))
    values = {"x": x, "v": rng.normal(size=x.shape), "m": m}
    return Fields({k: a.astype(np.float32) for k, a in values.items()}, UNITS, precision)


def compressed(fields: Fields) -> Potential:
    maps = [
        bind(kernel_density, fields, parameters={"h": H}),
        bind(self_density, fields, parameters={"h": H}),
    ]
    return Potential(fields, [bind(tait, fields, parameters={"rest_density": REST, "sound_speed": C})], maps)


def viscous(fields: Fields) -> Potential:
    numbers = {"alpha": ALPHA, "h": H, "sound_speed": C, "rest_density": REST}
    return Potential(fields, [bind(artificial_viscosity, fields, parameters=numbers)])


def between(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x_i - x_j (n, n, d) and its length, where no particle is at its own place (1 on the diagonal)."""
    r = x[:, None] - x[None]
    return r, np.linalg.norm(r, axis=-1) + np.eye(len(x))


def densities(x: np.ndarray, m: np.ndarray) -> np.ndarray:
    n, d = x.shape
    _, r = between(x)
    return ((wendland(r, d) * (1.0 - np.eye(n)) + wendland(0.0, d) * np.eye(n)) * m).sum(axis=1)


@pytest.mark.unit
@pytest.mark.parametrize("d", [2, 3])
def test_the_kernel_of_the_references_integrates_to_one(d):
    shell = {2: lambda r: 2.0 * pi * r, 3: lambda r: 4.0 * pi * r * r}[d]
    assert quad(lambda r: shell(r) * wendland(r, d), 0.0, 2.0 * H)[0] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.unit
@pytest.mark.parametrize("d", [2, 3])
def test_a_lattice_has_nearly_the_density_of_a_continuum(d):
    grid = 0.1 * np.array(list(product(range(-3, 4), repeat=d)))
    total = wendland(np.linalg.norm(grid, axis=1), d).sum()
    assert lattice_sum(0.1, H, d) == pytest.approx(total, rel=1e-14)
    assert total * 0.1**d == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(("precision", "bound"), [("f64", 1e-13), ("f32", 1e-6)])
def test_density_against_the_direct_sum(d, precision, bound):
    fields = fluid(d, precision)
    compressed(fields).refresh()
    expected = densities(fields["x"].values.astype(float), fields["m"].values.astype(float))
    assert np.ptp(expected) > 0.3 * REST
    np.testing.assert_allclose(fields["rho"].values, expected, rtol=bound)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(("precision", "bound"), [("f64", 1e-7), ("f32", 2e-4)])
def test_pressure_forces(d, precision, bound):
    """-sum m_i m_j (p_i / rho_i^2 + p_j / rho_j^2) grad W, with Tait's pressure where it is positive."""
    fields = fluid(d, precision)
    found = -compressed(fields).gradient("x")
    x, m = (fields[name].values.astype(float) for name in "xm")
    rho = densities(x, m)
    share = np.maximum(0.0, REST * C * C / 7.0 * ((rho / REST) ** 7 - 1.0)) / rho**2
    assert 3 < (share == 0.0).sum() < len(x) - 3, "some are at the surface, some under pressure"
    r, length = between(x)
    pair = (m[:, None] * m[None] * (share[:, None] + share[None]) * steepness(length, d))[..., None] * r
    expected = pair.sum(axis=1)
    assert np.abs(found - expected).max() < bound * np.abs(expected).max()


def test_pressure_forces_against_differences_of_the_energy():
    fields = fluid(2)
    potential = compressed(fields)
    gradient, x, e = potential.gradient("x"), fields["x"].values.copy(), 1e-6
    for node, axis in product((0, 12, 17), range(2)):
        energies = []
        for step in (e, -e):
            moved = x.copy()
            moved[node, axis] += step
            fields["x"].set(moved)
            energies.append(potential.value())
        difference = (energies[0] - energies[1]) / (2.0 * e)
        assert gradient[node, axis] == pytest.approx(difference, abs=1e-7 * np.abs(gradient).max())


def test_energy_is_the_work_against_the_pressure():
    """de/drho = p / rho^2, from the density at rest on; 0 below it."""
    rho = np.array([0.5, 0.99, 1.0, 1.001, 1.02, 1.3]) * REST
    fields = Fields({"rho": rho, "m": np.ones(6)}, {"rho": "kg m^-3", "m": "kg"})
    term = bind(tait, fields, parameters={"rest_density": REST, "sound_speed": C})
    work = [
        quad(lambda s: REST * C * C / 7.0 * ((s / REST) ** 7 - 1.0) / (s * s), REST, max(s, REST))[0]
        for s in rho
    ]
    assert Potential(fields, [term]).value() == pytest.approx(sum(work), rel=1e-10)


@pytest.mark.parametrize("d", [2, 3])
def test_viscous_forces(d):
    """Monaghan's: m_i m_j alpha h c / rho_0 (v.r) / (r^2 + h^2 / 100) grad W; no torque, no net force."""
    fields = fluid(d)
    found = -viscous(fields).gradient("v")
    x, v, m = (fields[name].values for name in "xvm")
    r, length = between(x)
    closing = ((v[:, None] - v[None]) * r).sum(axis=-1)
    strength = ALPHA * H * C / REST * m[:, None] * m[None] * closing / (length**2 + 0.01 * H * H)
    expected = -((strength * steepness(length, d))[..., None] * r).sum(axis=1)
    largest = np.abs(expected).max()
    assert np.abs(found - expected).max() < 1e-7 * largest
    assert np.abs(found.sum(axis=0)).max() < 1e-13 * largest
    torque = x[:, 0] * found[:, 1] - x[:, 1] * found[:, 0]
    assert abs(torque.sum()) < 1e-13 * largest
    assert (found * v).sum() < 0.0


def flying(dt: float) -> Integrator:
    """A drop that moves as it likes, with all of its forces."""
    fields = fluid(2, middle=0.8)
    return Integrator(
        System(compressed(fields), [Motion("x", "v", "m")], dissipation=viscous(fields)),
        SCHEMES["leapfrog"],
        dt,
    )


def momentum(one: Integrator) -> np.ndarray:
    fields = one.potential.fields
    return (fields["m"].values[:, None] * fields["v"].values).sum(axis=0)


def balance(one: Integrator) -> float:
    """Kinetic and internal energy, and what friction took."""
    fields = one.potential.fields
    kinetic = 0.5 * (fields["m"].values[:, None] * fields["v"].values ** 2).sum()
    return kinetic + one.potential.value() + one.dissipated


def test_a_drop_keeps_its_momentum_and_accounts_for_its_energy():
    errors = []
    for dt, steps in ((4e-4, 50), (2e-4, 100)):
        one = flying(dt)
        one.evaluate()
        before, start = momentum(one), balance(one)
        one.advance(steps)
        assert np.abs(momentum(one) - before).max() < 1e-12 * np.abs(before).max()
        assert one.dissipated > 0.05 * start
        errors.append(abs(balance(one) - start) / start)
    assert errors[0] < 2e-3
    assert errors[1] < errors[0] / 2.0
