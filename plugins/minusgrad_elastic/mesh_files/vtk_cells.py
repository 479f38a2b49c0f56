"""Cells of VTK files, legacy and XML: rows of node numbers and a type for each, as blocks of one kind.

    connectivity    the nodes of all cells, one after another; offsets: where each cell ends
    types           5 triangle, 9 quadrilateral, 10 tetrahedron, 12 hexahedron, ...

meshlane leaves out data of cells beside polygons and all but the last piece of a VTU file, and knows neither
pixels nor voxels; inside of `reading_cells` its readers take the functions of this module in their place.
Pixels and voxels are quadrilaterals and hexahedra in another order, a strip of n nodes is n - 2 triangles, a
polygon of 3 or 4 nodes is a triangle or a quadrilateral; Lagrange cells are read up to order 2.

Source: VTK, vtkCellType.h and the classes of its cells; the base of a vtkWedge is seen from outside.

Decisions 0155.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import numpy as np

from minusgrad.plugin import UserError

Order = tuple[int, ...]
CELLS: dict[int, tuple[str, int, Order]] = {
    1: ("vertex", 1, ()), 3: ("line", 2, ()), 5: ("triangle", 3, ()), 8: ("quad", 4, (0, 1, 3, 2)),
    9: ("quad", 4, ()), 10: ("tetra", 4, ()), 11: ("hexahedron", 8, (0, 1, 3, 2, 4, 5, 7, 6)),
    12: ("hexahedron", 8, ()), 13: ("wedge", 6, (0, 2, 1, 3, 5, 4)), 14: ("pyramid", 5, ()),
    21: ("line3", 3, ()), 22: ("triangle6", 6, ()), 23: ("quad8", 8, ()), 24: ("tetra10", 10, ()),
    25: ("hexahedron20", 20, ()), 28: ("quad9", 9, ()), 29: ("hexahedron27", 27, ()),
}  # fmt: skip
"""By VTK's type: name, nodes, and their order where it is not ours."""
BY_SIZE: dict[int, dict[int, str]] = {
    7: {3: "triangle", 4: "quad"}, 68: {2: "line", 3: "line3"}, 69: {3: "triangle", 6: "triangle6"},
    70: {4: "quad", 9: "quad9"}, 71: {4: "tetra", 10: "tetra10"}, 72: {8: "hexahedron"}, 73: {6: "wedge"},
    74: {5: "pyramid"},
}  # fmt: skip
"""Types whose number of nodes says what they are."""
CHAINS = {2: ("vertex", 1), 4: ("line", 2), 6: ("triangle", 3)}
"""Types of parts in a row, each of so many nodes that follow each other: poly-vertex, poly-line, strip."""
NAMES = {
    7: "polygons", 15: "pentagonal prisms", 16: "hexagonal prisms", 26: "wedge15", 27: "pyramid13",
    30: "quad6", 31: "wedge12", 32: "wedge18", 33: "hexahedron24", 34: "triangle7", 35: "line4",
    36: "pyramid14", 37: "pyramid19", 41: "convex point sets", 42: "polyhedra", 69: "Lagrange triangles",
    70: "Lagrange quadrilaterals", 71: "Lagrange tetrahedra", 72: "Lagrange hexahedra",
    73: "Lagrange wedges", 74: "Lagrange pyramids",
}  # fmt: skip
LIBRARY = {
    "meshlane.vtk._vtk_42": "translate_cells",
    "meshlane.vtk._vtk_51": "vtk_cells_from_data",
    "meshlane.vtu._vtu": "_organize_cells",
}
"""The functions of meshlane whose place is taken."""

