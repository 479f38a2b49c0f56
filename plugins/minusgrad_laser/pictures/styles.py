"""Properties of CSS that resvg leaves out without a word: rewritten as it knows them, or refused.

Sources: CSS Transforms 1, 12 (functions) and 9 (units, which attributes do not have); CSS Color 4; what resvg
says that it does not draw (docs/unsupported.md, docs/svg2-changelog.md).
"""

import re
from collections.abc import Callable
from math import radians, tan
from typing import NoReturn

from ..drawings.svg.numbers import DEGREES, INCHES

CURES = {
    "vector-effect": "strokes are scaled with their shapes; give them a width, or expand them",
    "transform-box": "origins are those of the page; write the transform without it",
    "translate": "write it as transform",
    "rotate": "write it as transform",
    "scale": "write it as transform",
    "offset-path": "write it as transform",
    "text-transform": "write the letters as they are meant",
}
"""Properties that change a picture, and are not drawn."""
USUAL = ("none", "normal", "auto", "view-box", "inherit", "initial", "unset", "")
"""Values with which they change nothing."""
GEOMETRY = ("x", "y", "cx", "cy", "r", "rx", "ry", "width", "height", "d")
COLOURS = ("fill", "stroke", "color", "stop-color", "flood-color", "lighting-color")
_LATER_COLOUR = re.compile(
    r"\b(?:ok)?l(?:ab|ch)\(|\bhwb\(|(?<![\w-])color(?:-mix)?\(|\blight-dark\(|\([^()]*/", re.I
)
_COMPUTED = re.compile(r"\b(var|calc|min|max|clamp|env|attr)\(")
_DECLARATION = re.compile(r"(?<![\w-])([a-zA-Z-]++)\s*:\s*((?:[^;\"'{}]|\"[^\"]*\"|'[^']*')++)")
_BLOCK = re.compile(r"\{([^{}]*+)\}")
_MEDIA = re.compile(r"@media\b([^{]*)")
_OTHER_MEDIA = re.compile(r"\bprint\b|prefers-|\bnot\b")
"""Of other places than a page that is drawn; their rules are left out."""
_CURRENT = re.compile(r"\bcurrentcolor\b", re.IGNORECASE)
_FUNCTION = re.compile(r"\s*([a-zA-Z]++)\s*\(([^()]*+)\)\s*,?")
_VALUE = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)([a-zA-Z%]*)")
_ANGLES = {"": 1.0, **DEGREES}
_LENGTHS = {"": 1.0, "px": 1.0, **{unit: 96.0 * inch for unit, inch in INCHES.items()}}
_PARTS = {"": 1.0, "%": 0.01}
Refuse = Callable[[str], NoReturn]


def rewrite_style(text: str, refuse: Refuse) -> str:
    """The declarations of a `style` attribute, or of a rule. `refuse` is called with what is wrong."""

    def rewritten(found: re.Match[str]) -> str:
        key, value = found[1].lower(), found[2].strip()
        return f"{key}:{rewrite_property(key, value, refuse)}"

    return _DECLARATION.sub(rewritten, text)


def rewrite_sheet(text: str, refuse: Refuse, remark: Callable[[str], None]) -> str:
    """The rules of a style sheet, without comments that have an end."""
    parts, at = list[str](), 0
    while (begin := text.find("/*", at)) >= 0 and (end := text.find("*/", begin + 2)) >= 0:
        parts.append(text[at:begin])
        at = end + 2
    plain = "".join(parts) + text[at:]
    for media in _MEDIA.findall(plain):
        if not _OTHER_MEDIA.search(media):
            refuse(f"@media{media[:60].rstrip()} is not understood; write its rules without it")

    def rewritten(found: re.Match[str]) -> str:
        for key, value in _DECLARATION.findall(found[1]):
            if key in ("width", "height"):
                remark(f"{key} '{value.strip()[:30]}' is not taken from a style; write it as an attribute")
            elif key in GEOMETRY:
                refuse(f"{key} '{value.strip()[:30]}' is not taken from a style; write it as an attribute")
        return "{" + rewrite_style(found[1], refuse) + "}"

    return _BLOCK.sub(rewritten, plain)


def rewrite_property(key: str, value: str, refuse: Refuse) -> str:
    """The value of a property, in the words that resvg knows."""
    plain = value.removesuffix("!important").strip()
    if computed := _COMPUTED.search(value):
        refuse(f"{key} '{value[:60]}': {computed[1]}() is not computed; write the value")
    if key in CURES and plain not in USUAL:
        refuse(f"{key} '{value[:60]}' is not drawn: {CURES[key]}")
    if key in COLOURS:
        if _LATER_COLOUR.search(value):
            refuse(
                f"{key} '{value[:60]}' is not understood; write the colour as #rrggbb and its opacity apart"
            )
        return _CURRENT.sub("currentColor", value)
    if key == "transform":
        if (known := svg_transform(plain)) is None:
            refuse(f"{key} '{value[:60]}' is not understood; use translate, rotate, scale, skew and matrix")
        return value.replace(plain, known or "", 1) if plain else value
    return value


def svg_transform(text: str) -> str | None:
    """A transform of CSS in the words of an SVG attribute; None for one that has none."""
    if text in USUAL:
        return "scale(1)"
    found, at = list[str](), 0
    while match := _FUNCTION.match(text, at):
        at = match.end()
        words = re.split(r"[\s,]+", match[2].strip())
        if (one := _svg_function(match[1].lower(), words)) is None:
            return None
        found.append(one)
    return " ".join(found) if found and not text[at:].strip() else None


def _svg_function(name: str, words: list[str]) -> str | None:
    units = (
        _ANGLES if name.startswith(("rotate", "skew")) else _PARTS if name.startswith("scale") else _LENGTHS
    )
    kinds = [units] * len(words)
    if name == "rotate":
        kinds[1:] = [_LENGTHS] * (len(words) - 1)
    if name == "matrix":
        kinds = [_PARTS] * 4 + [_LENGTHS] * (len(words) - 4)
    values = [_number(word, kind) for word, kind in zip(words, kinds, strict=False)]
    n = [value for value in values if value is not None]
    if len(n) != len(words) or len(n) not in _COUNTS.get(name, ()):
        return None
    if name == "skew":
        return f"matrix(1 {tan(radians(n[1] if len(n) > 1 else 0.0)):.9g} {tan(radians(n[0])):.9g} 1 0 0)"
    n = {"translatey": [0.0, *n], "scalex": [*n, 1.0], "scaley": [1.0, *n]}.get(name, n)
    word = {"translatex": "translate", "translatey": "translate", "scalex": "scale", "scaley": "scale"}
    shown = word.get(name, {"skewx": "skewX", "skewy": "skewY"}.get(name, name))
    return f"{shown}({' '.join(f'{one:.9g}' for one in n)})"


_COUNTS = {
    "translate": (1, 2), "translatex": (1,), "translatey": (1,), "matrix": (6,),
    "scale": (1, 2), "scalex": (1,), "scaley": (1,),
    "rotate": (1, 3), "skew": (1, 2), "skewx": (1,), "skewy": (1,),
}  # fmt: skip
"""Numbers of each function."""


def _number(word: str, units: dict[str, float]) -> float | None:
    found = _VALUE.fullmatch(word)
    factor = units.get(found[2].lower()) if found else None
    return None if found is None or factor is None else float(found[1]) * factor
