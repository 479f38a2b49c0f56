"""Numbers for a run from its page: sliders, the rows of a run in the same process, a browser."""

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad.view
from minusgrad.app.cli import main
from minusgrad.app.jobs import job_runs, steering
from minusgrad.app.jobs.watching import WatchedRun
from minusgrad.app.run_options import RunOptions
from minusgrad.app.runs import run_with
from minusgrad.errors import MissingPackageError, RunFailedError, pip_line
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.held import inbox
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from minusgrad.plot.movies.reel import Reel
from minusgrad.view import sliders
from minusgrad.view.frames import RunFrames
from minusgrad.view.live_rows import LiveRows
from tests.support.command import SCENES, files
from tests.view import browser

POSITION, HEAT = "particles/all/position", "particles/all/heat"
ROBOT = SCENES / "mass_spring.toml"


class RunThatGoesOn:
    """A run whose frames are recorded, and saved when it is asked for; the second series has every other."""

    def __init__(self, folder: RunDir):
        self.folder, self.recorder = folder, Recorder({}, ("s", 1.0))

    def record(self, steps: range) -> None:
        for step in steps:
            frame = {"position": np.full((3, 2), float(step))}
            heat = {"heat": np.full(3, float(step))} if step % 2 == 0 else {}
            self.recorder.record_frame(step, 0.1 * step, frame | heat)

    def save(self, step: int) -> None:
        self.folder.save(Snapshot(step, 0.1 * step, 0.1, {}), self.recorder, keep=2)


@pytest.fixture
def going_on(tmp_path: Path) -> Iterator[RunThatGoesOn]:
    with RunDir.create(tmp_path / "run", b"", []) as folder:
        run = RunThatGoesOn(folder)
        run.record(range(2))
        run.save(1)
        yield run


# Rows of a run in the same process -------------------------------------------------------------------


def _first(rows: list[np.ndarray]) -> list[float]:
    return [float(row.flat[0]) for row in rows]


@pytest.mark.unit
def test_rows_are_shown_before_they_are_saved(going_on: RunThatGoesOn) -> None:
    live = LiveRows()
    frames = RunFrames(going_on.folder.path, POSITION, live=live)
    going_on.recorder.heard = live.hear
    heat = frames.values(HEAT)
    going_on.record(range(2, 3))
    assert frames.refresh() == 0
    for step in range(3, 6):
        live.publish()
        going_on.record(range(step, step + 1))
    live.publish()
    assert frames.refresh() == 4
    assert frames.steps == list(range(6))
    assert frames.times == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert _first(frames.values(POSITION)) == [0, 1, 2, 3, 4, 5]
    assert _first(heat) == [0, 0, 2, 2, 4, 4]


