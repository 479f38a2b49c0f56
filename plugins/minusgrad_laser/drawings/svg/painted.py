"""What is painted of a shape: its lines in its own coordinates, their colours and dashes."""

import numpy as np

from ..flat_pen import FlatPen, largest_stretch
from . import paints
from .context import Context, Shape, State
from .elements import Element
from .faults import refuse
from .regions import Region, map_points
from .shapes import draw_shape

Lines = list[tuple[np.ndarray, bool]]
"""Points (k, 2), and whether they are closed."""


def draw_lines(context: Context, element: Element, state: State) -> tuple[Lines, str | None]:
    """The lines of a shape, and why there are none where its numbers are in error."""
    stretch = largest_stretch(state.matrix)
    if stretch == 0.0:
        return [], None
    pen = FlatPen(context.tolerance / stretch, context.room)
    fault = draw_shape(element, pen, lambda name, text: context.shape_length(state, name, text))
    context.room = pen.room
    return pen.lines, fault


def painted_shape(context: Context, element: Element, state: State) -> Shape | None:
    """A shape with its paints; None where nothing of it is seen. Raises `SvgError`."""
    style = state.style
    if style.get("visibility", "visible").lower() != "visible":
        return None
    paints.refuse_markers(style, context.document)
    fill = paints.resolve_paint("fill", style, context.document) if element.tag != "line" else None
    stroke = paints.resolve_paint("stroke", style, context.document)
    pen = None
    if stroke is not None:
        width = context.shape_length(state, "stroke-width", style.get("stroke-width", "1"))
        if width < 0.0:
            refuse(f"stroke-width is {width:g}, below 0; correct it")
        if width == 0.0 or stroke[1] == 0.0:
            if width == 0.0:
                context.remark(element, "has a stroke of width 0, which draws nothing")
            stroke = None
        else:
            pen = paints.stroke_style(style, width)
    fill = None if fill is None or fill[1] == 0.0 else fill
    if fill is None and stroke is None:
        return None
    lines, fault = draw_lines(context, element, state)
    if fault is not None:
        context.remark(element, f"{fault} and is not drawn")
    if pen is not None and pen.cap != "butt" and any(len(line) == 1 for line, _ in lines):
        refuse(f"a line of no length with '{pen.cap}' caps is a dot, which has no outline; draw a circle")
    lines = [one for one in lines if len(one[0]) > 1]
    cuts = _cutting_regions(context, element, lines, state) if lines else None
    if cuts is None:
        return None
    if 0.0 < state.fade < 1.0 or any(one is not None and one[1] < 1.0 for one in (fill, stroke)):
        context.remarks["colours are read without their opacity"] = None
    layer = state.layer or state.group or ""
    rule = style.get("fill-rule", "nonzero")
    if rule not in ("nonzero", "evenodd"):
        refuse(f"fill-rule '{rule[:40]}' is none; give nonzero or evenodd")
    dashes = _stroke_dashes(context, state) if pen is not None else None
    if pen is not None and dashes is not None and pen.cap != "butt" and 0.0 in dashes[0][::2]:
        refuse(f"dashes of no length with '{pen.cap}' caps are dots, which have no outline; draw circles")
    return Shape(lines, state.matrix, fill, stroke, state.fade, rule, pen, dashes, layer, element, cuts)


def _stroke_dashes(context: Context, state: State) -> tuple[tuple[float, ...], float] | None:
    style = state.style
    text = style.get("stroke-dasharray", "none")
    if text.lower() in ("none", ""):
        return None
    values = [context.shape_length(state, "stroke-dasharray", one) for one in text.replace(",", " ").split()]
    if min(values) < 0.0:
        refuse(f"stroke-dasharray '{text[:40]}' has a length below 0; correct it")
    if not sum(values) > 0.0:
        return None
    offset = context.shape_length(state, "stroke-dashoffset", style.get("stroke-dashoffset", "0"))
    return tuple(values if len(values) % 2 == 0 else values + values), offset


def _cutting_regions(
    context: Context, element: Element, lines: Lines, state: State
) -> tuple[Region, ...] | None:
    """The regions that cut a shape; None for a shape beyond one of them."""
    if not state.regions:
        return ()
    points = map_points(state.matrix, np.concatenate([line for line, _ in lines]))
    found = [region.holds(points, 2.0 * context.tolerance) for region in state.regions]
    for within, region in zip(found, state.regions, strict=True):
        if within is False:
            context.remark(element, f"lies outside of {region.name} and is not drawn")
            return None
    return tuple(one for within, one in zip(found, state.regions, strict=True) if within is None)
