"""Symplectic correctors: their equations, orders of the energy's error, bits, and refusals."""

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind, build
from minusgrad.errors import EnergyError, UserError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity
from minusgrad_gravity.kepler_drifts.corrected_integrator import CorrectedIntegrator
from minusgrad_gravity.kepler_drifts.correctors import ORDERS, bernoulli, coefficients, corrector
from minusgrad_gravity.kepler_drifts.kepler_splitting import KeplerSplitting
from minusgrad_gravity.kepler_drifts.near_integrable import NEAR_INTEGRABLE
from tests.support.command import SCENES
from tests.support.laws import assert_splits, bits, energy, fitted_order

from .test_kepler_splitting import MOTIONS

SCENE = SCENES / "outer_solar_system.toml"


def planets(dt: float, order: int | None = None, size: float = 1e-3) -> Integrator:
    """Three bodies about one, nearly on circles, with masses of that size and a corrector of that order."""
    radius, angle = np.array([1.0, 1.9, 3.1]), np.array([0.3, 2.0, 4.1])
    flat, turned = [np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]
    x, v = np.zeros((4, 3)), np.zeros((4, 3))
    x[1:] = radius[:, None] * np.stack([*flat, 0.02 * np.cos(angle)], 1)
    v[1:] = radius[:, None] ** -0.5 * np.stack([*turned, -0.02 * np.sin(angle)], 1)
    fields = Fields({"x": x, "v": v, "m": np.array([1.0, size, 2.0 * size, 0.5 * size])})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.0})])
    kepler, leapfrog = KeplerSplitting(potential, MOTIONS[0], 0, "gravity", "G"), NEAR_INTEGRABLE["leapfrog"]
    if order is None:
        return Integrator(System(potential, MOTIONS), leapfrog, dt, part_flow=kepler)
    return CorrectedIntegrator(System(potential, MOTIONS), leapfrog, dt, order, kepler)


def corrected(dt: float, order: int, size: float = 1e-3) -> CorrectedIntegrator:
    one = planets(dt, order, size)
    assert isinstance(one, CorrectedIntegrator)
    return one


