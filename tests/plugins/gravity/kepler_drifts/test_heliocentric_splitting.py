"""Democratic heliocentric coordinates: orders in masses, no order of bodies, one body exact, refusals.

Order in dt, reversibility and derivatives are asked in `test_kepler_splitting`, beside Jacobi coordinates.
"""

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind, build
from minusgrad.errors import UserError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity
from minusgrad_gravity.kepler_drifts.central_mass import about
from tests.support.command import SCENES
from tests.support.kepler import MASSES, orbit

from .test_correctors import planets, worst
from .test_kepler_splitting import MOTIONS

SCENE = SCENES / "outer_solar_system.toml"


def in_heliocentric(one: Integrator, order=(0, 1, 2, 3)) -> Integrator:
    """The same bodies, in some order, beginning with node 0 as the dominant mass."""
    rows = np.array(order)
    fields = Fields({n: one.potential.fields[n].values[rows] for n in "xvm"})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.0})])
    kepler = about(potential, MOTIONS, int(np.argmin(rows)), coordinates="democratic_heliocentric")
    return Integrator(System(potential, MOTIONS), SCHEMES["leapfrog"], one.dt, part_flow=kepler)


def test_order_in_the_mass():
    """The energy's error is of the size of the other masses: in parts of these it stays."""
    large, small = (worst(in_heliocentric(planets(0.0625, size=s)), 96) / s for s in (1e-3, 1e-5))
    assert large / small == pytest.approx(1.0, rel=0.1)


def test_bodies_need_no_order():
    """The outermost body first, the dominant one last: the same to rounding."""
    one, other = in_heliocentric(planets(0.1)), in_heliocentric(planets(0.1), (3, 1, 2, 0))
    one.advance(50)
    other.advance(50)
    x, y = (found.potential.fields["x"].values for found in (one, other))
    np.testing.assert_allclose(y, x[[3, 1, 2, 0]], rtol=0, atol=1e-13)


def test_a_body_alone_is_exact_without_mass():
    """Jumps are of the size of its mass: Kepler's equation holds at any step for a grain."""
    x, v = orbit(0.0, 0.6)
    fields = Fields({"x": x[[1]] - x[[0]], "v": v[[1]] - v[[0]], "m": MASSES[:1]})
    x, v = (np.concatenate([np.zeros((1, 2)), fields[n].values]) for n in "xv")
    fields = Fields({"x": x, "v": v, "m": np.array([1.0, 1e-20])})
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0})])
    kepler = about(potential, MOTIONS, 0, coordinates="democratic_heliocentric")
    one = Integrator(System(potential, MOTIONS), SCHEMES["leapfrog"], 5.3, part_flow=kepler)
    one.advance(2)
    end = orbit(10.6, 0.6)[0]
    np.testing.assert_allclose(fields["x"].values[1], end[1] - end[0], rtol=0, atol=1e-12)


def test_momentum_and_centre_of_mass():
    """The centre of mass moves on a line, to rounding."""
    one = in_heliocentric(planets(0.1))
    x, v, m = (one.potential.fields[n] for n in "xvm")
    momentum, place = m.values @ v.values, m.values @ x.values
    one.advance(100)
    np.testing.assert_allclose(m.values @ v.values, momentum, rtol=0, atol=1e-14)
    np.testing.assert_allclose(m.values @ x.values, place + one.time * momentum, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"scheme": "aba_10_6_4"}, "have no exact drifts, got a scheme that needs them; use leapfrog"),
        ({"corrector": 5}, "a corrector needs exact drifts, got democratic heliocentric coordinates"),
    ],
)
def test_refusals(more, said):
    stepper = {"kind": "wisdom_holman", "coordinates": "democratic_heliocentric", "dt": "50 day"}
    with pytest.raises(UserError, match=said):
        build(SCENE, {"stepper": stepper | more})


def test_outer_solar_system():
    """In steps of 50 days over 400 years the energy's error stays below 1e-6, as in Jacobi coordinates."""
    stepper = {"kind": "wisdom_holman", "coordinates": "democratic_heliocentric", "dt": "50 day"}
    assert worst(build(SCENE, {"stepper": stepper}).stepper, 2920) < 1e-6
