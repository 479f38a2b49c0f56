"""Groups of a FLAC3D grid: meshlane numbers their cells in the whole file, where each block counts its own.

    ZGROUP "rock" SLOT 1       the set `zone:rock:1` of the library, here `rock`

A name of several slots, or of zones and faces, keeps its slot: `1:rock`, `face:1:rock`.
"""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from minusgrad.plugin import UserError


def name_groups(file: str, found: Any) -> None:
    """Count the cells of each set in their block, and shorten the names."""
    starts = np.cumsum([0, *(len(block.data) for block in found.cells)])
    keys = [key.split(":", 1) for key in found.cell_sets]
    plain = [(kind, *rest.rsplit(":", 1)) for kind, rest in keys]
    names = Counter(name for _, name, _ in plain)
    pairs = Counter((name, slot) for _, name, slot in plain)
    sets = {}
    for (kind, name, slot), blocks in zip(plain, found.cell_sets.values(), strict=True):
        numbers = np.concatenate([np.asarray(rows, int) for rows in blocks])
        if (numbers < 0).any():
            raise UserError(f"'{file}': the group '{name}' names cells that the file does not have")
        full = (
            name
            if names[name] == 1
            else f"{slot}:{name}"
            if pairs[name, slot] == 1
            else f"{kind}:{slot}:{name}"
        )
        sets[full] = [
            numbers[(numbers >= start) & (numbers < stop)] - start for start, stop in pairwise(starts)
        ]
    found.cell_sets = sets
