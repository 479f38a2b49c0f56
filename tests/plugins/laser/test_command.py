"""`minusgrad laser`: from an image to a job file, its report, its replay; bad input leaves nothing behind."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
from html import unescape
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import Image, ImageDraw

import minusgrad as package
from tests.plugins.laser.answers import Invoke, left, refused
from tests.support.command import files, last_saved, minusgrad, start, wait_until_saved

SIDE = 64
MARGIN = 3
"""Cells of the canvas beside the image: half a spot of 100 um in cells of 20 um, rounded up."""
SHORT = ("--steps", "60")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the picture of a ring, 1.28 mm wide."""
    monkeypatch.chdir(tmp_path)
    ring(tmp_path / "ring.png")
    return tmp_path


def ring(file: Path) -> None:
    image = Image.new("L", (SIDE, SIDE), 255)
    draw = ImageDraw.Draw(image)
    draw.ellipse((10, 10, 53, 53), fill=0)
    draw.ellipse((24, 24, 39, 39), fill=255)
    image.save(file, dpi=(1270, 1270))


def ended(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code and output of a command that takes a while on a busy machine."""
    try:
        out, err = child.communicate(timeout=900)
    finally:
        child.kill()
    return child.returncode, out, err


# From an image to a job -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the whole job of the ring, made in a process of its own."""
    folder = tmp_path_factory.mktemp("job")
    ring(folder / "ring.png")
    code, out, err = ended(start("laser", "ring.png", *SHORT, "--json", "--tiff", cwd=folder))
    assert code == 0, err
    (folder / "said.json").write_text(out)
    return folder


def test_an_image_becomes_a_job_that_marks_it(job: Path) -> None:
    said = json.loads((job / "said.json").read_text())
    assert said["violations"] == []
    assert float(said["scores"]["intersection over union"]) > 0.8
    assert all((job / name).is_file() for name in said["files"])
    text = (job / "ring.gcode").read_text()
    assert re.search(r"^G1", text, re.MULTILINE)
    assert text.rstrip().splitlines()[-1].startswith("M5")


def test_the_report_is_one_file_without_a_network(job: Path) -> None:
    page = unescape((job / "ring.report.html").read_text())
    for title in ("Target", "Dose", "Developed", "Error", "Edge placement", "Path, by power", "Over-burn"):
        assert f"<h2>{title}</h2>" in page
    outside = re.findall(r"""(?:src|href)=["'](?!#|data:)""", page)
    assert (outside, "<script" in page, "@import" in page, "url(http" in page) == ([], False, False, False)
    assert page.count("[mm]") >= 2 * 8
    assert page.count("200 µm") >= 8
    said = json.loads((job / "said.json").read_text())
    assert all(f"<th>{name}</th><td>{value}</td>" in page for name, value in said["scores"].items())
    picture = Image.open(job / "ring.report.png")
    assert picture.width > 1500
    assert np.asarray(picture.convert("L")).std() > 20.0


def test_the_maps_as_tiff_have_units(job: Path) -> None:
    dose = Image.open(job / "ring.dose.tiff")
    assert (dose.size, dose.mode) == ((SIDE + 2 * MARGIN,) * 2, "F")
    values = np.asarray(dose)
    assert values.max() > 0.5
    assert dose.info["dpi"][0] == pytest.approx(1270.0)
    centre = SIDE // 2 + MARGIN
    middle = values[centre, centre - 14], values[centre, centre]
    assert middle[0] > 0.5 > middle[1]


@pytest.mark.long
def test_its_scene_is_an_ordinary_one(job: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(job)
    code, _, err = invoke("run", "ring.run/scene.toml", "--out", "again")
    assert (code, err) == (0, "")
    assert files(job / "again") == files(job / "ring.run")


@pytest.mark.long
def test_an_interrupted_job_continues_to_the_same_bits(job: Path, tmp_path: Path) -> None:
    ring(tmp_path / "ring.png")
    words = ("laser", "ring.png", *SHORT, "--tiff")
    child = start(*words, cwd=tmp_path)
    wait_until_saved(tmp_path / "ring.run", 15, child)
    child.send_signal(signal.SIGINT)
    code, out, err = ended(child)
    assert (code, out) == (4, ""), err
    line = "continue with: minusgrad laser ring.png --steps 60 --tiff --resume"
    assert err.splitlines()[-1].endswith(line), err
    assert 15 <= last_saved(tmp_path / "ring.run") < 60
    assert left(tmp_path) == {"ring.png", "ring.run"}
    code, _, err = ended(start(*line.removeprefix("continue with: minusgrad ").split(), cwd=tmp_path))
    assert code == 0, err
    for name in ("ring.gcode", "ring.report.html", "ring.report.png", "ring.dose.tiff"):
        assert (tmp_path / name).read_bytes() == (job / name).read_bytes(), name
    other = minusgrad("laser", "ring.png", "--steps", "61", "--resume", "--force", cwd=tmp_path)
    assert other.returncode == 2
    assert "ring.run was begun with other options" in other.stderr


# Replay ---------------------------------------------------------------------------------------------


def test_replay_of_the_job_agrees(job: Path, invoke: Invoke, tmp_path: Path) -> None:
    out = tmp_path / "replay.html"
    code, text, err = invoke("laser", "--replay", job / "ring.gcode", "--out", out, "--json")
    assert (code, err) == (0, "")
    said, made = json.loads(text), json.loads((job / "said.json").read_text())
    assert said["findings"] == []
    assert said["scores"]["job time"] == made["scores"]["job time"]
    assert said["scores"]["peak dose"] == made["scores"]["peak dose"]
    assert out.is_file()
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


CORNER = """G21 G90
M3 S500
G0 X0 Y0
G1 X10 F6000 S500
G1 Y10
G1 X0
M5
"""
"""Two square corners at 100 mm/s with constant power, as any program writes it."""


def test_replay_finds_the_over_burn_of_constant_power_at_a_corner(invoke: Invoke, here: Path) -> None:
    (here / "corner.nc").write_text(CORNER)
    code, _, err = invoke("laser", "--replay", "corner.nc")
    assert code == 1
    burn = r"over-burn: (\S+) times the dose that is meant at x = (\S+) mm, y = (\S+) mm"
    found = list(re.finditer(burn, err))
    assert len(found) == 4, err
    burns = np.array([list(map(float, one.groups())) for one in found])
    ends = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]])
    assert np.linalg.norm(burns[:, None, 1:] - ends, axis=2).min(axis=0).max() < 0.05
    assert burns[1:3, 0].min() > 7.0
    assert burns[1:3, 0].max() < 15.0
    assert "<h2>Over-burn</h2>" in (here / "corner.replay.html").read_text()


