"""Meshes from other formats by meshlane, with the extra `mesh`: in a plane, or in space.

`formats` knows which formats are read, `parsed` reads one with its names, `own_mesh` makes a mesh of ours.

Decisions 0071, 0328.
"""

import sys
from importlib.util import find_spec
from typing import Any

from minusgrad.plugin import UserError, bounded_read, pip_line, printable

from ..mesh import Mesh
from . import gmsh
from .gmsh_sections import version_of
from .own_mesh import own_mesh
from .parsed import parsed_mesh

MOST_REMARKS = 10
KEPT = ("points", "cells", "bodies", "cell_bodies", "facet_bodies")
"""Arrays of a mesh that come from the child."""


def read_foreign(file: str, data: bytes) -> Mesh:
    """The mesh in a file's bytes, read by meshlane in a child process within limits (`bounded_read`).

    Gmsh's MSH 4.1 is read by `gmsh`, as with the state `gmsh`, which reads MSH 2 by this function.

    Raises `UserError` without meshlane, for formats of several files, for files that it cannot read, or not
    within the limits, and for files without such cells.
    """
    if _is_of_gmsh(file, data):
        return gmsh.read(file, data)
    if find_spec("meshlane") is None:
        raise UserError(f"'{file}': needs meshlane: {pip_line('mesh')}")
    found = bounded_read(values, file, data, loads=("meshlane",))
    for line in remarks(found["said"]):
        print(line, file=sys.stderr)
    told = {"remarks": tuple(found["remarks"]), "length": found["length"]}
    return Mesh(**{name: found[name] for name in KEPT}, source=f"'{file}'", more=tuple(found["more"]), **told)


def remarks(said: str) -> list[str]:
    """The warnings of meshlane, each once, as a terminal can show them: they quote the file."""
    lines = [*dict.fromkeys(line for one in said.split("\n") if (line := one.strip()))]
    rest = len(lines) - MOST_REMARKS
    more = [f"... and {rest} lines more"] if rest > 0 else []
    return [*(printable(line) for line in lines[:MOST_REMARKS]), *more]


def values(file: str, data: bytes) -> dict[str, Any]:
    """In the child: the arrays of the mesh, and as `said` the warnings of meshlane."""
    mesh, said = parse_foreign(file, data)
    told = {"said": said, "remarks": mesh.remarks, "length": mesh.length}
    return {name: getattr(mesh, name) for name in (*KEPT, "more")} | told


def parse_foreign(file: str, data: bytes) -> tuple[Mesh, str]:
    """The mesh in a file's bytes and the warnings of meshlane, without limits."""
    if _is_of_gmsh(file, data):
        return gmsh.read(file, data), ""
    remarks: list[str] = []
    found, length, said = parsed_mesh(file, data, remarks)
    return own_mesh(file, found, remarks, length), said


def _is_of_gmsh(file: str, data: bytes) -> bool:
    """True for what `gmsh` reads, or refuses by name: each MSH file but those of version 2."""
    version = version_of(data)
    is_gmsh = version is not None or data.lstrip()[:4] == b"$NOD"
    return file.lower().endswith(".msh") and is_gmsh and not (version or "").startswith("2")
