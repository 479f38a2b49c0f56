"""Mesh files of other formats by hand, from the formats' manuals: no library writes them.

A format is a function of a mesh of one kind of cells and of named sides: it returns the bytes of a file. The
order of its nodes is told by corners, and by the edges and faces in whose middle further nodes lie, in the
format's own numbers of corners:

    Netgen, 10-node tetrahedra    edges (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import h5py
import numpy as np
from scipy.io import netcdf_file

from minusgrad_elastic.mesh import Mesh
from tests.support import cell_meshes

RING = ((0, 1), (1, 2), (2, 3), (3, 0))
LID = ((4, 5), (5, 6), (6, 7), (7, 4))
UP = ((0, 4), (1, 5), (2, 6), (3, 7))
VTK_FACES = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 1, 2, 3), (4, 5, 6, 7))
TETRAHEDRON = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
Places = tuple[tuple[int, ...], ...]
"""Corners in whose middle a node lies."""
VTK: dict[tuple[int, int], Places] = {
    (2, 6): ((0, 1), (1, 2), (2, 0)), (2, 8): RING, (2, 9): (*RING, (0, 1, 2, 3)), (3, 10): TETRAHEDRON,
    (3, 20): (*RING, *LID, *UP), (3, 27): (*RING, *LID, *UP, *VTK_FACES, tuple(range(8))),
}  # fmt: skip
EXODUS: dict[tuple[int, int], Places] = VTK | {
    (3, 20): (*RING, *UP, *LID),
    (3, 27): (*RING, *UP, *LID, tuple(range(8)), (0, 1, 2, 3), (4, 5, 6, 7), (0, 3, 7, 4), (1, 2, 6, 5),
              (0, 1, 5, 4), (2, 3, 7, 6)),
}  # fmt: skip
KRATOS: dict[tuple[int, int], Places] = VTK | {
    (3, 20): (*RING, *UP, *LID),
    (3, 27): (*RING, *UP, *LID, (0, 1, 2, 3), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (0, 3, 7, 4),
              (4, 5, 6, 7), tuple(range(8))),
}  # fmt: skip
GMSH_EDGES = ((0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7))
GMSH: dict[tuple[int, int], Places] = VTK | {
    (3, 10): ((0, 1), (1, 2), (2, 0), (3, 0), (3, 2), (3, 1)), (3, 20): GMSH_EDGES,
    (3, 27): (*GMSH_EDGES, (0, 1, 2, 3), (0, 1, 5, 4), (0, 3, 7, 4), (1, 2, 6, 5), (2, 3, 7, 6), (4, 5, 6, 7),
              tuple(range(8))),
}  # fmt: skip
NETGEN: dict[tuple[int, int], Places] = {
    (2, 6): ((1, 2), (0, 2), (0, 1)), (2, 8): ((0, 1), (2, 3), (3, 0), (1, 2)),
    (3, 10): ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)),
    (3, 20): ((0, 1), (2, 3), (3, 0), (1, 2), (4, 5), (6, 7), (7, 4), (5, 6), *UP),
}  # fmt: skip
MED: dict[tuple[int, int], Places] = VTK | {
    (3, 27): (*RING, *LID, *UP, (0, 1, 2, 3), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7),
              (4, 5, 6, 7), tuple(range(8))),
}  # fmt: skip
TURNED = {
    (3, 4): (0, 2, 1, 3), (3, 10): (0, 2, 1, 3), (3, 5): (0, 3, 2, 1, 4), (3, 6): (0, 2, 1, 3, 5, 4),
    (3, 8): (0, 3, 2, 1, 4, 7, 6, 5), (3, 20): (0, 3, 2, 1, 4, 7, 6, 5), (3, 27): (0, 3, 2, 1, 4, 7, 6, 5),
}  # fmt: skip
"""Corners of a cell whose base is seen from outside, as in MED and Netgen: numbers of ours."""
VTK_TYPES = {
    (2, 3): 5, (2, 6): 22, (2, 4): 9, (2, 8): 23, (2, 9): 28, (3, 4): 10, (3, 10): 24, (3, 5): 14, (3, 6): 13,
    (3, 8): 12, (3, 20): 25, (3, 27): 29,
}  # fmt: skip
LINEAR = ((2, 3), (2, 4), (3, 4), (3, 5), (3, 6), (3, 8))


@dataclass(frozen=True)
class Named:
    """A mesh of one kind: cells with a smaller x are `soft`, others `stiff`; `left` are facets at x = 0."""

    mesh: Mesh
    soft: np.ndarray
    left: np.ndarray

    @property
    def key(self) -> tuple[int, int]:
        return self.mesh.dimension, self.mesh.cells.shape[1]

    def points(self) -> np.ndarray:
        """(n, 3)."""
        return np.pad(self.mesh.points, ((0, 0), (0, 3 - self.mesh.dimension)))

    def rows(self, places: dict[tuple[int, int], Places], corners: dict | None = None) -> np.ndarray:
        """The nodes of the cells in the format's order, from 1."""
        return in_order(self.mesh, places.get(self.key, ()), (corners or {}).get(self.key)) + 1

    def materials(self) -> np.ndarray:
        """1 of soft cells, 2 of stiff ones."""
        return np.where(self.soft, 1, 2)


