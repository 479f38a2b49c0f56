"""Spheres in equilibrium against closed forms: densities, distribution functions, dispersions, virials."""

import numpy as np
import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.scene.units import UnitSystem
from minusgrad_gravity.draws import Draws
from minusgrad_gravity.spheres.eddington import Potential, distribution
from minusgrad_gravity.spheres.king import KingModel, density
from minusgrad_gravity.spheres.profiles import CuspedSphere, log_grid
from minusgrad_gravity.spheres.states import HernquistSphere, KingSphere, UniformSphere, isolated_tables

pytestmark = pytest.mark.unit
HERNQUIST = CuspedSphere(1.0, 1.0, 4.0)
NFW = CuspedSphere(1.0, 1.0, 3.0, truncation=8.0)
SHELLS = ((0.05, 0.3), (0.3, 1.0), (1.0, 3.0), (3.0, 20.0))


def made(record, seed=2):
    """r, the components of v along the radius and across, and m."""
    context = StateContext(UnitSystem.dimensionless(), seed, None)  # type: ignore[arg-type]
    x, v, m = (record.make(context).fields[name] for name in "xvm")
    r = np.linalg.norm(x, axis=1)
    along = np.sum(x * v, axis=1) / r
    return r, along, np.sum(v * v, axis=1) - along**2, m


def dispersion(r):
    """Hernquist 1990, equation 10, for G = M = a = 1."""
    series = 25.0 + 52.0 * r + 42.0 * r**2 + 12.0 * r**3
    return (12.0 * r * (1.0 + r) ** 3 * np.log1p(1.0 / r) - r / (1.0 + r) * series) / 12.0


def jeans(sphere, r):
    """s_r^2 by Jeans' equation, the integral of rho M / r^2 from r outwards over rho, by trapezoids."""
    grid = np.geomspace(1e-4, sphere.reach, 40_000)
    pull = sphere.density(grid) * sphere.enclosed(grid) / grid**2
    steps = 0.5 * (pull[1:] + pull[:-1]) * np.diff(grid)
    outwards = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    return np.interp(r, grid, outwards) / sphere.density(r)


def test_the_mass_of_a_hernquist_sphere():
    r = np.geomspace(1e-7, 1e3, 50)
    np.testing.assert_allclose(HERNQUIST.enclosed(r), (r / (1.0 + r)) ** 2, rtol=3e-5)


@pytest.mark.parametrize("sphere", [HERNQUIST, NFW])
def test_slopes_are_those_of_the_density(sphere):
    log_r, h = np.log(np.geomspace(1e-3, 30.0, 40)), 1e-4
    rise = (np.log(sphere.density(np.exp(log_r + h))) - np.log(sphere.density(np.exp(log_r - h)))) / (2 * h)
    np.testing.assert_allclose(sphere.slope(np.exp(log_r)), rise, rtol=1e-6)
    turn = (sphere.slope(np.exp(log_r + h)) - sphere.slope(np.exp(log_r - h))) / (2 * h)
    np.testing.assert_allclose(sphere.curvature(np.exp(log_r)), turn, rtol=1e-6)


def test_eddingtons_inversion_of_a_hernquist_sphere():
    """Hernquist 1990, equation 17, over seven decades of radius; the grid ends at 1e5 scale radii."""
    r = log_grid(1e-5, HERNQUIST.reach)
    potential = Potential.of([HERNQUIST], r)
    np.testing.assert_allclose(potential.psi, 1.0 / (1.0 + r), rtol=3e-5)
    q, p = np.sqrt(1.0 / (1.0 + r)), np.sqrt(r / (1.0 + r))
    bracket = 3.0 * np.arcsin(q) + q * p * (1.0 - 2.0 * q**2) * (8.0 * q**4 - 8.0 * q**2 - 3.0)
    exact = bracket / (8.0 * np.sqrt(2.0) * np.pi**3 * p**5)
    judged = r < 300.0
    np.testing.assert_allclose(distribution(HERNQUIST, potential)[judged], exact[judged], rtol=3e-5)


@pytest.mark.parametrize(
    ("W0", "concentration"), [(1, 0.296), (3, 0.672), (5, 1.029), (6, 1.255), (7, 1.528), (9, 2.119)]
)
def test_concentrations_of_king_models(W0, concentration):
    """log10 of tidal over core radius: King 1966 and the tables after him."""
    assert np.log10(KingModel.solved(W0).concentration) == pytest.approx(concentration, abs=1.5e-3)