def worst(one, steps: int, looks: int = 8) -> float:
    """The largest relative error of the energy at some looks."""
    start, found = energy(one), 0.0
    for _ in range(looks):
        one.advance(steps // looks)
        found = max(found, abs(energy(one) / start - 1.0))
    return found


@pytest.mark.unit
def test_bernoulli_numbers():
    found = [float(bernoulli(n)) for n in (0, 2, 4, 6, 8)]
    assert found == pytest.approx([1.0, 1 / 6, -1 / 30, 1 / 42, -1 / 30], rel=1e-15)


@pytest.mark.unit
@pytest.mark.parametrize("order", ORDERS)
def test_coefficients_are_those_of_the_series(order):
    """2 sum b sin(a y) is 1/y - cot(y/2)/2 up to y^(2n-1): the next power is the error."""
    a, b = (np.array(row) for row in coefficients(order))

    def off(y: float) -> float:
        return abs(2.0 * (b * np.sin(a * y)).sum() - (1.0 / y - 0.5 / np.tan(0.5 * y)))

    n = ORDERS[order]
    low, high = (0.2, 0.4) if n < 3 else (1.0, 1.5) if n < 8 else (1.8, 2.4)
    assert np.log(off(high) / off(low)) / np.log(high / low) == pytest.approx(2 * n + 1, abs=0.6)


@pytest.mark.unit
@pytest.mark.parametrize("order", ORDERS)
def test_rows_sum_to_nothing_and_undo_each_other(order):
    there, back = corrector(order)
    assert sum(there.kicks) == pytest.approx(0.0, abs=1e-15)
    assert sum(there.drifts) == pytest.approx(0.0, abs=1e-14)
    assert back.kicks == tuple(-one for one in there.kicks[::-1])
    assert back.drifts == tuple(-one for one in there.drifts[::-1])


@pytest.mark.parametrize(
    ("order", "slope", "steps"), [(3, 4.0, (32, 64)), (5, 6.0, (24, 32)), (7, 8.0, (16, 24))]
)
def test_order_in_dt(order, slope, steps):
    """Of the energy's error beside masses of 1e-6, where e^2 dt^2 is nothing."""
    found = [worst(corrected(6.0 / n, order, 1e-6), n) for n in steps]
    assert fitted_order(found, steps) == pytest.approx(slope, abs=0.7)


def test_order_in_the_mass():
    """With a corrector the error falls as the square of the mass ratio; without as the ratio."""
    large, small = (worst(corrected(0.0625, 11, s), 96) / s for s in (1e-3, 1e-4))
    assert large / small == pytest.approx(10.0, rel=0.1)
    large, small = (worst(planets(0.0625, size=s), 96) / s for s in (1e-3, 1e-4))
    assert large / small == pytest.approx(1.0, rel=0.1)


def test_outer_solar_system():
    """In steps of 50 days over 400 years the energy's error falls from 3e-7 to 1e-10."""
    one = build(SCENE, {"stepper": {"kind": "wisdom_holman", "corrector": 17, "dt": "50 day"}})
    assert worst(one.stepper, 2920) < 2e-10


def test_bits_do_not_depend_on_the_cuts():
    assert_splits(lambda: corrected(0.05, 5), 12)


def test_restored_goes_on_bit_for_bit():
    one = corrected(0.05, 5)
    one.advance(7)
    state, fields = one.state(), {n: f.values.copy() for n, f in one.potential.fields.items()}
    one.advance(5)
    other = corrected(0.05, 5)
    for name, values in fields.items():
        other.potential.fields[name].set(values)
    other.restore(state)
    other.advance(5)
    assert bits(other) == bits(one)


def test_names_of_a_state_are_no_groups():
    """A checkpoint cannot hold an array "a" beside "a/b"."""
    names = [*corrected(0.05, 5).state()]
    assert not [(a, b) for a in names for b in names if b.startswith(f"{a}/")]


def test_looks_change_nothing():
    """Fields are physical after each call; the corrected coordinates are those of no call at all."""
    one, other = corrected(0.05, 7), corrected(0.05, 7)
    one.advance(12)
    for _ in range(12):
        other.advance(1)
    assert bits(other) == bits(one)
    plain = planets(0.05)
    plain.advance(12)
    assert (plain.potential.fields["x"].values != one.potential.fields["x"].values).any()


def test_a_write_is_taken_for_physical_coordinates():
    """Turned round, the bodies come back to where they began."""
    one = corrected(0.05, 7)
    x, v = (one.potential.fields[n] for n in "xv")
    start = x.values.copy()
    one.advance(10)
    v.set(-v.values)
    one.advance(10)
    np.testing.assert_allclose(x.values, start, rtol=0, atol=1e-11)


def test_another_dt_begins_with_its_own_corrector():
    """From the physical coordinates, as a new stepper at that place does, bit for bit."""
    one = corrected(0.3, 5)
    one.advance(3)
    other = corrected(0.1, 5)
    for name in "xv":
        other.potential.fields[name].set(one.potential.fields[name].values)
    one.dt = 0.1
    one.advance(4)
    other.advance(4)
    for name in "xv":
        assert one.potential.fields[name].values.tobytes() == other.potential.fields[name].values.tobytes()


# Refusals -----------------------------------------------------------------------------------------------


def test_another_scheme_is_refused():
    stepper = {"kind": "wisdom_holman", "corrector": 17, "scheme": "aba_8_6_4", "dt": "50 day"}
    with pytest.raises(UserError, match="a corrector is that of leapfrog, got another scheme"):
        build(SCENE, {"stepper": stepper})


def test_other_orders_are_refused():
    with pytest.raises(EnergyError) as caught:
        corrected(0.1, 4)
    assert str(caught.value) == ("wisdom_holman: `corrector` is an order, got 4; use one of 3, 5, 7, 11, 17")


def test_runs_have_no_derivatives():
    with pytest.raises(EnergyError, match='got order 5; leave `corrector` out, or use scheme = "aba_10_6_4"'):
        corrected(0.1, 5).differentiable()
