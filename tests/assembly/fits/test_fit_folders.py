"""Fits in folders: the same bits however cut, what the command line says of them."""

import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.adjoint.rollout import Rollout
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import build, fit
from minusgrad.assembly.fits.estimates import Estimate, Estimates
from minusgrad.errors import (
    CheckpointError,
    InterruptedRunError,
    NonFiniteError,
    SceneError,
)
from minusgrad.plot.curves import fit_data
from tests.support import oscillators
from tests.support.command import files, last_saved
from tests.support.short_scenes import ctrl_c
from tests.support.swing_fits import PLUGIN, fitted, numbers

SEARCHES = {
    "gauss_newton": {"fit.save_every": 2},
    "lbfgs": {"fit.method": "lbfgs", "fit.iterations": 25, "fit.save_every": 4},
    "adam": {"fit.method": "adam", "fit.rate": 0.02, "fit.iterations": 40, "fit.save_every": 7},
    "gauss_radau": {"stepper.kind": "gauss_radau", "stepper.dt": 0.5, "run.steps": 8, "fit.save_every": 2}
    | {"stepper.tolerance": 1e-2},
}
"""By method; the last of a run whose steps have substeps of lengths that are not stored."""


@pytest.mark.parametrize("method", SEARCHES)
def test_half_a_fit_and_half(method: str, here: Path) -> None:
    """Every file of the folder is the same, bit for bit; also moved, and with the data gone."""
    expected = files(fitted(SEARCHES[method], "whole").folder)
    with ctrl_c(3) as progress, pytest.raises(InterruptedRunError, match="interrupted and saved at step"):
        fitted(SEARCHES[method], "half", progress=progress)
    assert not (here / "half/fit.json").exists()
    assert last_saved(here / "half") >= 3
    (here / "half").rename(here / "moved")
    (here / "x.csv").unlink()
    done = resume("moved", [oscillators])
    assert done.estimates.iterations > 3
    assert files(here / "moved") == expected
    again = resume("moved", [oscillators])
    assert again.estimates.as_dict() == done.estimates.as_dict()
    assert files(here / "moved") == expected


def test_a_changed_fit_is_refused(here: Path) -> None:
    fitted({"fit.iterations": 3})
    text = (here / "run/scene.toml").read_text()
    (here / "run/scene.toml").write_text(text.replace("sigma = 0.01", "sigma = 0.02"))
    with pytest.raises(CheckpointError, match=r"scene.fit.loss.0.sigma: 0.01 then, 0.02 now"):
        resume("run", [oscillators])
    assert resume("run", [oscillators], allow_changed=True).estimates.loss > 0.0


def test_the_command_line(here: Path, invoke) -> None:
    code, out, err = invoke("fit", "swing.toml", "--out", "run", "--plugin", PLUGIN)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("storing all 40 steps (")
    assert re.fullmatch(r"run: \d+ iterations", lines[1])
    assert re.match(r"  settled: gradient .*; last change .*, asked 1e-08 \(step \d+\)", lines[2])
    assert re.fullmatch(r"  loss: 19.9\d+ over 54 observations", lines[3])
    assert re.search(r"^tether.k\[0\] +1.3\d\d\d +0.00\d\d ", out, re.MULTILINE)
    assert re.search(r"^v\[left\].y +0.3\d\d\d +0.00\d\d ", out, re.MULTILINE)
    assert "standard errors: from the Gauss-Newton Hessian of the loss and the sigma given" in out
    code, out, _ = invoke("resume", "run", "--plugin", PLUGIN, "--json")
    facts = json.loads(out)
    assert code == 0
    written = json.loads(Path("run/fit.json").read_text())
    over = facts.pop("remarks")
    assert len(over) == 1
    assert over[0].startswith("run: is settled already, at iteration ")
    assert facts == {"folder": "run"} | written
    code, out, _ = invoke("fit", "swing.toml", "--plugin", PLUGIN, "--json", "fit.iterations=2")
    assert code == 1  # it was asked to settle, and has not
    assert json.loads(out)["outcome"] == "finished"
    assert json.loads(out)["folder"] == "runs/swing-fit"
    code, out, _ = invoke("plot", "run")
    assert (code, out) == (0, "run/pictures/fit.png\nrun/pictures/fit_data.png\n")
    (one,) = fit_data.read(Path("run/fit.csv")).values()
    assert len(one.measured) == written["observations"]
    squares = ((one.measured - one.model) ** 2).sum()
    assert squares / (2.0 * one.sigma**2) == pytest.approx(written["loss"], rel=1e-9)
    assert Path("run/pictures/fit.png").read_bytes()[:4] == b"\x89PNG"
    assert invoke("fit", "swing.toml", "--out", "run", "--plugin", PLUGIN)[0] == 2
    assert invoke("fit", "swing.toml", "--out", "run", "--force", "--plugin", PLUGIN)[0] == 0


