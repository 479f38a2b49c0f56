"""The rim of a Gaussian spot: a derivative by the waist where 3 waists are a whole number of cells."""

import numpy as np
import pytest

from minusgrad import Fields, Grid, Node, Potential, bind, local_energy
from minusgrad.check import term_check
from minusgrad_laser.dose.spots import gaussian_dose

CELLS, PIXEL, WAIST = (41, 41), 5.0, 10.0


@local_energy("squared_dose", over="nodes", dose=Node())
def squared_dose(dose):
    return dose[0] * dose[0]


@pytest.fixture
def hatch() -> Potential:
    """Lines along x, 10 cells apart, all points in the middle of cells."""
    columns, rows = np.arange(0.0, 201.0, 10.0), np.arange(0.0, 201.0, 50.0)
    x = np.tile(columns, (len(rows), 1))
    x[1::2] = x[1::2, ::-1]
    n = x.size
    fields = Fields(
        {"x": x.ravel(), "y": np.repeat(rows, len(columns)), "power": np.ones(n), "speed": np.full(n, 100.0)}
    )
    segments = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    given = {"waist": WAIST, "full": 5e-4}
    dose = bind(gaussian_dose, fields, tuples=segments, grid=Grid(CELLS, PIXEL), parameters=given)
    return Potential(fields, [bind(squared_dose, fields)], [dose])


@pytest.mark.long
def test_a_round_waist_is_no_false_alarm(hatch: Potential) -> None:
    """In a random direction in which the waist shrinks; with a round FAR the remainder was of order 0."""
    findings = term_check.of_potential(hatch, seed=5)
    assert [f.text for f in findings if f.argument in ("waist", "pixel") and not f.passed] == []
