"""Triangles in well-known text (WKT), `TIN (((x y z, ...)), ...)`: read in a time that grows with the text.

meshlane matches the whole text with one pattern, whose digits can be shared out in many ways: where a number
is damaged it tries them all, twice as many with each digit before it. Nor does it read the exponents
it writes.

Source: OGC 06-103r4, 7.2 (a TIN is of polygons of one ring of four points, of which the last is the first).

Decisions 0104.
"""

import re
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, printable

_NUMBER = r"[-+]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+"
_POINT = rf"\s*+{_NUMBER}(?:\s++{_NUMBER}){{2,3}}+\s*+"
_HEAD = re.compile(r"\s*+TIN\s*+\(")
_TRIANGLE = re.compile(rf"\s*+\(\s*+\({','.join(4 * [_POINT])}\)\s*+\)\s*+")
_END = re.compile(r"\)\s*+\Z")
"""Possessive: what one part has taken it does not give back, so no text is looked at twice."""


def triangles(file: str, data: bytes) -> Any:
    """The mesh of meshlane in the bytes of a file; equal points are one. Raises `UserError`."""
    import meshlane

    text = data.decode("ascii", errors="replace")
    head = _HEAD.match(text)
    if head is None:
        raise UserError(f"'{file}': must begin with 'TIN (', got '{printable(text, 40)}'; save it as VTU")
    at, rows = head.end(), []
    while (found := _TRIANGLE.match(text, at)) is not None:
        points = [tuple(map(float, one.split())) for one in found[0].strip("() \t\r\n\v\f").split(",")]
        rows.append(points)
        at = found.end() + text.startswith(",", found.end())
        if at == found.end():
            break
    if not rows or _END.match(text, at) is None:
        line, shown = text.count("\n", 0, at) + 1, printable(text[at : at + 40], 40)
        wanted = "triangles ((x y z, x y z, x y z, x y z)), a comma between two and ')' at the end"
        raise UserError(f"'{file}', line {line}: needs {wanted}, got '{shown}'; save it again")
    return meshlane.Mesh(*_join_rings(file, rows))


def _join_rings(
    file: str, rows: list[list[tuple[float, ...]]]
) -> tuple[np.ndarray, list[tuple[str, np.ndarray]]]:
    """Points and triangles of closed rings."""
    numbers: dict[tuple[float, ...], int] = {}
    for count, ring in enumerate(rows, 1):
        if ring[0] != ring[-1]:
            raise UserError(f"'{file}': triangle {count} must end where it begins, got {ring[0]}, {ring[-1]}")
        for point in ring:
            numbers.setdefault(point, len(numbers))
    if len({len(point) for point in numbers}) > 1:
        raise UserError(f"'{file}': all points must have as many numbers, got 3 and 4; save it again")
    cells = np.array([[numbers[point] for point in ring[:3]] for ring in rows])
    return np.array(list(numbers)), [("triangle", cells)]
