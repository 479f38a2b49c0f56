"""DXF as a drawing: lengths, areas and places by hand; units, layers, blocks; what is refused."""

import sys
from io import BytesIO, StringIO
from typing import Any

import numpy as np
import pytest

from minusgrad.errors import UserError, pip_line
from minusgrad_laser.drawings.drawing import Drawing, Outline
from minusgrad_laser.drawings.dxf import reader, walk
from minusgrad_laser.drawings.dxf.reader import dxf_drawing
from minusgrad_laser.drawings.read import read_drawing

from . import dxf_texts as dxf

pytestmark = pytest.mark.unit
TOLERANCE = 1e-7


def drawn(data: bytes, **keys: Any) -> Drawing:
    return dxf_drawing("a.dxf", data, tolerance=keys.pop("tolerance", TOLERANCE), **keys)


def ring(one: Outline) -> np.ndarray:
    return np.concatenate([one.points, one.points[:1]]) if one.closed else one.points


def length_of(one: Outline) -> float:
    """[mm]."""
    return float(np.hypot(*np.diff(ring(one), axis=0).T).sum()) * 1e3


def area_of(one: Outline) -> float:
    """Counterclockwise positive [mm^2]."""
    assert one.closed
    x, y = one.points.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2.0 * 1e6


def refused(data: bytes, *words: str, **keys: Any) -> str:
    with pytest.raises(UserError) as error:
        drawn(data, **keys)
    text = str(error.value)
    assert text.startswith("'a.dxf': ")
    assert "\n" not in text
    for word in words:
        assert word in text, text
    return text


def test_lines_in_metres_from_the_lower_left_corner() -> None:
    found = drawn(dxf.drawing(dxf.line(10.0, 20.0, 40.0, 60.0)))
    assert found.size == pytest.approx((0.03, 0.04), rel=1e-12)
    np.testing.assert_allclose(found.outlines[0].points, [[0.0, 0.0], [0.03, 0.04]], atol=1e-15)
    assert not found.outlines[0].closed
    assert read_drawing("a.DXF", dxf.drawing(dxf.line(0, 0, 3, 4)), tolerance=1e-6).size == (0.003, 0.004)


@pytest.mark.parametrize(
    ("number", "metres"),
    [(1, 0.0254), (2, 0.3048), (4, 1e-3), (5, 1e-2), (6, 1.0), (9, 2.54e-5), (13, 1e-6), (21, 1200 / 3937)],
)  # fmt: skip
def test_units_of_the_header(number: int, metres: float) -> None:
    found = drawn(dxf.drawing(dxf.line(0, 0, 2, 0), unit=number), tolerance=1e-3 * metres)
    assert found.size[0] == pytest.approx(2.0 * metres, rel=1e-12)


@pytest.mark.parametrize("unit", [None, 0, 77])
def test_a_unit_is_asked_for(unit: int | None) -> None:
    data = dxf.drawing(dxf.line(0, 0, 2, 0), unit=unit)
    refused(data, "unit of its lengths", f"$INSUNITS = {unit or 0}", "length = 'mm'", "--length mm")
    assert drawn(data, length="in").size[0] == pytest.approx(0.0508, rel=1e-12)
    assert drawn(data, width=0.1).size[0] == pytest.approx(0.1, rel=1e-12), "a width needs no unit"


def test_a_unit_that_is_given_is_preferred_and_said() -> None:
    found = drawn(dxf.drawing(dxf.line(0, 0, 2, 0), unit=1), length="mm")
    assert found.size[0] == pytest.approx(2e-3, rel=1e-12)
    assert found.remarks == ("lengths are in mm, as asked for; the file says inch",)
    assert drawn(dxf.drawing(dxf.line(0, 0, 2, 0)), length="mm").remarks == ()


@pytest.mark.parametrize("length", ["kg", "mms", "-3", "mm^2", "0 mm"])
def test_a_wrong_unit_is_refused(length: str) -> None:
    with pytest.raises(UserError, match="length"):
        drawn(dxf.drawing(dxf.line(0, 0, 2, 0)), length=length)


