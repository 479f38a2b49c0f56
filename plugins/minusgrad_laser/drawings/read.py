"""Drawings of files: one call for every form of file, by the ending of its name.

    drawing = read_drawing("part.svg", data, tolerance=5e-6)

The bytes are parsed in a child process within limits.
"""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from minusgrad.plugin import UserError, printable

from .drawing import Drawing
from .dxf.reader import dxf_drawing
from .lightburn.reader import lightburn_drawing
from .svg.reading import read_svg

READERS: dict[str, Callable[..., Drawing]] = {
    ".svg": read_svg,
    ".dxf": dxf_drawing,
    ".lbrn2": lightburn_drawing,
    ".lbrn": lightburn_drawing,
}
"""By the ending of a file's name: a function of the file, its bytes and the options of `read_drawing`."""
OF_LINES = (".dxf", ".lbrn2", ".lbrn")
"""Forms that have no picture, but lines alone."""


def read_drawing(
    file: str,
    data: bytes,
    *,
    tolerance: float,
    dpi: float = 96.0,
    length: str | None = None,
    width: float | None = None,
    layers: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> Drawing:
    """The outlines in a file of lines and curves, in metres.

    file: its name, whose ending says what it is. tolerance [m]: distance of a curve from its chords.
    dpi: units "px" of an SVG to an inch. length: unit of a file that states none, such as "mm".
    width [m]: of the page, to which the drawing is scaled (default: as the file says). layers: names of those
    that are read; what lies on others is not looked at (default: all that the file draws). without: elements
    of an SVG that are left out, "text" or "image", which are refused otherwise.

    Raises `UserError` that begins with the file: for an ending that is none of `READERS`, for a file that
    cannot be read, and for what is in it but not understood, with its line.
    """
    ending = PurePath(file).suffix.lower()
    if ending not in READERS:
        known = ", ".join(READERS)
        raise UserError(
            f"'{printable(file)}': is no drawing by its name, got the ending '{printable(ending)}'; give a"
            f" file of {known}"
        )
    if not tolerance > 0.0:
        raise UserError(f"'{printable(file)}': tolerance must be above 0 m, got {tolerance:g}")
    options: dict[str, Any] = {"tolerance": tolerance, "dpi": dpi, "length": length, "width": width}
    if without and ending != ".svg":
        raise UserError(f"'{printable(file)}': without is for SVG, got {list(without)}; give layers")
    return READERS[ending](file, data, **options, layers=layers, **({"without": without} if without else {}))
