"""Outlines of an SVG file: the door of this package.

The file is parsed in a child process within limits; what comes back are numbers and names.

Decisions 0174.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, bounded_read, printable

from ..drawing import Drawing, Layer, Outline
from .context import Shape
from .elements import read_elements
from .faults import SvgError
from .placed import Line, place_lines
from .styles import resolve_styles
from .walk import Walk

LEFT_OUT = ("text", "image", "foreignObject")
"""Elements without outlines that a user may leave out."""
MOST_SHOWN = 12
SECONDS, SPACE = 30.0, 1 << 30
"""Computing time [s] and address space [bytes] of many shapes beyond the usual."""


def read_svg(
    file: str,
    data: bytes,
    *,
    tolerance: float,
    dpi: float = 96.0,
    length: str | None = None,
    width: float | None = None,
    layers: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> Drawing:
    """The outlines of what an SVG file paints, as `read_drawing` gives them; it states its own lengths.

    A shape is a piece, with a colour for its inside and one for its stroke; the dashes of a stroke are lines
    of their own. What lies wholly beyond the page is left out, with a remark.
    """
    for one in without:
        if one not in LEFT_OUT:
            raise UserError(f"without: needs some of {', '.join(LEFT_OUT)}, got '{printable(one)}'")
    found = bounded_read(
        svg_values,
        file,
        data,
        ("PIL.ImageColor",),
        SECONDS,
        SPACE,
        tolerance=tolerance,
        dpi=dpi,
        width=width,
        wanted=None if layers is None else list(layers),
        without=list(without),
    )
    ends = np.cumsum(found["counts"]).tolist()
    outlines = [
        Outline(
            found["points"][begin:end],
            bool(closed),
            found["layers"][layer],
            found["colours"][stroke],
            found["colours"][fill],
            piece,
            "evenodd" if odd else "nonzero",
        )
        for begin, end, (closed, layer, stroke, fill, piece, odd) in zip(
            [0, *ends[:-1]], ends, found["rows"].tolist(), strict=True
        )
    ]
    return Drawing(
        (found["size"][0], found["size"][1]),
        tuple(outlines),
        tuple(Layer(name) for name in found["layers"] if name),
        tuple(found["remarks"]),
    )


def svg_values(
    file: str,
    data: bytes,
    tolerance: float,
    dpi: float,
    width: float | None,
    wanted: list[str] | None,
    without: list[str],
) -> dict[str, Any]:
    """In the child: the size of the page, the lines, a row of numbers for each, names and remarks."""
    walk = open_svg(file, data, tolerance, dpi, width, wanted, without)
    colours: dict[str | None, int] = {None: 0}
    names: dict[str, int] = {"": 0}
    points: list[np.ndarray] = []
    rows: list[tuple[int, ...]] = []
    beyond = 0
    for piece, shape in enumerate(walk.shapes()):
        kept = _place_shape(walk, shape)
        if not kept:
            continue
        outside, is_cut = _beside_page([one.points for one in kept], walk.size)
        if outside:
            beyond += 1
            continue
        if is_cut:
            walk.context.remarks["shapes reach beyond the page, and are kept whole"] = None
        layer = names.setdefault(shape.layer, len(names))
        for one in kept:
            marks = [colours.setdefault(colour, len(colours)) for colour in (one.stroke, one.fill)]
            rows.append((int(one.closed), layer, *marks, piece, int(shape.rule == "evenodd")))
            points.append(one.points)
    known = [name for name in walk.context.layers if name]
    for name in wanted or ():
        if name not in known:
            shown = ", ".join(f"'{printable(one)}'" for one in known[:MOST_SHOWN]) or "none"
            raise UserError(f"'{file}': no shape is on a layer '{printable(name)}' (there are: {shown})")
    if beyond:
        walk.context.remarks[f"{beyond} shapes lie beyond the page, and are left out"] = None
    if not points:
        first = next((f" ({one})" for one in walk.context.remarks), "")
        raise UserError(
            f"'{file}': there is nothing to draw: no shape has a fill or a stroke on the page{first}; give"
            " one a stroke"
        )
    return {
        "size": list(walk.size),
        "counts": [len(line) for line in points],
        "points": np.concatenate(points),
        "rows": np.array(rows, np.int64),
        "layers": list(names),
        "colours": list(colours),
        "remarks": list(walk.context.remarks),
    }


def open_svg(
    file: str,
    data: bytes,
    tolerance: float,
    dpi: float,
    width: float | None,
    layers: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> Walk:
    """The walk over a file, its styles resolved. Raises `UserError`."""
    document = read_elements(file, data)
    resolve_styles(document)
    return Walk(document, tolerance, dpi, width, layers, without)


def _place_shape(walk: Walk, shape: Shape) -> list[Line]:
    source = shape.source
    try:
        return place_lines(shape, 2.0 * walk.context.tolerance)
    except SvgError as fault:
        raise walk.document.error(source.line, f"element <{source.tag}>: {fault}") from None


def _beside_page(lines: list[np.ndarray], size: tuple[float, float]) -> tuple[bool, bool]:
    """Whether lines lie wholly beyond the page; whether some part of them does."""
    low = np.min([line.min(axis=0) for line in lines], axis=0)
    high = np.max([line.max(axis=0) for line in lines], axis=0)
    slack = 1e-9 * max(size)
    outside = (high < -slack).any() or (low > np.array(size) + slack).any()
    return bool(outside), bool((low < -slack).any() or (high > np.array(size) + slack).any())