def test_replay_of_dynamic_power_has_no_over_burn(invoke: Invoke, here: Path) -> None:
    (here / "corner.nc").write_text(CORNER.replace("M3", "M4"))
    code, out, err = invoke("laser", "--replay", "corner.nc")
    assert (code, err) == (0, "")
    assert re.search(r"limits broken +0\n", out)
    assert 1.0 < float(re.search(r"over-burn, largest +(\S+)\n", out)[1]) < 1.25


# Bad input ------------------------------------------------------------------------------------------


def test_no_image(invoke: Invoke, here: Path) -> None:
    assert refused(invoke, here) == "laser: needs an IMAGE, or --replay FILE, --grid or --fit FILE"
    assert refused(invoke, here, "none.png") == "none.png: cannot be read: No such file or directory"


def test_images_without_content(invoke: Invoke, here: Path) -> None:
    Image.new("L", (8, 8), 255).save(here / "white.png", dpi=(300, 300))
    (here / "empty.png").write_bytes(b"")
    (here / "cut.png").write_bytes((here / "ring.png").read_bytes()[:80])
    pale = Image.new("L", (8, 8), 200)
    pale.putpixel((3, 3), 150)
    pale.save(here / "pale.png", dpi=(300, 300))
    Image.new("L", (8, 8), 0).save(here / "black.png", dpi=(300, 300))
    text = "white.png: is 0 everywhere, so there is nothing to mark; perhaps --invert"
    assert refused(invoke, here, "white.png") == text
    assert refused(invoke, here, "black.png") == "black.png: is 1 everywhere, so there is nothing to mark"
    text = "pale.png: nothing is darker than one half, got 0.412; raise the contrast"
    assert refused(invoke, here, "pale.png") == text
    assert "'empty.png' is empty (0 bytes)" in refused(invoke, here, "empty.png")
    assert "'cut.png'" in refused(invoke, here, "cut.png")


def test_an_image_without_a_scale(invoke: Invoke, here: Path) -> None:
    Image.open(here / "ring.png").save(here / "bare.png", dpi=None)
    Image.fromarray(np.asarray(Image.open(here / "ring.png"))).save(here / "bare.png")
    text = refused(invoke, here, "bare.png")
    assert text == "bare.png: has no scale; give --width, such as --width '30 mm', or --dpi"


