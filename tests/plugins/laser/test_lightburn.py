"""Projects of LightBurn as drawings: shapes by hand, cut settings; what is refused."""

from typing import Any

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_laser.drawings.drawing import Drawing, Layer
from minusgrad_laser.drawings.lightburn.reader import lightburn_drawing
from minusgrad_laser.drawings.read import read_drawing

from .test_dxf import area_of, length_of

pytestmark = pytest.mark.unit


def project(*parts: str, **attributes: str) -> bytes:
    more = "".join(f' {key}="{value}"' for key, value in attributes.items())
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<LightBurnProject FormatVersion="1"{more}>\n'
    return (head + "\n".join(parts) + "\n</LightBurnProject>").encode()


def setting(
    index: int, kind: str = "Cut", name: str | None = None, tag: str = "CutSetting", **keys: Any
) -> str:
    inner = "".join(f'<{key} Value="{value}"/>' for key, value in keys.items())
    named = "" if name is None else f'<name Value="{name}"/>'
    return f'<{tag} type="{kind}"><index Value="{index}"/>{named}{inner}</{tag}>'


def shape(kind: str, matrix: str = "1 0 0 1 0 0", inner: str = "", index: int = 0, **keys: Any) -> str:
    more = "".join(f' {key}="{value}"' for key, value in keys.items())
    return f'<Shape Type="{kind}" CutIndex="{index}"{more}><XForm>{matrix}</XForm>{inner}</Shape>'


def path(vertices: str, primitives: str, matrix: str = "1 0 0 1 0 0", index: int = 0, **keys: Any) -> str:
    inner = f"<VertList>{vertices}</VertList><PrimList>{primitives}</PrimList>"
    return shape("Path", matrix, inner, index, **keys)


def drawn(data: bytes, **keys: Any) -> Drawing:
    return lightburn_drawing("a.lbrn2", data, tolerance=1e-7, **keys)


def refused(data: bytes, *words: str, **keys: Any) -> None:
    with pytest.raises(UserError) as error:
        drawn(data, **keys)
    text = str(error.value)
    assert text.startswith("'a.lbrn2'")
    assert "\n" not in text
    for word in words:
        assert word in text, text


def test_rectangles_and_ellipses_have_their_middle_at_zero() -> None:
    found = drawn(
        project(shape("Rect", "1 0 0 1 10 20", W=6, H=4), shape("Ellipse", "1 0 0 1 10 30", Rx=5, Ry=2))
    )
    rectangle, ellipse = found.outlines
    assert found.size == pytest.approx((0.010, 0.014), rel=1e-9)
    assert area_of(rectangle) == pytest.approx(24.0)
    np.testing.assert_allclose(rectangle.points.min(axis=0), [0.002, 0.0], atol=1e-12)
    assert area_of(ellipse) == pytest.approx(10 * np.pi, rel=1e-4)
    assert (rectangle.layer, rectangle.stroke, rectangle.fill) == ("C00", "#000000", None)
    assert read_drawing("a.lbrn", project(shape("Rect", W=6, H=4)), tolerance=1e-6).size == (0.006, 0.004)


@pytest.mark.parametrize(("radius", "kept"), [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (9.0, 2.0)])
def test_corners_of_rectangles(radius: float, kept: float) -> None:
    found = drawn(project(shape("Rect", W=10, H=4, Cr=radius))).outlines[0]
    assert area_of(found) == pytest.approx(40 - (4 - np.pi) * kept**2, rel=1e-4)
    assert length_of(found) == pytest.approx(28 - (8 - 2 * np.pi) * kept, rel=1e-4)


