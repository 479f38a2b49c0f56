"""Sections of a Medit file in text: what meshlane reads in one form, and the names that it leaves out.

    MeshVersionFormatted 2   Dimension 3   Vertices 4   x y z ref ...   Tetrahedra 1   1 2 3 4 ref ...   End

A keyword is followed by a count and so many rows of numbers, with any blanks and lines between. Corners,
RequiredVertices, Ridges, RequiredEdges, RequiredTriangles and RequiredQuadrilaterals list numbers of vertices
or cells: `corners`, `required_vertices`, `ridges`, ... Cells of order 2 (TrianglesP2, TetrahedraP2,
QuadrilateralsQ2, EdgesP2) have VTK's order. Other sections are about the geometry that was meshed: a remark
says so.

Source: Frey 2001, Medit, INRIA RT-0253, appendix; libMeshb, its keywords of order 2.
"""

import re
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

CELLS = {
    "Edges": ("line", 2), "Triangles": ("triangle", 3), "Quadrilaterals": ("quad", 4),
    "Tetrahedra": ("tetra", 4), "Prisms": ("wedge", 6), "Pyramids": ("pyramid", 5),
    "Hexahedra": ("hexahedron", 8), "Hexaedra": ("hexahedron", 8), "EdgesP2": ("line3", 3),
    "TrianglesP2": ("triangle6", 6), "TetrahedraP2": ("tetra10", 10), "QuadrilateralsQ2": ("quad9", 9),
}  # fmt: skip
"""By the keyword: the kind, and the nodes before the reference."""
LISTS = {
    "Corners": ("corners", ""), "RequiredVertices": ("required_vertices", ""),
    "Ridges": ("ridges", "Edges"), "RequiredEdges": ("required_edges", "Edges"),
    "RequiredTriangles": ("required_triangles", "Triangles"),
    "RequiredQuadrilaterals": ("required_quadrilaterals", "Quadrilaterals"),
}  # fmt: skip
"""Lists of numbers: the name that they are given, and of which cells they are; "": of vertices."""
OF_GEOMETRY = {
    "Normals", "Tangents", "NormalAtVertices", "NormalAtTriangleVertices", "NormalAtQuadrilateralVertices",
    "TangentAtVertices", "TangentAtEdges", "AngleOfCornerBound", "Geometry", "Identifier", "BoundingBox",
    "SubDomainFromMesh", "SubDomainFromGeom", "VertexOnGeometricVertex", "VertexOnGeometricEdge",
    "VertexOnGeometricTriangle", "VertexOnGeometricQuadrilateral", "EdgeOnGeometricEdge",
    "TrianglesP2Ordering", "TetrahedraP2Ordering", "EdgesP2Ordering", "QuadrilateralsQ2Ordering",
}  # fmt: skip
"""Sections that name no part of the mesh."""
KNOWN = {"MeshVersionFormatted", "Dimension", "Vertices", "End", *CELLS, *LISTS, *OF_GEOMETRY}
_KEYWORD = re.compile(r"[A-Za-z_]\w*")


def mesh_of_text(file: str, data: bytes, remarks: list[str]) -> Any:
    """The mesh of meshlane in the bytes of a file. Raises `UserError` with the section that is wrong."""
    from meshlane import Mesh

    sections = _split_sections(file, data.decode("ascii", "replace"))
    d = int(_counted(file, sections, "Dimension", 0)[0])
    if d not in (2, 3):
        raise UserError(f"'{file}', Dimension: must be 2 or 3, got {d}; save it again")
    vertices = _counted(file, sections, "Vertices", d + 1)
    cells: list[tuple[str, np.ndarray]] = []
    references: list[np.ndarray] = []
    blocks: dict[str, int] = {}
    for keyword, (kind, nodes) in CELLS.items():
        if keyword in sections and (rows := _counted(file, sections, keyword, nodes + 1)).size:
            blocks[keyword] = len(cells)
            cells.append((kind, rows[:, :nodes].astype(np.int64) - 1))
            references.append(rows[:, nodes].astype(np.int64))
    found = Mesh(vertices[:, :d], cells, cell_data={"medit:ref": references} if cells else {})
    found.point_data["medit:ref"] = vertices[:, d].astype(np.int64)
    for keyword, (name, of) in LISTS.items():
        if keyword in sections:
            _add_list(
                file, found, keyword, name, _counted(file, sections, keyword, 1)[:, 0], blocks.get(of), of
            )
    if others := sorted(sections.keys() & OF_GEOMETRY):
        remarks.append(f"{', '.join(others)}: sections about the geometry that was meshed are not read")
    return found


