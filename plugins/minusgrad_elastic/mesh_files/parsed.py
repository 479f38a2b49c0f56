"""A file of another format as a mesh of meshlane whose names are complete, in the child process.

    found = parsed_mesh("rod.su2", data, remarks)       points, cells, point_sets, cell_sets

Each format has its own trouble, and a module in `names` that reads what meshlane loses; what it can lose
without a trace is refused.

Decisions 0155.
"""

import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from minusgrad.plugin import UserError, printable

from ..decks import READERS
from . import exodus, vtk_cells, well_known_text
from .collapsed_cells import split_collapsed
from .file_ends import opening_ends
from .formats import format_of
from .names import flac3d, gmsh_tags, kratos, mapdl, med, medit, netgen, obj_groups, permas, su2, tecplot
from .names.numbered_parts import name_numbered
from .names.ugrid import reading_doubles

OPENING = (
    "meshlane._files",
    "meshlane.abaqus._abaqus",
    "meshlane.gmsh.main",
    "meshlane.vtk._main",
    "meshlane.vtu._vtu",
)
"""Modules of meshlane that open files."""


def parsed_mesh(file: str, data: bytes, remarks: list[str]) -> tuple[Any, str, str]:
    """The mesh in a file's bytes with all of its names, the unit that it states, and what meshlane printed.

    Raises `UserError` for what meshlane cannot read, and for what it reads and loses.
    """
    import meshlane

    name = format_of(file, data, meshlane.extension_to_filetypes)
    names: dict[tuple[int, int], str] = {}
    said, length = "", med.length_unit(file, data, remarks) if name == "med" else ""
    if name in READERS:
        found = READERS[name](file, data, remarks)
    elif name == "wkt":
        found = well_known_text.triangles(file, data)
    elif name == "medit" and not file.lower().endswith("b"):
        found = medit.mesh_of_text(file, data, remarks)
    elif name == "exodus":
        found = exodus.mesh_of_bytes(file, data, remarks)
    else:
        data, names = _prepared_file(name, file, data, remarks)
        found, said = _read_file(name, file, data)
    _complete_names(name, file, data, found, names)
    split_collapsed(found)
    name_numbered(found, names, remarks)
    return found, length, said


def _prepared_file(
    name: str, file: str, data: bytes, remarks: list[str]
) -> tuple[bytes, dict[tuple[int, int], str]]:
    """The bytes for meshlane, and names by dimension and number. Refuses what it would lose."""
    if name == "su2":
        return su2.numbered_markers(file, data)
    if name == "gmsh":
        return gmsh_tags.prepared_text(file, data, remarks), gmsh_tags.group_names(file, data)
    if name == "netgen":
        return data, netgen.part_names(file, data, remarks)
    if name == "permas":
        permas.refuse_sets(file, data)
    if name == "ansysInp":
        mapdl.refuse_commands(file, data)
    if name in ("vtk", "vtu"):
        return vtk_cells.prepared_bytes(name, file, data), {}
    if name == "ply":  # the other name of the same property
        data = re.sub(rb"(?m)^(property list \S+ \S+ vertex)_index\b", rb"\1_indices", data, count=1)
    return data, {}


def _complete_names(name: str, file: str, data: bytes, found: Any, names: Any) -> None:
    """What meshlane left out, by names or by place."""
    if name == "gmsh":
        gmsh_tags.join_copies(found, names)
    elif name == "obj":
        obj_groups.add_groups(file, data, found)
    elif name == "flac3d":
        flac3d.name_groups(file, found)
    elif name == "mdpa":
        kratos.add_parts(file, data, found)
    elif name == "med":
        med.name_families(found)
    elif name == "netgen":
        netgen.order_nodes(found)
    elif name == "vtk":
        vtk_cells.decode_names(found)
    elif name == "tecplot" and (title := tecplot.zone_title(file, data)):
        found.cell_sets[title] = [range(len(block.data)) for block in found.cells]


def _read_file(name: str, file: str, data: bytes) -> tuple[Any, str]:
    """meshlane's mesh, and what it printed. Raises `UserError` with its reason."""
    import meshlane

    opening = [sys.modules[one] for one in OPENING if one in sys.modules]
    with TemporaryDirectory() as folder:  # meshlane reads from disk
        path, said = Path(folder) / Path(file).name, StringIO()
        path.write_bytes(data)
        try:
            with (
                redirect_stdout(said),
                redirect_stderr(said),
                opening_ends(*opening),
                vtk_cells.reading_cells(),
                med.reading_all_kinds(),
                reading_doubles(),
            ):
                found = meshlane.read(path, name)
        except MemoryError:
            raise
        except UserError as error:
            raise UserError(f"'{file}': {error}") from error
        except (Exception, SystemExit) as error:  # readers raise anything; or they print it, and exit
            raise UserError(f"'{file}': meshlane cannot read it: {_reason(error, said, folder)}") from error
    return found, said.getvalue().strip()


def _reason(error: BaseException, said: StringIO, folder: str) -> str:
    """The words of an error, or what was printed before an exit; a bare key or number with its kind."""
    text = said.getvalue() if isinstance(error, SystemExit) else str(error)
    words = " ".join(text.replace(f"{folder}/", "").split())
    if isinstance(error, (AssertionError, UnboundLocalError)):
        words = "it is cut off, or in another form than its reader knows"
    if isinstance(error, LookupError):
        words = f"{type(error).__name__}: {words}"
    if words.startswith("Error: Couldn't read file"):  # a fault without words
        words = "it is damaged, or in another form than its reader knows"
    return printable(words or type(error).__name__, 500)
