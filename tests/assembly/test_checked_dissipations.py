"""`minusgrad check` asks the dissipations of a scene what it asks its energies."""

import json
from pathlib import Path

import pytest

from tests.support.tiers import sampled

PLUGIN = """
from minusgrad.plugin import Node, Parameter, hookimpl, local_energy, ti


@local_energy("own_drag", over="nodes", v=Node("m/s", ("d",)), c=Parameter("kg/s"), unit="W")
def own_drag(v, c):
    square = v[0].norm_sqr()
    return 0.5 * c * {0}


@local_energy("anchor", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def anchor(x, k):
    return 0.5 * k * x[0].norm_sqr()


@hookimpl
def register_energies():
    return [anchor]


@hookimpl
def register_dissipations():
    return [own_drag]
"""
SCENE = """
plugins = ["gravity"]
units = {{ system = "dimensionless" }}
stepper = {{ kind = "leapfrog", dt = 0.01 }}
run = {{ steps = 2 }}
runtime = {{ precision = "{0}" }}

[state]
kind = "two_body"
masses = [0.75, 0.25]
semi_major_axis = 1.0
eccentricity = 0.3
G = 1.0

[[energy]]
kind = "anchor"
k = 1.0

[[dissipation]]
kind = "own_drag"
c = 0.1
"""


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
def test_a_dissipation_is_asked(precision: str, tmp_path: Path, invoke) -> None:
    """One that casts the squared speed to a whole number is found, and the same one without is right."""
    (tmp_path / "scene.toml").write_text(SCENE.format(precision))
    for square, expected in (("square", 0), ("ti.cast(10.0 * square, ti.i32)", 1)):
        (tmp_path / "drag.py").write_text(PLUGIN.format(square))
        code, out, _ = invoke("check", tmp_path / "scene.toml", "--plugin", tmp_path / "drag.py", "--json")
        found = [f for f in json.loads(out) if f["term"] == "own_drag"]
        assert {f["argument"] for f in found} >= {"v", "c"}
        assert code == expected
        assert any(not f["passed"] for f in found) == bool(expected)
