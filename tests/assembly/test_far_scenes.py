"""Scenes with far pairs: errors of forces are recorded, and a resumed run continues with its tree."""

import shutil
from pathlib import Path

import pytest

import minusgrad
from minusgrad.errors import UserError

SCENE = """
plugins = ["gravity"]
[units]
system = "dimensionless"
[state]
kind = "plummer_sphere"
n = 1500
mass = 1.0
radius = 1.0
G = 1.0
[[energy]]
kind = "gravity"
G = 1.0
softening = 0.05
far = { opening_angle = 0.6, order = 2, skin = 0.1 }
[stepper]
kind = "leapfrog"
dt = 0.05
[run]
steps = 12
[[observe]]
kind = "force_errors"
every = 4
[[observe]]
kind = "energies"
every = 4
[checkpoint]
every = 6
"""


def written(tmp_path: Path, text: str = SCENE) -> Path:
    (tmp_path / "far.toml").write_text(text)
    return tmp_path / "far.toml"


@pytest.mark.long
def test_errors_are_recorded_and_kept_trees_are_resumed(tmp_path):
    run = minusgrad.run(written(tmp_path), out=tmp_path / "whole")
    errors = run.series("observables/force_error/gravity").value
    assert len(errors) == 4
    assert (errors > 1e-7).all()
    assert (errors < 2e-2).all()
    whole, half = tmp_path / "whole", tmp_path / "half"
    shutil.copytree(whole, half)
    for old in (*half.glob("ckpt/000000000012*"), *half.glob("traj/000000000012*"), half / "trajectory.h5"):
        old.unlink()
    minusgrad.resume(half)
    assert sorted(p.name for p in half.glob("ckpt/*")) == sorted(p.name for p in whole.glob("ckpt/*"))


def test_an_observer_without_far_pairs_is_refused(tmp_path):
    text = SCENE.replace("far = { opening_angle = 0.6, order = 2, skin = 0.1 }", "").replace("1500", "5")
    with pytest.raises(UserError, match="force_errors: are of energies with far pairs, got none"):
        minusgrad.run(written(tmp_path, text), out=tmp_path / "run")
