"""Fits from many starts: each as if alone, the best of them, failures, and what is refused."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad.app.run_options import RunOptions
from minusgrad.assembly.fits.starts import FitStarts
from minusgrad.errors import InterruptedRunError, RunFailedError, SceneError
from tests.support.command import SCENES, files
from tests.support.short_scenes import ctrl_c

STIFFNESS = "spring.stiffness"
LIST = [0.4, 2.0, 1e7, 14.0, 3.0]
"""Stiffnesses to begin with: one leads nowhere near, one is too stiff for dt, one ends in another minimum."""
STARTS: dict[str, Any] = {
    "ensemble": {"vary": {STIFFNESS: {"list": LIST}}},
    "fit.members": "starts",
    "fit.loss.0.data": "swing.csv",
}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first of the experiments of the calibration, in the working directory."""
    rows = (SCENES / "data/calibration.csv").read_text().splitlines()
    mine = [row.removeprefix("0,") for row in rows[1:] if row.startswith("0,")]
    (tmp_path / "swing.csv").write_text("\n".join([rows[0].removeprefix("member,"), *mine]) + "\n")
    (tmp_path / "swing.toml").write_text((SCENES / "calibration.toml").read_text())
    monkeypatch.chdir(tmp_path)
    return Path("swing.toml")


def test_each_fit_is_that_of_its_member_alone_and_the_best_is_reported(scene: Path, invoke: Any) -> None:
    done = minusgrad.fit(scene, STARTS, "starts")
    rows = done.parameter_fit.results.as_list()
    assert [row["outcome"] == "failed" for row in rows] == [False, False, True, False, False]
    assert "step" in rows[2]["error"]
    for member in (0, 1, 3):
        alone = minusgrad.fit(scene, STARTS | {"ensemble.member": member}, f"alone{member}")
        found = json.loads(Path(f"alone{member}/fit.json").read_text())
        assert rows[member]["start"] == {STIFFNESS: [LIST[member]]}
        assert rows[member]["values"] == {STIFFNESS: alone.estimates.parameters[0].values.tolist()}
        for key in ("loss", "iterations", "outcome"):
            assert rows[member][key] == found[key]
    written = json.loads(Path("starts/fit.json").read_text())
    losses = {row["member"]: row["loss"] for row in rows if "loss" in row}
    best = min(losses, key=losses.__getitem__)
    assert (written["best_member"], written["loss"]) == (best, losses[best])
    assert written["starts"] == rows
    assert losses[3] > 100.0 * losses[best]  # another minimum
    assert done.estimates.parameters[0].values.tolist() == rows[best]["values"][STIFFNESS]
    table = list(csv.DictReader(Path("starts/starts.csv").read_text().splitlines()))
    assert [float(row[STIFFNESS]) for row in table if row[STIFFNESS]] == [
        row["values"][STIFFNESS][0] for row in rows if "values" in row
    ]
    # the best of them is what `--fitted` takes
    fitted = minusgrad.build(scene, {"ensemble.member": 0, **STARTS}, fitted="starts")
    assert fitted.fitted.values[STIFFNESS].tolist() == rows[best]["values"][STIFFNESS]
    code, out, _ = invoke("resume", "starts")
    assert code == 0
    assert f"5 starts: 1 failed, 1 finished, 3 settled; the best is member {best}" in out
    assert "member 2 failed: " in out


@pytest.mark.parametrize("where", [2, 9])
def test_half_the_starts_and_half(scene: Path, where: int) -> None:
    """Cut inside of the first fit, and of a later one: every file of the folder is the same."""
    changes = STARTS | {"fit.save_every": 3}
    expected = files(minusgrad.fit(scene, changes, "whole").folder)
    with ctrl_c(where) as progress, pytest.raises(InterruptedRunError):
        minusgrad.fit(scene, changes, "half", progress=progress)
    minusgrad.resume("half")
    assert files(Path("half")) == expected


def test_bounds_and_starts_are_judged_before_anything_runs(scene: Path) -> None:
    low = {"ensemble": {"vary": {STIFFNESS: {"list": [2.0, 0.01]}}}}
    for text, changes in {
        "member 1 starts at 0.01, which is not between its bounds 0.1 and inf": low,
        f"'{STIFFNESS}': begins where [ensemble] varies it, got a `start`, too; leave `start` out": {
            "fit.parameters": {STIFFNESS: {"start": 2.0}}
        },
    }.items():
        with pytest.raises(SceneError) as refused:
            minusgrad.fit(scene, STARTS | changes, "refused")
        assert text in str(refused.value)
        assert not Path("refused").exists()


def test_starts_of_which_none_can_begin_are_an_error(scene: Path) -> None:
    stiff = {"ensemble": {"vary": {STIFFNESS: {"list": [1e7, 1e8]}}}}
    with pytest.raises(RunFailedError, match=r"^all 2 fits failed; member 0: .*step \d+"):
        FitStarts(RunOptions(scene, STARTS | stiff).validated())


def test_initial_fields_vary_too(scene: Path) -> None:
    """A fitted velocity that each member begins at its own value."""
    vary = {"state.v": {"jitter": "1 cm/s", "body": "bob"}}
    shared = {"v": {"body": "bob", "scale": "1 m/s"}}
    changes = STARTS | {"ensemble": {"members": 3, "vary": vary}, "fit.parameters": shared}
    done = minusgrad.fit(scene, changes, "starts")
    rows = done.parameter_fit.results.as_list()
    starts = np.array([row["start"]["v"] for row in rows])
    assert np.unique(starts[:, 0]).size == 3
    assert np.ptp([row["loss"] for row in rows]) < 1e-6 * rows[0]["loss"]
