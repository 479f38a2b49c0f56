"""Orbits by their elements, the forces about a central mass, and drags, against secular theory on paper."""

import numpy as np
import pytest

import minusgrad
from minusgrad import Fields, Motion, Potential, bind
from minusgrad.app.runs import build
from minusgrad.errors import UserError
from minusgrad.files import trajectory
from minusgrad.plot.pictures import plot
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.gauss_radau.gauss_radau import GaussRadau
from minusgrad_gravity.about_a_mass import oblateness, post_newtonian, radiation_pressure
from minusgrad_gravity.drags import gas_drag, poynting_robertson
from minusgrad_gravity.gravity import gravity
from minusgrad_gravity.kepler_drifts.central_mass import about
from minusgrad_gravity.kepler_drifts.near_integrable import NEAR_INTEGRABLE
from minusgrad_gravity.orbital_elements import Elements, eccentric_anomaly

MOTIONS = [Motion("x", "v", "m")]
K2 = 0.01720209895**2
"""G in AU, Msun and days, of Gauss."""
PAIRS = [[0, 1]]


def pair(elements: Elements, G: float = 1.0, small: float = 1e-12) -> Fields:
    """A unit mass at rest and a light body on its orbit."""
    x, v = elements.state(G * (1.0 + small))
    zero = np.zeros(3)
    return Fields({"x": np.array([zero, x]), "v": np.array([zero, v]), "m": np.array([1.0, small])})


def now(fields: Fields, G: float = 1.0) -> Elements:
    x, v, m = (fields[n].values for n in "xvm")
    return Elements.of(x[1] - x[0], v[1] - v[0], G * m.sum())


def moving(potential: Potential, dt: float, lost: Potential | None = None) -> Integrator:
    """Wisdom and Holman's splitting about the first body."""
    scheme, kepler = NEAR_INTEGRABLE["aba_8_6_4"], about(potential, MOTIONS, 0)
    return Integrator(System(potential, MOTIONS, dissipation=lost), scheme, dt, part_flow=kepler)


def turned(angle: float) -> float:
    """An angle between -pi and pi."""
    return float((angle + np.pi) % (2.0 * np.pi) - np.pi)


# Elements -----------------------------------------------------------------------------------------------


@pytest.mark.unit
def test_elements_and_states_are_inverse():
    rng = np.random.default_rng(5)
    for k in range(200):
        e = rng.uniform(0.01, 0.98) if k % 2 else rng.uniform(1.02, 4.0)
        anomaly = rng.uniform(0.0, 6.2) if e < 1.0 else rng.normal() * 3.0
        a = rng.uniform(0.5, 3.0) * np.sign(1.0 - e)
        one = Elements(a, e, rng.uniform(0.05, 3.0), *rng.uniform(0.0, 6.2, 2), anomaly)
        x, v = one.state(1.3)
        assert 0.5 * v @ v - 1.3 / np.linalg.norm(x) == pytest.approx(-0.65 / a, rel=1e-10)
        back = Elements.of(x, v, 1.3)
        for name in ("semi_major_axis", "eccentricity", "inclination", "node", "pericentre", "mean_anomaly"):
            assert getattr(back, name) == pytest.approx(getattr(one, name), rel=1e-9, abs=1e-9)


@pytest.mark.unit
@pytest.mark.parametrize("e", [0.0, 0.5, 0.999])
def test_keplers_equation(e):
    for mean in np.linspace(-7.0, 20.0, 50):
        anomaly = eccentric_anomaly(mean, e)
        assert anomaly - e * np.sin(anomaly) == pytest.approx(mean, abs=1e-13)


# About a central mass -----------------------------------------------------------------------------------


def test_perihelion_of_mercury():
    """42.98 arcsec a century, to 0.1 %: 6 pi G M / (c^2 a (1 - e^2)) an orbit."""
    fields = pair(Elements(0.38709893, 0.20563069), G=K2, small=1.66e-7)
    c = 299792458.0 * 86400.0 / 149597870700.0
    terms = [
        bind(gravity, fields, parameters={"G": K2}),
        bind(post_newtonian, fields, tuples=PAIRS, parameters={"G": K2, "c": c}),
    ]
    potential = Potential(fields, terms)
    period = 2.0 * np.pi * np.sqrt(0.38709893**3 / (K2 * (1.0 + 1.66e-7)))
    one = moving(potential, period / 20.0)
    one.advance(20 * 415)  # whole orbits, because osculating elements swing by 0.1 arcsec in one
    found = turned(now(fields, K2).pericentre) * 648000.0 / np.pi * 36525.0 / one.time
    assert found == pytest.approx(42.98, rel=1e-3)


def test_oblateness_turns_node_and_pericentre():
    """The secular rates of Kaula and Brouwer: -3/2 n J2 (R/p)^2 cos i, 3/4 n J2 (R/p)^2 (5 cos^2 i - 1)."""
    e, i, J2, R = 0.2, 0.7, 1e-5, 0.5
    fields = pair(Elements(1.0, e, i, 1.0, 0.5, 0.0))
    given = {"G": 1.0, "J2": J2, "radius": R, "axis": [0.0, 0.0, 2.0]}
    terms = [
        bind(gravity, fields, parameters={"G": 1.0}),
        bind(oblateness, fields, tuples=PAIRS, parameters=given),
    ]
    turns = 20
    moving(Potential(fields, terms), 0.02 * np.pi).advance(100 * turns)
    rate = J2 * (R / (1.0 - e * e)) ** 2 * 2.0 * np.pi * turns
    after = now(fields)
    assert after.node - 1.0 == pytest.approx(-1.5 * rate * np.cos(i), rel=1e-2)
    assert after.pericentre - 0.5 == pytest.approx(0.75 * rate * (5.0 * np.cos(i) ** 2 - 1.0), rel=1e-2)


