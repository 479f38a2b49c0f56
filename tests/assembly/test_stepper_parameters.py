"""Parameters of a stepper's own maps, which exist once it is made: in fits, fitted starts and members."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.app.runs import build, fit
from minusgrad.errors import UserError
from minusgrad.potential.argument_values import argument_values
from tests.project.test_guides import written

SCENE = """
[fit]
method = "adam"
rate = 0.05
iterations = 3
[fit.parameters."coriolis.spin"]
lower = 0.1
[[fit.loss]]
kind = "size"
"""
LOSS = '''

@local_energy("size", over="nodes", x=Node("m", ("d",)))
def size(x):
    """L = sum of |x|^2 / 2."""
    return 0.5 * x[0].norm_sqr()
'''
VARIED = """
[ensemble.vary."coriolis.spin"]
list = [0.5, 0.8, 1.0]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the how-to, with a loss."""
    written("docs/how-to/own-flow.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    plugin = tmp_path / "rotating.py"
    plugin.write_text(plugin.read_text().replace("return [centrifugal]", "return [centrifugal, size]") + LOSS)
    return tmp_path


def spin(scene: Path, *changes: str, **more: str) -> float:
    """The angular velocity in the maps of a scene's stepper."""
    made = build(scene, ["run.steps=20", *changes], plugins=["rotating.py"], **more)
    (flow,) = made.stepper.system.of_stepper
    return float(argument_values(flow, "coriolis.spin"))


def test_what_a_fit_found_is_put_into_the_maps(here: Path) -> None:
    scene = here / "fitted.toml"
    scene.write_text((here / "rotating.toml").read_text() + SCENE)
    found = fit(scene, ["run.steps=20"], "found", plugins=["rotating.py"])
    value = float(np.ravel(found.estimates.parameters[0].values)[0])
    assert value != 1.0
    assert spin(scene, fitted="found") == value


def test_members_differ_in_the_maps(here: Path) -> None:
    scene = here / "varied.toml"
    scene.write_text((here / "rotating.toml").read_text() + VARIED)
    for number, value in enumerate([0.5, 0.8, 1.0]):
        assert spin(scene, f"ensemble.member={number}") == value


def test_a_value_that_nothing_has_is_refused(here: Path) -> None:
    scene = here / "varied.toml"
    scene.write_text((here / "rotating.toml").read_text() + VARIED.replace("coriolis", "coriolos"))
    with pytest.raises(UserError, match="coriolos"):
        build(scene, ["ensemble.member=0"], plugins=["rotating.py"])
