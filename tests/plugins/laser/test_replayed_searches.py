"""The dose that a search computes is the one that its job file leaves: constant power, play, small spots."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import minusgrad
from minusgrad.plugin import StateContext, UnitSystem
from minusgrad_laser.jobs import gcode
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.search import recipe
from minusgrad_laser.targets.butterfly import Butterfly
from minusgrad_laser.tool import runs
from minusgrad_laser.virtual_machine import replay

M3 = Profile.load("grbl_m3")
MACHINES = {
    "plain": replace(M3, latency=0.0, backlash=(0.0, 0.0)),
    "late": replace(M3, backlash=(0.0, 0.0)),
    "play": M3,
    "oval": replace(M3, latency=0.0, backlash=(0.0, 0.0), spot=(8e-5, 1.4e-4)),
    "two_photon": Profile.load("two_photon"),
    "marlin": Profile.load("marlin_diode"),
}


def replayed_off(profile: Profile, folder: Path, steps: int = 3) -> float:
    """By how much the replayed dose is off that of a search for a butterfly, in parts of it (L1)."""
    n, h = 44, profile.pixel
    target = Butterfly().values(n, n, h, StateContext(UnitSystem.si(), 0, folder))
    picture = recipe.Picture('{ kind = "butterfly" }', target)
    text = recipe.text(picture, profile, steps=150)
    (folder / "scene.toml").write_text(text)
    built = minusgrad.build(folder / "scene.toml")
    built.stepper.begin()
    built.stepper.advance(steps)
    path = runs.toolpath(SimpleNamespace(simulation=built))
    searched = built.fields["dose"].values.reshape(n, n)
    full = recipe.USUAL.full
    done = replay(gcode.write(path, profile), profile, (n, n), h, profile.waists, full)
    return float(np.abs(done.dose - searched).sum() / searched.sum())


@pytest.mark.parametrize("name", ["two_photon", "marlin"])
def test_the_replayed_dose_is_that_of_the_search(name: str, tmp_path: Path) -> None:
    assert replayed_off(MACHINES[name], tmp_path) < 0.01


@pytest.mark.long
@pytest.mark.parametrize(("name", "most"), [("plain", 0.01), ("late", 0.01), ("oval", 0.01), ("play", 0.02)])
def test_the_replayed_dose_is_that_of_the_search_at_constant_power(
    name: str, most: float, tmp_path: Path
) -> None:
    """Play is made up for in pieces as short as lines may be; without that it is 0.2 off."""
    assert replayed_off(MACHINES[name], tmp_path) < most
