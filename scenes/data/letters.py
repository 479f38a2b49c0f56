"""A text in capitals as filled outlines: python letters.py writes letters.svg, 2 mm letters.

python letters.py "ANOTHER TEXT" FILE.svg writes another, with / between its lines. Each letter is a few lines
and arcs of circles, given by their middle line in millimetres, and drawn with a round pen of 0.3 mm; the
outlines of pieces overlap, and are one region by the rule "nonzero".
"""

import sys
from math import atan2, cos, hypot, radians, sin
from pathlib import Path

PEN, HEIGHT, WIDTH, GAP, LEADING, MARGIN = 0.3, 1.7, 1.0, 0.6, 1.1, 0.5
"""Width of the pen; height and width of middle lines; between letters, between lines, around all [mm]."""
TEXT = "MINUS/GRAD"

Piece = tuple[float, ...]
"""A line x0, y0, x1, y1, or an arc about (x, y): x, y, radius, from and to in degrees, counterclockwise."""

LEFT, RIGHT, FOOT, TOP = (0, 0, 0, 1.7), (1, 0, 1, 1.7), (0, 0, 0.9, 0), (0, 1.7, 0.9, 1.7)
LETTERS: dict[str, list[Piece]] = {
    "A": [(0, 0, 0.5, 1.7), (0.5, 1.7, 1, 0), (0.18, 0.6, 0.82, 0.6)],
    "B": [LEFT, (0, 1.7, 0.575, 1.7), (0, 0.85, 0.575, 0.85), (0, 0, 0.575, 0),
          (0.575, 1.275, 0.425, -90, 90), (0.575, 0.425, 0.425, -90, 90)],
    "C": [(0.5, 1.2, 0.5, 20, 180), (0, 1.2, 0, 0.5), (0.5, 0.5, 0.5, 180, 340)],
    "D": [LEFT, (0, 1.7, 0.35, 1.7), (0.35, 1.05, 0.65, 0, 90), (1, 1.05, 1, 0.65),
          (0.35, 0.65, 0.65, -90, 0), (0, 0, 0.35, 0)],
    "E": [LEFT, TOP, (0, 0.85, 0.75, 0.85), FOOT],
    "F": [LEFT, TOP, (0, 0.85, 0.75, 0.85)],
    "G": [(0.5, 1.2, 0.5, 20, 180), (0, 1.2, 0, 0.5), (0.5, 0.5, 0.5, 180, 360), (1, 0.5, 1, 0.8),
          (1, 0.8, 0.6, 0.8)],
    "H": [LEFT, RIGHT, (0, 0.85, 1, 0.85)],
    "I": [(0.5, 0, 0.5, 1.7)],
    "J": [(0.9, 1.7, 0.9, 0.45), (0.45, 0.45, 0.45, 190, 360)],
    "K": [LEFT, (0, 0.6, 0.95, 1.7), (0.33, 0.98, 1, 0)],
    "L": [LEFT, FOOT],
    "M": [LEFT, (0, 1.7, 0.5, 0.6), (0.5, 0.6, 1, 1.7), RIGHT],
    "N": [LEFT, (0, 1.7, 1, 0), RIGHT],
    "O": [(0.5, 1.2, 0.5, 0, 180), (0, 1.2, 0, 0.5), (0.5, 0.5, 0.5, 180, 360), (1, 0.5, 1, 1.2)],
    "P": [LEFT, (0, 1.7, 0.55, 1.7), (0, 0.8, 0.55, 0.8), (0.55, 1.25, 0.45, -90, 90)],
    "Q": [(0.5, 1.2, 0.5, 0, 180), (0, 1.2, 0, 0.5), (0.5, 0.5, 0.5, 180, 360), (1, 0.5, 1, 1.2),
          (0.6, 0.4, 1, -0.05)],
    "R": [LEFT, (0, 1.7, 0.55, 1.7), (0, 0.8, 0.55, 0.8), (0.55, 1.25, 0.45, -90, 90), (0.55, 0.8, 1, 0)],
    "S": [(0.5, 1.275, 0.425, 20, 270), (0.5, 0.425, 0.425, -160, 90)],
    "T": [(0.5, 0, 0.5, 1.7), (0, 1.7, 1, 1.7)],
    "U": [(0, 1.7, 0, 0.5), (0.5, 0.5, 0.5, 180, 360), (1, 0.5, 1, 1.7)],
    "V": [(0, 1.7, 0.5, 0), (0.5, 0, 1, 1.7)],
    "W": [(0, 1.7, 0.22, 0), (0.22, 0, 0.5, 1.2), (0.5, 1.2, 0.78, 0), (0.78, 0, 1, 1.7)],
    "X": [(0, 0, 1, 1.7), (0, 1.7, 1, 0)],
    "Y": [(0, 1.7, 0.5, 0.85), (1, 1.7, 0.5, 0.85), (0.5, 0.85, 0.5, 0)],
    "Z": [(0, 1.7, 1, 1.7), (1, 1.7, 0, 0), (0, 0, 1, 0)],
    "0": [(0.5, 1.2, 0.45, 0, 180), (0.05, 1.2, 0.05, 0.5), (0.5, 0.5, 0.45, 180, 360),
          (0.95, 0.5, 0.95, 1.2)],
    "1": [(0.55, 0, 0.55, 1.7), (0.55, 1.7, 0.2, 1.35)],
    "2": [(0.5, 1.25, 0.45, -35, 170), (0.869, 0.992, 0.05, 0), (0.05, 0, 1, 0)],
    "3": [(0.5, 1.275, 0.425, -90, 160), (0.5, 0.425, 0.425, -160, 90)],
    "4": [(0.7, 0, 0.7, 1.7), (0.7, 1.7, 0, 0.5), (0, 0.5, 1, 0.5)],
    "5": [(0.9, 1.7, 0.12, 1.7), (0.12, 1.7, 0.08, 0.93), (0.46, 0.54, 0.54, -150, 134)],
    "6": [(0.5, 0.5, 0.5, 0, 360), (0.068, 0.752, 0.62, 1.7)],
    "7": [(0, 1.7, 1, 1.7), (1, 1.7, 0.3, 0)],
    "8": [(0.5, 1.3, 0.4, 0, 360), (0.5, 0.45, 0.45, 0, 360)],
    "9": [(0.5, 1.2, 0.5, 0, 360), (0.932, 0.948, 0.38, 0)],
    ".": [(0.5, 0, 0.5, 0)],
    "-": [(0.2, 0.85, 0.8, 0.85)],
    " ": [],
}  # fmt: skip