def named_mesh(d: int, k: int) -> Named:
    """Two parts of a body that is sheared and stretched, its inner nodes moved: nothing is symmetric."""
    straight = cell_meshes.mesh_of(d, k)
    shaken = cell_meshes.shaken(straight, 0.02)
    shape = np.array([[1.0, 0.3, 0.1], [0.0, 1.2, 0.2], [0.0, 0.0, 0.8]])[:d, :d]
    at = straight.points[straight.cells].mean(axis=1)[:, 0]
    facets = straight.boundary()
    own = [row[row >= 0] for row in facets]
    left = np.array([row for row in own if (np.abs(straight.points[row, 0]) < 1e-9).all()])
    return Named(Mesh(shaken.points @ shape.T, straight.cells), at < 0.5, left)


def in_order(mesh: Mesh, places: Places, corners: Sequence[int] | None) -> np.ndarray:
    """Our cells with their nodes in another order: those of the format's corners, then of further places."""
    (kind,) = mesh.kinds
    first = mesh.cells[:, list(corners or range(kind.corners))]
    found = [first]
    for place in places:
        middle = mesh.points[first[:, list(place)]].mean(axis=1)
        away = np.linalg.norm(mesh.points[mesh.cells] - middle[:, None], axis=2)
        found.append(np.take_along_axis(mesh.cells, away.argmin(axis=1)[:, None], axis=1))
    return np.concatenate(found, axis=1)


def lines(rows: np.ndarray) -> str:
    return "\n".join(" ".join(map(repr, row)) for row in rows.tolist())


def sections(*parts: object) -> bytes:
    """Lines of a file in text."""
    return "\n".join(map(str, [*parts, ""])).encode()


def column(values: np.ndarray) -> str:
    return lines(values[:, None])


def vtk(named: Named) -> bytes:
    """VTK, "File Formats for VTK Version 4.2": the base of a wedge is seen from outside."""
    rows, points = named.rows(VTK, {(3, 6): (0, 2, 1, 3, 5, 4)}) - 1, named.points()
    counted = np.column_stack([np.full(len(rows), rows.shape[1]), rows])
    types = np.full(len(rows), VTK_TYPES[named.key])
    return sections(
        "# vtk DataFile Version 3.0\nby hand\nASCII\nDATASET UNSTRUCTURED_GRID",
        f"POINTS {len(points)} double\n{lines(points)}",
        f"CELLS {len(rows)} {counted.size}\n{lines(counted)}",
        f"CELL_TYPES {len(rows)}\n{column(types)}",
        f"CELL_DATA {len(rows)}\nSCALARS material int 1\nLOOKUP_TABLE default\n{column(named.materials())}",
    )


def vtu(named: Named) -> bytes:
    """Two pieces, of soft and of stiff cells, each with all points (VTK XML formats)."""
    rows = named.rows(VTK, {(3, 6): (0, 2, 1, 3, 5, 4)}) - 1
    pieces = []
    for chosen, number in ((named.soft, 1), (~named.soft, 2)):
        own, count = rows[chosen], int(chosen.sum())
        ends, types = np.arange(1, count + 1) * rows.shape[1], np.full(count, VTK_TYPES[named.key])
        cells = array("connectivity", "Int64", own) + array("offsets", "Int64", ends[:, None])
        pieces.append(
            f'<Piece NumberOfPoints="{len(named.mesh.points)}" NumberOfCells="{count}">'
            f"<Points>{array('Points', 'Float64', named.points())}</Points>"
            f"<Cells>{cells}{array('types', 'UInt8', types[:, None])}</Cells>"
            f"<CellData>{array('material', 'Int32', np.full((count, 1), number))}</CellData></Piece>"
        )
    return (
        '<?xml version="1.0"?><VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian">'
        f"<UnstructuredGrid>{''.join(pieces)}</UnstructuredGrid></VTKFile>"
    ).encode()


