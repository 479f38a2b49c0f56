"""Grids of test lines and squares: `minusgrad laser --grid`, its job, its sheet; and tables of depths."""

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from minusgrad.plugin import UserError
from minusgrad_laser.calibration.depths import measured_depths
from minusgrad_laser.calibration.profile_file import with_keys
from minusgrad_laser.calibration.sheet import BITS
from minusgrad_laser.calibration.sheet_design import MOST, SPAN, WEAKEST, Ranges, design_sheet
from minusgrad_laser.calibration.sheet_file import read_sheet, sheet_text
from minusgrad_laser.calibration.strokes import placed_grid
from minusgrad_laser.jobs.gcode import job_text
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.virtual_machine import replay

Invoke = Callable[..., tuple[int, str, str]]
WRITTEN = "grbl_diode", "grbl_m3", "marlin_diode", "two_photon"
"""Machines of the dialects in which jobs are written."""
THRESHOLD = 1.25e5


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(invoke: Invoke, here: Path, *arguments: object) -> str:
    """What a mistake is answered with; it leaves no file behind."""
    before = {path.name for path in here.iterdir()}
    code, out, err = invoke("laser", *arguments)
    assert (code, out) == (2, ""), err
    assert {path.name for path in here.iterdir()} == before
    return err.splitlines()[-1].removeprefix("minusgrad: ")


# The sheet ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITTEN)
def test_each_machine_has_a_grid_that_replays(name: str) -> None:
    """Within its limits; each line is lit in one move, at the power and the speed of the sheet."""
    machine = Profile.load(name)
    grid = placed_grid(design_sheet(machine, Ranges(THRESHOLD, count=(2, 3))), machine)
    text, planned = job_text(grid.path, replace(machine, latency=0.0))
    done = replay(text, machine, pixel=0.5 * machine.spot[0])
    assert done.violations == ()
    assert not [note for note in done.notes if "never" in note or "late" in note]
    lines = grid.sheet.lines
    assert len(lines) == 4 * 2 * 2 * 3
    lit = done.program.power > 0.0
    long = lit & (planned.length > 0.9 * lines[0].length)
    assert long.sum() == len(lines)
    full = planned.nominal[long]
    assert planned.entry[long] == pytest.approx(full, rel=1e-3)  # the speed is reached before the line
    assert planned.exit[long] == pytest.approx(full, rel=1e-3)
    wanted = np.array([one.power / one.speed for one in lines])
    power, most, levels = done.program.power[long], machine.power[1], 2**machine.bits - 1
    if machine.dialect == "grbl":  # S stands in the middle of what gives a level
        power = (np.floor(power / most * (levels - 1)) + 1) * most / levels
    rounded = 0.03 if machine.spot[0] < 1e-5 else 0.01  # places of a job are whole micrometres
    assert power / full == pytest.approx(wanted, rel=rounded)


def test_lines_lie_in_all_directions_and_are_reversed() -> None:
    machine = Profile.load("grbl_diode")
    sheet = design_sheet(machine, Ranges(THRESHOLD))
    directions = np.array([one.direction for one in sheet.lines]).reshape(4, 16, 2, 2)
    assert directions[:, :, 0] == pytest.approx(-directions[:, :, 1], abs=1e-3)
    for group, (x, y) in zip(directions[:, 0, 0], ((1, 0), (0, 1), (1, 1), (1, -1)), strict=True):
        assert group == pytest.approx(np.array([x, y]) / np.hypot(x, y), abs=1e-3)
    for one, other in zip(sheet.lines[::2], sheet.lines[1::2], strict=True):
        assert (one.power, one.speed) == (other.power, other.speed)


def test_nothing_of_a_sheet_touches_another() -> None:
    """Marks, code, lines and squares, each with half a spot of room, of all numbers of powers and speeds."""
    machine = Profile.load("grbl_diode")
    for count in ((2, 2), (4, 4), (3, 7), (8, 5), (MOST, MOST)):
        sheet = design_sheet(machine, Ranges(THRESHOLD, (0.2, 5.0), count=count))
        step = 0.25 * sheet.module
        places = np.concatenate([np.linspace(one.start, one.end, 161) for one in sheet.lines])
        owner = np.repeat(np.arange(len(sheet.lines)), 161)
        inner = (np.arange(64) + 0.5) / 64 * 16.0 * sheet.module
        for k, one in enumerate(sheet.squares):
            grid = np.stack(np.meshgrid(*(inner + z for z in one.corner)), axis=-1).reshape(-1, 2)
            places, owner = np.concatenate([places, grid]), np.append(owner, np.full(len(grid), 10_000 + k))
        for k, mark in enumerate(sheet.marks):
            around = np.array(mark) + 16.0 * sheet.module * unit_circle(400)
            places, owner = np.concatenate([places, around]), np.append(owner, np.full(400, 20_000 + k))
        for corner, _ in sheet.code_cells():
            cell = np.array(corner) + sheet.cell * np.stack(
                np.meshgrid(*[np.linspace(0, 1, 24)] * 2), axis=-1
            )
            places, owner = (
                np.concatenate([places, cell.reshape(-1, 2)]),
                np.append(owner, np.full(576, 30_000)),
            )
        cells = np.floor(places / step).astype(int)
        _, which = np.unique(cells, axis=0, return_inverse=True)
        first = np.full(which.max() + 1, -1)
        first[which] = owner
        assert np.all(first[which] == owner), count


