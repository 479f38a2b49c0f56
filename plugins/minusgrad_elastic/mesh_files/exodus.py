"""Exodus II: element blocks, node sets and side sets with names, from netCDF-3 or HDF5 (netCDF-4).

    coordx, coordy, coordz (n,)             connect1 (E, k), its attribute elem_type, nodes from 1
    eb_prop1, ns_prop1, ss_prop1            numbers of blocks and sets; eb_names, ns_names, ss_names
    node_ns1 (m,)                           elem_ss1, side_ss1 (s,): cells from 1 over all blocks, sides

meshlane needs another library for it, joins blocks without their names, and reads no side sets. Nodes of
hexahedra of order 2 stand in another order than VTK's: vertical edges before the upper ones, the centre
before the faces. Without a name a block is `block_3`, by its number, a set `node_set_3` or `side_set_3`.

Source: Schoof & Yarberry 1994, EXODUS II (Sandia SAND92-2137), 4.8 to 4.12 and appendix A.

Decisions 0156.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, contained_hdf5

from ..cells import reference_cells

HEX20 = (*range(12), 16, 17, 18, 19, 12, 13, 14, 15)
ORDERS = {"hexahedron20": HEX20, "hexahedron27": (*HEX20, 23, 24, 25, 26, 21, 22, 20)}
KINDS: dict[str, dict[int, str]] = {
    "HEX": {8: "hexahedron", 20: "hexahedron20", 27: "hexahedron27"}, "TET": {4: "tetra", 10: "tetra10"},
    "WED": {6: "wedge"}, "PYR": {5: "pyramid"}, "TRI": {3: "triangle", 6: "triangle6"},
    "QUA": {4: "quad", 8: "quad8", 9: "quad9"}, "SHE": {4: "quad", 8: "quad8", 9: "quad9", 3: "triangle"},
    "BAR": {2: "line", 3: "line3"}, "BEA": {2: "line", 3: "line3"}, "TRU": {2: "line", 3: "line3"},
    "EDG": {2: "line", 3: "line3"}, "SPH": {1: "vertex"}, "CIR": {1: "vertex"},
}  # fmt: skip
"""By the first letters of elem_type and the number of nodes."""
SIDES: dict[str, tuple[tuple[int, ...], ...]] = {
    "HEX": ((0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (0, 4, 7, 3), (0, 3, 2, 1), (4, 5, 6, 7)),
    "TET": ((0, 1, 3), (1, 2, 3), (0, 3, 2), (0, 2, 1)),
    "WED": ((0, 1, 4, 3), (1, 2, 5, 4), (0, 3, 5, 2), (0, 2, 1), (3, 4, 5)),
    "PYR": ((0, 1, 4), (1, 2, 4), (2, 3, 4), (0, 4, 3), (0, 3, 2, 1)),
    "TRI": ((0, 1), (1, 2), (2, 0)), "QUA": ((0, 1), (1, 2), (2, 3), (3, 0)),
}  # fmt: skip
"""The corners of each side."""
FACETS = {2: {2: "line", 3: "line3"}, 3: {3: "triangle", 6: "triangle6", 4: "quad", 8: "quad8", 9: "quad9"}}
"""Names of facets by the dimension of the cells and their nodes."""

SOLID = ("HEX", "TET", "WED", "PYR")

Take = Callable[[str], Any]


def mesh_of_bytes(file: str, data: bytes, remarks: list[str]) -> Any:
    """The mesh of meshlane in the bytes of a file. Raises `UserError` with the array that is wrong."""
    from meshlane import Mesh

    try:
        with _open_arrays(data) as (names, take, kind_of):
            points = _read_points(names, take)
            blocks = _read_blocks(names, take, kind_of)
            found = Mesh(points, [(kind, rows) for kind, rows, _, _ in blocks])
            for k, (_, _, name, _) in enumerate(blocks):
                _add_cells(found, name, k)
            _add_node_sets(found, names, take)
            _add_side_sets(found, names, take, blocks, points.shape[1])
            remarks += _values_left_out(names, take)
    except UserError as error:
        raise UserError(f"'{file}': {error}") from None
    except (LookupError, ValueError, TypeError, AttributeError, OverflowError, OSError) as error:
        words = " ".join(str(error).split())[:200]
        raise UserError(f"'{file}': its arrays do not fit each other ({words}); save it again") from None
    return found


@contextmanager
def _open_arrays(data: bytes) -> Iterator[tuple[Mapping[str, Any], Take, Callable[[str], str]]]:
    """The arrays by name, a function that reads one, and one for its `elem_type`."""
    if data[:4] == b"\x89HDF":
        with contained_hdf5(data) as found:
            yield found, lambda name: found[name][()], lambda name: _text_of(found[name].attrs["elem_type"])
    elif data[:4] in (b"CDF\1", b"CDF\2"):
        from scipy.io import netcdf_file

        with netcdf_file(BytesIO(data), mmap=False) as found:
            arrays = found.variables
            yield (
                arrays,
                lambda name: np.array(arrays[name].data),
                lambda name: _text_of(arrays[name].elem_type),
            )
    else:
        raise UserError("it is neither netCDF-3 nor HDF5; save it as one of these (nccopy -k classic)")


def _text_of(value: Any) -> str:
    text = value.tobytes() if isinstance(value, np.ndarray) else value
    return (text.decode("latin-1") if isinstance(text, bytes) else str(text)).strip("\0 ")


def _read_points(names: Mapping[str, Any], take: Take) -> np.ndarray:
    if "coord" in names:
        return np.asarray(take("coord"), float).T
    axes = [f"coord{axis}" for axis in "xyz" if f"coord{axis}" in names]
    if len(axes) < 2:
        raise UserError("has no coordinates in a plane or in space; it is cut off, or no mesh")
    return np.column_stack([np.asarray(take(axis), float) for axis in axes])


def _names_of(names: Mapping[str, Any], take: Take, kind: str, word: str, count: int) -> list[str]:
    """Names of blocks ("eb") or sets ("ns", "ss"): those of the file, or by their numbers."""
    numbers = take(f"{kind}_prop1").tolist() if f"{kind}_prop1" in names else range(1, count + 1)
    given = take(f"{kind}_names") if f"{kind}_names" in names else np.zeros((count, 0), "S1")
    texts = [b"".join(row.tolist()).split(b"\0")[0].decode("utf-8", "replace").strip() for row in given]
    return [text or f"{word}_{number}" for text, number in zip(texts, numbers, strict=True)]


def _numbered(names: Mapping[str, Any], stem: str) -> list[int]:
    """The numbers k of arrays `stem`k, in their order."""
    return sorted(
        int(name[len(stem) :]) for name in names if name[len(stem) :].isdigit() and name.startswith(stem)
    )


def _read_blocks(
    names: Mapping[str, Any], take: Take, kind_of: Callable[[str], str]
) -> list[tuple[str, np.ndarray, str, str]]:
    """Of each block: the kind, nodes from 0 in VTK's order, the name, and the letters of its elem_type."""
    numbers = _numbered(names, "connect")
    count = len(take("eb_prop1")) if "eb_prop1" in names else len(numbers)
    titles = _names_of(names, take, "eb", "block", count)
    found = []
    for k in numbers:
        rows, given = np.asarray(take(f"connect{k}"), np.int64) - 1, kind_of(f"connect{k}").upper()
        kind = KINDS.get(given[:3], {}).get(rows.shape[1])
        if kind is None:
            raise UserError(
                f"block '{titles[k - 1]}' has elements {given} of {rows.shape[1]} nodes, not read"
            )
        found.append((kind, rows[:, list(ORDERS.get(kind, range(rows.shape[1])))], titles[k - 1], given[:3]))
    if not found:
        raise UserError("has no blocks of elements; it is cut off, or no mesh")
    return found


