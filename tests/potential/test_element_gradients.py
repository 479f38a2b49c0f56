"""Derivatives of the energy of each element: their sums are the gradient of the term."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad import build
from minusgrad.plugin import ElementGradients
from tests.support.toml_scenes import toml_text

BODY = {"kind": "box", "size": [1.0, 0.8, 0.6], "cells": [2, 1, 1], "density": 1.0}
SOLID = {"kind": "neo_hookean", "youngs_modulus": 1.0, "poissons_ratio": 0.3}
TERMS = {
    "neo_hookean": {},
    "traction": {"kind": "traction", "body": "top", "traction": [0.1, 0.2, 0.3]},
    "pressure": {"kind": "pressure", "pressure": 0.2},
    "spring": {"kind": "spring", "stiffness": 2.0, "tuples": "edges"},
    "body_force": {"kind": "body_force", "acceleration": [0.0, 0.0, -9.8]},
}


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("name", TERMS)
def test_sums_over_elements_are_the_gradient(tmp_path: Path, name: str, precision: str) -> None:
    scene = {"title": "A box", "plugins": ["elastic"], "units": {"system": "dimensionless"}, "state": BODY}
    scene |= {"energy": [SOLID, *([TERMS[name]] if TERMS[name] else [])], "run": {"steps": 1}}
    scene |= {"stepper": {"kind": "leapfrog", "dt": 1e-3}, "runtime": {"precision": precision}}
    (tmp_path / "box.toml").write_text(toml_text(scene))
    made = build(tmp_path / "box.toml")
    x = made.fields["x"]
    x.set(x.values + 0.05 * np.random.default_rng(1).normal(size=x.shape))
    term = made.potential.terms[name]
    gradients = ElementGradients.of(term, "x")
    assert gradients is not None
    for _ in range(2):
        found = np.zeros(x.shape)
        np.add.at(found, gradients.nodes, gradients.at(0.0))
        others = [one for one in made.potential.terms if one != name]
        whole = made.potential.gradient("x").astype(float)
        for one in others:
            rest = ElementGradients.of(made.potential.terms[one], "x")
            assert rest is not None
            np.add.at(found, rest.nodes, rest.at(0.0))
        assert np.abs(found - whole).max() < (1e-13 if precision == "f64" else 1e-5)
        made.potential.set_parameter("neo_hookean.youngs_modulus", 2.0)
