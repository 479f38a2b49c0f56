"""Which cells of a tree interact: a dual traversal from the pair of the root with itself.

    accepted     r_A + r_B < theta_AB |z_A - z_B|     the cells are far: one interaction of expansions
    two leaves   that are not accepted are near: node by node
    otherwise    the cell with the larger radius is replaced by its children

z are centres, r radii. The opening angle of all nodes is `theta`; if the larger of both cells has fewer
nodes, n of N, it is wider, so that errors of the sum are alike: with expansions of order p

    theta_AB^(p + 2) / (1 - theta_AB)^2 = theta^(p + 2) / (1 - theta)^2 (n / N)^(-1/3)

(Dehnen 2002, J. Comput. Phys. 179, 27, with numbers of nodes in place of masses). Every pair of nodes is in
exactly one pair of cells. The criterion is symmetric, so each pair of cells is listed once here, and for both
of its cells in the lists by target.
"""

from functools import partial
from typing import Any

import numpy as np

from ...engine import storage
from ...engine.kernels import BoundKernel, Code, dealt_in_groups
from .box_images import BoxImages
from .kd_tree import KdTree
from .partner_lists import PartnerLists

STARTS = 4096
"""Pairs that the traversal is begun with in parallel, or a few more."""
LARGE = 1 / 512
"""Such a part of all nodes in both of two cells is much work for one thread: the pair is divided before."""


class CellPairs:
    """The lists of far cells and of near leaves of a tree, by target, for `theta` and expansions of an order.

    far     by cell: the cells that are far; each list is filled to a multiple of `wide` with the number of
            cells, which is a cell that adds nothing
    near    by leaf: the leaves that are near, without the leaf itself

    With `images` their cells take part, too: image k of a cell has the cell's number plus k times their
    count (with the cell that adds nothing), and pairs beyond `reach` are left out; so for leaves. `shift`,
    f64 (K, d), is where the images are.
    """

    def __init__(
        self,
        tree: KdTree,
        theta: float,
        order: int,
        wide: int,
        images: BoxImages | None = None,
        reach: float = np.inf,
    ):
        self.tree, self.theta, self.order = tree, theta, order
        self.images, self.reach = images or BoxImages.none(tree.d), reach
        self.shift, half = np.zeros((len(self.images), tree.d)), self.images.half
        stride = (tree.cells + 1, len(tree.leaves)) if half else (None, None)
        self._angle = np.zeros(tree.cells)
        self.far = PartnerLists(tree.cells, wide, tree.cells, stride[0])
        self.near = PartnerLists(len(tree.leaves), 1, 0, stride[1])
        self._starts = np.zeros((STARTS * 4, 3), np.int32)
        self._begins = np.zeros((STARTS * 4 + 1, 2), np.int64)
        self._stacks = storage.ArraySlot(np.zeros((1, 1, 3), np.int32))
        self._counts = np.zeros(1, np.int32)
        arrays: dict[str, Any] = {
            "child": tree.child,
            "leaf": tree.leaf,
            "centre": tree.centre,
            "radius": tree.radius,
            "angle": self._angle,
            "starts": self._starts,
            "begins": self._begins,
            "stacks": self._stacks,
            "counts": self._counts,
        }
        if half:
            arrays |= {"shift": self.shift}
        walk = partial(_walk_loop, tree, half, reach)
        self._count = BoundKernel(Code(walk(fill=False), arrays))
        arrays |= {"far_pairs": self.far.pairs, "near_pairs": self.near.pairs}
        self._write = BoundKernel(Code(walk(fill=True), arrays))

    def build(self) -> None:
        """List the pairs for the tree as it is. Arrays with too little room are replaced."""
        many, which = np.unique(self.tree.end - self.tree.begin, return_inverse=True)
        self._angle[:] = opening_angles(self.theta, self.order, many / self.tree.count)[which]
        self._first_pairs()
        deep = 4 * len(self.tree.levels) + 4  # each level of both cells leaves two pairs for later
        if self._stacks.shape[1] < deep:
            self._stacks.replace(np.zeros((len(self._starts), 2 * deep, 3), np.int32))
        self._count()
        totals = np.cumsum(self._begins[1:], axis=0)
        self._begins[1:] = totals
        for lists, count in zip((self.far, self.near), totals[-1], strict=True):
            lists.room(int(count))
        self._write()
        for lists, count in zip((self.far, self.near), totals[-1], strict=True):
            lists.build(int(count))

    def far_from(self, cell: int) -> np.ndarray:
        """The cells that are far from a cell."""
        begin, wide = self.far.begin, self.far.wide
        found = self.far.present_lists[begin[cell] * wide : begin[cell + 1] * wide]
        return found[found != self.tree.cells]

    def _first_pairs(self) -> None:
        """The first pairs: those of the traversal, the large ones divided, until there are enough."""
        tree = self.tree
        size, pairs = tree.end - tree.begin, np.zeros((1 + self.images.half, 3), np.int32)
        pairs[:, 2] = np.arange(len(pairs))
        while len(pairs) < STARTS:
            split = np.where(
                size[pairs[:, :2]].min(axis=1) > LARGE * tree.count, self._split_pairs(pairs), -1
            )
            if not (split >= 0).any():
                break
            pairs = _child_pairs(pairs, split, tree.child)
        self._starts[: len(pairs)] = pairs
        self._begins[:] = 0
        self._counts[0] = len(pairs)

    def _split_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """What becomes of pairs: -1 stays, 0 or 1 that cell is split, 2 a cell with itself."""
        tree, (a, b, image) = self.tree, pairs.T
        apart = np.linalg.norm(tree.centre[a] - tree.centre[b] - self.shift[image], axis=1)
        angle = np.minimum(self._angle[a], self._angle[b])
        stays = (tree.radius[a] + tree.radius[b] < angle * apart) | (
            (tree.child[a] < 0) & (tree.child[b] < 0)
        )
        first = (tree.child[b] < 0) | ((tree.child[a] >= 0) & (tree.radius[a] >= tree.radius[b]))
        return np.where(stays, -1, np.where((a == b) & (image == 0), 2, np.where(first, 0, 1)))