def array(name: str, kind: str, rows: np.ndarray) -> str:
    """A DataArray; those of points have three components."""
    parts = ' NumberOfComponents="3"' if name == "Points" else ""
    return f'<DataArray type="{kind}" Name="{name}"{parts} format="ascii">{lines(rows)}</DataArray>'


def gmsh22(named: Named) -> bytes:
    """Gmsh reference manual, "MSH file format version 2"."""
    d, k = named.key
    types = {(2, 3): 2, (2, 6): 9, (2, 4): 3, (2, 8): 16, (2, 9): 10, (3, 4): 4, (3, 10): 11, (3, 5): 7,
             (3, 6): 6, (3, 8): 5, (3, 20): 17, (3, 27): 12}  # fmt: skip
    sides = {2: 1, 3: 8} if d == 2 else {3: 2, 4: 3, 6: 9, 8: 16, 9: 10}
    elements = [f"{sides[len(row)]} 2 3 1 {' '.join(map(str, row + 1))}" for row in named.left]
    for row, number in zip(named.rows(GMSH), named.materials(), strict=True):
        elements.append(f"{types[d, k]} 2 {number} 1 {' '.join(map(str, row))}")
    return sections(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n3",
        f'{d - 1} 3 "left"\n{d} 1 "soft"\n{d} 2 "stiff"\n$EndPhysicalNames',
        f"$Nodes\n{len(named.mesh.points)}\n{numbered(lines(named.points()))}\n$EndNodes",
        f"$Elements\n{len(elements)}\n{numbered(chr(10).join(elements))}\n$EndElements",
    )


def numbered(text: str, first: int = 1) -> str:
    """The lines with their numbers."""
    return "\n".join(f"{n} {line}" for n, line in enumerate(text.split("\n"), first))


def medit(named: Named) -> bytes:
    """INRIA RT-0253; cells of order 2 as in libMeshb."""
    d, k = named.key
    words = {(2, 3): "Triangles", (2, 6): "TrianglesP2", (2, 4): "Quadrilaterals", (2, 9): "QuadrilateralsQ2",
             (3, 4): "Tetrahedra", (3, 10): "TetrahedraP2", (3, 5): "Pyramids", (3, 6): "Prisms",
             (3, 8): "Hexahedra"}  # fmt: skip
    sides = {2: "Edges", 3: "EdgesP2"} if d == 2 else {3: "Triangles", 4: "Quadrilaterals", 6: "TrianglesP2"}
    vertices = np.column_stack([named.mesh.points, np.zeros(len(named.mesh.points), int)])
    cells = np.column_stack([named.rows(VTK), named.materials()])
    left = np.column_stack([named.left + 1, np.full(len(named.left), 3)])
    text = "\n".join(" ".join([*map(repr, row[:-1]), "0"]) for row in vertices.tolist())
    return sections(
        f"MeshVersionFormatted 2\nDimension {d}\n\nVertices {len(vertices)}\n{text}\n# cells",
        f"{words[d, k]}\n{len(cells)}\n{lines(cells)}",
        f"{sides[left.shape[1] - 1]}\n{len(left)}\n{lines(left)}\nEnd",
    )


def netgen(named: Named) -> bytes:
    """Netgen's Mesh::Save, and the tables of its refinement (refine.cpp); edges have two nodes."""
    d, k = named.key
    cells, facets, edges = [], [], []
    for row, m in zip(named.rows(NETGEN, TURNED), named.materials(), strict=True):
        head = f"{m} {m} 1 0 {k}" if d == 2 else f"{m} {k}"
        (facets if d == 2 else cells).append(f"{head} {' '.join(map(str, row))}")
    for row in named.left:
        if d == 2:
            edges.append(f"3 0 {row[0] + 1} {row[1] + 1} -1 -1 1 0 1 0 1 1")
        else:
            facets.append(f"1 3 1 0 {len(row)} {' '.join(map(str, netgen_facet(row) + 1))}")
    return sections(
        f"mesh3d\ndimension\n{d}\ngeomtype\n0\n",
        *("\n".join(["surfaceelements", str(len(facets)), *facets, ""]),),
        *("\n".join(["volumeelements", str(len(cells)), *cells, ""]),),
        *("\n".join(["edgesegmentsgi2", str(len(edges)), *edges, ""]),),
        f"points\n{len(named.mesh.points)}\n{lines(named.points())}\n",
        "materials\n2\n1 soft\n2 stiff\n\nbcnames\n3\n1 left\n2 other\n3 left\n\nendmesh",
    )