def unit_circle(count: int) -> np.ndarray:
    angles = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def test_doses_begin_above_the_threshold() -> None:
    machine = Profile.load("grbl_diode")
    sheet = design_sheet(machine, Ranges(THRESHOLD))
    waist = machine.waists[0]
    dose = np.array([np.sqrt(2.0 / np.pi) * one.power / (waist * one.speed) for one in sheet.lines])
    assert dose.min() == pytest.approx(WEAKEST * THRESHOLD, rel=0.05)
    assert dose.max() / dose.min() == pytest.approx(SPAN, rel=0.02)
    levels = np.array([one.power for one in sheet.lines]) / machine.power[1] * 255
    assert levels == pytest.approx(np.rint(levels), abs=1e-9)


def test_a_file_of_a_sheet_has_all_of_it(here: Path) -> None:
    machine = Profile.load("grbl_diode")
    sheet = placed_grid(design_sheet(machine, Ranges(THRESHOLD)), machine).sheet
    text = sheet_text(sheet)
    again = read_sheet("grid.toml", text.encode())
    assert again.number == sheet.number < 1 << BITS
    assert np.array(again.marks) == pytest.approx(np.array(sheet.marks), abs=1e-9)
    for one, other in zip(sheet.lines, again.lines, strict=True):
        assert np.array([*one.start, *one.end]) == pytest.approx(
            np.array([*other.start, *other.end]), abs=1e-9
        )
        assert (one.power, one.speed) == pytest.approx((other.power, other.speed))
    line = tomllib.loads(text)["line"][0]
    power, speed, dose = (float(line[key].split()[0]) for key in ("power", "speed", "dose"))
    assert dose == pytest.approx(power / (1e-3 * speed))


@pytest.mark.parametrize(("there", "instead", "message"), [
    ('power = "1.17647059 W"', 'power = "1.2 W"', "grid.toml: number: is "),
    ('machine = "', 'machines = "', "grid.toml:"),
    ('marks = [["2.5690 mm"', 'marks = [["2.5690 km"', "grid.toml: marks: are no corners of a sheet"),
    ('module = "0.1 mm"', 'module = "1 km"', "grid.toml: marks: are no corners of a sheet"),
    ('start = ["4.9690 mm"', 'start = ["9 m"', "grid.toml: line.0: is no line between the marks"),
    ('power = "1.17647059 W"', 'power = "-1 W"', "grid.toml:21:9: line.0.power: needs a quantity above 0"),
])  # fmt: skip
def test_a_changed_sheet_is_refused(there: str, instead: str, message: str) -> None:
    machine = Profile.load("grbl_diode")
    text = sheet_text(placed_grid(design_sheet(machine, Ranges(THRESHOLD)), machine).sheet)
    assert there in text
    with pytest.raises(UserError) as caught:
        read_sheet("grid.toml", text.replace(there, instead, 1).encode())
    assert message in str(caught.value)


# The command ----------------------------------------------------------------------------------------


def test_a_grid_is_a_job_a_sheet_and_a_picture(invoke: Invoke, here: Path) -> None:
    code, out, err = invoke("laser", "--grid", "--machine", "grbl_diode", "--counts", "2x2", "--json")
    assert code == 0, err
    again, _, err = invoke("laser", "--grid", "--machine", "grbl_diode", "--counts", "2x2", "--force")
    assert again == 0, err
    told = json.loads(out)
    assert told["files"] == ["grid.gcode", "grid.toml", "grid.svg"]
    sheet = read_sheet("grid.toml", (here / "grid.toml").read_bytes())
    assert told["grid"]["number"] == str(sheet.number)
    drawing = ElementTree.fromstring((here / "grid.svg").read_text())
    assert drawing.get("width", "").endswith("mm")
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}path"))) == len(sheet.lines)
    done = replay((here / "grid.gcode").read_text(), Profile.load("grbl_diode"), pixel=5e-5)
    assert done.violations == ()


