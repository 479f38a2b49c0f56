"""The report of a job: a page and a picture of evidence that is made here, without a search."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from scipy import ndimage

from minusgrad_laser.jobs.toolpath import Toolpath
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.tool import job, panels, pictures, report
from minusgrad_laser.tool.evidence import Evidence, Motion, clock
from minusgrad_laser.tool.outcome import Outcome

pytestmark = pytest.mark.unit
PIXEL = 2e-5


@pytest.fixture
def evidence() -> Evidence:
    """A square of 1 mm, marked by a blurred square; one place gets five times the dose that is meant."""
    target = np.zeros((60, 80))
    target[5:55, 10:60] = 1.0
    dose = 1.1 * ndimage.gaussian_filter(target, 1.5)
    overburn = np.where(target > 0.5, 1.0, np.nan)
    overburn[30, 40] = 5.0
    x, y = np.array([0.2, 1.2, 1.2, 0.2]) * 1e-3, np.array([0.1, 0.1, 1.1, 1.1]) * 1e-3
    path = Toolpath(x, y, np.full(4, 2.0), np.full(4, 0.05), np.array([False, True, False, True]))
    time = np.linspace(0.0, 0.06, 50)
    motion = Motion(time, np.full(50, 0.05), np.full(50, 2.0))
    return Evidence(
        "square <1>.png", Profile("Engraver"), PIXEL, dose, dose / 1.1, path, motion, overburn, 187.2,
        target=target, loss=(np.arange(5), np.geomspace(1.0, 0.1, 5)),
    )  # fmt: skip


def test_the_rows_are_those_of_the_scores(evidence: Evidence) -> None:
    rows = dict(evidence.rows)
    z, t = evidence.developed > 0.5, evidence.target > 0.5
    assert rows["intersection over union"] == f"{(z & t).sum() / (z | t).sum():.4f}"
    assert rows["over-exposed area"] == f"{(z & ~t).sum() * PIXEL**2 * 1e6:.4g} mm²"
    assert rows["peak dose"] == f"{evidence.dose.max():.3g} of full"
    assert (rows["over-burn, largest"], rows["job time"], rows["limits broken"]) == ("5", "3 min 07 s", "0")


def test_burns_have_their_place_and_their_area(evidence: Evidence) -> None:
    (burn,) = replace(evidence, origin=(1e-3, 2e-3)).burns
    assert (burn.times, burn.x, burn.y, burn.area) == pytest.approx(
        (5.0, 1e-3 + 40 * PIXEL, 2e-3 + 30 * PIXEL, PIXEL**2)
    )


def test_the_page_escapes_names_and_names_the_limits(evidence: Evidence) -> None:
    page = report.page(evidence)
    assert "<h1>square &lt;1&gt;.png</h1>" in page
    assert "keeps all limits" in page
    assert "<td>100 mm/s</td>" in page
    assert "raster" not in page
    broken = report.page(replace(evidence, violations=tuple(f"line {k}" for k in range(25)), remarks=("so",)))
    assert "breaks limits" in broken
    assert broken.count("<li>line ") == report.SHOWN
    assert "<li>and 5 more</li>" in broken
    assert "<li>so</li>" in broken


def test_the_baseline_stands_beside(evidence: Evidence) -> None:
    page = report.page(evidence, replace(evidence, seconds=7.0))
    assert "<th>job time</th><td>3 min 07 s</td><td>7 s</td>" in page


def test_drawings_have_the_colour_of_the_page_and_equal_bits(evidence: Evidence) -> None:
    for panel in panels.of(evidence):
        drawn = pictures.svg(panel, evidence)
        assert pictures.INK not in drawn
        assert "currentColor" in drawn
        assert drawn == pictures.svg(panel, evidence)


def test_where_no_light_was_the_error_is_pale(evidence: Evidence) -> None:
    """The sigmoid of no dose is some hundredths; half is the edge between marked and not."""
    axes = Figure().subplots()
    blank = np.zeros_like(evidence.dose)
    panels.error(axes, replace(evidence, developed=blank + 0.08, target=blank))
    (shown,) = axes.images
    values = np.array([0.0, 0.08, -0.2, 0.5, -0.5])
    none, dark, less, over, under = shown.cmap(shown.norm(values))[:, :3]
    assert (none == dark).all()
    assert (none == less).all()
    assert over[0] - over[2] > 0.5, "orange"
    assert under[2] - under[0] > 0.5, "blue"


def test_a_diagonal_faster_than_an_axis_stays_in_the_frame(evidence: Evidence) -> None:
    """Two axes of 100 mm/s go at 141 mm/s together."""
    time = evidence.motion.time
    fast = replace(
        evidence,
        motion=Motion(time, np.full(len(time), 0.141), np.full(len(time), 2.0)),
        path=replace(evidence.path, speed=np.array([np.nan, 0.141, np.inf, 0.05])),
    )
    motion, speed = Figure().subplots(2)
    panels.motion(motion, fast)
    panels.speed(speed, fast)
    assert motion.get_ylim()[1] == pytest.approx(1.12 * 141.0)
    assert speed.collections[-1].get_clim() == (0.0, pytest.approx(141.0))


def test_a_replay_has_no_panels_of_a_target(evidence: Evidence) -> None:
    names = [panel.name for panel in panels.of(replace(evidence, target=None, loss=None))]
    assert names == ["dose", "developed", "power", "speed", "overburn", "motion"]
    assert "It over-burns" in report.page(replace(evidence, target=None, loss=None))


def test_the_picture_shows_where_the_dose_is(evidence: Evidence) -> None:
    image = Image.open(BytesIO(pictures.png(evidence, evidence)))
    assert image.width == round(pictures.COLUMNS * pictures.WIDTH * pictures.DPI)
    yellow = np.abs(np.asarray(image.convert("RGB"), int) - [253, 231, 37]).sum(axis=2) < 30
    assert yellow.mean() > 0.003  # the top of viridis: the plateau of the dose


def test_a_job_that_breaks_limits_is_not_written(
    evidence: Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report is, and says why."""
    broken = replace(evidence, violations=("a.gcode:3: too fast",))
    monkeypatch.setattr(job.outcome, "of", lambda *_: Outcome(evidence.path, "M5\n", None, broken))
    outputs = {"job": tmp_path / "a.gcode", "html": tmp_path / "a.html"}
    wanted: Any = SimpleNamespace(out=outputs["job"], run=tmp_path / "a.run")
    options: Any = SimpleNamespace(baseline=False, json=False)
    assert job._finish_job(wanted, None, None, dict(outputs), options) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
    err = capsys.readouterr().err
    assert "minusgrad: a.gcode:3: too fast\n" in err
    assert err.endswith("a.gcode: not written, because limits are broken\n")


@pytest.mark.parametrize(
    ("length", "bar"), [(1.0, 1.0), (0.99, 0.5), (0.35, 0.2), (23.0, 20.0), (0.0051, 0.005)]
)
def test_scale_bars_are_round(length: float, bar: float) -> None:
    assert panels.round_length(length) == pytest.approx(bar)


def test_clock() -> None:
    assert [clock(s) for s in (0.2871, 59.99, 99.96, 3599.0, 3720.0)] == [
        "0.287 s", "60 s", "1 min 40 s", "59 min 59 s", "1 h 02 min",
    ]  # fmt: skip
