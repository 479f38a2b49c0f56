"""Runs whose steps take long: an estimate before the first force; signals are heard inside a step."""

import logging
import os
import re
import signal
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from minusgrad.app import progress
from minusgrad.app.runs import resume, run
from minusgrad.assembly import built_scene
from minusgrad.engine import slices
from minusgrad.errors import InterruptedRunError
from minusgrad.scene.units import duration
from minusgrad.steppers import scheduler
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from tests.support.command import SCENES, files

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
    [(SPHERE, FEW, Integrator, "_run"), (SOLID, {"run.steps": 8}, LBFGS, "_next")],
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
def test_compiling_is_announced_where_nothing_else_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 6.0, 7.0, 12.0, 13.0])
    monkeypatch.setattr("minusgrad.app.progress.time.monotonic", lambda: next(clock))
    stream, logger = StringIO(), logging.getLogger("minusgrad")
    with progress.announcements(stream):
        for _ in range(3):
            logger.debug("compiling kernels ...")
        logger.info("the forces take about 5 min")
        logger.debug("compiling kernels ...")
    logger.info("nobody listens any more")
    lines = ["compiling kernels ...", "the forces take about 5 min"]
    assert stream.getvalue() == "".join(f"minusgrad: {line}\n" for line in lines)