def test_options_of_a_grid(invoke: Invoke, here: Path) -> None:
    options = (
        "--powers",
        "1 W, 4 W",
        "--speeds",
        "600 mm/min, 60 mm/s",
        "--counts",
        "2x3",
        "--width",
        "40 mm",
    )
    code, _, err = invoke("laser", "--grid", "--machine", "grbl_diode", *options, "-o", "mine.nc")
    assert code == 0, err
    sheet = read_sheet("mine.toml", (here / "mine.toml").read_bytes())
    assert sorted({one.power for one in sheet.lines}) == pytest.approx([1.0, 4.0])
    assert sorted({one.speed for one in sheet.lines}) == pytest.approx([0.01, np.sqrt(0.01 * 0.06), 0.06])
    width = sheet.marks[1][0] - sheet.marks[0][0] + 32.0 * sheet.module
    assert width == pytest.approx(0.04, rel=1e-3)


@pytest.mark.parametrize("dialect", ["grbl", "marlin"])
def test_heights_of_the_focus(invoke: Invoke, here: Path, dialect: str) -> None:
    """A job, a sheet and a number for each height; jobs differ in one line, and replay."""
    name = {"grbl": "grbl_diode", "marlin": "marlin_diode"}[dialect]
    text = (Path(__file__).parents[3] / f"plugins/minusgrad_laser/machine/profiles/{name}.toml").read_text()
    (here / "z.toml").write_text(text + "focus_axis = true\n")
    options = "--machine", "z.toml", "--counts", "2x2", "--focus", "-1 mm, 0.5 mm"
    code, _, err = invoke("laser", "--grid", *options)
    assert code == 0, err
    jobs = [(here / f"grid.z{height}mm.gcode").read_text() for height in ("-1", "+0.5")]
    sheets = [read_sheet("a", (here / f"grid.z{height}mm.toml").read_bytes()) for height in ("-1", "+0.5")]
    assert [one.focus for one in sheets] == pytest.approx([-1e-3, 5e-4])
    assert sheets[0].number != sheets[1].number
    for job, height in zip(jobs, ("G0 Z-1.000", "G0 Z0.500"), strict=True):
        assert job.splitlines().count(height) == 1
        assert replay(job, Profile.load("z.toml"), pixel=1e-4).violations == ()
    assert said(invoke, here, "--grid", *options[:-1], "1 mm, 1 mm").startswith("--focus: needs heights that")


@pytest.mark.parametrize(("options", "message"), [
    (("--powers", "1 W"), "--powers: needs the least and the largest, such as '1 W, 5 W', got '1 W'"),
    (("--powers", "1 W, 9 W"), "--powers: GRBL diode engraver has 0 to 5 W, got 1 to 9"),
    (("--powers", "4 W, 1 W"), "--powers: needs the least and the largest, got 4 and 1 W"),
    (("--powers", "1 W, 1.02 W"), "--powers: 4 powers from 1 to 1.02 W are no more than 2 levels"),
    (("--speeds", "1 m/s, 2 m/s"), "--speeds: GRBL diode engraver has 0 to 0.1 m/s, got 1 to 2"),
    (("--speeds", "1 mm, 2 mm"), "--speeds: '1 mm' is a length"),
    (("--counts", "4"), "--counts: needs powers x speeds, such as 4x4, got '4'"),
    (("--counts", "1x4"), "--powers: a grid has 2 to 12 of them, got 1"),
    (("--width", "5 mm"), "--width: lines of a spot of 100 um need a grid of "),
    (("--width", "400 mm"), "--grid: needs "),
    (("--focus", "-1 mm, 1 mm"), "--focus: GRBL diode engraver has no focus axis; write focus_axis = true"),
    (("-o", "grid.svg"), "--out: needs the name of a job file, such as grid.gcode, got 'grid.svg'"),
    (("image.png",), "--grid: is a job without an image, got image.png, too; leave it out"),
    (("--sheet", "a.toml"), "--sheet: is an option of --fit"),
])  # fmt: skip
def test_mistakes_of_a_grid(invoke: Invoke, here: Path, options: tuple[str, ...], message: str) -> None:
    answer = said(invoke, here, "--grid", "--machine", "grbl_diode", *options)
    assert answer.startswith(message), answer


def test_machines_without_a_grid(invoke: Invoke, here: Path) -> None:
    assert "jobs are written for grbl and marlin" in said(invoke, here, "--grid", "--machine", "linuxcnc_co2")
    text = (
        Path(__file__).parents[3] / "plugins/minusgrad_laser/machine/profiles/grbl_diode.toml"
    ).read_text()
    (here / "lit.toml").write_text(text + "blanking = false\n")
    answer = said(invoke, here, "--grid", "--machine", "lit.toml")
    assert answer == (
        "--grid: GRBL diode engraver cannot switch its laser off between lines; there is no grid for it"
    )


