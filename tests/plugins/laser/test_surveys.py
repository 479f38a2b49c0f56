"""Surveys tile by tile are those of the whole canvas; large beds need neither its memory nor its time."""

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.search.recipe import USUAL
from minusgrad_laser.tool import outcome
from minusgrad_laser.tool.evidence import OVERBURN, Evidence
from minusgrad_laser.virtual_machine import dose, replay, survey, tiles
from minusgrad_laser.virtual_machine.limits import leaving_field
from minusgrad_laser.virtual_machine.program import parse
from tests.support.command import minusgrad

pytestmark = pytest.mark.unit

GRBL = Profile.load("grbl_diode")
DEVELOP = partial(outcome.developed_map, material=USUAL)
JOB = """G21
{} S500
G0 X0.3 Y0.2
G1 X6 F1500
Y4
X3 Y7
G2 X7 Y7 I2 J0
G1 X1 Y1
X6.5
G4 P0.05
G1 X6.5 Y1.02
M5
"""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 32 cells, smaller than two spots, in bands of a few rows."""
    for module in (tiles, survey):
        monkeypatch.setattr(module, "SIDE", 32)
    monkeypatch.setattr(survey, "BAND_BYTES", 10_000_000)


def surveyed(text: str, profile: Profile, **more) -> survey.Survey:
    program = parse(text, profile)
    return survey.survey(program, profile, 2e-5, profile.waists, 2e5, DEVELOP, OVERBURN, **more)


PROFILES = {
    "M4": ("M4", GRBL),
    "M3, which burns corners": ("M3", GRBL),
    "slew": ("M4", replace(GRBL, power_slew=200.0)),
    "an ellipse": ("M4", replace(GRBL, spot=(6e-5, 1.5e-4))),
    "latency and backlash": ("M4", replace(GRBL, latency=1e-3, backlash=(1e-4, 5e-5))),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("case", "kept"), [*((case, 20_000_000) for case in PROFILES), ("M3, which burns corners", 10)]
)
def test_a_survey_is_that_of_the_whole_canvas(case: str, kept: int, monkeypatch) -> None:
    """To 1e-13 of the largest: sums have another order. Hot cells may be too many to be kept."""
    mode, profile = PROFILES[case]
    monkeypatch.setattr(survey, "MOST_LIKELY", kept)
    text = JOB.format(mode)
    whole = replay(text, profile, pixel=2e-5, waists=profile.waists, full=2e5)
    found = surveyed(text, profile)
    assert (found.shape, found.origin, found.factor) == (whole.dose.shape, whole.origin, 1)
    close = partial(np.testing.assert_allclose, rtol=0.0)
    close(found.dose, whole.dose, atol=1e-13 * whole.dose.max())
    close(found.developed, DEVELOP(whole.dose), atol=1e-12)
    path = outcome.path_of(whole.program, profile, whole.origin)
    over = outcome.relative_overburn(whole, path)
    close(found.overburn, over, atol=1e-10 * np.nanmax(over), equal_nan=True)
    assert found.peak == pytest.approx(whole.dose.max(), rel=1e-13)
    assert found.worst == pytest.approx(np.nanmax(over), rel=1e-10)
    moves, developed = outcome.motion(whole.motion), DEVELOP(whole.dose)
    evidence = Evidence("", profile, 2e-5, whole.dose, developed, path, moves, over, 0.0, origin=whole.origin)
    expected = [(burn.times, burn.x, burn.y, burn.area) for burn in evidence.burns]
    (ox, oy), pixel = found.origin, found.pixel
    got = [(times, ox + c * pixel, oy + r * pixel, n * pixel**2) for times, r, c, n in found.hot]
    assert len(got) == len(expected) > (1 if mode == "M3" else -1)
    for one, other in zip(got, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.usefixtures("small")
def test_pictures_of_a_large_bed() -> None:
    """The largest dose and over-burn of 4 x 4 cells, the mean of the developed part."""
    fine, coarse = surveyed(JOB.format("M4"), GRBL), surveyed(JOB.format("M4"), GRBL, picture=125)
    assert coarse.factor == 4
    rows, columns = (size // 4 for size in fine.shape)

    def blocks(values: np.ndarray) -> np.ndarray:
        return values[: 4 * rows, : 4 * columns].reshape(rows, 4, columns, 4)

    np.testing.assert_array_equal(coarse.dose[:rows, :columns], blocks(fine.dose).max(axis=(1, 3)))
    np.testing.assert_allclose(
        coarse.developed[:rows, :columns], blocks(fine.developed).mean(axis=(1, 3)), rtol=1e-12
    )
    largest = np.nanmax(np.nan_to_num(blocks(fine.overburn)), axis=(1, 3))
    np.testing.assert_allclose(np.nan_to_num(coarse.overburn)[:rows, :columns], largest, rtol=1e-12)
    assert (coarse.peak, coarse.worst, coarse.hot) == (fine.peak, fine.worst, fine.hot)


def test_tiles_are_made_where_there_is_a_dose() -> None:
    found = surveyed("G21\nM4 S500\nG0 X5 Y5\nG1 X195 F6000\nY195\nM5\n", GRBL)
    assert found.shape[0] * found.shape[1] > 90_000_000
    assert found.cells < 40 * tiles.SIDE**2


@pytest.mark.long
def test_a_path_over_a_bed_needs_less_than_a_gigabyte(tmp_path: Path) -> None:
    """300 x 300 mm at 20 um, by the command line: 225 million cells; 5 % of the tiles have a dose."""
    (tmp_path / "bed.nc").write_text(
        "G21\nM4 S500\nG0 X1 Y1\nG1 X299 F6000\nG0 Y299\nG1 X1\nG0 X150 Y150\nG2 X150 Y150 I10 J0\nM5\n"
    )
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'minusgrad', 'laser', '--replay', 'bed.nc', '--pixel',"
        " '20 um'])\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    status, seconds, memory = done.stdout.splitlines()[-1].split()
    assert status == "0"
    assert float(seconds) < 20.0
    assert int(memory) < 1_000_000_000


def test_a_program_that_leaves_the_field_is_named_first(tmp_path: Path) -> None:
    program = parse("G21\nM4 S500\nG0 X5 Y5\nG1 X1000 F6000\nX5\nM5\n", GRBL, "job.nc")
    said = leaving_field(program, replace(GRBL, field=(0.3, 0.2)), "job.nc")
    assert said == "job.nc:4: X: out of the field, got 1000.000 mm; it is 0 to 300 mm"
    assert leaving_field(program, replace(GRBL, field=(2.0, 2.0))) == ""


REFUSED = {
    "an arc of a radius of a light hour": (
        "G1 X0 F600\nG2 X0 Y1 R100000000",
        r":3: an arc has 100,000 chords at most, got 496,729; its radius is too large: correct it$"),
    "a radius that is no number of a job": (
        "G1 X0 F600\nG2 X0 Y1 R1000000000000",
        r":3: a number is below 1e\+09, got '1000000000000'; correct it$"),
    "a centre of 300 digits": (
        "G1 X0 F600\nG2 X0 Y1 I" + 300 * "9", r":3: a number is below 1e\+09, got '9{20}'; correct it$"),
    "a feed of nearly nothing": (
        "G1 X1 F0." + 300 * "0" + "1", r":2: F: a feed is 0.001 a minute at least, got 1e-301; correct it$"),
    "a path to the moon": (
        "G1 M3 S500 F600 X999999999", r": lit moves must reach over 1200 mm along X at most, 4 times the"
        r" field, got 1e\+09 mm; correct the coordinates, or their unit \(G20 inches, G21 mm\)$"),
    "a path as long as to the moon": (
        "G1 M3 S500 F600\n" + 11_000 * "X300\nX0\n",
        r": a lit path is 6.25 km long at most, got 6.6 km; split the job$"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_numbers_that_no_job_has_are_refused(case: str, monkeypatch) -> None:
    text, said = REFUSED[case]
    with pytest.raises(UserError, match=said):
        surveyed(f"G21\n{text}\nM5", GRBL)


def test_a_machine_without_a_field_has_the_size_of_the_largest() -> None:
    endless = replace(GRBL, field=(np.inf, np.inf))
    with pytest.raises(UserError, match=r": lit moves must reach over 10000 mm along Y at most, the largest"):
        surveyed("G21\nM3 S500\nG1 Y10001 F600\nM5", endless)
    with pytest.raises(UserError, match="the laser is never on"):
        surveyed("G21\nG0 X0 Y1000000\nG1 X0 F600\nM5", endless)


def test_a_pause_of_days_is_no_work_where_the_power_follows_slowly() -> None:
    """A laser that has arrived at its power is sampled no finer than one that follows at once."""
    slow = replace(GRBL, power_slew=200.0)
    done = surveyed("G21\nM3 S500\nG1 X1 F600\nG4 P1000000\nX0\nM5", slow)
    assert done.seconds == pytest.approx(1e6, rel=1e-3)


def test_pieces_that_are_cut_where_the_power_has_arrived_leave_the_dose(monkeypatch) -> None:
    slow = replace(GRBL, power_slew=200.0)
    text = "G21\nM3 S500\nG1 X1 F60\nG4 P1.5\nY1 S900\nG1 X0 F2000 S100\nG4 P2\nM5"
    monkeypatch.setattr(dose, "SETTLED", 2.0)
    found = surveyed(text, slow)
    monkeypatch.setattr(dose, "SETTLED", np.inf)
    whole = surveyed(text, slow)
    assert whole.peak > 0.0
    np.testing.assert_allclose(found.dose, whole.dose, rtol=0.0, atol=2e-4 * whole.peak)


def test_many_large_arcs_are_refused_before_they_are_made() -> None:
    text = "G21\nM4 S500 F600\n" + "G2 X0 Y0 I3000000\n" * 3000
    with pytest.raises(UserError, match=r"^job:14: the arcs of a job have 1,000,000 chords at most"):
        parse(text, GRBL)


@pytest.mark.parametrize("option", ["--replay", "image"])
def test_a_fifo_and_a_device_are_no_files_of_a_job(tmp_path: Path, option: str) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero"):
        words = ["--replay", name] if option == "--replay" else [name, "--width", "10 mm"]
        done = minusgrad("laser", *words, cwd=tmp_path)
        assert done.returncode == 2
        kind = "a FIFO" if name == "pipe" else "a character device"
        assert f"{name}: must be a regular file, got {kind}; copy its contents into a file" in done.stderr
