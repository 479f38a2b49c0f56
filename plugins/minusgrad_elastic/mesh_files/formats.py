"""Formats of mesh files: which one the bytes of a file are in, by the ending of its name and its beginning.

Formats are read whose reader opens one file. Others (XDMF, DOLFIN, TetGen, OpenFOAM) name files anywhere on
the machine, which would be neither copied into the run folder nor hashed. HDF5 follows links to such files:
MED and Exodus are looked at before (`contained_hdf5`). CGNS, HMF and H5M are HDF5, of which meshlane reads
tetrahedra alone, or no sets. Source: the readers of meshlane 5.5.

Decisions 0328.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from minusgrad.plugin import UserError, printable

FORMATS = {
    "abaqus": (".inp",),
    "ansys": (".msh",),
    "ansysInp": (".cdb", ".inp"),
    "avsucd": (".avs",),
    "exodus": (".e", ".exo", ".ex2"),
    "flac3d": (".f3grid",),
    "gmsh": (".msh",),
    "mdpa": (".mdpa",),
    "med": (".med",),
    "medit": (".mesh", ".meshb"),
    "nastran": (".bdf", ".fem", ".nas"),
    "netgen": (".vol",),
    "obj": (".obj",),
    "off": (".off",),
    "permas": (".post", ".dato"),
    "ply": (".ply",),
    "stl": (".stl",),
    "su2": (".su2",),
    "tecplot": (".dat", ".tec"),
    "ugrid": (".ugrid",),
    "vtk": (".vtk",),
    "vtu": (".vtu",),
    "wkt": (".wkt",),
}
"""meshlane's formats of one file, with the endings of their names."""
SEVERAL = ("cgns", "dolfin-xml", "h5m", "hmf", "openfoam", "tetgen", "xdmf")
"""Those that may lead to a second file."""
SIGNS = {"gmsh": rb"\s*\$", "ansysInp": rb"(?im)^\s*(?:nblock|/prep7|/batch)"}
"""What begins a file, or stands in it, where formats share an ending; the other one is the rest."""
CONVERTED = (".xdmf", ".xmf", ".ele", ".node", ".xml", ".foam")
"""Endings of formats that meshlane converts without a loss."""
OTHERS = {"gmsh": "ansys", "ansysInp": "abaqus"}


def format_of(file: str, data: bytes, known: Mapping[str, Sequence[str]]) -> str:
    """meshlane's name of the format; `known`: its formats by ending, to which a later one may add.

    Raises `UserError` for a format that may lead to a second file.
    """
    path = Path(file)
    ending, name = path.suffix.lower(), printable(path.name)
    cure = "save it as VTU, or as Gmsh's MSH 4.1"
    if ending in CONVERTED:
        cure = f"convert it: meshlane convert {name} {printable(path.stem)}.vtu"
    endings = sorted({one for every in FORMATS.values() for one in every})
    if ending not in endings or not FORMATS.keys() >= {*known.get(ending, ())}:
        raise UserError(
            f"'{file}': must be a mesh format of one file, got '{ending}' ({', '.join(endings)}); {cure}"
        )
    names = [name for name, every in FORMATS.items() if ending in every]
    return names[0] if len(names) == 1 else _name_by_beginning(file, names, data)


def _name_by_beginning(file: str, names: Sequence[str], data: bytes) -> str:
    """The one of two formats of an ending whose sign is there. Raises `UserError` for Fluent's faces."""
    (name,) = SIGNS.keys() & {*names}
    found = re.match(SIGNS[name], data) if name == "gmsh" else re.search(SIGNS[name], data)
    if name == "gmsh" and not found:
        raise UserError(
            f"'{file}': is no mesh of Gmsh; Fluent's list faces, of which no cells are made: save it as VTU"
        )
    return name if found else OTHERS[name]