def netgen_facet(row: np.ndarray) -> np.ndarray:
    """A facet in Netgen's order: of a 6-node triangle the middles opposite to each corner."""
    return (
        row[[0, 1, 2, 4, 5, 3]] if len(row) == 6 else row[[0, 1, 2, 3, 4, 6, 7, 5]] if len(row) == 8 else row
    )


def su2(named: Named) -> bytes:
    """SU2, "Mesh File Format"; it has no materials."""
    rows, left = named.rows({}, {(3, 6): (0, 2, 1, 3, 5, 4)}) - 1, named.left
    side = {2: 3, 3: 5, 4: 9}[left.shape[1]]
    kind = VTK_TYPES[named.key]
    cells = "\n".join(f"{kind} {' '.join(map(str, row))} {n}" for n, row in enumerate(rows.tolist()))
    points = "\n".join(f"{row} {n}" for n, row in enumerate(lines(named.mesh.points).split("\n")))
    facets = "\n".join(f"{side} {' '.join(map(str, row))}" for row in left.tolist())
    return sections(
        f"% by hand\nNDIME= {named.mesh.dimension}\nNELEM= {len(rows)}\n{cells}",
        f"NPOIN= {len(named.mesh.points)}\n{points}",
        f"NMARK= 1\nMARKER_TAG= left\nMARKER_ELEMS= {len(left)}\n{facets}",
    )


def avs(named: Named) -> bytes:
    """AVS UCD: the apex of a pyramid comes first, the upper face of a hexahedron before the lower one."""
    words = {(2, 3): "tri", (2, 4): "quad", (3, 4): "tet", (3, 5): "pyr", (3, 6): "prism", (3, 8): "hex"}
    orders = {(3, 5): (4, 0, 1, 2, 3), (3, 6): (3, 4, 5, 0, 1, 2), (3, 8): (4, 5, 6, 7, 0, 1, 2, 3)}
    rows = named.rows({}, orders)
    cells = "\n".join(
        f"{n} {m} {words[named.key]} {' '.join(map(str, row))}"
        for n, (row, m) in enumerate(zip(rows, named.materials(), strict=True), 1)
    )
    points = "\n".join(f"{n} {row}" for n, row in enumerate(lines(named.points()).split("\n"), 1))
    return f"# by hand\n{len(named.mesh.points)} {len(rows)} 0 0 0\n{points}\n{cells}\n".encode()


def tecplot(named: Named) -> bytes:
    """Tecplot data format guide: pyramids and wedges are bricks with repeated nodes."""
    words = {(2, 3): "FETRIANGLE", (2, 4): "FEQUADRILATERAL", (3, 4): "FETETRAHEDRON"}
    bricks = {(3, 5): (0, 1, 2, 3, 4, 4, 4, 4), (3, 6): (0, 1, 2, 2, 3, 4, 5, 5)}
    rows = named.rows({}, bricks)
    return (
        'TITLE = "by hand"\nVARIABLES = "X" "Y" "Z"\n'
        f'ZONE T="the body" N={len(named.mesh.points)}, E={len(rows)}, DATAPACKING=POINT, '
        f"ZONETYPE={words.get(named.key, 'FEBRICK')}\n{lines(named.points())}\n{lines(rows)}\n"
    ).encode()


def ugrid(named: Named) -> bytes:
    """UGRID: the apex of a pyramid is its third node, of the base 1, 4, 5, 2."""
    _, k = named.key
    rows = named.rows({}, {(3, 5): (0, 3, 4, 1, 2)})
    counts = [len(named.mesh.points), *(len(named.left) * (named.left.shape[1] == n) for n in (3, 4))]
    counts += [len(rows) * (k == n) for n in (4, 5, 6, 8)]
    tags = lines(np.full((len(named.left), 1), 3))
    return sections(
        " ".join(map(str, counts)), lines(named.points()), lines(named.left + 1), tags, lines(rows)
    )


