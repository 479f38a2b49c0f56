"""A project of LightBurn as a drawing: its shapes in metres, and the cut settings of its layers.

Shapes of layers that are cut are lines; those of layers that are scanned (filled) are areas, by even-odd, and
only closed ones count, as in LightBurn. The box around the shapes is the page.

Decisions 0177.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minusgrad.plugin import bounded_read

from ..drawing import Drawing, Layer, Outline
from ..joining import join_outlines
from ..packed import pack_lines, unpack_lines
from ..scaling import scale_to_width
from ..unread import Unread, chosen_layers, refuse_unread, require_outlines

MILLIMETRE = 1e-3


@dataclass(frozen=True, eq=False)
class Contents:
    """What a project has: its drawing, what of it cannot be read, and the settings of all of its layers."""

    drawing: Drawing
    unread: tuple[Unread, ...]
    layers: tuple[Layer, ...]


def lightburn_drawing(
    file: str,
    data: bytes,
    *,
    tolerance: float,
    width: float | None = None,
    layers: Sequence[str] | None = None,
    **_: object,
) -> Drawing:
    """The drawing in the bytes of a .lbrn2 or .lbrn file, whose lengths are millimetres.

    tolerance [m]: distance of a curve from its chords, and of ends that are joined. width [m]: to which the
    drawing is scaled. layers: names of those that are read; None for all whose output is on.

    Raises `UserError` for a damaged file, for what cannot be read as lines on the layers that are read, and
    where nothing is drawn.
    """

    def draw_within(tolerance: float) -> Drawing:
        found = lightburn_contents(file, data, tolerance=tolerance, layers=layers)
        refuse_unread(file, found.unread, [one.name for one in found.drawing.layers])
        return require_outlines(file, found.drawing)

    return scale_to_width(draw_within, tolerance, width, file, coarse=1e-5)


def lightburn_contents(
    file: str, data: bytes, *, tolerance: float, layers: Sequence[str] | None = None
) -> Contents:
    """As `lightburn_drawing`, with what cannot be read beside the drawing."""
    chosen = None if layers is None else list(layers)
    found = bounded_read(values, file, data, tolerance=tolerance, layers=chosen)
    known = tuple(Layer(**row) for row in found["layers"])
    by_name = {one.name: one for one in known}
    filled = set(found["filled"])
    outlines, remarks = [], list(found["remarks"])
    left = 0
    for one in join_outlines(unpack_lines(found["lines"]), tolerance):
        if one.layer not in filled:
            outlines.append(one)
        elif not one.closed:
            left += 1
        else:
            stroke = one.stroke if one.layer in found["both"] else None
            outlines.append(replace(one, stroke=stroke, fill=one.stroke))
    if left:
        remarks.append(f"{left} open lines of filled layers are left out, as LightBurn does")
    low, high = np.array(found["box"])
    drawn = dict.fromkeys(one.layer for one in outlines)
    drawing = Drawing(
        size=(float(high[0] - low[0]), float(high[1] - low[1])),
        outlines=tuple(outlines),
        layers=tuple(by_name[name] for name in by_name if name in drawn),
        remarks=tuple(remarks),
    )
    return Contents(drawing, tuple(Unread(*row) for row in found["unread"]), known)


def values(file: str, data: bytes, tolerance: float, layers: list[str] | None) -> dict[str, Any]:
    """In the child: lines [m] from the lower left corner of their box, layers, and what else there is."""
    from .project import Reader, parse_project, read_settings
    from .settings import default_setting

    root = parse_project(file, data)
    settings = read_settings(file, root)
    for element in root.iter("Shape"):
        text = element.get("CutIndex", "0")
        if element.get("Type") != "Group" and text.isdecimal() and len(text) < 4:
            settings.setdefault(int(text), default_setting(int(text)))
    settings = _distinct_names(settings)
    names = [one.layer.name for one in settings.values()]
    wanted = chosen_layers(file, layers, names)
    chosen = {
        index
        for index, one in settings.items()
        if (one.layer.output if wanted is None else one.layer.name in wanted)
    }
    shapes = Reader(file, root, chosen, tolerance / MILLIMETRE).read_shapes(root)
    remarks = [text for index in sorted(chosen & shapes.counted.keys()) for text in settings[index].remarks]
    for index, count in sorted(shapes.counted.items()):
        if index not in chosen and wanted is None:
            name = settings[index].layer.name
            remarks.append(f"{count} shapes on layer '{name}' are left out: its output is off")
    if shapes.scaled:
        remarks.append(f"{shapes.scaled} shapes scale the power of their layer, which the drawing does not")
    outlines = [
        Outline(
            points * MILLIMETRE,
            closed,
            settings[index].layer.name,
            settings[index].layer.colour or "#000000",
            piece=index if settings[index].merged else 1000 + top,
            rule="evenodd",
        )
        for (points, closed), (index, top) in zip(shapes.lines, shapes.owner, strict=True)
    ]
    return {
        "remarks": remarks,
        "unread": [
            [name, settings[index].layer.name, count, cure]
            for (name, index, cure), count in shapes.unread.items()
        ],
        "layers": [vars(one.layer) for one in settings.values()],
        "filled": [one.layer.name for one in settings.values() if one.layer.mode == "engrave"],
        "both": [one.layer.name for one in settings.values() if one.kind == "Scan+Cut"],
        **pack_lines(outlines),
    }


def _distinct_names(settings: dict[int, Any]) -> dict[int, Any]:
    """Of two layers with one name the second one gets its index behind it."""
    seen: set[str] = set()
    found = {}
    for index, one in sorted(settings.items()):
        name = one.layer.name
        if name.casefold() in seen:
            name = f"{name} ({index:02d})"
        seen.add(name.casefold())
        found[index] = replace(one, layer=replace(one.layer, name=name))
    return found
