"""GBSAOBCForce of an OpenMM System by `force_field`, beside OpenMM's platform Reference."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import SceneError
from tests.support.openmm_systems import beside_openmm, write_scene

mm = pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")
PARTS = ["generalized_born", "generalized_born_self", "generalized_born_surface"]


def solvated(n: int, method: str = "NoCutoff", edge: float = 0.0, factor: float = 1.0) -> Any:
    """A System of charges in a solvent, whose charges are `factor` times those of the NonbondedForce."""
    rng = np.random.default_rng(n)
    system, born, pairs = mm.System(), mm.GBSAOBCForce(), mm.NonbondedForce()
    for _ in range(n):
        system.addParticle(12.0)
        charge = 0.4 * rng.normal()
        pairs.addParticle(charge, 0.1, 0.1)
        born.addParticle(factor * charge, rng.uniform(0.1, 0.2), rng.uniform(0.6, 1.0))
    for force in (born, pairs):
        force.setNonbondedMethod(getattr(force, method))
        force.setCutoffDistance(0.6)
        system.addForce(force)
    if edge:
        system.setDefaultPeriodicBoxVectors([edge, 0, 0], [0.1, edge, 0], [0.2, -0.1, edge])
    born.setSoluteDielectric(2.0)
    born.setSurfaceAreaEnergy(1.5)
    return system


def places(n: int, edge: float) -> np.ndarray:
    return np.random.default_rng(n + 1).uniform(0.0, edge, (n, 3))


@pytest.mark.parametrize(
    ("method", "edge", "factor"),
    [
        ("NoCutoff", 0.0, 1.0),
        ("NoCutoff", 0.0, 1.5),
        ("CutoffNonPeriodic", 0.0, 1.0),
        ("CutoffPeriodic", 1.3, 1.0),
    ],
    ids=["every pair", "charges of its own", "cutoff", "box"],
)
def test_energy_and_forces_are_those_of_openmm(
    method: str, edge: float, factor: float, tmp_path: Path
) -> None:
    found = beside_openmm(tmp_path, solvated(20, method, edge, factor), places(20, edge or 1.0))
    assert {*PARTS} <= {*found.terms}
    assert found.error < 1e-12
    assert found.error_of_forces < 1e-12


def test_derivatives_by_radii_and_charges_are_of_fields(tmp_path: Path) -> None:
    """Charges are shared with the NonbondedForce where both are alike."""
    path = write_scene(tmp_path, solvated(8), places(8, 0.8))
    potential = minusgrad.build(path).potential
    assert "born_charge" not in potential.fields
    for name in ("born_radius", "born_scale", "charge"):
        assert (potential.gradient(name) != 0.0).all()


def test_without_a_surface_there_is_no_term(tmp_path: Path) -> None:
    system = solvated(5)
    system.getForce(0).setSurfaceAreaEnergy(0.0)
    found = beside_openmm(tmp_path, system, places(5, 0.5))
    assert PARTS[-1] not in found.terms
    assert found.error < 1e-12


def two_solvents() -> Any:
    system = solvated(4)
    system.addForce(mm.XmlSerializer.clone(system.getForce(0)))
    return system


def mixed_methods() -> Any:
    system = solvated(4, "CutoffPeriodic", 1.5)
    system.getForce(0).setNonbondedMethod(mm.GBSAOBCForce.NoCutoff)
    return system


def a_small_atom() -> Any:
    system = solvated(4)
    system.getForce(0).setParticleParameters(2, 0.1, 0.008, 0.8)
    return system


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (two_solvents, "'a.xml': must have at most one GBSAOBCForce, got 2; leave others out"),
        (
            mixed_methods,
            "'a.xml': GBSAOBCForce: must use the box as other forces of the System do, got the method"
            " NoCutoff; set CutoffPeriodic in all of them, or in none",
        ),
        (
            lambda: solvated(4, "CutoffPeriodic", 1.0),
            "its cutoff must be at most half the least distance between opposite faces of the box",
        ),
        (a_small_atom, "generalized_born: born_radius must be above the offset 0.09, got 0.08 of node 2;"),
        (
            lambda: mm.XmlSerializer.serialize(solvated(4)).replace('scale="', 'size="'),
            "'a.xml': GBSAOBCForce needs a finite number `scale` everywhere; write the file again",
        ),
        (
            lambda: mm.XmlSerializer.serialize(solvated(4)).replace('method="0"', 'method="4"', 1),
            "'a.xml': GBSAOBCForce: method must be 0, 1 or 2, got 4; make the System with one of NoCutoff,",
        ),
    ],
    ids=["two", "mixed", "small box", "small atom", "no scale", "method"],
)
def test_what_cannot_be_is_refused(system: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError) as refusal:
        minusgrad.build(write_scene(tmp_path, system(), places(4, 1.0)))
    assert message in str(refusal.value)


def test_charges_that_global_parameters_offset_are_not_shared(tmp_path: Path) -> None:
    system = solvated(6)
    pairs = system.getForce(1)
    pairs.addGlobalParameter("more", 0.5)
    pairs.addParticleParameterOffset("more", 2, 0.3, 0.0, 0.0)
    found = beside_openmm(tmp_path, system, places(6, 0.6))
    assert found.error < 1e-12
    assert found.error_of_forces < 1e-12
