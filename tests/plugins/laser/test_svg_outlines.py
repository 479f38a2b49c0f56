"""Outlines of SVG by hand: places, colours, layers; what is resolved by the rules of SVG 2, or refused."""

import math
from typing import Any

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_laser.drawings.drawing import Drawing, Outline
from minusgrad_laser.drawings.svg.reading import read_svg

pytestmark = pytest.mark.unit
SPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"'
PAGE = f'<svg {SPACES} width="40mm" height="30mm" viewBox="0 0 40 30">\n'
"""A unit is a millimetre."""
TOLERANCE = 1e-6


def read(body: str, page: str = PAGE, **keys: Any) -> Drawing:
    return read_svg("a.svg", (page + body + "</svg>").encode(), **{"tolerance": TOLERANCE} | keys)


def boxes(body: str, page: str = PAGE, **keys: Any) -> list[tuple[float, ...]]:
    """Left, top, right, bottom of each outline [mm], as SVG counts: y downwards."""
    found = read(body, page, **keys)
    height = found.size[1]
    return [
        tuple(np.round(1e3 * np.array([x0, height - y1, x1, height - y0]), 3).tolist())
        for x0, y0, x1, y1 in ([*o.points.min(axis=0), *o.points.max(axis=0)] for o in found.outlines)
    ]


def area(outline: Outline) -> float:
    """Of a closed outline [mm^2]."""
    x, y = 1e3 * outline.points.T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2.0


BOX = '<rect x="5" y="8" width="10" height="4"/>'
PLACES = {
    "as it stands": (BOX, (5, 8, 15, 12)),
    "an origin": (BOX[:-2] + ' transform="rotate(90)" transform-origin="10 10"/>', (8, 5, 12, 15)),
    "an origin in a style": (
        BOX[:-2] + ' style="transform:rotate(90deg);transform-origin:10px 10px"/>', (8, 5, 12, 15)),
    "an origin in percent": (
        '<rect x="18" y="14" width="4" height="2" transform="rotate(.25turn)"'
        ' style="transform-origin:50% 50%;transform:rotate(.25turn)"/>', (19, 13, 21, 17)),
    "an origin in words": (
        '<rect x="30" y="20" width="10" height="10" transform="scale(.5)" transform-origin="bottom right"/>',
        (35, 25, 40, 30)),
    "a list": (BOX[:-2] + ' transform="translate(1,2) scale(2 .5)"/>', (11, 6, 31, 8)),
    "a matrix without commas": (BOX[:-2] + ' transform="matrix(1 0 0 1 1-2)"/>', (6, 6, 16, 10)),
    "a rotation about a point": (BOX[:-2] + ' transform="rotate(180 10 10)"/>', (5, 8, 15, 12)),
    "one radius": ('<ellipse cx="10" cy="10" rx="6"/>', (4, 4, 16, 16)),
    "the other radius": ('<ellipse cx="10" cy="10" rx="auto" ry="6"/>', (4, 4, 16, 16)),
    "percentages": ('<rect x="50%" y="10%" width="25%" height="50%"/>', (20, 3, 30, 18)),
    "a radius in percent": (
        '<circle cx="20" cy="15" r="20%"/>',
        tuple(np.round([20 - 5 * math.sqrt(2), 15 - 5 * math.sqrt(2), 20 + 5 * math.sqrt(2),
                        15 + 5 * math.sqrt(2)], 3))),
    "units": (
        '<rect x="1px" y="72pt" width="6pc" height="1in" transform="scale(0.1)"/>', (0.1, 9.6, 9.7, 19.2)),
    "ems": ('<g font-size="5"><rect x="1em" y="8" width="2em" height="4"/></g>', (5, 8, 15, 12)),
    "a use": (f'<defs><g id="a">{BOX}</g></defs><use href="#a" x="3" y="1" transform="scale(2)"/>',
              (16, 18, 36, 26)),
    "a page within": (
        '<svg x="10" y="5" width="20" height="10" viewBox="0 0 4 4"><rect width="4" height="4"/></svg>',
        (15, 5, 25, 15)),
    "a stretched page within": (
        '<svg x="10" y="5" width="20" height="10" viewBox="0 0 4 4" preserveAspectRatio="none">'
        '<rect width="50%" height="100%"/></svg>', (10, 5, 20, 15)),
    "a symbol": (
        '<symbol id="s" viewBox="0 0 2 1"><rect width="2" height="1"/></symbol>'
        '<use href="#s" x="4" y="2" width="10" height="10"/>', (4, 4.5, 14, 9.5)),
    "a switch": (
        '<switch><g requiredExtensions="http://x"><circle r="1"/></g>'
        f'<g systemLanguage="de"><circle r="2"/></g>{BOX}<circle r="3"/></switch>', (5, 8, 15, 12)),
    "a clip that cuts nothing": (
        f'<clipPath id="c"><rect width="40" height="30"/></clipPath><g clip-path="url(#c)">{BOX}</g>',
        (5, 8, 15, 12)),
    "an entity": ("<g>&b;</g>", (5, 8, 15, 12)),
}  # fmt: skip