def test_groups_move_scale_and_turn_what_they_have() -> None:
    """A child at x = 5 of a group that doubles, in one that turns by 90 degrees and moves to (100, 50)."""
    child = shape("Rect", "1 0 0 1 5 0", W=2, H=1)
    inner = shape("Group", "2 0 0 2 0 0", f"<Children>{child}</Children>")
    outer = shape("Group", "0 1 -1 0 100 50", f"<Children>{inner}{shape('Rect', W=1, H=1)}</Children>")
    found = drawn(project(outer))
    first, second = (one.points * 1e3 for one in found.outlines)
    assert area_of(found.outlines[0]) == pytest.approx(8.0)
    middle = first.mean(axis=0) - second.mean(axis=0)
    np.testing.assert_allclose(middle, [0, 10], atol=1e-9)
    np.testing.assert_allclose(np.ptp(first, axis=0), [2, 4], atol=1e-9)


def test_paths_of_lines() -> None:
    """Closed, open, two runs, and both short forms."""
    square = "V0 0c0x1c1x1V4 0c0x1c1x1V4 4c0x1c1x1V0 4c0x1c1x1"
    lists = ["L0 1L1 2L2 3L3 0", "L0 1L1 2", "LineClosed", "LineOpen", "L0 1L2 3"]
    paths = [path(square, one, f"1 0 0 1 {20 * k} 0") for k, one in enumerate(lists)]
    spaced = path("V 0 0 V 10 0 V 10 10 V 0 10", "L 0 1 L 1 2 L 2 3 L 3 0", "1 0 0 1 0 50")
    found = drawn(project(*paths, spaced)).outlines
    assert [one.closed for one in found] == [True, False, True, False, False, False, True]
    assert [length_of(one) for one in found] == pytest.approx([16, 8, 16, 12, 4, 4, 40])


def test_curves_of_paths() -> None:
    """A circle of four cubic curves; a coordinate of a handle that is 0 is left out."""
    k = 5 * 4 / 3 * (np.sqrt(2) - 1)
    circle = f"V5 0c0x5c0y{k}c1x5c1y{-k}V0 5c0x{-k}c0y5c1x{k}c1y5"
    circle += f"V-5 0c0x-5c0y{-k}c1x-5c1y{k}V0 -5c0x{k}c0y-5c1x{-k}c1y-5"
    found = drawn(project(path(circle, "B0 1B1 2B2 3B3 0"))).outlines[0]
    assert area_of(found) == pytest.approx(25 * np.pi, rel=1e-3)
    quarter = drawn(project(path("V-5 0c0x-2.5c1x1V0 5c0x1c1y2.5", "B0 1L1 0"))).outlines[0]
    apart = (quarter.points - quarter.points[0]) * 1e3 - [5.0, 0.0]
    t = np.linspace(0, 1, 1001)[:, None]
    bezier = (
        (1 - t) ** 3 * [-5, 0]
        + 3 * t * (1 - t) ** 2 * [-2.5, 0]
        + 3 * t**2 * (1 - t) * [0, 2.5]
        + t**3 * [0, 5]
    )
    nearest = np.hypot(*(apart[:, None] - bezier[None]).transpose(2, 0, 1)).min(axis=1)
    assert nearest.max() < 0.01


def test_shapes_share_vertices_and_lines() -> None:
    shared = path("V0 0V4 0V0 3", "LineClosed", VertID="7", PrimID="2")
    again = shape("Path", "1 0 0 1 10 0", VertID="7", PrimID="2")
    group = shape("Group", inner=f"<Children>{shared}</Children>")
    found = drawn(project(again, group)).outlines
    assert [area_of(one) for one in found] == pytest.approx([6.0, 6.0])
    refused(project(shape("Path", VertID="8", PrimID="2"), shared), "Path (its vertices are not in the file)")


def test_the_older_form_of_paths() -> None:
    inner = '<V vx="0" vy="0"/><V vx="4" vy="0" c0x="4" c0y="2"/><V vx="0" vy="4" c1x="2" c1y="4"/>'
    inner += '<P T="L" p0="0" p1="1"/><P T="B" p0="1" p1="2"/><P T="L" p0="2" p1="0"/>'
    found = drawn(project(shape("Path", inner=inner))).outlines[0]
    assert found.closed
    compact = path("V0 0V4 0c0x4c0y2V0 4c1x2c1y4", "L0 1B1 2L2 0")
    assert area_of(found) == pytest.approx(area_of(drawn(project(compact)).outlines[0]), rel=1e-12)