def test_circles_and_arcs() -> None:
    """2 pi r, pi r^2 and r phi; chords lie within the tolerance of the circle."""
    found = drawn(dxf.drawing(dxf.circle(0, 0, 5), dxf.arc(20, 0, 8, 350, 80), dxf.arc(0, 30, 2, 90, 90)))
    circle, arc, whole = found.outlines
    assert area_of(circle) == pytest.approx(25 * np.pi, rel=1e-4)
    assert length_of(circle) == pytest.approx(10 * np.pi, rel=1e-4)
    assert length_of(arc) == pytest.approx(8 * np.pi / 2, rel=1e-4)
    assert area_of(whole) == pytest.approx(4 * np.pi, rel=1e-3), "an arc from an angle to itself is a circle"
    middle = (ring(circle)[:-1] + ring(circle)[1:]) / 2.0 - [0.005, 0.005]
    sag = 5e-3 - np.hypot(*middle.T)
    assert 0.2 * TOLERANCE < sag.max() <= TOLERANCE
    assert found.size[1] == pytest.approx(0.037, rel=1e-12), "extremes of circles are points"


def test_chords_follow_the_tolerance() -> None:
    """The number of chords goes with tolerance^(-1/2)."""
    data = dxf.drawing(dxf.circle(0, 0, 5))
    counts = [len(drawn(data, tolerance=one).outlines[0].points) for one in (1e-5, 1e-6, 1e-7, 1e-8)]
    assert np.polyfit(range(4), np.log10(counts), 1)[0] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("bulge", [1.0, -1.0, 0.5, -0.25, np.tan(np.pi / 8), 3.0])
def test_bulges(bulge: float) -> None:
    """A sloping chord of 2 r sin(phi / 2) with phi = 4 atan(b); a positive bulge turns to the left."""
    found = drawn(dxf.drawing(dxf.polyline([(0, 0, bulge), (3.6, 4.8, 0)], False))).outlines[0]
    sweep = 4 * np.arctan(bulge)
    radius = 3 / np.sin(abs(sweep) / 2)
    assert length_of(found) == pytest.approx(radius * abs(sweep), rel=1e-4)
    along, left = np.array([0.6, 0.8]), np.array([-0.8, 0.6])
    points = (found.points - found.points[0]) * 1e3
    centre = 3 * along + 3 / np.tan(sweep / 2) * left
    np.testing.assert_allclose(np.hypot(*(points - centre).T), radius, rtol=1e-9)
    off = points @ left
    assert off[np.argmax(np.abs(off))] == pytest.approx(-3 * bulge, rel=1e-3), "the arc is to the right"


def test_a_slot_of_a_closed_polyline() -> None:
    """Two half circles of radius 2 and two lines of 10."""
    found = drawn(dxf.drawing(dxf.polyline([(0, 0, 0), (10, 0, 1), (10, 4, 0), (0, 4, 1)], True))).outlines[0]
    assert area_of(found) == pytest.approx(40 + 4 * np.pi, rel=1e-4)
    assert length_of(found) == pytest.approx(20 + 4 * np.pi, rel=1e-4)


def made(add: Any, version: str = "R2010", unit: int = 4, binary: bool = False) -> bytes:
    """The bytes of a file that ezdxf writes; add: a function of the document and its model space."""
    import ezdxf

    document = ezdxf.new(version, units=unit)
    add(document, document.modelspace())
    if binary:
        stream = BytesIO()
        document.write(stream, fmt="bin")
        return stream.getvalue()
    text = StringIO()
    document.write(text)
    return text.getvalue().encode(document.output_encoding, "replace")


@pytest.mark.parametrize("version", ["R12", "R2000", "R2004", "R2007", "R2010", "R2013", "R2018"])
@pytest.mark.parametrize("binary", [False, True])
def test_versions_and_binary_files(version: str, binary: bool) -> None:
    def add(document: Any, model: Any) -> None:
        document.layers.add("Größe", color=1)
        model.add_line((0, 0), (3, 4), dxfattribs={"layer": "Größe"})
        model.add_circle((0, 0), 1)

    found = drawn(made(add, version, binary=binary), length="mm")
    assert [one.layer for one in found.outlines] == ["Größe", "0"]
    assert length_of(found.outlines[0]) == pytest.approx(5.0, rel=1e-9)
    assert found.outlines[0].stroke == "#ff0000"


