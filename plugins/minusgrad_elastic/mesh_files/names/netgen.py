"""Names in a Netgen file: materials, boundaries and edges, of which meshlane keeps one number for each name.

    materials        bcnames          cd2names
    2                3                1
    1 steel          1 wall           1 seam
    2 rubber ...     2 wall ...

Several numbers may share a name; a name may have blanks. In space `bcnames` are of surfaces, in the plane of
edges. In space the numbers of edges stand in a column that meshlane does not read, so their names are not
read, with a remark. Of hexahedra of 20 nodes meshlane has vertical edges before the upper ones.

Source: Netgen, Mesh::Save, and the tables `betw` of refine.cpp.
"""

import re
from itertools import pairwise
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

CODIMENSIONS = {"materials": 0, "bcnames": 1, "cd2names": 2, "cd3names": 3}
NO_NAME = ("", "default")
HEXAHEDRON20 = (*range(12), 16, 17, 18, 19, 12, 13, 14, 15)
"""The nodes of VTK among those of meshlane."""


def part_names(file: str, data: bytes, remarks: list[str]) -> dict[tuple[int, int], str]:
    """Names by dimension and number. Raises `UserError` for a list that is cut off."""
    lines = data.decode("utf-8", "replace").splitlines()
    words = [line.strip() for line in lines]
    d = next((int(after) for word, after in pairwise(words) if word == "dimension" and after.isdigit()), 3)
    names: dict[tuple[int, int], str] = {}
    for at, word in enumerate(words[:-1]):
        if word not in CODIMENSIONS or not words[at + 1].isdigit():
            continue
        for line in words[at + 2 : at + 2 + int(words[at + 1])]:
            entry = re.fullmatch(r"(\d+)(?:\s+(.*))?", line)
            if entry is None:
                raise UserError(
                    f"'{file}', line {at + 1}: {word} must be rows of number and name, got '{line}'"
                )
            name, dimension = entry[2] or "", d - CODIMENSIONS[word]
            if name not in NO_NAME and dimension == 1 and d == 3:
                remarks.append(f"the name '{name}' of edges is not read; name their nodes by place")
            elif name not in NO_NAME and dimension >= 0:
                names[dimension, int(entry[1])] = name
    return names


def order_nodes(found: Any) -> None:
    """Put the nodes of hexahedra of 20 nodes into VTK's order."""
    for k, block in enumerate(found.cells):
        if block.type == "hexahedron20":
            found.cells[k] = type(block)(block.type, np.asarray(block.data)[:, list(HEXAHEDRON20)])
