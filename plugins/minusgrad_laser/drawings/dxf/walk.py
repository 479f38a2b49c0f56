"""In the child: every entity of the model space, through blocks, as lines with layer and colour.

    point in the drawing = point in the block x matrix of INSERT x matrices of the INSERTs around it

An entity on layer "0" of a block is on the layer of its INSERT; BYBLOCK is the colour of the INSERT. Points
must lie in a plane z = constant. What is no line is counted as unread, by name and layer.

Decisions 0176.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from minusgrad.plugin import UserError

from .curves import FILLED, Line, entity_lines
from .hatches import hatch_lines
from .layers import Layers

MOST_DEEP, MOST_REPEATED, MOST_POINTS = 32, 100_000, 4_000_000
"""Blocks within one another; entities that INSERTs repeat; points of all lines."""
FARTHEST = 1e12
"""Coordinate [units of the file] up to which lines are drawn."""
ENTITY_BYTES = 40
"""Of the shortest entity in a file."""
WITHOUT_LINES = ("VIEWPORT", "ATTDEF", "SEQEND", "ACAD_PROXY_OBJECT")
"""Entities that draw nothing."""
TEXTS = ("TEXT", "MTEXT", "ATTRIB", "ATTDEF", "ARCALIGNEDTEXT", "RTEXT")
NOTES = ("DIMENSION", "ARC_DIMENSION", "LARGE_RADIAL_DIMENSION", "LEADER", "MULTILEADER", "MLEADER",
         "TOLERANCE", "ACAD_TABLE")  # fmt: skip
SOLIDS = ("3DFACE", "3DSOLID", "BODY", "REGION", "SURFACE", "MESH", "EXTRUDEDSURFACE", "LOFTEDSURFACE",
          "REVOLVEDSURFACE", "SWEPTSURFACE", "PLANESURFACE")  # fmt: skip
CURES = (
    dict.fromkeys(TEXTS, "explode text to lines in the CAD program")
    | dict.fromkeys(NOTES, "delete dimensions and notes, or put them on a layer of their own")
    | dict.fromkeys(SOLIDS, "flatten it to lines in the CAD program")
)
DEFAULT_CURE = "explode it to lines in the CAD program"


@dataclass(frozen=True)
class Around:
    """What an INSERT hands to the entities of its block. stretch: of lengths by the matrix, at most."""

    matrix: np.ndarray = field(default_factory=lambda: np.eye(4))
    layer: str = "0"
    colour: str = "#000000"
    depth: int = 0
    stretch: float = 1.0


@dataclass
class Found:
    """Lines with their attributes, row by row; what is unread, and left out, counted by name and layer."""

    points: list[np.ndarray] = field(default_factory=list)
    rows: list[tuple[bool, str, str, bool, int]] = field(default_factory=list)
    """closed, layer, colour, whether it is filled, number of its piece."""
    unread: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)
    pieces: int = 0
    count: int = 0


class Walk:
    """Goes through the entities of a file of some size [bytes]."""

    def __init__(self, file: str, size: int, layers: Layers, tolerance: float):
        self.file, self.layers, self.tolerance = file, layers, tolerance
        self.found, self.visited, self.most = Found(), 0, MOST_REPEATED + size // ENTITY_BYTES

    def visit(self, entities: Iterable[Any], around: Around) -> None:
        for entity in entities:
            self.visited += 1
            if self.visited > self.most:
                raise UserError(
                    f"'{self.file}': draws more than {self.most:,} entities, as blocks repeat them; split the"
                    " drawing"
                )
            kind = entity.dxftype()
            layer = self.layers.resolve(entity, around.layer)
            if kind == "INSERT":
                self._visit_insert(entity, layer, around)
            elif (kind in WITHOUT_LINES and (kind != "ATTDEF" or around.depth)) or _is_blank(entity, kind):
                continue
            elif self._is_drawn(entity, layer):
                self._visit_entity(entity, kind, layer, around)

    def _is_drawn(self, entity: Any, layer: str) -> bool:
        why = "made invisible" if entity.dxf.get("invisible", 0) else self.layers.why_left_out(layer)
        if why == "not chosen":
            return False
        if why:
            self.found.left_out[why, layer] += 1
        return not why

    def _visit_entity(self, entity: Any, kind: str, layer: str, around: Around) -> None:
        colour = self.layers.colour(entity, layer, around.colour)
        if kind == "MLINE":
            inner = replace(around, layer=layer, colour=colour, depth=around.depth + 1)
            self.visit(self._parts(entity, layer), inner)
            return
        if kind == "POINT":
            self.found.noted["POINT, which has no length, is left out"] += 1
            return
        if around.stretch == 0.0:
            return
        tolerance = self.tolerance / around.stretch
        try:
            lines = self._entity_lines(entity, kind, tolerance)
            if lines is None:
                self._note_unread(kind, layer)
                return
            self._note_style(entity, kind, layer)
            piece = self._next_piece() if kind in FILLED else 0
            for line in list(lines):
                self._add_line(line, kind, layer, colour, piece, around.matrix)
        except (ValueError, ArithmeticError, AttributeError, TypeError, IndexError, KeyError) as error:
            why = " ".join(str(error).split()) or "its data are incomplete"
            self._note_unread(f"{kind} ({why[:80]})", layer, "correct it")

    def _entity_lines(self, entity: Any, kind: str, tolerance: float) -> Iterator[Line] | None:
        if kind in ("HATCH", "MPOLYGON"):
            return hatch_lines(entity, tolerance)
        if kind == "POLYLINE" and (entity.is_polygon_mesh or entity.is_poly_face_mesh):
            return None
        return entity_lines(entity, tolerance)

    def _parts(self, entity: Any, layer: str) -> Iterator[Any]:
        try:
            yield from entity.virtual_entities()
        except (ValueError, ArithmeticError, AttributeError, TypeError, IndexError, KeyError):
            self._note_unread(entity.dxftype(), layer)

    def _add_line(
        self, line: Line, kind: str, layer: str, colour: str, piece: int, matrix: np.ndarray
    ) -> None:
        points, closed = line
        with np.errstate(over="ignore", invalid="ignore"):
            placed = points @ matrix[:3, :3] + matrix[3, :3]
        if not np.isfinite(placed).all():
            raise ValueError("a coordinate is not finite")
        if not np.abs(placed).max() < FARTHEST:
            raise ValueError(f"a coordinate must lie within {FARTHEST:g}")
        if np.ptp(placed[:, 2]) > self.tolerance:
            self._note_unread(f"{kind} out of the plane z = constant", layer, "flatten it in the CAD program")
            return
        flat = placed[:, :2]
        flat = flat[np.append(True, (np.diff(flat, axis=0) != 0.0).any(axis=1))]
        closed = closed and len(flat) > 2
        if len(flat) < 2:
            self.found.noted["lines without length are left out"] += 1
            return
        self.found.count += len(flat)
        if self.found.count > MOST_POINTS:
            raise UserError(
                f"'{self.file}': its curves take more than {MOST_POINTS:,} points; simplify the drawing"
            )
        self.found.points.append(flat)
        self.found.rows.append((closed, layer, colour, kind in FILLED, piece))

    def _visit_insert(self, insert: Any, layer: str, around: Around) -> None:
        if self.layers.is_frozen(layer) or insert.dxf.get("invisible", 0):
            why = self.layers.why_left_out(layer) or "made invisible"
            if why != "not chosen":
                self.found.left_out[why, layer] += 1
            return
        block = insert.block()
        if block is None or block.block is None or block.block.is_xref or block.block.is_xref_overlay:
            if self._is_drawn(insert, layer):
                self._note_unread(
                    "INSERT of a block that is not in the file", layer, "bind or insert the block"
                )
            return
        if around.depth >= MOST_DEEP:
            raise UserError(
                f"'{self.file}': block '{insert.dxf.name}' stands within itself, or blocks nest more than"
                f" {MOST_DEEP} deep; explode them"
            )
        if _is_clipped(insert):
            if self._is_drawn(insert, layer):
                self._note_unread("clipped INSERT", layer, "explode it and trim its lines")
            return
        for attribute in insert.attribs:
            hidden = attribute.is_invisible or not str(attribute.dxf.get("text", "")).strip()
            its = self.layers.resolve(attribute, layer)
            if not hidden and self._is_drawn(attribute, its):
                self._note_unread("ATTRIB", its)
        colour = self.layers.colour(insert, layer, around.colour)
        self._refuse_large_array(insert)
        for one in insert.multi_insert() if insert.mcount > 1 else (insert,):
            matrix = np.array(list(one.matrix44()), float).reshape(4, 4) @ around.matrix
            stretch = float(np.linalg.norm(matrix[:3, :3], 2))
            self.visit(block, Around(matrix, layer, colour, around.depth + 1, stretch))

    def _refuse_large_array(self, insert: Any) -> None:
        if insert.mcount > MOST_REPEATED:
            raise UserError(
                f"'{self.file}': an INSERT repeats its block {insert.mcount:,} times; split the drawing"
            )

    def _note_style(self, entity: Any, kind: str, layer: str) -> None:
        if kind == "HATCH" and not entity.dxf.get("solid_fill", 1):
            self.found.noted["HATCH with a pattern is taken as a filled area"] += 1
        if kind not in FILLED and self.layers.is_dashed(entity, layer):
            self.found.noted["lines with dashes are drawn as full lines"] += 1
        if getattr(entity, "has_width", False):
            self.found.noted["lines with a width are drawn as their middle lines"] += 1

    def _note_unread(self, name: str, layer: str, cure: str = "") -> None:
        self.found.unread[name, layer, cure or CURES.get(name, DEFAULT_CURE)] += 1

    def _next_piece(self) -> int:
        self.found.pieces += 1
        return self.found.pieces


def _is_blank(entity: Any, kind: str) -> bool:
    """True for a text without letters."""
    if kind == "MTEXT":
        return not str(entity.text).strip()
    return kind == "TEXT" and not str(entity.dxf.get("text", "")).strip()


def _is_clipped(insert: Any) -> bool:
    from ezdxf.xclip import XClip

    if not insert.has_extension_dict:
        return False
    clip = XClip(insert)
    return bool(clip.has_clipping_path and clip.is_clipping_enabled)