@pytest.mark.unit
def test_the_newest_frames_are_kept_and_at_the_end_those_of_the_folder(
    going_on: RunThatGoesOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minusgrad.view.frames.LONGEST", 4)
    live = LiveRows()
    frames = RunFrames(going_on.folder.path, POSITION, live=live)
    going_on.recorder.heard = live.hear
    for step in range(2, 9):
        going_on.record(range(step, step + 1))
        live.publish()
        frames.refresh()
    assert frames.steps == [5, 6, 7, 8]
    assert _first(frames.values(HEAT)) == [4, 6, 6, 8]
    going_on.save(8)
    live.end()
    assert frames.refresh() > 0
    assert frames.steps == [0, 3, 6, 8]
    assert _first(frames.values(HEAT)) == [0, 2, 6, 8]


@pytest.mark.unit
def test_frames_are_never_away_while_others_are_read(
    going_on: RunThatGoesOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, counts = LiveRows(), []
    frames = RunFrames(going_on.folder.path, POSITION, live=live)

    def read_and_count(*given: Any, **chosen: Any) -> Iterator[Any]:
        for frame in Reel(*given, **chosen):
            counts.append((len(frames), len(frames.times), len(frames.values(POSITION))))
            yield frame

    going_on.record(range(2, 6))
    going_on.save(5)
    live.end()
    monkeypatch.setattr("minusgrad.view.frames.Reel", read_and_count)
    assert frames.refresh() == 6
    assert counts == [(2, 2, 2)] * 6


@pytest.mark.unit
def test_a_series_that_is_not_saved_yet_has_its_last_saved_row(going_on: RunThatGoesOn) -> None:
    live = LiveRows()
    frames = RunFrames(going_on.folder.path, POSITION, live=live)
    live.hear(POSITION, 3, 0.3, np.full((3, 2), 3.0))
    live.publish()
    frames.refresh()
    assert _first(frames.values(HEAT)) == [0, 0, 0]


@pytest.mark.unit
def test_a_page_that_is_away_costs_no_memory() -> None:
    live = LiveRows()
    for step in range(10_000):
        live.hear(POSITION, step, 0.0, np.zeros(1))
        live.publish()
    assert len(live.take()) == 240
    assert live.take() == []


# Sliders ---------------------------------------------------------------------------------------------

GOAL = {"name": "goal", "parameter": "a.b", "range": [0.1, 0.9], "unit": "1", "value": 0.5}
PUSH = {"name": "<push>", "parameter": "c.d", "range": [-1.0, 1.0], "unit": "N", "value": 0.0}


class Gui:
    """Stands for the controls of a page."""

    def __init__(self) -> None:
        self.sliders: dict[str, Any] = {}
        self.text: Any = None

    def add_slider(self, label: str, low: float, high: float, step: float, value: float) -> Any:
        made = type("Slider", (), {"value": value, "disabled": False, "range": (low, high), "step": step})()
        self.sliders[label] = made
        return made

    def add_html(self, content: str) -> Any:
        self.text = type("Html", (), {"content": content})()
        return self.text


@contextmanager
def sliders_of(run: RunThatGoesOn) -> Iterator[tuple[Gui, sliders.Sliders]]:
    gui = Gui()
    yield gui, sliders.Sliders(gui, run.folder.path, run.folder.is_running)


@pytest.mark.unit
def test_a_slider_that_is_moved_leaves_its_number(going_on: RunThatGoesOn) -> None:
    going_on.folder.journal(inbox.INPUTS, step=0, inputs=[GOAL, PUSH])
    with sliders_of(going_on) as (gui, one):
        assert list(gui.sliders) == ["goal", "<push> [N]"]
        assert gui.sliders["<push> [N]"].range == (-1.0, 1.0)
        one.send_moved()
        assert inbox.take(going_on.folder.path) == {}
        gui.sliders["goal"].value = 0.30000000000000004
        one.send_moved()
        gui.sliders["<push> [N]"].value = 0.9999999999999
        one.send_moved()
        assert inbox.take(going_on.folder.path) == {"goal": 0.30000000000000004, "<push>": 1.0}
        one.send_moved()
        assert inbox.take(going_on.folder.path) == {}


@pytest.mark.unit
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.95, "0.5", None, [0.5], True, 10**400])
def test_a_number_that_is_none_is_said_and_the_slider_goes_back(value: Any, going_on: RunThatGoesOn) -> None:
    going_on.folder.journal(inbox.INPUTS, step=0, inputs=[GOAL])
    with sliders_of(going_on) as (gui, one):
        gui.sliders["goal"].value = value
        one.send_moved()
        assert gui.sliders["goal"].value == 0.5
        assert "needs a number between 0.1 and 0.9, got" in gui.text.content
        assert inbox.take(going_on.folder.path) == {}


