"""Pictures of SVG by resvg: exact areas of what browsers draw, fonts by files, tiles, remarks."""

import base64
import gzip
import io
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from fontTools.pens.areaPen import AreaPen
from fontTools.ttLib import TTFont
from PIL import Image

from minusgrad.errors import UserError
from minusgrad.plugin import StateContext, UnitSystem
from minusgrad_laser.canvas import CanvasTable
from minusgrad_laser.pictures import drawing
from minusgrad_laser.targets.svg import FromSvg

pytestmark = pytest.mark.unit
OPEN = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
PAGE = f'{OPEN} width="4mm" height="3mm" viewBox="0 0 40 30">'
"""Forty units wide, each 0.1 mm, which is a cell."""
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
SANS = (FONTS / "DejaVuSans.ttf").read_bytes()


def picture(text: str | bytes, remarks: list[str] | None = None, **keys: Any) -> np.ndarray:
    """The target of an SVG file with cells of 0.1 mm, top row first; remarks are appended to a list."""
    data = text if isinstance(text, bytes) else text.encode()
    names = [name.split("=")[-1] for name in keys.get("fonts", ())]
    fonts = {name: (FONTS / name).read_bytes() for name in names if (FONTS / name).exists()}
    files = {"a.svg": data, "b.ttf": b"no font at all"} | fonts
    context = StateContext(UnitSystem.of("mm", "kg", "ms"), 0, Path(), attached=files)
    found = FromSvg(kind="svg", file="a.svg", **keys).draw(CanvasTable(pixel="0.1 mm"), context)
    if remarks is not None:
        remarks += context.remarks
    return found[::-1]


def box(rows: tuple[int, int], columns: tuple[int, int], dark: float = 1.0) -> np.ndarray:
    """A page with one box of cells."""
    found = np.zeros((30, 40))
    found[slice(*rows), slice(*columns)] = dark
    return found


