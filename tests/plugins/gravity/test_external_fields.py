"""Given fields: their forces by the masses within, their densities, and orbits in them."""

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad_gravity.external_fields import (
    disc_field,
    hernquist_field,
    logarithmic_field,
    nfw_field,
    plummer_field,
)

G, MASS, SCALE = 1.3, 2.0, 0.7
CENTRE = np.array([0.3, -0.2, 0.5])


def _potential(energy: LocalEnergy, x: np.ndarray, **given: float) -> Potential:
    fields = Fields({"x": x, "m": np.full(len(x), 1.5)})
    usual = {"G": G, "mass": MASS, "scale": SCALE, "centre": CENTRE[: x.shape[1]]} | given
    return Potential(
        fields, [bind(energy, fields, parameters={k: usual[k] for k in usual.keys() & energy.roles.keys()})]
    )


def _places(d: int = 3) -> np.ndarray:
    return CENTRE[:d] + np.random.default_rng(0).normal(size=(20, d))


WITHIN = {
    plummer_field: lambda r: MASS * (r / np.hypot(r, SCALE)) ** 3,
    hernquist_field: lambda r: MASS * (r / (r + SCALE)) ** 2,
    nfw_field: lambda r: MASS * (np.log(1.0 + r / SCALE) - r / (r + SCALE)),
}
"""The mass within r, as the papers have it."""


@pytest.mark.parametrize("energy", WITHIN, ids=lambda energy: energy.name)
def test_the_force_is_that_of_the_mass_within(energy: LocalEnergy) -> None:
    x = _places()
    away = x - CENTRE
    r = np.linalg.norm(away, axis=1)
    force = -1.5 * G * WITHIN[energy](r) / r**3
    np.testing.assert_allclose(
        _potential(energy, x).gradient("x"), -force[:, None] * away, rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("energy", WITHIN, ids=lambda energy: energy.name)
def test_far_away_the_energy_is_that_of_the_whole_mass(energy: LocalEnergy) -> None:
    x = CENTRE + np.array([[0.0, 0.0, 1e9]])
    logarithm = np.log(1.0 + 1e9 / SCALE) if energy is nfw_field else 1.0
    assert _potential(energy, x).value() == pytest.approx(-1.5 * G * MASS * logarithm / 1e9, rel=1e-8)


@pytest.mark.parametrize("d", [2, 3])
def test_circular_speeds_of_a_logarithmic_field(d: int) -> None:
    """v_c^2 = r dPhi/dr = v^2 r^2 / (r^2 + a^2)."""
    x = _places(d)
    away = x - CENTRE[:d]
    force = _potential(logarithmic_field, x, speed=2.2).gradient("x") / 1.5
    r2 = (away**2).sum(axis=1)
    np.testing.assert_allclose((force * away).sum(axis=1), 2.2**2 * r2 / (r2 + SCALE**2), rtol=1e-12)
    assert _potential(logarithmic_field, CENTRE[None, :d], speed=2.2).value() == 0.0


def test_a_disc_has_its_density() -> None:
    """The Hessian's trace is 4 pi G rho (Miyamoto & Nagai 1975, eq. 5); without `scale` a Plummer sphere."""
    x, height = _places(), 0.3
    r = x - CENTRE
    across, z = np.hypot(r[:, 0], r[:, 1]), r[:, 2]
    b = np.sqrt(z**2 + height**2)
    rho = height**2 * MASS / (4.0 * np.pi)
    rho *= (SCALE * across**2 + (SCALE + 3.0 * b) * (SCALE + b) ** 2) / (
        (across**2 + (SCALE + b) ** 2) ** 2.5 * b**3
    )
    hessian = _potential(disc_field, x, height=height).hessian("x").toarray()
    traces = np.diag(hessian).reshape(-1, 3).sum(axis=1) / 1.5
    np.testing.assert_allclose(traces, 4.0 * np.pi * G * rho, rtol=1e-9)
    sphere = _potential(plummer_field, x, scale=height).value()
    assert _potential(disc_field, x, scale=0.0, height=height).value() == pytest.approx(sphere, rel=1e-14)
