"""Glyphs of a line and their places: by HarfBuzz, with kerning and ligatures, or side by side."""

from collections.abc import Sequence
from typing import Any

from .font import Font, Placed
from .words import Run, split_runs


def set_line(font: Font, line: str, kerning: bool, apart: float) -> tuple[list[Placed], float]:
    """The glyphs of a line from x = 0, and its length, without the space behind the last. apart: more space.

    Raises `UserError` for a character that the font lacks, or cannot show by outlines.
    """
    found: list[Placed] = []
    x, before = 0.0, 0
    for run in split_runs(line, kerning, apart != 0.0):
        set_run = _shape_run if kerning else _set_side_by_side
        placed, x = set_run(font, run, x, apart, before)
        found += placed
        before += len(run.text)
    return found, max(0.0, x - apart)


def _set_side_by_side(
    font: Font, run: Run, x: float, apart: float, before: int
) -> tuple[list[Placed], float]:
    found: list[Placed] = []
    for one in run.text:
        glyph = font.glyph_of(one)
        found.append(Placed(glyph, x, 0.0, one, len(found) + before))
        x += font.advance(glyph) + apart
    return found, x


def _shape_run(font: Font, run: Run, x: float, apart: float, before: int) -> tuple[list[Placed], float]:
    import uharfbuzz

    shaper = uharfbuzz.Font(uharfbuzz.Face(font.data))
    if font.location:
        shaper.set_variations(font.location)
    buffer = uharfbuzz.Buffer()
    buffer.add_str(run.text)
    buffer.script, buffer.direction = run.script, "rtl" if run.is_leftward else "ltr"
    buffer.language = "und"
    # a ligature would hold letters together that shall stand apart
    uharfbuzz.shape(shaper, buffer, {"liga": False, "clig": False} if apart else {})
    order = font.font.getGlyphOrder()
    found, y, last = [], 0.0, -1
    glyphs: Sequence[Any] = list(zip(buffer.glyph_infos, buffer.glyph_positions, strict=True))
    for info, place in glyphs:
        if info.codepoint == 0:
            raise font.missing(run.text[info.cluster])
        x += apart if last not in (-1, info.cluster) else 0.0
        last = info.cluster
        found.append(
            Placed(
                order[info.codepoint],
                x + place.x_offset,
                y + place.y_offset,
                run.text[info.cluster],
                info.cluster + before,
            )
        )
        x, y = x + place.x_advance, y + place.y_advance
    return found, x + apart
