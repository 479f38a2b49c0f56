"""The data of a path, drawn with a pen: the grammar of SVG 2, 9.3, in which nothing is left over.

A number is as long as it can be ("1.5.5" is 1.5 and 0.5), flags of an arc are one digit each. A smooth curve
mirrors the control point of a curve of its own degree before it, and of no other.
"""

import re

from ..flat_pen import FlatPen, Point
from .faults import refuse
from .numbers import BEYOND, NUMBER

COUNTS = {"M": 2, "L": 2, "T": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "A": 7, "Z": 0}
"""Numbers of each command."""
_COMMAND = re.compile(r"\s*([A-Za-z])\s*")
_NUMBER = re.compile(rf"({NUMBER})\s*,?\s*", re.ASCII)
_FLAG = re.compile(r"([01])\s*,?\s*")
_FLAGS = (3, 4)
"""Places of the flags among the numbers of an arc."""


def draw_path(text: str, pen: FlatPen) -> None:
    """Draw the data of a path. Raises `SvgError` for data that are wrong anywhere."""
    at, end = 0, len(text.rstrip())
    x = y = bx = by = 0.0  # the place, and where the line began
    control: Point | None = None  # of the curve before
    kind, is_first = "", True
    while at < end:
        found = _COMMAND.match(text, at)
        if found is None or found[1].upper() not in COUNTS:
            refuse(f"'{text[at : at + 20].strip()}' in its data is no command; correct it")
        command, at = found[1], found.end()
        name, relative = command.upper(), command.islower()
        if is_first and name != "M":
            refuse(f"its data begin with '{command}', but a path begins with M; correct it")
        is_first = False
        if name == "Z":
            pen.close()
            x, y, control, kind = bx, by, None, "Z"
            continue
        count = 0
        while True:
            values, at = _read_numbers(text, at, command, count)
            if values is None:
                break
            count += 1
            ox, oy = (x, y) if relative else (0.0, 0.0)
            if name == "M" and count == 1:
                x, y = ox + values[0], oy + values[1]
                bx, by = x, y
                pen.move_to((x, y))
                control, kind = None, "M"
                continue
            if name in ("M", "L"):
                x, y = ox + values[0], oy + values[1]
                pen.line_to((x, y))
            elif name == "H":
                x = ox + values[0]
                pen.line_to((x, y))
            elif name == "V":
                y = oy + values[0]
                pen.line_to((x, y))
            elif name == "A":
                x, y = ox + values[5], oy + values[6]
                pen.arc_to(values[0], values[1], values[2], bool(values[3]), bool(values[4]), (x, y))
            else:
                points = [(ox + values[k], oy + values[k + 1]) for k in range(0, len(values), 2)]
                degree = "QT" if name in "QT" else "CS"
                if name in "ST":
                    mirrored = control is not None and kind in degree
                    cx, cy = control if mirrored and control else (x, y)
                    points.insert(0, (2.0 * x - cx, 2.0 * y - cy))
                pen.curve_to(*points)
                control, (x, y) = points[-2], points[-1]
            if not (abs(x) < BEYOND and abs(y) < BEYOND):
                refuse(f"command {command} in its data leads beyond {BEYOND:g}; correct it")
            kind = name
    pen.end_line()


def _read_numbers(text: str, at: int, command: str, count: int) -> tuple[list[float] | None, int]:
    """The next numbers of a command; None where they end."""
    values: list[float] = []
    name = command.upper()
    while len(values) < COUNTS[name]:
        found = (_FLAG if name == "A" and len(values) in _FLAGS else _NUMBER).match(text, at)
        if found is None:
            if values or not count:
                need = COUNTS[name]
                flags = ", the fourth and the fifth 0 or 1" if name == "A" else ""
                got = text[at : at + 20].strip() or "the end"
                refuse(
                    f"command {command} in its data takes {need} numbers at a time{flags}, got {len(values)}"
                    f" and then '{got}'; correct it"
                )
            return None, at
        value = float(found[1])
        if not abs(value) < BEYOND:
            refuse(f"'{found[1][:30]}' in its data is beyond {BEYOND:g}; correct it")
        values.append(value)
        at = found.end()
    return values, at
