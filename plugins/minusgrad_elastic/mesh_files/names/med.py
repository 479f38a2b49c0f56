"""What a MED file says beyond meshlane's reading: hexahedra of 27 nodes, families without groups, units.

    ENS_MAA/mesh            REP 0: Cartesian coordinates; UNI: the unit of each axis, often blank
    .../MAI/H27/NOD         nodes of the cells of a kind, all first ones first
    FAS/mesh/ELEME/F        NUM: the number of a family; GRO: the groups that it is in

Families are in groups, which meshlane makes sets; one without a group is `family_3` by its number. Source:
MED 4.1, "Modele de donnees"; the order of 27 nodes as in Gmsh's writer, which uses the library of MED.

Decisions 0156.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, contained_hdf5

UNITS = ("m", "dm", "cm", "mm", "um", "nm", "km")
HEXAHEDRON27 = (
    4,
    5,
    6,
    7,
    0,
    1,
    2,
    3,
    *range(12, 16),
    *range(8, 12),
    *range(16, 20),
    24,
    22,
    21,
    23,
    25,
    20,
    26,
)
"""The nodes of VTK's triquadratic hexahedron among MED's."""


def length_unit(file: str, data: bytes, remarks: list[str]) -> str:
    """The unit that the file states, or "". Raises `UserError` for what leads out of the file, other
    coordinates than Cartesian ones, and files of several meshes."""
    try:
        with contained_hdf5(data) as found:
            meshes = found.get("ENS_MAA")
            if meshes is None or len(meshes) != 1:
                raise UserError(
                    f"must have one mesh, got {0 if meshes is None else len(meshes)}; save it alone"
                )
            head = meshes[next(iter(meshes))].attrs
            if "ESP" not in head:
                raise UserError("is of a version of MED before 3; save it again with a newer program")
            if int(head.get("REP", 0)) != 0:
                raise UserError("its coordinates are not Cartesian; save it with Cartesian ones")
            units = bytes(head.get("UNI", b"")).decode("latin-1").replace("\0", " ").split()
    except UserError as error:
        raise UserError(f"'{file}': {error}") from None
    different = sorted({*units})
    if len(different) == 1 and different[0] in UNITS:
        return different[0]
    if different:
        remarks.append(f"the unit '{' '.join(different)}' of its coordinates is not known, and not read")
    return ""


@contextmanager
def reading_all_kinds() -> Iterator[None]:
    """Inside, meshlane's reader of MED knows hexahedra of 27 nodes."""
    from meshlane.med import _med

    _med.med_to_meshio_type["H27"] = "hexahedron27"
    _med._med_node_perm["hexahedron27"] = list(HEXAHEDRON27)
    try:
        yield
    finally:
        del _med.med_to_meshio_type["H27"], _med._med_node_perm["hexahedron27"]


def name_families(found: Any) -> None:
    """Leave out the numbers of families, and name those that are in no group."""
    for tags, groups, sets in (
        (found.cell_data.pop("cell_tags", None), found.cell_tags, found.cell_sets),
        (found.point_data.pop("point_tags", None), found.point_tags, found.point_sets),
    ):
        if tags is None:
            continue
        arrays = tags if isinstance(tags, list) else [tags]
        for number in np.unique(np.concatenate([np.ravel(one) for one in arrays])).tolist():
            if number and not groups.get(number):
                rows = [np.flatnonzero(np.ravel(one) == number) for one in arrays]
                sets[f"family_{abs(number)}"] = rows if isinstance(tags, list) else rows[0]
