"""Node numbers as ranges [first, last + 1], as the meta of a checkpoint keeps the bodies of a state."""

from collections.abc import Iterable, Sequence

import numpy as np

from ..errors import CheckpointError
from .checkpoint import Snapshot


def ranges(nodes: np.ndarray) -> list[list[int]]:
    """The ranges of consecutive numbers among `nodes` (n,), in ascending order."""
    numbers = np.unique(nodes)
    if not numbers.size:
        return []
    gaps = np.flatnonzero(np.diff(numbers) > 1)
    firsts, lasts = numbers[np.r_[0, gaps + 1]], numbers[np.r_[gaps, -1]]
    return np.stack([firsts, lasts + 1], axis=1).tolist()


def members(snapshot: Snapshot) -> list[int]:
    """The numbers of the members that a checkpoint holds. Raises CheckpointError where they are others."""
    facts, most = snapshot.meta["ensemble"], max((a.size for a in snapshot.arrays.values()), default=0)
    listed = facts.get("numbers", [])
    count = sum(end - first for first, end in listed)
    if count != facts.get("members") or count > most or "nodes" not in facts:
        said = f"needs members by their numbers, and values of each, got {count} numbers"
        raise CheckpointError(
            f"a checkpoint of step {snapshot.step}: {said}; it was not written by minusgrad"
        )
    return nodes(listed).tolist()


def nodes(listed: Iterable[Sequence[int]]) -> np.ndarray:
    """The node numbers (n,) in such ranges."""
    return np.concatenate([np.arange(0), *(np.arange(first, end) for first, end in listed)])
