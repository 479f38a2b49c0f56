"""Text as a drawing: outlines of a font's glyphs in metres, on a page that is the box around them.

The font is read in a child process within limits.

Decisions 0175.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from minusgrad.plugin import UserError, bounded_read, pip_line, printable

from ..drawing import Drawing, Outline
from ..flat_pen import TooManyPointsError
from .font import Font
from .layout import set_line
from .words import split_lines

Align = Literal["left", "centre", "right"]
Measure = Literal["em", "capitals"]
LEFT_OVER = {"left": 0.0, "centre": 0.5, "right": 1.0}
"""Part of the room beside a line that lies before it."""
INK = "#000000"
MOST_POINTS = 2_000_000


def text_drawing(
    text: str,
    font: str,
    data: bytes,
    *,
    size: float,
    tolerance: float,
    measure: Measure = "em",
    align: Align = "left",
    line_spacing: float = 1.2,
    letter_spacing: float = 0.0,
    axes: Mapping[str, float] | None = None,
    kerning: bool = True,
) -> Drawing:
    """The outlines of a text, each glyph a piece, black inside.

    font, data: the name and the bytes of a TTF or OTF file. size [m]: of the em, or the height of an H, as
    `measure` says. line_spacing: distance of baselines, in ems. letter_spacing [m]: more space between
    letters. axes: of a variable font, such as {"wght": 700.0}. kerning: letters are placed by HarfBuzz;
    false: side by side, by their advances alone.

    Raises `UserError` for a font that cannot be read, for a character that it lacks or shows by no outline,
    and for a script that needs HarfBuzz.
    """
    if find_spec("fontTools") is None:
        raise UserError(f"'{printable(font)}': needs fontTools: {pip_line('svg')}")
    if kerning and find_spec("uharfbuzz") is None:
        raise UserError(
            f"'{printable(font)}': kerning needs uharfbuzz: {pip_line('svg')}; or give kerning = false"
        )
    lines = split_lines(text)
    loads = (
        "fontTools.ttLib",
        "fontTools.pens.basePen",
        "fontTools.unicodedata",
        *(["uharfbuzz"] if kerning else []),
    )
    found = bounded_read(
        text_values,
        font,
        data,
        loads,
        lines=lines,
        size=size,
        tolerance=tolerance,
        measure=measure,
        align=align,
        line_spacing=line_spacing,
        letter_spacing=letter_spacing,
        axes=dict(axes or {}),
        kerning=kerning,
    )
    ends = np.cumsum(found["counts"]).tolist()
    outlines = tuple(
        Outline(found["points"][begin:end], True, fill=INK, piece=piece)
        for begin, end, piece in zip([0, *ends[:-1]], ends, found["pieces"], strict=True)
    )
    return Drawing((found["size"][0], found["size"][1]), outlines, remarks=tuple(found["remarks"]))


def text_values(file: str, data: bytes, **options: Any) -> dict[str, Any]:
    """In the child: the size of the box, the outlines [m] with their pieces, and remarks."""
    try:
        return _set_text(file, data, **options)
    except (UserError, MemoryError):
        raise
    except TooManyPointsError:
        raise UserError(
            f"'{file}': its curves take more than {MOST_POINTS:,} points; give a larger tolerance"
        ) from None
    except Exception as error:  # of damaged tables
        words = " ".join(str(error).split())[:100] or type(error).__name__
        raise UserError(f"'{printable(file)}': is no font that can be read: {words}") from None


def _set_text(
    file: str,
    data: bytes,
    lines: list[str],
    size: float,
    tolerance: float,
    measure: Measure,
    align: Align,
    line_spacing: float,
    letter_spacing: float,
    axes: dict[str, float],
    kerning: bool,
) -> dict[str, Any]:
    font = Font(file, data, axes)
    unit = size / (font.em if measure == "em" else font.capital_height())  # metres
    placed = [set_line(font, line, kerning, letter_spacing / unit) for line in lines]
    widest = max(length for _, length in placed)
    points: list[np.ndarray] = []
    pieces: list[int] = []
    piece, room = 0, MOST_POINTS
    for k, (glyphs, length) in enumerate(placed):
        font.refuse_invisible(glyphs, tolerance / unit)
        shift = LEFT_OVER[align] * (widest - length)
        for one in glyphs:
            corner = np.array([one.x + shift, one.y - k * line_spacing * font.em])
            for line, _ in font.lines(one.glyph, tolerance / unit):
                points.append((line + corner) * unit)
                pieces.append(piece)
                room -= len(line)
                if room < 0:
                    raise TooManyPointsError
            piece += 1
    low = np.min([one.min(axis=0) for one in points], axis=0)
    high = np.max([one.max(axis=0) for one in points], axis=0)
    remarks = font.remarks + ([] if kerning else ["letters stand side by side, without kerning"])
    return {
        "size": (high - low).tolist(),
        "counts": [len(one) for one in points],
        "points": np.concatenate(points) - low,
        "pieces": pieces,
        "remarks": remarks,
    }
