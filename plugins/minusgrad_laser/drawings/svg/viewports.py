"""Viewports: the page, an `<svg>` within another, a `<symbol>`, and how a viewBox lies in each.

    x' = s_x (x - x_box) + t_x        y' = s_y (y - y_box) + t_y

By preserveAspectRatio both scales are the smaller of w / w_box and h / h_box ("meet"), the larger ("slice"),
or each its own ("none"). Source: SVG 2, 8.2 and 8.6.
"""

import re

from .elements import Element
from .faults import SvgError, refuse
from .numbers import number_list
from .transforms import Matrix

LARGEST = 1e9
"""Of a page [px]."""
_RATIO = re.compile(r"(?:defer\s+)?(?:(none)|x(Min|Mid|Max)Y(Min|Mid|Max))(?:\s+(meet|slice))?")
_PLACES = {"Min": 0.0, "Mid": 0.5, "Max": 1.0}
Box = tuple[float, float, float, float]


def read_box(element: Element) -> Box | None:
    """The viewBox of an element."""
    text = element.attributes.get("viewBox", "").strip()
    if not text:
        return None
    try:
        found = number_list("viewBox", text)
    except SvgError:
        found = []
    if len(found) != 4 or not min(found[2:]) > 1e-9 or not max(map(abs, found)) < LARGEST:
        refuse(f"viewBox is '{text[:60]}'; it needs four numbers, width and height above 0")
    return found[0], found[1], found[2], found[3]


def box_matrix(element: Element, box: Box | None, size: tuple[float, float]) -> Matrix:
    """From the coordinates of a viewBox to those of its viewport, whose corner is (0, 0)."""
    if box is None:
        return 1.0, 0.0, 0.0, 1.0, 0.0, 0.0
    text = element.attributes.get("preserveAspectRatio", "xMidYMid meet").strip() or "xMidYMid"
    found = _RATIO.fullmatch(text)
    if found is None:
        refuse(f"preserveAspectRatio '{text[:40]}' is not understood; give one such as xMidYMid")
    sx, sy = size[0] / box[2], size[1] / box[3]
    if not found[1]:
        sx = sy = max(sx, sy) if found[4] == "slice" else min(sx, sy)
    px, py = _PLACES[found[2] or "Min"], _PLACES[found[3] or "Min"]
    return (
        sx, 0.0, 0.0, sy,
        px * (size[0] - sx * box[2]) - sx * box[0], py * (size[1] - sy * box[3]) - sy * box[1],
    )  # fmt: skip
