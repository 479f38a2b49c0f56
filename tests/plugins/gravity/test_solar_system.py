"""The table of the Solar System against published elements, mass ratios, and DE430 itself 30 years later."""

from typing import get_args

import numpy as np
import pytest

import minusgrad
from minusgrad.app.runs import build
from minusgrad.errors import UserError
from minusgrad_gravity.orbital_elements import Elements
from minusgrad_gravity.planets.solar_system import PLANETS, Name, barycentre, ecliptic, table

G = 0.00029591220828559115
EPOCH, J2000 = 2440400.5, 2451545.0
SCENE = f"""
title = "The Solar System"
plugins = ["gravity"]
[units]
length = "AU"
mass = "Msun"
time = "day"
[state]
kind = "solar_system"
G = "{G} AU^3 Msun^-1 day^-2"
[[energy]]
kind = "gravity"
G = "{G} AU^3 Msun^-1 day^-2"
[stepper]
kind = "gauss_radau"
dt = "365.256363 day"
[run]
steps = 1
"""
RATIOS = {
    "mercury": (6.0236e6, 3e2),
    "venus": (4.08523719e5, 8e-3),
    "mars": (3.09870359e6, 2.0),
    "jupiter": (1.047348644e3, 1.7e-5),
    "saturn": (3.4979018e3, 1e-4),
    "uranus": (2.290298e4, 3e-2),
    "neptune": (1.941226e4, 3e-2),
    "ceres": (1.0 / 4.72e-10, 0.03e-10 / 4.72e-10**2),
    "pallas": (1.0 / 1.03e-10, 0.03e-10 / 1.03e-10**2),
    "vesta": (1.0 / 1.35e-10, 0.03e-10 / 1.35e-10**2),
}
"""The Sun's mass over each body's, with its standard error: Luzum et al. 2011, CMDA 110, 293 (IAU 2009).

Without Pluto, whose mass was revised by 0.5 % since.
"""
STANDISH = {
    "mercury": "0.38709927 0.20563593 7.00497902 252.25032350 77.45779628 48.33076593"
    " 3.7e-7 1.906e-5 -0.00594749 149472.67411175 0.16047689 -0.12534081 15",
    "venus": "0.72333566 0.00677672 3.39467605 181.97909950 131.60246718 76.67984255"
    " 3.9e-6 -4.107e-5 -0.00078890 58517.81538729 0.00268329 -0.27769418 20",
    "earth_moon": "1.00000261 0.01671123 -0.00001531 100.46457166 102.93768193 0"
    " 5.62e-6 -4.392e-5 -0.01294668 35999.37244981 0.32327364 0 20",
    "mars": "1.52371034 0.09339410 1.84969142 -4.55343205 -23.94362959 49.55953891"
    " 1.847e-5 7.882e-5 -0.00813131 19140.30268499 0.44441088 -0.29257343 40",
    "jupiter": "5.20288700 0.04838624 1.30439695 34.39644051 14.72847983 100.47390909"
    " -1.1607e-4 -1.3253e-4 -0.00183714 3034.74612775 0.21252668 0.20469106 400",
    "saturn": "9.53667594 0.05386179 2.48599187 49.95424423 92.59887831 113.66242448"
    " -0.00125060 -5.0991e-4 0.00193609 1222.49362201 -0.41897216 -0.28867794 600",
    "uranus": "19.18916464 0.04725744 0.77263783 313.23810451 170.95427630 74.01692503"
    " -0.00196176 -4.397e-5 -0.00242939 428.48202785 0.40805281 0.04240589 50",
    "neptune": "30.06992276 0.00859048 1.77004347 -55.12002969 44.96476227 131.78422574"
    " 2.6291e-4 5.105e-5 0.00035372 218.45945325 -0.32241464 -0.00508664 10",
    "pluto": "39.48211675 0.24882730 17.14001206 238.92903833 224.06891629 110.30393684"
    " -3.1596e-4 5.170e-5 0.00004818 145.20780515 -0.04062942 -0.01183482 5",
}
"""a [AU], e, I, mean longitude, longitudes of perihelion and node [deg], rates a century; error [arcsec].

Standish & Williams, Approximate Positions of the Planets (JPL), elements of 1800 to 2050 from J2000.
"""
PERIODS = dict(
    zip(STANDISH, (87.969, 224.701, 365.256, 686.98, 4332.6, 10759.2, 30688.5, 60182.0, 90560.0), strict=True)
)


