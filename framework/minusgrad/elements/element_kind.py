"""Kinds of elements that an energy is declared `over`, and the elements that they mean in a scene.

"nodes"    each node
"pairs"    every unordered pair of nodes, once
"triples"  every node with every two others, the centre first; each unordered pair of arms once
"directed_pairs"    every node with every other: (p; i, j), p the number of the pair; (j, i) is another one
"directed_triples"  every directed pair with every other neighbour of its first node: (p; i, j, k)
"tuples"   a list of tuples, all of one length; a number: of this length
a tuple    of names: slot k of an element is a node of the set of the k-th name; equal names are one set
"cells"    each cell of a grid, with neighbours at constant offsets
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import EnergyError
from .all_pairs import AllPairs
from .elements import Elements
from .neighbours.directed_pairs import all_directed
from .neighbours.triple_list import all_triples
from .node_tuples import AllCombinations, NodeTuples

Over = str | int | tuple[str, ...]
"""Elements as an energy declares them."""


@dataclass(frozen=True)
class ElementKind:
    """Elements as an energy declares them, before it is bound to the nodes of a scene.

    `arity`: nodes of one element, None for any number; `listed`: the elements come from a list of tuples;
    `unordered`: pairs with u(a, b) = u(b, a); `sets`: the name of the set of each slot's nodes, empty where
    there is one set without a name; `cells`: a cell of a grid and its neighbours; `triples`: a centre and
    two arms; `directed`: the number of a directed pair, then nodes.
    """

    arity: int | None
    listed: bool = False
    unordered: bool = False
    sets: tuple[str, ...] = ()
    cells: bool = False
    triples: bool = False
    directed: bool = False

    @property
    def can_be_limited(self) -> bool:
        """True if the elements may be limited to those within a cutoff: pairs and triples."""
        return self.symmetric or self.directed

    @property
    def symmetric(self) -> bool:
        """True if nodes of an element may change places: those of a pair, or the arms of a triple."""
        return self.unordered or self.triples

    @property
    def own_values(self) -> bool:
        """True if data and parameters may have a value for each element."""
        return not self.can_be_limited

    @property
    def names(self) -> list[str]:
        """The different sets of nodes; the only one may be without a name, ''."""
        return list(dict.fromkeys(self.sets)) or [""]

    @property
    def usual_set(self) -> str:
        """The set of a field that names none."""
        return NODE if self.directed else self.names[0]

    @property
    def several(self) -> bool:
        """True if nodes of an element are of different sets."""
        return len(self.names) > 1

    @property
    def can_be_combined(self) -> bool:
        """True if the elements can be all combinations: of one or two nodes, each of a set of its own."""
        return 0 < len(self.sets) == len(self.names) <= 2

    def slots(self, of: str, arity: int) -> Sequence[int]:
        """The slots whose nodes are of the set `of`; all of them where there is one set."""
        if not self.several:
            return range(arity)
        return [slot for slot, name in enumerate(self.sets) if name == of]


PAIR, NODE = "pair", "node"
"""The two sets that elements around directed pairs are over."""
NAMED = {
    "nodes": ElementKind(1),
    "pairs": ElementKind(2, unordered=True),
    "triples": ElementKind(3, triples=True),
    "directed_pairs": ElementKind(3, sets=(PAIR, NODE, NODE), directed=True),
    "directed_triples": ElementKind(4, sets=(PAIR, NODE, NODE, NODE), directed=True),
    "tuples": ElementKind(None, listed=True),
    "cells": ElementKind(None, cells=True),
}


OVER = {kind: over for over, kind in NAMED.items()}


def kind_of(over: Over, name: str = "") -> ElementKind:
    """The meaning of `over`. Raises `EnergyError`, with the energy's `name`, for anything else."""
    if isinstance(over, str) and over in NAMED:
        return NAMED[over]
    if isinstance(over, int) and over >= 1:
        return ElementKind(over, listed=True)
    if isinstance(over, tuple) and over and all(isinstance(s, str) and s.isidentifier() for s in over):
        return ElementKind(len(over), listed=True, sets=over)
    raise EnergyError(
        f"{name}: over must be {', '.join(map(repr, NAMED))}, a number of nodes or names of sets, got"
        f" {over!r}; choose one"
    )


