"""Published values of few bodies: orbits on paper, close encounters, the figures of IAS15 and WHFast."""

from io import BytesIO
from typing import Any

import numpy as np
from scipy.optimize import brentq

import minusgrad
from minusgrad.plugin import PublishedValue, Workplace, published_value

PERIODS = 100
"""Of the figure eight in its scene, each of 300 steps."""


@published_value(
    "Kepler e = 0.999",
    area="celestial",
    value=0.0,
    tolerance=1e-10,
    why="rounding, 1e-16, grows by 1e6 at most at the pericentre, passed 3e4 times faster than the apocentre",
    source="Kepler's equation E - e sin E = t for a = G M = 1, solved to 1e-15",
    quick=True,
)
def error_of_a_long_ellipse(place: Workplace) -> float:
    """Largest error of the separation at t = 10, after 1.6 periods of Gauss-Radau steps."""
    e, t = 0.999, 10.0
    one = minusgrad.build(
        place.scene("two_body"),
        {"state.eccentricity": e, "stepper": {"kind": "gauss_radau", "dt": 2.0}},
    )
    one.step(5)
    x = one.fields["x"].values
    E = brentq(lambda E: E - e * np.sin(E) - t, 0.0, 20.0, xtol=1e-15, rtol=1e-15)
    exact = np.array([np.cos(E) - e, np.sqrt(1.0 - e * e) * np.sin(E)])
    return float(np.abs(x[1] - x[0] - exact).max())


@published_value(
    "figure eight",
    area="celestial",
    value=0.0,
    tolerance=1e-9,
    why="errors 1e-16 of a start with 16 digits, which grow by less than 1e6 in 100 periods",
    source="Chenciner & Montgomery 2000, Annals of Mathematics 152, 881: a periodic orbit, T = 6.32591398",
    quick=True,
)
def return_of_the_figure_eight(place: Workplace) -> float:
    """Largest distance of the three bodies from their start after 100 periods."""
    one = minusgrad.build(place.scene("figure_eight"))
    start = one.fields["x"].values.copy()
    one.step(PERIODS * 300)
    return float(np.abs(one.fields["x"].values - start).max())


@published_value(
    "Pythagorean problem",
    area="celestial",
    value=[3.0, 0.0],
    tolerance=[0.5, 1e-12],
    why="a mass is one of three; energy to rounding, 1e-16, amplified by approaches to 4e-4 of sizes of 3",
    source="Szebehely & Peters 1967, AJ 72, 876: the lightest body escapes, the other two are left as a pair",
    quick=True,
)
def end_of_the_pythagorean_problem(place: Workplace) -> list[float]:
    """Mass of the body that has left the other two at t = 70, by Gauss-Radau steps; error of energy."""
    x = np.array([[1.0, 3.0], [-2.0, -1.0], [1.0, -1.0]])
    m = np.array([3.0, 4.0, 5.0])
    one = minusgrad.Simulation(
        fields={"x": x, "m": m},
        energies=[minusgrad.energy("gravity", G=1.0)],
        stepper={"kind": "gauss_radau", "dt": 1.0},
        units="dimensionless",
    )
    before = energy(one)
    one.step(70)
    gone = [m[k] for k in range(3) if _has_escaped(one.fields["x"].values, one.fields["v"].values, m, k)]
    return [float(sum(gone)), abs(energy(one) / before - 1.0)]


def _has_escaped(x: np.ndarray, v: np.ndarray, m: np.ndarray, k: int) -> bool:
    """True for a body on a hyperbola about a pair that is bound."""
    rest = [j for j in range(3) if j != k]
    away = x[k] - m[rest] @ x[rest] / m[rest].sum()
    speed = v[k] - m[rest] @ v[rest] / m[rest].sum()
    pair, turning = x[rest[0]] - x[rest[1]], v[rest[0]] - v[rest[1]]
    free = 0.5 * speed @ speed > m.sum() / np.linalg.norm(away)
    return bool(free and 0.5 * turning @ turning < m[rest].sum() / np.linalg.norm(pair))


def energy(one: Any) -> float:
    """Kinetic and potential energy of point masses."""
    v, m = one.fields["v"].values, one.fields["m"].values
    return float(0.5 * np.sum(m[:, None] * v * v) + one.potential.value())


@published_value(
    "outer Solar System, IAS15",
    area="celestial",
    value=0.0,
    tolerance=1e-11,
    why="rounding of either program, 1e-16 of 40 AU a step, grows with the power 3/2 of 1,000 steps",
    source="places by REBOUND 5.2.2, IAS15 (Rein & Spiegel 2015, MNRAS 446, 1424); the start of Applegate et"
    " al. 1986, AJ 92, 176",
    unit="AU",
    quick=True,
)
def distance_from_ias15(place: Workplace) -> float:
    """Largest distance of six bodies from those of IAS15 after 100 years, by Gauss-Radau steps."""
    one = minusgrad.build(
        place.scene("outer_solar_system"), {"stepper": {"kind": "gauss_radau", "dt": "3652.5 day"}}
    )
    one.step(10)
    table = place.scene_bytes("data/outer_solar_system_100yr.csv")
    theirs = np.loadtxt(BytesIO(table), delimiter=",", skiprows=2, usecols=(2, 3, 4))
    return float(np.abs(one.fields["x"].values - theirs).max())