def test_a_profile_is_not_overwritten(invoke: Invoke, here: Path) -> None:
    text = (
        Path(__file__).parents[3] / "plugins/minusgrad_laser/machine/profiles/grbl_diode.toml"
    ).read_text()
    (here / "grid.toml").write_text(text)
    answer = said(invoke, here, "--grid", "--machine", "grid.toml", "--force")
    assert answer == "grid.toml: is what the job is made of; give another --out"


def test_mistakes_of_a_fit(invoke: Invoke, here: Path) -> None:
    (here / "photo.png").write_bytes(b"no picture")
    assert "none.csv: cannot be read" in said(invoke, here, "--fit", "none.csv", "--force")
    assert "none.png: cannot be read" in said(invoke, here, "--fit", "none.png", "--sheet", "a", "--force")
    assert said(invoke, here, "--fit", "photo.png").startswith("--fit: needs --sheet FILE, the grid's .toml")
    assert "missing.toml: cannot be read" in said(
        invoke, here, "--fit", "photo.png", "--sheet", "missing.toml"
    )
    code, _, err = invoke("laser", "--grid", "--machine", "grbl_diode", "--counts", "2x2")
    assert code == 0, err
    options = "--fit", "photo.png", "--sheet", "grid.toml"
    assert "'photo.png' is no image that can be read" in said(invoke, here, *options)
    answer = said(invoke, here, *options, "--machine", "marlin_diode")
    assert answer.startswith(
        "grid.toml: is a grid for 'GRBL diode engraver', got --machine 'Marlin diode on a"
    )
    assert said(invoke, here, *options, "--cut", "9 W, 1 mm/s").startswith(
        "--cut: GRBL diode engraver has 5 W at"
    )
    assert said(invoke, here, *options, "-o", "a.txt").startswith(
        "--out: the profile is a TOML file, got 'a.txt'"
    )


def test_keys_of_a_profile_are_replaced() -> None:
    text = '# Mine.\nspot = [\n  "1 um",\n  "2 um",\n]\nname = "a"  # of the machine\nlatency = "1 us"\n'
    found = with_keys(text, {"spot": '"3 um"', "kerf": '["4 um", "5 um"]'})
    assert (
        found
        == '# Mine.\nspot = "3 um"\nname = "a"  # of the machine\nlatency = "1 us"\nkerf = ["4 um", "5 um"]\n'
    )


# Depths ---------------------------------------------------------------------------------------------

AREAS = """power [W],speed [mm/s],pitch [um],depth [um]
1,100,50,2
1,50,50,11
2,100,50,9
4,100,50,31
4,50,50,28
5,50,50,60
"""


def test_depths_become_a_table(invoke: Invoke, here: Path) -> None:
    """Doses P / (v d) of 20, 40 (twice), 80, 160, 200 J/cm^2; depths that fall are pooled."""
    (here / "oak.csv").write_text(AREAS)
    code, out, err = invoke("laser", "--fit", "oak.csv", "--json")
    assert code == 0, err
    rows = np.loadtxt(here / "oak.table.csv", delimiter=",", skiprows=2)
    assert rows[:, 0] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0])
    assert rows[:, 1] == pytest.approx([2.0, 10.0, 29.5, 29.5, 60.0])
    assert json.loads(out)["depths"]["full"] == pytest.approx(2e6)


def test_depths_of_lines_have_the_dose_of_the_spot() -> None:
    """D_0 = sqrt(2 / pi) P / (w v)."""
    machine = replace(Profile.load("grbl_diode"), spot=(6e-5, 1.5e-4))
    data = b"power [W],speed [mm/min],depth [mm]\n1,600,0.1\n2,600,0.3\n"
    found = measured_depths("a.csv", data, machine, None)
    assert found.full == pytest.approx(np.sqrt(2.0 / np.pi) * 2.0 / (7.5e-5 * 0.01))
    assert found.depth == pytest.approx([1e-4, 3e-4])


@pytest.mark.parametrize(("there", "instead", "message"), [
    ("depth [um]", "depth", "a.csv: column 'depth': needs a unit, got none; write its heading as depth [um]"),
    ("depth [um]", "deep [um]", "a.csv: has no column 'depth', got power [W], speed [mm/s], pitch [um]"),
    ("speed [mm/s]", "speed [mm]", "a.csv: column 'speed': '1 mm' is a length"),
    ("1,50,50,11", "-1,50,50,11", "a.csv:3: column 'power': must be above 0, got -1; correct it"),
    ("5,50,50,60", "5,50,50,deep", "a.csv:7: column"),
    (AREAS[AREAS.index("1,100") :], "1,100,50,2\n", "a.csv: needs rows of two doses or more, got 1; add"),
])  # fmt: skip
def test_mistakes_of_depths(there: str, instead: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        measured_depths("a.csv", AREAS.replace(there, instead, 1).encode(), Profile.load("grbl_diode"), None)
    assert str(caught.value).startswith(message)
