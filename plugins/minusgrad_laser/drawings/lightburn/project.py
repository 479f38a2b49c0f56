"""In the child: the shapes of a LightBurn project as lines, in mm, x to the right and y up.

    place = XForm of the outer group of ... of the shape's own place:  x' = a x + c y + e,  y' = b x + d y + f

Rect and Ellipse have their middle at (0, 0). The file's x points away from the machine's origin: to the left
with MirrorX, and y down with MirrorY. A Text is its BackupPath, which has an XForm of its own in its place.

Decisions 0177.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import pi
from typing import Any
from xml.etree import ElementTree

import numpy as np

from minusgrad.plugin import UserError, printable

from ..chords import arc_angles
from .paths import WHOLE as WHOLE_LISTS
from .paths import PathError, Vertex, path_lines, read_primitives, read_vertices, vertex_of
from .settings import Setting, read_setting

MOST_DEEP, MOST_SHAPES, MOST_POINTS = 60, 200_000, 4_000_000
FARTHEST = 1e9
"""Coordinate [mm] up to which shapes are drawn."""
Line = tuple[np.ndarray, bool]
CURES = {
    "Bitmap": "remove the picture, and engrave it by itself with kind = 'image'",
    "Text": "convert text to a path in LightBurn",
}


@dataclass
class Shapes:
    """Lines, and of each its layer and the number of its shape at the top; what is unread by layer."""

    lines: list[Line] = field(default_factory=list)
    owner: list[tuple[int, int]] = field(default_factory=list)
    unread: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    counted: Counter[int] = field(default_factory=Counter)
    scaled: int = 0


def parse_project(file: str, data: bytes) -> Any:
    """The element <LightBurnProject>. Raises `UserError` for XML that is none, or is of something else."""
    if not data:
        raise UserError(f"'{file}' is empty (0 bytes)")
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise UserError(f"'{file}': has a document type, which LightBurn never writes; save it again")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise UserError(
            f"'{file}': is no XML that can be read: {error}; save it again in LightBurn"
        ) from None
    if root.tag != "LightBurnProject":
        raise UserError(
            f"'{file}': is no project of LightBurn: its first element is <{printable(root.tag, 40)}>"
        )
    return root


def read_settings(file: str, root: Any) -> dict[int, Setting]:
    """The cut settings by the index of their layer; names that two layers have get their index behind."""
    found: dict[int, Setting] = {}
    for element in root:
        if element.tag.startswith("CutSetting"):
            setting = read_setting(file, element)
            found.setdefault(setting.index, setting)
    return found


class Reader:
    """Goes through the shapes of a project. chosen: indices of layers that are read."""

    def __init__(self, file: str, root: Any, chosen: set[int], tolerance: float):
        self.file, self.chosen, self.tolerance = file, chosen, tolerance
        self.found, self.count, self.points, self.top = Shapes(), 0, 0, -1
        self.vertices, self.primitives = _shared_lists(root)
        mirror = [-1.0 if root.get(key, "False") == "True" else 1.0 for key in ("MirrorX", "MirrorY")]
        self.frame = np.array([[mirror[0], 0.0, 0.0], [0.0, mirror[1], 0.0]])

    def read_shapes(self, root: Any) -> Shapes:
        for element in root:
            if element.tag == "Shape":
                self.top += 1
                self._read_shape(element, self.frame, 0)
        return self.found

    def _read_shape(self, element: Any, around: np.ndarray, depth: int) -> None:
        self.count += 1
        if depth > MOST_DEEP or self.count > MOST_SHAPES:
            what = f"groups nest more than {MOST_DEEP} deep" if depth > MOST_DEEP else "has too many shapes"
            raise UserError(f"'{self.file}': {what}; ungroup, or split the project")
        kind, index = element.get("Type", ""), self._layer_index(element)
        matrix = _compose(around, self._read_matrix(element))
        if kind == "Group":
            for children in element.findall("Children"):
                for child in children.findall("Shape"):
                    self._read_shape(child, matrix, depth + 1)
            return
        self.found.counted[index] += 1
        if index not in self.chosen or (kind == "Text" and not element.get("Str", "x").strip()):
            return
        if element.get("PowerScale", "100") not in ("100", ""):
            self.found.scaled += 1
        if kind == "Text":
            backup = element.find("BackupPath")
            backup = backup if backup is None or backup.find("Shape") is None else backup.find("Shape")
            if backup is None or element.get("HasBackupPath", "1") == "0":
                self._note_unread("Text without an outline", index, CURES["Text"])
                return
            element, kind, matrix = backup, "Path", _compose(around, self._read_matrix(backup))
        self._add_lines(element, kind, index, matrix)

    def _add_lines(self, element: Any, kind: str, index: int, matrix: np.ndarray) -> None:
        stretch = float(np.linalg.norm(matrix[:, :2], 2))
        if stretch == 0.0:
            return
        try:
            lines = self._shape_lines(element, kind, self.tolerance / stretch)
            if lines is None:
                self._note_unread(
                    printable(kind, 40) or "Shape without a type",
                    index,
                    CURES.get(kind, "convert it to a path in LightBurn"),
                )
                return
            for points, closed in lines:
                self._add_line(points @ matrix[:, :2].T + matrix[:, 2], closed, index)
        except PathError as fault:
            self._note_unread(f"{kind} ({printable(str(fault), 120)})", index, "draw it again")

    def _add_line(self, points: np.ndarray, closed: bool, index: int) -> None:
        if not np.abs(points).max() < FARTHEST:
            raise PathError(f"a coordinate must lie within {FARTHEST:g} mm")
        points = points[np.append(True, (np.diff(points, axis=0) != 0.0).any(axis=1))]
        if closed and len(points) > 1 and (points[0] == points[-1]).all():
            points = points[:-1]
        if len(points) < 2:
            return
        self.points += len(points)
        if self.points > MOST_POINTS:
            raise UserError(
                f"'{self.file}': its curves take more than {MOST_POINTS:,} points; simplify the drawing"
            )
        self.found.lines.append((points, closed and len(points) > 2))
        self.found.owner.append((index, self.top))

    def _shape_lines(self, element: Any, kind: str, tolerance: float) -> Iterator[Line] | None:
        if kind == "Rect":
            width, height, radius = (self._read_size(element, key) for key in ("W", "H", "Cr"))
            return iter([(rounded_rectangle(width, height, radius, tolerance), True)])
        if kind == "Ellipse":
            axes = np.array([self._read_size(element, key) for key in ("Rx", "Ry")])
            angle = arc_angles(float(axes.max()), 0.0, 2.0 * pi, tolerance)[:-1]
            return iter([(axes * np.stack([np.cos(angle), np.sin(angle)], axis=1), True)])
        if kind == "Path":
            return path_lines(self._path_vertices(element), self._path_primitives(element), tolerance)
        return None

    def _path_vertices(self, element: Any) -> list[Vertex]:
        own = _own_vertices(element)
        if own is None:
            text = self.vertices.get(element.get("VertID", ""))
            if text is None:
                raise PathError("its vertices are not in the file")
            own = _own_vertices(text)
        return own or []

    def _path_primitives(self, element: Any) -> list[tuple[str, int, int]] | bool:
        own = _own_primitives(element)
        if own is None:
            text = self.primitives.get(element.get("PrimID", ""))
            if text is None:
                raise PathError("its lines are not in the file")
            own = _own_primitives(text)
        return [] if own is None else own

    def _read_size(self, element: Any, key: str) -> float:
        text = element.get(key, "0")
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not 0.0 <= value < 1e9:
            raise PathError(f"{key} must be at least 0, got '{text[:20]}'")
        return value

    def _layer_index(self, element: Any) -> int:
        text = element.get("CutIndex", "0")
        if not text.isdecimal() or len(text) > 3:
            raise UserError(
                f"'{self.file}': CutIndex of a shape must be 0 to 31, got '{printable(text, 20)}'"
            )
        return int(text)

    def _read_matrix(self, element: Any) -> np.ndarray:
        found = element.find("XForm")
        if found is None:
            return np.eye(2, 3)
        words = (found.text or "").replace(",", " ").split()
        try:
            a, b, c, d, e, f = map(float, words)
        except ValueError:
            a = float("nan")
        if len(words) != 6 or not np.isfinite([a, b, c, d, e, f]).all():
            shown = printable(found.text or "", 60)
            raise UserError(
                f"'{self.file}': XForm of a shape needs six numbers, got '{shown}'; save it again"
            )
        return np.array([[a, c, e], [b, d, f]])

    def _note_unread(self, name: str, index: int, cure: str) -> None:
        self.found.unread[name, index, cure] += 1


def rounded_rectangle(width: float, height: float, radius: float, tolerance: float) -> np.ndarray:
    """Points (k, 2), counterclockwise; a radius of more than half a side is half of it."""
    half = np.array([width, height]) / 2.0
    radius = min(radius, float(half.min()))
    corners = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    if radius == 0.0:
        return corners * half
    parts = []
    for quarter, corner in enumerate(corners):
        angle = arc_angles(radius, (quarter - 1) * pi / 2.0, pi / 2.0, tolerance)
        parts.append(corner * (half - radius) + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    return np.concatenate(parts)


def _compose(around: np.ndarray, own: np.ndarray) -> np.ndarray:
    """First the map `own` (2, 3), then the one around it."""
    return np.hstack([around[:, :2] @ own[:, :2], (around[:, :2] @ own[:, 2] + around[:, 2])[:, None]])


def _shared_lists(root: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Elements that have the vertices, and the lines, of a VertID and a PrimID, which others refer to."""
    vertices: dict[str, Any] = {}
    primitives: dict[str, Any] = {}
    for element in root.iter():
        if element.get("VertID") is not None and element.find("VertList") is not None:
            vertices.setdefault(element.get("VertID"), element)
        if element.get("PrimID") is not None and element.find("PrimList") is not None:
            primitives.setdefault(element.get("PrimID"), element)
    return vertices, primitives


def _own_vertices(element: Any) -> list[Vertex] | None:
    texts = element.find("VertList")
    if texts is not None:
        inner = texts.findall("V")
        return [vertex_of(one) for one in inner] if inner else read_vertices(texts.text or "")
    own = element.findall("V")
    return [vertex_of(one) for one in own] if own else None


def _own_primitives(element: Any) -> list[tuple[str, int, int]] | bool | None:
    texts = element.find("PrimList")
    if texts is not None:
        text = (texts.text or "").strip()
        if text in WHOLE_LISTS:
            return WHOLE_LISTS[text]
        inner = texts.findall("P")
        if not inner and not text:
            raise PathError("its list of lines is empty")
        return _old_primitives(inner) if inner else read_primitives(text)
    own = element.findall("P")
    return _old_primitives(own) if own else None


def _old_primitives(elements: list[Any]) -> list[tuple[str, int, int]]:
    found = []
    for one in elements:
        ends = [one.get(key, "") for key in ("p0", "p1")]
        if not all(text.isdecimal() and len(text) < 10 for text in ends):
            raise PathError(f"a line needs two vertices, got {ends}")
        found.append((one.get("T", "L"), int(ends[0]), int(ends[1])))
    return found