def test_ellipses() -> None:
    """An area of pi a b; half of it for a half; the extrusion (0, 0, -1) turns it the other way round."""

    def add(document: Any, model: Any) -> None:
        model.add_ellipse((0, 0), (6, 8), 0.5)
        model.add_ellipse((40, 0), (10, 0), 0.3, 0, np.pi)
        model.add_ellipse((80, 0), (10, 0), 0.3, 0, np.pi, dxfattribs={"extrusion": (0, 0, -1)})

    whole, upper, lower = drawn(made(add)).outlines
    assert area_of(whole) == pytest.approx(50 * np.pi, rel=1e-4)
    assert not upper.closed
    assert np.ptp(upper.points[:, 1]) == pytest.approx(3e-3, rel=1e-4)
    assert upper.points[:, 1].max() > upper.points[0, 1] + 2.9e-3
    assert lower.points[:, 1].min() < lower.points[0, 1] - 2.9e-3


def test_splines() -> None:
    """A quarter circle as a rational spline; a cubic of Bezier; fit points lie on their spline."""
    root = np.sqrt(0.5)

    def add(document: Any, model: Any) -> None:
        model.add_rational_spline([(5, 0), (5, 5), (0, 5)], [1, root, 1], degree=2)
        model.add_open_spline([(20, 0), (20, 4), (24, 4), (24, 0)], degree=3)
        model.add_spline([(40, 0), (43, 2), (47, -1), (50, 0)])

    quarter, cubic, fitted = drawn(made(add)).outlines
    assert np.abs(np.hypot(*(quarter.points - [0.0, quarter.points[0, 1]]).T) - 5e-3).max() < TOLERANCE
    assert length_of(quarter) == pytest.approx(2.5 * np.pi, rel=1e-4)
    x, y = cubic.points.T
    under = float(((y[1:] + y[:-1]) / 2 - y[0]) @ np.diff(x)) * 1e6
    assert under == pytest.approx(3 / 5 * 4 * 4, rel=1e-4)
    for place in ((43, 2), (47, -1)):
        apart = fitted.points * 1e3 - fitted.points[0] * 1e3 - (np.array(place) - [40, 0])
        assert np.hypot(*apart.T).min() < 0.05


def test_a_block_is_scaled_turned_mirrored_and_repeated() -> None:
    """A right triangle of 3 and 4 in 2 columns and 3 rows, turned by 30 degrees; one mirrored."""
    triangle = dxf.block("T", dxf.polyline([(0, 0, 0), (4, 0, 0), (0, 3, 0)], True), base=(1.0, 1.0))
    array = dxf.insert("T", 0, 0, "0", (50, 30), (70, 2), (71, 3), (44, 10), (45, 20))
    found = drawn(dxf.drawing(array, blocks=[triangle])).outlines
    assert len(found) == 6
    assert all(area_of(one) == pytest.approx(6.0, rel=1e-9) for one in found)
    corners = np.array([one.points[0] for one in found]) * 1e3
    step = 10 * np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    np.testing.assert_allclose(corners[1] - corners[0], step, atol=1e-9)
    np.testing.assert_allclose(corners[2] - corners[0], 2 * np.array([-step[1], step[0]]), atol=1e-9)
    mirrored = drawn(dxf.drawing(dxf.insert("T", 0, 0, "0", (41, -2), (42, 3)), blocks=[triangle])).outlines[
        0
    ]
    assert area_of(mirrored) == pytest.approx(-36.0, rel=1e-9)
    assert mirrored.points[:, 0].max() == pytest.approx(mirrored.points[0, 0]), "it points to the left"


def test_a_circle_of_a_stretched_block_is_an_ellipse() -> None:
    disc = dxf.block("D", dxf.circle(0, 0, 1), dxf.polyline([(-1, 5, 1), (1, 5, 0)], False))
    turned = dxf.insert("D", 0, 0, "0", (41, 5), (42, 2), (50, 45))
    found = drawn(dxf.drawing(turned, blocks=[disc])).outlines
    assert area_of(found[0]) == pytest.approx(10 * np.pi, rel=1e-4)
    assert np.ptp(found[0].points[:, 0]) == pytest.approx(2e-3 * np.sqrt((25 + 4) / 2), rel=1e-4)
    assert found[1].layer == "0"


