"""The outer Solar System for 1,000 years: ours and REBOUND's at one scheme and one step, f64.

`programs.planetary_accuracy` draws the accuracy that each step has against its time. Ours is
`stepper.advance` of a scene that was built; every call begins at the same state. What is right is Gauss-Radau
for the splittings, and a splitting of small error for Gauss-Radau.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal
from .programs.planetary_accuracy import our_run, their_run

YEAR = 365.25
EXACT = {
    "radau": {"kind": "gauss_radau", "dt": 10.0 * YEAR},
    "splitting": {"kind": "wisdom_holman", "scheme": "aba_10_6_4", "dt": 0.25 * YEAR},
}
"""Of what the others are compared with."""


def cases() -> Iterator[Case]:
    """Gauss-Radau beside IAS15, a scheme for small perturbations beside SABA, a corrector beside WHFast's."""
    years = 100 if session.quick() else 1000
    yield case("gauss_radau", years, EXACT["radau"], "splitting", 1e-9, {"integrator": "ias15", "dt": 10.0})
    split = {"kind": "wisdom_holman", "dt": YEAR}
    saba = {"integrator": "saba10,6,4", "dt": YEAR, "safe_mode": 0}
    yield case("aba_10_6_4", years, split | {"scheme": "aba_10_6_4"}, "radau", 1e-7, saba)
    whfast = {"integrator": "whfast", "dt": 0.25 * YEAR, "safe_mode": 0, "corrector": 17}
    split = split | {"dt": 0.25 * YEAR}
    yield case("corrector", years, split | {"corrector": 17}, "radau", 1e-3, whfast)


def case(
    name: str, years: int, block: dict[str, Any], exact: str, tolerance: float, settings: dict[str, Any]
) -> Case:
    """So many years a call; the answer are the last positions."""
    columns = {
        OURS: Column(lambda: ours(block, years), engine=True),
        "REBOUND": Column(lambda: theirs(settings, years), peer=True),
    }
    return Case(
        "planetary_orbits",
        name,
        "f64",
        columns,
        expected=lambda: expected(exact, years),
        tolerance=tolerance,
        count=years,
        unit="ns a year",
        base="REBOUND",
        goals=(Goal("REBOUND", 1.0),),
        about={"years": years, "stepper": block, "REBOUND": settings},
    )


@cache
def expected(exact: str, years: int) -> np.ndarray:
    return ours(EXACT[exact], years)()


def ours(block: dict[str, Any], years: int) -> Call:
    """`advance`"""
    go, state, again = our_run(block)

    def call() -> np.ndarray:
        again()
        go(years * YEAR)
        return state()[0]

    return call


def theirs(settings: dict[str, Any], years: int) -> Call:
    """`steps`, or `integrate` of IAS15; made again for each call."""

    def call() -> np.ndarray:
        go, state, _ = their_run(settings)
        go(years * YEAR, True)
        return state()[0]

    return call
