"""SVG as a target: areas by hand, fill rules against matplotlib, units, styles; what is refused."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.path import Path as Polygon

from minusgrad.errors import UserError, pip_line
from minusgrad.scene.units import UnitSystem

from .starts import made, target

pytestmark = pytest.mark.unit
OPEN = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
PAGE = f'{OPEN} width="4mm" height="3mm" viewBox="0 0 40 30">\n'
"""Forty units wide, each 0.1 mm, which is a cell."""


def drawn(folder: Path, text: str, pixel: str = "0.1 mm", size: Any = None, **keys: Any) -> np.ndarray:
    """The target of an SVG file, top row first."""
    (folder / "a.svg").write_text(text)
    state = made(
        folder, UnitSystem.of("mm", "kg", "ms"), canvas={"size": size, "pixel": pixel},
        target={"kind": "svg", "file": "a.svg"} | keys, path={"kind": "hatch", "pitch": pixel},
    )  # fmt: skip
    return target(state)[::-1]


def test_a_rectangle_covers_parts_of_cells(tmp_path: Path) -> None:
    found = drawn(tmp_path, PAGE + '<rect x="10.5" y="5" width="3" height="2.25"/></svg>')
    assert found.shape == (30, 40)
    expected = np.zeros((30, 40))
    expected[5:7, 10:14] = [0.5, 1.0, 1.0, 0.5]
    expected[7, 10:14] = 0.25 * expected[5, 10:14]
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_areas_of_curves(tmp_path: Path) -> None:
    """Circle, ellipse arc, quadratic and cubic segments: areas in closed form."""
    circle = drawn(tmp_path, PAGE + '<circle cx="20" cy="15" r="9.3"/></svg>').sum()
    assert circle == pytest.approx(np.pi * 9.3**2, rel=3e-3)
    arc = drawn(tmp_path, PAGE + '<path d="M5,15 a10,5 0 0 1 20,0 z"/></svg>').sum()
    assert arc == pytest.approx(np.pi * 10 * 5 / 2, rel=2e-3)
    parabolas = drawn(tmp_path, PAGE + '<path d="M5,15 q10,-20 20,0 t10,0 z"/></svg>').sum()
    assert parabolas == pytest.approx(2 / 3 * 200 + 2 / 3 * 100, rel=2e-3), (
        "of triangles; t mirrors its control"
    )
    cubic = drawn(tmp_path, PAGE + '<path d="M5,25 c0,-20 20,-20 20,0 z"/></svg>').sum()
    assert cubic == pytest.approx(3 / 5 * 20 * 20, rel=2e-3), "3/20 times the sums of products of its points"


STAR = "20,2 28,28 3,11 37,11 12,28"


@pytest.mark.parametrize("rule", ["nonzero", "evenodd"])
def test_fill_rules(tmp_path: Path, rule: str) -> None:
    """A pentagram against matplotlib's test of points; evenodd leaves out its inner pentagon."""
    found = drawn(tmp_path, f'{PAGE}<polygon points="{STAR}" fill-rule="{rule}"/></svg>')
    star = np.array([point.split(",") for point in STAR.split()], float)
    y, x = np.mgrid[:30, :40] + 0.5
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    inner = np.array([_crossing(star[k], star[k - 4], star[k - 3], star[k - 2]) for k in range(5)])
    middle = star.mean(axis=0)
    ring = inner[np.argsort(np.arctan2(*(inner - middle).T))]
    tips = star[np.argsort(np.arctan2(*(star - middle).T))]
    inside = Polygon(ring).contains_points(places)
    outer = np.any(
        [Polygon(np.array([tips[k], *_beside(tips[k], ring)])).contains_points(places) for k in range(5)],
        axis=0,
    )
    expected = (outer | inside) if rule == "nonzero" else (outer & ~inside)
    sure = (found.ravel() < 0.01) | (found.ravel() > 0.99)
    assert sure.sum() > 900
    np.testing.assert_array_equal(found.ravel()[sure] > 0.5, expected[sure])
    assert (inside & sure).sum() > 20


