"""Public DXF and LightBurn files read and judged: `python -m tests.plugins.laser.public_drawings FOLDER ...`.

    read       the drawing is what another reader of the same file gives
    refused    one message with the file's name
    wrong      box or length of the lines differ from the other reader's by more than `APART` of the box
    crash      anything else

The other reader of DXF is ezdxf's own geometry (`ezdxf.disassemble`, `ezdxf.path`) with scipy's B-splines; it
shares the parser and no arithmetic with ours; that of LightBurn files are the regular expressions below. Off
and frozen layers are read on both sides; what lies in space is not compared.
"""

import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from minusgrad.errors import UserError
from minusgrad_laser.drawings.dxf.reader import dxf_contents, dxf_drawing
from minusgrad_laser.drawings.lightburn.reader import lightburn_contents, lightburn_drawing
from tests.fuzz import direct

APART = 2e-3
KINDS = ("LINE", "ARC", "CIRCLE", "ELLIPSE", "SPLINE", "LWPOLYLINE", "POLYLINE", "SOLID", "TRACE")


def judge(path: Path) -> tuple[str, str]:
    """The verdict on a file, and what there is to say about it."""
    data = path.read_bytes()
    try:
        if path.suffix.lower() == ".dxf":
            return _judge_dxf(path, data)
        return _judge_lightburn(path, data)
    except UserError as error:
        return "refused", str(error)
    except Exception as error:
        return "crash", repr(error)


def _judge_dxf(path: Path, data: bytes) -> tuple[str, str]:
    try:
        drawn = dxf_drawing(path.name, data, tolerance=1e-5, length=None)
        verdict, said = "read", "; ".join(drawn.remarks)
    except UserError as error:
        if "does not say the unit" in str(error):
            verdict, said = _drawn_in_millimetres(path, data)
        else:
            verdict, said = "refused", str(error)
    try:
        size, length, unread = _measure_dxf(path, data)
    except UserError:
        return verdict, said
    if any("out of the plane" in one.name for one in unread):
        return verdict, said + " (not compared: in space)"
    try:
        theirs, their_length = _measure_by_ezdxf(path)
    except Exception as error:
        return verdict, f"{said} (not compared: {error!r})"
    scale = max(*theirs, 1e-12)
    if np.abs(np.array(size) - theirs).max() > APART * scale:
        return "wrong", f"box {size} and {theirs}; {verdict}"
    if abs(length - their_length) > APART * max(scale, their_length):
        return "wrong", f"length {length:.6g} and {their_length:.6g}; {verdict}"
    return verdict, said


def _drawn_in_millimetres(path: Path, data: bytes) -> tuple[str, str]:
    """Of a file that states no unit; that it is asked for was seen."""
    try:
        drawn = dxf_drawing(path.name, data, tolerance=1e-5, length="mm")
    except UserError as error:
        return "refused", str(error)
    return "read", "; ".join(("unit asked for", *drawn.remarks))


def _measure_dxf(path: Path, data: bytes) -> tuple[tuple[float, float], float, tuple]:
    """Box, length of lines and of rims, in the file's unit; what is unread."""
    plain = dxf_contents(path.name, data, tolerance=1e-3, length="m")
    found = dxf_contents(
        path.name, data, tolerance=2e-6 * max(*plain.drawing.size, 1e-9), length="m", layers=plain.layers
    )
    return found.drawing.size, sum(map(_outline_length, found.drawing.outlines)), found.unread


def _outline_length(outline) -> float:
    points = outline.points
    if outline.closed:
        points = np.concatenate([points, points[:1]])
    return float(np.hypot(*np.diff(points, axis=0).T).sum())