@pytest.mark.parametrize("case", PLACES)
def test_places(case: str) -> None:
    body, box = PLACES[case]
    page = f"<!DOCTYPE svg [<!ENTITY b '{BOX}'>]>" + PAGE if case == "an entity" else PAGE
    assert boxes(body, page) == [pytest.approx(box, abs=2e-3)]


PAGES = {
    "millimetres": ('width="40mm" height="30mm"', {}, (40, 30)),
    "millimetres are those of any dpi": ('width="40mm" height="30mm"', {"dpi": 72.0}, (40, 30)),
    "px": ('width="96" height="48px"', {}, (25.4, 12.7)),
    "px at 72 dpi": ('width="72" height="36"', {"dpi": 72.0}, (25.4, 12.7)),
    "a width that is given": ('width="40mm" height="30mm"', {"width": 0.1}, (100, 75)),
    "the box": ('viewBox="0 0 20 10"', {"width": 0.1}, (100, 50)),
    "percent": ('width="100%" height="100%" viewBox="0 0 20 10"', {"width": 0.1}, (100, 50)),
}


@pytest.mark.parametrize("case", PAGES)
def test_pages(case: str) -> None:
    words, keys, size = PAGES[case]
    found = read('<rect width="50%" height="100%"/>', f"<svg {SPACES} {words}>", **keys)
    assert np.multiply(found.size, 1e3) == pytest.approx(size)
    assert np.ptp(found.outlines[0].points, axis=0) * 1e3 == pytest.approx([size[0] / 2, size[1]])


def test_a_box_lies_in_its_page() -> None:
    """Twice as wide as its box: in the middle, or at a side, or cut to its height."""
    for words, box in {
        "": (10, 0, 30, 20), 'preserveAspectRatio="xMinYMid"': (0, 0, 20, 20),
        'preserveAspectRatio="xMaxYMax meet"': (20, 0, 40, 20), 'preserveAspectRatio="none"': (0, 0, 40, 20),
        'preserveAspectRatio="xMidYMin slice"': (0, 0, 40, 40),
    }.items():  # fmt: skip
        page = f'<svg {SPACES} width="40mm" height="20mm" viewBox="2 3 10 10" {words}>'
        assert boxes('<rect x="2" y="3" width="10" height="10"/>', page) == [pytest.approx(box)]


