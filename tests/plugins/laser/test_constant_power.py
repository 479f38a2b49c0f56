"""Constant power at the attained speed: the dose against quadrature over the time of each move."""

from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind, bind_staged
from minusgrad.energies.fields import Grid
from minusgrad_laser.dose.constant_power import PIECES, constant_power_dose, ramp_pieces
from minusgrad_laser.machine.planned_motion import planned_motion
from tests.support.slow_planner import planned

PIXEL, SHAPE, WAISTS, FULL = 1.0, (26, 40), (2.0, 3.0), 1.7
PATH = {
    "x": np.array([4.0, 34.0, 34.0, 33.0, 12.0, 12.0, 6.0]),
    "y": np.array([5.0, 5.0, 12.0, 14.0, 18.0, 18.0, 19.0]),
    "speed": np.array([9.0, 6.0, 40.0, 2.0, 9.0, 3.0, 8.0]),
    "lit": np.ones(7),
}
"""A long cruise, moves that never reach their speed, a blunt and sharp corners, and a move of no length."""
POWER = np.array([0.0, 1.3, 0.7, 2.1, 1.7, 5.0, 0.9])
LIMITS: dict[str, Any] = {"axis_speed": [50.0, 50.0], "axis_acceleration": [4.0, 3.0]} | {
    "junction_deviation": 0.3, "line_time": 0.0, "lit_time": 0.0, "planner_blocks": 16,
}  # fmt: skip


def dose(precision: str = "f64", pieces: int = PIECES) -> np.ndarray:
    """Of the path over the canvas (rows, columns), at the motion that GRBL plans."""
    fields = Fields(PATH | {"power": POWER}, precision=precision)
    limits = dict(LIMITS)
    blocks = {"planner_blocks": limits.pop("planner_blocks")}
    motion = bind_staged(planned_motion, fields, data=blocks, parameters=limits)
    rows, part = ramp_pieces(7, pieces)
    bound = bind(
        constant_power_dose,
        fields,
        tuples=rows,
        data={"part": part},
        grid=Grid(SHAPE, PIXEL),
        renamed={"speed": "nominal"},
        parameters={"waist": WAISTS[0], "aspect": WAISTS[1] / WAISTS[0], "full": FULL},
    )
    Potential(fields, [], [motion, bound]).refresh()
    return fields["dose"].values.reshape(SHAPE).astype(float)


def phases(motion: dict[str, np.ndarray], i: int, length: float, rate: float) -> list[tuple[float, ...]]:
    """Way at the begin, speed, acceleration and seconds of the three parts of a move."""
    enter, leave, top = motion["v"][i - 1], motion["v"][i], motion["nominal"][i]
    peak = min(top, np.sqrt(0.5 * (enter**2 + leave**2) + rate * length))
    up, down = (peak - enter) / rate, (peak - leave) / rate
    rise, fall = 0.5 * (enter + peak) * up, 0.5 * (peak + leave) * down
    return [
        (0.0, enter, rate, up),
        (rise, peak, 0.0, (length - rise - fall) / peak),
        (length - fall, peak, -rate, down),
    ]


def by_quadrature() -> np.ndarray:
    """The integral of P k over the time of each move, whose speeds are those of the plain planner."""
    motion, found = planned(**PATH, **LIMITS), np.zeros(SHAPE)
    row, column = (z[:, :, None] * PIXEL for z in np.indices(SHAPE))
    nodes, weights = np.polynomial.legendre.leggauss(400)
    for i in range(1, 7):
        way = np.array([PATH[z][i] - PATH[z][i - 1] for z in "xy"])
        length = float(np.hypot(*way))
        if length > 0.0:
            rate = 1.0 / max(abs(way / length) / LIMITS["axis_acceleration"])
            for begin, speed, slope, seconds in phases(motion, i, length, rate):
                t = 0.5 * seconds * (nodes + 1.0)
                s = (begin + t * (speed + 0.5 * slope * t)) / length
                u = (column - PATH["x"][i - 1] - s * way[0]) / WAISTS[0]
                v = (row - PATH["y"][i - 1] - s * way[1]) / WAISTS[1]
                flux = POWER[i] * 2.0 / (np.pi * WAISTS[0] * WAISTS[1] * FULL)
                found += flux * 0.5 * seconds * np.exp(-2.0 * (u * u + v * v)) @ weights
    return found


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_against_quadrature_over_time(precision):
    found, expected = dose(precision), by_quadrature()
    assert np.abs(found - expected).max() < 2e-3 * expected.max()
    assert np.abs(found - expected).sum() < 2e-3 * expected.sum()


def test_more_pieces_change_little_and_one_piece_much():
    """The ramps are cut finely enough: twice as many rows have the same pieces, and one is off."""
    expected = dose()
    assert np.array_equal(dose(pieces=2 * PIECES), expected)
    assert np.abs(dose(pieces=1) - expected).max() > 0.05 * expected.max()