IN_2000 = {
    "mercury": "-0.13723006082208306 -0.40324074455133690 -0.20141225082211953",
    "venus": "-0.72543875152346327 -0.04892127039980406 0.02371768992834323",
    "earth": "-0.18427155500339445 0.88478149910723403 0.38381995014030018",
    "moon": "-0.18622083665707945 0.88299860719705603 0.38331123644228166",
    "mars": "1.38357946654687410 -0.00124580491369835 -0.03788311555212615",
    "jupiter": "3.99404067218847290 2.73393183497305350 1.07458913168805510",
    "saturn": "6.39927240197796010 6.17201077346810760 2.27384783330216010",
    "uranus": "14.42472018423088200 -12.50891410647407100 -5.68261245830059280",
    "neptune": "16.80490957344363100 -22.98274769388806900 -9.82535018774471960",
    "pluto": "-9.88249016592198260 -27.98151654683100600 -5.75461349042144830",
}
"""Barycentric places [AU] of DE430 on 1 January 2000, 12h TDB, along the axes of the ICRF; and the Sun's."""
SUN_IN_2000 = "-0.00713645519999074 -0.00264702332822050 -0.00092294847095862"


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "solar_system.toml"
    path.write_text(SCENE)
    return path


# The table ----------------------------------------------------------------------------------------------


@pytest.mark.unit
def test_every_name_has_a_row():
    assert set(get_args(Name)) == set(table())
    assert set(PLANETS) < set(table())


@pytest.mark.unit
def test_mass_ratios():
    sun = table()["sun"][0]
    for name, (ratio, error) in RATIOS.items():
        assert sun / table()[name][0] == pytest.approx(ratio, abs=2.0 * error), name
    assert table()["moon"][0] / table()["earth"][0] == pytest.approx(1.23000371e-2, abs=8e-10)
    assert sun == pytest.approx(0.01720209895**2, rel=1e-14)


@pytest.mark.unit
def test_the_barycentre_is_at_rest_at_the_origin():
    """Up to the smaller asteroids, which the table does not have."""
    GM, x, v = zip(*(table()[name] for name in (*PLANETS, "ceres", "pallas", "vesta", "hygiea")), strict=True)
    assert np.abs(np.array(GM) @ np.array(x)).max() < 1e-9 * sum(GM)
    assert np.abs(np.array(GM) @ np.array(v)).max() < 1e-12 * sum(GM)


@pytest.mark.unit
def test_earth_and_moon():
    """Tables 5 and 6 of the source: their barycentre, and the Moon from the Earth."""
    _, x, v = table()["earth_moon"]
    given = "0.12051741410138465477 -0.92583847476914859295 -0.40154022645315222236"
    np.testing.assert_allclose(x, np.array(given.split(), float), rtol=0, atol=3e-16)
    given = "0.01681126830978379448 0.00174830923073434441 0.00075820289738312913"
    np.testing.assert_allclose(v, np.array(given.split(), float), rtol=0, atol=1e-17)
    given = "-0.00080817735147818490 -0.00199462998549701300 -0.00108726268307068900"
    apart = table()["moon"][1] - table()["earth"][1]
    np.testing.assert_allclose(apart, np.array(given.split(), float), rtol=0, atol=3e-16)


@pytest.mark.unit
@pytest.mark.parametrize("name", STANDISH)
def test_elements_at_the_epoch(name):
    """In the ecliptic, within three of the errors that the published elements state."""
    *given, error = map(float, STANDISH[name].split())
    a, e, i, longitude, perihelion, node = np.array(given[:6]) + (EPOCH - J2000) / 36525.0 * np.array(
        given[6:]
    )
    angles = np.deg2rad([i, node, perihelion - node, longitude - perihelion])
    (sun, x_sun, v_sun), (GM, x, v) = table()["sun"], table()[name]
    x, v = ecliptic() @ (x - x_sun), ecliptic() @ (v - v_sun)
    expected, _ = Elements(a, e, *angles).state(sun + GM)
    apart = np.linalg.norm(x / np.linalg.norm(x) - expected / np.linalg.norm(expected))
    assert apart < 3.0 * np.deg2rad(error / 3600.0)
    assert np.linalg.norm(x) == pytest.approx(np.linalg.norm(expected), rel=1e-3)
    assert np.rad2deg(Elements.of(x, v, sun + GM).inclination) == pytest.approx(i, abs=0.01)