def _add_cells(found: Any, name: str, k: int) -> None:
    empty = [np.zeros(0, int) for _ in found.cells]
    sets = found.cell_sets.setdefault(name, empty)
    sets[k] = np.arange(len(found.cells[k].data))


def _add_node_sets(found: Any, names: Mapping[str, Any], take: Take) -> None:
    numbers = _numbered(names, "node_ns")
    count = len(take("ns_prop1")) if "ns_prop1" in names else len(numbers)
    titles = _names_of(names, take, "ns", "node_set", count)
    for k in numbers:
        found.point_sets[titles[k - 1]] = np.asarray(take(f"node_ns{k}"), np.int64) - 1


def _add_side_sets(found: Any, names: Mapping[str, Any], take: Take, blocks: Any, space: int) -> None:
    """Facets as cells of one dimension below, in sets by name."""
    numbers = _numbered(names, "elem_ss")
    count = len(take("ss_prop1")) if "ss_prop1" in names else len(numbers)
    titles = _names_of(names, take, "ss", "side_set", count)
    starts = np.cumsum([0, *(len(rows) for _, rows, _, _ in blocks)])
    facets: dict[str, list[np.ndarray]] = {}
    sets: dict[str, dict[str, list[int]]] = {}
    for k in numbers:
        cells, sides = (np.asarray(take(f"{one}_ss{k}"), np.int64) - 1 for one in ("elem", "side"))
        if len(cells) and not 0 <= cells.min() <= cells.max() < starts[-1]:
            raise UserError(f"side set '{titles[k - 1]}' has elements that are not there")
        for cell, side in zip(cells.tolist(), sides.tolist(), strict=True):
            block = int(np.searchsorted(starts, cell, "right")) - 1
            _, rows, _, letters = blocks[block]
            kind, nodes = _facet_of(rows[cell - starts[block]], letters, side, space, titles[k - 1])
            own = facets.setdefault(kind, [])
            sets.setdefault(titles[k - 1], {}).setdefault(kind, []).append(len(own))
            own.append(nodes)
    before = len(found.cells)
    block_type = type(found.cells[0])
    found.cells += [block_type(kind, np.array(rows)) for kind, rows in facets.items()]
    for name in found.cell_sets:
        found.cell_sets[name] += [np.zeros(0, int) for _ in facets]
    for name, parts in sets.items():
        added = [np.array(parts.get(kind, []), int) for kind in facets]
        given = found.cell_sets.get(name, [np.zeros(0, int) for _ in found.cells])
        found.cell_sets[name] = [*given[:before], *added]


def _facet_of(nodes: np.ndarray, letters: str, side: int, space: int, name: str) -> tuple[str, np.ndarray]:
    """The kind and the nodes of a side of a cell, those in the middle of its edges too."""
    d = 2 if letters in ("TRI", "QUA") and space == 2 else 3
    kind = reference_cells.cells().get((d, len(nodes)))
    if (
        letters not in SIDES
        or kind is None
        or not 0 <= side < len(SIDES[letters])
        or (d == 3) != (letters in SOLID)
    ):
        raise UserError(f"side set '{name}' has side {side + 1} of an element {letters}, which is not read")
    corners = set(SIDES[letters][side])
    facet = next(one for one in kind.facets if {n for n in one if n < kind.corners} == corners)
    return FACETS[d][len(facet)], nodes[list(facet)]


def _values_left_out(names: Mapping[str, Any], take: Take) -> list[str]:
    """Remarks on the variables of nodes and elements."""
    left = []
    for name, what in (("name_nod_var", "point"), ("name_elem_var", "cell")):
        if name in names:
            titles = [b"".join(row.tolist()).split(b"\0")[0].decode("utf-8", "replace") for row in take(name)]
            left.append(f"{what} data {', '.join(repr(one.strip()) for one in titles)} are not read")
    return left
