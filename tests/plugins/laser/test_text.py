"""Text as outlines: a font of rectangles, whose places and areas are known, with rules of kerning."""

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from fontTools.feaLib.builder import addOpenTypeFeaturesFromString
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib.tables.TupleVariation import TupleVariation

from minusgrad.errors import UserError
from minusgrad.scene.units import UnitSystem
from minusgrad_laser.drawings.drawing import Drawing
from minusgrad_laser.drawings.text.drawing import text_drawing

from .starts import made, target

pytestmark = pytest.mark.unit
needs_harfbuzz = pytest.mark.skipif(find_spec("uharfbuzz") is None, reason="needs uharfbuzz")
WIDTHS = {".notdef": 500, "space": 300, "H": 600, "O": 800, "V": 700, "H_O": 1000}
"""Advances in units, 1000 to the em."""
BARS = {
    "H": [(100, 0, 500, 700)],
    "O": [(100, 0, 700, 700), (200, 100, 600, 600)],
    "V": [(0, 0, 700, 700)],
    "H_O": [(0, 0, 1000, 500)],
}
"""Rectangles as left, bottom, right, top; the second one is a hole."""


def font(features: str = "", axes: bool = False) -> bytes:
    """H is a bar, O a ring; with `axes`, H is up to twice as wide by its weight."""
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(list(WIDTHS))
    builder.setupCharacterMap({32: "space", ord("H"): "H", ord("O"): "O", ord("V"): "V", 0x0627: "V"})
    glyphs = {}
    for name in WIDTHS:
        pen = TTGlyphPen(None)
        for k, (left, low, right, high) in enumerate(BARS.get(name, [])):
            corners = [(left, low), (left, high), (right, high), (right, low)]
            pen.moveTo(corners[0])
            for corner in corners[1:] if k == 0 else corners[:0:-1]:
                pen.lineTo(corner)
            pen.closePath()
        glyphs[name] = pen.glyph()
    builder.setupGlyf(glyphs)
    left = {name: bars[0][0] for name, bars in BARS.items() if bars}
    builder.setupHorizontalMetrics({name: (width, left.get(name, 0)) for name, width in WIDTHS.items()})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Bars", "styleName": "Regular"})
    if axes:
        builder.setupFvar([("wght", 100, 400, 900, "Weight")], [])
        wider = [(0, 0), (0, 0), (400, 0), (400, 0), (0, 0), (400, 0), (0, 0), (0, 0)]
        builder.setupGvar({"H": [TupleVariation({"wght": (0.0, 1.0, 1.0)}, wider)]})
    builder.setupOS2()
    builder.setupPost()
    if features:
        addOpenTypeFeaturesFromString(builder.font, features)
    data = BytesIO()
    builder.font.save(data)
    return data.getvalue()


KERNED = "feature kern { pos H V -200; } kern; feature liga { sub H O by H_O; } liga;"


def text(words: str, data: bytes | None = None, **keys: Any) -> Drawing:
    """A text of 10 mm, without kerning unless it is asked for."""
    options: dict[str, Any] = {"size": 0.01, "tolerance": 1e-6, "kerning": False}
    return text_drawing(words, "bars.ttf", data or font(), **options | keys)


def boxes(found: Drawing) -> list[tuple[float, ...]]:
    """Left, bottom, right, top of each outline [mm]."""
    return [
        tuple(np.round(1e3 * np.concatenate([one.points.min(axis=0), one.points.max(axis=0)]), 6).tolist())
        for one in found.outlines
    ]


def test_letters_stand_side_by_side() -> None:
    """At 10 mm to the em a unit is 10 um; the page begins where the ink does."""
    found = text("HO H")
    assert found.size == pytest.approx((0.021, 0.007))
    assert boxes(found) == [(0, 0, 4, 7), (6, 0, 12, 7), (7, 1, 11, 6), (17, 0, 21, 7)]
    assert [(o.closed, o.fill, o.stroke, o.piece) for o in found.outlines] == [
        (True, "#000000", None, 0), (True, "#000000", None, 1), (True, "#000000", None, 1),
        (True, "#000000", None, 3),
    ]  # fmt: skip
    assert found.remarks == ("letters stand side by side, without kerning",)


@pytest.mark.parametrize(("align", "left"), [("left", 0.0), ("centre", 8.5), ("right", 17.0)])
def test_lines_and_their_sides(align: str, left: float) -> None:
    """Lines of 6 + 8 + 3 + 6 and 6 mm, 12 mm apart, or as given."""
    found = boxes(text("HO H\nH", align=align))
    assert found[0] == (0, 12, 4, 19)
    assert found[-1] == (left, 0, left + 4, 7)
    assert boxes(text("H\nH", line_spacing=2.0))[0] == (0, 20, 4, 27)


def test_measures() -> None:
    assert text("H", measure="capitals").size == pytest.approx((0.01 * 4 / 7, 0.01))
    assert boxes(text("HH", letter_spacing=1e-3))[1] == (7, 0, 11, 7)
    assert boxes(text("HH", letter_spacing=-1e-3))[1] == (5, 0, 9, 7)


