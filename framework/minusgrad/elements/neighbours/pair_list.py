"""Unordered pairs of nodes within a cutoff, listed with a skin and rebuilt as the nodes move.

    rows       a node and its periodic image: position x[node] + image . box
    targets    every node i, image -wrap(i), with the rows within reach of it, sorted by node and image

Positions are not wrapped in memory; the images of a list contain how many boxes away each node was when the
list was built. A pair is counted at the target whose row is the later one.

Decisions 0284.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...engine import memory, storage
from ...errors import EnergyError
from ..elements import Elements
from ..excluded_pairs import Excluded
from ..list_reference import ListReference
from ..loops import EachTarget, Loop, Sources
from .block_list import BlockList

SPARE = 1.25
"""Size of the arrays of a list, relative to its need when they are made."""
CROWDED = 8
"""Images of a node from which on neighbours are sought node by node: most pairs are then of two images."""
LARGE = 1 << 28
"""Bytes from which on the memory of a list is estimated before it is built."""

LISTED = EachTarget(
    (
        Sources("for q in range({p}pairs_begin[i], {p}pairs_middle[i]):", True, ("j = {p}pairs_source[q]",)),
        Sources(
            "for q in range({p}pairs_middle[i], {p}pairs_begin[i + 1]):", False, ("j = {p}pairs_source[q]",)
        ),
    ),
    rows="row_nodes",
)
"""Target i over its listed rows: those before its own, which count the pair's energy, and those behind it."""


@dataclass(frozen=True)
class Reach:
    """How far a list reaches: the cutoff, the skin, and whether images beyond half the box count."""

    cutoff: float
    skin: float
    images: bool = False

    @property
    def list_distance(self) -> float:
        """The distance up to which pairs are listed."""
        return self.cutoff + self.skin


@dataclass(frozen=True, eq=False)
class PairChoice:
    """Which pairs a list has: of `nodes`, int32 (n,) in increasing order, within reach, without `excluded`.

    what: the name of the term, which begins messages.
    """

    nodes: np.ndarray
    reach: Reach
    excluded: Excluded | None = None
    what: str = "pairs"

    @property
    def key(self) -> Hashable:
        """Equal keys are equal pairs."""
        left_out = None if self.excluded is None else self.excluded.key
        return self.nodes.tobytes(), self.reach, left_out