NUMBERS = {
    "char": "int8", "signed_char": "int8", "unsigned_char": "uint8", "short": "int16",
    "unsigned_short": "uint16", "int": "int32", "unsigned_int": "uint32", "long": "int64",
    "unsigned_long": "uint64", "float": "float32", "double": "float64", "vtkidtype": "int32",
    **{f"vtktype{kind}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    "vtktypefloat32": "float32", "vtktypefloat64": "float64",
}  # fmt: skip
"""Types of numbers in legacy files: of 5.1 meshlane knows few, and takes an `int` for eight bytes."""

Blocks = tuple[list[Any], dict[str, list[np.ndarray]]]


@contextmanager
def reading_cells() -> Iterator[None]:
    """Inside, meshlane's readers of VTK take cells by `blocks_of`."""
    from sys import modules

    ours = {"translate_cells": blocks_of_counts, "vtk_cells_from_data": blocks_of}
    ours |= {"_organize_cells": blocks_of_pieces}
    kept = {home: getattr(modules[home], name) for home, name in LIBRARY.items()}
    tables = [modules[home].vtk_to_numpy_dtype_name for home in [*LIBRARY][:2]]
    before = [dict(table) for table in tables]
    for home, name in LIBRARY.items():
        setattr(modules[home], name, ours[name])
    for table in tables:
        table.update(NUMBERS)
    try:
        yield
    finally:
        for table, known in zip(tables, before, strict=True):
            table.clear()
            table.update(known)
        for home, name in LIBRARY.items():
            setattr(modules[home], name, kept[home])


def blocks_of(
    connectivity: np.ndarray, offsets: np.ndarray, types: np.ndarray, data: Mapping[str, np.ndarray]
) -> Blocks:
    """Blocks (name, nodes (E, k)), one for each kind, and the data of their cells.

    Raises `UserError` for types that cannot be cells here, with their number.
    """
    ends, types = np.asarray(offsets, int).ravel(), np.asarray(types, int).ravel()
    sizes, nodes = np.diff(ends, prepend=0), np.asarray(connectivity).ravel()
    if len(ends) != len(types) or (sizes < 0).any() or (len(ends) and ends[-1] > len(nodes)):
        raise UserError("its cells are cut off: types, offsets and nodes do not fit each other")
    cells: dict[str, list[np.ndarray]] = {}
    rows: dict[str, list[np.ndarray]] = {}
    for kind, size in sorted({*zip(types.tolist(), sizes.tolist(), strict=True)}):
        chosen = np.flatnonzero((types == kind) & (sizes == size))
        found = nodes[(ends - size)[chosen, None] + np.arange(size)]
        for name, part in _parts_of(kind, size, found):
            cells.setdefault(name, []).append(part)
            rows.setdefault(name, []).append(chosen)
    order = {name: np.argsort(np.concatenate(of), kind="stable") for name, of in rows.items()}
    blocks = [(name, np.concatenate(of)[order[name]]) for name, of in cells.items()]
    picked = {name: np.concatenate(of)[order[name]] for name, of in rows.items()}
    return blocks, {key: [np.asarray(values)[of] for of in picked.values()] for key, values in data.items()}


def _parts_of(kind: int, size: int, rows: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The cells in rows of one type and size, as names and nodes."""
    name, own, order = CELLS.get(kind, ("", 0, ()))
    if kind in BY_SIZE and size in BY_SIZE[kind]:
        yield BY_SIZE[kind][size], rows
    elif kind in CHAINS and size >= CHAINS[kind][1]:
        part, own = CHAINS[kind]
        for start in range(size - own + 1):
            piece = rows[:, start : start + own]
            yield part, piece[:, ::-1] if part == "triangle" and start % 2 else piece
    elif own == size and name:
        yield name, rows[:, list(order)] if order else rows
    elif kind:  # 0 is an empty cell
        what = NAMES.get(kind, "cells")
        raise UserError(
            f"{len(rows)} {what} of {size} nodes (VTK's type {kind}) cannot be cells; mesh with kinds of"
            " cells that are read"
        )


def prepared_bytes(name: str, file: str, data: bytes) -> bytes:
    """The bytes of a VTK or VTU file in the form that meshlane reads. Refuses a compressor that it lacks."""
    if name == "vtk":  # it asks for a line end behind binary numbers
        return data if data.endswith(b"\n") else data + b"\n"
    root = re.search(rb"<VTKFile[^>]*>", data)
    if root is None:
        return data
    if b"LZ4" in root[0]:
        raise UserError(f"'{file}': is compressed by LZ4; save it with zlib, LZMA or no compressor")
    return data[: root.start()] + re.sub(rb'version="2\.\d"', b'version="1.0"', root[0]) + data[root.end() :]


def decode_names(found: Any) -> None:
    """Names of data as they were: legacy files have `my%20part` for `my part`."""
    for data in (found.cell_data, found.point_data):
        for key in [key for key in data if "%" in key]:
            data[unquote(key)] = data.pop(key)


def blocks_of_counts(connectivity: np.ndarray, types: np.ndarray, data: Mapping[str, Any]) -> Blocks:
    """As `blocks_of`, of rows that begin with the number of their nodes (legacy files before 5.1)."""
    row, at, given, starts = connectivity.tolist(), 0, len(connectivity), []
    for _ in range(len(types)):
        if at >= given or row[at] < 0:
            raise UserError("its cells are cut off: there are fewer nodes than CELLS announces")
        starts.append(at)
        at += row[at] + 1
    kept = np.ones(given, bool)
    kept[starts] = False
    ends = np.array([*starts[1:], at], int) - np.arange(1, len(starts) + 1) if starts else np.zeros(0, int)
    return blocks_of(connectivity[kept], ends, types, data)


def blocks_of_pieces(
    point_starts: Sequence[int], pieces: Sequence[Mapping[str, np.ndarray]], data: Sequence[Mapping[str, Any]]
) -> Blocks:
    """As `blocks_of`, of the pieces of a VTU file one after another; data that every piece has."""
    shared = [key for key in data[0] if all(key in one for one in data)] if data else []
    nodes, ends, types, start = [], [], [], 0
    for first, piece in zip(point_starts, pieces, strict=True):
        own = piece["connectivity"].ravel()
        nodes.append(own.astype(np.int64) + first)
        ends.append(piece["offsets"].ravel().astype(np.int64) + start)
        types.append(piece["types"].ravel())
        start += len(own)
    from meshlane import CellBlock

    joined = {key: np.concatenate([one[key] for one in data]) for key in shared}
    whole = np.concatenate(nodes), np.concatenate(ends), np.concatenate(types)
    blocks, found = blocks_of(*whole, joined)
    return [CellBlock(*block) for block in blocks], found
