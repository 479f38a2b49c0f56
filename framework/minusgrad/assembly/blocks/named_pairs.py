"""Pairs that the scene names: those that do not interact, and those that interact with a factor.

exclude = "bonded 1-3"           connected by at most two of the state's `bonds`
exclude = "exclusions"           a list of the state
exclude = [[0, 1], [2, 5]]       rows
scale = { pairs_14 = 0.5 }       lists of the state, with a factor each

In a periodic box they are pairs of images (`elements.periodic.linked_pairs`): all that bonds reach. Those of
a list, or of rows, that bonds do not join are the nearest images, or those that the state gives its list.

Decisions 0020.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...elements.node_tuples import NodeTuples
from ...elements.periodic.linked_pairs import PAIR, LinkedPairs, along_bonds, pairs_by_links
from ...elements.periodic.tuple_images import TupleImages
from ...energies.fields import POSITIONS, State
from ...energies.pairs.periodic_images import given_images
from ...errors import EnergyError, unknown

BONDS = "bonds"
"""The list of a state that bonded pairs follow from."""
LINKS = (BONDS, "constraints")
"""The lists of a state whose pairs are joined, and whose images those of listed pairs follow."""
PLACE = "place"
"""The set of atoms and of sites that maps give the places of."""
BONDED = {"bonded 1-2": 1, "bonded 1-3": 2, "bonded 1-4": 3}
"""Pairs that a few bonds connect, and the most bonds."""


def excluded(state: State, named: Any) -> LinkedPairs | None:
    """The pairs that do not interact; None if none are named. Raises `EnergyError`."""
    if named is None:
        return None
    if isinstance(named, str) and named in BONDED:
        if BONDS not in state.tuples:
            raise EnergyError(unknown(f"list '{BONDS}', which bonded pairs need:", BONDS, state.tuples))
        return LinkedPairs.along([_links(state, BONDS)], BONDED[named])
    return _pairs(state, named, "exclude")


def scaled(state: State, given: Mapping[str, float]) -> dict[str, tuple[LinkedPairs, float]]:
    """The pairs of each named list, and its factor. Raises `EnergyError` for unknown lists."""
    return {name: (_pairs(state, name, "scale"), factor) for name, factor in given.items()}


def _pairs(state: State, named: Any, key: str) -> LinkedPairs:
    """The rows of a list of pairs, with images."""
    if not isinstance(named, str):
        count = max(len(state.fields[POSITIONS]), state.sizes.get(PLACE, 0))
        return _along_bonds(state, NodeTuples.of(named, 2, count, key).nodes)
    known = [name for name, rows in state.tuples.items() if rows.shape[1] == 2]
    if named not in known:
        raise EnergyError(f"{key}: {unknown('list of pairs', named, [*known, *BONDED])}")
    if named in state.images:
        return LinkedPairs.of(state.tuples[named], _images(state, named))
    return _along_bonds(state, state.tuples[named])


def pairs_along_bonds(state: State, name: str) -> np.ndarray | LinkedPairs:
    """The rows of a list; pairs that bonds may join are along these, one row each."""
    rows = state.tuples[name]
    links = [one for one in LINKS if one in state.tuples and state.tuples[one].shape[1] == 2]
    if not links or rows.shape[1] != 2 or name in (*LINKS, *state.images):
        return rows
    return along_bonds(rows, [_links(state, one) for one in links], max(BONDED.values()))


def _along_bonds(state: State, rows: np.ndarray) -> LinkedPairs:
    """Pairs along the bonds that join them, if any do."""
    lists = [
        _links(state, name) for name in LINKS if name in state.tuples and state.tuples[name].shape[1] == 2
    ]
    return pairs_by_links(rows, lists, max(BONDED.values()))


def _links(state: State, name: str) -> TupleImages:
    """A list of bonds, whose images are the nearest or those that the state gives."""
    return TupleImages(state.tuples[name], PAIR, _images(state, name) if name in state.images else None)


def _images(state: State, name: str) -> np.ndarray:
    """The images that a state gives to a list of pairs, (n, 2, d)."""
    d = state.fields[POSITIONS].shape[1]
    shape = len(state.tuples[name]), 2, d
    return given_images(f"images/{name}", state.images[name], shape, (True,) * d)
