"""The order of strokes: travel against the given order, and against all orders of a few strokes."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest

from minusgrad_laser.paths.curve import join_strokes
from minusgrad_laser.paths.order import arrange_strokes, improve_order, travel
from minusgrad_laser.paths.stroke import Stroke

pytestmark = pytest.mark.unit


def random_ends(n: int, seed: int) -> np.ndarray:
    """Ends (n, 2, 2) of strokes in the unit square."""
    return np.random.default_rng(seed).uniform(size=(n, 2, 2))


def least(ends: np.ndarray) -> float:
    """The shortest travel of all orders and directions."""
    n, best = len(ends), np.inf
    for order in permutations(range(n)):
        if order[0] > order[-1]:
            continue  # backwards it is as long
        for turned in product((0, 1), repeat=n):
            tour = [(ends[k][t], ends[k][1 - t]) for k, t in zip(order, turned, strict=True)]
            best = min(best, sum(np.hypot(*(b[0] - a[1])) for a, b in pairwise(tour)))
    return best


def test_travel_is_the_way_from_ends_to_begins() -> None:
    ends = np.array([[[0.0, 0.0], [1.0, 0.0]], [[5.0, 0.0], [1.0, 2.0]], [[5.0, 3.0], [9.0, 9.0]]])
    order, turned = np.array([0, 1, 2]), np.array([False, True, False])
    assert travel(ends, order, turned) == 2.0 + 3.0
    assert travel(ends, order, np.zeros(3, bool)) == 4.0 + np.hypot(4.0, 1.0)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_never_longer_than_given_and_a_permutation(seed: int) -> None:
    ends = random_ends(1 + 3 * seed, seed)
    order, turned = improve_order(ends)
    assert sorted(order) == list(range(len(ends)))
    given = travel(ends, np.arange(len(ends)), np.zeros(len(ends), bool))
    assert travel(ends, order, turned) <= given
    again = improve_order(ends)
    np.testing.assert_array_equal(order, again[0])
    np.testing.assert_array_equal(turned, again[1])


@pytest.mark.parametrize("seed", range(4))
def test_no_reversal_shortens_what_was_found(seed: int) -> None:
    n = 70
    ends = random_ends(n, seed)
    order, turned = improve_order(ends)
    found = travel(ends, order, turned)
    for i in range(n):
        for j in range(i, n):
            part, other, flip = slice(i, j + 1), order.copy(), turned.copy()
            other[part], flip[part] = order[part][::-1], ~turned[part][::-1]
            assert travel(ends, other, flip) >= found - 1e-12


def test_near_the_best_order_of_a_few_strokes() -> None:
    """Of 10 draws of 5 strokes: the shortest of all 3,840 tours, or up to 4 % longer."""
    ratios = []
    for seed in range(10):
        ends = random_ends(5, seed)
        ratios.append(travel(ends, *improve_order(ends)) / least(ends))
    assert min(ratios) >= 1.0 - 1e-12
    assert max(ratios) < 1.04
    assert np.mean(ratios) < 1.005


def test_a_ring_is_entered_where_it_is_near() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 9)
    ring = np.stack([5.0 + np.cos(angle), np.sin(angle)], axis=1)
    ring[-1] = ring[0]  # begins at x = 6, the far side
    line = Stroke.gapless_stroke(np.array([[0.0, 0.0], [1.0, 0.0]]))
    found = arrange_strokes([line, Stroke.gapless_stroke(ring)])
    np.testing.assert_allclose(found[1].points[0], [4.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(found[1].points[0], found[1].points[-1])
    assert {tuple(p) for p in found[1].points} == {tuple(p) for p in ring}


def test_a_ring_keeps_its_gaps_where_it_is_entered() -> None:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    ring = Stroke(corners, np.array([1.0, 0.0, 1.0, 1.0])).entered_at(3)
    assert ring.points.tolist() == [[0, 1], [0, 0], [1, 0], [1, 1], [0, 1]]
    assert ring.lit.tolist() == [1, 1, 0, 1], "the gap is still the move from (1, 0) to (1, 1)"


def test_strokes_that_meet_are_joined_without_a_travel() -> None:
    a, b, c = (
        Stroke.gapless_stroke(np.array(p, float))
        for p in ([[0, 0], [1, 0]], [[1, 0], [1, 1]], [[3, 1], [4, 1]])
    )
    curve = join_strokes([a, b, c], "given", "path")
    assert curve.points.tolist() == [[0, 0], [1, 0], [1, 1], [3, 1], [4, 1]]
    assert curve.lit.tolist() == [0, 1, 1, 0, 1]
