"""What a drawing contains, for `minusgrad info FILE`: its page, its unit, lines by layer, what is not read.

Lengths are in metres; of a DXF that states no unit in its own.
"""

from pathlib import PurePath
from typing import Any

import numpy as np

from .drawing import Drawing, Layer, Outline
from .dxf.reader import dxf_contents
from .lightburn.reader import lightburn_contents
from .read import READERS, read_drawing
from .unread import Unread

FINE, COARSE = 1e-4, 1e-3
"""Chords of curves: part of the drawing's size that they may be off, and a first one to find that size."""
UNSTATED = "not stated in the file; say it: length = 'mm' in a scene, or --length mm"


def endings() -> list[str]:
    """The endings of files that are described."""
    return sorted(READERS)


def describe_drawing(file: str, data: bytes) -> dict[str, Any]:
    """Facts of a drawing by name. Raises `UserError` for a file that cannot be read."""
    ending = PurePath(file).suffix.lower()
    if ending == ".dxf":
        return _describe_dxf(file, data)
    if ending == ".svg":
        return _facts(read_drawing(file, data, tolerance=1e-5), "as the page says", ())
    found = lightburn_contents(file, data, tolerance=1e-5)
    return _facts(found.drawing, "mm, as LightBurn has it", found.unread, found.layers)


def _describe_dxf(file: str, data: bytes) -> dict[str, Any]:
    first = dxf_contents(file, data, tolerance=COARSE, length="m", layers=None)
    size = max(*first.drawing.size, COARSE)
    if first.stated is None:
        found = dxf_contents(file, data, tolerance=FINE * size, length="m")
        return _facts(found.drawing, UNSTATED, found.unread)
    name, metres = first.stated
    found = dxf_contents(file, data, tolerance=FINE * size * metres)
    return _facts(found.drawing, f"{name}, as the file says", found.unread)


def _facts(
    drawing: Drawing, unit: str, unread: tuple[Unread, ...], layers: tuple[Layer, ...] = ()
) -> dict[str, Any]:
    closed = sum(one.closed for one in drawing.outlines)
    total = len(drawing.outlines)
    facts: dict[str, Any] = {
        "drawing": f"{total} outlines: {closed} closed, {total - closed} open",
        "unit": unit,
        "lengths below": "in the file's unit" if unit == UNSTATED else "in m",
        "size": {"width": drawing.size[0], "height": drawing.size[1]},
        "length of lines": sum(map(outline_length, drawing.outlines)),
        "remark": list(drawing.remarks),
    }
    known = {one.name: one for one in (*drawing.layers, *layers)}
    names = dict.fromkeys([*known, *(one.layer for one in drawing.outlines)])
    rows = [_layer_row(name, known.get(name), drawing) for name in names]
    colours = dict.fromkeys(one.stroke or one.fill or "none" for one in drawing.outlines)
    facts["layers"] = rows
    facts["colours"] = [_line_row("colour", colour, _of_colour(drawing, colour)) for colour in colours]
    facts["not read"] = [{"kind": one.name, "layer": one.layer, "number": one.count} for one in unread]
    return facts


def _of_colour(drawing: Drawing, colour: str) -> list[Outline]:
    return [one for one in drawing.outlines if (one.stroke or one.fill or "none") == colour]


def _layer_row(name: str, layer: Layer | None, drawing: Drawing) -> dict[str, Any]:
    row = _line_row("layer", name or "(none)", [one for one in drawing.outlines if one.layer == name])
    if layer is None:
        return row
    stated = {
        "colour": layer.colour,
        "mode": layer.mode,
        "power": layer.power,
        "least power": layer.least_power,
        "speed": layer.speed,
        "passes": layer.passes,
        "interval": layer.interval,
        "order": layer.order,
        "air": layer.air,
        "kerf": layer.kerf,
        "output": None if layer.output else False,
    }
    return row | {key: value for key, value in stated.items() if value is not None}


def _line_row(kind: str, name: str, outlines: list[Outline]) -> dict[str, Any]:
    closed = sum(one.closed for one in outlines)
    length = sum(map(outline_length, outlines))
    return {kind: name, "closed": closed, "open": len(outlines) - closed, "length": length}


def outline_length(one: Outline) -> float:
    """[m]."""
    points = np.concatenate([one.points, one.points[:1]]) if one.closed else one.points
    return float(np.hypot(*np.diff(points, axis=0).T).sum())
