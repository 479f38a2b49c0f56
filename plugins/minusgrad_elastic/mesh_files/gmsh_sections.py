"""The sections of a Gmsh file in MSH 4.1 format, text or bytes.

    $MeshFormat       version, 0 (text) or 1 (bytes), size of size_t; in bytes the int32 1
    $EndMeshFormat
    $Name
    ...               PhysicalNames, Entities, Nodes, Elements; others are skipped
    $EndName

Source: Gmsh reference manual, "MSH file format" (version 4.1).
"""

import re
from dataclasses import dataclass
from typing import NoReturn

from minusgrad.plugin import UserError

READ = ("PhysicalNames", "Entities", "Nodes", "Elements")
_FORMAT = re.compile(rb"\s*\$MeshFormat[ \t]*\r?\n[ \t]*(\S{1,9})[ \t]+([01])[ \t]+(\d)[ \t]*\r?\n")
_BEGIN = re.compile(rb"^[ \t]*\$(\w{1,80})[ \t]*\r?\n", re.MULTILINE)
_WHOLE = "save it whole: Mesh > Unpartition, in Python gmsh.model.mesh.unpartition()"


@dataclass(frozen=True)
class Section:
    """The contents of a section, between `$name` and `$Endname`: data[start:stop] of a file."""

    file: str
    name: str
    data: bytes
    start: int
    stop: int
    binary: bool

    def fail(self, message: str, place: int | None = None) -> NoReturn:
        """Raise a `UserError` that names file, section and, for a place in the file, line or byte."""
        where = f"'{self.file}', ${self.name}"
        if place is not None and self.binary:
            where = f"{where}, byte {place}"
        elif place is not None:
            line = self.data.count(b"\n", 0, place) + 1
            where = f"{where}, line {line}"
        raise UserError(f"{where}: {message}")


def version_of(data: bytes) -> str | None:
    """The version that a file states, such as "2.2"; None for a file that begins otherwise."""
    head = _FORMAT.match(data)
    return None if head is None else head[1].decode("ascii", "replace")


def split_sections(file: str, data: bytes) -> dict[str, Section]:
    """Those sections that are read, by name, $Nodes and $Elements among them.

    Raises `UserError` for other formats, for partitioned meshes and for files that are cut off.
    """
    start, binary = _format_of(file, data)
    sections: dict[str, Section] = {}
    while begin := _BEGIN.search(data, start):
        name = begin[1].decode()
        stop = data.find(b"$End" + begin[1], begin.end())
        section = Section(file, name, data, begin.end(), stop, binary)
        if name.startswith("End"):
            section.fail("this section has no beginning", begin.start())
        if stop < 0:
            section.fail(f"the file ends without $End{name}; it is cut off", begin.start())
        if name == "PartitionedEntities":
            section.fail(f"the mesh is in parts; {_WHOLE}", begin.start())
        if name in sections:
            section.fail("this section stands twice; save one mesh into one file", begin.start())
        if name in READ:
            sections[name] = section
        start = stop + len("$End" + name)
    if missing := {"Nodes", "Elements"} - sections.keys():
        raise UserError(f"'{file}' has no section ${max(missing)}; it is cut off, or holds no mesh")
    return sections


def _format_of(file: str, data: bytes) -> tuple[int, bool]:
    """Where the other sections begin, and whether they are bytes."""
    head = _FORMAT.match(data)
    section = Section(file, "MeshFormat", data, 0, 0, binary=False)
    if data.lstrip()[:4] == b"$NOD":
        section.fail(
            f"MSH version 1 is not read; write it as 4.1: gmsh {file} -save -format msh41 -o NEW.msh"
        )
    if head is None:
        section.fail("no Gmsh mesh begins like this; it says $MeshFormat, then version, type and size", 0)
    version, binary = head[1].decode("ascii", "replace"), head[2] == b"1"
    if version != "4.1":
        cure = f"write it as 4.1: gmsh {file} -save -format msh41 -o NEW.msh"
        section.fail(f"MSH version {version} is not read; {cure}", head.start(1))
    if binary and (head[3] != b"8" or data[head.end() : head.end() + 4] != b"\x01\0\0\0"):
        cure = f"write it as text: gmsh {file} -save -format msh41 -o NEW.msh"
        section.fail(f"of binary files only little-endian ones with 8-byte sizes are read; {cure}", 0)
    start = head.end() + (4 if binary else 0)
    end = re.compile(rb"\s*\$EndMeshFormat(?!\w)").match(data, start)
    if end is None:
        section.fail("$EndMeshFormat is missing; the file is cut off or damaged", start)
    return end.end(), binary
