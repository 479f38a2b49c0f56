"""Lines joined end to end: which ones, in which order, and what stays apart."""

import numpy as np
import pytest

from minusgrad_laser.drawings.drawing import Outline
from minusgrad_laser.drawings.joining import join_outlines

pytestmark = pytest.mark.unit


def line(*points: tuple[float, float], layer: str = "", stroke: str | None = "#000000") -> Outline:
    return Outline(np.array(points, float), False, layer, stroke)


def joined(*lines: Outline, tolerance: float = 1e-6) -> list[tuple[bool, list[list[float]]]]:
    return [(one.closed, one.points.tolist()) for one in join_outlines(lines, tolerance)]


def test_three_lines_in_any_direction_are_one() -> None:
    found = joined(line((1, 0), (2, 0)), line((2, 1), (2, 0)), line((0, 0), (1, 0)))
    assert found == [(False, [[0, 0], [1, 0], [2, 0], [2, 1]])]


def test_a_closed_outline_does_not_repeat_its_first_point() -> None:
    found = joined(line((0, 0), (1, 0)), line((1, 1), (0, 0)), line((1, 0), (1, 1)))
    assert found == [(True, [[0, 0], [1, 0], [1, 1]])]
    assert joined(line((0, 0), (1, 0), (1, 1), (0, 1e-7))) == [(True, [[0, 0], [1, 0], [1, 1]])]


def test_ends_join_within_the_tolerance_alone() -> None:
    lines = line((0, 0), (1, 0)), line((1 + 9e-7, 0), (2, 0))
    assert len(joined(*lines)) == 1
    assert len(joined(*lines, tolerance=8e-7)) == 2


def test_layers_and_colours_are_not_joined() -> None:
    assert len(joined(line((0, 0), (1, 0)), line((1, 0), (2, 0), layer="a"))) == 2
    assert len(joined(line((0, 0), (1, 0)), line((1, 0), (2, 0), stroke="#ff0000"))) == 2
    filled = Outline(np.array([[1.0, 0.0], [2.0, 0.0]]), False, fill="#000000")
    assert len(joined(line((0, 0), (1, 0)), filled)) == 2


def test_a_crossing_goes_straight_on() -> None:
    found = joined(line((-1, 0), (0, 0)), line((0, -1), (0, 0)), line((0, 0), (0, 1)), line((0, 0), (1, 0)))
    assert [points for _, points in found] == [
        [[-1, 0], [0, 0], [1, 0]],
        [[0, -1], [0, 0], [0, 1]],
    ]


def test_two_squares_with_a_shared_side_are_one_rim_and_a_line() -> None:
    sides = [
        line((0, 0), (1, 0)), line((1, 0), (2, 0)), line((2, 0), (2, 1)), line((2, 1), (1, 1)),
        line((1, 1), (0, 1)), line((0, 1), (0, 0)), line((1, 0), (1, 1)),
    ]  # fmt: skip
    rim, shared = joined(*sides)
    assert rim[0]
    assert len(rim[1]) == 6
    assert shared == (False, [[1, 0], [1, 1]])


def test_a_line_never_goes_straight_back() -> None:
    twice = line((0, 0), (1, 0)), line((0, 0), (1, 0)), line((1, 0), (0, 0))
    assert joined(*twice) == [(False, one.points.tolist()) for one in twice]
    halves = [(np.cos(t), np.sin(t)) for t in np.linspace(0, np.pi, 9)]
    disc = joined(line(*halves), line(*((x, -y) for x, y in halves)))
    assert [closed for closed, _ in disc] == [True]


def test_short_chords_of_a_curve_are_kept() -> None:
    """A circle of chords that are shorter than the tolerance is still that circle."""
    angle = np.linspace(0, 2 * np.pi, 721)
    points = 1e-5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    parts = [line(*points[k : k + 2].tolist()) for k in np.random.default_rng(1).permutation(720)]
    ((closed, found),) = joined(*parts)
    assert closed
    assert len(found) == 720
    x, y = np.array(found).T
    assert abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2 == pytest.approx(np.pi * 1e-10, rel=1e-4)


def test_a_dot_stays() -> None:
    dot = line((0, 0), (5e-7, 0))
    assert joined(dot, line((0, 0), (1, 0)))[0] == (False, dot.points.tolist())


def test_the_order_of_the_file_is_kept() -> None:
    ring = Outline(np.array([[5.0, 0.0], [6.0, 0.0], [6.0, 1.0]]), True)
    found = joined(line((9, 9), (9, 8)), ring, line((0, 0), (1, 0)), line((9, 8), (9, 7)))
    assert [len(points) for _, points in found] == [3, 3, 2]
    assert [closed for closed, _ in found] == [False, True, False]
