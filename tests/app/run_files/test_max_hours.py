"""`--max-hours`: a run whose hours are over saves and goes on to the same files."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.app import signals
from minusgrad.app.cli import main
from minusgrad.app.compare import compare
from minusgrad.app.info import info
from tests.support.command import SCENES, files
from tests.support.looked_at import SHORT, TWO_BODY, wrong

AT_ONCE = "1e-12"
"""Hours that are over before they begin."""


SHORT_WORDS = [f"{key}={value}" for key, value in SHORT.items()]


SECOND = 1 / 3600


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second whenever it is asked: after the start, once a batch."""
    ticks = itertools.count()
    monkeypatch.setattr(signals, "monotonic", lambda: float(next(ticks)))


@pytest.mark.usefixtures("ticking")
def test_a_run_whose_hours_are_over_saves_and_goes_on_to_the_same_files(
    made: Path, invoke: Callable, here: Path
) -> None:
    code, out, err = invoke("run", TWO_BODY, *SHORT_WORDS, "--out", "run", "--max-hours", 2 * SECOND)
    assert (code, out) == (4, "")
    begin, _, again = err.rstrip("\n").partition("; continue with: ")
    assert begin == "minusgrad: interrupted and saved at step 1 of 40"
    assert again == "minusgrad resume run"
    assert info(here / "run")["state"] == "interrupted"
    assert info(here / "run")["checkpoints"] == ["0", "1 (interruption)"]
    assert wrong(here / "run") == []
    steps = [1]
    for _ in range(4):
        code, _, err = invoke(*again.split()[1:], "--max-hours", 4 * SECOND)
        assert code == 4
        steps.append(info(here / "run")["step"])
        assert f"saved at step {steps[-1]} of 40; continue with: {again}\n" in err
    assert steps == sorted(set(steps)), "each goes on a little"
    assert invoke(*again.split()[1:], "--max-hours", AT_ONCE)[0] == 4
    assert info(here / "run")["step"] == steps[-1], "without time it stays where it is"
    assert invoke(*again.split()[1:], "--max-hours", "1000")[0] == 0
    assert files(here / "run") == files(made / "two")
    assert compare(here / "run", made / "two").differences == []


def test_a_fit_whose_hours_are_over_goes_on_too(invoke: Callable, here: Path) -> None:
    fit = ("fit", SCENES / "walker.toml", "run.steps=20", "fit.iterations=3")
    assert invoke(*fit, "--out", "whole")[0] in (0, 1)
    code, _, err = invoke(*fit, "--out", "cut", "--max-hours", AT_ONCE)
    assert code == 4
    assert err.endswith("; continue with: minusgrad resume cut\n")
    found = info(here / "cut")
    assert (found["kind"], found["state"], found["last"]) == ("fit", "interrupted", 3)
    assert f": fit interrupted, at iteration {found['step']} of 3\n" in invoke("info", "cut")[1]
    assert invoke("resume", "cut")[0] in (0, 1)
    assert files(here / "cut") == files(here / "whole")
    assert info(here / "cut")["state"] == "finished"
    assert wrong(here / "cut") == []


def test_enough_hours_change_nothing(made: Path, invoke: Callable, here: Path) -> None:
    assert invoke("run", TWO_BODY, *SHORT_WORDS, "--out", "run", "--max-hours", "11.5")[0] == 0
    assert files(here / "run") == files(made / "two")


@pytest.mark.parametrize("hours", ["0", "-1", "nan", "soon", "", "-inf", "1h"])
@pytest.mark.parametrize("verb", ["run", "fit", "resume"])
def test_hours_that_are_none_are_refused(verb: str, hours: str, invoke: Callable, here: Path) -> None:
    code, out, err = invoke(verb, TWO_BODY, f"--max-hours={hours}")
    assert (code, out) == (2, "")
    assert err.endswith(
        f"error: argument --max-hours: needs a number of hours above 0, like 11.5, got '{hours}'\n"
    )
    assert list(here.iterdir()) == []


def test_a_clipped_start_is_said_on_the_terminal_in_the_journal_and_in_json(tmp_path, capsys):
    bounds = ['stepper.fields.x={lower="0 m", upper="7 cm"}', "run.steps=2", "--out", str(tmp_path / "run")]
    assert main(["run", str(SCENES / "stretch.toml"), *bounds, "--json"]) in (0, 1)
    said = capsys.readouterr()
    (remark,) = json.loads(said.out)["remarks"]
    assert remark.startswith("field 'x': ")
    assert " nodes began outside its bounds, 0 to 0.07 m, and were moved onto them, by up to " in remark
    assert f"minusgrad: {remark}" in said.err
    assert remark in (tmp_path / "run" / "journal.jsonl").read_text()
