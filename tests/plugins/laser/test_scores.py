"""Scores of developed maps: edges moved by known distances, discs moved and grown, areas counted."""

import numpy as np
import pytest

from minusgrad_laser.scores import edge_placement, intersection_over_union, misplaced_areas

ROWS, COLUMNS = np.mgrid[0:96, 0:128].astype(float)


def _smooth(distance: np.ndarray) -> np.ndarray:
    """A map that is 1/2 where the signed distance [cells] is zero, and linear in it nearby."""
    return np.clip(0.5 - 0.25 * distance, 0.0, 1.0)


def _disc(row: float, column: float, radius: float) -> np.ndarray:
    return _smooth(np.hypot(ROWS - row, COLUMNS - column) - radius)


def _edge(angle: float, shift: float) -> np.ndarray:
    """A half plane with the outward normal at an angle from x, moved outwards."""
    return _smooth((COLUMNS - 63.3) * np.cos(angle) + (ROWS - 47.6) * np.sin(angle) - shift)


@pytest.mark.unit
@pytest.mark.parametrize("angle", [0.0, 0.3, 0.25 * np.pi, 2.0, np.pi, -1.1])
@pytest.mark.parametrize("shift", [0.37, -1.6, 4.0])
def test_a_straight_edge_is_found_where_it_was_moved_to(angle, shift):
    placed = edge_placement(_edge(angle, shift), _edge(angle, 0.0), 20e-6)
    inner = (np.abs(placed.points / 20e-6 - [63.3, 47.6]) < 30.0).all(axis=1)  # away from the rim
    np.testing.assert_allclose(placed.error[inner], shift * 20e-6, rtol=0.0, atol=0.01 * 20e-6)
    np.testing.assert_allclose(
        placed.normals[inner], np.tile([np.cos(angle), np.sin(angle)], (inner.sum(), 1)), atol=0.01
    )


@pytest.mark.unit
@pytest.mark.parametrize("angle", [0.0, 0.3, 0.25 * np.pi, 0.5 * np.pi])
def test_a_target_of_zeros_and_ones_is_placed_within_its_pixels(angle):
    """Its contour is known to half a pixel at best; on average to less where the edge lies askew."""
    cut = (_edge(angle, 0.0) > 0.5).astype(float)
    placed = edge_placement(_edge(angle, 1.25), cut, 1.0)
    error = placed.error[(np.abs(placed.points - [63.3, 47.6]) < 30.0).all(axis=1)]
    assert abs(error - 1.25).max() < 0.5 * np.sqrt(2.0)
    assert angle != 0.3 or error.mean() == pytest.approx(1.25, abs=0.02)


@pytest.mark.unit
def test_a_moved_disc_is_displaced_by_the_cosine():
    """Along the normal at phi from the shift d: d cos phi - d^2 sin^2 phi / 2 R + ...; here to the end."""
    d, radius = 1.5, 24.0
    placed = edge_placement(_disc(48.3, 64.2 + d, radius), _disc(48.3, 64.2, radius), 0.5)
    cosine = placed.normals[:, 0]
    exact = d * cosine + np.sqrt(radius**2 - d**2 * (1.0 - cosine**2)) - radius
    np.testing.assert_allclose(placed.error / 0.5, exact, rtol=0.0, atol=0.03)
    assert placed.mean / 0.5 == pytest.approx(2.0 * d / np.pi, rel=0.01)
    assert placed.largest_error / 0.5 == pytest.approx(d, rel=0.02)
    assert placed.length / 0.5 == pytest.approx(2.0 * np.pi * radius, rel=0.005)
    # |cos phi| <= c holds for the part 1 - 2 acos(c) / pi of the circle: 0.95 at c = cos(0.05 pi / 2)
    assert placed.quantile(0.95) / 0.5 == pytest.approx(d * np.cos(0.025 * np.pi), rel=0.02)


@pytest.mark.unit
def test_a_grown_disc_has_the_bias_of_its_radius():
    grown, disc = _disc(48.0, 64.0, 25.2), _disc(48.0, 64.0, 24.0)
    assert edge_placement(grown, disc, 1.0).bias == pytest.approx(1.2, abs=0.02)
    assert edge_placement(disc, grown, 1.0).bias == pytest.approx(-1.2, abs=0.02)


@pytest.mark.unit
def test_equal_maps_are_placed_exactly():
    target = (_disc(40.0, 50.0, 17.0) + _disc(60.0, 100.0, 2.0) > 0.5).astype(float)
    target[:, 10] = 1.0  # one cell wide
    placed = edge_placement(target, target, 1.0)
    assert placed.largest_error < 1e-12
    assert placed.missing == 0.0
    assert intersection_over_union(target, target) == 1.0


@pytest.mark.unit
def test_a_shape_that_is_not_developed_counts_as_the_reach():
    both = np.maximum(_disc(48.0, 30.0, 12.0), _disc(48.0, 96.0, 12.0))
    placed = edge_placement(_disc(48.0, 30.0, 12.0), both, 2.0, reach=14.0)
    assert placed.missing == pytest.approx(0.5, abs=0.01)
    assert placed.largest_error == 14.0
    assert placed.error[~placed.found].max() == -14.0  # under-exposed
    assert edge_placement(np.ones_like(both), both, 2.0, reach=14.0).error.min() == 14.0


@pytest.mark.unit
def test_areas_and_overlap_are_counted_in_cells():
    developed, target = np.zeros((4, 5)), np.zeros((4, 5))
    developed[1:3, 1:4] = 0.6
    target[1:3, 2:5] = 1.0
    assert intersection_over_union(developed, target) == 4 / 8
    assert misplaced_areas(developed, target, 0.5) == (2 * 0.25, 2 * 0.25)
    assert misplaced_areas(developed, 0.0 * target, 0.5) == (6 * 0.25, 0.0)
    assert intersection_over_union(0.0 * developed, 0.0 * target) == 1.0
    assert np.isnan(edge_placement(developed, 0.0 * target, 1.0).mean)


@pytest.mark.unit
def test_maps_that_cannot_be_scored_are_refused():
    with pytest.raises(ValueError, match=r"one shape \(rows, columns\), got \(3, 4\) and \(4, 3\)"):
        intersection_over_union(np.ones((3, 4)), np.ones((4, 3)))
    broken = np.ones((3, 4))
    broken[2, 1] = np.nan
    with pytest.raises(ValueError, match="the developed map needs numbers, got NaN in row 2, column 1"):
        edge_placement(broken, np.ones((3, 4)), 1.0)
