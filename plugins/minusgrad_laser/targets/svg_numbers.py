"""Numbers in the attributes of an SVG file: finite, and as many as their command needs.

Each function returns what is wrong, None where nothing is. Sources: SVG 1.1, 8.3 (path data), 9.7 (points),
4.2 (lengths).
"""

import re
from math import isfinite

BEYOND = 1e12
"""Numbers of this size are no coordinates."""
COUNTS = {"M": 2, "L": 2, "T": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "A": 7, "Z": 0}
"""Numbers of each command of a path."""
LENGTHS = {"x", "y", "width", "height", "rx", "ry", "r", "cx", "cy", "x1", "x2", "y1", "y2", "stroke-width"}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBERS = re.compile(_NUMBER, re.ASCII)
_SEPARATOR = r"[\s,]*"
_ARC = re.compile(
    _SEPARATOR.join(["", *[f"({_NUMBER})"] * 3, "([01])", "([01])", *[f"({_NUMBER})"] * 2, ""]), re.ASCII
)
_LENGTH = re.compile(rf"({_NUMBER})\s*(px|pt|pc|mm|cm|in|Q|em|ex|%)?", re.ASCII | re.IGNORECASE)


def number(text: str) -> float | None:
    """A finite decimal number; None for another text."""
    if not _NUMBERS.fullmatch(text):
        return None
    return value if isfinite(value := float(text)) else None


def fault_of_length(text: str) -> str | None:
    """Of a length: a number, with a unit or without."""
    found = _LENGTH.fullmatch(text.strip())
    if text.strip() in ("", "auto", "inherit"):
        return None
    return f"'{text[:60]}' is no length" if found is None else _fault_of_size(found[1])


def fault_of_numbers(text: str) -> str | None:
    """Of a list of numbers, such as points or a transform."""
    return next((fault for one in _NUMBERS.findall(text) if (fault := _fault_of_size(one))), None)


def fault_of_points(text: str) -> str | None:
    """Of the points of a polygon: pairs of numbers."""
    if rest := _NUMBERS.sub(" ", text).replace(",", " ").strip():
        return f"'{rest[:20]}' in its points is no number"
    count = len(_NUMBERS.findall(text))
    return f"points need pairs of numbers, got {count} numbers" if count % 2 else fault_of_numbers(text)


def fault_of_path(text: str) -> str | None:
    """Of the data of a path: a command, and numbers of which it takes so many at a time."""
    for command, numbers in re.findall(r"([A-DF-Za-df-z])([^A-DF-Za-df-z]*)", text):
        need, kind = COUNTS.get(command.upper()), f"command {command}"
        if need is None:
            return f"{kind} in its data is none"
        if command.upper() == "A":
            fault = _fault_of_arcs(numbers)
        else:
            count = len(_NUMBERS.findall(numbers))
            wrong = (count % need or not count) if need else count
            fault = f"{kind} takes {need} numbers at a time, got {count}" if wrong else None
        if fault := fault or fault_of_numbers(numbers):
            return fault
    return None


def _fault_of_arcs(numbers: str) -> str | None:
    at = 0
    while found := _ARC.match(numbers, at):
        at = found.end()
    if at == 0 or at < len(numbers.rstrip(" \t\r\n,")):
        return (
            f"an arc takes 7 numbers at a time, the fourth and the fifth 0 or 1, got '{numbers.strip()[:60]}'"
        )
    return None


def _fault_of_size(text: str) -> str | None:
    return None if abs(float(text)) < BEYOND else f"'{text[:30]}' is beyond {BEYOND:g}"