@pytest.mark.parametrize("sphere", [HERNQUIST, NFW])
def test_cusped_spheres(sphere):
    """Mass profile, radial and tangential dispersion in shells, within 3.5 standard errors."""
    x, v = isolated_tables(sphere, 1.0).draw(Draws(2, "test", 20_000))
    r = np.linalg.norm(x, axis=1)
    along = np.sum(x * v, axis=1) / r
    across = np.sum(v * v, axis=1) - along**2
    for low, high in SHELLS:
        p = float(np.diff(sphere.enclosed(np.array([low, high])))[0])
        inside = (low <= r) & (r < high)
        assert inside.mean() == pytest.approx(p, abs=3.5 * np.sqrt(p * (1.0 - p) / len(r)))
        for excess in (along**2 - jeans(sphere, r), 0.5 * across - jeans(sphere, r)):
            assert abs(excess[inside].mean()) < 3.5 * excess[inside].std() / np.sqrt(inside.sum())


def test_jeans_equation_of_a_hernquist_sphere():
    r = np.geomspace(0.05, 20.0, 20)
    np.testing.assert_allclose(jeans(HERNQUIST, r), dispersion(r), rtol=1e-3)


def test_virials_of_spheres():
    """2 T = G M^2 / (6 a) of Hernquist's; of a King model the integral of G M(r) / r over dM."""
    _, along, across, m = made(HernquistSphere(n=20_000, mass=2.0, radius=3.0, G=5.0))
    assert np.sum(m * (along**2 + across)) == pytest.approx(5.0 * 4.0 / 18.0, rel=0.02)
    r, along, across, m = made(KingSphere(n=20_000, mass=2.0, W0=6.0, tidal_radius=4.0, G=5.0))
    order = np.argsort(r)
    virial = 5.0 * np.sum(m[order] * np.cumsum(m[order]) / r[order])
    assert np.sum(m * (along**2 + across)) == pytest.approx(virial, rel=0.02)
    assert r.max() < 4.0 * 1.01


@pytest.mark.parametrize("W0", [2.0, 7.0])
def test_a_king_model_has_its_density_and_dispersion(W0):
    """Shares of the mass by rho(W), and 3 s^2 of the lowered Gaussian by quadrature over speeds."""
    model = KingModel.solved(W0)
    sphere, s = model.sphere(1.0, 1.0, 1.0)
    r, along, across, _ = made(KingSphere(n=20_000, mass=1.0, W0=W0, tidal_radius=1.0, G=1.0))
    shell = model.x**3 * density(model.W)
    mass = np.append(0.0, np.cumsum(0.5 * (shell[1:] + shell[:-1]) * np.diff(np.log(model.x))))
    for part in (0.2, 0.5, 0.8):
        edge = np.interp(part, mass / mass[-1], sphere.r)
        assert np.mean(r < edge) == pytest.approx(part, abs=3.5 * np.sqrt(part * (1.0 - part) / len(r)))
    u = (np.arange(400) + 0.5) / 400
    W = np.interp(np.log(r), np.log(sphere.r), model.W)
    weights = u**2 * np.expm1(W[:, None] * (1.0 - u**2))
    expected = 2.0 * W * s**2 * (weights @ u**2) / weights.sum(axis=1)
    excess = along**2 + across - expected
    assert abs(excess.mean()) < 3.5 * excess.std() / np.sqrt(len(r))


def test_a_uniform_sphere():
    r, along, _, m = made(UniformSphere(n=20_000, mass=3.0, radius=2.0))
    assert np.mean(r < 1.0) == pytest.approx(0.125, abs=0.008)
    assert r.max() < 2.05
    assert not along.any()
    assert m.sum() == pytest.approx(3.0)


def test_a_body_has_the_same_draw_whatever_their_number():
    """Up to the motion of the centre of mass, which is subtracted."""
    few, many = (
        KingSphere(n=n, mass=1.0, W0=5.0, tidal_radius=1.0, G=1.0).make(
            StateContext(UnitSystem.dimensionless(), 4, None)  # type: ignore[arg-type]
        )
        for n in (50, 80)
    )
    for name in "xv":
        one, other = few.fields[name], many.fields[name][:50]
        np.testing.assert_allclose(one - one[0], other - other[0], atol=1e-14)


def test_a_sphere_has_velocities_within_any_other_mass():
    """f > 0 within a heavy shell of unit radius, also where the truncation is as far as the scale radius."""

    class Shell:
        def enclosed(self, r):
            return 50.0 * r**12 / (1.0 + r**12)

        def shell(self, r):
            return 600.0 * r**12 / (1.0 + r**12) ** 2

    for outer in (3.0, 4.0):
        sphere = CuspedSphere(1.0, 5.0, outer, truncation=5.0)
        r = log_grid(1e-4, sphere.reach)
        f = distribution(sphere, Potential.of([sphere, Shell()], r))
        assert (f[r < 50.0] > 0.0).all()
