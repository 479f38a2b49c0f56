"""Kepler and order for every scheme: the table of slopes in `docs/few-bodies.md`, measured.

Splitting schemes of any energy: against Kepler's equation. Those about a dominant mass: four bodies, one on
a hyperbola, with a weak pull besides, against Gauss-Radau steps of the whole energy, where the other masses
are so small that the term of the row is the largest, or so large that the last one is.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.timed.gauss_radau.gauss_radau import GaussRadau
from minusgrad_gravity.kepler_drifts.corrected_integrator import CorrectedIntegrator
from minusgrad_gravity.kepler_drifts.correctors import ORDERS
from minusgrad_gravity.kepler_drifts.near_integrable import NEAR_INTEGRABLE
from tests.steppers.test_integrator import LONG, STEPS
from tests.steppers.timed.gauss_radau.test_gauss_radau import error_of_one_step
from tests.support.kepler import error
from tests.support.laws import fitted_order

from .test_kepler_splitting import MOTIONS, end, system

PAGE = Path(__file__).parents[4] / "docs" / "few-bodies.md"
END = 2.0
"""The time of the comparison, for schemes about a dominant mass."""

Row = tuple[Callable[[int], float], tuple[int, ...], int]
"""The error after so many steps, numbers of steps, the order on paper."""


@cache
def exact(size: float) -> np.ndarray:
    return end(GaussRadau(System(system(1.0, size=size).potential, MOTIONS), END), 1)


def apart(
    size: float, made: Callable[[Integrator], Integrator], coordinates: str = "jacobi"
) -> Callable[[int], float]:
    """The error with other masses of that size; made: the integrator of a system with its dt."""

    def of(n: int) -> float:
        found = end(made(system(END / n, size=size, coordinates=coordinates)), n)
        return float(np.abs(found - exact(size)).max())

    return of


def by(kind: str) -> Callable[[Integrator], Integrator]:
    return lambda one: Integrator(
        System(one.potential, MOTIONS), NEAR_INTEGRABLE[kind], one.dt, part_flow=one.part_flow
    )


def corrected(order: int) -> Callable[[Integrator], Integrator]:
    scheme = NEAR_INTEGRABLE["leapfrog"]
    return lambda one: CorrectedIntegrator(
        System(one.potential, MOTIONS), scheme, one.dt, order, one.part_flow
    )


ROWS: dict[str, Row] = {
    kind: (lambda n, kind=kind: error(kind, n, t=2.0), steps, SCHEMES[kind].order)
    for kind, steps in (STEPS | LONG).items()
}
ROWS |= {
    "wisdom_holman": (apart(1e-3, by("leapfrog")), (64, 128), 2),
    "wisdom_holman, corrector 3": (apart(1e-7, corrected(3)), (96, 160), 4),
    "wisdom_holman, corrector 5": (apart(1e-7, corrected(5)), (80, 128), 6),
    "wisdom_holman, corrector 7": (apart(1e-7, corrected(7)), (80, 128), 8),
    "wisdom_holman, corrector 11": (apart(1e-7, corrected(11)), (64, 80), 12),
    "wisdom_holman, corrector 17": (apart(1e-7, corrected(17)), (48, 64), 18),
    "wisdom_holman, corrector 5, masses 0.1": (apart(0.1, corrected(5)), (64, 96), 2),
    "aba_8_6_4": (apart(1e-4, by("aba_8_6_4")), (80, 112), 8),
    "aba_8_6_4, masses 0.1": (apart(0.1, by("aba_8_6_4")), (64, 96), 4),
    "aba_10_6_4": (apart(1e-5, by("aba_10_6_4")), (32, 48), 10),
    "aba_10_6_4, masses 0.1": (apart(0.1, by("aba_10_6_4")), (64, 96), 4),
    "democratic_heliocentric": (apart(1e-3, lambda one: one, "democratic_heliocentric"), (64, 128), 2),
    "gauss_radau, one step": (error_of_one_step, (4, 5, 6), 16),
}
WIDE = {"wisdom_holman, corrector 11": 0.8, "wisdom_holman, corrector 17": 3.0, "aba_10_6_4": 1.5}
"""Rows that reach rounding before powers beyond theirs are gone, and how far they are from paper."""


def table() -> dict[str, tuple[int, float]]:
    """The order on paper and the slope of each row of the page."""
    rows = re.findall(r"^\| (`[^|]+) \| (\d+) \| ([\d.]+) \|$", PAGE.read_text(), re.MULTILINE)
    return {name.replace("`", ""): (int(paper), float(slope)) for name, paper, slope in rows}


@pytest.mark.unit
def test_every_scheme_has_a_row():
    assert list(table()) == list(ROWS)
    assert {*SCHEMES} | {*NEAR_INTEGRABLE} <= {*ROWS}
    assert {f"wisdom_holman, corrector {order}" for order in ORDERS} <= {*ROWS}


@pytest.mark.parametrize("name", ROWS)
def test_slope(name):
    """As the page says, and within 0.2 of paper where rounding lets it."""
    of, steps, paper = ROWS[name]
    errors = [of(n) for n in steps]
    slope, rounding = fitted_order(errors, steps), 2e-15 / errors[-1] / np.log(steps[-1] / steps[0])
    assert abs(slope - paper) < WIDE.get(name, 0.2)
    assert table()[name] == (paper, pytest.approx(slope, abs=0.06 + rounding))