COLOURS = {
    "a name": ('fill="RebeccaPurple"', "#663399"),
    "three digits": ('fill="#F0a"', "#ff00aa"),
    "eight digits": ('fill="#01020380"', "#010203"),
    "numbers": ('fill="rgb(255, 12.4,300)"', "#ff0cff"),
    "percent": ('fill="rgb(100%, 50%, 0%)"', "#ff8000"),
    "as CSS 4 writes it": ('style="fill:rgb(1 2 3 / 50%)"', None),
    "hsl": ('fill="hsl(120, 100%, 25%)"', "#008000"),
    "hsl by turns": ('fill="hsl(.5turn 100% 50%)"', "#00ffff"),
    "hwb": ('fill="hwb(0 20% 40%)"', "#993333"),
    "of the text": ('fill="currentColor" color="red"', "#ff0000"),
    "of the text within": ('style="fill:currentcolor" class="t"', "#00ff00"),
    "a fallback": ('fill="url(#no) blue"', "#0000ff"),
    "from the group": ("", "#123456"),
    "initial": ('style="fill:initial"', "#000000"),
    "inherit": ('fill="inherit"', "#123456"),
    "a class": ('class="a"', "#010101"),
    "two classes": ('class="a b"', "#020202"),
    "an id": ('class="b" id="i"', "#030303"),
    "important": ('class="a c" style="fill:red"', "#040404"),
    "a style before a class": ('class="a" style="fill:red"', "#ff0000"),
    "a class before an attribute": ('class="a" fill="red"', "#010101"),
    "below a group": ('class="d"', "#050505"),
    "an attribute": ('data-k="x-1"', "#060606"),
}
SHEET = (
    '<style>@charset "utf-8";'
    ".a{fill:#010101} .b,.z{fill:#020202}/* no */ #i{fill:#030303} .c{fill:#040404!important}"
    " .a{stroke:none} g .d{fill:#050505} g > circle .d{fill:red} [data-k|=x]{fill:#060606}"
    " .t{color:#0f0} rect:hover{fill:red} @font-face{src:url(x)}</style>"
)


@pytest.mark.parametrize("case", COLOURS)
def test_colours(case: str) -> None:
    words, colour = COLOURS[case]
    body = f'<g fill="#123456"><rect width="9" height="9" {words}/></g>{SHEET}'
    if colour is None:
        with pytest.raises(UserError, match=r"colour 'rgb.1 2 3 / 50%.' is not resolved; give it as #rrggbb"):
            read(body)
    else:
        assert read(body).outlines[0].fill == colour


def test_strokes_and_fills_of_a_piece() -> None:
    """Two subpaths are one piece; an open line has a stroke; one that ends where it begins is closed."""
    body = (
        '<path d="M1,1 h8 v8 h-8 z M3,3 v4 h4 v-4 z" fill="red" stroke="#00F" fill-rule="evenodd"/>'
        '<g fill="none" stroke="lime"><path d="M1,20 h5"/><path d="M1,20 h5 v5 L1,20"/></g>'
    )
    found = read(body).outlines
    assert [(o.fill, o.stroke, o.closed, o.piece, o.rule) for o in found] == [
        ("#ff0000", "#0000ff", True, 0, "evenodd"), ("#ff0000", "#0000ff", True, 0, "evenodd"),
        (None, "#00ff00", False, 1, "nonzero"), (None, "#00ff00", True, 2, "nonzero"),
    ]  # fmt: skip
    assert [len(o.points) for o in found] == [4, 4, 2, 3]


def test_what_is_not_seen_is_left_out() -> None:
    body = (
        f'<g display="none">{BOX}<text>a</text></g><g visibility="hidden">{BOX}<g visibility="visible">'
        '<circle r="5" cx="9" cy="9"/></g></g><g opacity="0"><image href="a.png"/></g>'
        f'<g style="display:none;display:inline" fill="none">{BOX}</g><rect width="5" height="-3"/>'
        '<rect width="5"/><path d="M3,3"/><rect fill-opacity="0" width="9" height="9"/>'
        '<rect x="50" width="5" height="5"/><g transform="scale(0)"><circle r="3"/></g>'
        '<sodipodi:a xmlns:sodipodi="x"><rect width="1" height="1"/></sodipodi:a><foo><circle r="2"/></foo>'
    )
    found = read(body)
    assert len(found.outlines) == 1
    assert found.outlines[0].points.mean(axis=0) == pytest.approx([0.009, 0.021])
    assert found.remarks == (
        "line 2: element <rect>: has a negative size and is not drawn",
        "line 2: element <foo>: is not known and not drawn", "1 shapes lie beyond the page, and are left out",
    )  # fmt: skip