def test_blocks_in_blocks() -> None:
    inner = dxf.block("I", dxf.line(0, 0, 1, 0))
    outer = dxf.block("O", dxf.insert("I", 2, 0, "0", (50, 90)), dxf.insert("I", 0, 0))
    found = drawn(dxf.drawing(dxf.insert("O", 0, 0, "0", (41, 3), (42, 3)), blocks=[inner, outer])).outlines
    assert [length_of(one) for one in found] == pytest.approx([3.0, 3.0])
    np.testing.assert_allclose(found[0].points * 1e3, [[6, 0], [6, 3]], atol=1e-12)


def test_layers_and_colours_go_through_blocks() -> None:
    """Layer "0" of a block is that of its INSERT; BYBLOCK its colour; 7 is black; a true colour wins."""
    parts = dxf.block(
        "B",
        dxf.line(0, 0, 1, 0),
        dxf.line(0, 1, 1, 1, "cut", (62, 0)),
        dxf.line(0, 2, 1, 2, "CUT"),
        dxf.line(0, 3, 1, 3, "0", (62, 0)),
    )
    layers = [dxf.layer("Cut", 1), dxf.layer("score", 5), dxf.layer("plain", 7)]
    data = dxf.drawing(
        dxf.insert("B", 0, 0, "score", (62, 3)), dxf.line(0, 5, 1, 5, "plain"), layers=layers, blocks=[parts]
    )
    found = drawn(data)
    assert [(one.layer, one.stroke) for one in found.outlines] == [
        ("score", "#0000ff"), ("Cut", "#00ff00"), ("Cut", "#ff0000"), ("score", "#00ff00"),
        ("plain", "#000000"),
    ]  # fmt: skip
    assert {one.name: one.colour for one in found.layers} == {
        "Cut": "#ff0000", "score": "#0000ff", "plain": "#000000",
    }  # fmt: skip

    def add(document: Any, model: Any) -> None:
        document.layers.add("L").rgb = (1, 2, 3)
        model.add_line((0, 0), (1, 0), dxfattribs={"layer": "L"})
        model.add_line((0, 1), (1, 1), dxfattribs={"layer": "L", "true_color": 0x0A0B0C})

    assert [one.stroke for one in drawn(made(add)).outlines] == ["#010203", "#0a0b0c"]


def test_layers_that_are_not_plotted_are_left_out_and_said() -> None:
    layers = [dxf.layer("off", -1), dxf.layer("ice", 2, 1), dxf.layer("on", 3)]
    data = dxf.drawing(
        dxf.line(0, 0, 1, 0, "off"), dxf.line(0, 1, 1, 1, "ice"), dxf.line(0, 2, 2, 2, "on"),
        dxf.line(0, 3, 1, 3, "Defpoints"), layers=layers,
    )  # fmt: skip
    found = drawn(data)
    assert [one.layer for one in found.outlines] == ["on"]
    assert set(found.remarks) == {
        "1 objects on layer 'off' are left out: off",
        "1 objects on layer 'ice' are left out: frozen",
        "1 objects on layer 'Defpoints' are left out: not plotted",
    }
    chosen = drawn(data, layers=["OFF", "ice"])
    assert [one.layer for one in chosen.outlines] == ["off", "ice"]
    assert chosen.remarks == ()
    refused(data, "has no layer 'nowhere'", "'off', 'ice', 'on'", layers=["nowhere"])


def test_a_frozen_insert_hides_its_block_and_one_that_is_off_only_its_own_lines() -> None:
    parts = dxf.block("B", dxf.line(0, 0, 1, 0), dxf.line(0, 1, 1, 1, "cut"))
    layers = [dxf.layer("off", -1), dxf.layer("ice", 2, 1), dxf.layer("cut", 3)]
    off = drawn(dxf.drawing(dxf.insert("B", 0, 0, "off"), layers=layers, blocks=[parts]))
    assert [one.layer for one in off.outlines] == ["cut"]
    both = [dxf.insert("B", 0, 0, "ice"), dxf.line(0, 9, 1, 9, "cut")]
    assert len(drawn(dxf.drawing(*both, layers=layers, blocks=[parts])).outlines) == 1