R = '<rect x="5" y="8" width="10" height="4"'
"""Turned by 90 degrees about (10, 10) it is 4 wide and 10 high."""
TURNED = box((5, 15), (8, 12))
CLIP = '<clipPath id="c"><rect x="6" y="9" width="3" height="2"/></clipPath>'
MASK = '<mask id="m"><rect x="5" y="8" width="4" height="4" fill="{}"/></mask>'
TILES = (
    '<pattern id="p" width="4" height="4" patternUnits="userSpaceOnUse">'
    '<rect width="2" height="4"/></pattern>'
)
GRADIENT = (
    '<linearGradient id="g"><stop stop-color="#000"/><stop offset="1" stop-color="#fff"/></linearGradient>'
)
MARKER = (
    '<marker id="e" markerUnits="userSpaceOnUse" markerWidth="4" markerHeight="4" refX="2" refY="2">'
    '<rect width="4" height="4"/></marker>'
)
INNER = f'{OPEN} width="4" height="4"><rect width="2" height="4"/></svg>'
EXACT = {
    "transform-origin as an attribute": (f'{R} transform="rotate(90)" transform-origin="10 10"/>', TURNED),
    "transform-origin of CSS": (
        f'{R} style="transform:rotate(90deg);transform-origin:10px 10px"/>', TURNED),
    "units of angles": (
        f'{R} style="transform: translate(10px,10px) rotate(0.25turn) translate(-10px, -10px)"/>', TURNED),
    "a transform by a style sheet": (
        f"<style>.t {{ transform: rotate(100grad) /* a quarter */; transform-origin: 10px 10px }}</style>"
        f'{R} class="t"/>', TURNED),
    "translateX, scaleY, matrix": (
        '<g style="transform:translateX(3px)"><g style="transform:scaleY(200%)">'
        '<rect width="2" height="2" style="transform:matrix(1,0,0,1,1px,1px)"/></g></g>',
        box((2, 6), (4, 6))),
    "a style sheet": (
        "<style>rect { fill: none } g > .a { fill: black } #b { fill: white } "
        "rect[x='20'] { fill: #000 }</style>"
        f'<g>{R} class="a"/></g><rect id="b" x="5" y="8" width="10" height="4" style="opacity:0"/>',
        box((8, 12), (5, 15))),
    "a style sheet below": (
        f'{R} fill="none" class="a"/><style>.a{{fill:black}}</style>', box((8, 12), (5, 15))),
    "a colour of its own": (
        f'<g color="#000">{R} fill="CurrentColor"/></g>', box((8, 12), (5, 15))),
    "a clip": (f'{CLIP}<g clip-path="url(#c)">{R}/></g>', box((9, 11), (6, 9))),
    "a white mask": (f'{MASK.format("#fff")}{R} mask="url(#m)"/>', box((8, 12), (5, 9))),
    "a pattern": (f'{TILES}<rect x="4" width="12" height="3" fill="url(#p)"/>', sum(
        box((0, 3), (k, k + 2)) for k in (4, 8, 12))),
    "dashes": (
        '<path d="M4,3 h20" stroke="black" stroke-width="2" stroke-dasharray="3 2" stroke-dashoffset="1"/>',
        sum(box((2, 4), span) for span in ((4, 6), (8, 11), (13, 16), (18, 21), (23, 24)))),
    "a marker": (
        f'{MARKER}<path d="M4,9 h8" stroke="black" stroke-width="2" marker-end="url(#e)"/>',
        np.maximum(box((8, 10), (4, 12)), box((7, 11), (10, 14)))),
    "a symbol": (
        '<symbol id="s" viewBox="0 0 2 2"><rect width="1" height="2"/></symbol>'
        '<use href="#s" x="4" y="6" width="8" height="8"/>', box((6, 14), (4, 8))),
    "a switch": (
        f'<switch><foreignObject/><g systemLanguage="xx">{R}/></g><rect width="3" height="3"/></switch>',
        box((0, 3), (0, 3))),
    "a page within": (
        '<svg x="10" y="10" width="8" height="8" viewBox="0 0 2 2"><rect width="9" height="1"/></svg>',
        box((10, 14), (10, 18))),
    "percentages": ('<rect x="25%" y="10%" width="50%" height="20%"/>', box((3, 9), (10, 30))),
    "places of a style": ('<rect width="4" height="3" style="x:6px;y:2px"/>', box((2, 5), (6, 10))),
    "the nearest pixel": (
        '<image width="4" height="4" style="image-rendering:pixelated" href="{png}"/>',
        box((0, 2), (2, 4)) + box((2, 4), (0, 2))),
    "a drawing in a drawing": (
        '<image x="8" y="8" width="8" height="8" href="data:image/svg+xml;base64,{svg}"/>',
        box((8, 16), (8, 12))),
    "an evenodd clip": (
        '<clipPath id="c"><path clip-rule="evenodd" d="M0,0h9v9h-9zM3,3h3v3h-3z"/></clipPath>'
        '<rect width="9" height="9" clip-path="url(#c)"/>', box((0, 9), (0, 9)) - box((3, 6), (3, 6))),
    "a flood": (
        '<filter id="f" x="0" y="0" width="1" height="1"><feFlood flood-color="#000"/></filter>'
        f'{R} fill="#fff" filter="url(#f)"/>', box((8, 12), (5, 15))),
    "a shifted shadow": (
        '<filter id="f" filterUnits="userSpaceOnUse" x="0" y="0" width="40" height="30">'
        f'<feOffset dx="3" dy="2"/></filter>{R} filter="url(#f)"/>', box((10, 14), (8, 18))),
}  # fmt: skip


def png_link(pixels: list[list[int]]) -> str:
    """A grey picture as a `data:` URI."""
    file = io.BytesIO()
    Image.fromarray(np.array(pixels, np.uint8)).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


@pytest.mark.parametrize("case", EXACT)
def test_exact_cells(case: str) -> None:
    text, expected = EXACT[case]
    text = text.replace("{png}", png_link([[255, 0], [0, 255]]))
    text = text.replace("{svg}", base64.b64encode(INNER.encode()).decode())
    remarks: list[str] = []
    np.testing.assert_allclose(picture(f"{PAGE}{text}</svg>", remarks), expected, atol=2e-3)
    assert remarks == []


