"""Trees over nodes: every pair of nodes is in exactly one pair of cells, and threads do not matter."""

import numpy as np
import pytest

from minusgrad.elements.list_reference import ListReference
from minusgrad.elements.trees.kd_tree import DEEP, LEAF
from minusgrad.elements.trees.near_pairs import NearPairs, TreeChoice
from minusgrad.elements.trees.partner_lists import PartnerLists


def made(x: np.ndarray, theta: float = 0.7, skin: float = 0.0) -> NearPairs:
    """The tree of all nodes at these positions."""
    nodes = np.arange(len(x), dtype=np.int32)
    return NearPairs(TreeChoice(nodes, theta, 4, skin), ListReference(x, None))


def cluster(n: int, d: int = 3) -> np.ndarray:
    """Positions that are dense in the middle."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, d)) * rng.uniform(0.3, 1.0, (n, 1))


def visits(near: NearPairs) -> np.ndarray:
    """How often the lists have each ordered pair of places."""
    tree, cells, wide = near.tree, near.cells, near.wide
    found = np.zeros((tree.count, tree.count), int)
    for c in range(tree.cells):
        for other in cells.far.present_lists[cells.far.begin[c] * wide : cells.far.begin[c + 1] * wide]:
            if other < tree.cells:
                found[tree.begin[c] : tree.end[c], tree.begin[other] : tree.end[other]] += 1
    for k, c in enumerate(tree.leaves):
        for other in (k, *cells.near.present_lists[cells.near.begin[k] : cells.near.begin[k + 1]]):
            of = tree.leaves[other]
            found[tree.begin[c] : tree.end[c], tree.begin[of] : tree.end[of]] += 1
    return found


@pytest.mark.parametrize(("n", "d"), [(2, 3), (LEAF, 3), (LEAF + 1, 3), (700, 2), (1300, 3)])
def test_every_pair_of_nodes_is_in_one_pair_of_cells(n, d):
    near = made(cluster(n, d))
    assert (visits(near) == 1).all()
    if n == 1300:
        assert near.cells.far.begin[-1] > 0
        assert near.count < n * (n - 1) // 2


def test_cells_contain_their_nodes():
    x = cluster(1300)
    tree = made(x).tree
    for c in range(tree.cells):
        own = x[tree.order[tree.begin[c] : tree.end[c]]]
        assert tree.centre[c] == pytest.approx(own.mean(axis=0), abs=1e-12)
        assert tree.radius[c] == pytest.approx(np.linalg.norm(own - own.mean(axis=0), axis=1).max())
    assert np.array_equal(np.sort(tree.order), np.arange(1300))


@pytest.mark.parametrize("d", [2, 3])
def test_a_cut_separates_nodes_along_the_longest_side(d):
    """At the multiple of a leaf that is nearest to the middle."""
    x = cluster(1300, d)
    tree = made(x).tree
    places = x[tree.order]
    for c in np.flatnonzero(tree.child >= 0):
        one, other = tree.child[c], tree.child[c] + 1
        own = places[tree.begin[c] : tree.end[c]]
        low, high = own.min(axis=0), own.max(axis=0)
        axis = np.argmax(high - low)
        before, behind = (places[tree.begin[k] : tree.end[k], axis] for k in (one, other))
        assert before.max() <= behind.min()
        below = (own[:, axis] < 0.5 * (low + high)[axis]).sum()
        assert abs(below - len(before)) <= LEAF // 2 or min(len(before), len(behind)) <= LEAF
        assert len(before) % LEAF == 0


def test_partners_are_listed_for_both_of_a_pair():
    lists = PartnerLists(4, 2, 9)
    for pairs, expected in (
        ([[0, 2], [3, 2], [2, 1]], [[2, 9], [2, 9], [0, 3, 1, 9], [2, 9]]),
        ([[1, 0]], [[1, 9], [0, 9], [], []]),
    ):
        lists.room(len(pairs))
        lists.pairs.own[: len(pairs)] = pairs
        lists.build(len(pairs))
        found = np.split(lists.present_lists, 2 * lists.begin[1:-1])
        assert [row.tolist() for row in found] == expected


def test_nodes_at_one_place_are_divided():
    near = made(np.zeros((5 * LEAF, 3)))
    assert (visits(near) == 1).all()
    assert near.count == 5 * LEAF * (5 * LEAF - 1) // 2


@pytest.mark.parametrize("name", ["one place", "a falling row"])
def test_trees_are_not_deep(name):
    """Where cuts in the middle separate one leaf a level: of 10,000 nodes, 625 levels."""
    x = np.zeros((10_000, 3))
    if name == "a falling row":
        x[:, 1] = 2.0 ** (-0.2 * np.arange(10_000.0))
    near = made(x)
    assert len(near.tree.levels) <= {"one place": 11, "a falling row": DEEP + 12}[name]
    assert near.count == 10_000 * 9_999 // 2
    assert np.array_equal(np.sort(near.tree.order), np.arange(10_000))


def test_the_order_of_the_positions_alone_decides():
    x = cluster(500)
    one, other = made(cluster(500)[::-1].copy()), made(x)
    other.reference.move(x[::-1].copy(), None)
    other.rebuild({})
    assert np.array_equal(one.tree.order, other.tree.order)
    assert np.array_equal(one.cells.near.present_lists, other.cells.near.present_lists)


def test_a_skin_keeps_the_tree_until_a_node_leaves_it():
    x = cluster(500)
    near = made(x, skin=0.1)
    radius = near.tree.leaf_radius
    moved = x.copy()
    moved[7, 0] += 0.09 * radius[7]
    assert near.serves(moved)
    moved[7, 0] += 0.02 * radius[7]
    assert not near.serves(moved)
    assert not made(x).serves(moved)
