"""The gravity about a dominant mass is recognised by its values; scenes without one are refused by name."""

from functools import partial

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind, build
from minusgrad.errors import EnergyError, UserError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import Scheme
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity
from minusgrad_gravity.kepler_drifts.central_mass import about
from tests.support.command import SCENES
from tests.support.laws import energy

SCENE = SCENES / "outer_solar_system.toml"
MOTIONS = [Motion("x", "v", "m")]


def bodies(*terms, m=(0.2, 5.0, 0.1)) -> Potential:
    rng = np.random.default_rng(4)
    fields = Fields({"x": rng.normal(size=(3, 2)), "v": np.zeros((3, 2)), "m": np.array(m)})
    return Potential(fields, [term(fields) for term in terms])


pull = partial(bind, gravity, parameters={"G": 2.0})
soft = partial(bind, gravity, name="soft", parameters={"G": 2.0, "softening": 0.1})


def test_gravity_is_found_beside_another_energy():
    found = about(bodies(soft, pull), MOTIONS, 1)
    assert (found.term, found.strength, found.central) == ("gravity", "gravity.G", 1)


@pytest.mark.parametrize(
    ("terms", "central", "energy", "said"),
    [
        (
            [soft],
            1,
            None,
            "wisdom_holman: no energy is -G m_i m_j / r between all 3 bodies, got 'soft'; set its softening"
            " to 0, or use gauss_radau",
        ),
        (
            [pull, partial(pull, name="more")],
            1,
            None,
            "wisdom_holman: several energies are -G m_i m_j / r between all 3 bodies, got 'gravity' and"
            " 'more'; name one by `energy`",
        ),
        (
            [pull],
            0,
            None,
            "wisdom_holman: the central mass must be larger than all others together, got 0.2 and 5.1; use"
            " gauss_radau, or another `central`",
        ),
        ([pull], 3, None, "wisdom_holman: `central` is a node from 0 to 2, got 3; give one of these"),
        (
            [pull],
            1,
            "gravty",
            "wisdom_holman: no energy is named 'gravty'; did you mean 'gravity'? (there are: gravity)",
        ),
    ],
)
def test_refusals(terms, central, energy, said):
    with pytest.raises(EnergyError) as caught:
        about(bodies(*terms), MOTIONS, central, energy)
    assert str(caught.value) == said


@pytest.mark.parametrize("coordinates", ["jacobi", "democratic_heliocentric"])
def test_bodies_in_one_place_are_refused(coordinates):
    potential = bodies(pull)
    x = potential.fields["x"]
    x.set(x.values[[0, 1, 1]])
    with pytest.raises(EnergyError, match="apart from each other, got nodes 1 and 2 in the same place; move"):
        about(potential, MOTIONS, 1, coordinates=coordinates)


def test_a_scene():
    """A century of the outer solar system in 100 steps: 1e-9 AU of REBOUND's IAS15."""
    stepper = {"kind": "wisdom_holman", "scheme": "aba_10_6_4", "dt": "365.25 day"}
    one = build(SCENE, {"stepper": stepper})
    one.stepper.advance(100)
    path = SCENES / "data" / "outer_solar_system_100yr.csv"
    theirs = np.loadtxt(path, delimiter=",", skiprows=2, usecols=(2, 3, 4))
    assert np.abs(one.fields["x"].values - theirs).max() < 1e-9


def test_energy_for_10_000_years():
    """The relative energy error is 2e-15, in steps of a quarter of a year: sums are compensated."""
    stepper = {"kind": "wisdom_holman", "scheme": "aba_10_6_4", "dt": "91.3125 day"}
    one = build(SCENE, {"stepper": stepper})
    start = energy(one.stepper)
    one.stepper.advance(40_000)
    assert abs(energy(one.stepper) / start - 1.0) < 1e-14


def test_energy_for_100_000_years():
    """In steps of 200 days it stays to 1e-13: rounding has no bias, of which 1e-20 a drift would show."""
    stepper = {"kind": "wisdom_holman", "scheme": "aba_10_6_4", "dt": "200 day"}
    one = build(SCENE, {"stepper": stepper})
    start = energy(one.stepper)
    one.stepper.advance(182_625)
    assert abs(energy(one.stepper) / start - 1.0) < 1e-13


def test_a_scene_with_softening_is_refused():
    with pytest.raises(UserError, match="no energy is -G m_i m_j / r"):
        build(SCENE, {"stepper": {"kind": "wisdom_holman", "dt": "5 day"}, "energy.0.softening": "0.1 AU"})


def test_whfast():
    """Drift, kick, drift is the map of REBOUND's WHFast: 1e-11 AU after 1,000 steps of 50 days."""
    rebound = pytest.importorskip("rebound")
    one = build(SCENE, {"stepper": {"kind": "wisdom_holman", "dt": "50 day"}})
    x, v, m = (one.fields[n].values.copy() for n in "xvm")
    made, theirs = one.stepper, rebound.Simulation()
    drift_first = Scheme(2, (0.0, 1.0, 0.0), (0.5, 0.5))
    Integrator(System(made.potential, made.motions), drift_first, made.dt, part_flow=made.part_flow).advance(
        1000
    )
    theirs.G, theirs.dt = 0.00029591220828559115, 50.0
    theirs.integrator = "whfast"
    for place, speed, mass in zip(x, v, m, strict=True):
        theirs.add(m=mass, x=place[0], y=place[1], z=place[2], vx=speed[0], vy=speed[1], vz=speed[2])
    theirs.steps(1000)
    theirs.synchronize()
    np.testing.assert_allclose(one.fields["x"].values, [p.xyz for p in theirs.particles], rtol=0, atol=1e-11)