def test_dashes_and_widths_are_remarks() -> None:
    dashed = [
        (0, "LTYPE"),
        (2, "DASHED"),
        (70, 0),
        (3, "__ __"),
        (72, 65),
        (73, 2),
        (40, 3.0),
        (49, 2.0),
        (49, -1.0),
    ]
    data = dxf.drawing(
        dxf.line(0, 0, 1, 0, "hid"), dxf.line(0, 1, 1, 1, "0", (6, "DASHED")),
        dxf.line(0, 2, 1, 2, "hid", (6, "CONTINUOUS")),
        dxf.polyline([(0, 3, 0), (9, 3, 0)], False, "0", (40, 0.5), (41, 0.5)),
        layers=[dxf.layer("hid", 1, 0, "DASHED")], linetypes=[dashed],
    )  # fmt: skip
    assert set(drawn(data).remarks) == {
        "2 lines with dashes are drawn as full lines",
        "1 lines with a width are drawn as their middle lines",
    }


def test_hatches() -> None:
    """A ring of two polylines; half a disc of an arc and a line; a pattern is said to be an area."""

    def add(document: Any, model: Any) -> None:
        ring = model.add_hatch(color=1)
        ring.paths.add_polyline_path([(0, 0), (10, 0), (10, 10), (0, 10)], is_closed=True)
        ring.paths.add_polyline_path([(5, 3, 1), (5, 7, 1)], is_closed=True, flags=0)
        half = model.add_hatch(color=5)
        edges = half.paths.add_edge_path()
        edges.add_arc((30, 0), 4, 0, 180)
        edges.add_line((26, 0), (34, 0))
        back = model.add_hatch(color=3)
        back.set_pattern_fill("ANSI31")
        edges = back.paths.add_edge_path()
        edges.add_ellipse((50, 0), (6, 0), 0.5, 0, 360)
        curve = model.add_hatch(color=4)
        edges = curve.paths.add_edge_path()
        edges.add_spline(
            control_points=[(70, 0), (70, 4), (74, 4), (74, 0)], degree=3, knot_values=[0] * 4 + [1] * 4
        )
        edges.add_line((74, 0), (70, 0))

    found = drawn(made(add))
    square, hole, half, ellipse, curve = found.outlines
    assert abs(area_of(square)) == pytest.approx(100.0)
    assert abs(area_of(hole)) == pytest.approx(4 * np.pi, rel=1e-4)
    assert square.piece == hole.piece != half.piece
    assert square.rule == "evenodd"
    assert (square.fill, square.stroke) == ("#ff0000", None)
    assert abs(area_of(half)) == pytest.approx(8 * np.pi, rel=1e-4)
    assert abs(area_of(ellipse)) == pytest.approx(18 * np.pi, rel=1e-4)
    assert abs(area_of(curve)) == pytest.approx(9.6, rel=1e-4)
    assert found.remarks == ("1 HATCH with a pattern is taken as a filled area",)


def test_an_open_boundary_of_a_hatch_is_refused() -> None:
    def add(document: Any, model: Any) -> None:
        edges = model.add_hatch(color=1).paths.add_edge_path()
        edges.add_line((0, 0), (10, 0))
        edges.add_line((10, 0), (10, 10))

    refused(made(add), "HATCH (its boundary is open)", "layer '0'")


def test_solids_have_their_corners_crosswise() -> None:
    solid = [(0, "SOLID"), (8, "0"), (10, 0), (20, 0), (11, 4), (21, 0), (12, 0), (22, 3), (13, 4), (23, 3)]
    found = drawn(dxf.drawing(solid)).outlines[0]
    assert area_of(found) == pytest.approx(12.0)
    assert found.fill == "#000000"


