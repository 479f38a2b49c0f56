"""Runs in kJ/mol and angstrom: those in u, angstrom and ps, with figures in units that chemists read."""

import re
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import SceneError
from minusgrad.files.trajectory import symbols
from tests.support.command import SCENES

SMALL = {"state.cells": [3, 3, 3], "energy.0.cutoff": "6.8 angstrom", "run.steps": 6, "checkpoint.every": 0}
SMALL |= {f"observe.{k}.every": 2 for k in range(4)}
IN_MOLES = {"units": {"system": "molecular"}}
KILOJOULE = 1e3 / 6.02214076e23


def test_a_run_in_molecular_units_is_that_in_others(tmp_path: Path) -> None:
    """Liquid argon at constant pressure: the same positions; energies in kJ/mol, pressures in bar."""
    scene = SCENES / "argon_npt.toml"
    plain = minusgrad.run(scene, SMALL, tmp_path / "plain")
    other = minusgrad.run(scene, SMALL | IN_MOLES, tmp_path / "other")
    sizes = {"total": ("kJ/mol", "J", KILOJOULE), "potential/lennard_jones": ("kJ/mol", "J", KILOJOULE)}
    sizes |= {"pressure": ("bar", "Pa", 1e5), "stress": ("bar", "Pa", 1e5)}
    sizes |= {"volume": ("angstrom^3", "m^3", 1e-30), "temperature/kinetic": ("K", "K", 1.0)}
    for name, (symbol, unit, size) in sizes.items():
        label = f"observables/{name}"
        found, expected = (run.series(label).value for run in (other, plain))
        assert symbols(other.folder, label) == (symbol, "ps")
        np.testing.assert_allclose(found * size, expected * plain.simulation.units.in_si(unit), rtol=1e-8)
    found, expected = (run.series("particles/all/position").value for run in (other, plain))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)


def test_numbers_without_units_are_refused_where_the_unit_has_no_name() -> None:
    text = "stepper: 19.34 has no unit, which this scene needs here; write '19.34 bar'"
    with pytest.raises(SceneError, match=re.escape(text)):
        minusgrad.build(SCENES / "argon_npt.toml", SMALL | IN_MOLES | {"stepper.pressure": 19.34})
    text = "state.mass: 39.948 has no unit, which this scene needs here; write '39.948 u'"
    with pytest.raises(SceneError, match=re.escape(text)):
        minusgrad.build(SCENES / "argon_npt.toml", SMALL | IN_MOLES | {"state.mass": 39.948})