@pytest.mark.unit
def test_sliders_say_what_the_run_has_taken_and_follow_another_page(
    going_on: RunThatGoesOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    going_on.folder.journal(inbox.INPUTS, step=0, inputs=[GOAL, PUSH])
    with sliders_of(going_on) as (gui, one):
        going_on.folder.journal(inbox.CHANGED, step=1200, name="<push>", parameter="c.d", value=0.25)
        monkeypatch.setattr(sliders, "CALM", -1.0)
        one.refresh()
        assert gui.sliders["<push> [N]"].value == 0.25
        assert "&lt;push&gt; = 0.25 from step 1,200 on" in gui.text.content
        one.send_moved()
        assert inbox.take(going_on.folder.path) == {}
        going_on.folder.journal(inbox.REFUSED, step=1300, error="'goal': no <number>")
        one.refresh()
        assert "no &lt;number&gt;" in gui.text.content


@pytest.mark.unit
def test_a_slider_in_a_hand_does_not_jump_back(going_on: RunThatGoesOn) -> None:
    going_on.folder.journal(inbox.INPUTS, step=0, inputs=[GOAL])
    with sliders_of(going_on) as (gui, one):
        gui.sliders["goal"].value = 0.6
        one.send_moved()
        going_on.folder.journal(inbox.CHANGED, step=3, name="goal", parameter="a.b", value=0.55)
        one.refresh()
        assert gui.sliders["goal"].value == 0.6


@pytest.mark.unit
def test_a_folder_that_cannot_be_written_is_said(
    going_on: RunThatGoesOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    going_on.folder.journal(inbox.INPUTS, step=0, inputs=[GOAL])

    def fail(*given: object) -> None:
        raise RunFailedError("run/inbox.json: cannot be written: Permission denied")

    monkeypatch.setattr(inbox, "put", fail)
    with sliders_of(going_on) as (gui, one):
        gui.sliders["goal"].value = 0.6
        one.send_moved()
        assert "Permission denied" in gui.text.content


@pytest.mark.unit
def test_sliders_of_a_run_that_is_over_are_still(going_on: RunThatGoesOn) -> None:
    going_on.folder.journal(inbox.INPUTS, step=0, inputs=[GOAL])
    with sliders_of(going_on) as (gui, one):
        assert not gui.sliders["goal"].disabled
        going_on.folder.close()
        one.refresh()
        assert gui.sliders["goal"].disabled
        assert "the run does not go on" in gui.text.content


DAMAGED: list[dict[str, Any]] = [
    {},
    {"inputs": 3},
    {"inputs": ["goal"]},
    {"inputs": [GOAL | {"range": [0.9, 0.1]}]},
    {"inputs": [GOAL | {"range": 0.5}]},
    {"inputs": [GOAL | {"value": "x"}]},
    {"inputs": [GOAL | {"value": float("nan")}]},
]


@pytest.mark.unit
@pytest.mark.parametrize("facts", DAMAGED)
def test_a_journal_of_a_stranger_gives_no_sliders(facts: dict[str, Any], going_on: RunThatGoesOn) -> None:
    going_on.folder.journal(inbox.INPUTS, **facts)
    going_on.folder.journal(inbox.CHANGED, name=["goal"], value="x")
    with sliders_of(going_on) as (gui, one):
        assert gui.sliders == {}
        one.send_moved()
        one.refresh()


@pytest.mark.unit
def test_a_page_has_the_sliders_of_a_run_in_another_process(going_on: RunThatGoesOn) -> None:
    going_on.folder.journal(inbox.INPUTS, step=0, inputs=[GOAL])
    with minusgrad.view.show(going_on.folder.path) as page:
        page._controls._inputs._sliders["goal"].value = 0.7
        path, end = going_on.folder.path / inbox.NAME, time.monotonic() + 20.0
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.02)
        assert inbox.take(going_on.folder.path) == {"goal": 0.7}


# A run with its page ---------------------------------------------------------------------------------


def _moved_by_hand(numbers: dict[str, float], seen: list[int]) -> Callable[[Any], None]:
    """A hand that waits until the run is seen to go on, and then moves sliders of its page, one by one."""

    def move(page: Any) -> None:
        for name, value in numbers.items():
            before, end = len(page._scenery.frames), time.monotonic() + 60.0
            while len(page._scenery.frames) <= before + 1 and time.monotonic() < end:
                time.sleep(0.01)
            seen.append(len(page._scenery.frames))
            page._controls._inputs._sliders[name].value = value

    return lambda page: threading.Thread(target=move, args=(page,), daemon=True).start()


@pytest.mark.exam
def test_a_run_is_watched_and_steered_and_repeated(tmp_path: Path) -> None:
    seen: list[int] = []
    watched = WatchedRun(opened=_moved_by_hand({"wind": 2.0, "goal": 0.4}, seen))
    overrides = {"run.steps": 260, "observe.0.every": 2, "view.pace": 0.4}
    try:
        run = run_with(RunOptions(ROBOT, overrides, tmp_path / "run", watched=watched)).folder
        assert watched.page is not None
        frames, end = watched.page._scenery.frames, time.monotonic() + 20.0
        while frames.steps[-1] < 260 and time.monotonic() < end:
            time.sleep(0.02)
        assert frames.steps[0] == 0
        assert frames.steps[-1] == 260
    finally:
        watched.close()
    assert len(seen) == 2
    given = steering.recorded_changes(RunDir.open(run, read_only=True))
    assert [(one.name, one.value) for one in given] == [("wind", 2.0), ("goal", 0.4)]
    assert 0 < given[0].step < given[1].step
    again = job_runs.repeat(run, tmp_path / "again").folder
    ours, theirs = files(again), files(run)
    assert ours.pop("overrides.json") != b""
    assert theirs.pop("overrides.json") != b""
    assert ours == theirs


@pytest.mark.exam
@pytest.mark.parametrize(("pace", "most"), [("4e-3", 1), ("1.2", 10), (None, None)])
def test_a_pace_limits_the_steps_of_a_batch(pace: str | None, most: int | None, tmp_path: Path) -> None:
    """dt is 0.004, and a batch lasts a thirtieth of a second at most."""
    simulation = minusgrad.load(ROBOT)
    watched = WatchedRun()
    watched._job, watched._pace = simulation, None if pace is None else float(pace)
    assert watched.pause_after(7) == (None if most is None else 7 + most)


@pytest.mark.unit
def test_a_page_needs_viser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingPackageError, match=re.escape(pip_line("view"))):
        WatchedRun()
    assert main(["run", str(ROBOT), "--view"]) == 2
    assert capsys.readouterr().err.count(pip_line("view")) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.exam
