"""Groups of the faces of an OBJ file, by the names behind `o`, `g` and `usemtl`, which meshlane leaves out.

    g wall top        the faces below are in the groups `wall` and `top`, until another `g`

Source: Wavefront, "Object Files (.obj)", grouping.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

WORDS = ("o", "g", "usemtl")


def add_groups(file: str, data: bytes, found: Any) -> None:
    """Add a set of faces for each name. Raises `UserError` where node numbers count from the end."""
    current: dict[str, list[str]] = {}
    rows: dict[str, list[int]] = {}
    face = 0
    for at, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        word, *rest = line.split() or [""]
        if word in WORDS:
            current[word] = rest
        elif word == "f":
            if any(one.startswith("-") for one in rest):
                raise UserError(f"'{file}', line {at}: node numbers that count from the end are not read")
            for name in dict.fromkeys(name for names in current.values() for name in names):
                rows.setdefault(name, []).append(face)
            face += 1
    starts = np.cumsum([0, *(len(block.data) for block in found.cells)])
    if starts[-1] != face:
        raise UserError(f"'{file}': has {face} faces, of which {starts[-1]} are read; save it again")
    for name, faces in rows.items():
        own = np.array(faces)
        found.cell_sets[name] = [
            own[(own >= start) & (own < stop)] - start for start, stop in pairwise(starts)
        ]