def test_shapes_of_curves() -> None:
    """An ellipse with one radius is a circle; a round clip; a page of Inkscape's kind, entities and all."""
    circle = picture(f'{PAGE}<ellipse cx="15" cy="15" rx="9"/></svg>').sum()
    assert circle == pytest.approx(np.pi * 81, rel=2e-3)
    clip = '<clipPath id="c"><circle cx="15" cy="15" r="9"/></clipPath>'
    clipped = picture(f'{PAGE}{clip}<rect width="40" height="30" clip-path="url(#c)"/></svg>').sum()
    assert clipped == pytest.approx(np.pi * 81, rel=4e-3)
    rect = "<rect width='9' height='2'/>"
    entity = f'<!DOCTYPE svg [<!ENTITY s "http://www.w3.org/2000/svg"><!ENTITY r "{rect}">]>'
    text = f'{entity}<svg xmlns="&s;" width="4mm" height="3mm" viewBox="0 0 40 30">&r;<metadata/></svg>'
    np.testing.assert_allclose(picture(text), box((0, 2), (0, 9)), atol=2e-3)
    np.testing.assert_array_equal(picture(gzip.compress(text.encode())), picture(text))
    latin = f'<?xml version="1.0" encoding="ISO-8859-1"?>{text}'.replace("<metadata/>", "<desc>\u00e9</desc>")
    np.testing.assert_array_equal(picture(latin.encode("latin-1")), picture(text))


def test_greys() -> None:
    """A gradient, the opacity of a group, a grey mask: darkness 1 - light over white, times coverage."""
    found = picture(f'{PAGE}{GRADIENT}<rect width="40" height="30" fill="url(#g)"/></svg>')
    expected = np.broadcast_to(1.0 - (np.arange(40) + 0.5) / 40, (30, 40))
    np.testing.assert_allclose(found, expected, atol=1.0 / 255)
    pair = '<rect width="4" height="4"/><rect x="2" width="4" height="4"/>'
    found = picture(f'{PAGE}<g opacity="0.5">{pair}</g></svg>')
    np.testing.assert_allclose(found, box((0, 4), (0, 6), 0.5), atol=3e-3)
    found = picture(f'{PAGE}{MASK.format("#808080")}{R} style="mask:url(#m)"/></svg>')
    np.testing.assert_allclose(found, box((8, 12), (5, 9), 128 / 255), atol=3e-3)


def test_text_has_the_area_of_its_outlines() -> None:
    font, unit = TTFont(io.BytesIO(SANS)), TTFont(io.BytesIO(SANS))["head"].unitsPerEm
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    area = 0.0
    for letter in "Hi":
        pen = AreaPen(glyphs)
        glyphs[names[ord(letter)]].draw(pen)
        area += abs(pen.value)
    text = f'{PAGE}<text x="3" y="25" font-family="DejaVu Sans" font-size="25">Hi</text></svg>'
    found = picture(text, fonts=["DejaVuSans.ttf"])
    assert found.sum() == pytest.approx(area * (25 / unit) ** 2, rel=3e-3)
    assert found[:6].sum() == 0.0


GENERIC = {"sans-serif": "DejaVuSans.ttf", "serif": "DejaVuSerif.ttf", "monospace": "DejaVuSansMono.ttf"}


@pytest.mark.parametrize("family", GENERIC)
def test_generic_families_are_what_fonts_say(family: str) -> None:
    """In whichever order; without such a font the text is refused."""
    text = f'{PAGE}<text x="1" y="25" font-size="25" font-family="{{}}">Rg</text></svg>'
    own = GENERIC[family]
    name = TTFont(FONTS / own)["name"].getBestFamilyName()
    alone = picture(text.format(name), fonts=[own])
    fonts = sorted(GENERIC.values())
    np.testing.assert_array_equal(picture(text.format(family), fonts=fonts), alone)
    np.testing.assert_array_equal(picture(text.format(f"Courier New, {family}"), fonts=fonts[::-1]), alone)
    others = [font for font in fonts if font != own]
    with pytest.raises(UserError, match=rf"needs a font of the family {family}, got "):
        picture(text.format(family), fonts=others)
    script = picture(text.format("cursive"), fonts=[*others, f"cursive={own}"])
    np.testing.assert_array_equal(script, alone)