def line(x0: float, y0: float, x1: float, y1: float) -> str:
    """The outline of a line with round ends; that of a point is a circle."""
    angle, r = atan2(y1 - y0, x1 - x0), PEN / 2
    dx, dy = (r * sin(angle), -r * cos(angle)) if hypot(x1 - x0, y1 - y0) else (0.0, -r)
    return (
        f"M{x0 + dx:.4f},{y0 + dy:.4f} L{x1 + dx:.4f},{y1 + dy:.4f}"
        f" A{r},{r} 0 0 1 {x1 - dx:.4f},{y1 - dy:.4f}"
        f" L{x0 - dx:.4f},{y0 - dy:.4f} A{r},{r} 0 0 1 {x0 + dx:.4f},{y0 + dy:.4f} Z"
    )


def arc(x: float, y: float, radius: float, begin: float, end: float) -> str:
    """The outline of an arc with round ends; that of a whole turn is two rings."""

    def at(r: float, degrees: float) -> str:
        return f"{x + r * cos(radians(degrees)):.4f},{y + r * sin(radians(degrees)):.4f}"

    wide, narrow, r, middle = radius + PEN / 2, radius - PEN / 2, PEN / 2, (begin + end) / 2
    if end - begin == 360:
        return arc(x, y, radius, begin, middle) + " " + arc(x, y, radius, middle, end)
    return (
        f"M{at(wide, begin)} A{wide},{wide} 0 0 1 {at(wide, middle)} A{wide},{wide} 0 0 1 {at(wide, end)}"
        f" A{r},{r} 0 0 1 {at(narrow, end)} A{narrow},{narrow} 0 0 0 {at(narrow, middle)}"
        f" A{narrow},{narrow} 0 0 0 {at(narrow, begin)} A{r},{r} 0 0 1 {at(wide, begin)} Z"
    )


def svg(text: str) -> str:
    """The drawing of a text, a path for each letter; y points up inside the group."""
    rows = text.split("/")
    width = max(map(len, rows)) * (WIDTH + GAP) - GAP + PEN + 2 * MARGIN
    height = len(rows) * (HEIGHT + PEN + LEADING) - LEADING + 2 * MARGIN
    paths = []
    for k, row in enumerate(rows):
        y = MARGIN + PEN / 2 + (len(rows) - 1 - k) * (HEIGHT + PEN + LEADING)
        for column, letter in enumerate(row):
            x = MARGIN + PEN / 2 + column * (WIDTH + GAP)
            outlines = " ".join((line if len(p) == 4 else arc)(*p) for p in LETTERS[letter])
            if outlines:
                paths.append(f'<path transform="translate({x:.4g},{y:.4g})" d="{outlines}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.4g}mm" height="{height:.4g}mm"'
        f' viewBox="0 0 {width:.4g} {height:.4g}">\n<g transform="matrix(1,0,0,-1,0,{height:.4g})">\n'
        + "\n".join(paths)
        + "\n</g>\n</svg>\n"
    )


if __name__ == "__main__":
    text, file = sys.argv[1:3] if len(sys.argv) > 2 else (TEXT, Path(__file__).with_suffix(".svg"))
    Path(file).write_text(svg(text))