@pytest.mark.unit
def test_periods():
    """Kepler's third law about the barycentre of all that is inside."""
    inside = [table()["sun"]]
    for name, period in PERIODS.items():
        GM, x, v = table()[name]
        M, place, speed = barycentre(*inside)
        a = Elements.of(x - place, v - speed, M + GM).semi_major_axis
        assert 2.0 * np.pi * np.sqrt(a**3 / (M + GM)) == pytest.approx(period, rel=1e-3), name
        inside.append(table()[name])


# Scenes -------------------------------------------------------------------------------------------------


def test_a_state_in_other_units(scene, tmp_path):
    """In SI the products G m are those in AU and days; the whole is at rest at the origin."""
    astronomical = build(scene).fields
    scene.write_text(
        scene.read_text().replace('"AU"', '"m"').replace('"Msun"', '"kg"').replace('"day"', '"s"')
    )
    fields = build(scene, {"state.G": 6.6743e-11, "energy.0.G": 6.6743e-11, "stepper.dt": 1e7}).fields
    au, day = 149597870700.0, 86400.0
    x, v, m = (fields[n].values for n in "xvm")
    np.testing.assert_allclose(6.6743e-11 * m, G * astronomical["m"].values * au**3 / day**2, rtol=1e-14)
    np.testing.assert_allclose(x, astronomical["x"].values * au, rtol=1e-14)
    np.testing.assert_allclose(v, astronomical["v"].values * au / day, rtol=1e-14)
    for part in (x, v):
        assert np.abs(m @ part).max() < 1e-15 * (m @ np.abs(part)).max()


@pytest.mark.parametrize(("others", "apart"), [([], 1e-5), (["jupiter"], 2e-4)])
def test_a_year(scene, others, apart):
    """The Earth with its Moon is back where it was, in the ecliptic."""
    one = build(scene, {"state.bodies": ["sun", "earth_moon", *others]})
    before = one.fields["x"].values.copy()
    assert abs(before[1, 2] - before[0, 2]) < 1e-4
    one.stepper.advance(1)
    moved = one.fields["x"].values - before
    assert np.linalg.norm(moved[1] - moved[0]) < apart


def test_1969_to_2000(scene):
    """DE430 after 30 years, along the axes of the ICRF: what is left are relativity and small forces.

    Mercury's mean motion and perihelion in relativity make the largest difference, 5,000 km.
    """
    step = {"stepper.dt": J2000 - EPOCH, "state.frame": "icrf", "state.bodies": [*PLANETS]}
    one = build(scene, step)
    one.stepper.advance(1)
    x = one.fields["x"].values - one.fields["x"].values[0]
    sun = np.array(SUN_IN_2000.split(), float)
    apart = {
        name: np.linalg.norm(x[PLANETS.index(name)] - (np.array(text.split(), float) - sun))
        for name, text in IN_2000.items()
    }
    assert max(apart.values()) < 4e-5
    assert max(apart[name] for name in ("jupiter", "saturn", "uranus", "neptune", "pluto")) < 1e-6


@pytest.mark.parametrize(
    ("bodies", "said"),
    [
        (["sun", "plut"], "not 'plut'; did you mean 'pluto'?"),
        (["sun", "mars", "mars"], "solar_system: body 'mars' is named twice; leave one out"),
        (["sun", "earth"], "solar_system: Earth and Moon go together, got 'earth' alone; name both, or"),
        (["sun", "moon", "earth_moon"], "solar_system: 'earth_moon' contains 'moon', which is named, too"),
        ([], "solar_system: needs bodies, got none; name some, or leave `bodies` out"),
    ],
)
def test_refusals(scene, bodies, said):
    with pytest.raises(UserError) as caught:
        build(scene, {"state.bodies": bodies})
    assert said in str(caught.value)


def test_a_run_by_names(scene, tmp_path):
    run = minusgrad.run(scene, out=tmp_path / "run", overrides={"state.bodies": ["sun", "venus", "ceres"]})
    assert run.simulation.state.names == ("sun", "venus", "ceres")