def _split_sections(file: str, text: str) -> dict[str, str]:
    """The numbers behind each keyword."""
    text = re.sub(r"#[^\n]*", "", text)
    if text.lstrip().startswith("MFEM"):
        raise UserError(f"'{file}': is MFEM's own format, not Medit's; save it as VTK or Gmsh (MSH 2.2)")
    text = re.sub(r"\b(Geometry|Identifier)\b\s+(\"[^\"]*\"|[^\n]*)", r"\1 0", text)
    places = [one for one in _KEYWORD.finditer(text) if not _is_exponent(text, one.start())]
    if not places or places[0][0] != "MeshVersionFormatted":
        raise UserError(f"'{file}': must begin with MeshVersionFormatted; it is no mesh of Medit")
    found: dict[str, str] = {}
    for one, after in zip(places, [*places[1:], None], strict=True):
        line = text.count("\n", 0, one.start()) + 1
        if one[0] not in KNOWN:
            raise UserError(f"'{file}', line {line}: the section {one[0]} is not read; save it without")
        if one[0] in found:
            raise UserError(f"'{file}', line {line}: {one[0]} stands here a second time; save it again")
        if one[0] == "End":
            break
        found[one[0]] = text[one.end() : after.start() if after else len(text)]
    return found


def _is_exponent(text: str, at: int) -> bool:
    """True for the letter of 1.5e-3, nan and inf are words."""
    return at > 0 and (text[at - 1].isdigit() or text[at - 1] == ".")


def _counted(file: str, sections: dict[str, str], keyword: str, columns: int) -> np.ndarray:
    """The rows of a section; with 0 columns: its one number."""
    if keyword not in sections:
        raise UserError(f"'{file}': has no section {keyword}; it is cut off, or no mesh")
    words = sections[keyword].split()
    try:
        numbers = np.array(
            [float(word.replace("D", "E").replace("d", "e")) for word in words[: 1 if columns == 0 else None]]
        )
    except ValueError as error:
        raise UserError(
            f"'{file}', {keyword}: must be numbers, got {str(error).split(':')[-1].strip()}"
        ) from None
    count = 1 if columns == 0 else numbers[0] if numbers.size else -1.0
    if columns == 0 and numbers.size == 1:
        return numbers
    if numbers.size != 1 + count * columns or count < 0:
        raise UserError(
            f"'{file}', {keyword}: {count:g} rows of {columns} numbers are announced, {numbers.size - 1}"
            " numbers stand here; it is cut off, or saved with other columns"
        )
    return numbers[1:].reshape(-1, columns)


def _add_list(
    file: str, found: Any, keyword: str, name: str, listed: np.ndarray, block: int | None, of: str
) -> None:
    numbers = listed.astype(np.int64) - 1
    most = len(found.points) if not of else 0 if block is None else len(found.cells[block].data)
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < most:
        raise UserError(f"'{file}', {keyword}: must be numbers from 1 to {most}, got {numbers.max() + 1}")
    if not of:
        found.point_sets[name] = numbers
    elif block is not None:
        found.cell_sets[name] = [numbers if k == block else np.zeros(0, int) for k in range(len(found.cells))]
