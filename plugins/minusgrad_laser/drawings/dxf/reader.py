"""A DXF file as a drawing: its lines in metres, joined end to end, with its layers.

The box around the lines is the page. Polylines, arcs and splines become chords within a tolerance.

Decisions 0176.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, bounded_read, pip_line

from ..drawing import Drawing, Layer, Outline
from ..joining import join_outlines
from ..packed import pack_lines, unpack_lines
from ..scaling import scale_to_width
from ..unread import Unread, chosen_layers, refuse_unread, require_outlines
from .units import METRES, unit_metres

SPACE_A_BYTE, SECONDS = 400, 20.0
"""Address space that ezdxf takes for a byte of a file, and time for what blocks repeat, beyond the usual."""


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file has: its drawing, what of it cannot be read, all of its layers.

    stated: name and metres of the unit that the file states.
    """

    drawing: Drawing
    unread: tuple[Unread, ...]
    layers: tuple[str, ...]
    stated: tuple[str, float] | None


def dxf_drawing(
    file: str,
    data: bytes,
    *,
    tolerance: float,
    length: str | None = None,
    width: float | None = None,
    layers: Sequence[str] | None = None,
    **_: object,
) -> Drawing:
    """The drawing in the bytes of a DXF file.

    tolerance [m]: distance of a curve from its chords, and of ends that are joined. length: unit of the
    file's numbers, such as "mm", asked for where the file has none and no width [m] is given, to which the
    drawing is scaled. layers: names of those that are read; None for all that are plotted.

    Raises `UserError` without ezdxf, for a damaged file, without a unit, for what cannot be read as lines on
    the layers that are read, and where nothing is drawn.
    """

    def draw_within(tolerance: float) -> Drawing:
        unit = length or (None if width is None else "m")
        found = dxf_contents(file, data, tolerance=tolerance, length=unit, layers=layers)
        refuse_unread(file, found.unread, [one.name for one in found.drawing.layers])
        return require_outlines(file, found.drawing)

    return scale_to_width(draw_within, tolerance, width, file, coarse=1e-3)


def dxf_contents(
    file: str,
    data: bytes,
    *,
    tolerance: float,
    length: str | None = None,
    layers: Sequence[str] | None = None,
) -> Contents:
    """As `dxf_drawing`, with what cannot be read beside the drawing."""
    if find_spec("ezdxf") is None:
        raise UserError(f"'{file}': needs ezdxf: {pip_line('dxf')}")
    found = bounded_read(
        values,
        file,
        data,
        ("ezdxf",),
        SECONDS,
        SPACE_A_BYTE * len(data),
        tolerance=tolerance,
        length=length,
        layers=None if layers is None else list(layers),
    )
    outlines = join_outlines(unpack_lines(found["lines"]), tolerance)
    low, high = np.array(found["box"])
    drawing = Drawing(
        size=(float(high[0] - low[0]), float(high[1] - low[1])),
        outlines=outlines,
        layers=tuple(Layer(name, colour) for name, colour in found["drawn"]),
        remarks=tuple(found["remarks"]),
    )
    unread = tuple(Unread(*row) for row in found["unread"])
    return Contents(drawing, unread, tuple(found["layers"]), METRES.get(found["unit"]))


def values(
    file: str, data: bytes, tolerance: float, length: str | None, layers: list[str] | None
) -> dict[str, Any]:
    """In the child: lines [m] from the lower left corner of their box, and what else the file has."""
    from .document import load_document
    from .layers import Layers
    from .walk import Around, Walk

    document, remarks = load_document(file, data)
    header = document.header
    number = int(header.get("$INSUNITS", 0)) if b"$INSUNITS" in data else 0
    is_metric = bool(header.get("$MEASUREMENT", 0)) if b"$MEASUREMENT" in data else None
    metres, said = unit_metres(file, number, is_metric, length)
    known = Layers(document, None)
    model = document.modelspace()
    for entity in model:
        known.resolve(entity, "0")
    for block in document.blocks:
        for entity in block:
            known.resolve(entity, "0")
    names = list(known.names.values())
    known.chosen = None
    chosen = chosen_layers(file, layers, names)
    known.chosen = None if chosen is None else {one.casefold() for one in chosen}
    walk = Walk(file, len(data), known, tolerance / metres)
    walk.visit(model, Around())
    found = walk.found
    remarks += said + [f"{count} {what}" for what, count in found.noted.items()]
    remarks += [
        f"{count} objects on layer '{layer}' are left out: {why}"
        for (why, layer), count in found.left_out.items()
    ]
    remarks += _note_paper(document)
    return {
        "unit": number,
        "layers": names,
        "remarks": remarks,
        "unread": [[name, layer, count, cure] for (name, layer, cure), count in found.unread.items()],
        "drawn": [
            [name, known.layer_colour(name)] for name in names if any(row[1] == name for row in found.rows)
        ],
        **pack_lines(_outlines(found, metres)),
    }


def _outlines(found: Any, metres: float) -> list[Outline]:
    """Lines of one layer and one colour are one piece; an area is a piece of its own."""
    pieces: dict[tuple[str, str], int] = {}
    outlines = []
    for points, (closed, layer, colour, is_filled, piece) in zip(found.points, found.rows, strict=True):
        number = piece if is_filled else -1 - pieces.setdefault((layer, colour), len(pieces))
        stroke, fill = (None, colour) if is_filled else (colour, None)
        outlines.append(Outline(points * metres, closed, layer, stroke, fill, number, "evenodd"))
    return outlines


def _note_paper(document: Any) -> list[str]:
    count = sum(
        1
        for name in document.layout_names()
        if name.casefold() != "model"
        for entity in document.layout(name)
        if entity.dxftype() != "VIEWPORT"
    )
    return [f"{count} objects of paper layouts are left out: the model space is drawn"] if count else []