class PairList(Elements):
    """All unordered pairs of some nodes that are within a cutoff, listed for a reference of positions.

    Arrays have room for lists that grow; one that outgrows it is replaced (`rebuild`).
    """

    unordered: ClassVar[bool] = True
    fixed: ClassVar[bool] = False
    listed: ClassVar[bool] = True

    def __init__(self, choice: PairChoice, reference: ListReference):
        self.choice, self.reference = choice, reference
        self.nodes, self.reach, self.excluded, self.what = (
            choice.nodes,
            choice.reach,
            choice.excluded,
            choice.what,
        )
        self.periodic = reference.periodic
        self.version = reference.version
        self._larger: PairList | None = None
        reference.margins.add((self.reach.cutoff, self.reach.list_distance))
        self._slots: dict[str, storage.ArraySlot] = {}
        self._blocks: dict[int, BlockList] = {}
        self._in_kernels = False
        self._refuse_width()

    @property
    def arity(self) -> int:
        return 2

    @property
    def defined(self) -> bool:
        return self.reference.defined

    @property
    def loop(self) -> Loop:
        return LISTED

    def in_blocks(self, wide: int) -> BlockList:
        """The lists of blocks of so many targets, for kernels with a target in each lane."""
        if wide not in self._blocks:
            listed = self.nodes, self.reach.list_distance, self.reference, wide, self.what, self.excluded
            self._blocks[wide] = BlockList(*listed)
        return self._blocks[wide]

    @property
    def count(self) -> int:
        begins, middle = self._host_array("pairs_begin"), self._host_array("pairs_middle")
        return int((middle - begins[:-1]).sum())

    def arrays(self) -> dict[str, Any]:
        self._in_kernels = True
        return {"nodes": self.nodes, **self._target_lists}

    @property
    def _target_lists(self) -> dict[str, storage.ArraySlot]:
        """The lists by target; made when they are first needed."""
        if not self._slots:
            self._build_lists()
        return self._slots

    def tuples(self) -> np.ndarray:
        return self._counted_pairs[0]

    def images(self) -> np.ndarray:
        """The images of both nodes of each counted pair, (count, 2, d); d = 0 without a box."""
        return self._counted_pairs[1]

    @cached_property
    def _counted_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        begins, middle = self._host_array("pairs_begin"), self._host_array("pairs_middle")
        many = middle - begins[:-1]
        target = np.repeat(np.arange(len(self.nodes)), many)
        inside = np.arange(len(target)) - np.repeat(np.cumsum(many) - many, many)
        row = self._host_array("pairs_source")[np.repeat(begins[:-1], many) + inside]
        return self._pair_nodes(target, row), self._pair_images(target, row)

    def _pair_nodes(self, target: np.ndarray, row: np.ndarray) -> np.ndarray:
        return np.stack([self.nodes[target], self._host_array("row_nodes")[row]], axis=1).astype(np.int32)

    def _pair_images(self, target: np.ndarray, row: np.ndarray) -> np.ndarray:
        if not self.periodic:
            return np.zeros((len(target), 2, 0), np.int32)
        return np.stack(
            [self._host_array("target_images")[target], self._host_array("row_images")[row]], axis=1
        )

    def visits(self) -> tuple[np.ndarray, np.ndarray]:
        """All pairs from both of their nodes, (n, 2), target by target, and the images of both, (n, 2, d)."""
        begins = self._host_array("pairs_begin")
        target = np.repeat(np.arange(len(self.nodes)), np.diff(begins))
        row = self._host_array("pairs_source")[: len(target)]
        return self._pair_nodes(target, row), self._pair_images(target, row)

    @property
    def visit_count(self) -> int:
        """The number of visits: twice that of the pairs."""
        return int(self._host_array("pairs_begin")[-1])

    @property
    def beyond(self) -> int:
        """A number of boxes that is further than the list reaches, along every periodic axis."""
        box = self.reference.geometry
        return 0 if box is None else int(np.ceil(2.0 * self.reach.list_distance / box.least_height)) + 2

    def of_row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        if blocks := self._only_blocks:
            return blocks.of_target(row)[::2]
        target, rows, counted = self._pairs_of_row(row)
        return self._pair_nodes(target, rows), counted

    def images_of_row(self, row: int) -> np.ndarray:
        """The images of both nodes of the pairs of one target, (n, 2, d), as `of_row` has them."""
        if blocks := self._only_blocks:
            return blocks.of_target(row)[1]
        target, rows, _ = self._pairs_of_row(row)
        return self._pair_images(target, rows)

    @property
    def _only_blocks(self) -> BlockList | None:
        """The lists of blocks, where there are no others."""
        return None if self._slots else next(iter(self._blocks.values()), None)

    def _pairs_of_row(self, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        begins, middle = self._host_array("pairs_begin"), self._host_array("pairs_middle")
        rows = self._host_array("pairs_source")[begins[row] : begins[row + 1]]
        counted = np.arange(len(rows)) < middle[row] - begins[row]
        return np.full(len(rows), row), rows, counted

    def _host_array(self, name: str) -> np.ndarray:
        return storage.host(self._target_lists[name])

    def part(self, rng: np.random.Generator, elements: int, targets: int) -> tuple["PairList", None]:
        """The pairs among the neighbours of a random node that has some."""
        if len(self.nodes) <= targets:
            return self.restricted_to(self.nodes), None
        begin, near = int(rng.integers(len(self.nodes))), np.zeros((0, 2), np.int32)
        for middle in (*range(begin, len(self.nodes)), *range(begin)):
            if len(near := self.of_row(middle)[0]):
                break
        others = rng.permutation(np.setdiff1d(self.nodes, near))
        chosen = np.unique(np.concatenate([self.nodes[middle : middle + 1], near[:, 1]]))[:targets]
        return self.restricted_to(np.sort(np.concatenate([chosen, others[: targets - len(chosen)]]))), None

    def restricted_to(self, nodes: np.ndarray) -> "PairList":
        """The pairs of some of the nodes, with the same reach and reference."""
        return PairList(replace(self.choice, nodes=nodes.astype(np.int32)), self.reference)

    def following(self, reference: ListReference | None) -> "PairList":
        assert reference is not None
        excluded = None if self.excluded is None else self.excluded.twin()
        return reference.shared_list(replace(self.choice, excluded=excluded), PairList)

    def rebuild(self, fields: Mapping[str, np.ndarray]) -> "PairList":
        """The pairs for the reference as it is: itself, or a list with more room."""
        if self._larger is not None:
            return self._larger.rebuild(fields)
        if self.version == self.reference.version or self._rebuild_lists():
            return self
        self._larger = self.restricted_to(self.nodes)
        self._slots, self._blocks = {}, {}  # this list only names the larger one from now on
        if self.reference.lists.get(self.choice.key) is self:
            self.reference.lists[self.choice.key] = self._larger
        return self._larger

    def _rebuild_lists(self) -> bool:
        """List the pairs of the reference in all arrays that kernels read; False if they have no room."""
        self._refuse_width()
        self.__dict__.pop("_counted_pairs", None)
        if not self._in_kernels:
            self._slots = {}
        elif not self._build_lists():
            return False
        self.version = self.reference.version
        return all(blocks.build() for blocks in self._blocks.values())

    # Building

    def _build_lists(self) -> bool:
        """List the pairs of the reference; False if the arrays have no room for them."""
        found = self._list_arrays()
        if self._slots and any(len(values) > len(self._slots[name]) for name, values in found.items()):
            return False
        for name, values in found.items():
            grows = name in ("pairs_source", "row_nodes", "row_images")
            if name not in self._slots:
                room = int(SPARE * len(values)) + 64 if grows else len(values)
                self._slots[name] = storage.ArraySlot(storage.allocate(_pad_rows(values, room)))
            else:
                storage.store(self._slots[name], _pad_rows(values, len(self._slots[name])))
        return True

    def _list_arrays(self) -> dict[str, np.ndarray]:
        """The arrays of the list, without spare room."""
        x = storage.host(self.reference.positions)[self.nodes].astype(np.float64)
        box = self.reference.geometry
        count, reach = len(self.nodes), self.reach.list_distance
        row_node, image = np.arange(count), np.zeros((count, len(self.periodic)), np.int32)
        wraps = image
        if box is not None:
            wraps = box.wraps(x)
            x = x - wraps @ box.vectors
            ghosts, images = box.images_within(x, reach)
            row_node, image = np.concatenate([row_node, ghosts]), np.concatenate([image, images])
            order = np.lexsort((*image.T[::-1], row_node))
            row_node, image = row_node[order], image[order]
        own = np.flatnonzero(~image.any(axis=1)) if box is not None else row_node
        places = x[row_node] + image @ box.vectors if box is not None else x
        begin, source = self._rows_within_reach(places, own, reach)
        target = np.repeat(np.arange(count), np.diff(begin))
        if self.excluded is not None and len(self.excluded.pairs) and len(source):
            kept = ~self._hits_excluded(row_node[source], target, image[source], wraps)
            target, source = target[kept], source[kept]
            begin = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=count))])
        before = np.bincount(target[source < own[target]], minlength=count)
        lists = {"pairs_begin": begin, "pairs_middle": begin[:-1] + before, "pairs_source": source}
        lists["row_nodes"] = self.nodes[row_node]
        if box is not None:
            lists |= {"row_images": image - wraps[row_node], "target_images": -wraps}
        return {name: np.ascontiguousarray(values, np.int32) for name, values in lists.items()}

    def _refuse_width(self) -> None:
        """Refuse a list that reaches beyond half the box, unless images are counted."""
        box = self.reference.geometry
        if box is not None and not self.reach.images and 2.0 * self.reach.list_distance > box.least_height:
            raise EnergyError(
                f"{self.what}.cutoff: must be, with the skin, at most half the smallest distance between"
                f" opposite faces of the box, {0.5 * box.least_height:.6g}, got {self.reach.cutoff:.6g} +"
                f" {self.reach.skin:.6g}; use a larger box, or count several images of a node: images = true"
            )

    def _rows_within_reach(
        self, places: np.ndarray, own: np.ndarray, reach: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows within reach of the targets, whose own rows are `own`: CSR, rows in increasing order."""
        from scipy.sparse import coo_matrix
        from scipy.spatial import cKDTree

        tree = cKDTree(places)
        if len(own) * len(places) * 8 > LARGE:
            many = int(cKDTree(places[own]).count_neighbors(tree, reach))
            what = f"{self.what}: its list of {many} neighbours"
            memory.require(40 * many, what, "use a smaller cutoff or skin", EnergyError)
        if len(places) > CROWDED * len(own):
            near = tree.query_ball_point(places[own], reach)
            rows = [np.setdiff1d(found, [row]) for row, found in zip(own, near, strict=True)]
            return np.concatenate([[0], np.cumsum([len(found) for found in rows])]), np.concatenate(rows)
        pairs = tree.query_pairs(reach, output_type="ndarray")
        target = np.full(len(places), -1)
        target[own] = np.arange(len(own))
        both = np.concatenate([pairs, pairs[:, ::-1]])
        both = both[target[both[:, 0]] >= 0]
        ones = np.ones(len(both), np.int8)
        matrix = coo_matrix((ones, (target[both[:, 0]], both[:, 1])), (len(own), len(places)))
        sorted_rows = matrix.tocsc().tocsr()
        return sorted_rows.indptr, sorted_rows.indices

    def _hits_excluded(
        self, source: np.ndarray, target: np.ndarray, image: np.ndarray, wraps: np.ndarray
    ) -> np.ndarray:
        """Which of these visits are of excluded pairs; nodes by their places among `nodes`."""
        assert self.excluded is not None
        between = image - wraps[source] + wraps[target]
        between = np.where((source > target)[:, None], between, -between)
        first, second = np.minimum(source, target), np.maximum(source, target)
        if not self.periodic:
            between = np.zeros((len(source), self.excluded.images.shape[1]), np.int32)
        most = max(int(self.nodes[-1]), int(self.excluded.pairs.max())) + 1
        return self.excluded.hit(
            self.nodes[first].astype(np.int64), self.nodes[second].astype(np.int64), between, most
        )


def _pad_rows(values: np.ndarray, room: int) -> np.ndarray:
    """The rows with copies of the first one behind them; zeros if there are none."""
    made = np.zeros((room, *values.shape[1:]), values.dtype)
    made[: len(values)] = values
    if len(values):
        made[len(values) :] = values[0]
    return made