def test_fonts_that_are_missing() -> None:
    text = f'{PAGE}\n<text x="1" y="25" font-size="20" font-family="{{}}">{{}}</text></svg>'
    wanted = (
        "'a.svg':2: element <text>: needs a font of the family \"Arial\", got 'DejaVu Sans'; give its file by"
    )
    with pytest.raises(UserError) as refused:
        picture(text.format("Arial", "a"), fonts=["DejaVuSans.ttf"])
    assert str(refused.value) == wanted + " fonts (--font), or convert text to paths"
    with pytest.raises(UserError, match=r"^'a\.svg': no font has the character .*; give a font that does"):
        picture(text.format("DejaVu Sans", "\u6c34"), fonts=["DejaVuSans.ttf"])
    with pytest.raises(UserError, match=r"^'b\.ttf': is no font that can be read"):
        picture(text.format("Arial", "a"), fonts=["b.ttf"])
    hidden = text.format("Arial", "a").replace("<text", '<rect width="9" height="9"/><text display="none"')
    np.testing.assert_allclose(picture(hidden), box((0, 9), (0, 9)), atol=2e-3)
    remarks: list[str] = []
    picture(
        text.format("DejaVu Sans Mono", "\u2654\u0e3f a"),
        remarks,
        fonts=["DejaVuSansMono.ttf", "DejaVuSans.ttf"],
    )
    assert remarks in ([], ["'a.svg': Fallback from DejaVu Sans Mono to DejaVu Sans"])