def test_many_components_are_summed_up(here: Path, invoke) -> None:
    overrides = ["fit.parameters={x={}, v={}}"]
    code, out, _ = invoke("fit", "swing.toml", *overrides, "--out", "run", "--plugin", PLUGIN)
    assert code == 0
    assert re.search(r"^x\[2\].y +0.3964 +0.0047", out, re.MULTILINE)
    assert re.search(r"^v\[2\].y +-0.8669 +0.0067", out, re.MULTILINE)
    assert "chi^2 / (n - p) = 1.03e+03 (far from 1: the model is wrong, or sigma too small by a factor" in out
    labels = [f"k[{n}]" for n in range(9)]
    errors = np.array([0.1] * 8 + [np.nan])
    rows = list(Estimate("k", "N m^-1", labels, np.arange(9.0), errors, np.arange(9) == 2).rows())
    assert rows[1:3] == [("k[1]", "1.00", "0.10", "N m⁻¹"), ("k[2]", "2.00", "at its bound", "N m⁻¹")]
    assert rows[6:] == [("... 3 more", "6 to 8", "0.1 to 0.1", "N m⁻¹")]


@pytest.mark.parametrize(
    ("reduced", "said"),
    [(4e-25, "far below 1"), (0.05, "far below 1"), (0.4, "about 1"), (2.0, "about 1"), (9.0, "far from 1")],
)
def test_chi_squared_is_judged_by_its_scatter(reduced: float, said: str) -> None:
    """Of 19 numbers to spare: by ratios below 1, where no difference is larger than 1."""
    one = Estimate("k", "1", ["k"], np.ones(1), np.ones(1), np.zeros(1, bool))
    found = Estimates("settled", "settled", 1, 1.0, 20, [one], "sigma", reduced=reduced)
    assert found.judgement.startswith(said)


def test_a_signal_ends_with_four_and_the_line_to_type(here: Path, invoke, monkeypatch) -> None:
    """The command line's own way: the fit asks itself to stop at its third look."""
    looks, evaluate = [], Rollout.evaluate

    def tired(self, names):
        looks.append(1)
        if len(looks) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return evaluate(self, names)

    monkeypatch.setattr(Rollout, "evaluate", tired)
    code, _, err = invoke("fit", "swing.toml", "--out", "run", "--plugin", PLUGIN)
    assert code == 4
    assert re.search(
        r"interrupted and saved at step \d of 30; continue with: minusgrad resume run --plugin", err
    )
    assert invoke("resume", "run", "--plugin", PLUGIN)[0] == 0
    assert (here / "run/fit.json").is_file()


def test_an_explosion_at_the_start_is_told(here: Path) -> None:
    with pytest.raises(NonFiniteError, match=r"step 0: the run of the loss: step \d: .*not finite"):
        fitted({"fit.parameters": {"tether.k": {"start": 1e200}}})
    assert not (here / "run").exists()


def test_a_budget_that_is_too_small_is_told_at_its_place(here: Path) -> None:
    with pytest.raises(SceneError, match=r"fit\.memory: the adjoint of a run: needs at"):
        fitted({"fit.memory": 100})
    best, lean = fitted(), fitted({"fit.memory": "2.2 kB"}, "lean")
    assert best.parameter_fit.plan != lean.parameter_fit.plan
    np.testing.assert_array_equal(numbers(best)[0], numbers(lean)[0])


def test_the_python_door_is_lazy_and_documented() -> None:
    assert minusgrad.fit is fit
    assert "`[fit]`" in (fit.__doc__ or "")


def test_a_plain_run_and_its_scene_are_as_before(here: Path) -> None:
    assert build("swing.toml", {}, [oscillators]).scene.fit is not None