def _measure_by_ezdxf(path: Path) -> tuple[np.ndarray, float]:
    import ezdxf
    from ezdxf import recover
    from ezdxf.path import from_hatch_boundary_path, make_path

    try:
        document = ezdxf.readfile(path)
    except (ezdxf.DXFError, ValueError, TypeError, AttributeError, KeyError):
        document, _ = recover.readfile(path)
    low, high, total = np.full(2, np.inf), np.full(2, -np.inf), 0.0
    lines = []
    for entity in _decompose_inserts(document.modelspace()):
        kind = entity.dxftype()
        if entity.dxf.get("invisible", 0):
            continue
        if kind in ("HATCH", "MPOLYGON"):
            used = entity.paths.rendering_paths(entity.dxf.get("hatch_style", 0))
            paths = [from_hatch_boundary_path(one, entity.ocs(), entity.dxf.elevation.z) for one in used]
        elif kind in KINDS:
            if kind == "POLYLINE" and (entity.is_polygon_mesh or entity.is_poly_face_mesh):
                continue
            if kind == "SPLINE":
                lines.append((kind, _evaluate_spline(entity.construction_tool())))
                continue
            if kind == "ELLIPSE" and (entity.dxf.end_param - entity.dxf.start_param) % (2 * np.pi) < 1e-9:
                entity.dxf.start_param, entity.dxf.end_param = 0.0, 2 * np.pi  # lost where a block is turned
            paths = [make_path(entity)]
        else:
            continue
        for one in paths:
            points = np.array([point.xyz[:2] for point in one.flattening(1e-4 * _span(one), segments=8)])
            if len(points) == 3 and (points[0] == points[2]).all():
                points = points[:2]  # a closed polyline of two points: one line
            if len(points) > 1:
                lines.append((kind, points))
    for kind, points in lines:
        if kind in ("HATCH", "MPOLYGON", "SOLID", "TRACE"):
            points = np.concatenate([points, points[:1]])
        low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
        total += float(np.hypot(*np.diff(points, axis=0).T).sum())
    return (high - low if lines else np.zeros(2)), total


def _evaluate_spline(spline) -> np.ndarray:
    from scipy.interpolate import BSpline

    places = np.array([point.xyz for point in spline.control_points])
    weights = np.array(spline.weights() or np.ones(len(places)))[:, None]
    knots, degree = np.array(spline.knots()), spline.degree
    curve = BSpline(knots, np.hstack([places * weights, weights]), degree)
    spans = np.unique(knots[degree : len(places) + 1])
    values = curve(np.unique(np.concatenate([np.linspace(*span, 200) for span in pairwise(spans)])))
    return values[:, :2] / values[:, 3:]


def _decompose_inserts(entities, depth: int = 0):
    """Entities with those of blocks, by ezdxf's own transformations of entities."""
    for entity in entities:
        if entity.dxftype() == "MLINE":
            yield from entity.virtual_entities()
        elif entity.dxftype() != "INSERT":
            yield entity
        elif depth < 32 and not entity.dxf.get("invisible", 0) and not _is_clipped(entity):
            for one in entity.multi_insert() if entity.mcount > 1 else (entity,):
                yield from _decompose_inserts(one.virtual_entities(), depth + 1)


def _is_clipped(insert) -> bool:
    from ezdxf.xclip import XClip

    return XClip(insert).has_clipping_path and XClip(insert).is_clipping_enabled


def _span(path) -> float:
    points = np.array([point.xyz for point in path.control_vertices()])
    return max(float(np.ptp(points, axis=0).max()), 1e-9) if len(points) else 1.0


def _judge_lightburn(path: Path, data: bytes) -> tuple[str, str]:
    try:
        drawn = lightburn_drawing(path.name, data, tolerance=1e-5)
        verdict, said = "read", "; ".join(drawn.remarks)
    except UserError as error:
        verdict, said = "refused", str(error)
    try:
        names = [one.name for one in lightburn_contents(path.name, data, tolerance=1e-5).layers]
        found = lightburn_contents(path.name, data, tolerance=1e-5, layers=names)
    except UserError:
        return verdict, said
    if any("open lines of filled" in one for one in found.drawing.remarks):
        return verdict, said + " (not compared: open lines of filled layers)"
    theirs, their_length = _measure_by_expressions(data)
    size, scale = np.array(found.drawing.size) * 1e3, max(*theirs, 1e-12)
    length = sum(map(_outline_length, found.drawing.outlines)) * 1e3
    if np.abs(size - theirs).max() > APART * scale:
        return "wrong", f"box {size} and {theirs}; {verdict}"
    if abs(length - their_length) > APART * max(scale, their_length):
        return "wrong", f"length {length:.6g} and {their_length:.6g}; {verdict}"
    return verdict, said


