"""Published values of indicators of chaos: Lyapunov exponents, MEGNO, the edge of resonance overlap."""

import numpy as np

import minusgrad
from minusgrad.plugin import (
    Node,
    Parameter,
    PublishedValue,
    Recorder,
    Workplace,
    local_energy,
    published_value,
    ti,
)

from ..chaos.megno import Megno

KICKS = 100_000
K = 20.0
"""The strength of a kick of the standard map."""


@local_energy("kicked_rotor", over="nodes", x=Node("1", ("d",)), strength=Parameter("1"))
def kicked_rotor(x, strength):
    """Of the standard map, in steps of 1 by the symplectic Euler method: U = K cos x."""
    return strength * ti.cos(x[0][0])


@local_energy("bowl", over="nodes", x=Node("1", ("d",)), stiffness=Parameter("1"))
def bowl(x, stiffness):
    """A harmonic trap, for a negative stiffness a saddle: U = k |x|^2 / 2."""
    return 0.5 * stiffness * x[0].norm_sqr()


def _looks(energy: object, stepper: dict, x: list, v: list, every: int, steps: int) -> tuple[np.ndarray, ...]:
    """Times and MEGNO at every look, and the exponent at the end, of one body of mass 1."""
    one = minusgrad.Simulation(
        fields={"x": np.array([x]), "v": np.array([v]), "m": np.ones(1)},
        energies=[energy],
        stepper=stepper,
        units="dimensionless",
    )
    observer, rows = Megno(one.stepper, Recorder({}, ("1", 1.0)), every), []
    for _ in range(steps // every):
        one.step(every)
        observer.observe()
        rows.append((one.time, observer.sums["mean"] / one.time))
    return *np.array(rows).T, observer.sums["growth"] / one.time


@published_value(
    "standard map",
    area="chaos",
    value=[np.log(0.5 * K), np.log(0.5 * K)],
    tolerance=[0.009, 0.012],
    why="three standard errors pi / sqrt(12 n) of a mean of ln|cos x| over n kicks, all or half",
    source="Chirikov 1979, Phys. Rep. 52, 263: the exponent is ln(K / 2) for K far above 4; MEGNO grows by"
    " half of it: Cincotta & Simo 2000, A&AS 147, 205",
    quick=True,
)
def exponents_of_the_standard_map(place: Workplace) -> list[float]:
    """Lyapunov exponent of 1e5 kicks with K = 20; twice the slope of MEGNO in their second half."""
    stepper = {"kind": "symplectic_euler", "dt": 1.0}
    time, megno, exponent = _looks(kicked_rotor(strength=K), stepper, [2.0], [0.3], 50, KICKS)
    half = len(time) // 2
    return [float(exponent), float(2.0 * np.polyfit(time[half:], megno[half:], 1)[0])]


@published_value(
    "saddle",
    area="chaos",
    value=1.5,
    tolerance=1.5e-4,
    why="the part of the tangent that dies out, ln 2 over the time, is left to 1e-4 in the second half",
    source="x'' = w^2 x with w = 1.5: the exponent is w",
    quick=True,
)
def exponent_of_a_saddle(place: Workplace) -> float:
    """Twice the slope of MEGNO on x'' = 2.25 x."""
    stepper = {"kind": "blanes_moan_rkn6", "dt": 0.05}
    time, megno, _ = _looks(bowl(stiffness=-2.25), stepper, [0.0, 0.0], [0.0, 0.0], 10, 4000)
    return float(2.0 * np.polyfit(time[200:], megno[200:], 1)[0])


@published_value(
    "MEGNO of regular orbits",
    area="chaos",
    value=[2.0, 0.0],
    tolerance=0.02,
    why="MEGNO comes near its limit as ln t / t, 0.01 at these times",
    source="Cincotta & Simo 2000, A&AS 147, 205: 2 on quasi-periodic orbits, 0 on a harmonic oscillator",
    quick=True,
)
def megno_of_regular_orbits(place: Workplace) -> list[float]:
    """MEGNO of a free body after a time of 2,000, and of a harmonic oscillator after 60 periods."""
    free = _looks(bowl(stiffness=0.0), {"kind": "leapfrog", "dt": 0.05}, [1.0, 0.0], [0.0, 0.5], 40, 40_000)
    trapped = _looks(
        bowl(stiffness=1.0), {"kind": "blanes_moan_rkn6", "dt": 0.05}, [1.0, 0.0], [0.0, 0.5], 10, 8000
    )
    return [float(free[1][-1]), float(trapped[1][-1])]


@published_value(
    "edge of chaos of two planets",
    area="chaos",
    value=[1.0, 0.0],
    tolerance=0.1,
    why="of most orbits: one in ten are islands within the overlap, or resonances beyond the limit",
    source="Wisdom 1980, AJ 85, 1122: chaos within 1.3 mu^(2/7); Gladman 1993, Icarus 106, 247: no close"
    " encounters beyond 2 sqrt(3) mutual Hill radii",
)
def chaotic_parts_of_orbits(place: Workplace) -> list[float]:
    """Parts of orbits with a MEGNO above 4 after 500 years: within the overlap; beyond the limit of Hill."""
    mu, count = 1e-4, 120
    vary = {"state.bodies.1.semi_major_axis": {"range": {"from": "1.03 AU", "to": "1.33 AU", "count": count}}}
    run = minusgrad.run(place.scene("stability_map"), {"ensemble.vary": vary}, out=place.folder / "run")
    chaotic = np.ravel(run.series("observables/megno").value[-1]) > 4.0
    a, hill = np.linspace(1.03, 1.33, count), (mu / 3.0) ** (1.0 / 3.0)
    within = a < 1.0 + 1.3 * mu ** (2.0 / 7.0)
    beyond = a > 1.0 + 2.0 * np.sqrt(3.0) * hill / (1.0 - np.sqrt(3.0) * hill)
    return [float(chaotic[within].mean()), float(chaotic[beyond].mean())]


ROWS: list[PublishedValue] = [
    exponents_of_the_standard_map,
    exponent_of_a_saddle,
    megno_of_regular_orbits,
    chaotic_parts_of_orbits,
]
