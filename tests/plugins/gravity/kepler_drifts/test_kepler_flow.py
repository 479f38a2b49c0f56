"""Kepler drifts of eight bodies at once, compensated sums, and forces that only some steps compute."""

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.engine import storage
from minusgrad.errors import NonFiniteError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity
from minusgrad_gravity.kepler_drifts import kepler_flow
from minusgrad_gravity.kepler_drifts.central_mass import COORDINATES
from minusgrad_gravity.kepler_drifts.kepler_flow import KeplerFlow
from minusgrad_gravity.kepler_drifts.near_integrable import NEAR_INTEGRABLE
from tests.support.laws import assert_splits, bits

from .test_kepler_splitting import MOTIONS, end

either = pytest.mark.parametrize("coordinates", COORDINATES)


def planets(
    dt: float, others: int = 11, kind: str = "leapfrog", coordinates: str = "jacobi", precision: str = "f64"
) -> Integrator:
    """Bodies on ellipses (e up to 0.3) about a mass, the last of eleven on a hyperbola; periods from 2 pi."""
    rng = np.random.default_rng(8)
    x, v = np.zeros((others + 1, 3)), np.zeros((others + 1, 3))
    for k in range(others):
        radius, angle = 1.4**k, rng.uniform(0.0, 2.0 * np.pi)
        speed = rng.uniform(0.9, 1.1) * (2.0 if k == 10 else 1.0) / np.sqrt(radius)
        x[k + 1] = radius * np.array([np.cos(angle), np.sin(angle), 0.02 * np.sin(3.0 * angle)])
        v[k + 1] = speed * np.array([-np.sin(angle), np.cos(angle), 0.01])
    fields = Fields({"x": x, "v": v, "m": np.array([1.0] + [1e-4] * others)}, precision=precision)
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.0})])
    kepler = COORDINATES[coordinates](potential, MOTIONS[0], 0, "gravity", "G")
    return Integrator(System(potential, MOTIONS), NEAR_INTEGRABLE[kind], dt, part_flow=kepler)


# Lanes --------------------------------------------------------------------------------------------------


@either
@pytest.mark.parametrize("dt", [0.3, -0.3, 1.5, 40.0])
def test_lanes_are_bodies_one_by_one(coordinates, dt, monkeypatch):
    """Two blocks of bodies, the second with empty lanes, in steps of a twentieth of a period to several."""
    found = end(planets(dt, coordinates=coordinates), 4)
    monkeypatch.setattr(kepler_flow, "WIDE", 0)
    alone = end(planets(dt, coordinates=coordinates), 4)
    np.testing.assert_allclose(found, alone, rtol=0, atol=2e-15 * np.abs(alone).max() * max(1.0, abs(dt)))


def test_lanes_serve_steps_below_a_quarter_of_the_period(monkeypatch):
    """Longer steps are solved body by body; this solver returns NaN here."""
    monkeypatch.setattr(
        KeplerFlow, "_solve_text", lambda self: "kF = ti.math.nan\nkg = kF\nkFd = kF\nkGd = kF\n"
    )
    assert np.isfinite(end(planets(1.2), 2)).all()
    with pytest.raises(NonFiniteError):
        planets(2.4).advance(2)


# Sums ---------------------------------------------------------------------------------------------------


@either
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_sums_are_compensated(launches, coordinates, precision):
    """Their errors are not optimised away: several are not zero, and all at most half a digit of the sum."""
    one = planets(0.3, others=3, coordinates=coordinates, precision=precision)
    one.advance(5)
    for n in "xv":
        rest = storage.host(one.part_flow.rests[f"rest {n}"]).reshape(3, -1)[:, :4].T
        values = one.potential.fields[n].values
        assert (rest != 0.0).sum() >= 4
        assert (np.abs(rest) <= 0.5000001 * np.spacing(np.abs(values))).all()


def test_rounding_is_that_of_changes():
    """A body on a circle for 20 periods of a thousand steps: its radius stays to 3e-15."""
    x, v = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 1.0]])
    fields = Fields({"x": x, "v": v, "m": np.array([1.0, 1e-30])})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0})])
    kepler = COORDINATES["jacobi"](potential, MOTIONS[0], 0, "gravity", "G")
    one = Integrator(System(potential, MOTIONS), NEAR_INTEGRABLE["leapfrog"], 2e-3 * np.pi, part_flow=kepler)
    one.advance(20_000)
    away = fields["x"].values[1] - fields["x"].values[0]
    assert abs(np.linalg.norm(away) - 1.0) < 3e-15


def test_a_write_forgets_the_errors_of_sums():
    one = planets(0.3, others=3)
    one.advance(5)
    one.potential.fields["v"].set(one.potential.fields["v"].values)
    one.update()
    assert not any(storage.host(array).any() for array in one.part_flow.rests.values())


# Forces -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", NEAR_INTEGRABLE)
def test_forces_after_steps_are_those_of_the_present_positions(kind, launches):
    """Of schemes that end with a drift, too, whose steps need none there."""
    one = planets(0.2, others=3, kind=kind)
    one.advance(7)
    found = storage.host(one.gradient["x"]).copy()
    scale = np.abs(found).max()
    np.testing.assert_allclose(found, one.potential.gradient("x"), rtol=0, atol=1e-14 * scale)


def test_bits_of_drift_first_do_not_depend_on_the_cuts():
    assert_splits(lambda: planets(0.3, others=3, kind="aba_10_6_4"), 12)


def test_restored_goes_on_bit_for_bit():
    one = planets(0.3, others=3)
    one.advance(7)
    state, fields = one.state(), {n: f.values.copy() for n, f in one.potential.fields.items()}
    one.advance(5)
    other = planets(0.3, others=3)
    for name, values in fields.items():
        other.potential.fields[name].set(values)
    other.restore(state)
    other.advance(5)
    assert bits(other) == bits(one)