def test_options_of_a_page_need_one_and_many_runs_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(ROBOT), "--port", "8080"]) == 2
    assert "--port is of a page, got no --view; give it, too" in capsys.readouterr().err
    assert main(["run", str(SCENES / "double_pendulums.toml"), "run.steps=2", "--view", "--out", "many"]) == 2
    assert "--view: shows one run while it goes on, got" in capsys.readouterr().err
    assert not (tmp_path / "many").exists()


@pytest.mark.long
@pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium")
def test_a_slider_in_a_browser_moves_the_goal(tmp_path: Path) -> None:
    run = tmp_path / "run"
    line = [
        sys.executable,
        "-m",
        "minusgrad",
        "run",
        str(ROBOT),
        "run.steps=100000",
        "--view",
        "--out",
        str(run),
    ]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[0]
            with browser.opened(address, tmp_path / "browser") as tab:
                tab.wait("document.querySelectorAll('[role=slider]').length >= 4", 60.0)
                tab.run("document.querySelectorAll('[role=slider]')[0].focus()")
                for _ in range(5):
                    for kind in ("keyDown", "keyUp"):
                        tab.call("Input.dispatchKeyEvent", type=kind, key="ArrowLeft", code="ArrowLeft")
                tab.wait("/goal = 0\\.89 from step/.test(document.body.innerText)", 60.0)
                assert tab.complaints == []
        finally:
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 4, said
    given = steering.recorded_changes(RunDir.open(run, read_only=True))
    assert [one.name for one in given] == ["goal"] * len(given)
    assert given[-1].value == pytest.approx(0.89)
