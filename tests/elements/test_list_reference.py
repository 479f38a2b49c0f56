"""The reference of neighbour lists: when a pair that is not listed could be within its cutoff."""

from itertools import product

import numpy as np
import pytest

from minusgrad.elements import unlisted_pairs
from minusgrad.elements.displacements import Displacements
from minusgrad.elements.list_reference import ListReference
from minusgrad.elements.periodic_box import PeriodicBox
from minusgrad.engine import storage

CUTOFF, REACH = 1.2, 1.6
SKEWED = np.array([[5.0, 0.0, 0.0], [1.1, 4.6, 0.0], [-0.7, 0.8, 5.3]])
BOXES = {
    "skewed": (SKEWED, (True,) * 3),
    "slab": (SKEWED, (True, False, True)),
    "plane": (np.array([[9.0, 0.0], [1.5, 8.0]]), (True, True)),
    "free": (np.diag([5.0, 5.0, 5.0]), ()),
}


def enters(x: np.ndarray, before: np.ndarray, box: np.ndarray, periodic: tuple[bool, ...]) -> bool:
    """True if a pair that was beyond REACH is within CUTOFF, by all images of all pairs."""
    steps = [range(-3, 4) if p else range(1) for p in periodic or (False,) * len(box)]
    shifts = np.array([*product(*steps)]) @ box
    apart = [(p[:, None] - p[None])[None] + shifts[:, None, None] for p in (x, before)]
    now, then = (np.linalg.norm(a, axis=-1) for a in apart)
    return bool(((then > REACH) & (now < CUTOFF)).any())


@pytest.mark.parametrize("name", BOXES)
def test_pairs_that_enter_are_found_and_no_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlisted_pairs, "MOST", 1.0)
    rng, (box, periodic), found = np.random.default_rng(4), BOXES[name], []
    for size in np.linspace(0.15, 0.6, 16):
        before = (rng.uniform(size=(40, len(box))) + rng.integers(0, 2, (40, len(box)))) @ box
        before = before if periodic else before / 2.0
        moves = rng.normal(size=before.shape)
        moves *= (size * rng.uniform(0.0, 1.0, (40, 1)) ** 0.2) / np.linalg.norm(moves, axis=1)[:, None]
        x, far = before + moves, np.linalg.norm(moves, axis=1)
        geometry = PeriodicBox.of(box, periodic) if periodic else None
        moved = unlisted_pairs.Moved(x, before, far, np.eye(len(box)), geometry)
        found.append(moved.enter(CUTOFF, REACH))
        assert found[-1] == enters(x, before, box, periodic)
    assert 2 < sum(found) < 14


def test_many_fast_nodes_are_not_searched() -> None:
    before = np.arange(300.0).reshape(100, 3)
    far = np.full(100, 0.3)
    assert unlisted_pairs.Moved(before + 0.3, before, far, np.eye(3), None).enter(CUTOFF, REACH)
    far[2:] = 0.0
    assert not unlisted_pairs.Moved(before, before, far, np.eye(3), None).enter(CUTOFF, REACH)


@pytest.mark.parametrize("precision", ["f4", "f8"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_displacements_equal_a_sum_in_numpy(d: int, precision: str) -> None:
    rng, deformation = np.random.default_rng(d), np.eye(d) + 0.1 * np.arange(d * d).reshape(d, d)
    before, after = rng.normal(size=(2, 1300, d)).astype(precision)
    x = storage.ArraySlot(storage.allocate(after))
    made = Displacements(x, storage.ArraySlot(storage.allocate(before)))
    moved = after.astype(np.float64) - before.astype(np.float64) @ deformation
    assert np.allclose(made.lengths(deformation), np.linalg.norm(moved, axis=1), rtol=1e-14, atol=1e-14)
    largest = float(np.linalg.norm(after.astype(np.float64) - before, axis=1).max())
    assert made.surely_below(1.001 * largest)
    assert not made.surely_below(largest)
    for bad in (np.nan, -np.nan, np.inf):
        storage.store(x, np.where(np.arange(1300)[:, None] == 777, bad, before).astype(precision))
        assert not made.surely_below(1.0)
        assert not np.isfinite(made.lengths(np.eye(d)).max())


def test_the_reference_stays_until_a_pair_enters_and_where_numbers_are_not_finite() -> None:
    before = np.random.default_rng(0).uniform(0.0, 30.0, (500, 3))
    before[:3] = [[-50.0, 0.0, 0.0], [-50.0 + 1.7, 0.0, 0.0], [90.0, 0.0, 0.0]]
    x = storage.ArraySlot(storage.allocate(before))
    reference = ListReference(before, None)
    reference.margins.add((CUTOFF, REACH))
    version = reference.version

    def follows(node: int, by: float) -> bool:
        after = storage.host(x).copy()
        after[node, 0] += by
        storage.store(x, after)
        reference.follow(x, None)
        return reference.version != version

    assert not follows(2, 0.39)
    assert not follows(0, 0.35)
    assert not follows(1, -0.1)
    assert not follows(5, np.nan)
    storage.store(x, np.where(np.isnan(storage.host(x)), before, storage.host(x)))
    assert follows(1, -0.06)