def test_an_extrusion_downwards_mirrors() -> None:
    """The plane with the normal (0, 0, -1) has its x to the left."""
    down = [(210, 0.0), (220, 0.0), (230, -1.0)]
    data = dxf.drawing(dxf.line(0, 0, 1, 0), [*dxf.arc(5, 0, 2, 0, 90), *down])
    line, arc = drawn(data).outlines
    assert line.points[0, 0] - arc.points[0, 0] == pytest.approx(7e-3)
    assert arc.points[-1] - arc.points[0] == pytest.approx([2e-3, 2e-3])


def test_what_lies_in_space_is_refused() -> None:
    tilted = [*dxf.circle(0, 0, 5), (210, 0.0), (220, 1.0), (230, 1.0)]
    refused(dxf.drawing(dxf.line(0, 0, 1, 0), tilted), "1 CIRCLE out of the plane z = constant on layer '0'")
    lifted = [(0, "LINE"), (8, "0"), (10, 0), (20, 0), (30, 7), (11, 3), (21, 4), (31, 7)]
    assert length_of(drawn(dxf.drawing(lifted)).outlines[0]) == pytest.approx(5.0)


def test_lines_are_joined_to_closed_outlines() -> None:
    """A rounded plate of lines and arcs in any order and direction, with a gap below the tolerance."""
    data = dxf.drawing(
        dxf.line(2, 0, 8, 0), dxf.line(0, 2, 0, 8), dxf.arc(8, 2, 2, 270, 360),
        dxf.line(10, 8, 10, 2.00005), dxf.arc(2, 8, 2, 90, 180), dxf.line(8, 10, 2, 10),
        dxf.arc(8, 8, 2, 0, 90), dxf.arc(2, 2, 2, 180, 270),
    )  # fmt: skip
    (found,) = drawn(data, tolerance=1e-7).outlines
    assert abs(area_of(found)) == pytest.approx(100 - (4 - np.pi) * 4, rel=1e-4)
    assert len(drawn(data, tolerance=1e-8).outlines) == 1
    assert not drawn(data, tolerance=1e-8).outlines[0].closed, "the gap is wider than the tolerance"


def test_lines_that_are_drawn_twice_stay_two() -> None:
    sides = [dxf.line(0, 0, 9, 0), dxf.line(9, 0, 9, 9), dxf.line(9, 9, 0, 9), dxf.line(0, 9, 0, 0)]
    found = drawn(dxf.drawing(*sides, *sides)).outlines
    assert [one.closed for one in found] == [True, True]
    assert [abs(area_of(one)) for one in found] == pytest.approx([81.0, 81.0])


def test_text_and_dimensions_are_refused_by_name_or_left_on_their_layer() -> None:
    text = [(0, "TEXT"), (8, "notes"), (10, 0), (20, 0), (40, 5), (1, "A4")]
    data = dxf.drawing(text, text, dxf.line(0, 0, 1, 0, "cut"))
    blank = [(0, "TEXT"), (8, "cut"), (10, 0), (20, 0), (40, 5), (1, " ")]
    assert len(drawn(dxf.drawing(blank, dxf.line(0, 0, 1, 0))).outlines) == 1, (
        "a text without letters is none"
    )
    said = refused(data, "2 TEXT on layer 'notes'", "explode text", "layers = ['cut']")
    assert "TEXT on layer 'cut'" not in said
    assert len(drawn(data, layers=["cut"]).outlines) == 1

    def add(document: Any, model: Any) -> None:
        model.add_linear_dim(base=(0, 2), p1=(0, 0), p2=(3, 0)).render()
        model.add_mtext("A4", dxfattribs={"layer": "x"})
        model.add_line((0, 0), (3, 0), dxfattribs={"layer": "cut"})

    refused(made(add), "1 DIMENSION on layer '0'", "1 MTEXT on layer 'x'", "layers = ['cut']")


@pytest.mark.parametrize(
    ("name", "add"),
    [
        ("3DFACE", lambda model: model.add_3dface([(0, 0), (1, 0), (1, 1), (0, 1)])),
        ("LEADER", lambda model: model.add_leader([(0, 0), (1, 1), (2, 1)])),
        ("POLYLINE", lambda model: model.add_polymesh((3, 3))),
        ("RAY", lambda model: model.add_ray((0, 0), (1, 0))),
        ("IMAGE", lambda model: model.add_image(model.doc.add_image_def("a.png", (9, 9)), (0, 0), (1, 1))),
    ],
)
def test_other_entities_are_refused_by_name(name: str, add: Any) -> None:
    refused(made(lambda _, model: add(model)), f"1 {name} on layer '0' cannot be read as lines")