@pytest.mark.parametrize(
    ("mirrors", "corner"),
    [("False False", (0, 0)), ("True False", (1, 0)), ("False True", (0, 1)), ("True True", (1, 1))],
)
def test_the_corner_of_the_machine(mirrors: str, corner: tuple[int, int]) -> None:
    """The right angle of a triangle at the file's origin lies at the machine's."""
    x, y = mirrors.split()
    found = drawn(project(path("V0 0V4 0V0 3", "LineClosed"), MirrorX=x, MirrorY=y))
    np.testing.assert_allclose(found.outlines[0].points[0], np.array(corner) * found.size, atol=1e-12)


def test_text_is_the_outline_that_it_keeps() -> None:
    outline = path("V0 0V4 0V0 3", "LineClosed", "1 0 0 1 20 0").replace("Shape", "BackupPath")
    kept = shape("Text", "1 0 0 1 20 0", outline, Str="A", HasBackupPath="1")
    found = drawn(project(shape("Rect", W=2, H=2), kept))
    assert area_of(found.outlines[1]) == pytest.approx(6.0)
    assert found.outlines[1].points[0, 0] == pytest.approx(0.021), "20 mm once, not twice"
    bare = shape("Text", Str="Hello", H=10)
    refused(project(bare, shape("Rect", index=1, W=2, H=2)), "1 Text without an outline on layer 'C00'",
            "convert text to a path", "layers = ['C01']")  # fmt: skip
    assert len(drawn(project(bare, shape("Rect", index=1, W=2, H=2)), layers=["C01"]).outlines) == 1


@pytest.mark.parametrize("kind", ["Bitmap", "Polygon", "Star", "Barcode"])
def test_other_shapes_are_refused_by_name(kind: str) -> None:
    refused(
        project(shape(kind, W=3, H=3, N=5, Rx=3, Ry=3)), f"1 {kind} on layer 'C00' cannot be read as lines"
    )


def test_cut_settings() -> None:
    """Percent, mm/s and mm in SI; what a setting leaves out is None."""
    full = setting(
        1, name="Outer", minPower=20, maxPower=98, speed=3.33333, numPasses=3, priority=2, runBlower=1,
        kerf=0.06, interval=0.1,
    )  # fmt: skip
    data = project(full, setting(0), shape("Rect", index=1, W=1, H=1), shape("Rect", W=2, H=2))
    found = drawn(data)
    assert found.layers == (
        Layer("C00", "#000000", "cut"),
        Layer(
            "Outer", "#0000ff", "cut", power=0.98, speed=pytest.approx(3.33333e-3), passes=3, least_power=0.2,
            interval=pytest.approx(1e-4), order=2, output=True, air=True, kerf=pytest.approx(6e-5),
        ),
    )  # fmt: skip
    assert found.remarks == ("layer 'Outer' has a kerf offset, which the drawing does not",)
    assert [(one.layer, one.stroke) for one in found.outlines] == [("Outer", "#0000ff"), ("C00", "#000000")]


def test_filled_layers_are_areas_and_open_lines_on_them_are_left_out() -> None:
    data = project(
        setting(2, "Scan"), setting(3, "Scan+Cut"),
        shape("Rect", index=2, W=4, H=4), shape("Ellipse", index=2, Rx=1, Ry=1),
        path("V0 9V3 9", "L0 1", index=2),
        shape("Rect", "1 0 0 1 9 0", index=3, W=2, H=2),
    )  # fmt: skip
    found = drawn(data)
    square, disc, both = found.outlines
    assert (square.fill, square.stroke) == ("#ff0000", None)
    assert square.piece == disc.piece != both.piece
    assert square.rule == "evenodd"
    assert (both.fill, both.stroke) == ("#00e000", "#00e000")
    assert [one.mode for one in found.layers] == ["engrave", "engrave"]
    assert "1 open lines of filled layers are left out, as LightBurn does" in found.remarks
    assert "layer 'C03' is engraved and cut in LightBurn, and is engraved alone here" in found.remarks


