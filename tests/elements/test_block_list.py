"""Lists of blocks of targets: every pair within reach is listed, once for each target, and counted once."""

import re

import numpy as np
import pytest

from minusgrad.elements.excluded_pairs import Excluded
from minusgrad.elements.list_reference import ListReference
from minusgrad.elements.neighbours.block_list import BlockList
from minusgrad.engine import memory, runtime
from minusgrad.errors import EnergyError

SKEWED = np.array([[6.0, 0.0, 0.0], [1.5, 5.5, 0.0], [0.7, -1.0, 7.0]])
PLANE = np.array([[30.0, 0.0], [3.0, 25.0]])
CASES = {
    "skewed": (130, SKEWED, (True, True, True), 1.7, 16),
    "partly periodic": (130, SKEWED, (True, False, True), 1.7, 8),
    "beyond the box": (30, SKEWED / 2.0, (True, True, True), 3.1, 8),
    "plane": (150, PLANE, (True, True), 3.0, 8),
    "line": (100, np.array([[50.0]]), (True,), 3.0, 8),
    "free": (150, np.eye(3), (), 1.3, 16),
    "free plane": (150, np.eye(2), (), 1.0, 8),
    "few": (3, PLANE, (True, True), 3.0, 16),
}


def made(
    x: np.ndarray,
    box: np.ndarray,
    periodic: tuple[bool, ...],
    reach: float,
    wide: int,
    excluded: Excluded | None = None,
) -> tuple[BlockList, ListReference]:
    reference = ListReference(x, box[None] if periodic else None, periodic)
    nodes = np.arange(len(x), dtype=np.int32)
    return BlockList(nodes, reach, reference, wide, excluded=excluded), reference


def neighbours(
    x: np.ndarray, box: np.ndarray, periodic: tuple[bool, ...], reach: float
) -> list[set[tuple[int, ...]]]:
    """The node and the image, relative to the target's, of all that is within reach of each target."""
    d = x.shape[1]
    far = int(np.ceil((np.ptp(x, axis=0).max() + reach) / np.abs(np.linalg.eigvals(box)).min())) + 3
    steps = [range(-far, far + 1) if p else range(1) for p in (periodic or (False,) * d)]
    images = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, d)
    found = []
    for k in range(len(x)):
        near = np.linalg.norm(x[:, None] + (images @ box)[None] - x[k], axis=2) < reach
        found.append({(int(j), *map(int, images[m])) for j, m in np.argwhere(near)} - {(k, *[0] * d)})
    return found


def listed(blocks: BlockList, x: np.ndarray, box: np.ndarray, reach: float) -> tuple[list[set], int]:
    """The same as `neighbours`, of lists; and how many pairs are counted."""
    found, counted = [], 0
    for k in range(len(x)):
        nodes, images, once = blocks.of_target(k)
        assert (nodes[:, 0] == k).all()
        between = images[:, 1] - images[:, 0] if images.shape[2] else np.zeros((len(nodes), x.shape[1]), int)
        near = np.linalg.norm(x[nodes[:, 1]] + between @ box - x[k], axis=1) < reach
        rows = [(int(j), *map(int, m)) for j, m in zip(nodes[near, 1], between[near], strict=True)]
        assert len(set(rows)) == len(rows)
        found.append(set(rows))
        counted += int(once[near].sum())
    return found, counted


@pytest.mark.parametrize("name", CASES)
def test_every_pair_within_reach_is_listed(name: str, engine: None) -> None:
    n, box, periodic, reach, wide = CASES[name]
    rng = np.random.default_rng(4)
    x = rng.uniform(-0.8, 0.8, (n, len(box))) @ (box if periodic else 4.0 * box)
    blocks, reference = made(x, box, periodic, reach, wide)
    for moved in (x, x + 0.3 * rng.normal(size=x.shape)):
        reference.positions.at[...] = moved
        assert blocks.build()
        expected = neighbours(moved, box, periodic, reach)
        found, counted = listed(blocks, moved, box, reach)
        assert found == expected
        assert 2 * counted == sum(map(len, expected))


@pytest.mark.parametrize(
    ("name", "part"), [("partly periodic", 0.3), ("beyond the box", 1.0), ("line", 0.5), ("free", 1.0)]
)
def test_excluded_pairs_are_not_listed(name: str, part: float, engine: None) -> None:
    """Some images of pairs within reach, one of each two nodes, and pairs far apart; also after a move."""
    n, box, periodic, reach, wide = CASES[name]
    rng = np.random.default_rng(5)
    x = rng.uniform(-0.8, 0.8, (n, len(box))) @ (box if periodic else 4.0 * box)
    near = neighbours(x, box, periodic, reach)
    out = {(k, j): image for k, some in enumerate(near) for j, *image in sorted(some) if k < j}
    kept = rng.uniform(size=len(out)) < part
    out = {pair: image for (pair, image), one in zip(out.items(), kept, strict=True) if one}
    out.setdefault((0, n - 1), [0] * len(box))
    excluded = Excluded(np.array(list(out)), np.array(list(out.values())))
    blocks, reference = made(x, box, periodic, reach, wide, excluded)
    left_out = {(k, j, *image) for (k, j), image in out.items()}
    left_out |= {(j, k, *(-m for m in image)) for (k, j), image in out.items()}
    for moved in (x, x + 0.3 * rng.normal(size=x.shape)):
        reference.positions.at[...] = moved
        assert blocks.build()
        expected = neighbours(moved, box, periodic, reach)
        expected = [{one for one in some if (k, *one) not in left_out} for k, some in enumerate(expected)]
        found, counted = listed(blocks, moved, box, reach)
        assert found == expected
        assert 2 * counted == sum(map(len, expected))


def test_a_node_far_away(engine: None) -> None:
    """Places are in f32, which are rough where one node has left."""
    x = np.random.default_rng(2).normal(size=(80, 3))
    x[5] = 3e5
    blocks, _ = made(x, np.eye(3), (), 0.7, 16)
    assert listed(blocks, x, np.eye(3), 0.7)[0] == neighbours(x, np.eye(3), (), 0.7)


def test_room_that_is_too_small(engine: None) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0.0, 1.0, (400, 3)) * 20.0
    blocks, reference = made(x, np.eye(3), (), 2.0, 8)
    assert blocks.build()
    reference.positions.at[...] = 0.2 * x
    assert not blocks.build()
    reference.positions.at[...] = x
    assert blocks.build()
    assert listed(blocks, x, np.eye(3), 2.0)[0] == neighbours(x, np.eye(3), (), 2.0)


def test_lists_do_not_depend_on_threads(engine: None) -> None:
    x = np.random.default_rng(1).uniform(0.0, 20.0, (3000, 3))
    found = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        blocks, _ = made(x, 20.0 * np.eye(3), (True, True, True), 1.5, 8)
        found.append({name: array.tobytes() for name, array in blocks.arrays().items()})
    assert found[0] == found[1]


def test_lists_that_outgrow_memory(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    monkeypatch.setattr(memory, "free", lambda: memory.Free(1000))
    x = np.random.default_rng(1).uniform(0.0, 20.0, (3000, 3))
    with pytest.raises(EnergyError) as refused:
        made(x, 20.0 * np.eye(3), (True, True, True), 1.5, 8)
    text = (
        r"pairs: its list of neighbours: \S+ [kM]B of memory needed, \S+ \S+ free;"
        " use a smaller cutoff or skin"
    )
    assert re.fullmatch(text, str(refused.value))
