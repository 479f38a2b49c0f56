"""Rows of a deck's blocks: parameters, whole numbers, elements over several lines, axes of *System."""

from collections.abc import Iterator

import numpy as np

from minusgrad.plugin import printable

from .coordinate_systems import Axes, axes_x
from .keyword_lines import Keyword

MOST_FIELDS = 16
"""Fields of a data line: one that is full goes on without a comma at its end."""


def required_value(block: Keyword, key: str) -> str:
    """The value of a parameter. Raises `UserError` without one."""
    if not block.parameters.get(key):
        block.fail(f"needs {key.lower()}=")
    return block.parameters[key]


def whole_number(block: Keyword, line: int, word: str) -> int:
    """A field as a whole number. Raises `UserError`."""
    try:
        return int(word)
    except ValueError:
        block.fail(f"must be a whole number, got '{printable(word, 30)}'; save it again", line)


def element_rows(block: Keyword, count: int, may_have_more: bool) -> Iterator[list[int]]:
    """Number and nodes of each element, which takes as many lines as it needs."""
    row: list[int] = []
    line = block.line
    for line, fields in block.rows():
        words = [word for word in fields if word]
        row += [whole_number(block, line, word) for word in words]
        goes_on = fields[-1] == "" or len(words) >= MOST_FIELDS
        if (len(row) > count + 1 and not may_have_more) or (len(row) < count + 1 and not goes_on):
            block.fail(f"an element of {count} nodes has {len(row) - 1} here; save it again", line)
        if len(row) >= count + 1:
            yield row[: count + 1]
            row = []
    if row:
        block.fail(f"the last element has {len(row) - 1} of {count} nodes; the file is cut off", line)


def local_axes(block: Keyword, rows: list[list[float]]) -> Axes | None:
    """The axes that *System says: an origin, a point on x, one in the plane of x and y; empty: the global."""
    if not rows:
        return None
    first = [*rows[0], 0.0, 0.0, 0.0][: max(3, len(rows[0]))]
    a = np.array(first[:3])
    if len(rows[0]) <= 3 and len(rows) == 1:
        return Axes(a, np.eye(3))
    b = np.array([*rows[0], 0.0, 0.0, 0.0][3:6])
    if len(rows) == 1:  # the x axis is projected, z stays
        b = np.array([b[0], b[1], a[2]])
        found = axes_x(a, b, a + np.cross([0.0, 0.0, 1.0], b - a))
    else:
        found = axes_x(a, b, np.array([*rows[1], 0.0, 0.0, 0.0][:3]))
    if found is None:
        block.fail("its points lie on a line")
    return found
