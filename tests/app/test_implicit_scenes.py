"""Implicit steps from the command line: substeps in the journal and resumed, failures, energy, bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import build, run
from minusgrad.errors import UnsolvedStepError
from minusgrad.steppers import scheduler
from tests.support.command import SCENES, files, minusgrad
from tests.support.short_scenes import DRIVEN, cut, looking
from tests.support.tiers import sampled

BAR = SCENES / "twisted_bar.toml"
PRESSED: dict[str, Any] = {
    "hold.1": {"body": "right", "displacement": ["-70 cm", "0 cm", "0 cm"], "duration": "1 s"},
    "state.cells": [4, 1, 1],
    "state.order": 1,
    "stepper.dt": "0.25 s",
    "run.steps": 4,
    "checkpoint.every": 1,
} | looking(1, 2, 2, 2)
"""Pressed together within four steps, so that cells would turn over in one."""
KINDS = ("implicit_euler", "bdf2", "newmark", "implicit_midpoint")


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    found = map(json.loads, (folder / "journal.jsonl").read_text().splitlines())
    return [event for event in found if event["event"] == kind]


@pytest.mark.parametrize("kind", sampled(KINDS, KINDS[1:2]))
def test_substeps_are_in_the_journal_and_resumed_bit_for_bit(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler.Pace, "__init__", lambda self, seconds=0.0: self.__dict__.update(
        seconds=0.0, steps=1, slow=True
    ))  # fmt: skip
    given = PRESSED | {"stepper.kind": kind, "run.steps": 3}
    whole = run(BAR, given, tmp_path / "whole").folder
    divided = [tuple(step) for event in events(whole, "substeps") for step in event["steps"]]
    assert divided
    assert all(parts in (2, 4, 8, 16, 32, 64) and 1 <= step <= 3 for step, parts in divided)
    before = min(step for step, _ in divided) - 1
    folder = cut(tmp_path / "cut", BAR, given, max(before, 1))
    resume(folder)
    again = {tuple(step) for event in events(folder, "substeps") for step in event["steps"]}
    assert again == set(divided)
    assert files(folder) == files(whole)


def test_a_step_that_is_not_solved_ends_the_run_and_keeps_what_was_saved(tmp_path: Path) -> None:
    """Exit code 3; with more substeps it can be resumed."""
    given = PRESSED | {"stepper.kind": "implicit_euler", "stepper.substeps": 1}
    with pytest.raises(UnsolvedStepError, match=r"^step [23]: is not solved at once: .*; a smaller dt"):
        run(BAR, given, tmp_path / "run")
    failed = events(tmp_path / "run", "failed")[0]["step"]
    assert events(tmp_path / "run", "saved")[-1]["step"] == failed >= 1
    done = minusgrad("info", tmp_path / "run")
    assert done.returncode == 0


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_bar_in_both_precisions(precision: str, tmp_path: Path) -> None:
    """The work is stored, and a scheme that damps says how much it took."""
    short = DRIVEN["twisted_bar"] | {"runtime.precision": precision}
    kept = run(BAR, short, tmp_path / "kept")
    damped = run(BAR, short | {"stepper.kind": "bdf2"}, tmp_path / "damped")
    drift = kept.series("observables/drift").value[-1]
    assert abs(drift) < 3e-2  # steps of a thirtieth of a turn
    found = {n: damped.series(f"observables/{n}").value for n in ("total", "work", "damped")}
    np.testing.assert_allclose(found["damped"], found["work"] - found["total"], atol=1e-3)
    assert 0.0 < found["damped"][-1] < 0.05 * found["work"][-1]


WRONG = {
    "stepper.substeps=3": "stepper: substeps: must be a power of 2, got 3; use 1 to never divide a step",
    "stepper.dt=0.0": "stepper.dt: needs a quantity above 0, not 0.0",
    "stepper.beta=0.5": "stepper.beta: no key 'beta' (keys: dt, solver, substeps)",
    "hold.1.axes='x'": "hold 'right': rotation: moves all components, got axes [0]; leave the axes out",
    "hold.1.rotation.axis=[0.0,0.0,0.0]": "rotation: needs finite numbers and an axis that is not zero",
    "hold.1.rotation.angle='1 m'": "hold.1.rotation.angle",
}


@pytest.mark.parametrize("override", sampled(WRONG, [*WRONG][:3:2]))
def test_bad_input_is_named(override: str, tmp_path: Path) -> None:
    done = minusgrad("run", BAR, override, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert WRONG[override] in done.stderr


@pytest.mark.parametrize(("seconds", "said"), [(0.3, True), (2.0, False)])
def test_supports_that_turn_far_in_a_step_are_remarked(seconds: float, said: bool) -> None:
    """One turn, within 6 or 40 steps of 50 ms: by up to 108 degrees, or by 17."""
    one = build(SCENES / "twisted_bar.toml", {"hold.1.duration": f"{seconds} s", "state.cells": [2, 1, 1]})
    found = [text for text in one.remarks if text.startswith("supports turn by")]
    assert bool(found) == said
