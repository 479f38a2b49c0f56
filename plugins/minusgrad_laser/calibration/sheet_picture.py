"""The picture of a sheet (SVG) in its real size: what should be burnt, with powers and speeds beside it.

Lines have the width that the spot of the profile leaves at the expected threshold, W sqrt(2 ln(D_0 / H)).
"""

from collections.abc import Iterator
from math import exp, hypot, log, pi, sqrt

from ..machine.profile import Profile
from .sheet import RADII, Line, Sheet, Square

DARK, PALE = "#222", "#ccc"


def expected_width(line: Line, machine: Profile, threshold: float) -> float:
    """Width of a line by the profile's spot [m]; 0 if its dose is below the threshold [J/m^2]."""
    (x, y), (a, b) = line.direction, machine.waists
    waist = hypot(a * y, b * x)
    dose = sqrt(2.0 / pi) * line.power / (waist * line.speed)
    return waist * sqrt(2.0 * log(dose / threshold)) if dose > threshold else 0.0


def sheet_picture(sheet: Sheet, machine: Profile, threshold: float) -> str:
    """The text of the SVG file."""
    unit = 1e3 * sheet.module
    margin = 3.0 * RADII[2] * unit
    left, low = (1e3 * z - margin for z in sheet.marks[0])
    width = 1e3 * sheet.marks[2][0] + margin - left
    height = 1e3 * sheet.marks[2][1] + margin - low
    up = low + height

    def shape(x: float, y: float, wide: float, high: float, colour: str) -> str:
        return (
            f'<rect x="{1e3 * x - left:.4f}" y="{up - 1e3 * (y + high):.4f}" width="{1e3 * wide:.4f}"'
            f' height="{1e3 * high:.4f}" fill="{colour}"/>'
        )

    body = [circle for mark in sheet.marks for circle in _mark_circles(sheet, mark, left, up)]
    for (x, y), burnt in sheet.code_cells():
        body += [shape(x, y, sheet.cell, sheet.cell, DARK)] if burnt else []
    for line in sheet.lines:
        width_mm = 1e3 * expected_width(line, machine, threshold)
        (a, b), (c, d) = line.start, line.end
        body.append(
            f'<path d="M{1e3 * a - left:.4f} {up - 1e3 * b:.4f}L{1e3 * c - left:.4f} {up - 1e3 * d:.4f}"'
            f' stroke="{DARK if width_mm else PALE}" stroke-width="{width_mm or 0.2 * unit:.4f}"/>'
        )
    for square in sheet.squares:
        tone = 1.0 / (1.0 + exp(-5.0 * (square.fluence / (2.0 * threshold) - 0.5)))
        grey = f"{round(0xDD - tone * 0xBB):02x}"
        body.append(shape(*square.corner, square.side, square.side, f"#{grey * 3}"))
        body += _square_labels(square, unit, left, up)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.4f}mm" height="{height:.4f}mm"'
        f' viewBox="0 0 {width:.4f} {height:.4f}" font-family="sans-serif" font-size="{2.2 * unit:.4f}">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        *body,
        f'<text x="{margin:.4f}" y="{height - 0.4 * margin:.4f}" font-size="{5.0 * unit:.4f}">'
        f"sheet {sheet.number}, {width - 2.0 * margin:.4g} x {height - 2.0 * margin:.4g} mm between marks; a"
        f" line each: {_range_text(sheet)}</text>",
        "</svg>\n",
    ])  # fmt: skip


def _mark_circles(sheet: Sheet, mark: tuple[float, float], left: float, up: float) -> Iterator[str]:
    inner, within, without = (1e3 * sheet.module * one for one in RADII)
    x, y = 1e3 * mark[0] - left, up - 1e3 * mark[1]
    yield f'<circle cx="{x:.4f}" cy="{y:.4f}" r="{inner:.4f}" fill="{DARK}"/>'
    yield (
        f'<circle cx="{x:.4f}" cy="{y:.4f}" r="{0.5 * (within + without):.4f}" fill="none" stroke="{DARK}"'
        f' stroke-width="{without - within:.4f}"/>'
    )


def _square_labels(square: Square, unit: float, left: float, up: float) -> Iterator[str]:
    x, y = 1e3 * square.corner[0] - left, up - 1e3 * square.corner[1]
    text = f"{square.power:.3g} W, {1e3 * square.speed:.3g} mm/s"
    yield f'<text x="{x:.4f}" y="{y + 2.4 * unit:.4f}">{text}</text>'


def _range_text(sheet: Sheet) -> str:
    powers = sorted({one.power for one in sheet.lines})
    speeds = sorted({one.speed for one in sheet.lines})
    watts = ", ".join(f"{one:.3g}" for one in powers)
    return f"{watts} W at {', '.join(f'{1e3 * one:.3g}' for one in speeds)} mm/s"