def _crossing(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Where the lines a b and c d meet."""
    s, _ = np.linalg.solve(np.stack([b - a, c - d], axis=1), c - a)
    return a + s * (b - a)


def _beside(tip: np.ndarray, ring: np.ndarray) -> np.ndarray:
    """The two corners of the inner pentagon nearest to a tip."""
    return ring[np.argsort(np.hypot(*(ring - tip).T))[:2]]


STROKES = {  # an L of 10 and 10, width 2: two bars, their corner and their caps, by hand
    "butt, miter": ("", 10 * 2 + 10 * 2 + 1 - 1 + 0.0),
    "square": ('stroke-linecap="square"', 40 + 2 * 2 * 1),
    "round cap": ('stroke-linecap="round"', 40 + np.pi),
    "bevel": ('stroke-linejoin="bevel"', 40 - 0.5),
    "round join": ('stroke-linejoin="round"', 40 - 1 + np.pi / 4),
    "a limit that the corner exceeds": ('stroke-miterlimit="1.4"', 40 - 0.5),
}


@pytest.mark.parametrize("case", STROKES)
def test_strokes(tmp_path: Path, case: str) -> None:
    words, area = STROKES[case]
    line = f'<polyline points="10,5 10,15 20,15" fill="none" stroke="black" stroke-width="2" {words}/></svg>'
    assert drawn(tmp_path, PAGE + line).sum() == pytest.approx(area, abs=0.15)


def test_a_stroke_is_transformed_with_its_shape(tmp_path: Path) -> None:
    """A bar along y, 4 long and 2 wide, stretched threefold along x: 6 x 4, its left side at x = 9."""
    bar = '<line x1="4" y1="5" x2="4" y2="9" stroke="#000" stroke-width="2" transform="scale(3,1)"/></svg>'
    found = drawn(tmp_path, PAGE + bar)
    expected = np.zeros((30, 40))
    expected[5:9, 9:15] = 1.0
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("join", ["miter", "round", "bevel"])
def test_a_curve_of_both_turns_is_covered_once(tmp_path: Path, join: str) -> None:
    """An S of two half circles: its length times its width, whichever way its joins turn."""
    words = f'fill="none" stroke="black" stroke-width="4" stroke-linejoin="{join}"'
    line = f'<path d="M9,15 a5,5 0 0 1 10,0 a5,5 0 0 0 10,0" {words}/></svg>'
    assert drawn(tmp_path, PAGE + line).sum() == pytest.approx(2 * np.pi * 5 * 4, rel=2e-3)


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_line_over_its_own_corner_leaves_no_hole(tmp_path: Path, mirrored: bool) -> None:
    """The last of five bars covers the first corner, which turns to the right, or mirrored to the left."""
    corners = [(5, 15), (20, 15), (20, 25), (30, 25), (30, 14), (12, 14)]
    points = " ".join(f"{x},{30 - y if mirrored else y}" for x, y in corners)
    line = f'<polyline points="{points}" fill="none" stroke="black" stroke-width="2"/></svg>'
    expected = np.zeros((30, 40))
    expected[14:16, 5:21] = expected[14:26, 19:21] = expected[24:26, 19:31] = 1.0
    expected[13:26, 29:31] = expected[13:15, 12:31] = 1.0
    found = drawn(tmp_path, PAGE + line)
    np.testing.assert_allclose(found, expected[::-1] if mirrored else expected, atol=1e-6)


def test_a_closed_line_has_a_join_where_it_begins(tmp_path: Path) -> None:
    ring = '<rect x="5" y="5" width="10" height="8" fill="none" stroke="black" stroke-width="2"/></svg>'
    assert drawn(tmp_path, PAGE + ring).sum() == pytest.approx(12 * 10 - 8 * 6)


def test_paint_is_light_and_covers_what_is_below(tmp_path: Path) -> None:
    """Grey is half dark, white on black is not drawn, a half opaque black on white is half dark."""
    found = drawn(
        tmp_path, PAGE + '<rect width="30" height="30"/><rect x="5" y="5" width="5" height="5" fill="white"/>'
        '<rect x="15" y="5" width="5" height="5" fill="#808080"/>'
        '<rect x="30" width="5" height="5" fill-opacity="0.5"/>'
        '<rect x="20" y="20" width="5" height="5" fill="#fff" fill-opacity="0.25"/></svg>',
    )  # fmt: skip
    assert found[7, 2] == 1.0
    assert found[7, 7] == 0.0
    assert found[7, 17] == pytest.approx(1 - 128 / 255, abs=1e-6)
    assert found[2, 32] == pytest.approx(0.5, abs=3e-3)
    assert found[22, 22] == pytest.approx(0.75, abs=3e-3)


def test_styles_groups_and_uses(tmp_path: Path) -> None:
    body = (
        "<style>.off { fill: none } rect.on { fill: black } circle { fill: white }</style>"
        '<defs><rect id="tile" width="4" height="4"/></defs>'
        '<g transform="translate(10,10)"><use xlink:href="#tile"/>'
        '<use href="#tile" x="6" transform="scale(2)"/></g>'
        '<rect class="off" width="40" height="30"/><circle r="3"/>'
        '<rect class="on" fill="none" x="30" width="2" height="2"/>'
        '<g style="display:none"><rect width="40" height="30"/></g>'
        '<rect visibility="hidden" width="9" height="9"/>'
        '<g fill="none"><rect width="40" height="30"/><rect fill="black" y="28" width="2" height="2"/></g>'
        "</svg>"
    )
    expected = np.zeros((30, 40))
    expected[10:14, 10:14] = expected[10:18, 22:30] = expected[:2, 30:32] = expected[28:, :2] = 1.0
    np.testing.assert_allclose(drawn(tmp_path, PAGE + body), expected, atol=1e-6)


UNITS = {
    "millimetres": ('width="4mm" height="3mm"', (30, 40)),
    "inches": ('width="0.5in" height="0.1in"', (26, 127)),
    "points": ('width="72pt" height="36pt"', (127, 254)),
    "centimetres": ('width="1cm" height="0.5cm"', (50, 100)),
    "px": ('width="96" height="48px"', (127, 254)),
}


@pytest.mark.parametrize("case", UNITS)
def test_units_of_the_page(tmp_path: Path, case: str) -> None:
    size, shape = UNITS[case]
    found = drawn(
        tmp_path,
        f'{OPEN} {size} viewBox="0 0 100 100" preserveAspectRatio="none">'
        '<rect width="50" height="100"/></svg>',
    )
    assert found.shape == shape
    assert found.mean() == pytest.approx(0.5, abs=0.02)


def test_sizes_that_the_scene_gives(tmp_path: Path) -> None:
    box = f'{OPEN} viewBox="0 0 20 10"><circle cx="10" cy="5" r="3"/></svg>'
    whole = drawn(tmp_path, box, width="2 mm")
    assert whole.shape == (10, 20)
    np.testing.assert_allclose(drawn(tmp_path, box, width="2 mm", crop=True), whole[2:8, 7:13], atol=1e-6)
    wide = drawn(tmp_path, box, width="2 mm", margin="0.25 mm")
    np.testing.assert_allclose(wide, np.pad(whole, 3), atol=1e-6)
    inside = drawn(tmp_path, box, width="2 mm", size=[31, 20])
    np.testing.assert_allclose(inside[5:15, 5:25], whole, atol=1e-6)
    assert inside.sum() == pytest.approx(whole.sum())
    px = f'{OPEN} width="72" height="36"><rect width="10" height="36"/></svg>'
    assert drawn(tmp_path, px, dpi=72.0).shape == (127, 254)


def test_what_lies_beyond_the_page_is_not_drawn(tmp_path: Path) -> None:
    found = drawn(tmp_path, PAGE + '<rect x="-9" y="-9" width="14" height="99"/></svg>', margin="1 mm")
    assert found.sum() == pytest.approx(5 * 30)


R = '<rect width="9" height="9"/>'
REFUSED = {
    "empty": ("", "'a.svg' is empty (0 bytes)"),
    "no XML": ("hello", "'a.svg':1: is no XML that can be read: syntax error"),
    "half of it": (PAGE + R, "'a.svg':2: is no XML that can be read: no element found"),
    "another language": ("<html/>", "'a.svg':1: is no SVG: its first element is <html>"),
    "no shape": (PAGE + "</svg>", "target: 'a.svg' is 0 in every cell: there is nothing to draw"),
    "no fill": (
        PAGE + '<rect width="9" height="9" fill="none"/></svg>',
        "target: 'a.svg' is 0 in every cell: there is nothing to draw"),
    "white on white": (
        PAGE + '<rect width="9" height="9" fill="white"/></svg>',
        "target: 'a.svg' is 0 in every cell: there is nothing to draw"),
    "text": (
        PAGE + "\n<g>\n<text>a</text></g></svg>",
        "'a.svg':4: element <text>: needs a font, got none; give its file by fonts (--font), or convert text"
        " to paths"),
    "a picture beside it": (
        PAGE + '<image href="a.png" width="9" height="9"/></svg>',
        "'a.svg':2: element <image>: refers to 'a.png'; only what is in the file is drawn: embed it"),
    "a picture of a server": (
        PAGE + '<image xlink:href="http://a.example/b.png" width="9" height="9"/></svg>',
        "'a.svg':2: element <image>: refers to 'http://a.example/b.png'; only what is in the file is drawn:"
        " embed it"),
    "a part of another file": (
        PAGE + '<use xlink:href="b.svg#leaf"/></svg>',
        "'a.svg':2: element <use>: refers to 'b.svg#leaf'; only what is in the file is drawn: copy it into"
        " the file"),
    "a part that is not there": (
        PAGE + '<use href="#leaf"/></svg>',
        "'a.svg': there is nothing to draw: 'a.svg':2: element <use>: nothing has the id 'leaf'"),
    "an imported style": (
        PAGE + "<style>\n@import url(a.css);\n</style></svg>",
        "'a.svg': element <style>: @import is not followed; copy the styles into the file"),
    "a style sheet beside it": (
        '<?xml-stylesheet href="a.css"?>\n' + PAGE + R + "</svg>",
        "'a.svg':1: an external style sheet; only what is in the file is drawn"),
    "an entity of another file": (
        '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + PAGE + R + "</svg>",
        "'a.svg':1: entity 'x': stands in another file, which is not read; write its text here"),
    "a selector that is not understood": (
        PAGE + "<style>rect:nth-child(2) { fill: red }</style>" + R + "</svg>",
        "'a.svg': element <style>: a selector is not understood (nth-child); use types, classes, ids and"
        " attributes"),
    "a comment without end": (
        PAGE + "<style>/* a */ rect { fill: red }" + 200_000 * "/*" + "</style></svg>",
        "'a.svg': element <style>: a selector is not understood (Selector parsing failed cause unexpected"
        " selector.); use types, classes, ids and attributes"),
    "flowed text": (
        PAGE + "<flowRoot/></svg>",
        "'a.svg':2: element <flowRoot>: flowed text is not drawn; convert text to paths"),
    "what is not SVG": (
        PAGE + R + "<foreignObject><p>a</p></foreignObject></svg>",
        "'a.svg':2: element <foreignObject>: only what is SVG is drawn; remove it"),
    "no width": (
        f'{OPEN} width="0mm" height="3mm">{R}</svg>',
        "'a.svg':1: width is '0mm'; a drawing needs a size above 0, below 1e9, such as 20mm"),
    "no box": (
        f'{OPEN} width="4mm" height="3mm" viewBox="0 0 0 9">{R}</svg>',
        "'a.svg':1: viewBox is '0 0 0 9'; it needs four numbers, width and height above 0"),
    "no unit": (
        f'{OPEN} width="100%" viewBox="0 0 9 9">{R}</svg>',
        "'a.svg': its width and height have no unit of length; give width"),
    "a unit that is none": (
        f'{OPEN} width="1km" height="1e8mm" viewBox="0 0 9 9">{R}</svg>',
        "'a.svg': its width and height have no unit of length; give width"),
    "no page": (f"{OPEN}>{R}</svg>", "'a.svg': its width and height have no unit of length; give width"),
    "half a path": (
        PAGE + '<path d="M0,0 L9"/></svg>',
        "'a.svg': there is nothing to draw: 'a.svg':2: a path is drawn up to its error: unexpected end of"
        " stream"),
    "a box of words": (
        f'{OPEN} width="4mm" height="3mm" viewBox="0 0 a b">{R}</svg>',
        "'a.svg':1: viewBox is '0 0 a b'; it needs four numbers, width and height above 0"),
    "a width of two points": (
        f'{OPEN} width="1.2.3mm" height="3mm">{R}</svg>',
        "'a.svg':1: width is '1.2.3mm'; a drawing needs a size above 0, below 1e9, such as 20mm"),
    "a part of itself": (
        PAGE + '<g id="a"><rect width="5" height="5"/>\n<use href="#a"/></g></svg>',
        "'a.svg':3: element <use>: draws 'a', in which it stands itself, without end; remove it"),
    "two parts of each other": (
        PAGE + '<g id="a">\n<use href="#b"/></g>\n<g id="b">\n<use href="#a"/></g></svg>',
        "'a.svg':3: element <use>: draws 'b', in which it stands itself, without end; remove it"),
    "uses of uses": (
        PAGE + "<defs><rect id='a0' width='1' height='1'/>"
        + "".join(f"\n<g id='a{k + 1}'>" + 10 * f"<use href='#a{k}'/>" + "</g>" for k in range(30))
        + "</defs><use href='#a30'/></svg>",
        "'a.svg':9: element <use>: draws more than 100,000 shapes, about 1e30 in all; take some out, or split"
        " the drawing"),
    "groups of groups": (
        PAGE + 200 * "<g>" + R + 200 * "</g>" + "</svg>",
        "'a.svg':2: element <g>: elements nest more than 100 deep; ungroup them"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(tmp_path: Path, case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(UserError) as refused:
        drawn(tmp_path, text)
    assert str(refused.value) == message


def test_sizes_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for keys, message in {
        "size": (
            {"size": [30, 30]},
            "'a.svg': the drawing is 4 x 3 mm and its margin 0, larger than the canvas of 3 x 3; scale the"
            " drawing down, or leave canvas.size out"),
        "pixel": (
            {"pixel": "3 mm"},
            "'a.svg': the drawing is 4 x 3 mm, less than two cells; decrease canvas.pixel"),
    }.values():  # fmt: skip
        with pytest.raises(UserError) as refused:
            drawn(tmp_path, PAGE + R + "</svg>", **keys)
        assert str(refused.value).replace("4.00000", "4").replace("3.00000", "3") == message
    with pytest.raises(
        UserError,
        match=r"'a.svg': 4000\d\d\d x 3000\d\d\d cells: 2.4e\+03 TB of memory needed, .*; increase canvas",
    ):
        drawn(tmp_path, PAGE + R + "</svg>", pixel="1 nm")
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(UserError) as refused:
        drawn(tmp_path, PAGE + R + "</svg>")
    assert str(refused.value) == f"'a.svg': needs resvg-py: {pip_line('svg')}"


SCENES = Path(__file__).parents[3] / "scenes"


def test_the_shipped_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two millimetres high; an I is a bar of 1.7 x 0.3 mm with half a disc at each end."""
    monkeypatch.syspath_prepend(SCENES / "data")
    import letters

    text = (SCENES / "data" / "letters.svg").read_text()
    assert text == letters.svg(letters.TEXT)
    found = drawn(tmp_path, text, pixel="20 um")
    assert found.shape == (305, 435)
    rows = np.flatnonzero((found > 0.5).any(axis=1))
    np.testing.assert_array_equal(rows[[0, 99, 100, 199]], [25, 124, 180, 279])
    assert len(rows) == 200, "two lines of 2 mm"
    bar = drawn(tmp_path, letters.svg("I"), pixel="20 um").sum() * 0.02**2
    assert bar == pytest.approx(1.7 * 0.3 + np.pi * 0.15**2, rel=2e-3)