def test_a_page_without_anything_says_what_was_left_out() -> None:
    with pytest.raises(UserError) as refused:
        read('<path d="M1,1 h5" fill="none" stroke="red" stroke-width="0"/>')
    assert str(refused.value) == (
        "'a.svg': there is nothing to draw: no shape has a fill or a stroke on the page (line 2: element"
        " <path>: has a stroke of width 0, which draws nothing); give one a stroke"
    )
    with pytest.raises(UserError, match=r"on the page \(1 shapes lie beyond the page, and are left out\)"):
        read('<rect x="50" width="5" height="5"/>')


def test_layers() -> None:
    """Of Inkscape the innermost label, else the id of the outermost group; a shape in none has none."""
    body = (
        '<g inkscape:groupmode="layer" inkscape:label="Engrave" id="layer1"><rect width="1" height="1"/>'
        '<g inkscape:groupmode="layer" inkscape:label="Fine"><rect width="1" height="1"/>'
        '<g id="g5"><rect width="1" height="1"/></g></g></g><g><g id="Cut"><g id="inner">'
        '<rect width="1" height="1"/></g></g></g><rect width="1" height="1"/>'
    )
    found = read(body)
    assert [o.layer for o in found.outlines] == ["Engrave", "Fine", "Fine", "Cut", ""]
    assert [one.name for one in found.layers] == ["Engrave", "Fine", "Cut"]


def test_what_is_on_other_layers_is_not_looked_at() -> None:
    body = (
        f'<clipPath id="c"><rect width="40" height="30"/></clipPath><g id="Cut" clip-path="url(#c)">{BOX}</g>'
        f'<g id="Notes" clip-path="url(#c)"><text>a</text>{BOX}</g>'
    )
    found = read(body, layers=["Cut"])
    assert [o.layer for o in found.outlines] == ["Cut"]
    with pytest.raises(UserError, match="element <text>: text needs a font"):
        read(body)
    with pytest.raises(
        UserError, match=r"^'a\.svg': no shape is on a layer 'cut' \(there are: 'Cut', 'Notes'\)"
    ):
        read(body, layers=["cut"])


def test_elements_that_are_left_out() -> None:
    body = f"{BOX}<text>a</text><image/>"
    found = read(body, without=["text", "image"])
    assert len(found.outlines) == 1
    assert found.remarks == ("elements <text> are left out", "elements <image> are left out")
    with pytest.raises(UserError, match="element <image>: pictures inside"):
        read(body, without=["text"])
    with pytest.raises(UserError, match="without: needs some of text, image, foreignObject, got 'path'"):
        read(body, without=["path"])


def test_curves_deviate_by_the_tolerance_at_most() -> None:
    """A circle, an arc and two Bezier curves against their formulas, at two tolerances."""
    for tolerance in (1e-4, 1e-6):
        found = read(
            '<circle cx="20" cy="15" r="10"/><path d="M5,15 a10,5 30 0 1 20,0" fill="none" stroke="red"/>'
            '<path d="M0,0 C0,40 40,-10 40,30" fill="none" stroke="red"/>',
            tolerance=tolerance,
        )
        circle, arc, cubic = (o.points for o in found.outlines)
        chord = np.hypot(*(circle - np.roll(circle, 1, axis=0)).T).max()
        assert 0.25 * tolerance < 0.01 - math.sqrt(0.01**2 - chord**2 / 4) <= tolerance
        assert np.hypot(*(circle - [0.02, 0.015]).T) == pytest.approx(0.01)
        assert arc[0] == pytest.approx([0.005, 0.015])
        assert arc[-1] == pytest.approx([0.025, 0.015])
        t = np.linspace(0.0, 1.0, 2000)[:, None]
        p = 1e-3 * np.array([[0, 30], [0, -10], [40, 40], [40, 0]])
        exact = (1 - t) ** 3 * p[0] + 3 * t * (1 - t) ** 2 * p[1] + 3 * t**2 * (1 - t) * p[2] + t**3 * p[3]
        away = [_distance(point, cubic) for point in exact]
        assert max(away) <= tolerance