def _measure_by_expressions(data: bytes) -> tuple[np.ndarray, float]:
    root = ElementTree.fromstring(data)
    shared = {}
    for one in root.iter():
        for key, tag in (("VertID", "VertList"), ("PrimID", "PrimList")):
            if one.get(key) and one.find(tag) is not None:
                shared.setdefault((tag, one.get(key)), one.findtext(tag))
    lines: list[np.ndarray] = []

    def visit(one, around):
        own = [float(word) for word in (one.findtext("XForm") or "1 0 0 1 0 0").split()]
        matrix = around @ np.array([[own[0], own[2], own[4]], [own[1], own[3], own[5]], [0, 0, 1]])
        kind = one.get("Type")
        t = np.linspace(0, 2 * np.pi, 2001)
        if kind == "Group":
            for child in one.iterfind("Children/Shape"):
                visit(child, matrix)
        elif kind == "Text" and one.find("BackupPath") is not None:
            visit(one.find("BackupPath"), around)
        elif kind == "Ellipse":
            place(
                np.stack([float(one.get("Rx")) * np.cos(t), float(one.get("Ry")) * np.sin(t)], axis=1), matrix
            )
        elif kind == "Rect":
            w, h, r = (float(one.get(key, 0)) for key in ("W", "H", "Cr"))
            r = min(r, w / 2, h / 2)
            corner = np.stack([np.sign(np.round(np.cos(t), 12)), np.sign(np.round(np.sin(t), 12))], axis=1)
            inner = np.array([w / 2 - r, h / 2 - r])
            if r == 0.0:
                place(np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * inner, matrix)
            else:
                place(corner * inner + r * np.stack([np.cos(t), np.sin(t)], axis=1), matrix)
        elif kind == "Path":
            path_lines(one, matrix)

    def place(points, matrix):
        lines.append(points @ matrix[:2, :2].T + matrix[:2, 2])

    def path_lines(one, matrix):
        text = one.findtext("VertList") or shared.get(("VertList", one.get("VertID")))
        prims = one.findtext("PrimList") or shared.get(("PrimList", one.get("PrimID")))
        if text is None:
            text = "".join(
                f"V{v.get('vx', 0)} {v.get('vy', 0)}"
                + "".join(f"{k}{v.get(k)}" for k in ("c0x", "c0y", "c1x", "c1y") if v.get(k))
                for v in one.iterfind("V")
            )
            prims = "".join(f"{p.get('T')}{p.get('p0')} {p.get('p1')}" for p in one.iterfind("P"))
        corners = []
        for part in re.split("V", text)[1:]:
            words = re.split(r"(c[01][xy])", part.replace("S", ""))
            x, y = words[0].split()
            corners.append(
                ({k: float(v) for k, v in zip(words[1::2], words[2::2], strict=True)}, float(x), float(y))
            )
        places = np.array([[x, y] for _, x, y in corners])
        if prims in ("LineClosed", "LineOpen"):
            place(np.concatenate([places, places[:1]]) if prims == "LineClosed" else places, matrix)
            return
        t = np.linspace(0, 1, 501)[:, None]
        for kind, i, j in re.findall(r"([LB])\s*(\d+) (\d+)", prims or ""):
            a, b = corners[int(i)], corners[int(j)]
            p0, p3 = np.array(a[1:]), np.array(b[1:])
            if kind == "L":
                place(np.stack([p0, p3]), matrix)
                continue
            p1 = np.array([a[0].get("c0x", 0), a[0].get("c0y", 0)]) if {"c0x", "c0y"} & a[0].keys() else p0
            p2 = np.array([b[0].get("c1x", 0), b[0].get("c1y", 0)]) if {"c1x", "c1y"} & b[0].keys() else p3
            place((1 - t) ** 3 * p0 + 3 * t * (1 - t) ** 2 * p1 + 3 * t**2 * (1 - t) * p2 + t**3 * p3, matrix)

    for shape in root.iterfind("Shape"):
        visit(shape, np.eye(3))
    if not lines:
        return np.zeros(2), 0.0
    points = np.concatenate(lines)
    return np.ptp(points, axis=0), sum(float(np.hypot(*np.diff(one, axis=0).T).sum()) for one in lines)


def main() -> None:
    count: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    files = sorted(one for folder in sys.argv[1:] for one in Path(folder).rglob("*") if one.is_file())
    for path in files:
        ending = path.suffix.lower()
        if ending not in (".dxf", ".lbrn", ".lbrn2"):
            continue
        with direct.reading(1):  # in this process
            verdict, said = judge(path)
        count[ending, verdict] += 1
        if verdict == "refused":
            reasons[re.sub(r"'[^']*'|\d[\d,]*", "_", said.partition("': ")[2])[:80]] += 1
        print(f"{verdict:8} {path.name}: {said}"[:400], flush=True)
    for (ending, verdict), number in sorted(count.items()):
        print(f"{ending:7} {verdict:8} {number}")
    for reason, number in reasons.most_common(25):
        print(f"{number:6}  {reason}")


if __name__ == "__main__":
    main()