def test_an_image_larger_than_the_field(invoke: Invoke, here: Path) -> None:
    text = refused(invoke, here, "ring.png", "--width", "1 m")
    assert re.search(r"is 1000 mm along x, but the field of .* is 300 mm", text)


def test_a_dose_that_no_speed_reaches(invoke: Invoke, here: Path) -> None:
    text = refused(invoke, here, "ring.png", "--full", "1e9 J/m^2")
    assert re.search(r"reaches \d\S* J/m\^2 .* at \S+ mm/s .* 5 W, .* needs 5e\+08 J/m\^2", text), text


def test_outputs(invoke: Invoke, here: Path) -> None:
    assert refused(invoke, here, "ring.png", "-o", "no/job.gcode") == (
        "no/job.gcode: there is no folder no; make it first"
    )
    (here / "ring.gcode").write_text("mine")
    text = refused(invoke, here, "ring.png")
    assert text == "ring.gcode: exists; replace it with --force, or give another --out"
    assert (here / "ring.gcode").read_text() == "mine"
    text = refused(invoke, here, "ring.png", "-o", "job.png")
    assert text == "--out: needs the name of a job file, such as job.gcode, got 'job.png'"
    os.remove("ring.gcode")
    assert refused(invoke, here, "ring.png", "--resume").startswith(
        "--resume: ring.run is no run to continue"
    )


def test_a_job_that_was_killed_before_its_first_save(invoke: Invoke, here: Path) -> None:
    """Its options are those of this job, and there is nothing to continue."""
    assert invoke("laser", "ring.png", "--scene-only")[0] == 0
    (here / "ring.run" / "ckpt").mkdir(parents=True)
    (here / "ring.run" / "journal.jsonl").write_text('{"event": "started"}\n')
    shutil.move("ring.toml", "ring.run/scene.toml")
    text = refused(invoke, here, "ring.png", "--resume")
    assert text == "--resume: ring.run was stopped before its first save; begin again with --force"


