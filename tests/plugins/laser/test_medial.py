"""Medial lines of bars, rings, crosses and dots, whose middles are known."""

import numpy as np
import pytest

from minusgrad_laser.paths.medial import extend_ends, medial_lines

pytestmark = pytest.mark.unit


def test_a_bar() -> None:
    """Five rows high: its middle row, to within half its height of both ends."""
    region = np.zeros((15, 60), bool)
    region[5:10, 4:56] = True
    (line,) = medial_lines(region, 4.0)
    np.testing.assert_allclose(line[:, 1], 7.0, atol=0.3)
    low, high = sorted(line[[0, -1], 0])
    assert 4 <= low <= 7
    assert 52 <= high <= 55


def test_a_slanted_bar_is_smooth() -> None:
    """Its middle line has no steps: within a quarter of a cell of the straight line."""
    y, x = np.mgrid[:60, :100]
    across = (y - 10.0 - 0.4 * (x - 10.0)) / np.hypot(1.0, 0.4)
    (line,) = medial_lines((abs(across) < 2.5) & (x > 10) & (x < 90), 4.0)
    inner = line[(line[:, 0] > 15) & (line[:, 0] < 85)]
    assert np.abs((inner[:, 1] - 10.0 - 0.4 * (inner[:, 0] - 10.0)) / np.hypot(1.0, 0.4)).max() < 0.5
    assert len(inner) > 60


def test_a_ring_is_closed() -> None:
    y, x = np.mgrid[:51, :51] - 25.0
    (line,) = medial_lines(abs(np.hypot(x, y) - 18.0) < 2.0)
    np.testing.assert_array_equal(line[0], line[-1])
    np.testing.assert_allclose(np.hypot(*(line - 25.0).T), 18.0, atol=0.7)
    assert len(line) > 80


def test_a_cross_has_four_arms_from_one_place() -> None:
    region = np.zeros((41, 41), bool)
    region[19:22, 3:38] = region[3:38, 19:22] = True
    lines = medial_lines(region, 4.0)
    arms = [line for line in lines if len(line) > 8]
    assert len(arms) == 4
    assert all(min(np.hypot(*(line[k] - 20.0)) for k in (0, -1)) < 2.0 for line in arms)


def test_short_branches_are_left_out() -> None:
    """A bump of 3 cells on a bar is a branch unless branches of under 5 cells are left out."""
    region = np.zeros((20, 60), bool)
    region[5:8, 4:56] = True
    region[8:12, 30] = True
    assert len(medial_lines(region)) == 3
    (line,) = medial_lines(region, 6.0)
    assert np.ptp(line[:, 0]) >= 46, "the whole bar"


def test_a_dot_is_a_line_one_cell_long() -> None:
    region = np.zeros((5, 5), bool)
    region[2, 3] = True
    (line,) = medial_lines(region, 9.0)
    assert line.tolist() == [[2.5, 2.0], [3.5, 2.0]]
    assert medial_lines(np.zeros((5, 5), bool)) == []


def test_lines_go_on_past_their_dead_ends() -> None:
    """A bar from column 5 to 24: its middle line ends 2 cells beyond the rim, however thick it is."""
    for thick in (1, 2, 5):
        bar = np.zeros((20, 32), bool)
        bar[8 : 8 + thick, 5:25] = True
        (line,) = extend_ends(medial_lines(bar), bar, 2.0)
        assert sorted(line[[0, -1], 0].tolist()) == pytest.approx([4.5 - 2.0, 24.5 + 2.0], abs=0.5)


def test_lines_that_meet_are_not_extended_there() -> None:
    """Four arms of a cross: each goes on at its outer end alone."""
    cross = np.zeros((41, 41), bool)
    cross[18:23, 2:39] = cross[2:39, 18:23] = True
    plain = medial_lines(cross)
    longer = extend_ends(plain, cross, 3.0)
    assert sum(len(b) - len(a) for a, b in zip(plain, longer, strict=True)) == 4
