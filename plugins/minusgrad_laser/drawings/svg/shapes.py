"""The shapes of SVG drawn with a pen, in their own coordinates. Source: SVG 2, 10.

A rectangle or an ellipse without a size is not drawn; of its radii one that is left out is the other one.
"""

from collections.abc import Callable

from ..flat_pen import FlatPen
from .elements import Element
from .faults import refuse
from .numbers import number_list
from .path_data import draw_path

Length = Callable[[str, str], float]
"""Of an attribute's name and its text; percentages are those of the viewport."""


def draw_shape(element: Element, pen: FlatPen, length: Length) -> str | None:
    """Draw an element; a text says why nothing is drawn where the file is in error. Raises `SvgError`."""
    attributes = element.attributes

    def value(name: str) -> float:
        text = attributes.get(name, "").strip()
        return length(name, text) if text else 0.0

    def radius(name: str) -> float | None:
        text = attributes.get(name, "").strip()
        if text in ("", "auto"):
            return None
        found = length(name, text)
        return found if found >= 0.0 else None  # in error, and left out

    tag = element.tag
    if tag == "path":
        text = attributes.get("d", "").strip()
        if text not in ("", "none"):
            draw_path(text, pen)
    elif tag == "rect":
        width, height = (
            0.0 if attributes.get(key, "").strip() == "auto" else value(key) for key in ("width", "height")
        )
        if min(width, height) < 0.0:
            return "has a negative size"
        if min(width, height) > 0.0:
            rx, ry = radius("rx"), radius("ry")
            rx, ry = rx if rx is not None else ry or 0.0, ry if ry is not None else rx or 0.0
            _draw_rectangle(pen, (value("x"), value("y")), (width, height), rx, ry)
    elif tag == "circle":
        if (r := value("r")) < 0.0:
            return "has a negative radius"
        if r > 0.0:
            pen.ellipse((value("cx"), value("cy")), r, r)
    elif tag == "ellipse":
        rx, ry = radius("rx"), radius("ry")
        rx, ry = rx if rx is not None else ry or 0.0, ry if ry is not None else rx or 0.0
        if min(rx, ry) > 0.0:
            pen.ellipse((value("cx"), value("cy")), rx, ry)
    elif tag == "line":
        pen.move_to((value("x1"), value("y1")))
        pen.line_to((value("x2"), value("y2")))
        pen.end_line()
    else:
        _draw_points(element, pen)
    return None


def _draw_points(element: Element, pen: FlatPen) -> None:
    numbers = number_list("points", element.attributes.get("points", ""))
    if len(numbers) % 2:
        refuse(f"points need pairs of numbers, got {len(numbers)} numbers; correct it")
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    if len(points) < 2:
        return
    pen.move_to(points[0])
    for point in points[1:]:
        pen.line_to(point)
    if element.tag == "polygon":
        pen.close()
    else:
        pen.end_line()


def _draw_rectangle(
    pen: FlatPen, corner: tuple[float, float], size: tuple[float, float], rx: float, ry: float
) -> None:
    (x, y), (width, height) = corner, size
    rx, ry = (min(rx, width / 2.0), min(ry, height / 2.0)) if min(rx, ry) > 0.0 else (0.0, 0.0)
    right, low = x + width, y + height
    pen.move_to((x + rx, y))
    for begin, end in (
        ((right - rx, y), (right, y + ry)),
        ((right, low - ry), (right - rx, low)),
        ((x + rx, low), (x, low - ry)),
        ((x, y + ry), (x + rx, y)),
    ):
        pen.line_to(begin)
        if rx > 0.0:
            pen.arc_to(rx, ry, 0.0, False, True, end)
    pen.close()
