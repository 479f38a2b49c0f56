"""The outer Solar System after 100 and 1,000 years, against two programs that share no code with ours.

`taylor_reference` integrates Taylor series with 30 digits; its places are right in every digit of a double.
REBOUND's IAS15 is run beside it where it is installed.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from minusgrad import build
from tests.support.command import SCENES

from .taylor_reference import FILE, YEAR, YEARS, G

SCENE = SCENES / "outer_solar_system.toml"
BOUNDS = {100: 1e-9, 1000: 5e-10}
"""Promised, in AU, by years."""
STEPPERS = {
    "gauss_radau": ({"kind": "gauss_radau"}, 10.0, {100: 2e-13, 1000: 1e-11}),
    "aba_10_6_4": ({"kind": "wisdom_holman", "scheme": "aba_10_6_4"}, 0.5, {100: 2e-11, 1000: 2e-10}),
}
"""A block, its steps in years, and its errors in AU from the Taylor series: at most these."""


@cache
def places(name: str) -> dict[int, np.ndarray]:
    """The six bodies after so many years, by a stepper of ours."""
    block, years, _ = STEPPERS[name]
    one, found = build(SCENE, {"stepper": block | {"dt": f"{years * YEAR} day"}}), {}
    for before, end in pairwise((0, *YEARS)):
        one.stepper.advance(round((end - before) / years))
        found[end] = one.fields["x"].values.copy()
    return found


@cache
def taylor() -> dict[int, np.ndarray]:
    rows = np.loadtxt(FILE, delimiter=",", skiprows=1, usecols=(0, 2, 3, 4))
    return {year: rows[rows[:, 0] == year, 1:] for year in YEARS}


@cache
def ias15() -> dict[int, np.ndarray]:
    rebound = pytest.importorskip("rebound")
    one, other, found = build(SCENE), rebound.Simulation(), {}
    other.G, other.integrator = G, "ias15"
    for x, v, m in zip(*(one.fields[n].values for n in "xvm"), strict=True):
        other.add(m=m, x=x[0], y=x[1], z=x[2], vx=v[0], vy=v[1], vz=v[2])
    for end in YEARS:
        other.integrate(end * YEAR)
        found[end] = np.array([p.xyz for p in other.particles])
    return found


@pytest.mark.unit
def test_both_references_agree():
    """After 100 years, within 1e-11 AU of places by REBOUND 5.2.2 that are stored with the scene."""
    path = SCENES / "data" / "outer_solar_system_100yr.csv"
    theirs = np.loadtxt(path, delimiter=",", skiprows=2, usecols=(2, 3, 4))
    np.testing.assert_allclose(taylor()[100], theirs, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", STEPPERS)
def test_taylor_series(name):
    for year, bound in STEPPERS[name][2].items():
        assert bound < BOUNDS[year]
        assert np.abs(places(name)[year] - taylor()[year]).max() < bound


@pytest.mark.parametrize("name", STEPPERS)
def test_ias15(name):
    for year, bound in BOUNDS.items():
        assert np.abs(places(name)[year] - ias15()[year]).max() < bound
