"""The raster: runs where the target is dark, by hand and by counting cells."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import UserError
from minusgrad.scene.units import UnitSystem
from minusgrad_laser.canvas import Canvas
from minusgrad_laser.paths.raster import Raster, runs_above_half

from .starts import made, moves

pytestmark = pytest.mark.unit

COMB = np.zeros((7, 12))
"""Two teeth, of 3 and 2 columns, over rows 1 to 5."""
COMB[1:6, 2:5] = COMB[1:6, 8:10] = 1.0


def curve(target: np.ndarray, **keys) -> list[tuple[float, ...]]:
    """The moves of a raster over a target, in cells."""
    context = StateContext(UnitSystem.dimensionless(), 0, Path())
    found = Raster(**{"pitch": 2.0, "spacing": 99.0} | keys).curve(Canvas(*target.shape), target, context)
    points, lit = found.points, found.lit
    return [(*points[k - 1].tolist(), *points[k].tolist(), float(lit[k])) for k in range(1, len(points))]


def test_runs_to_and_fro_with_travels_between() -> None:
    """Box: rows 1 to 5, sides at 0.5 and 5.5; two lines fit, at 2 and 4, centred."""
    assert curve(COMB, order="given") == [
        (1.5, 2.0, 4.5, 2.0, 1.0),
        (4.5, 2.0, 7.5, 2.0, 0.0),
        (7.5, 2.0, 9.5, 2.0, 1.0),
        (9.5, 2.0, 9.5, 4.0, 0.0),
        (9.5, 4.0, 7.5, 4.0, 1.0),
        (7.5, 4.0, 4.5, 4.0, 0.0),
        (4.5, 4.0, 1.5, 4.0, 1.0),
    ]


def test_the_nearest_order_finishes_a_tooth_first() -> None:
    found = curve(COMB)
    assert [move[4] for move in found] == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    dark = [np.hypot(move[2] - move[0], move[3] - move[1]) for move in found if not move[4]]
    assert sum(dark) == pytest.approx(2.0 + 3.0 + 2.0), "the given order has 3 + 2 + 3"


def test_whole_lines_are_dark_in_the_gaps_and_in_the_overscan() -> None:
    assert curve(COMB, whole=True, overscan=1.0, order="given") == [
        (0.5, 2.0, 1.5, 2.0, 0.0),
        (1.5, 2.0, 4.5, 2.0, 1.0),
        (4.5, 2.0, 7.5, 2.0, 0.0),
        (7.5, 2.0, 9.5, 2.0, 1.0),
        (9.5, 2.0, 10.5, 2.0, 0.0),
        (10.5, 2.0, 10.5, 4.0, 0.0),
        (10.5, 4.0, 9.5, 4.0, 0.0),
        (9.5, 4.0, 7.5, 4.0, 1.0),
        (7.5, 4.0, 4.5, 4.0, 0.0),
        (4.5, 4.0, 1.5, 4.0, 1.0),
        (1.5, 4.0, 0.5, 4.0, 0.0),
    ]
    assert curve(COMB, whole=True, overscan=50.0)[0][:2] == (0.0, 2.0), "cut at the rim of the field"


def test_ninety_degrees_is_the_transpose() -> None:
    turned = [(b, a, d, c, lit) for a, b, c, d, lit in curve(COMB.T)]
    assert curve(COMB, angle=90) == turned
    assert turned[0][0] == turned[0][2], "along y"


def test_points_along_a_run_are_at_most_the_spacing_apart() -> None:
    found = curve(COMB, spacing=1.1, order="given")
    assert [move[2] for move in found[:3]] == [2.5, 3.5, 4.5]
    assert len(curve(COMB, spacing=None)) == len(curve(COMB, spacing=2.0)) > len(curve(COMB))


def test_ends_of_runs_are_where_the_target_crosses_a_half() -> None:
    line = np.array([[0.0, 0.25, 1.0, 1.0, 0.75, 0.25, 0.0, 1.0]])
    np.testing.assert_allclose(runs_above_half(line, 0.0), [[1.0 + 1.0 / 3.0, 4.5], [6.5, 7.5]])
    two = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(runs_above_half(two, 0.25), [[-1.0 / 3.0, 1.0 + 2.0 / 3.0]])


@pytest.mark.parametrize("pitch", [0.5, 1.0])
def test_the_runs_length_times_the_pitch_is_the_area(tmp_path: Path, pitch: float) -> None:
    """Of a disc of radius 9, whose cells count 253: each row once, or twice."""
    state = made(tmp_path, path={"kind": "raster", "pitch": pitch})
    drawn = sum(np.hypot(c - a, d - b) for a, b, c, d, lit in moves(state) if lit)
    assert drawn * pitch == pytest.approx(state.fields["target"].sum(), rel=1e-12 if pitch == 1.0 else 0.02)
    inside = [((a + c) / 2, (b + d) / 2) for a, b, c, d, lit in moves(state) if lit]
    assert all(np.hypot(x - 19.5, y - 14.5) < 9.5 for x, y in inside)


def test_a_target_that_is_nowhere_above_a_half() -> None:
    with pytest.raises(
        UserError, match="path: no cell of the target is above 1/2, so there is nothing to draw"
    ):
        curve(0.5 * COMB)


@pytest.mark.parametrize("kind", ["hatch", "spiral"])
def test_hatch_and_spiral_with_gaps(tmp_path: Path, kind: str) -> None:
    """Moves whose middle lies in the disc are drawn, in one direction or the other, and only they."""
    keys = {"kind": kind, "pitch": 3.0, "spacing": 1.0}
    whole, state = made(tmp_path, path=keys), made(tmp_path, path=keys | {"gaps": True})
    assert all(lit for *_, lit in moves(whole))

    def radius(a: float, b: float, c: float, d: float, _: float = 1.0) -> float:
        return float(np.hypot((a + c) / 2 - 19.5, (b + d) / 2 - 14.5))

    drawn = {min((a, b, c, d), (c, d, a, b)) for a, b, c, d, lit in moves(state) if lit}
    there = {min((a, b, c, d), (c, d, a, b)) for a, b, c, d, _ in moves(whole)}
    expected = {move for move in there if radius(*move) < 9.0}
    assert all(8.0 < radius(*move) < 10.0 for move in drawn ^ expected), "cells make the disc's rim rough"
    assert len(drawn & expected) > 60
    lit = state.fields["lit"]
    assert (lit == 0.0).sum() == (6 if kind == "hatch" else 1), "each gap is one travel"


def test_a_spiral_with_gaps_reaches_into_the_corners(tmp_path: Path) -> None:
    """A disc near a corner of a field of 59 x 39, beyond the circle of radius 19.5 around the middle."""
    state = made(
        tmp_path, canvas={"size": [60, 40]}, target={"kind": "disc", "radius": 6.0, "centre": [52.0, 33.0]},
        path={"kind": "spiral", "pitch": 2.0, "gaps": True},
    )  # fmt: skip
    drawn = np.array([move[:2] for move in moves(state) if move[4]])
    assert drawn[:, 0].max() > 56.0
    assert np.hypot(drawn[:, 0] - 52.0, drawn[:, 1] - 33.0).max() < 8.0
