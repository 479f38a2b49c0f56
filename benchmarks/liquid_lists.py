"""Lists of the neighbours of a liquid, within cutoff and skin: ns an atom.

Ours are what kernels read: the sources within reach of any of 16 (f32) or 8 (f64) targets. Libraries list
pairs, SciPy's tree without images, vesin and SciPy each pair once. What is compared is how many neighbours
within reach the first atoms have.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from minusgrad.elements.list_reference import ListReference
from minusgrad.elements.neighbours.block_list import BlockList
from minusgrad.engine import lane_blocks, runtime

from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.compiled import DTYPE
from .harness.peers import peer
from .liquid_state import RADIUS, SKIN, pairs, state

REACH, SHOWN, MOST = RADIUS + SKIN, 256, 2.0
VESIN = "vesin"


def case(side: int, precision: str, threads: int = 0) -> Case:
    """Of so many cells of a crystal along each axis."""
    columns = {
        OURS: Column(lambda: ours(side, precision), engine=True),
        VESIN: Column(lambda: in_vesin(side), peer=True),
        "matscipy": Column(lambda: in_matscipy(side), peer=True),
        "SciPy's cKDTree": Column(lambda: in_scipy(side), peer=True),
    }
    n = 4 * side**3
    return Case(
        "liquid",
        f"{n}-lists-{threads}",
        precision,
        columns,
        expected=lambda: of_pairs(pairs(side, REACH)[0]),
        count=n,
        unit="ns an atom",
        base=VESIN,
        goals=tuple(Goal(name, MOST) for name, column in columns.items() if column.peer),
        threads=threads,
        about={"N": n, "threads": threads},
    )


class Counts:
    """How many neighbours the first atoms have, counted outside the measured time."""

    def __init__(self, count: Callable[[], np.ndarray]):
        self._count = count

    def numpy(self) -> np.ndarray:
        """(SHOWN,)"""
        return self._count()


def of_pairs(pairs: np.ndarray, times: int = 1) -> np.ndarray:
    """Of pairs (m, 2) that are listed once, or in both directions."""
    return np.bincount(pairs.ravel())[:SHOWN] // times


def ours(side: int, precision: str) -> Call:
    """The lists of blocks, rebuilt in their arrays."""
    x, _, box = state(side)
    edges = box * np.eye(3)[None]
    reference = ListReference(x.astype(DTYPE[precision]), edges.astype(DTYPE[precision]), (True,) * 3)
    wide = lane_blocks.lanes(DTYPE[precision])
    blocks = BlockList(np.arange(len(x), dtype=np.int32), REACH, reference, wide)

    def count() -> np.ndarray:
        found = np.zeros(SHOWN, int)
        for target in range(SHOWN):
            nodes, images, _ = blocks.of_target(target)
            places = x[nodes] + box * images
            found[target] = (np.linalg.norm(places[:, 1] - places[:, 0], axis=1) <= REACH).sum()
        return found

    def call() -> Counts:
        blocks.build()
        runtime.sync()
        return Counts(count)

    return call


def in_vesin(side: int) -> Call:
    """Each pair once, with its image."""
    vesin: Any = peer("vesin")
    x, _, box = state(side)
    lists, vectors = vesin.NeighborList(cutoff=REACH, full_list=False), box * np.eye(3)

    def call() -> Counts:
        i, j, _ = lists.compute(x, vectors, True, "ijS")
        return Counts(lambda: of_pairs(np.stack([i, j])))

    return call


def in_matscipy(side: int) -> Call:
    """Each pair in both directions, with its image."""
    peer("matscipy")
    from matscipy.neighbours import neighbour_list

    x, _, box = state(side)
    given: Mapping[str, Any] = {"positions": x, "cell": box * np.eye(3), "pbc": np.ones(3, bool)}

    def call() -> Counts:
        i, j, _ = neighbour_list("ijS", cutoff=REACH, **given)
        return Counts(lambda: of_pairs(np.stack([i, j]), 2))

    return call


def in_scipy(side: int) -> Call:
    """A tree of the torus, and each pair once."""
    from scipy.spatial import cKDTree

    x, _, box = state(side)

    def call() -> Counts:
        found = cKDTree(x % box, boxsize=box).query_pairs(REACH, output_type="ndarray")
        return Counts(lambda: of_pairs(found))

    return call
