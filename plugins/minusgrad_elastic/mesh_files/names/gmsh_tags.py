"""Physical groups of Gmsh's files of version 2: names by dimension and number, from $PhysicalNames.

meshlane has one number for each name, and a name that a curve and a surface share loses one of them. An
element of two groups stands in the file twice; here it is one cell of two groups. Nodes are counted from any
number, where meshlane takes number 0 for the last one; views ($NodeData and the like) are left out.

Source: Gmsh reference manual, "MSH file format version 2".
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

from .numbered_parts import add_cell_sets

_SECTION = re.compile(rb"\$PhysicalNames\s*\n(.*?)\n\s*\$EndPhysicalNames", re.DOTALL)
_VIEW = re.compile(rb"\$((?:Element|Node|ElementNode)Data)\b(.*?)\$End\1[^\n]*\n?", re.DOTALL)
_NODES = re.compile(rb"\$Nodes\s*\n(.*?)\s*\$EndNodes", re.DOTALL)
_ELEMENTS = re.compile(rb"\$Elements\s*\n(.*?)\s*\$EndElements", re.DOTALL)
_FIRST = re.compile(rb"\s*-?\d{1,10}\s")
_NAME = re.compile(rb'\s*([0-3])\s+(-?\d{1,10})\s+"(.*)"\s*')


def prepared_text(file: str, data: bytes, remarks: list[str]) -> bytes:
    """The file without views, its nodes counted from 1 or more. Raises `UserError` for repeated nodes."""

    def left_out(view: re.Match) -> bytes:
        remarks.append(f"${view[1].decode()} {_title_of(view[2])} is not read")
        return b""

    data = _VIEW.sub(left_out, data)
    nodes = _NODES.search(data)
    head = re.match(rb"\s*\$MeshFormat\s+\S+\s+0\s", data)
    if head is None or nodes is None:
        return data
    tags = [int(line.split(None, 1)[0]) for line in nodes[1].split(b"\n")[1:] if _FIRST.match(line)]
    if len({*tags}) < len(tags):
        raise UserError(f"'{file}', $Nodes: node tags are used twice; save it again")
    return data if min(tags, default=1) > 0 else _shifted_tags(data, 1 - min(tags))


def _title_of(view: bytes) -> str:
    title = re.search(rb'"([^"\n]{0,80})"', view)
    return f"'{title[1].decode('utf-8', 'replace')}'" if title else "without a name"


def _shifted_tags(data: bytes, by: int) -> bytes:
    """A file in text with larger node tags."""

    def nodes(section: re.Match) -> bytes:
        return _shifted_rows(section, by, lambda row: [0])

    def elements(section: re.Match) -> bytes:
        return _shifted_rows(section, by, lambda row: range(3 + int(row[2]), len(row)))

    return _ELEMENTS.sub(elements, _NODES.sub(nodes, data))


def _shifted_rows(section: re.Match, by: int, columns: Callable[[list[bytes]], Iterable[int]]) -> bytes:
    name = section[0].split(None, 1)[0]
    count, *lines = section[1].split(b"\n")
    rows = [line.split() for line in lines if line.strip()]
    for row in rows:
        for column in columns(row):
            row[column] = str(int(row[column]) + by).encode()
    end = name.replace(b"$", b"$End")
    return b"\n".join([name, count, *(b" ".join(row) for row in rows), end])


def group_names(file: str, data: bytes) -> dict[tuple[int, int], str]:
    """Names by dimension and number. Raises `UserError` for lines of another form."""
    section = _SECTION.search(data)
    names = {}
    for line in section[1].split(b"\n")[1:] if section else ():
        entry = _NAME.fullmatch(line.rstrip(b"\r"))
        if entry is None:
            raise UserError(
                f"'{file}', $PhysicalNames: must be dimension, number, \"name\", got {line[:60]!r}"
            )
        names[int(entry[1]), abs(int(entry[2]))] = entry[3].decode("utf-8", "replace")
    return {group: name for group, name in names.items() if name}


def join_copies(found: Any, names: dict[tuple[int, int], str]) -> None:
    """Make an element that stands in several groups one cell, and name its groups.

    A file in which none does is left as it is, as is one that has the same element twice in one group.
    """
    tags = found.cell_data.get("gmsh:physical")
    if tags is None:
        return
    for k, values in enumerate(tags):
        tags[k] = np.abs(values)
    kinds = list(dict.fromkeys(block.type for block in found.cells))
    blocks = [[k for k, block in enumerate(found.cells) if block.type == kind] for kind in kinds]
    nodes = [np.concatenate([found.cells[k].data for k in of]) for of in blocks]
    groups = [np.concatenate([tags[k] for k in of]) for of in blocks]
    kept = [np.unique(rows, axis=0, return_index=True, return_inverse=True) for rows in nodes]
    whole = [np.unique(np.column_stack([rows, tag]), axis=0) for rows, tag in zip(nodes, groups, strict=True)]
    repeated = any(len(one) < len(rows) for one, rows in zip(whole, nodes, strict=True))
    if repeated or all(len(first) == len(rows) for (_, first, _), rows in zip(kept, nodes, strict=True)):
        return
    cells: list[Any] = []
    parts: dict[tuple[int, int], list[np.ndarray]] = {}
    for k, (kind, rows, tag, (_, first, which)) in enumerate(zip(kinds, nodes, groups, kept, strict=True)):
        cells.append(type(found.cells[0])(kind, rows[np.sort(first)]))
        cell = np.argsort(np.argsort(first))[which.reshape(-1)]
        for number in np.unique(tag[tag != 0]).tolist():
            sets = parts.setdefault((cells[-1].dim, number), [np.zeros(0, int) for _ in kinds])
            sets[k] = np.unique(cell[tag == number])
    found.cells, found.cell_data = cells, {}
    add_cell_sets(found, "gmsh:physical", parts, names)
