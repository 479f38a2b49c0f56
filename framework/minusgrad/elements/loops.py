"""How a kernel goes through elements: one by one, or target by target over the sources of each.

    each element   for e in nodes:                  u(nodes[e, 0], ..., nodes[e, k - 1])
    each target    for i in nodes:  for j in ...:   u(nodes[i], nodes[j])

The code generator knows these two. Of an element it computes du/d(node) for all slots and sums them by node
(`Gather`); of a target it sums du/d(slot 0) over its sources, and the node of each target is its own.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Sources:
    """An inner loop over some sources of target i, as source text; `{p}` begins the names of arrays.

    `header` is the `for` line; `begin` are the first lines of its body. Together they define j, the place of
    the source in the array of rows (`EachTarget.rows`). `counted`: the energy of these pairs is summed here;
    each pair is counted at one of its two targets.
    """

    header: str
    counted: bool
    begin: tuple[str, ...] = ()


@dataclass(frozen=True)
class EachElement:
    """One iteration for each element e, whose nodes are `nodes[e, slot]`."""

    per_target: ClassVar[bool] = False
    dense: ClassVar[bool] = False
    sources: ClassVar[tuple[Sources, ...]] = ()

    def slots(self, arity: int) -> range:
        """The slots whose derivatives are computed: all."""
        return range(arity)


@dataclass(frozen=True)
class EachTarget:
    """One iteration for each target i, node `nodes[i]`, over its sources; all targets are different nodes.

    Every pair is visited from both of its nodes. `dense`: the sources are all other targets, in their order,
    so that a block of targets can share them (`lane_loops`). `rows`: the array with the nodes of sources, in
    which j is a place.
    """

    sources: tuple[Sources, ...]
    dense: bool = False
    rows: str = "nodes"
    per_target: ClassVar[bool] = True

    def slots(self, arity: int) -> range:
        """The slots whose derivatives are computed: the target's."""
        return range(1)


Loop = EachElement | EachTarget