@pytest.mark.parametrize("place", ["inputs/ring.png", "inputs", "scene.toml", "ckpt"])
def test_a_link_put_into_the_run_after_a_look_is_not_followed(
    invoke: Invoke, here: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The text of the scene and the image are read through the folder that is held, as by every verb."""
    assert invoke("laser", "ring.png", "--scene-only")[0] == 0
    for folder in ("ckpt", "inputs"):
        (here / "ring.run" / folder).mkdir(parents=True)
    (here / "ring.run" / "journal.jsonl").write_text('{"event": "started"}\n')
    (here / "ring.run" / "overrides.json").write_text("[]")
    shutil.move("ring.toml", "ring.run/scene.toml")
    shutil.copy("ring.png", "ring.run/inputs/ring.png")
    shutil.copytree("ring.run", "theirs")
    (here / "theirs" / "ckpt" / "0.h5").touch()
    (here / "theirs" / "scene.toml").write_text("theirs")
    real = package.open

    def exchanged(folder: Path) -> object:
        run, target = real(folder), here / "ring.run" / place
        target.rename(here / "theirs" / "away")
        target.symlink_to(here / "theirs" / place)
        return run

    monkeypatch.setattr(package, "open", exchanged)
    text = refused(invoke, here, "ring.png", "--resume")
    assert text.startswith(f"ring.run: '{place}' must be a regular file or folder, got a link; copy the run")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--width", "3", "--width: '3' is a plain number, but 'm' (length) is needed"),
        ("--width", "-3 mm", "--width: must be above 0, got -0.003"),
        ("--pixel", "nan m", "--pixel: "),
        ("--pixel", "1 mm", "'ring.png': the drawing is 1280 x 1280 um, less than two cells"),
        ("--full", "3 W", "--full: '3 W' is a power, but 'J m^-2'"),
        ("--steps", "0", "--steps: must be above 0, got 0"),
        ("--dpi", "0", "--dpi: needs 0.01 to 1e+07 pixels an inch, got 0"),
        ("--dpi", "1e-9", "--dpi: needs 0.01 to 1e+07 pixels an inch, got 1e-09"),
        ("--dpi", "1e9", "--dpi: needs 0.01 to 1e+07 pixels an inch, got 1e+09"),
        ("--dpi", "nan", "--dpi: needs 0.01 to 1e+07 pixels an inch, got nan"),
        ("--machine", "none.toml", "none.toml: cannot be read"),
        (
            "--machine",
            "my",
            "machine: no shipped profile has this name, got 'my'; take one of fluidnc_diode, ",
        ),
    ],
)
def test_options(option: str, value: str, said: str, invoke: Invoke, here: Path) -> None:
    assert refused(invoke, here, "ring.png", option, value).startswith(said)


def test_files_that_are_no_jobs(invoke: Invoke, here: Path) -> None:
    (here / "word.nc").write_text("G21 G90\nG1 X1 Q7\n")
    assert refused(invoke, here, "--replay", "word.nc").startswith("word.nc:2: ")
    assert refused(invoke, here, "--replay", "none.nc") == (
        "none.nc: cannot be read: No such file or directory"
    )
    (here / "dark.nc").write_text("G21 G90\nG0 X1\n")
    assert "the laser is never on" in refused(invoke, here, "--replay", "dark.nc")
    assert refused(invoke, here, "ring.png", "--replay", "dark.nc").startswith(
        "--replay: takes a job file alone"
    )


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="1mm" height="1mm" viewBox="0 0 10 10">{}</svg>'


def test_drawings(invoke: Invoke, here: Path) -> None:
    (here / "none.svg").write_text(SVG.format(""))
    (here / "outside.svg").write_text(
        SVG.format('<image href="http://a.example/b.png" width="5" height="5"/>')
    )
    (here / "box.svg").write_text(SVG.format('<rect x="2" y="2" width="5" height="5"/>'))
    assert "none.svg" in refused(invoke, here, "none.svg")
    assert "outside.svg" in refused(invoke, here, "outside.svg")
    assert refused(invoke, here, "box.svg", "--invert").startswith("--invert: box.svg is a drawing")
    code, out, _ = invoke("laser", "box.svg", "--scene-only")
    assert (code, out) == (0, "box.toml\n")
    assert 'target = { kind = "svg", file = "box.svg"' in (here / "box.toml").read_text()


def test_fonts_of_a_drawing(invoke: Invoke, here: Path) -> None:
    """They lie beside the scene, which runs; text without its font is refused with the cure."""
    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    text = '<text x="1" y="8" font-size="9" font-family="cursive">I</text>'
    (here / "text.svgz").write_bytes(gzip.compress(SVG.format(text).encode()))
    asked = refused(invoke, here, "text.svgz")
    assert asked.startswith(
        "'text.svgz':1: element <text>: needs a font of the family cursive, got none; give"
    )
    asked = refused(invoke, here, "ring.png", "--font", str(font))
    assert asked.startswith("--font: is for the text of a drawing")
    twice = refused(invoke, here, "text.svgz", "--font", str(font), "--font", f"serif={font}")
    assert twice == "--font: two files have the name 'DejaVuSans.ttf'; rename one"
    assert "missing.ttf: cannot be read" in refused(invoke, here, "text.svgz", "--font", "missing.ttf")
    (here / "out").mkdir()
    words = ("laser", "text.svgz", "--font", f"cursive={font}", "--scene-only", "-o", "out/text.gcode")
    assert invoke(*words) == (0, "out/text.toml\n", "")
    assert left(here / "out") == {"text.toml", "text.svgz", "DejaVuSans.ttf"}
    assert 'fonts = ["cursive=DejaVuSans.ttf"]' in (here / "out" / "text.toml").read_text()
    code, _, err = invoke("run", "out/text.toml", "run.steps=1", "--out", "run")
    assert (code, err) == (0, "")


def test_scene_only(invoke: Invoke, here: Path) -> None:
    (here / "out").mkdir()
    assert invoke("laser", "ring.png", "--scene-only", "-o", "out/ring.gcode") == (0, "out/ring.toml\n", "")
    assert left(here / "out") == {"ring.toml", "ring.png"}
    code, _, err = invoke("run", "out/ring.toml", "run.steps=1", "--out", "run")
    assert (code, err) == (0, "")


def test_an_output_is_never_the_image(invoke: Invoke, here: Path) -> None:
    (here / "drawing.svg").write_text(SVG.format('<rect x="2" y="2" width="5" height="5"/>'))
    before = (here / "drawing.svg").read_bytes()
    text = refused(invoke, here, "drawing.svg", "--svg", "--force")
    assert text == "drawing.svg: is what the job is made of; give another --out"
    assert (here / "drawing.svg").read_bytes() == before
