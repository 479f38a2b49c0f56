"""Kinds of elements that an energy is declared `over`, and the elements that they mean in a scene.

"nodes"    each node
"pairs"    every unordered pair of nodes, once
"tuples"   a list of tuples, all of one length; a number: of this length
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import EnergyError
from .all_pairs import AllPairs
from .elements import Elements
from .node_tuples import NodeTuples


@dataclass(frozen=True)
class ElementKind:
    """Elements as an energy declares them, before it is bound to the nodes of a scene.

    `arity`: nodes of one element, None for any number; `listed`: the elements come from a list of tuples;
    `unordered`: pairs with u(a, b) = u(b, a).
    """

    arity: int | None
    listed: bool = False
    unordered: bool = False

    @property
    def own_values(self) -> bool:
        """True if data and parameters may have a value for each element."""
        return not self.unordered


NAMED = {
    "nodes": ElementKind(1),
    "pairs": ElementKind(2, unordered=True),
    "tuples": ElementKind(None, listed=True),
}


def kind_of(over: str | int, name: str = "") -> ElementKind:
    """The meaning of `over`. Raises `EnergyError`, with the energy's `name`, for anything else."""
    if isinstance(over, str) and over in NAMED:
        return NAMED[over]
    if isinstance(over, int) and over >= 1:
        return ElementKind(over, listed=True)
    raise EnergyError(
        f"{name}: over must be 'nodes', 'pairs', 'tuples' or a number of nodes, got {over!r}; choose one"
    )


def usual(
    kind: ElementKind, name: str, nodes: np.ndarray, tuples: Any, count: int
) -> tuple[Elements, np.ndarray]:
    """The elements among `nodes`, and a mask of the given tuples that lie wholly in `nodes`.

    `count`: the nodes of the fields. Raises `EnergyError` naming the term `name`.
    """
    every = np.ones(len(nodes), bool)
    if kind.unordered:
        if len(nodes) < 2:
            raise EnergyError(f"{name}: a pair needs two nodes, got {len(nodes)}; add nodes")
        return AllPairs(nodes), every
    if not kind.listed:
        return NodeTuples(np.ascontiguousarray(nodes[:, None])), every
    return _listed(kind.arity, name, nodes, tuples, count)


def _listed(
    arity: int | None, name: str, nodes: np.ndarray, tuples: Any, count: int
) -> tuple[Elements, np.ndarray]:
    if tuples is None:
        many = f"{arity} nodes in each" if arity else "as many nodes in each"
        raise EnergyError(f"{name}: needs its elements, e.g. tuples = [{list(range(arity or 3))}], {many}")
    rows = NodeTuples.of(tuples, arity, count, f"{name}.tuples").nodes
    kept = np.asarray(np.isin(rows, nodes).all(axis=1))
    if not kept.any():
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
