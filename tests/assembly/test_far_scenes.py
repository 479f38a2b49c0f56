"""Scenes with far pairs: errors of forces are recorded, and a resumed run continues with its tree."""

import shutil
from pathlib import Path

import pytest

import minusgrad
from minusgrad.errors import UserError
from tests.support.command import files, own_files
from tests.support.short_scenes import cut

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


IN_A_BOX = """
plugins = ["gravity"]
[units]
system = "dimensionless"
[state]
kind = "random_points"
n = 400
side = 3.0
mass = 1.0
[box]
edges = [3.0, 3.0, 3.0]
[[energy]]
kind = "screened_charges"
strength = 1e-3
length = 0.3
far = { error = 3e-3, skin = 0.2 }
[stepper]
kind = "leapfrog"
dt = 0.005
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


@pytest.mark.long
def test_screened_charges_in_a_box_are_resumed(tmp_path):
    """The energy is that of the file beside the scene `yukawa_cluster`."""
    own, scene, whole = own_files("yukawa_cluster"), written(tmp_path, IN_A_BOX), tmp_path / "whole"
    run = minusgrad.run(scene, out=whole, plugins=own)
    assert run.series("observables/force_error/screened_charges").value.max() < 5e-3
    assert abs(run.series("observables/drift").value[-1]) < 1e-3
    half = cut(tmp_path / "half", scene, {}, 5, plugins=own)
    minusgrad.resume(half, plugins=own)
    theirs, ours = files(whole), files(half)
    for name in ("ckpt", "traj"):
        last = max(n for n in theirs if n.startswith(name) and "000000000012" in n)
        assert theirs[last] == ours[last], last


def test_an_observer_without_far_pairs_is_refused(tmp_path):
    text = SCENE.replace("far = { opening_angle = 0.6, order = 2, skin = 0.1 }", "").replace("1500", "5")
    with pytest.raises(UserError, match="force_errors: are of energies with far pairs, got none"):
        minusgrad.run(written(tmp_path, text), out=tmp_path / "run")
