"""Unordered pairs of nodes in near leaves of a tree; pairs of far cells are left to expansions.

    U = sum over near pairs of u(i, j)  +  sum over far pairs of cells of expansions      (`potential.far`)

The tree is built for a reference of positions, as lists of neighbours are. While it stays, U is one smooth
function of the positions. It serves until a node has moved from its reference by more than `skin` times the
radius of its leaf; with skin = 0, the default, it is that of the present positions.

Decisions 0312.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...engine import lane_blocks, storage
from ..all_pairs import AllPairs
from ..elements import Elements
from ..list_reference import ListReference
from ..loops import Loop
from ..neighbours.pair_list import LISTED
from .box_images import BoxImages
from .cell_pairs import CellPairs
from .kd_tree import LEAF, KdTree


@dataclass(frozen=True, eq=False)
class TreeChoice:
    """Which pairs are near: of `nodes`, int32 (n,) in increasing order, in cells that are not far.

    theta, order: the opening angle of all nodes, and the order of expansions (`cell_pairs`). skin: see above;
    infinite: the tree stays whatever the positions. what: the name of the term, which begins messages. error:
    the relative error that was asked for, or None.
    """

    nodes: np.ndarray
    theta: float
    order: int
    skin: float = 0.0
    what: str = "pairs"
    error: float | None = None

    @property
    def key(self) -> Hashable:
        """Equal keys are equal trees and lists, which stay equal: an angle for an error may be narrowed."""
        return "tree", self.nodes.tobytes(), self.theta, self.order, self.skin, self.error


class NearPairs(Elements):
    """All unordered pairs of some nodes that are in one leaf of a tree, or in leaves that are not far."""

    unordered: ClassVar[bool] = True
    fixed: ClassVar[bool] = False
    listed: ClassVar[bool] = True

    def __init__(self, choice: TreeChoice, reference: ListReference):
        self.choice, self.reference, self.nodes = choice, reference, choice.nodes
        self.d = reference.positions.shape[1]
        self.wide = lane_blocks.lanes(np.dtype(np.float64))
        self.tree = KdTree(self.nodes, self.d, reference.positions, any(reference.periodic))
        self.cells = CellPairs(self.tree, choice.theta, choice.order, self.wide)
        self.wraps = np.zeros((len(self.nodes), self.d), np.int32)
        self.version = -1
        self._slots: dict[str, storage.ArraySlot] = {}
        self._blocks: dict[int, LeafBlocks] = {}
        reference.trees.append(self)
        self.rebuild({})

    @property
    def arity(self) -> int:
        return 2

    def all_pairs(self, n: int) -> bool:
        return len(self.nodes) == n and not any(self.reference.periodic)

    @property
    def index(self) -> Any:
        """The nodes as an index of arrays: a slice where they are all, so that nothing is copied."""
        return slice(None) if len(self.nodes) == len(self.reference.positions) else self.nodes

    @property
    def defined(self) -> bool:
        return self.reference.defined

    @property
    def loop(self) -> Loop:
        return LISTED

    def serves(self, x: np.ndarray) -> bool:
        """True if the tree of the reference is used at these positions, (n, d)."""
        if np.isinf(self.choice.skin):
            return True
        rows, before = self.index, storage.host(self.reference.positions)
        if self.choice.skin == 0.0:
            return np.array_equal(x[rows], before[rows])
        self.rebuild({})  # the radii are those of the reference, which may have been restored
        moved = np.asarray(x, np.float64)[rows] - before[rows]
        squared = np.einsum("id,id->i", moved, moved)
        return bool((squared <= (self.choice.skin * self.tree.leaf_radius) ** 2).all())

    def rebuild(self, fields: Mapping[str, np.ndarray]) -> "NearPairs":
        """Itself, with the tree and the lists of the reference as it is."""
        if self.version != self.reference.version:
            self._wrap_boxes()
            self.tree.build()
            self.cells.build()
            for blocks in self._blocks.values():
                blocks.build()
            if self._slots:
                self._list_places()
            self.version = self.reference.version
        return self

    def _wrap_boxes(self) -> None:
        """The boxes that nodes are away, and where the images of the box are."""
        box = self.reference.geometry
        if box is None or self.tree.offset is None:
            return
        self.wraps = box.wraps(np.asarray(storage.host(self.reference.positions), np.float64)[self.nodes])
        self.tree.offset[:] = -self.wraps @ box.vectors
        self.cells.shift[:] = self.cells.images.vectors @ box.vectors

    @property
    def box_images(self) -> BoxImages:
        """The images of cells that take part; the box itself alone, until `take_images`."""
        return self.cells.images

    def take_images(self, reach: float) -> None:
        """Let the images of cells within reach take part, too, before kernels are made."""
        box = self.reference.geometry
        assert box is not None
        assert not self._slots
        assert not self._blocks
        images, choice = BoxImages.within_reach(box, reach), self.choice
        self.cells = CellPairs(self.tree, choice.theta, choice.order, self.wide, images, reach)
        self.version = -1
        self.rebuild({})

    def narrow(self, theta: float) -> None:
        """Take another opening angle, with the tree as it is; terms that share it follow."""
        self.choice = replace(self.choice, theta=theta)
        self.cells.theta, self.version = theta, -1
        self.rebuild({})

    @classmethod
    def of(cls, choice: TreeChoice, reference: ListReference) -> "NearPairs":
        """The tree that terms over some fields share; a new one in a box, as images follow from energies."""
        return cls(choice, reference) if any(reference.periodic) else reference.shared_list(choice, cls)

    def following(self, reference: ListReference | None) -> "NearPairs":
        assert reference is not None
        return NearPairs.of(self.choice, reference)

    def frozen_pairs(self, nodes: np.ndarray) -> "NearPairs":
        """The pairs of some of the nodes, in a tree of their own that stays that of the present reference."""
        choice = replace(self.choice, nodes=nodes.astype(np.int32), skin=np.inf)
        return NearPairs(choice, self.reference.twin(storage.host(self.reference.positions).dtype))

    def part(self, rng: np.random.Generator, elements: int, targets: int) -> tuple[Elements, None]:
        """All pairs of a few nodes: the energy without its expansions."""
        return AllPairs(np.sort(rng.permutation(self.nodes)[:targets])), None

    # Lists of nodes, for loops without lanes and for messages

    def arrays(self) -> dict[str, Any]:
        if not self._slots:
            self._list_places()
        return {"nodes": self.nodes, **self._slots}

    @property
    def count(self) -> int:
        """The near pairs."""
        tree, cells = self.tree, self.cells
        size = (tree.end - tree.begin)[tree.leaves].astype(np.int64)
        begin, near = cells.near.begin, cells.near.present_lists % len(tree.leaves)
        between = np.repeat(size, np.diff(begin)) @ size[near] // 2
        return int(between + (size * (size - 1) // 2).sum())

    def of_row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        rows, counted = self._rows_of(row)
        sources = self.nodes[self.tree.order[rows % len(self.nodes)]]
        return np.stack([np.full_like(sources, self.nodes[row]), sources], axis=1), counted

    def images(self) -> np.ndarray:
        """The images of both nodes of each pair of `tuples`, (count, 2, d)."""
        rows = [self.images_of_row(row)[self.of_row(row)[1]] for row in range(len(self.nodes))]
        return np.concatenate(rows) if rows else np.zeros((0, 2, self.d), np.int32)

    def images_of_row(self, row: int) -> np.ndarray:
        """The images of both nodes of the pairs of one target, (m, 2, d), as `of_row` has them."""
        rows, _ = self._rows_of(row)
        own = np.broadcast_to(-self.wraps[row], (len(rows), self.d))
        return np.stack([own, self.row_images[rows]], axis=1)

    def _rows_of(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the sources of one target, and which pairs it counts."""
        place = int(self.tree.place[row])
        rows = self._leaf_sources(place // LEAF)
        rows = rows[rows != place]
        return rows, self.row_order[rows] < place

    @property
    def row_images(self) -> np.ndarray:
        """The image of each row, int32 (K n, d): the places of the tree, then those of each image of it."""
        own = -self.wraps[self.tree.order]
        return (self.box_images.vectors[:, None] + own).reshape(-1, self.d).astype(np.int32)

    @property
    def row_order(self) -> np.ndarray:
        """By row, int32 (K n,): a pair is counted at the target whose place is above that of its source."""
        count, half = len(self.nodes), self.box_images.half
        images = np.repeat(np.array([-1] * half + [count] * half, np.int32), count)
        return np.concatenate([np.arange(count, dtype=np.int32), images])

    def tuples(self) -> np.ndarray:
        rows = [pairs[counted] for pairs, counted in map(self.of_row, range(len(self.nodes)))]
        return np.concatenate(rows) if rows else np.zeros((0, 2), np.int32)

    def _leaf_sources(self, leaf: int) -> np.ndarray:
        """The rows of a leaf and of those near it, in increasing order."""
        begin, near = self.cells.near.begin, self.cells.near.present_lists
        leaves = np.sort(np.append(near[begin[leaf] : begin[leaf + 1]], leaf))
        image, leaves = np.divmod(leaves, len(self.tree.leaves))
        places = leaves[:, None] * LEAF + np.arange(LEAF)
        return (places + image[:, None] * len(self.nodes))[places < len(self.nodes)]

    def _list_places(self) -> None:
        """The places of the sources of every node."""
        tree = self.tree
        order, of_leaf = self.row_order, [self._leaf_sources(leaf) for leaf in range(len(tree.leaves))]
        of_leaf = [rows[np.argsort(order[rows], kind="stable")] for rows in of_leaf]
        each = [(own := of_leaf[place // LEAF])[own != place] for place in tree.place]
        before = [np.searchsorted(order[some], place) for some, place in zip(each, tree.place, strict=True)]
        begin = np.concatenate([[0], np.cumsum([len(some) for some in each])])
        found = {
            "pairs_begin": begin,
            "pairs_middle": begin[:-1] + before,
            "pairs_source": np.append(np.concatenate(each), 0),
            "row_nodes": np.tile(self.nodes[tree.order], len(self.box_images)),
        }
        if any(self.reference.periodic):
            found |= {"row_images": self.row_images, "target_images": -self.wraps}
        for name, values in found.items():
            rows = np.ascontiguousarray(values, np.int32)
            if name not in self._slots:
                self._slots[name] = storage.ArraySlot(storage.allocate(rows))
            else:
                self._slots[name].replace(rows)

    # Lists of leaves, for kernels with a target in each lane

    def in_blocks(self, wide: int) -> "LeafBlocks":
        """The targets in blocks of `wide`, in the order of the tree."""
        if wide not in self._blocks:
            self._blocks[wide] = LeafBlocks(self, wide)
        return self._blocks[wide]


class LeafBlocks:
    """Arrays of a tree for loops over blocks of targets, whose sources are whole leaves."""

    excluded: ClassVar[None] = None

    def __init__(self, near: NearPairs, wide: int):
        assert LEAF % wide == 0
        count = len(near.nodes)
        places = np.minimum(np.arange(-(-count // wide) * wide), count - 1).astype(np.int32)
        self._near, self._places = near, places
        self._arrays: dict[str, Any] = {
            "row_counts": np.array([count * len(near.box_images), 0, 0, 0], np.int32),
            "row_order": near.row_order,
            "row_images": np.zeros((count * len(near.box_images), 3), np.int32),
            "block_rows": places,
            "block_order": places.copy(),
            "row_nodes": np.zeros(count * len(near.box_images), np.int32),
            "block_nodes": np.zeros(len(places), np.int32),
            "lane_of": near.tree.place,
            "near_begin": near.cells.near.begin,
            "near_leaves": near.cells.near.partners,
        }
        self.build()

    def arrays(self) -> dict[str, Any]:
        """The arrays that loops over blocks name."""
        return self._arrays

    def build(self) -> None:
        """Overwrite them for the tree as it is."""
        near = self._near
        self._arrays["row_nodes"][:] = np.tile(near.nodes[near.tree.order], len(near.box_images))
        if any(near.reference.periodic):
            self._arrays["row_images"][:, 3 - near.d :] = near.row_images
        self._arrays["block_nodes"][:] = self._arrays["row_nodes"][self._places]
