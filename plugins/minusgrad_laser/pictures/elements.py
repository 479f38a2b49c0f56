"""What becomes of an element and its attributes in the document that resvg draws.

    left out     what would change with time; pictures that are never drawn
    refused      what resvg does not draw, and would be missed; references to other files
    rewritten    properties and transforms in the words of CSS

`refuse` and `remark` are called with what is wrong about the element.
"""

import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from .links import external_link
from .styles import COLOURS, rewrite_property, rewrite_style, svg_transform

SHAPES = ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "image")
BASIC = ("rect", "circle", "ellipse", "line", "polyline", "polygon")
REFUSED = {
    "foreignObject": "only what is SVG is drawn; remove it",
    "flowRoot": "flowed text is not drawn; convert text to paths",
    "meshgradient": "meshes of colours are not drawn; give the shape a plain colour",
    "hatch": "hatches are not drawn; give the shape a pattern or a plain colour",
}
STILL = ("script", "animate", "animateTransform", "animateMotion", "animateColor", "set", "handler")
"""Elements by which a picture would change with time."""
CHECKED = (*COLOURS, "vector-effect", "transform-box", "text-transform")
"""Attributes that may have words of later standards."""
PLACES = ("x", "y", "cx", "cy", "rx", "ry", "r", "d")
"""Properties of a style that are taken as attributes (SVG 2, 7.3), but for sizes, which web pages set."""
MEASURED = frozenset({
    "d", "points", "transform", "gradientTransform", "patternTransform", "x", "y", "x1", "y1", "x2", "y2",
    "cx", "cy", "r", "rx", "ry", "fx", "fy", "fr", "width", "height", "stroke-width", "stroke-dasharray",
    "stroke-dashoffset", "dx", "dy", "font-size",
})  # fmt: skip
"""Attributes with numbers of places and lengths."""
BEYOND = 1e12
_LARGE = re.compile(r"[eE]\+?0*[1-9]\d|(?<![.\d])\d{13}")
_UNIT = re.compile(r"[\d.](deg|rad|grad|turn|px|mm|cm|in|pt|pc)\b|[A-Za-z]+[XY]\(\s*[\d.+-]+\s*\)")
_STYLE_PLACE = re.compile(rf"(?:^|;)\s*({'|'.join(PLACES)}|width|height)\s*:\s*([^;]+)")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
Refuse = Callable[[str], NoReturn]
Remark = Callable[[str], None]


def is_left_out(tag: str, parent: str, refuse: Refuse, remark: Remark) -> bool:
    """True for an element that is not drawn, with what is in it."""
    if tag in STILL:
        remark("a drawing stands still, and is drawn as it begins")
        return True
    if tag in REFUSED and not (tag == "foreignObject" and parent == "switch"):
        refuse(REFUSED[tag])
    return tag in REFUSED


def rewrite_attributes(
    tag: str, given: Mapping[str, str], is_clip: bool, is_embedded: bool, refuse: Refuse, remark: Remark
) -> dict[str, str]:
    """The attributes of an element. is_clip: within a clipPath. is_embedded: of a drawing in another one."""
    for key in MEASURED & given.keys():
        if _LARGE.search(given[key]):
            _refuse_beyond(key, given[key], refuse)
    found = {key: _rewrite_value(key, value, refuse) for key, value in given.items()}
    if tag in (*SHAPES, "use"):
        _take_style_places(tag, found, refuse)
    if tag in ("text", "tspan") and re.search(r"white-space:\s*pre", found.get("style", "")):
        found.setdefault("xml:space", "preserve")
    if tag in BASIC and "pathLength" in found:
        refuse("pathLength is drawn of paths alone; write the lengths of the dashes")
    if tag == "symbol" and {"refX", "refY"} & found.keys():
        refuse("refX and refY are not drawn; move the symbol")
    if tag in ("polygon", "polyline") and len(_NUMBER.findall(found.get("points", ""))) % 2:
        remark("its points are pairs of numbers, and the last has none; it is left out")
    if (link := external_link(tag, found)) is not None:
        if is_clip or _has_no_size(found) or is_embedded:
            found = {key: value for key, value in found.items() if not key.endswith("href")}
        else:
            cure = "embed it" if tag in ("image", "feImage") else "copy it into the file"
            refuse(f"refers to '{link[:60]}'; only what is in the file is drawn: {cure}")
        if is_embedded:
            remark(f"refers to '{link[:60]}', which is not drawn within an embedded drawing")
    return found


def _refuse_beyond(key: str, text: str, refuse: Refuse) -> None:
    """Numbers with which resvg would leave out a shape, or end."""
    for one in _NUMBER.findall(text):
        if not abs(float(one)) < BEYOND:
            refuse(f"{key}: '{one[:30]}' is beyond {BEYOND:g}; correct it")


def _rewrite_value(key: str, value: str, refuse: Refuse) -> str:
    if key == "style":
        return rewrite_style(value, refuse)
    if key in CHECKED:
        return rewrite_property(key, value, refuse)
    if key in ("transform", "gradientTransform", "patternTransform") and _UNIT.search(value):
        return svg_transform(value) or value
    return value


def _take_style_places(tag: str, found: dict[str, str], refuse: Refuse) -> None:
    """Set as attributes what a style says of the place of a shape."""
    for key, value in _STYLE_PLACE.findall(found.get("style", "")):
        text = value.strip()
        if key in PLACES:
            found[key] = re.sub(r"^path\(\s*['\"](.*)['\"]\s*\)$", r"\1", text) if key == "d" else text
        elif key in found and found[key].removesuffix("px") != text.removesuffix("px"):
            refuse(f"its {key} is '{found[key][:30]}', and '{text[:30]}' by its style; leave one")


def _has_no_size(found: Mapping[str, str]) -> bool:
    return "0" in (found.get("width"), found.get("height"))
