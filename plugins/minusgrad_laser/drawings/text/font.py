"""A font in the child that reads it: glyphs of characters, their advances, their outlines in its units.

TrueType and CFF, static or variable. Refused: glyphs without outlines, as those of colour fonts, and
collections, which are several fonts.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, printable

from ..flat_pen import FlatPen

SIGNS = {b"ttcf": "a collection of fonts", b"wOFF": "packed (WOFF)", b"wOF2": "packed (WOFF2)"}


@dataclass(frozen=True)
class Placed:
    """A glyph and where its origin lies [units]; the character that it shows, and its place in the line."""

    glyph: str
    x: float
    y: float
    character: str
    place: int


class Font:
    """One font at one place of its axes. em: units of the em; remarks: what was chosen for the user."""

    def __init__(self, name: str, data: bytes, axes: Mapping[str, float]):
        from fontTools.ttLib import TTFont

        if (sign := SIGNS.get(data[:4])) is not None:
            raise UserError(f"'{printable(name)}': is {sign}; give a font as TTF or OTF")
        self.name, self.data = name, data
        self.font = TTFont(BytesIO(data), lazy=True)
        self.em = float(self.font["head"].unitsPerEm)
        self.location, self.remarks = self._locate(axes), list[str]()
        if left := [tag for tag in self.location if tag not in axes]:
            shown = ", ".join(f"{tag} {self.location[tag]:g}" for tag in left)
            self.remarks.append(f"axes that are not given have their defaults: {shown}")
        self.characters: dict[int, str] = self.font.getBestCmap() or {}
        self.glyphs: Any = self.font.getGlyphSet(location=self.location or None)
        self._lines: dict[tuple[str, float], list[tuple[np.ndarray, bool]]] = {}

    def _locate(self, axes: Mapping[str, float]) -> dict[str, float]:
        """Values of all axes. Raises `UserError` for an axis that is none, and for a value beyond it."""
        known = {one.axisTag: one for one in self.font["fvar"].axes} if "fvar" in self.font else {}
        for tag, value in axes.items():
            if tag not in known:
                there = ", ".join(known) or "none, it is no variable font"
                raise UserError(
                    f"axes: '{printable(self.name)}' has no axis '{printable(tag)}' (there are: {there})"
                )
            low, high = known[tag].minValue, known[tag].maxValue
            if not low <= value <= high:
                raise UserError(f"axes: {tag} goes from {low:g} to {high:g}, got {value:g}")
        return {tag: float(axes.get(tag, one.defaultValue)) for tag, one in known.items()}

    def capital_height(self) -> float:
        """Height of an H [units], by its outline."""
        points = [line for line, _ in self.lines(self.glyph_of("H"), 1e-3 * self.em)]
        if not points:
            raise UserError(f"'{printable(self.name)}': its H has no outline; give measure = \"em\"")
        return float(max(line[:, 1].max() for line in points))

    def glyph_of(self, character: str) -> str:
        """Raises `UserError` where the font has none."""
        found = self.characters.get(ord(character))
        if found is None:
            raise self.missing(character)
        return found

    def missing(self, character: str) -> UserError:
        shown = printable(character)
        return UserError(
            f"'{printable(self.name)}': has no glyph for '{shown}' (U+{ord(character):04X}); take it out, or"
            " give another font"
        )

    def refuse_invisible(self, glyphs: Sequence[Placed], tolerance: float) -> None:
        """Refuse a character, other than a space, none of whose glyphs has an outline."""
        shown: dict[int, bool] = {}
        for one in glyphs:
            shown[one.place] = shown.get(one.place, False) or bool(self.lines(one.glyph, tolerance))
        for one in glyphs:
            if not shown[one.place] and unicodedata.category(one.character) not in ("Zs", "Cf"):
                raise UserError(
                    f"'{printable(self.name)}': shows '{one.character}' (U+{ord(one.character):04X}) by no"
                    " outline, as fonts of colours or pixels do; give another font"
                )

    def advance(self, glyph: str) -> float:
        return float(self.glyphs[glyph].width)

    def lines(self, glyph: str, tolerance: float) -> list[tuple[np.ndarray, bool]]:
        """Outlines of a glyph [units] within a tolerance; y points up."""
        key = glyph, tolerance
        if key not in self._lines:
            pen = FlatPen(tolerance)
            self.glyphs[glyph].draw(_font_pen(pen, self.glyphs))
            self._lines[key] = [(line, True) for line, _ in pen.lines if len(line) > 2]
        return self._lines[key]


def _font_pen(pen: FlatPen, glyphs: Any) -> Any:
    """The pen as fontTools calls it; all contours of a glyph are closed."""
    from fontTools.pens.basePen import BasePen

    class FontPen(BasePen):
        def _moveTo(self, point: Any) -> None:  # noqa: N802
            pen.move_to(point)

        def _lineTo(self, point: Any) -> None:  # noqa: N802
            pen.line_to(point)

        def _curveToOne(self, a: Any, b: Any, c: Any) -> None:  # noqa: N802
            pen.curve_to(a, b, c)

        def _qCurveToOne(self, a: Any, b: Any) -> None:  # noqa: N802
            pen.curve_to(a, b)

        def _closePath(self) -> None:  # noqa: N802
            pen.close()

        def _endPath(self) -> None:  # noqa: N802
            pen.close()

    return FontPen(glyphs)