def test_axes_of_a_variable_font() -> None:
    data = font(axes=True)
    assert text("H", data).remarks[0] == "axes that are not given have their defaults: wght 400"
    assert text("H", data).size[0] == pytest.approx(4e-3)
    found = text("HH", data, axes={"wght": 900.0})
    assert boxes(found) == [(0, 0, 8, 7), (10, 0, 18, 7)], "4 mm more of width and of advance"
    assert text("H", data, axes={"wght": 650.0}).size[0] == pytest.approx(6e-3)


@needs_harfbuzz
def test_kerning_and_ligatures() -> None:
    data = font(KERNED)
    assert boxes(text("HV", data, kerning=True)) == [(0, 0, 4, 7), (3, 0, 10, 7)]
    assert boxes(text("HV", data)) == [(0, 0, 4, 7), (5, 0, 12, 7)]
    assert boxes(text("HO", data, kerning=True)) == [(0, 0, 10, 5)]
    assert boxes(text("HO", data, kerning=True, letter_spacing=1e-3))[0] == (0, 0, 4, 7)
    assert text("HV", data, kerning=True).remarks == ()


@needs_harfbuzz
def test_a_real_font_is_kerned_and_set_from_the_right() -> None:
    """DejaVu Sans: the advances less its kerning of A and V; Arabic letters join, the first on the right."""
    data = (Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf").read_bytes()
    tight, loose = text("AVA", data, kerning=True), text("AVA", data)
    assert tight.size[0] < loose.size[0] - 1e-3
    found = text("\u0633\u0644\u0627\u0645", data, kerning=True)
    assert len({one.piece for one in found.outlines}) == 3, "lam and alef are one"


@pytest.mark.parametrize("size", [None, [60, 40]])
def test_a_target_has_the_areas_of_its_letters(tmp_path: Path, size: Any) -> None:
    """A bar of 4 x 7 mm and a ring of 6 x 7 less 4 x 5 mm, on cells of 0.5 mm."""
    (tmp_path / "bars.ttf").write_bytes(font())
    state = made(
        tmp_path, UnitSystem.of("mm", "kg", "ms"), canvas={"size": size, "pixel": "0.5 mm"},
        target={"kind": "text", "text": "HO", "font": "bars.ttf", "size": "10 mm", "kerning": False,
                "margin": "1 mm"},
        path={"kind": "hatch", "pitch": "1 mm"},
    )  # fmt: skip
    found = target(state)
    assert found.sum() * 0.25 == pytest.approx(28 + 42 - 20)
    if size is None:
        assert found.shape == (14 + 4, 24 + 4)
        np.testing.assert_allclose(found[2:16, 2:10], 1.0)
        assert found[5, 20] == 0.0


REFUSED = {
    "a letter that is not there": (
        "HX", {}, "'bars.ttf': has no glyph for 'X' (U+0058); take it out, or give another font"),
    "an accent": (
        "H\u0301", {}, "text: '\u0301' (U+0301) is of a script whose letters join or move; set kerning ="
        " true, which takes HarfBuzz"),
    "a script": (
        "\u0627", {}, "text: '\u0627' (U+0627) is of a script whose letters join or move; set kerning = true,"
        " which takes HarfBuzz"),
    "two directions": (
        "\u0627 H", {}, "text: '\u0627 H' runs in both directions; give each part a line of its own"),
    "no letters": (" \n ", {}, "text: needs letters, got ' \\n '"),
    "a tab": ("H\tO", {}, "text: has the character U+0009, which no letter shows; take it out"),
    "an axis": (
        "H", {"axes": {"wght": 5.0}},
        "axes: 'bars.ttf' has no axis 'wght' (there are: none, it is no variable font)"),
    "a font that is none": ("H", {"data": b"hello"}, "'bars.ttf': is no font that can be read: "),
    "half of one": ("H", {"data": font()[:700]}, "'bars.ttf': is no font that can be read: "),
    "a collection": (
        "H", {"data": b"ttcf" + bytes(40)},
        "'bars.ttf': is a collection of fonts; give a font as TTF or OTF"),
    "a packed one": (
        "H", {"data": b"wOF2" + bytes(40)}, "'bars.ttf': is packed (WOFF2); give a font as TTF or OTF"),
    "too much": (10_001 * "H", {}, "text: has 10,001 characters; give 10,000 at most"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    words, keys, message = REFUSED[case]
    with pytest.raises(UserError) as refused:
        text(words, **keys)
    assert str(refused.value).startswith(message)


def test_values_of_axes_and_glyphs_without_outlines() -> None:
    with pytest.raises(UserError, match="axes: wght goes from 100 to 900, got 5"):
        text("H", font(axes=True), axes={"wght": 5.0})
    bare = font()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BARS, "O", [])
        bare = font()
    with pytest.raises(
        UserError, match=r"'bars.ttf': shows 'O' \(U\+004F\) by no outline, as fonts of colours"
    ):
        text("HO", bare)


def test_without_harfbuzz_kerning_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from minusgrad_laser.drawings.text import drawing

    monkeypatch.setattr(drawing, "find_spec", lambda name: None if name == "uharfbuzz" else True)
    with pytest.raises(UserError, match=r"kerning needs uharfbuzz: .*; or give kerning = false"):
        text("H", kerning=True)
