"""What a shape is painted with: one colour for its inside, one for its stroke; what has none is refused."""

import re
from dataclasses import dataclass

from .colours import Colour, parse_colour, parse_opacity
from .elements import Document
from .faults import refuse
from .numbers import require_number

_INHERITED = (
    "fill stroke fill-rule fill-opacity stroke-opacity stroke-width stroke-linecap stroke-linejoin"
    " stroke-miterlimit stroke-dasharray stroke-dashoffset color font-size visibility"
    " marker-start marker-mid marker-end"
)
INHERITED = frozenset(_INHERITED.split())
"""Properties that an element has from its parent where it states none."""
PICTURE = "remove it, or engrave the file as a picture (kind = 'svg')"
EFFECTS = {"mask": "none", "filter": "none", "clip": "auto", "all": ""}
"""Properties that change what is seen of a shape, and the value at which they do not."""
_URL = re.compile(r"url\(\s*(?:\"\s*#([^\"]*)\"|'\s*#([^']*)'|#([^\s()]*))\s*\)\s*(.*)", re.DOTALL)
PAINTS = ("linearGradient", "radialGradient", "pattern", "hatch", "meshgradient")


@dataclass(frozen=True)
class Stroke:
    """Of a shape, in its own coordinates; limit: of the miter's length over the width."""

    width: float
    cap: str
    join: str
    limit: float


def inherit(parent: dict[str, str], declared: dict[str, str]) -> dict[str, str]:
    """The inherited properties within an element."""
    if not declared:
        return parent
    found = parent
    for name in declared.keys() & INHERITED:
        value = declared[name]
        keyword = value.lower()
        if keyword in ("inherit", "unset", "") or (name == "color" and keyword == "currentcolor"):
            continue
        if found is parent:
            found = dict(parent)
        if keyword in ("initial", "revert", "revert-layer"):
            found.pop(name, None)
        else:
            found[name] = value
    return found


def refuse_effects(declared: dict[str, str]) -> None:
    """Refuse what changes how a shape or a group looks in a way that no outline has."""
    for name, without in EFFECTS.items():
        if (value := declared.get(name, without)) not in (without, "", "initial", "unset"):
            refuse(f"{name} '{value[:40]}' has no outline; {PICTURE}")


def refuse_background(declared: dict[str, str]) -> None:
    """Refuse a page with a colour of its own, which no shape paints; white is that of any page."""
    for name in ("background", "background-color"):
        text = declared.get(name, "none").lower()
        if text in ("none", "", "initial", "unset"):
            continue
        colour, opacity = parse_colour(name, text)
        if opacity > 0.0 and colour != "#ffffff":
            refuse(f"{name} '{text[:40]}' of the page has no outline; remove it, or draw a rectangle")


def split_reference(text: str) -> tuple[str, str] | None:
    """The id and the rest of "url(#id) rest"; None for another text."""
    found = _URL.fullmatch(text.strip())
    return None if found is None else (found[1] or found[2] or found[3] or "", found[4].strip())


def resolve_paint(name: str, style: dict[str, str], document: Document) -> Colour | None:
    """The colour and opacity of "fill" or "stroke"; None where nothing is painted."""
    text = style.get(name, "black" if name == "fill" else "none")
    if text.lower().startswith("url("):
        reference = split_reference(text)
        if reference is None:
            refuse(f"{name} '{text[:40]}' refers to no part of this file; give it a colour")
        target = document.named.get(reference[0])
        if target is not None and target.tag in PAINTS:
            refuse(f"{name} '{text[:40]}' is no plain colour; give it one, or engrave the file as a picture")
        if not reference[1]:
            refuse(f"{name} '{text[:40]}' refers to nothing that paints; give it a colour")
        text = reference[1]
    keyword = text.lower()
    if keyword == "none":
        return None
    if keyword in ("context-fill", "context-stroke"):
        refuse(f"{name} '{text}' is not resolved; give it a colour")
    if keyword == "currentcolor":
        text = style.get("color", "black")
    colour, opacity = parse_colour(name, text)
    return colour, opacity * parse_opacity(f"{name}-opacity", style.get(f"{name}-opacity", "1"))


def stroke_style(style: dict[str, str], width: float) -> Stroke:
    limit = require_number("stroke-miterlimit", style.get("stroke-miterlimit", "4"))
    return Stroke(width, style.get("stroke-linecap", "butt"), style.get("stroke-linejoin", "miter"), limit)


def refuse_markers(style: dict[str, str], document: Document) -> None:
    """Markers are shapes of their own at the corners of a line."""
    for name in ("marker-start", "marker-mid", "marker-end"):
        reference = split_reference(style.get(name, "none"))
        if reference is not None and (found := document.named.get(reference[0])) and found.tag == "marker":
            refuse(f"{name} '{style[name][:40]}' is not drawn; remove it, or convert it to paths")