def flac3d(named: Named) -> bytes:
    """FLAC3D, "Zone types": a brick goes along x, y, z first, a wedge has the triangles 1 2 4 and 3 5 6."""
    words = {(3, 4): "T4", (3, 5): "P5", (3, 6): "W6", (3, 8): "B8"}
    orders = {(3, 5): (0, 1, 3, 4, 2), (3, 6): (0, 1, 3, 2, 4, 5), (3, 8): (0, 1, 3, 4, 2, 7, 5, 6)}
    sides = {3: "T3", 4: "Q4"}
    points = "\n".join(f"G {n} {row}" for n, row in enumerate(lines(named.points()).split("\n"), 1))
    cells = "\n".join(
        f"Z {words[named.key]} {n} {' '.join(map(str, row))}"
        for n, row in enumerate(named.rows({}, orders), 1)
    )
    facets = "\n".join(
        f"F {sides[len(row)]} {n} {' '.join(map(str, row + 1))}" for n, row in enumerate(named.left, 1)
    )
    groups = "".join(
        f'ZGROUP "{name}" SLOT 1\n{" ".join(map(str, np.flatnonzero(chosen) + 1))}\n'
        for name, chosen in (("soft", named.soft), ("stiff", ~named.soft))
    )
    numbers = " ".join(map(str, range(1, len(named.left) + 1)))
    return (
        f'* by hand\n{points}\n{cells}\n{groups}* FACES\n{facets}\nFGROUP "left" SLOT 1\n{numbers}\n'.encode()
    )


def mdpa(named: Named) -> bytes:
    """Kratos, with node numbers from 11, in parts of nodes, elements and conditions."""
    d, k = named.key
    names = {3: "Triangle", 6: "Triangle", 4: "Quadrilateral", 8: "Quadrilateral", 9: "Quadrilateral"}
    solids = {4: "Tetrahedra", 10: "Tetrahedra", 6: "Prism", 8: "Hexahedra", 20: "Hexahedra", 27: "Hexahedra"}
    kind = f"{names[k]}2D{k}" if d == 2 else f"{solids[k]}3D{k}"
    b = named.left.shape[1]
    side = f"Line2D{b}" if d == 2 else f"{names[b]}3D{b}"
    points = "\n".join(f"{n} {row}" for n, row in enumerate(lines(named.points()).split("\n"), 11))
    cells = "\n".join(f"{n} 0 {' '.join(map(str, row + 10))}" for n, row in enumerate(named.rows(KRATOS), 5))
    facets = "\n".join(f"{n} 0 {' '.join(map(str, row + 11))}" for n, row in enumerate(named.left, 1))
    parts = "".join(
        f"Begin SubModelPart {name}\nBegin SubModelPart{what}\n{numbers}\n"
        f"End SubModelPart{what}\nEnd SubModelPart\n"
        for name, what, numbers in (
            ("soft", "Elements", "\n".join(map(str, np.flatnonzero(named.soft) + 5))),
            ("stiff", "Elements", "\n".join(map(str, np.flatnonzero(~named.soft) + 5))),
            ("left", "Conditions", "\n".join(map(str, range(1, len(named.left) + 1)))),
        )
    )
    return (
        f"Begin Nodes\n{points}\nEnd Nodes\n\nBegin Elements {kind}// by hand\n{cells}\nEnd Elements\n\n"
        f"Begin Conditions {side}\n{facets}\nEnd Conditions\n{parts}"
    ).encode()


def med(named: Named, unit: str = "", fill: Callable[[h5py.File], None] | None = None) -> bytes:
    """MED 4.1: nodes of all cells one after another, the base of a solid seen from outside."""
    d, k = named.key
    words = {(2, 3): "TR3", (2, 6): "TR6", (2, 4): "QU4", (2, 8): "QU8", (2, 9): "QU9", (3, 4): "TE4",
             (3, 10): "T10", (3, 5): "PY5", (3, 6): "PE6", (3, 8): "HE8", (3, 20): "H20",
             (3, 27): "H27"}  # fmt: skip
    sides = {2: "SE2", 3: "SE3"} if d == 2 else {3: "TR3", 4: "QU4", 6: "TR6", 8: "QU8", 9: "QU9"}
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        mesh = file.create_group("ENS_MAA/body")
        mesh.attrs.update(
            {"DIM": d, "ESP": d, "REP": 0, "DES": np.bytes_(b""), "UNI": np.bytes_(unit.encode())}
        )
        step = mesh.create_group("-1")
        nodes = step.create_group("NOE")
        nodes["COO"] = named.mesh.points.ravel(order="F")
        nodes["COO"].attrs["NBR"] = len(named.mesh.points)
        for word, rows, families in (
            (words[d, k], named.rows(MED, TURNED), -named.materials()),
            (sides[named.left.shape[1]], named.left + 1, np.full(len(named.left), -3)),
        ):
            group = step.create_group(f"MAI/{word}")
            group.create_dataset("NOD", data=rows.ravel(order="F"), compression="gzip")
            group["NOD"].attrs["NBR"] = len(rows)
            group["FAM"] = families
        for number, name in ((-1, b"soft"), (-2, b"stiff"), (-3, b"left")):
            family = file.create_group(f"FAS/body/ELEME/F{number}")
            family.attrs["NUM"] = number
            family.create_group("GRO").attrs["NBR"] = 1
            family["GRO/NOM"] = np.frombuffer(name.ljust(80, b"\0"), "i1")[None]
        if fill:
            fill(file)
    return out.getvalue()