def _distance(point: np.ndarray, line: np.ndarray) -> float:
    """Of a point from a polyline."""
    a, b = line[:-1], line[1:]
    along = b - a
    s = np.clip(((point - a) * along).sum(axis=1) / (along**2).sum(axis=1), 0.0, 1.0)
    return float(np.hypot(*(a + s[:, None] * along - point).T).min())


def test_areas_of_curves() -> None:
    shapes = {
        '<ellipse cx="20" cy="15" rx="12" ry="5"/>': math.pi * 60,
        '<rect x="5" y="5" width="20" height="10" rx="3" ry="2"/>': 200 - 4 * 6 + math.pi * 6,
        '<rect x="5" y="5" width="20" height="10" rx="99"/>': 20 * 10 - 4 * 50 + math.pi * 50,
        '<rect x="5" y="5" width="20" height="10" rx="0" ry="3"/>': 200,
        '<path d="M5,15 a10,5 0 0 1 20,0 z"/>': math.pi * 25,
        '<path d="M5,15a10 5 0 0120 0z"/>': math.pi * 25,
        '<path d="M5,25 c0,-20 20,-20 20,0 z"/>': 240,
        '<path d="M5,15 q10,-20 20,0 z"/>': 2 / 3 * 200,
        '<path d="M5,5h10v10h-10zm20.5.5l4 0 0 4-4 0z"/>': 100,
    }  # fmt: skip
    for body, wanted in shapes.items():
        assert area(read(body).outlines[0]) == pytest.approx(wanted, rel=1e-3), body


def test_a_clip_cuts_insides_and_strokes() -> None:
    """A box by a circle, whose area within is known; its line by a viewport; a polygon by three sides."""
    body = '<clipPath id="c"><circle cx="10" cy="10" r="5"/></clipPath>'
    found = read(f'{body}<rect x="10" y="0" width="9" height="10" clip-path="url(#c)"/>').outlines
    assert [(o.closed, o.fill, o.stroke) for o in found] == [(True, "#000000", None)]
    assert area(found[0]) == pytest.approx(math.pi * 25 / 4, rel=1e-3)
    body = '<svg x="2" y="2" width="10" height="10"><rect x="5" y="3" width="9" height="4" fill="none"'
    found = read(f'{body} stroke="red"/></svg>').outlines
    assert [(o.closed, o.stroke, len(o.points)) for o in found] == [(False, "#ff0000", 4)]
    lengths = 1e3 * np.hypot(*np.diff(found[0].points, axis=0).T)
    assert lengths == pytest.approx([5, 4, 5], rel=1e-5)
    body = '<svg x="2" y="2" width="10" height="10"><circle cx="0" cy="0" r="5" stroke="red"/></svg>'
    inside, line = read(body).outlines
    assert area(inside) == pytest.approx(math.pi * 25 / 4, rel=1e-3)
    assert (inside.closed, inside.stroke, line.closed, line.fill) == (True, None, False, None)
    assert 1e3 * np.hypot(*np.diff(line.points, axis=0).T).sum() == pytest.approx(2.5 * math.pi, rel=1e-3)


def test_smooth_curves_mirror_those_of_their_kind_alone() -> None:
    """T after C begins at its own place, as SVG says; T after Q mirrors."""
    straight = read('<path d="M0,9 C5,0 10,0 10,9 T20,9" fill="none" stroke="red"/>').outlines[0].points
    assert straight[straight[:, 0] > 0.0101, 1] == pytest.approx(0.021)
    bent = read('<path d="M0,9 Q5,-1 10,9 T20,9" fill="none" stroke="red"/>').outlines[0].points
    assert bent[:, 1].min() == pytest.approx(0.016, abs=1e-6)


