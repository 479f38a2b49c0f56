"""Numbers and lengths in attributes of SVG.

A length is a number with a unit: px (or none), mm, cm, in, pt, pc; em, where a size of the font is given;
% of the width, the height or sqrt((w^2 + h^2) / 2) of the nearest viewport (SVG 2, 8.9).
"""

import re
from math import hypot, isfinite, pi, sqrt

from .faults import refuse

BEYOND = 1e12
"""Numbers of this size are no coordinates."""
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(NUMBER, re.ASCII)
_LENGTH = re.compile(rf"({NUMBER})\s*([A-Za-z]*|%)", re.ASCII)
_LIST = re.compile(rf"\s*+(?:(?>{NUMBER})(?:\s*+(?:,\s*+)?))*+", re.ASCII)
"""Nothing is looked at twice."""
INCHES = {"in": 1.0, "mm": 1.0 / 25.4, "cm": 1.0 / 2.54, "pt": 1.0 / 72.0, "pc": 1.0 / 6.0}
"""Of the units of length."""
DEGREES = {"deg": 1.0, "grad": 0.9, "rad": 180.0 / pi, "turn": 360.0}
"""Of the units of angles."""


def number(text: str) -> float | None:
    """A finite decimal number; None for another text."""
    if not _NUMBER.fullmatch(text):
        return None
    return value if isfinite(value := float(text)) else None


def require_number(name: str, text: str) -> float:
    value = number(text.strip())
    if value is None or abs(value) >= BEYOND:
        refuse(f"{name}: '{text[:60]}' is no number below {BEYOND:g}; correct it")
    return value


def number_list(name: str, text: str) -> list[float]:
    """Numbers with spaces or commas between them."""
    if not _LIST.fullmatch(text):
        refuse(f"{name}: '{text.strip()[:60]}' is no list of numbers; correct it")
    found = [float(one) for one in _NUMBER.findall(text)]
    for value in found:
        if not abs(value) < BEYOND:
            refuse(f"{name}: '{value:g}' is beyond {BEYOND:g}; correct it")
    return found


def split_length(text: str) -> tuple[float, str] | None:
    """The number and the unit in small letters; None for what is no length."""
    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        return None
    value = float(found[1])
    return (value, found[2].lower()) if abs(value) < BEYOND else None


class Lengths:
    """Lengths of one file. dpi: px to an inch."""

    def __init__(self, dpi: float):
        self.dpi = dpi

    def resolve(self, name: str, text: str, whole: float, font: str | None) -> float:
        """A length in px. whole: what 100 % is [px]. font: the size of the font, as it is written."""
        found = split_length(text)
        if found is None:
            refuse(f"{name}: '{text[:60]}' is no length; correct it")
        value, unit = found
        if unit in ("", "px"):
            return value
        if unit == "%":
            return value / 100.0 * whole
        if unit in INCHES:
            return value * INCHES[unit] * self.dpi
        if unit == "em" and font is not None:
            size = split_length(font)
            if size is not None and size[1] in ("", "px", *INCHES):
                return value * size[0] * (INCHES[size[1]] * self.dpi if size[1] in INCHES else 1.0)
        refuse(f"{name}: unit '{unit}' of '{text[:60]}' is not resolved; use px, mm or in")


def diagonal(viewport: tuple[float, float]) -> float:
    """What 100 % of a length is that is neither a width nor a height."""
    return hypot(*viewport) / sqrt(2.0)