def opening_angles(theta: float, order: int, shares: np.ndarray) -> np.ndarray:
    """theta_AB of cells with these shares of all nodes, found by halving intervals."""
    goal = (order + 2) * np.log(theta) - 2.0 * np.log1p(-theta) - np.log(shares) / 3.0
    low, high = np.full(len(shares), theta), np.ones(len(shares))
    for _ in range(50):
        middle = 0.5 * (low + high)
        wider = (order + 2) * np.log(middle) - 2.0 * np.log1p(-middle) < goal
        low, high = np.where(wider, middle, low), np.where(wider, high, middle)
    return low


def _child_pairs(pairs: np.ndarray, split: np.ndarray, child: np.ndarray) -> np.ndarray:
    """The pairs that follow, in order."""
    a, b, image = pairs.T
    rows = []
    for code, made in (
        (-1, [(a, b)]),
        (0, [(child[a], b), (child[a] + 1, b)]),
        (1, [(a, child[b]), (a, child[b] + 1)]),
        (2, [(child[a], child[a]), (child[a], child[a] + 1), (child[a] + 1, child[a] + 1)]),
    ):
        chosen = split == code
        rows += [np.stack([one[chosen], other[chosen], image[chosen]], axis=1) for one, other in made]
    return np.concatenate(rows).astype(np.int32)


def _walk_loop(tree: KdTree, half: int, reach: float, fill: bool) -> str:
    """The loop over the first pairs, each with a stack: counts the pairs, or writes them.

    half: how many images of cells there are beside their opposites.
    """
    axes = range(tree.d)
    apart = [f"(centre[a, {k}] - centre[b, {k}]{f' - shift[image, {k}]' if half else ''})" for k in axes]
    far = " + ".join(f"{one} * {one}" for one in apart)
    strides = {"far": tree.cells + 1, "near": len(tree.leaves)}

    def put(kind: str, a: str, b: str) -> list[str]:
        if not fill:
            return []
        if half:
            a, b = f"{a} + opposite * {strides[kind]}", f"{b} + image * {strides[kind]}"
        return [f"{kind}_pairs[{kind}_at, 0] = {a}", f"{kind}_pairs[{kind}_at, 1] = {b}"]

    def push(one: str, other: str) -> list[str]:
        more = ["stacks[job, top, 2] = image"] if half else []
        return [f"stacks[job, top, 0] = {one}", f"stacks[job, top, 1] = {other}", *more, "top += 1"]

    taken = ["image = stacks[job, top, 2]", f"opposite = ti.select(image == 0, 0, image + {half})"]
    limit = f"(radius[a] + radius[b] + ti.f64({reach!r}))"
    within = [f"        if {far} > {limit} * {limit}:", "            continue"]

    both = [*push("child[a]", "child[a]"), *push("child[a]", "child[a] + 1")]
    both += push("child[a] + 1", "child[a] + 1")
    lines = [
        "far_at = begins[job, 0]",
        "near_at = begins[job, 1]",
        "stacks[job, 0, 0] = starts[job, 0]",
        "stacks[job, 0, 1] = starts[job, 1]",
        *(["stacks[job, 0, 2] = starts[job, 2]"] if half else []),
        "top = 1",
        "while top > 0:",
        "    top -= 1",
        "    a = stacks[job, top, 0]",
        "    b = stacks[job, top, 1]",
        *(f"    {line}" for line in taken if half),
        f"    if a == b{' and image == 0' if half else ''}:",
        "        if child[a] >= 0:",
        *(f"            {line}" for line in both),
        "    else:",
        *(within if half else []),
        "        reach = (radius[a] + radius[b]) / ti.min(angle[a], angle[b])",
        f"        if reach * reach < {far}:",
        *(f"            {line}" for line in (*put("far", "a", "b"), "far_at += 1")),
        "        elif child[a] < 0 and child[b] < 0:",
        *(f"            {line}" for line in (*put("near", "leaf[a]", "leaf[b]"), "near_at += 1")),
        "        elif child[b] < 0 or (child[a] >= 0 and radius[a] >= radius[b]):",
        *(f"            {line}" for line in (*push("child[a]", "b"), *push("child[a] + 1", "b"))),
        "        else:",
        *(f"            {line}" for line in (*push("a", "child[b]"), *push("a", "child[b] + 1"))),
    ]
    if not fill:
        lines += ["begins[job + 1, 0] = far_at", "begins[job + 1, 1] = near_at"]
        lines[:2] = ["far_at = ti.i64(0)", "near_at = ti.i64(0)"]
    return "\n".join(dealt_in_groups("job", "counts[0]", lines)) + "\n"