def test_dashes_are_lines_of_their_own() -> None:
    body = '<rect x="1" y="1" width="10" height="10" stroke="red" stroke-dasharray="3 2 1"/>'
    found = read(body).outlines
    assert (found[0].fill, found[0].stroke, found[0].closed) == ("#000000", None, True)
    lengths = [1e3 * np.hypot(*np.diff(o.points, axis=0).T).sum() for o in found[1:]]
    assert sum(lengths) == pytest.approx(20.0 + 1.0)  # 40: 3 on, 2 off, 1 on, 3 off, 2 on, 1 off, ...
    assert not any(o.closed or o.fill for o in found[1:])
    begins = [round(1e3 * o.points[0, 0], 6) for o in found[1:3]]
    assert begins == [1.0, 6.0]
    moved = read(body.replace("/>", ' stroke-dashoffset="-1"/>')).outlines[2]
    assert moved.points[0] * 1e3 == pytest.approx([7.0, 29.0])


REFUSED = {
    "a gradient": (
        '<linearGradient id="g"/><rect width="9" height="9" fill="url(#g) red"/>',
        "element <rect>: fill 'url(#g) red' is no plain colour; give it one, or engrave the file as a"
        " picture"),
    "a colour": (
        '<rect width="9" height="9" fill="lab(50% 1 2)"/>',
        "element <rect>: fill: colour 'lab(50% 1 2)' is not resolved; give it as #rrggbb"),
    "a variable": (
        '<rect width="9" height="9" style="fill:var(--a)"/>',
        "element <rect>: fill: colour 'var(--a)' is not resolved; give it as #rrggbb"),
    "a unit": (
        '<rect width="9vw" height="9"/>', "element <rect>: width: unit 'vw' of '9vw' is not resolved; use px,"
        " mm or in"),
    "a calculation": (
        '<rect width="calc(9px + 1px)" height="9"/>',
        "element <rect>: width: 'calc(9px + 1px)' is no length; correct it"),
    "a transform": (
        f'<g transform="rotate(1">{BOX}</g>',
        "element <g>: transform 'rotate(1' is not understood; correct it, or apply the transform"),
    "a transform in space": (
        f'<g style="transform:rotateX(5deg)">{BOX}</g>',
        "element <g>: transform 'rotateX(5deg)' is not understood; correct it, or apply the transform"),
    "a box of its own": (
        f'<g style="transform:scale(2);transform-box:fill-box">{BOX}</g>',
        "element <g>: transform-box 'fill-box' is not resolved; apply the transform"),
    "text": ("<text>a</text>", "element <text>: text needs a font; convert text to paths"),
    "a picture": (
        '<image href="a.png"/>', "element <image>: pictures inside a drawing have no outline; remove it, or"
        " engrave the file as a picture"),
    "a filter": (
        f'<g style="filter:url(#f)">{BOX}</g>',
        "element <g>: filter 'url(#f)' has no outline; remove it, or engrave the file as a picture (kind ="
        " 'svg')"),
    "a clip that cuts into pieces": (
        '<clipPath id="c"><rect width="12" height="9"/></clipPath><path clip-path="url(#c)"'
        ' d="M1,1 v20 h2 v-15 h2 v15 h2 v-20 z"/>',
        "element <path>: is cut into pieces by <clipPath> of line 2; cut the shape itself, or engrave the"
        " file as a picture (kind = 'svg')"),
    "a clip that is bent": (
        f'<clipPath id="c"><path d="M0,0 h9 v9 l-4,-5 z"/></clipPath><g clip-path="url(#c)">{BOX}</g>',
        "element <g>: <clipPath> of line 2 is no convex shape; cut the shapes themselves, or engrave the file"
        " as a picture"),
    "arrows": (
        '<marker id="m"/><path d="M1,1 h9" stroke="red" marker-end="url(#m)"/>',
        "element <path>: marker-end 'url(#m)' is not drawn; remove it, or convert it to paths"),
    "a length in a style": (
        '<rect style="width:9px" height="9"/>',
        "element <rect>: width in a style is read by some programs only; make it an attribute"),
    "a selector": (
        "<style>rect:nth-child(2){fill:red}</style>" + BOX,
        "element <style>: selector 'rect:nth-child(2)' is not understood; use types, classes, ids and"
        " attributes"),
    "an imported sheet": (
        "<style>@import url(a.css);</style>" + BOX,
        "element <style>: @import is not followed; only what is in the file is drawn"),
    "a use of another file": (
        '<use href="b.svg#a"/>', "element <use>: refers to 'b.svg#a'; only what is in the file is drawn"),
    "an animation": (
        '<rect width="9" height="9"><animate/></rect>', "element <rect>: a drawing stands still; remove the"
        " animation"),
    "a script": (f"{BOX}<defs><script/></defs>", "element <script>: scripts are not run; remove it"),
    "a dot": (
        '<path d="M5,5z" stroke="red" stroke-linecap="round"/>',
        "element <path>: a line of no length with 'round' caps is a dot, which has no outline; draw a"
        " circle"),
    "half a path": (
        '<path d="M0,0 L9"/>', "element <path>: command L in its data takes 2 numbers at a time, got 1 and"
        " then 'the end'; correct it"),
    "a path that begins nowhere": (
        '<path d="L9,9"/>', "element <path>: its data begin with 'L', but a path begins with M; correct it"),
    "half a point": (
        '<polygon points="0,0 1,1 2"/>', "element <polygon>: points need pairs of numbers, got 5 numbers;"
        " correct it"),
    "a quote without end": (
        "<rect width='9' height='9' style='fill:\"red'/>",
        "element <rect>: 'fill:\"red' has a quote or a bracket without end; close it"),
    "a mask": (
        f'<g style="mask:url(#m)">{BOX}</g>', "element <g>: mask 'url(#m)' has no outline; remove it, or"
        " engrave the file as a picture (kind = 'svg')"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    body, message = REFUSED[case]
    with pytest.raises(UserError) as refused:
        read(body)
    assert str(refused.value) == f"'a.svg':2: {message}"


BOMBS = {
    "uses of uses": "<defs><rect id='a0' width='1' height='1'/>"
    + "".join(f"\n<g id='a{k + 1}'>" + 10 * f"<use href='#a{k}'/>" + "</g>" for k in range(30))
    + "</defs><use href='#a30'/>",
    "a use of itself": "<g id='a'><use href='#a'/></g>",
    "groups of groups": 5000 * "<g>" + BOX + 5000 * "</g>",
    "a curve of too many points": '<path d="M0,0 C1e11,0 0,1e11 9,9" stroke="red"/>',
    "dashes beyond number": '<path d="M0,0 h40" stroke="red" stroke-dasharray="1e-9"/>',
    "brackets": f'<rect width="9" height="9" style="{100_000 * "("}"/>',
    "signs": f'<rect width="9" height="9" transform="{100_000 * "rotate("}"/>',
    "numbers": f'<polygon points="{100_000 * "1.5.5"}x"/>',
    "selectors": f"<style>{' '.join(1000 * ['*'])} .x {{fill:red}}</style>{BOX}",
    "sheets": f"<style>{10_000 * 'a>'}b {{}}</style>{BOX}<style>}}</style>",
}  # fmt: skip


@pytest.mark.parametrize("case", BOMBS)
def test_bombs_are_refused(case: str) -> None:
    """Of work that a small file asks for: refused, or done where it is little."""
    if case == "selectors":
        assert len(read(BOMBS[case]).outlines) == 1
        return
    with pytest.raises(UserError) as refused:
        read(BOMBS[case])
    assert str(refused.value).startswith("'a.svg'")
    assert "did not end" not in str(refused.value)


def test_entities_of_entities_are_refused() -> None:
    page = '<!DOCTYPE svg [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>' + PAGE
    with pytest.raises(UserError, match="entity 'c': is too long or has entities in it"):
        read(BOX, page)
    page = '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + PAGE
    with pytest.raises(UserError, match="entity 'x': is of another file"):
        read(BOX, page)