def test_attributes_of_blocks_are_text() -> None:
    def add(document: Any, model: Any) -> None:
        parts = document.blocks.new("B")
        parts.add_line((0, 0), (1, 0))
        parts.add_attdef("NUMBER", (0, 0))
        model.add_blockref("B", (0, 0)).add_attrib("NUMBER", "17", (0, 0))

    refused(made(add), "1 ATTRIB on layer '0'")


def test_paper_space_is_left_out_and_said() -> None:
    def add(document: Any, model: Any) -> None:
        model.add_line((0, 0), (1, 0))
        document.paperspace().add_line((0, 0), (100, 0))

    found = drawn(made(add))
    assert found.size[0] == pytest.approx(1e-3)
    assert found.remarks == ("1 objects of paper layouts are left out: the model space is drawn",)


def test_a_block_within_itself_and_one_that_is_missing_are_refused() -> None:
    loop = dxf.block("L", dxf.line(0, 0, 1, 0), dxf.insert("L", 1, 0))
    refused(dxf.drawing(dxf.insert("L", 0, 0), blocks=[loop]), "block 'L' stands within itself")
    refused(
        dxf.drawing(dxf.insert("gone", 0, 0), dxf.line(0, 0, 1, 0)),
        "INSERT of a block that is not in the file",
    )


def test_many_repetitions_are_refused_before_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [dxf.block("B0", dxf.line(0, 0, 1, 0))]
    for k in range(1, 8):
        blocks.append(dxf.block(f"B{k}", *[dxf.insert(f"B{k - 1}", i, 0) for i in range(10)]))
    data = dxf.drawing(dxf.insert("B7", 0, 0), blocks=blocks)
    monkeypatch.setattr(walk, "MOST_REPEATED", 1000)
    with pytest.raises(UserError, match=r"draws more than 1,\d\d\d entities, as blocks repeat them"):
        reader.values("a.dxf", data, TOLERANCE, None, None)
    array = dxf.insert("B0", 0, 0, "0", (70, 30000), (71, 30000), (44, 1), (45, 1))
    refused(dxf.drawing(array, blocks=blocks[:1]), "repeats its block 900,000,000 times")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"AC1027\x00\x00", "is a DWG"),
        (b"hello", "is no DXF"),
        (dxf.drawing(dxf.line(0, 0, 1, 0))[:-10], "has no end (EOF)"),
        (dxf.drawing(), "there is nothing to draw"),
        (dxf.drawing(dxf.line(0, 0, 0, 0)), "lines without length are left out"),
        (dxf.drawing(dxf.line(0, 0, float("inf"), 0)), "a coordinate is not finite"),
        (dxf.drawing(dxf.line(0, 0, 1e200, 0)), "LINE (a coordinate must lie within 1e+12) on layer '0'"),
        (dxf.drawing([(0, "POINT"), (8, "0"), (10, 0), (20, 0)]), "POINT, which has no length, is left out"),
    ],
)
def test_files_without_sense_are_refused(data: bytes, words: str) -> None:
    if data:
        refused(data, words)
    else:
        with pytest.raises(UserError, match=words):
            drawn(data)


def test_a_faulty_file_is_mended_and_said() -> None:
    """A block record of a layer without its name, which ezdxf's recovery drops."""
    sound = dxf.drawing(dxf.line(0, 0, 3, 4))
    found = drawn(sound.replace(b"  0\nENDSEC\n", b"", 1))
    assert length_of(found.outlines[0]) == pytest.approx(5.0)
    assert "faults that were mended" in found.remarks[0]


def test_without_ezdxf_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ezdxf", None)
    monkeypatch.setattr(reader, "find_spec", lambda name: None)
    refused(dxf.drawing(dxf.line(0, 0, 1, 0)), "needs ezdxf", pip_line("dxf"))