def test_layers_without_output_are_left_out_unless_they_are_chosen() -> None:
    data = project(
        setting(4, doOutput=0), setting(30, "Tool"), shape("Rect", index=4, W=1, H=1),
        shape("Rect", index=30, W=2, H=2), shape("Rect", W=3, H=3),
    )  # fmt: skip
    found = drawn(data)
    assert [one.layer for one in found.outlines] == ["C00"]
    assert found.remarks == (
        "1 shapes on layer 'C04' are left out: its output is off",
        "1 shapes on layer 'T1' are left out: its output is off",
    )
    chosen = drawn(data, layers=["c04", "T1"])
    assert [(one.name, one.output) for one in chosen.layers] == [("C04", False), ("T1", False)]
    refused(
        project(setting(4, doOutput=0), shape("Rect", index=4, W=1, H=1)), "nothing to draw", "output is off"
    )


def test_two_layers_of_one_name_are_told_apart() -> None:
    data = project(
        setting(0, name="cut"),
        setting(5, name="Cut"),
        shape("Rect", W=1, H=1),
        shape("Rect", index=5, W=1, H=1),
    )
    assert [one.name for one in drawn(data).layers] == ["cut", "Cut (05)"]


def test_a_width_scales_the_drawing() -> None:
    found = drawn(project(shape("Ellipse", Rx=5, Ry=2)), width=0.1)
    assert found.size == pytest.approx((0.1, 0.04))
    assert area_of(found.outlines[0]) == pytest.approx(1000 * np.pi, rel=1e-5)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"<LightBurnProject>", "is no XML that can be read"),
        (b"<svg/>", "is no project of LightBurn: its first element is <svg>"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><LightBurnProject/>", "has a document type"),
        (project(), "there is nothing to draw"),
        (project(shape("Rect", "1 0 0 1 5", W=1, H=1)), "a shape needs six numbers, got '1 0 0 1 5'"),
        (project(shape("Rect", "1 0 0 nan 5 5", W=1, H=1)), "XForm of a shape needs six numbers"),
        (project(shape("Rect", W="wide", H=1)), "Rect (W must be at least 0, got 'wide')"),
        (project(shape("Rect", "1 0 0 1 1e300 0", W=4, H=4)), "Rect (a coordinate must lie within 1e+09 mm)"),
        (project(shape("Rect", W=4, H=4, Cr=-1)), "Rect (Cr must be at least 0, got '-1')"),
        (project('<Shape Type="Rect" CutIndex="x" W="1"/>'), "CutIndex of a shape must be 0 to 31, got 'x'"),
        (project(setting(0, maxPower=120)), "maxPower of a cut setting must be 0 to 100 percent, got 120"),
        (project(setting(0, speed="fast")), "speed of a cut setting must be a number, got 'fast'"),
        (project('<CutSetting type="Cut"/>'), "a cut setting needs an index of 0 to 31"),
        (project(path("V0 0V1 1", "L0 2")), "Path ('L0 2' names a vertex, of 2, that is not there)"),
        (project(path("V0 0V1 1", "Q0 1")), "Path (a primitive 'Q' is not known)"),
        (project(path("V0 0V1 1", "L0 1 what")), "Path ('what' is no line or curve)"),
        (project(path("V0 0W1 1", "L0 1")), "Path ('W1 1' is no vertex)"),
        (project(path("V0 0V1 1", "")), "Path (its list of lines is empty)"),
        (project(path("V0 0c0x1V1 1c1x3", "B0 1")), "which says that there is none, or that it is (1, 0)"),
        (project("<Shape/>"), "Shape without a type"),
    ],
)  # fmt: skip
def test_files_without_sense_are_refused(data: bytes, words: str) -> None:
    refused(data, words)


def test_groups_without_end_are_refused() -> None:
    text = shape("Rect", W=1, H=1)
    for _ in range(80):
        text = shape("Group", inner=f"<Children>{text}</Children>")
    refused(project(text), "groups nest more than 60 deep")