REMARKS = {
    "a width that is none": (
        '<rect width="9" height="9"/>\n<rect width="5vw" height="5"/>',
        ["'a.svg':2: Failed to parse width value: '5vw'",
         "'a.svg':2: Rect has an invalid 'width' value. Skipped"]),
    "a path with an error": (
        '<rect width="9" height="9"/>\n<path d="M0 0 h5 v5 L x"/>',
        ["'a.svg':2: a path is drawn up to its error: invalid number at position 14"]),
    "an odd number of points": (
        '<polygon points="0,0 9,0 9,9 0,9 4"/>',
        ["'a.svg':1: element <polygon>: its points are pairs of numbers, and the last has none; it "
         "is left out"]),
    "what is not there": (
        '<rect width="9" height="9"/>\n<use href="#a"/>\n<rect width="5" height="5" fill="url(#b)"/>',
        ["'a.svg':2: element <use>: nothing has the id 'a'",
         "'a.svg':3: element <rect>: nothing has the id 'b'"]),
    "an animation": (
        '<rect width="9" height="9">\n<animate attributeName="x"/></rect>',
        ["'a.svg':2: element <animate>: a drawing stands still, and is drawn as it begins"]),
    "a marker of itself": (
        '<rect width="9" height="9"/><marker id="m"><path d="M1 1 2 2" marker-end="url(#m)"/></marker>'
        '<path d="M1 1 2 2" marker-end="url(#m)"/>',
        ["'a.svg': Recursive marker detected: m"]),
    "rules for paper": (
        '<style>@media print { rect { fill: none } }</style><rect width="9" height="9"/>',
        ["'a.svg': The @media rule is not supported. Skipped"]),
    "a transform that is none": (
        '<rect width="9" height="9" transform="turn"/>',
        ["'a.svg':1: Failed to parse transform value: 'turn'"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REMARKS)
def test_remarks(case: str) -> None:
    """What a standard says how to draw is drawn so, and said."""
    text, expected = REMARKS[case]
    remarks: list[str] = []
    found = picture(f"{PAGE}{text}</svg>", remarks)
    assert remarks == expected
    np.testing.assert_allclose(found, box((0, 9), (0, 9)), atol=2e-3)


def test_many_remarks_are_shortened() -> None:
    remarks: list[str] = []
    uses = "".join(f'<use href="#n{k}"/>' for k in range(30))
    picture(f'{PAGE}<rect width="9" height="9"/>{uses}</svg>', remarks)
    assert len(remarks) == 11
    assert remarks[-1] == "'a.svg': 20 remarks more"


REFUSED = {
    "an effect on strokes": (
        f'{R} vector-effect="non-scaling-stroke"/>',
        "<rect>: vector-effect 'non-scaling-stroke' is not drawn: strokes are scaled with their shapes;"),
    "a turn of its own": (f'{R} style="rotate:45deg"/>', "<rect>: rotate '45deg' is not drawn: write it as"),
    "a box of the transform": (
        f'{R} style="transform:scale(2);transform-box:fill-box"/>',
        "<rect>: transform-box 'fill-box' is not"),
    "a transform in space": (f'{R} style="transform:rotate3d(1,1,1,9deg)"/>', "<rect>: transform 'rotate3d"),
    "a variable": (
        f'<style>rect {{ fill: var(--ink) }}</style>{R}/>',
        "<style>: fill 'var(--ink)': var() is not"),
    "a later colour": (
        f'{R} fill="oklch(0.5 0.1 20)"/>',
        "<rect>: fill 'oklch(0.5 0.1 20)' is not understood;"),
    "a colour with a slash": (
        f'{R} style="fill:rgb(0 0 0 / 50%)"/>',
        "<rect>: fill 'rgb(0 0 0 / 50%)' is not"),
    "rules for some widths": (
        f"<style>@media (max-width: 9px) {{ rect {{ fill: none }} }}</style>{R}/>",
        "<style>: @media (max-width"),
    "a place by a style sheet": (
        f"<style>rect {{ x: 5px }}</style>{R}/>",
        "<style>: x '5px' is not taken from"),
    "two widths": (
        f'{R} style="width:3px"/>',
        "<rect>: its width is '10', and '3px' by its style; leave one"),
    "capitals by a style": (
        '<text style="text-transform:uppercase">a</text>',
        "<text>: text-transform 'uppercase' is not drawn:"),
    "lengths of a circle": (
        '<circle r="9" pathLength="1"/>',
        "<circle>: pathLength is drawn of paths alone;"),
    "a mesh": ("<meshgradient/>", "<meshgradient>: meshes of colours are not drawn; give the shape a plain"),
    "a picture in the file of another": (
        '<image width="9" height="9" href="file:///etc/passwd"/>',
        "<image>: refers to 'file:///etc/passwd';"),
}  # fmt: skip


DAMAGED = {
    "numbers without end": (
        '<path d="M0 0 L1e39 5 z"/>', "'a.svg':1: element <path>: d: '1e39' is beyond 1e+12; correct it"),
    "dashes without end": (
        '<path d="M0 5 H20" stroke="#000" stroke-dasharray="1e-6"/>',
        "'a.svg': is not drawn as it is meant: path dashing failed; correct it"),
    "a chain of uses": (
        "<defs>" + "".join(f'<g id="g{k}"><use href="#g{k + 1}"/></g>' for k in range(3000))
        + '<g id="g3000"><rect width="5" height="5"/></g></defs><use href="#g0"/>',
        "'a.svg': resvg cannot draw it: SVG data parsing failed cause nodes limit reached; simplify"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_what_cannot_be_drawn_within_bounds_is_refused(case: str) -> None:
    text, message = DAMAGED[case]
    with pytest.raises(UserError) as refused:
        picture(f"{PAGE}{text}</svg>")
    assert str(refused.value).startswith(message)


def test_what_cannot_be_placed_is_refused() -> None:
    rect = '<rect x="1e8" y="1e8" width="5" height="5"/></svg>'
    with pytest.raises(
        UserError, match=r"^'a\.svg': its viewBox is so far from 0 that coordinates are off by"
    ):
        picture(f'{OPEN} width="4mm" height="3mm" viewBox="1e8 1e8 40 30">{rect}')
    with pytest.raises(UserError, match=r"^'a\.svg':1: encoding 'koi8-r' is not read; save as UTF-8"):
        picture(f'<?xml version="1.0" encoding="koi8-r"?>{PAGE}{rect}')


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_be_drawn_otherwise_is_refused(case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(UserError) as refused:
        picture(f"{PAGE}{text}</svg>")
    assert str(refused.value).startswith(f"'a.svg':1: element {message}")


def test_a_damaged_picture_inside_is_refused() -> None:
    link = png_link([[255, 0], [0, 255]])[:-40]
    with pytest.raises(UserError, match=r"^'a\.svg': a picture in it is no PNG"):
        picture(f'{PAGE}<image width="9" height="9" href="{link}"/></svg>')


def test_entities_of_entities_are_refused() -> None:
    """A billion laughs."""
    rows = "".join(f'<!ENTITY a{k + 1} "{10 * f"&a{k};"}">' for k in range(9))
    with pytest.raises(UserError) as refused:
        picture(f'<!DOCTYPE svg [<!ENTITY a0 "ha">{rows}]>{PAGE}<desc>&a9;</desc></svg>')
    assert str(refused.value).startswith("'a.svg'")


TILED = {
    "lines": (f'<path d="M3 3 L35 22" stroke="black" stroke-width="0.7"/>{R} transform="rotate(3)"/>', 2e-3),
    "a gradient": (
        f'{GRADIENT}<rect width="40" height="9" fill="url(#g)"/>', 1e-6),
    "layers": (
        f'{CLIP}<g opacity="0.7"><circle cx="9" cy="9" r="7"/></g><g clip-path="url(#c)">{R}/></g>', 1e-6),
    "a mask": (f'{MASK.format("#888")}{R} mask="url(#m)"/>', 1e-6),
    "a pattern": (f'{TILES}<rect y="20" width="37" height="7" fill="url(#p)"/>', 1e-6),
    "curves, whose chords depend on where they are cut": (
        '<circle cx="20" cy="15" r="9.3" fill="none" stroke="#333"/>', 2e-2),
}  # fmt: skip


@pytest.mark.parametrize("case", TILED)
def test_tiles_are_parts_of_the_whole(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, bound = TILED[case]
    ask: dict[str, Any] = {
        "dpi": 96.0, "size": [40.0, 30.0], "cells": [50, 70], "scale": 1.5, "corner": [-2.0, -1.5],
        "window": [0.0, 0.0, 40.0, 30.0], "fonts": {},
    }  # fmt: skip
    data = f"{PAGE}{text}</svg>".encode()
    whole = drawing.drawn("a.svg", data, **ask)["dark"]
    for side in (60, 24):
        monkeypatch.setattr(drawing, "TILE", side)
        monkeypatch.setattr(drawing, "PART_OF_LAYERED", side)
        tiles = drawing.drawn("a.svg", data, **ask)["dark"]
        np.testing.assert_allclose(tiles, whole, atol=bound)
        assert abs(tiles - whole).mean() < 3e-4


def test_sizes_of_pages() -> None:
    """Lengths keep theirs at any resolution; one side follows from the other; a page ends with its shapes."""
    square = '<rect width="50%" height="100%"/></svg>'
    assert picture(f'{OPEN} width="4mm" height="3mm">{square}', dpi=300.0).shape == (30, 40)
    assert picture(f'{OPEN} width="4mm" viewBox="0 0 8 6">{square}').shape == (30, 40)
    assert picture(f'{OPEN} height="12Q" viewBox="0 0 8 6">{square}').shape == (30, 40)
    bare = picture(f'{OPEN}><rect x="10" y="5" width="30" height="25"/></svg>', width="4 mm")
    np.testing.assert_allclose(bare, box((5, 30), (10, 40)), atol=2e-3)
    wide = f'{OPEN} width="4mm" height="3mm" viewBox="0 0 10 10"><rect width="10" height="10"/></svg>'
    np.testing.assert_allclose(picture(wide), box((0, 30), (5, 35)), atol=2e-3)
    ground = f'{OPEN} width="4mm" height="3mm" style="background:#000"><rect width="1" height="1"/></svg>'
    np.testing.assert_allclose(picture(ground, margin="0.2 mm"), np.pad(np.ones((30, 40)), 2), atol=2e-3)


@pytest.mark.parametrize("shape", ["", 'transform="rotate(30 20 15)"'])
def test_a_crop_is_the_box_of_what_is_drawn(shape: str) -> None:
    """A tilted bar with a stroke, half of it beside the page: a box of a cos + b sin, and its area."""
    bar = f'<rect x="28" y="12" width="20" height="6" stroke="black" stroke-width="1" {shape}/>'
    found = picture(f"{PAGE}{bar}</svg>", crop=True)
    angle = np.deg2rad(30 if shape else 0)
    size = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ [21.0, 7.0]
    assert found.shape[::-1] == tuple(np.ceil(size - 1e-3).astype(int))
    assert found.sum() == pytest.approx(21 * 7, rel=2e-3)
