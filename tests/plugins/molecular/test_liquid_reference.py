"""Lennard-Jones atoms with a sharp cutoff in a triclinic box: OpenMM's and LAMMPS's energy, forces, pressure.

The stored numbers are made by `liquid_reference.py`. All forces of the 32,000 atoms were compared by hand:
the largest difference is 3e-13 of the largest force to LAMMPS and 5e-14 to OpenMM (2026-11-24).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.plugin import Cutoff
from minusgrad_molecular.lennard_jones import lennard_jones
from tests.plugins.molecular.liquid_reference import RADIUS, chosen, crystal, summary
from tests.support.tiers import sampled

STORED = json.loads(Path(__file__).with_name("liquid_reference.json").read_text())
NEAR = 1e-10


def potential(cells: int) -> Potential:
    x, vectors = crystal(cells)
    fields = Fields({"x": x, "box": vectors[None]}, {"x": "m", "box": "m"})
    cutoff = Cutoff(RADIUS, skin=0.3, sharp=True)
    given = {"epsilon": 1.0, "sigma": 1.0}
    return Potential(fields, [bind(lennard_jones, fields, parameters=given, cutoff=cutoff)])


def pressure(of: Potential) -> np.ndarray:
    """Of the virial, -dU/de / V, where e is the strain: xx, yy, zz, xy, xz, yz."""
    x, box = of.fields["x"].values, of.fields["box"].values[0]
    strain = x.T @ of.gradient("x") + box.T @ of.gradient("box")[0]
    np.testing.assert_allclose(strain, strain.T, atol=NEAR * np.abs(strain).max())
    tensor = -strain / abs(np.linalg.det(box))
    return tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


@pytest.fixture(params=[True, False], ids=["lanes", "targets"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of blocks of targets in lanes, and of one target at a time."""
    monkeypatch.setattr(lane_loops, "LEAST_TARGETS", 1 if request.param else 10**9)


@pytest.mark.parametrize("cells", sampled([5, 20], [5]))
def test_energy_forces_and_pressure_are_those_of_openmm_and_lammps(cells: int, loops: None) -> None:
    one = potential(cells)
    forces = -one.gradient("x")
    found = summary(one.value(), forces)
    for program, expected in STORED[str(len(forces))].items():
        compare(found, expected, program)
    expected = np.array(STORED[str(len(forces))]["lammps"]["pressure"])
    np.testing.assert_allclose(pressure(one), expected, rtol=0.0, atol=NEAR * np.abs(expected).max())


def compare(found: dict[str, Any], expected: dict[str, Any], program: str) -> None:
    """Energy and sums to 1e-10 of themselves, forces to 1e-10 of the largest."""
    for name in ("energy", "largest", "squares"):
        assert found[name] == pytest.approx(expected[name], rel=NEAR), (program, name)
    assert found["wave"] == pytest.approx(expected["wave"], abs=NEAR * expected["largest"]), program
    np.testing.assert_allclose(found["chosen"], expected["chosen"], rtol=0.0, atol=NEAR * expected["largest"])


@pytest.mark.unit
def test_the_crystal_has_no_symmetry() -> None:
    """Its stored forces differ, and pairs lie on both sides of the cutoff and of the box."""
    x, vectors = crystal(5)
    forces = np.array(STORED["500"]["lammps"]["chosen"])
    assert np.abs(forces).min() > 0.01
    assert len(np.unique(chosen(len(x)))) == len(forces)
    s = x @ np.linalg.inv(vectors)
    assert s.min() < 0.05
    assert s.max() > 0.95