def _energy_errors(one: Any, looks: int, steps: int) -> np.ndarray:
    """Relative errors of the energy at so many looks, each after so many steps."""
    start, found = energy(one), []
    for _ in range(looks):
        one.step(steps)
        found.append(energy(one) / start - 1.0)
    return np.array(found)


@published_value(
    "IAS15, Brouwer's law",
    area="celestial",
    value=1.0,
    at_most=True,
    why="a random walk of half a unit of the last digit a substep, by Brouwer 1937 (AJ 46, 149)",
    source="Rein & Spiegel 2015, MNRAS 446, 1424, abstract: the energy error behaves like a random walk",
)
def energy_error_of_gauss_radau_steps(place: Workplace) -> float:
    """Root mean square of the energy error over 10,000 years, in 2^-53 sqrt(substeps)."""
    stepper = {"kind": "gauss_radau", "dt": "365.25 day"}
    one: Any = minusgrad.build(place.scene("outer_solar_system"), {"stepper": stepper})
    substeps, start, found = [], energy(one), []
    for _ in range(200):
        one.step(50)
        found.append(energy(one) / start - 1.0)
        substeps.append(one.stepper.substeps)
    return float(np.sqrt(np.mean(np.square(found) / np.array(substeps))) * 2.0**53)


@published_value(
    "WHFast, no drift of the energy",
    area="celestial",
    value=0.0,
    tolerance=3.0,
    why="three standard errors of a slope without trend",
    source="Rein & Tamayo 2015, MNRAS 452, 376, abstract: no linear secular trend of the energy error",
    quick=True,
)
def drift_of_the_energy(place: Workplace) -> float:
    """Slope of the energy error over 100,000 years, in standard errors; corrector of order 11, 50 days."""
    stepper = {"kind": "wisdom_holman", "corrector": 11, "dt": "50 day"}
    one = minusgrad.build(place.scene("outer_solar_system"), {"stepper": stepper})
    errors = _energy_errors(one, 400, 1826)
    time = np.arange(len(errors)) - 0.5 * (len(errors) - 1)
    slope = time @ errors / (time @ time)
    rest = errors - errors.mean() - slope * time
    return float(slope / np.sqrt(rest @ rest / (len(errors) - 2) / (time @ time)))


@published_value(
    "symplectic correctors",
    area="celestial",
    value=[2.0, 4.0, 6.0],
    tolerance=0.3,
    why="a slope between two steps still has a part of the next power",
    source="Wisdom, Holman & Touma 1996, Fields Inst. Commun. 10, 217; in WHFast: Rein & Tamayo 2015",
    quick=True,
)
def orders_of_correctors(place: Workplace) -> list[float]:
    """Order in dt of the energy error beside masses of 1e-7: without a corrector, of orders 3 and 5."""
    return [_order_of_corrector(*row) for row in ((None, 64, 96), (3, 48, 64), (5, 32, 48))]


def _order_of_corrector(corrector: int | None, few: int, many: int) -> float:
    """The slope of the energy's error between two numbers of steps in the time 6."""
    found = [_energy_error_of_planets(corrector, steps) for steps in (few, many)]
    return float(np.log(found[0] / found[1]) / np.log(many / few))


def _energy_error_of_planets(corrector: int | None, steps: int) -> float:
    """The largest relative error at eight looks, of three planets of masses near 1e-7."""
    radius, angle = np.array([1.0, 1.9, 3.1]), np.array([0.3, 2.0, 4.1])
    x, v = np.zeros((4, 3)), np.zeros((4, 3))
    x[1:] = radius[:, None] * np.stack([np.cos(angle), np.sin(angle), 0.02 * np.cos(angle)], 1)
    v[1:] = radius[:, None] ** -0.5 * np.stack([-np.sin(angle), np.cos(angle), -0.02 * np.sin(angle)], 1)
    stepper: dict[str, Any] = {"kind": "wisdom_holman", "dt": 6.0 / steps}
    one = minusgrad.Simulation(
        fields={"x": x, "v": v, "m": np.array([1.0, 1e-7, 2e-7, 0.5e-7])},
        energies=[minusgrad.energy("gravity", G=1.0)],
        stepper=stepper if corrector is None else stepper | {"corrector": corrector},
        units="dimensionless",
    )
    return float(np.abs(_energy_errors(one, 8, steps // 8)).max())


@published_value(
    "perihelion of Mercury",
    area="celestial",
    value=42.98,
    tolerance=0.005,
    why="half a unit of the last published digit",
    source="Will 2014, Living Rev. Relativ. 17, 4; 6 pi G M / (a (1 - e^2) c^2) a period gives 42.980",
    unit="arcsec a century",
    quick=True,
)
def advance_of_mercury(place: Workplace) -> float:
    """Slope of the argument of the perihelion in a century, by the post-Newtonian energy."""
    run = minusgrad.run(place.scene("mercury"), out=place.folder / "run")
    elements = run.series("observables/orbit/mercury")
    angle = np.unwrap(elements.value[:, 4])
    century, arcsec = 36525.0, 3600.0 * 180.0 / np.pi
    return float(np.polyfit(elements.time, angle, 1)[0] * century * arcsec)


ROWS: list[PublishedValue] = [
    error_of_a_long_ellipse,
    return_of_the_figure_eight,
    end_of_the_pythagorean_problem,
    distance_from_ias15,
    energy_error_of_gauss_radau_steps,
    drift_of_the_energy,
    orders_of_correctors,
    advance_of_mercury,
]
