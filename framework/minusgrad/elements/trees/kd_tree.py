"""A k-d tree whose leaves are full: the nodes in an order in which those of a cell follow one another.

A cell is a range of places in the order of the tree. It is cut across the longest side of the box around its
nodes, at the multiple of the size of a leaf that is nearest to the middle of that side. All leaves but the
last are full, as vector lanes want them, and there are as many cells for whatever positions. (Cut at the
median instead, cells that reach from the core of a cluster to its outskirts would be far from nothing. There
are cuts at the median where all nodes are in one place, and below level `DEEP`.) The order follows from the
positions alone: it is found from the order of the nodes each time, so a tree of saved positions is the same
tree.

Decisions 0306, 0307.
"""

from typing import Any

import numpy as np

from ...engine.kernels import BoundKernel, Code, dealt

LEAF = 16
"""Nodes of a leaf: a multiple of the lanes of f32 and of f64."""
DEEP = 64
"""The level from which on cells are cut at the median: in a row of nodes whose distances fall geometrically,
cuts in the middle would separate one leaf a level."""


class KdTree:
    """The cells over `nodes`, level by level, for the positions that were built last.

    begin, end      the places of a cell's nodes, int32 (cells,)
    child           the first of its two children, which follow one another; -1 of leaves
    leaf            the number of a leaf, by place; -1 of other cells
    leaves          the cell of each leaf
    levels          the range of cells of each level
    order, place    the node at each place, and the place of each, int32 (count,), as rows of `nodes`
    centre, radius  the mean position of a cell's nodes, f64 (cells + 1, d), and the distance of the furthest

    The last row of `centre` is a place outside, for lists that need an entry that adds nothing. `source`: the
    array with the positions. In a periodic box `offset`, f64 (count, d), moves the nodes into the box.
    """

    def __init__(self, nodes: np.ndarray, d: int, source: Any, periodic: bool = False):
        self.nodes, self.d, self.count = nodes, d, len(nodes)
        self.offset = np.zeros((self.count, d)) if periodic else None
        leaves = -(-self.count // LEAF)
        self.cells = 2 * leaves - 1
        self.begin, self.end, self.child, self.leaf, self._cut = np.zeros((5, self.cells), np.int32)
        self.leaves = np.zeros(leaves, np.int32)
        self.order, self.place = np.zeros((2, self.count), np.int32)
        self.centre, self.radius = np.zeros((self.cells + 1, d)), np.zeros(self.cells)
        self.levels: list[tuple[int, int]] = []
        self._places, self._level, self._source = np.zeros((d, self.count)), np.zeros(3, np.int32), source
        self._copied, self._divided = self._make_kernels()

    def build(self) -> None:
        """Put the nodes in order for the positions of the source."""
        self._copied()
        self.end[0], low, high, self.levels = self.count, 0, 1, []
        while low < high:
            self.levels.append((low, high))
            self._level[:] = low, high, len(self.levels) > DEEP
            self._divided()
            of_level = np.arange(low, high)
            split = of_level[self.end[low:high] - self.begin[low:high] > LEAF]
            low, high = high, high + 2 * len(split)
            self.child[of_level] = -1
            self.child[split] = np.arange(low, high, 2)
            self.begin[low:high:2], self.end[low:high:2] = self.begin[split], self._cut[split]
            self.begin[low + 1 : high : 2], self.end[low + 1 : high : 2] = self._cut[split], self.end[split]
        leaves = np.flatnonzero(self.child < 0)
        self.leaf[:] = -1
        self.leaf[leaves] = self.begin[leaves] // LEAF
        self.leaves[self.leaf[leaves]] = leaves
        self.place[self.order] = np.arange(self.count, dtype=np.int32)
        self.centre[-1] = self.centre[0] + 8.0 * self.radius[0] + 1.0

    @property
    def leaf_radius(self) -> np.ndarray:
        """The radius of each node's leaf, by row of `nodes`."""
        return self.radius[self.leaves][self.place // LEAF]

    def _make_kernels(self) -> tuple[BoundKernel, BoundKernel]:
        """Kernels that copy the positions, and that divide the cells of a level."""
        arrays: dict[str, Any] = {"places": self._places, "order": self.order}
        moved = {} if self.offset is None else {"offset": self.offset}
        more = [f" + offset[i, {a}]" if moved else "" for a in range(self.d)]
        rows = [f"places[{a}, i] = ti.f64(source[nodes[i], {a}]){more[a]}" for a in range(self.d)]
        lines = [f"for i in range({self.count}):", *(f"    {row}" for row in ("order[i] = i", *rows)), ""]
        copied = Code("\n".join(lines), {**arrays, **moved, "nodes": self.nodes, "source": self._source})
        cells: dict[str, Any] = {"begin": self.begin, "end": self.end, "cut": self._cut, "level": self._level}
        cells |= {"centre": self.centre, "radius": self.radius}
        text = "\n".join(dealt("job", "level[1] - level[0]", _partition_cell(self.d))) + "\n"
        return BoundKernel(copied), BoundKernel(Code(text, arrays | cells))


def _partition_cell(d: int) -> list[str]:
    """Statements of one cell: the mean and the extent of its nodes, then those before the cut in front."""
    axes = range(d)
    squared = " + ".join(f"(places[{a}, i] - c{a}) * (places[{a}, i] - c{a})" for a in axes)
    return [
        "c = level[0] + job",
        "first = begin[c]",
        "last = end[c]",
        *(f"low{a} = places[{a}, first]" for a in axes),
        *(f"high{a} = places[{a}, first]" for a in axes),
        *(f"s{a} = ti.f64(0.0)" for a in axes),
        *_indent_under("for i in range(first, last):", [line for a in axes for line in _extend_bounds(a)]),
        *(f"c{a} = s{a} / ti.f64(last - first)" for a in axes),
        "far = ti.f64(0.0)",
        *_indent_under(
            "for i in range(first, last):", [f"s = {squared}", "far = ti.select(s > far, s, far)"]
        ),
        *(f"centre[c, {a}] = c{a}" for a in axes),
        "radius[c] = ti.sqrt(far)",
        *_indent_under(f"if last - first > {LEAF}:", _cut_longest_side(d)),
    ]


def _extend_bounds(a: int) -> list[str]:
    """Statements that add node i to sum and extent along an axis. (`ti.min` is slow: it minds NaN.)"""
    return [
        f"p{a} = places[{a}, i]",
        f"s{a} += p{a}",
        f"low{a} = ti.select(p{a} < low{a}, p{a}, low{a})",
        f"high{a} = ti.select(p{a} > high{a}, p{a}, high{a})",
    ]


def _cut_longest_side(d: int) -> list[str]:
    """Statements that put the nodes below the middle of the longest side in front, to a multiple of `LEAF`.

    The partition has no branches (Lomuto's): which side a node is on cannot be predicted. Then the few nodes
    that are nearest to the middle change sides.
    """
    axes = range(d)
    wider = [
        line
        for a in axes[1:]
        for line in (f"if high{a} - low{a} > widest:", f"    axis = {a}", f"    widest = high{a} - low{a}")
    ]
    halves = [line for a in axes[1:] for line in (f"if axis == {a}:", f"    half = low{a} + high{a}")]
    return [
        "axis = 0",
        "widest = high0 - low0",
        *wider,
        "half = low0 + high0",
        *halves,
        "middle = first",
        *_indent_under(
            "for i in range(first, last):",
            [
                "below = ti.select(2.0 * places[axis, i] < half, 1, 0)",
                *_swap_nodes(d, "i", "middle"),
                "middle += below",
            ],
        ),
        f"leaves = (middle - first + {LEAF // 2}) // {LEAF}",
        "if widest == 0.0 or level[2] == 1:",
        f"    leaves = (last - first) // {2 * LEAF}",
        f"goal = first + ti.min(ti.max(leaves, 1), (last - first - 1) // {LEAF}) * {LEAF}",
        "cut[c] = goal",
        *_moved_across(d, "lowest", "middle", "goal", "range(goal, last)"),
        *_moved_across(d, "highest", "goal", "middle", "range(first, goal)"),
    ]


def _moved_across(d: int, which: str, begin: str, end: str, others: str) -> list[str]:
    """Statements that fill some places with the lowest or the highest nodes of these and others."""
    sign = "" if which == "lowest" else "-"
    further = f"if {sign}places[axis, k] > {sign}places[axis, worst]:"
    worst = [
        f"worst = {begin}",
        *_indent_under(f"for k in range({begin}, {end}):", _indent_under(further, ["worst = k"])),
    ]
    nearer = f"if {sign}places[axis, i] < {sign}places[axis, worst]:"
    exchange = _indent_under(nearer, [*_swap_nodes(d, "i", "worst"), *worst])
    return _indent_under(f"if {begin} < {end}:", [*worst, *_indent_under(f"for i in {others}:", exchange)])


def _indent_under(header: str, lines: list[str]) -> list[str]:
    return [header, *(f"    {line}" for line in lines)]


def _swap_nodes(d: int, one: str, other: str) -> list[str]:
    """Statements that exchange the nodes of two places."""
    entries = [*(("p", f"places[{a}, {{}}]") for a in range(d)), ("o", "order[{}]")]
    return [
        line
        for held, entry in entries
        for line in (
            f"{held} = {entry.format(one)}",
            f"{entry.format(one)} = {entry.format(other)}",
            f"{entry.format(other)} = {held}",
        )
    ]
