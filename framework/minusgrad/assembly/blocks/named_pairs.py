"""Pairs that the scene names: those that do not interact, and those that interact with a factor.

exclude = "bonded 1-3"           connected by at most two of the state's `bonds`
exclude = "exclusions"           a list of the state
exclude = [[0, 1], [2, 5]]       rows
scale = { pairs_14 = 0.5 }       lists of the state, with a factor each
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...elements.bonded_pairs import bonded_pairs
from ...elements.node_tuples import NodeTuples
from ...energies.fields import POSITIONS, State
from ...errors import EnergyError, unknown

BONDS = "bonds"
"""The list of a state that bonded pairs follow from."""
BONDED = {"bonded 1-2": 1, "bonded 1-3": 2, "bonded 1-4": 3}
"""Pairs that a few bonds connect, and the most bonds."""


def excluded(state: State, named: Any) -> np.ndarray | None:
    """The pairs (n, 2) that do not interact; None if none are named. Raises `EnergyError`."""
    if named is None:
        return None
    if isinstance(named, str) and named in BONDED:
        if BONDS not in state.tuples:
            raise EnergyError(unknown(f"list '{BONDS}', which bonded pairs need:", BONDS, state.tuples))
        return bonded_pairs(state.tuples[BONDS], len(state.fields[POSITIONS]), BONDED[named])
    return _pairs(state, named, "exclude")


def scaled(state: State, given: Mapping[str, float]) -> dict[str, tuple[np.ndarray, float]]:
    """The pairs (n, 2) of each named list, and its factor. Raises `EnergyError` for unknown lists."""
    return {name: (_pairs(state, name, "scale"), factor) for name, factor in given.items()}


def _pairs(state: State, named: Any, key: str) -> np.ndarray:
    """The rows of a list of pairs."""
    if not isinstance(named, str):
        return NodeTuples.of(named, 2, len(state.fields[POSITIONS]), key).nodes
    known = [name for name, rows in state.tuples.items() if rows.shape[1] == 2]
    if named not in known:
        raise EnergyError(f"{key}: {unknown('list of pairs', named, [*known, *BONDED])}")
    return state.tuples[named]
