"""Runs whose steps take long: an estimate before the first force; signals are heard inside a step."""

import logging
import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from threading import Event

import pytest

from minusgrad.app import cli, progress
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import run
from minusgrad.app.streams import LastWrite, SafeStream
from minusgrad.assembly import built_scene
from minusgrad.engine import slices
from minusgrad.errors import InterruptedRunError
from minusgrad.scene.units import duration
from minusgrad.steppers import scheduler
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from tests.support.command import SCENES, files
from tests.support.engine import restarted
from tests.support.pages import ROOT

SPHERE, SOLID = SCENES / "plummer.toml", SCENES / "stretch.toml"
FEW = {"state.n": 50, "run.steps": 8}
ESTIMATE = (
    r"^minusgrad: the forces take about \S+ (s|min), so 8 steps take \S+ (s|min) or more;"
    r" \S+ [MG]B of memory are in use\n$"
)


def interrupted_inside(cls: type, method: str, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal arrives when the fields are those of no step; every step counts as a long one."""
    original = getattr(cls, method)

    def damaged(self, *arguments):
        if self.step == step and step not in done:
            done.add(step)
            for field in self.moving:
                field.set(field.values + 1.0)
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, *arguments)

    done: set[int] = set()
    monkeypatch.setattr(cls, method, damaged)
    for name, value in (("slow", True), ("steps", 1)):
        constant = property(lambda _, value=value: value, lambda *_: None)
        monkeypatch.setattr(scheduler.Pace, name, constant, raising=False)


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize(
    ("scene", "few", "cls", "method"),
    [(SPHERE, FEW, Integrator, "_run"), (SOLID, {"run.steps": 8}, LBFGS, "_next_point")],
)
def test_a_signal_inside_a_step_goes_back_to_the_one_before(
    scene: Path, few: dict, cls: type, method: str, precision: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    options = few | {"runtime.precision": precision}
    whole = run(scene, options, tmp_path / "whole").folder
    with monkeypatch.context() as patch:
        interrupted_inside(cls, method, 3, patch)
        with pytest.raises(InterruptedRunError, match="interrupted and saved at step 3 of 8"):
            run(scene, options, tmp_path / "broken")
    resume(tmp_path / "broken")
    assert files(tmp_path / "broken") == files(whole)


def test_short_steps_are_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal inside them waits for the end of the batch."""
    interrupted_inside(Integrator, "advance", 3, monkeypatch)
    quick = property(lambda _: False, lambda *_: None)
    monkeypatch.setattr(scheduler.Pace, "slow", quick, raising=False)
    with pytest.raises(InterruptedRunError, match="interrupted and saved at step 4 of 8"):
        run(SPHERE, FEW, tmp_path / "run")


def test_an_estimate_is_printed_before_the_first_force(
    invoke: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It changes no bit."""
    words = ["run", SPHERE, "state.n=50", "run.steps=8", "--out"]
    code, _, err = invoke(*words, tmp_path / "plain")
    assert (code, err) == (0, "")
    monkeypatch.setattr(slices, "LEAST_WORK", 0)
    monkeypatch.setattr(built_scene, "LONG", 0.0)
    code, _, err = invoke(*words, tmp_path / "announced")
    assert code == 0
    assert re.fullmatch(ESTIMATE, err), err
    assert files(tmp_path / "announced") == files(tmp_path / "plain")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((1.234, "1.2 s"), (89.0, "89 s"), (300.0, "5 min"), (7300.0, "2 hours")),
        *((86400.0 * 34, "34 days"), (3.2e9, "101 years")),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.unit
def test_what_is_done_is_said_once_after_a_second_without_output() -> None:
    stream, last = StringIO(), LastWrite()
    announcer = progress.Announcer(stream, last, "loading ...")

    def log(level: int, text: str) -> None:
        announcer.emit(logging.LogRecord("minusgrad", level, "", 0, text, (), None))

    def seen(seconds: float) -> str:
        stream.seek(0)
        stream.truncate()
        announcer.look(last.at + seconds)
        return stream.getvalue()

    assert [seen(0.9), seen(1.1), seen(9.0)] == ["", "minusgrad: loading ...\n", ""]
    log(logging.DEBUG, "compiling kernels ...")
    assert [seen(0.9), seen(1.1), seen(9.0)] == ["", "minusgrad: compiling kernels ...\n", ""]
    log(logging.DEBUG, "")
    assert seen(9.0) == ""
    log(logging.INFO, "the forces take about 5 min")
    assert stream.getvalue() == "minusgrad: the forces take about 5 min\n"


@pytest.mark.unit
def test_a_write_to_either_stream_ends_the_silence() -> None:
    last = LastWrite()
    for one in (SafeStream(StringIO(), last=last), SafeStream(StringIO(), drawing=True, last=last)):
        last.at = 0.0
        one.write("a row")
        assert last.at > 0.0


@pytest.mark.unit
def test_messages_reach_the_announcer_while_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    stream, logger, said = StringIO(), logging.getLogger("minusgrad"), Event()
    write = stream.write
    monkeypatch.setattr(stream, "write", lambda text: (write(text), said.set())[0])
    with progress.announcements(stream):
        logger.debug("compiling kernels ...")
        assert said.wait(60)
    logger.info("nobody listens any more")
    assert stream.getvalue() == "minusgrad: compiling kernels ...\n"


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "minusgrad"]


def test_slow_parts_say_what_they_are(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Compiling, drawing and encoding: each begins with a message, and compiling ends with an empty one."""
    restarted()
    with caplog.at_level(logging.DEBUG, "minusgrad"):
        done = run(SCENES / "two_body.toml", {"run.steps": 20}, tmp_path / "run")
        assert logged(caplog)[-2:] == ["compiling kernels ...", ""]
        done.plot()
        assert "drawing orbits.png ..." in logged(caplog)
        done.movie(every=10)
        assert logged(caplog)[-1] == "encoding the film ..."


@pytest.mark.unit
def test_make_says_what_takes_long() -> None:
    text = (ROOT / "Makefile").read_text()
    assert not re.search(r"(pip (install|download)|sphinx).* (-q|--quiet) ", text)
    assert '@echo "installing ' in text


@pytest.mark.unit
def test_lists_say_what_they_do_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verb whose result is a list writes nothing else into a log."""
    parse = cli.parser_of(["kinds", "plot"]).parse_args
    assert isinstance(cli._announced(parse(["kinds"])), nullcontext)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert not isinstance(cli._announced(parse(["kinds"])), nullcontext)
    assert not isinstance(cli._announced(parse(["plot", "run"])), nullcontext)