def test_light_weakens_gravity():
    """A grain with beta = 0.3 moves as about 0.7 of the mass."""
    fields, beta = pair(Elements(1.0, 0.0)), 0.3
    terms = [
        bind(gravity, fields, parameters={"G": 1.0}),
        bind(radiation_pressure, fields, tuples=PAIRS, parameters={"G": 1.0, "beta": beta}),
    ]
    before = now(fields, 1.0 - beta)
    GaussRadau(System(Potential(fields, terms), MOTIONS), 3.0).advance(1)
    after = now(fields, 1.0 - beta)
    assert after.semi_major_axis == pytest.approx(before.semi_major_axis, rel=1e-11)
    assert after.eccentricity == pytest.approx(beta / (1.0 - beta), rel=1e-10)


def test_poynting_robertson_drag_shrinks_orbits():
    """On circles da/dt = -2 b G M / (c a) (Burns, Lamy & Soter 1979): a^2 falls linearly."""
    fields, beta, c = pair(Elements(1.0, 0.0)), 0.2, 1e4
    drag = bind(poynting_robertson, fields, tuples=PAIRS, parameters={"G": 1.0, "c": c, "beta": beta})
    term = bind(gravity, fields, parameters={"G": 1.0})
    lost = Potential(fields, [drag])
    one = moving(Potential(fields, [term]), 0.1, lost)
    one.advance(1000)
    assert now(fields).semi_major_axis ** 2 == pytest.approx(1.0 - 4.0 * beta / c * one.time, rel=1e-6)


def test_gas_drag_circularises():
    """A body with the gas feels nothing; one on an ellipse, or across the plane, loses both."""
    for elements in (Elements(1.0, 0.0), Elements(1.0, 0.2, 0.1)):
        fields = pair(elements)
        drag = bind(gas_drag, fields, tuples=PAIRS, parameters={"G": 1.0, "k": 3e-13})
        term = bind(gravity, fields, parameters={"G": 1.0})
        lost = Potential(fields, [drag])
        moving(Potential(fields, [term]), 0.1, lost).advance(200)
        after = now(fields)
        if elements.eccentricity == 0.0:
            assert after.semi_major_axis == pytest.approx(1.0, rel=1e-10)
        else:
            assert after.eccentricity < 0.7 * elements.eccentricity
            assert after.inclination < 0.9 * elements.inclination


# Scenes -------------------------------------------------------------------------------------------------

SCENE = """
title = "A planet and a comet"
plugins = ["gravity"]
[units]
length = "AU"
mass = "Msun"
time = "yr"
[state]
kind = "orbits"
central = { name = "sun", mass = "1 Msun" }
G = "6.67430e-11 m^3 kg^-1 s^-2"
[[state.bodies]]
name = "planet"
mass = "1e-4 Msun"
semi_major_axis = "1 AU"
eccentricity = 0.1
pericentre = "30 deg"
[[state.bodies]]
name = "comet"
mass = "1e-10 Msun"
semi_major_axis = "-2 AU"
eccentricity = 1.5
inclination = "20 deg"
mean_anomaly = -1.0
[[energy]]
kind = "gravity"
[[energy]]
kind = "post_newtonian"
tuples = [[0, 1], [0, 2]]
[[dissipation]]
kind = "poynting_robertson"
tuples = [[0, 2]]
beta = 1e-3
[stepper]
kind = "wisdom_holman"
dt = "1 day"
[run]
steps = 20
[[observe]]
kind = "orbital_elements"
every = 10
G = "6.67430e-11 m^3 kg^-1 s^-2"
[[observe]]
kind = "closest_approach"
every = 2
"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "orbits.toml"
    path.write_text(SCENE)
    return path


def test_a_scene_of_orbits(scene, tmp_path):
    run = minusgrad.run(scene, out=tmp_path / "run")
    orbit = run.series("observables/orbit/planet").value
    np.testing.assert_allclose(orbit[0][[0, 1, 4]], [1.0, 0.1, np.pi / 6.0], rtol=1e-6)
    comet = run.series("observables/orbit/comet").value
    np.testing.assert_allclose(comet[:, :3], [[-2.0, 1.5, np.pi / 9.0]] * 3, rtol=1e-3)
    least = run.series("observables/closest_approach").value
    assert [path.stem for path in plot(tmp_path / "run")] == [
        "orbital_elements",
        "closest_approach",
        "observables",
    ]
    assert trajectory.symbols(tmp_path / "run", "observables/closest_approach") == ("AU", "yr")
    assert (np.diff(least) <= 0.0).all()
    x, m = run.simulation.fields["x"].values, run.simulation.fields["m"].values
    assert np.abs(m @ x).max() < 1e-12


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (
            "state.bodies.1.eccentricity",
            0.5,
            "body 'comet': the semi-major axis is positive for",
        ),
        ("state.bodies.1.name", "planet", "bodies: a second body is named 'planet'; rename one"),
        (
            "observe.0.central",
            3,
            "orbital_elements: `central` is a node from 0 to 2, got 3; give one of these",
        ),
    ],
)
def test_refusals(scene, key, value, said):
    with pytest.raises(UserError) as caught:
        build(scene, {key: value})
    assert said in str(caught.value)
