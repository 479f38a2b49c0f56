"""Outlines of an SVG file."""

import numpy as np

from minusgrad.plugin import UserError

from ..targets.svg_document import examine_svg
from ..targets.svg_shapes import TOLERANCE, Shape, drawing
from .drawing import Drawing, Outline


def read_svg(
    file: str, data: bytes, *, tolerance: float, dpi: float, length: str | None, width: float | None
) -> Drawing:
    """The outlines of a file's shapes, as `read_drawing` gives them; an SVG states its own lengths."""
    page = examine_svg(file, data)
    found = drawing(file, data, page.shapes)
    if width is None and not page.is_sized:
        raise UserError(f"'{file}': its width and height have no unit of length; give width")
    px = 0.0254 / dpi if width is None else width / found.size[0]
    outlines: list[Outline] = []
    for piece, shape in enumerate(found.shapes):
        outlines += _shape_outlines(shape, found.size[1], px, tolerance, piece)
    return Drawing((found.size[0] * px, found.size[1] * px), tuple(outlines))


def _shape_outlines(shape: Shape, height: float, px: float, tolerance: float, piece: int) -> list[Outline]:
    grey = round(255.0 * (1.0 - shape.dark))
    colour = f"#{grey:02x}{grey:02x}{grey:02x}"
    plain = Shape(shape.path, shape.matrix, shape.dark, shape.opacity, shape.rule)
    scale = TOLERANCE * px / tolerance
    found = []
    for line in plain.polygons(scale).lines:
        points = line[np.append(True, (np.diff(line, axis=0) != 0.0).any(axis=1))] * (px / scale)
        points[:, 1] = height * px - points[:, 1]
        closed = len(points) > 2 and bool(np.allclose(points[0], points[-1], rtol=0.0, atol=1e-9 * px))
        found.append(
            Outline(
                points[:-1] if closed else points,
                closed,
                stroke=colour if shape.stroke is not None else None,
                fill=None if shape.stroke is not None else colour,
                piece=piece,
                rule="evenodd" if shape.rule == "evenodd" else "nonzero",
            )
        )
    return found