def usual(
    kind: ElementKind, name: str, nodes: np.ndarray, tuples: Any, count: int, copies: int = 1
) -> tuple[Elements, np.ndarray]:
    """The elements among `nodes`, and a mask of the given tuples that lie wholly in `nodes`.

    `count`: the nodes of the fields; `copies`: of single nodes. Raises `EnergyError` naming the term `name`.
    """
    every = np.ones(len(nodes), bool)
    if not kind.listed and tuples is not None:
        over, size = ("pairs", 2) if kind.unordered else ("triples", 3) if kind.triples else ("nodes", 1)
        cure = "" if kind.directed else f", or declare it over={size}"
        over = OVER[kind] if kind.directed else over
        raise EnergyError(f"{name}: is over {over}, got tuples; leave `tuples` out{cure}")
    if kind.unordered:
        if len(nodes) < 2:
            raise EnergyError(f"{name}: a pair needs two nodes, got {len(nodes)}; add nodes")
        return AllPairs(nodes), every
    if kind.triples:
        triples = all_triples(nodes, name)
        return triples, np.ones(triples.count, bool)
    if kind.directed:
        assert kind.arity is not None
        directed = all_directed(kind.arity, nodes, name)
        return directed, np.ones(directed.count, bool)
    if not kind.listed:
        return NodeTuples(np.ascontiguousarray(nodes[:, None]), copies), every
    return _listed_tuples(kind.arity, name, nodes, tuples, count)


def of_sets(
    kind: ElementKind,
    name: str,
    tuples: Any,
    sizes: Mapping[str, int],
    copies: int = 1,
    given: Collection[str] = (),
) -> tuple[Elements, np.ndarray]:
    """The elements over several sets of nodes: as listed, or all combinations of two sets; all are kept.

    `sizes`: the nodes of each set, as far as they are known; `copies`: the equal blocks of every set, whose
    nodes are combined; `given`: the sets whose sizes the specification gives. Raises `EnergyError` naming the
    term `name`.
    """
    if tuples is None and kind.can_be_combined:
        if unknown := [one for one in kind.sets if one not in sizes]:
            raise EnergyError(
                f"{name}: the number of nodes in '{unknown[0]}' is not known, got no field over it; give"
                f" sizes = {{ {unknown[0]} = ... }}"
            )
        of_copy = (sizes[one] // copies for one in kind.sets)
        elements: NodeTuples = AllCombinations.of_sizes(*of_copy, copies=copies)
    elif tuples is None:
        raise EnergyError(
            f"{name}: needs its elements, nodes of {', '.join(kind.sets)} in each, got none; give `tuples`"
        )
    else:
        elements = NodeTuples.of(tuples, kind.arity, None, f"{name}.tuples")
        _refuse_outside(f"{name}.tuples", kind.sets, elements.nodes, sizes, given)
    return elements, np.ones(elements.count, bool)


def _refuse_outside(
    what: str, sets: Sequence[str], rows: np.ndarray, sizes: Mapping[str, int], given: Collection[str]
) -> None:
    """Raise `EnergyError` for the first node number that is beyond its set."""
    for slot, one in enumerate(sets):
        outside = (rows[:, slot] < 0) | (rows[:, slot] >= sizes.get(one, np.inf))
        if outside.any():
            row = int(np.argmax(outside))
            last = f"0..{sizes[one] - 1}" if one in sizes else "0.."
            cure = f", or the size of '{one}' in `sizes`" if one in given else ""
            raise EnergyError(
                f"{what}: row {row} = {rows[row].tolist()} names a node outside {last} of '{one}', got"
                f" {rows[row, slot]} in slot {slot}; correct it{cure}"
            )


def _listed_tuples(
    arity: int | None, name: str, nodes: np.ndarray, tuples: Any, count: int
) -> tuple[Elements, np.ndarray]:
    if tuples is None:
        many = f"{arity} nodes in each" if arity else "as many nodes in each"
        raise EnergyError(f"{name}: needs its elements, e.g. tuples = [{list(range(arity or 3))}], {many}")
    rows = NodeTuples.of(tuples, arity, count, f"{name}.tuples").nodes
    kept = np.asarray(np.isin(rows, nodes).all(axis=1))
    if len(rows) and not kept.any():
        raise EnergyError(f"{name}: none of its {len(rows)} tuples lies in its bodies; name other bodies")
    return NodeTuples(np.ascontiguousarray(rows[kept])), kept


def check_given(kind: ElementKind, elements: Elements, name: str, count: int) -> None:
    """Raise `EnergyError` if elements made by the caller do not fit the declaration or the fields."""
    if elements.arity != (kind.arity or elements.arity) or elements.unordered != kind.unordered:
        wanted = "unordered pairs" if kind.unordered else f"tuples of {kind.arity or 'any number of'} nodes"
        given = f"{type(elements).__name__} of {elements.arity} nodes each"
        raise EnergyError(f"{name}.elements: the energy is declared over {wanted}, got {given}")
    members = elements.members
    if members.size and not 0 <= members[0] <= members[-1] < count:
        raise EnergyError(f"{name}.elements: a node outside 0..{count - 1}, got {members[0]}..{members[-1]}")
