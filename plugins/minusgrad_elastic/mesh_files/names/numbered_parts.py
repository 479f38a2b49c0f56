"""Names for the numbers that a file gives to its cells and nodes, where it has no names for them.

    data `region` with the value 3         the part `region_3`
    tags of a format with the value 3      `ref_3` (Medit), `tag_3` (UGRID), `group_3` (Gmsh), ...

Where parts of several dimensions lack a name and share a number they are `ref_3_surface` and the like. 0 is
no part where the format says so. Data of whole numbers are parts if there are at most `MOST` different ones;
all other data are named in a remark.

Decisions 0155.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

MOST = 256
"""Different numbers of one array: more are numbers of cells, or values, and no parts."""
TAGS = {
    "medit:ref": "ref", "ugrid:ref": "tag", "netgen:index": "index", "avsucd:material": "material",
    "su2:tag": "marker", "gmsh:physical": "group",
    "kratos:property": "property",
}  # fmt: skip
"""Tags of formats, as the library calls them: the first word of their names."""
WITHOUT_ZERO = ("medit:ref", "ugrid:ref", "gmsh:physical", "su2:tag", "kratos:property")
"""Tags whose 0 is no part."""
SILENT = (
    "gmsh:geometrical",
    "gmsh:dim_tags",
    "cell_ids",
    "facet_normals",
    "obj:vn",
    "obj:vt",
    "obj:group_ids",
)
"""Data that describe no part of the mesh."""
DIMENSIONS = ("point", "curve", "surface", "volume")

Names = Mapping[tuple[int, int], str]
"""Names by dimension and number."""


def name_numbered(found: Any, names: Names, remarks: list[str]) -> None:
    """Give the mesh of a library a set for each number of its cells and nodes.

    found: with cells, cell_data, point_data, cell_sets, point_sets. names: those that the file has for the
    tags of its format. remarks: of data that are not read.
    """
    for key, blocks in found.cell_data.items():
        if key in SILENT:
            continue
        arrays = [_whole_numbers(one) for one in blocks]
        if any(one is None for one in arrays):
            remarks.append(f"{_described('cell', key, blocks)} are not read")
            continue
        parts = _parts_of_cells(found.cells, arrays, key)
        if len({number for _, number in parts}) > MOST:
            count = len({number for _, number in parts})
            remarks.append(f"cell data '{key}' have {count} different numbers, and name no parts")
            continue
        add_cell_sets(found, key, parts, names)
    for key, values in found.point_data.items():
        if key not in SILENT:
            _add_point_sets(found, key, values, remarks)


def _parts_of_cells(cells: Any, arrays: list[Any], key: str) -> dict[tuple[int, int], list[np.ndarray]]:
    """By dimension and number: the rows of each block."""
    found: dict[tuple[int, int], list[np.ndarray]] = {}
    for k, (block, numbers) in enumerate(zip(cells, arrays, strict=True)):
        for number in np.unique(numbers).tolist():
            if number == 0 and key in WITHOUT_ZERO:
                continue
            rows = found.setdefault((block.dim, number), [np.zeros(0, int) for _ in cells])
            rows[k] = np.flatnonzero(numbers == number)
    return found


def add_cell_sets(
    found: Any, key: str, parts: Mapping[tuple[int, int], list[np.ndarray]], names: Names
) -> None:
    """Add sets of cells to the mesh of a library: rows of each block by dimension and number of some data."""
    base, known = TAGS.get(key, key), names if key in TAGS else {}
    nameless = Counter(number for dimension, number in parts if (dimension, number) not in known)
    made: dict[str, list[list[np.ndarray]]] = defaultdict(list)
    for (dimension, number), rows in parts.items():
        kind = f"_{DIMENSIONS[dimension]}" if nameless[number] > 1 else ""
        made[known.get((dimension, number), f"{base}_{number}{kind}")].append(rows)
    for name, groups in made.items():
        own = found.cell_sets.get(name)
        parts_of = [*groups, own] if own is not None else groups
        found.cell_sets[name] = [np.unique(np.concatenate(rows)) for rows in zip(*parts_of, strict=True)]


def _add_point_sets(found: Any, key: str, values: Any, remarks: list[str]) -> None:
    numbers = _whole_numbers(values)
    if numbers is None:
        remarks.append(f"{_described('point', key, [values])} are not read")
        return
    different = [one for one in np.unique(numbers).tolist() if one or key not in WITHOUT_ZERO]
    if len(different) > MOST:
        remarks.append(f"point data '{key}' have {len(different)} different numbers, and name no parts")
        return
    base = TAGS.get(key, key)
    for number in different:
        name = f"{base}_{number}"
        taken = name in found.cell_sets or any(one.startswith(f"{name}_") for one in found.cell_sets)
        found.point_sets[f"{name}_point" if taken else name] = np.flatnonzero(numbers == number)


def _whole_numbers(values: Any) -> np.ndarray | None:
    """One whole number for each cell or node, or None."""
    given = np.asarray([] if values is None else values)
    if given.size == 0:
        return np.zeros(0, int)
    plain = given.reshape(len(given), -1)
    return plain[:, 0].astype(np.int64) if plain.shape[1] == 1 and given.dtype.kind in "iub" else None


def _described(what: str, key: str, arrays: Any) -> str:
    """`cell data 'temperature' (float64)`."""
    kinds = _kinds_of(arrays)
    return f"{what} data '{key}' ({', '.join(dict.fromkeys(kinds))})"


def _kinds_of(arrays: Any) -> Iterator[str]:
    for one in arrays:
        given = np.asarray([] if one is None else one)
        if given.size:
            parts = given[0].size
            yield f"{parts} x {given.dtype}" if parts > 1 else f"{given.dtype}"
