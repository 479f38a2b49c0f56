"""`minusgrad laser --layers`: from a drawing and a table of layers to a job; bad input leaves no file."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

from minusgrad_laser.machine.profile import SHIPPED
from tests.plugins.laser.answers import Invoke, left, refused

from . import dxf_texts
from .test_lightburn import path, project, setting, shape

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" width="20mm" height="12mm" viewBox="0 0 20 12">'
PART = f"""{HEAD}
<rect x="1" y="1" width="18" height="10" fill="none" stroke="#808080"/>
<circle cx="4" cy="6" r="2" fill="none" stroke="#808080"/>
<path d="M8 3h6v4h-6z" fill="#000000"/>
<path d="M8 9h6" fill="none" stroke="#404040"/>
</svg>
"""
CUT = '[[layer]]\nstroke = "#808080"\nmode = "cut"\nspeed = "20 mm/s"\n'
ENGRAVE = '[[layer]]\nfill = "black"\nmode = "engrave"\n'
SCORE = '[[layer]]\nstroke = "#404040"\nmode = "score"\nspeed = "50 mm/s"\npower = "2.5 W"\n'
TABLE = CUT + ENGRAVE + SCORE


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a drawing of three colours, and a table of its layers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part.svg").write_text(PART)
    (tmp_path / "part.layers.toml").write_text(TABLE)
    return tmp_path


def test_a_drawing_becomes_a_job_of_its_layers(invoke: Invoke, here: Path):
    code, out, err = invoke("laser", "part.svg", "--layers", "part.layers.toml", "--json")
    assert code == 0, err
    said = json.loads(out)
    assert said["files"] == ["part.gcode", "part.report.html", "part.report.png"]
    assert left(here) == {"part.svg", "part.layers.toml", *said["files"]}
    engrave, score, cut = said["layers"]
    assert [one["mode"] for one in said["layers"]] == ["engrave", "score", "cut"]
    assert engrave["overlap"] > 0.98
    assert engrave["area"] == pytest.approx(24e-6, rel=1e-3)
    assert score["marked"] > 0.99
    assert score["way"] == pytest.approx(6e-3)
    assert cut["way"] == pytest.approx(56e-3 + 4e-3 * 3.14159, abs=0.2e-3)  # half a kerf off, around corners
    assert (said["violations"], said["burns"], said["remarks"]) == ([], [], [])
    text = (here / "part.gcode").read_text()
    heads = re.findall(r"^; (engrave|score|cut) .*$", text, re.MULTILINE)
    assert heads == ["engrave", "score", "cut"]
    assert text.rstrip().splitlines()[-1].startswith("M5")
    behind = text.partition("; cut stroke #808080: 5 W, 20 mm/s\n")[2]
    places = [float(x) for x in re.findall(r"X([\d.]+)", behind)]
    outside = next(k for k, x in enumerate(places) if x > 6.5)  # the hole is cut before the part around it
    assert 2.0 < min(places[:outside]) < 2.1
    assert max(places[outside:]) == pytest.approx(19.0, abs=0.2)


def test_the_report_shows_the_layers(invoke: Invoke, here: Path):
    more = ("--csv", "--svg", "--tiff", "--hdf5", "-o", "job.gcode")
    code, _, err = invoke("laser", "part.svg", "--layers", "part.layers.toml", *more)
    assert code == 0, err
    assert {"job.csv", "job.svg", "job.dose.tiff", "job.developed.tiff", "job.h5"} <= left(here)
    page = unescape((here / "job.report.html").read_text())
    assert "<h2>Layers</h2>" in page
    for name in ("engrave fill #000000", "score stroke #404040", "cut stroke #808080"):
        assert f"<th>{name}</th>" in page
    assert Image.open(here / "job.report.png").width > 1500


def test_the_drawing_is_not_overwritten_by_its_preview(invoke: Invoke, here: Path):
    text = refused(
        invoke, here, "part.svg", "--layers", "part.layers.toml", "--svg", "-o", "part.gcode", "--force"
    )
    assert text.startswith("part.svg: is what the job is made of; give another --out")


def test_layers_are_listed_and_a_table_is_begun(invoke: Invoke, here: Path):
    code, out, _ = invoke("laser", "part.svg", "--layers", "list")
    assert code == 0
    assert out.splitlines() == [
        "part.svg: 20 x 12 mm",
        '  stroke = "#808080"  2 outlines',
        '  fill = "#000000"    1 outline',
        '  stroke = "#404040"  1 outline',
        "write a table of them with --layers new: part.layers.toml",
    ]
    assert "part.layers.toml: exists" in refused(invoke, here, "part.svg", "--layers", "new")
    code, out, _ = invoke("laser", "part.svg", "--layers", "new", "--force")
    assert (code, out) == (0, "part.layers.toml\n")
    code, _, err = invoke("laser", "part.svg", "--layers", "part.layers.toml")
    assert code == 0, err


def test_width_scales_the_drawing(invoke: Invoke, here: Path):
    code, out, err = invoke("laser", "part.svg", "--layers", "part.layers.toml", "--width", "10 mm", "--json")
    assert code == 0, err
    assert json.loads(out)["layers"][0]["area"] == pytest.approx(6e-6, rel=1e-3)


def test_what_is_left_out_is_said(invoke: Invoke, here: Path):
    (here / "part.layers.toml").write_text(TABLE.replace('mode = "engrave"', "output = false"))
    code, out, err = invoke("laser", "part.svg", "--layers", "part.layers.toml", "--json")
    assert code == 0, err
    assert json.loads(out)["remarks"] == ["left out, by output = false: fill #000000"]


def test_a_layer_that_marks_nothing_is_said(invoke: Invoke, here: Path):
    """The area has its dose by the material; the line at a given speed has a fifth of what marks."""
    words = ("--layers", "part.layers.toml", "--full", "400 J/cm^2", "--json")
    code, out, err = invoke("laser", "part.svg", *words)
    assert code == 0, err
    (remark,) = json.loads(out)["remarks"]
    assert remark.startswith(
        "stroke #404040: marks nothing: its dose is 0.199 of --full, and the threshold 0.5;"
    )
    assert [one.get("marked") for one in json.loads(out)["layers"]] == [None, 0.0, None]


LIGHTBURN = project(
    setting(0, maxPower=60, speed=20, numPasses=2, priority=2, runBlower=1),
    setting(1, "Scan", maxPower=40, speed=80, interval=0.05, priority=0),
    setting(2, maxPower=20, speed=50, priority=1),
    shape("Rect", "1 0 0 1 30 30", W=12, H=8),
    shape("Ellipse", "1 0 0 1 28 30", Rx=1, Ry=1),
    shape("Rect", "1 0 0 1 32 30", index=1, W=3, H=2),
    path("V26 33c0x1c1x1V34 33c0x1c1x1", "L0 1", index=2),
)
"""A part with a hole, a dark rectangle and an open line, with their cut settings."""


def test_a_project_of_lightburn_brings_its_settings(invoke: Invoke, here: Path):
    """Its order, power, speed, passes, interval and air; a layer of open lines follows them."""
    (here / "part.lbrn2").write_bytes(LIGHTBURN)
    code, out, err = invoke("laser", "part.lbrn2", "--layers", "file", "--json")
    assert code == 0, err
    engrave, score, cut = json.loads(out)["layers"]
    assert (engrave["mode"], engrave["power"], engrave["speed"]) == ("engrave", 2.0, 0.08)
    assert (score["mode"], score["power"], score["speed"]) == ("score", 1.0, 0.05)
    assert (cut["mode"], cut["power"], cut["speed"], cut["passes"]) == ("cut", 3.0, 0.02, 2)
    assert engrave["area"] == pytest.approx(6e-6, rel=1e-3)
    assert "\nM8\n" in (here / "part.gcode").read_text()


def test_only_the_layers_that_are_named_are_made(invoke: Invoke, here: Path):
    (here / "part.lbrn2").write_bytes(LIGHTBURN)
    code, out, err = invoke("laser", "part.lbrn2", "--layers", "file", "--only", "C01", "--json")
    assert code == 0, err
    assert [one["mode"] for one in json.loads(out)["layers"]] == ["engrave"]


def test_an_exponent_that_jobs_do_not_take_is_said(invoke: Invoke, here: Path):
    profile = (SHIPPED / "grbl_diode.toml").read_text()
    for exponent, said in (
        (1.8, ["the profile has an exponent of 1.8, and jobs take 1: less intensity"]),
        (1.01, []),
    ):
        (here / "mine.toml").write_text(f"exponent = {exponent}\n{profile}")
        words = ("--layers", "part.layers.toml", "--machine", "mine.toml", "--json", "--force")
        code, out, err = invoke("laser", "part.svg", *words)
        assert code == 0, err
        found = json.loads(out)["remarks"]
        assert [one[: len(text)] for one, text in zip(found, said, strict=True)] == said


def test_a_table_goes_over_the_settings_of_the_file(invoke: Invoke, here: Path):
    (here / "part.lbrn2").write_bytes(LIGHTBURN)
    code, out, _ = invoke("laser", "part.lbrn2", "--layers", "new", "--force")
    text = (here / out.strip()).read_text()
    assert '# speed = "20 mm/s"    as the file has it' in text
    first = text.index("[[layer]]") + len("[[layer]]\n")
    (here / "part.layers.toml").write_text(text[:first] + 'speed = "10 mm/s"\n' + text[first:])
    code, out, err = invoke("laser", "part.lbrn2", "--layers", "part.layers.toml", "--json")
    assert code == 0, err
    speeds = {one["mode"]: (one["speed"], one["passes"]) for one in json.loads(out)["layers"]}
    assert speeds == {"engrave": (0.08, 1), "score": (0.05, 1), "cut": (0.01, 2)}


def test_a_drawing_of_cad_needs_its_unit(invoke: Invoke, here: Path):
    """Four lines that meet are a part; without a unit the file is refused, and --length gives it."""
    corners = [(1, 1), (9, 1), (9, 5), (1, 5)]
    sides = [
        [(0, "LINE"), (8, "CUT"), (10, a[0]), (20, a[1]), (11, b[0]), (21, b[1])]
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True)
    ]
    (here / "part.dxf").write_bytes(dxf_texts.drawing(*sides, unit=None))
    (here / "part.layers.toml").write_text('[[layer]]\nlayer = "CUT"\nmode = "cut"\nspeed = "20 mm/s"\n')
    words = ("part.dxf", "--layers", "part.layers.toml")
    assert "does not say the unit of its lengths" in refused(invoke, here, *words)
    code, out, err = invoke("laser", *words, "--length", "mm", "--json")
    assert code == 0, err
    (cut,) = json.loads(out)["layers"]
    assert cut["edge_mean"] < 1e-6
    assert cut["way"] == pytest.approx(24e-3, rel=0.03)


@pytest.mark.long
def test_an_area_may_be_searched(invoke: Invoke, here: Path):
    small = PART.replace('"M8 3h6v4h-6z"', '"M8 3h1v1h-1z"')
    (here / "part.svg").write_text(small)
    (here / "part.layers.toml").write_text(CUT + ENGRAVE + "search = true\n" + SCORE)
    words = ("laser", "part.svg", "--layers", "part.layers.toml", "--json", "--steps", "60")
    code, out, err = invoke(*words)
    assert code == 0, err
    assert json.loads(out)["layers"][0]["overlap"] > 0.95
    assert (here / "part.fill-000000.run").is_dir()
    first = (here / "part.gcode").read_bytes()
    code, _, err = invoke(*words, "--resume", "--force")
    assert code == 0, err
    assert (here / "part.gcode").read_bytes() == first


@pytest.mark.parametrize(
    ("table", "words", "wrong"),
    [
        (TABLE, ("--layers", "parts.toml"), "parts.toml: "),
        (TABLE, ("--layers", "red"), "--layers: takes the name of a TOML file, or new, list or file, got"),
        (TABLE, ("--layers", "file"), "--layers: part.svg states no settings of layers, got file; begin a"),
        (ENGRAVE + CUT, (), 'part.svg: no layer takes stroke = "#404040" (1 outline); add'),
        (TABLE.replace("#404040", "#404041"), (), 'part.svg: no layer takes stroke = "#404040" (1 outline)'),
        (TABLE + CUT.replace("808080", "ff0000"), (), "part.svg: has nothing that layer 'stroke #ff0000'"),
        (TABLE + '[[layer]]\ncolour = "#808080"\n', (), "part.svg: a mark belongs to one layer, got 'stroke"),
        (TABLE.replace("black", "blak"), (), "part.layers.toml:6:8: layer.1.fill: is no colour, got 'blak'"),
        (CUT + ENGRAVE + SCORE.replace("score", "cut"), (), "stroke #404040: a part is cut along closed"),
        (CUT + ENGRAVE + SCORE.replace("score", "engrave"), (), "stroke #404040: engraves areas, got an"),
        (TABLE.replace("50 mm/s", "500 mm/s"), (), "stroke #404040: GRBL diode engraver reaches 100 mm/s,"),
        (TABLE.replace("2.5 W", "25 W"), (), "stroke #404040: GRBL diode engraver has 0 to 5 W, got 25 W;"),
        (TABLE, ("--power", "1 W"), "stroke #404040: --power allows 1 W, got 2.5 W; give less power"),
        (TABLE + 'air = "M9"\n', (), "part.layers.toml:13:7: layer.2.air: "),
        (
            TABLE.replace('"engrave"', '"engrave"\nsearch = true\nspeed = "9 mm/s"'), (),
            "a search finds the path and its speed, got speed, too; leave it out",
        ),
        (TABLE, ("--invert",), "--invert: swaps the darkness of images, and a job of layers has"),
        (TABLE, ("--machine", "linuxcnc_co2"), "machine: jobs are written for grbl and marlin, got dialect"),
        (TABLE, ("--steps", "9"), "--steps: no layer has search = true; leave it out"),
        (TABLE, ("--baseline",), "--baseline: is of a job from an image; leave it out"),
        (TABLE, ("--stroke", "1 mm"), "--stroke: is of a job from an image; leave it out"),
        (TABLE, ("-o", "part.txt"), "--out: needs the name of a job file, such as part.gcode, got"),
    ],
)  # fmt: skip
def test_a_wrong_table_or_option_has_one_message(
    invoke: Invoke, here: Path, table: str, words: tuple, wrong: str
):
    (here / "part.layers.toml").write_text(table)
    named = () if "--layers" in words else ("--layers", "part.layers.toml")
    text = refused(invoke, here, "part.svg", *named, *words)
    assert wrong in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("drawing", "wrong"),
    [
        (HEAD + "</svg>", "part.svg"),
        (PART.replace('width="20mm" height="12mm"', ""), "part.svg': its width and height have no unit"),
        (
            PART.replace('viewBox="0 0 20 12"', 'viewBox="5 0 20 12"'),
            "part.svg: its lines go from -4 to 14 mm along x, and the field of mine from 0 to 18.5 mm;",
        ),
        (
            PART.replace("20mm", "30mm").replace("12mm", "18mm"),
            "part.svg: is 27 mm along x, but the field of mine is 18.5 mm; give a smaller --width",
        ),
        ("no drawing", "part.svg"),
    ],
)  # fmt: skip
def test_a_wrong_drawing_has_one_message(invoke: Invoke, here: Path, drawing: str, wrong: str):
    profile = (
        (SHIPPED / "grbl_diode.toml").read_text().replace('["300 mm", "300 mm"]', '["18.5 mm", "300 mm"]')
    )
    (here / "mine.toml").write_text(profile.replace("GRBL diode engraver", "mine"))
    (here / "part.svg").write_text(drawing)
    text = refused(invoke, here, "part.svg", "--layers", "part.layers.toml", "--machine", "mine.toml")
    assert wrong in text
    assert len(text.splitlines()) == 1
