"""Drawings of lines as targets: areas by hand, holes, widths, scale; `minusgrad laser part.dxf`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad.scene.units import UnitSystem

from . import dxf_texts as dxf
from .starts import made, target
from .test_lightburn import project, setting, shape

pytestmark = pytest.mark.unit
PLAIN = UnitSystem.dimensionless()
MILLIMETRES = UnitSystem.of("mm", "kg", "ms")


def drawn(
    folder: Path, data: bytes, name: str = "a.dxf", units: UnitSystem = MILLIMETRES, **keys: Any
) -> np.ndarray:
    """The target of a file with cells of 0.1 mm, top row first."""
    (folder / name).write_bytes(data)
    canvas = {"pixel": keys.pop("pixel", "0.1 mm")}
    own = {
        "kind": "drawing",
        "file": name,
        "margin": 5.0 * canvas["pixel"] if units is PLAIN else "0.5 mm",
    } | keys
    state = made(
        folder,
        units,
        canvas=canvas | {"size": None},
        target=own,
        path={"kind": "hatch", "pitch": canvas["pixel"]},
    )
    return target(state)[::-1]


def square(x: float, y: float, side: float, on: str = "0") -> dxf.Pairs:
    return dxf.polyline([(x, y, 0), (x + side, y, 0), (x + side, y + side, 0), (x, y + side, 0)], True, on)


def test_a_rectangle_covers_parts_of_cells(tmp_path: Path) -> None:
    """3.05 x 2.025 mm at the lower left corner of the page."""
    found = drawn(
        tmp_path, dxf.drawing(dxf.polyline([(5, 5, 0), (8.05, 5, 0), (8.05, 7.025, 0), (5, 7.025, 0)], True))
    )
    assert found.shape == (31, 41)
    expected = np.pad(np.ones((21, 31)), 5)
    expected[:, 35] *= 0.5
    expected[5] *= 0.25
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_holes_stay_empty_and_islands_are_filled(tmp_path: Path) -> None:
    """A disc of radius 6 with a hole of 4 that has an island of 2: pi (36 - 16 + 4)."""
    rings = [dxf.circle(0, 0, 6), dxf.circle(0, 0, 4, "inner"), dxf.circle(0, 0, 2)]
    assert drawn(tmp_path, dxf.drawing(*rings)).sum() * 0.01 == pytest.approx(24 * np.pi, rel=1e-3)
    assert drawn(tmp_path, dxf.drawing(*rings), layers=["inner"]).sum() * 0.01 == pytest.approx(
        16 * np.pi, rel=1e-3
    )


def test_an_outline_that_is_drawn_twice_counts_once(tmp_path: Path) -> None:
    sides = [dxf.line(4, 4, 0, 4), dxf.line(4, 0, 4, 4), dxf.line(0, 0, 4, 0), dxf.line(0, 4, 0, 0)]
    assert drawn(tmp_path, dxf.drawing(square(0, 0, 4), *sides)).sum() == pytest.approx(1600)
    assert drawn(tmp_path, dxf.drawing(*sides, *sides)).sum() == pytest.approx(1600)


def test_areas_of_their_own_are_painted_over_one_another(tmp_path: Path) -> None:
    """Two solids of 4 x 3 that overlap by 2 x 3, beside an outline."""
    solids = [
        [
            (0, "SOLID"),
            (8, "0"),
            (10, x),
            (20, 0),
            (11, x + 4),
            (21, 0),
            (12, x),
            (22, 3),
            (13, x + 4),
            (23, 3),
        ]
        for x in (0, 2)
    ]
    assert drawn(tmp_path, dxf.drawing(*solids, square(10, 0, 2))).sum() == pytest.approx(1800 + 400)


def test_open_lines_need_a_width(tmp_path: Path) -> None:
    """A line of 5 mm with a round pen of 0.4 mm: 5 x 0.4 + pi 0.2^2, on a page that has room for it."""
    data = dxf.drawing(dxf.line(0, 0, 5, 0, "cut"), square(0, 2, 1))
    with pytest.raises(UserError) as error:
        drawn(tmp_path, data)
    said = str(error.value)
    assert said.startswith("'a.dxf': 1 lines are open, so they surround nothing, the first on layer 'cut'")
    assert "from (0, 0) to (5, 0) mm, its ends 5 mm apart" in said
    assert "give a stroke" in said
    found = drawn(tmp_path, data, stroke="0.4 mm")
    assert found.shape == (44, 64)
    assert found.sum() * 0.01 == pytest.approx(2 + 0.04 * np.pi + 1, rel=2e-3)


def test_colours_are_chosen(tmp_path: Path) -> None:
    layers = [dxf.layer("a", 1), dxf.layer("b", 5)]
    data = dxf.drawing(square(0, 0, 4, "a"), square(1, 1, 2, "b"), layers=layers)
    assert drawn(tmp_path, data, colours=["red"]).sum() == pytest.approx(1600)
    assert drawn(tmp_path, data, colours=["#0000ff"]).sum() == pytest.approx(400)
    with pytest.raises(UserError, match="no outline has the colour '#123456' "):
        drawn(tmp_path, data, colours=["#123456"])


def test_the_scale_is_the_file_s_the_unit_s_or_a_width_s(tmp_path: Path) -> None:
    bare = dxf.drawing(square(0, 0, 2), unit=None)
    with pytest.raises(UserError, match="unit of its lengths"):
        drawn(tmp_path, bare)
    assert drawn(tmp_path, bare, length="mm").shape == (30, 30)
    assert drawn(tmp_path, bare, width="5 mm").shape == (60, 60)
    assert drawn(tmp_path, dxf.drawing(square(0, 0, 0.2), unit=1)).shape == (61, 61)
    assert drawn(tmp_path, bare, units=PLAIN, pixel=1.0, width=30.0).shape == (40, 40)
    with pytest.raises(UserError, match="needs a unit of length"):
        drawn(tmp_path, bare, units=PLAIN, pixel=1.0, length="mm")
    assert drawn(tmp_path, bare, length="mm", margin="1 mm").shape == (40, 40)


def test_projects_of_lightburn_and_svg(tmp_path: Path) -> None:
    data = project(
        setting(1, "Scan"), shape("Rect", W=6, H=4), shape("Rect", index=1, W=2, H=2), shape("Rect", W=4, H=3)
    )
    assert drawn(tmp_path, data, "a.lbrn2").sum() == pytest.approx(2400 - 1200 + 400)
    assert drawn(tmp_path, data, "a.lbrn2", layers=["C01"]).sum() == pytest.approx(400)
    page = '<svg xmlns="http://www.w3.org/2000/svg" width="4mm" height="3mm" viewBox="0 0 40 30">'
    svg = drawn(tmp_path, (page + '<rect x="10" y="5" width="20" height="10"/></svg>').encode(), "a.svg")
    assert svg.shape == (40, 50)
    assert svg.sum() == pytest.approx(200, rel=1e-3)


def test_remarks_reach_the_user(tmp_path: Path) -> None:
    from minusgrad.assembly.contexts import StateContext
    from minusgrad_laser.canvas import CanvasTable
    from minusgrad_laser.targets.outlines import FromDrawing

    (tmp_path / "a.dxf").write_bytes(
        dxf.drawing(square(0, 0, 2), dxf.line(0, 0, 9, 9, "off"), layers=[dxf.layer("off", -1)])
    )
    context = StateContext(MILLIMETRES, 0, tmp_path)
    FromDrawing(file="a.dxf").draw(CanvasTable(pixel="0.1 mm"), context)
    assert context.remarks == ["'a.dxf': 1 objects on layer 'off' are left out: off"]


def test_a_path_of_the_same_file_lies_on_its_lines(tmp_path: Path) -> None:
    """Also where the pen of open lines makes the page larger: points of the path are places of the target."""
    parts = square(0, 0, 4, "cut"), dxf.line(5, 1, 7.03, 1, "cut"), dxf.circle(40, 40, 1, "other")
    (tmp_path / "a.dxf").write_bytes(dxf.drawing(*parts))
    own = {"file": "a.dxf", "layers": ["CUT"]}
    state = made(
        tmp_path, MILLIMETRES, canvas={"pixel": "0.1 mm", "size": None},
        target={"kind": "drawing", "stroke": "0.5 mm", "margin": "0.25 mm"} | own,
        path={"kind": "outlines", "spacing": "0.05 mm"} | own,
    )  # fmt: skip
    places = np.stack([state.fields["x"], state.fields["y"]], axis=1)
    line = places[places[:, 0] > 5.0]
    assert np.ptp(line[:, 0]) > 1.9
    rows, columns = np.round(line.T[::-1] / 0.1).astype(int)
    assert target(state)[rows, columns].min() == 1.0
    np.testing.assert_allclose(line[:, 1], 1.0 + 0.3 + 0.3 - 0.05, atol=1e-9)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    note = [(0, "TEXT"), (8, "notes"), (10, 0), (20, 0), (40, 5), (1, "A4")]
    parts = [square(0, 0, 4, "cut"), dxf.line(6, 0, 8, 0, "cut"), note]
    (tmp_path / "part.dxf").write_bytes(dxf.drawing(*parts, unit=None))
    (tmp_path / "page.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="4mm" height="3mm"/>')
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["part.dxf"], "'part.dxf': does not say the unit of its lengths"),
        (["part.dxf", "--length", "mm"], "1 TEXT on layer 'notes' cannot be read as lines"),
        (["part.dxf", "--length", "mm", "--only", "cut"], "1 lines are open"),
        (["part.dxf", "--length", "mm", "--only", "cut", "--only", "gone"], "has no layer 'gone'"),
        (["part.dxf", "--length", "mm", "--invert"], "--invert: part.dxf is a drawing"),
        (["part.dxf", "--length", "mm", "--dpi", "300"], "--dpi: part.dxf has lengths, not pixels"),
        (["part.dxf", "--length", "mm", "--stroke", "-1 mm"], "--stroke: must be above 0"),
        (["page.svg", "--only", "cut"], "page.svg: --length, --only and --stroke are for drawings"),
    ],
)
def test_the_tool_refuses_in_one_line(here: Path, invoke: Any, words: list[str], said: str) -> None:
    code, out, err = invoke("laser", *words, "--machine", "grbl_diode", "--scene-only")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1, err
    assert not list(here.glob("*.toml"))


def test_the_tool_writes_the_scene_of_a_drawing(here: Path, invoke: Any) -> None:
    words = ["part.dxf", "--length", "mm", "--only", "cut", "--stroke", "0.2 mm"]
    code, _, err = invoke("laser", *words, "--machine", "grbl_diode", "--scene-only")
    assert code == 0, err
    text = next(here.glob("*.toml")).read_text()
    assert 'file = "part.dxf"' in text
    assert 'length = "mm", stroke = "200 um", layers = ["cut"]' in text