def exodus(named: Named, is_hdf5: bool = False) -> bytes:
    """EXODUS II (SAND92-2137): two blocks, of which one has a name, a node set and a side set."""
    d, k = named.key
    flat = {3: "TRI3", 6: "TRI6", 4: "QUAD4", 8: "QUAD8", 9: "QUAD9"}
    solid = {4: "TETRA", 10: "TETRA10", 5: "PYRAMID5", 6: "WEDGE6", 8: "HEX8", 20: "HEX20", 27: "HEX27"}
    words = flat if d == 2 else solid
    rows = named.rows(EXODUS)
    blocks = [rows[named.soft], rows[~named.soft]]
    cells, sides = sides_of_exodus(blocks, named.left + 1, d)
    arrays: dict[str, np.ndarray] = {
        **{f"coord{axis}": values for axis, values in zip("xyz", named.mesh.points.T, strict=False)},
        "eb_prop1": np.array([10, 20], "i4"), "eb_names": text_rows("soft", ""),
        "connect1": blocks[0].astype("i4"), "connect2": blocks[1].astype("i4"),
        "ns_prop1": np.array([7], "i4"), "node_ns1": (np.unique(named.left) + 1).astype("i4"),
        "ss_prop1": np.array([1], "i4"), "ss_names": text_rows("left"),
        "elem_ss1": np.array(cells, "i4"), "side_ss1": np.array(sides, "i4"),
    }  # fmt: skip
    out = io.BytesIO()
    if is_hdf5:
        with h5py.File(out, "w") as file:
            for name, values in arrays.items():
                file[name] = values
            for name in ("connect1", "connect2"):
                file[name].attrs["elem_type"] = words[k]
        return out.getvalue()
    with netcdf_file(out, "w") as file:
        for name, values in arrays.items():
            axes = [f"{name}_{n}" for n in range(values.ndim)]
            for axis, size in zip(axes, values.shape, strict=True):
                file.createDimension(axis, size)
            variable = file.createVariable(name, values.dtype.char if values.dtype.kind != "S" else "c", axes)
            variable[:] = values
            if name.startswith("connect"):
                variable.elem_type = words[k]
        file.flush()
        return out.getvalue()


def text_rows(*texts: str) -> np.ndarray:
    """Names as rows of characters."""
    return np.array([list(text.ljust(33, "\0")) for text in texts]).astype("S1")


def sides_of_exodus(blocks: list[np.ndarray], left: np.ndarray, d: int) -> tuple[list[int], list[int]]:
    """Numbers of cells over all blocks, and of their sides, for facets by their corners (figure 4.12)."""
    hexahedron = ((0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (0, 4, 7, 3), (0, 3, 2, 1), (4, 5, 6, 7))
    tetrahedron = ((0, 1, 3), (1, 2, 3), (0, 3, 2), (0, 2, 1))
    solids = {
        4: tetrahedron, 10: tetrahedron, 8: hexahedron, 20: hexahedron, 27: hexahedron,
        5: ((0, 1, 4), (1, 2, 4), (2, 3, 4), (0, 4, 3), (0, 3, 2, 1)),
        6: ((0, 1, 4, 3), (1, 2, 5, 4), (0, 3, 5, 2), (0, 2, 1), (3, 4, 5)),
    }  # fmt: skip
    nodes = blocks[0].shape[1]
    flat = RING if nodes in (4, 8, 9) else (*RING[:2], (2, 0))
    table = flat if d == 2 else solids[nodes]
    wanted = {frozenset(row[: 2 if d == 2 else 3 if len(row) in (3, 6) else 4].tolist()) for row in left}
    found: tuple[list[int], list[int]] = ([], [])
    for n, row in enumerate(np.concatenate(blocks), 1):
        for side, corners in enumerate(table, 1):
            if frozenset(row[list(corners)].tolist()) in wanted:
                found[0].append(n)
                found[1].append(side)
    return found
