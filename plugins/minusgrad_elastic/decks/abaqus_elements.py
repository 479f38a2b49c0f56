"""Elements of Abaqus and CalculiX: which cells they are, and the nodes of their faces.

    C3D10MH = C3D 10 MH       family, number of nodes, further letters that the shape does not depend on

Source: Abaqus Elements Guide, "Element index", "Node ordering and face numbering on elements"; CalculiX
CrunchiX User's Manual, "Element types". The nodes are those of VTK but for C3D27.
"""

import re
from functools import cache

SOLID = ("C3D", "DC3D", "DCC3D", "AC3D", "Q3D", "EMC3D", "EC3D", "GK3D", "COH3D", "CSS", "SC", "FC3D", "F3DC")
PLANE = ("CPE", "CPS", "CPEG", "DC2D", "DCC2D", "AC2D", "EMC2D", "GK2D", "GKPE", "GKPS", "COH2D", "WARP2D")
AXIAL = ("CAX", "CGAX", "DCAX", "DCCAX", "ACAX", "GKAX", "COHAX", "CAXA")
SHELL = ("S", "STRI", "DS", "M3D", "SFM3D", "R3D", "SHELL", "DSFM3D")
LINE = (
    "T2D", "T3D", "B2", "B3", "PIPE2", "PIPE3", "ELBOW", "FRAME2D", "FRAME3D", "R2D", "RAX", "SAX", "DSAX",
    "MAX", "MGAX", "SFMAX", "SFMGAX", "DC1D", "DCC1D", "AC1D", "RB2D", "RB3D",
)  # fmt: skip
POINT = (
    "MASS", "ROTARYI", "HEATCAP", "SPRING", "DASHPOT", "CONN", "GAP", "DCOUP", "JOINT", "DRAG", "PSI", "ISL",
    "IRS", "ITS", "DGAP", "FLINK", "PD3D", "LS", "RBE",
)  # fmt: skip
"""Families by what they are: cells in space and in the plane, facets, lines, and elements without a shape."""

SOLID_KINDS = {
    4: "tetra", 5: "pyramid", 6: "wedge", 8: "hexahedron", 10: "tetra10", 13: "pyramid13", 15: "wedge15",
    20: "hexahedron20", 27: "hexahedron27",
}  # fmt: skip
FLAT_KINDS = {3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8", 9: "quad9"}
LINE_KINDS = {2: "line", 3: "line3"}
REORDERED = {"line3": (0, 2, 1), "hexahedron27": (*range(20), 26, 24, 23, 25, 21, 22, 20)}
"""Nodes in VTK's order: the second of B32 is the middle, and the 21st of C3D27, before those of S1 to S6."""
NAMED = {
    "STRI65": "triangle6", "S9R5": "quad9", "CSS8": "hexahedron", "SC6R": "wedge", "SC8R": "hexahedron",
    "SC6RT": "wedge", "SC8RT": "hexahedron", "M3D9": "quad9", "M3D9R": "quad9", "D": "line3",
}  # fmt: skip
"""Types whose digits say more than the number of nodes."""
_TYPE = re.compile(r"([A-Z]+(?:[0-9]D|AX)?)(\d{0,2})([A-Z0-9]*)$")


@cache
def shape_of(element: str) -> tuple[str, bool] | None:
    """meshlane's name of the cells of a type, "" for elements without a shape, and whether they are axial.

    None for a type that is not known, or is not read: infinite, cylindrical, variable elements.
    """
    name = element.upper()
    if name.startswith(POINT):
        return "", False
    if name in NAMED:
        return NAMED[name], False
    if name.startswith(("CIN", "ACIN", "CCL", "FCL", "EMPC")) or name.endswith("V"):
        return None
    if name.startswith(LINE):
        return _line_kind(name), False
    match = _TYPE.match(name)
    if match is None:
        return None
    family, digits = match[1], match[2]
    for families, kinds in (
        (SOLID, SOLID_KINDS),
        (PLANE, FLAT_KINDS),
        (AXIAL, FLAT_KINDS),
        (SHELL, FLAT_KINDS),
    ):
        if family in families:
            for count in (digits, digits[:1]):  # C3D8 and S8R5: a second digit may say something else
                if count and int(count) in kinds:
                    return kinds[int(count)], families is AXIAL
    return None


def _line_kind(name: str) -> str:
    """Lines of three nodes: B22, B32 and their kin by their second digit, SAX2 by its one, T3D3."""
    if found := re.match(r"(?:B|PIPE|ELBOW)\d(\d)|(?:SAX|DSAX|MAX|MGAX|SFMAX|SFMGAX)(\d)", name):
        return "line3" if "2" in (found[1], found[2]) else "line"
    found = re.match(r"[A-Z]+\dD(\d)", name)
    return "line3" if found and found[1] == "3" else "line"


COUNTS = {
    "line": 2, "line3": 3, "triangle": 3, "triangle6": 6, "quad": 4, "quad8": 8, "quad9": 9, "tetra": 4,
    "tetra10": 10, "pyramid": 5, "pyramid13": 13, "wedge": 6, "wedge15": 15, "hexahedron": 8,
    "hexahedron20": 20, "hexahedron27": 27,
}  # fmt: skip
"""Nodes of each kind of cells."""
DIMENSIONS = {
    name: 3 if name in SOLID_KINDS.values() else 1 if name.startswith("line") else 2 for name in COUNTS
}

FACES = {
    "tetra": ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)),
    "pyramid": ((0, 1, 2, 3), (0, 4, 1), (1, 4, 2), (2, 4, 3), (3, 4, 0)),
    "wedge": ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)),
    "hexahedron": ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)),
    "triangle": ((0, 1), (1, 2), (2, 0)),
    "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
}
"""The corners of S1, S2, ... of cells; of shells they are the edges E1, E2, ..."""
MIDDLES = {
    "tetra10": ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
    "pyramid13": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)),
    "wedge15": ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
    "hexahedron20": (
        *((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)),
    ),
    "triangle6": ((0, 1), (1, 2), (2, 0)),
    "quad8": ((0, 1), (1, 2), (2, 3), (3, 0)),
}
"""The corners beside each middle node, which follow the corners."""


@cache
def face_nodes(kind: str) -> tuple[tuple[int, ...], ...]:
    """The nodes of S1, S2, ... of a kind of cells, corners first."""
    linear = kind.rstrip("0123456789")
    pairs = MIDDLES.get({"quad9": "quad8", "hexahedron27": "hexahedron20"}.get(kind, kind), ())
    corners = 1 + max(max(face) for face in FACES[linear])
    middle = {frozenset(pair): corners + n for n, pair in enumerate(pairs)}
    faces = []
    for face in FACES[linear]:
        around = zip(face, [*face[1:], face[0]] if len(face) > 2 else face[1:], strict=False)
        faces.append((*face, *(middle[frozenset(pair)] for pair in around if pairs)))
    if kind == "hexahedron27":
        return tuple((*face, centre) for face, centre in zip(faces, (24, 25, 22, 21, 23, 20), strict=True))
    return tuple(faces)
