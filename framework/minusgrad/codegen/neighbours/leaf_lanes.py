"""Lanes over near leaves of a tree: a block of targets of one leaf, whose sources are whole leaves.

    for each block            a target in each lane
    for each near leaf        all of its nodes, broadcast to all lanes
    for the block's own leaf  each lane leaves out its own

Nodes of a leaf follow one another in the order of the tree, so lists have one entry for each leaf.

Decisions 0306.
"""

from collections.abc import Callable
from typing import Any

from ...elements.trees.kd_tree import LEAF
from ..statements import indented
from .listed_lanes import ListedLanes


class LeafLanes(ListedLanes):
    """The loops of a term over near pairs of a tree, a block of targets at a time."""

    def _sources_of_block(self, begin: list[str], summed: list[str], end: list[str]) -> list[str]:
        near: Any = self.term.elements
        p, own, images = self.prefix, f"block // {LEAF // self.wide}", len(near.box_images) > 1
        leaf, rows = [f"leaf = {p}near_leaves[place] * {LEAF}"], ""
        if images:
            count = f"(({p}nodes.shape[0] + {LEAF - 1}) // {LEAF})"
            leaf = [
                f"image = {p}near_leaves[place] // {count}",
                f"leaf = ({p}near_leaves[place] - image * {count}) * {LEAF}",
                f"rows = image * {p}nodes.shape[0]",
            ]
            rows = "rows + "
        return [
            f"for place in range({p}near_begin[{own}], {p}near_begin[{own} + 1]):",
            *indented([*leaf, *begin]),
            f"    for j in range({rows}leaf, {rows}ti.min(leaf + {LEAF}, {p}nodes.shape[0])):",
            *indented(indented(summed)),
            *indented(end),
        ]

    def _own_rows(self, summed: Callable[..., list[str]]) -> list[str]:
        p, blocks = self.prefix, LEAF // self.wide
        first = self._to_all(f"{self.type}(block % {blocks} * {self.wide})")
        return [
            f"own = {self._lane_numbers()} + {first}",
            f"leaf = block // {blocks} * {LEAF}",
            f"for j in range(leaf, ti.min(leaf + {LEAF}, {p}nodes.shape[0])):",
            *indented([f"other = {self._to_all(f'{self.type}(j - leaf)')}", *summed("own != other")]),
        ]
