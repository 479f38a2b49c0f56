"""The compound `force_field`: U and forces of Systems beside OpenMM's platform Reference."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import SceneError
from tests.support.command import SCENES
from tests.support.openmm_systems import SCENE, beside_openmm, write_scene
from tests.support.propanone import PLACES, PROPANONE

mm = pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")

RETURNING = '<Torsion k="5" p1="0" p2="1" p3="2" p4="1" periodicity="3" phase="0"/>\n'
SYSTEM = PROPANONE.replace(RETURNING, "").replace('method="2"', 'method="2" cutoff="1"')
"""Without the torsion that returns along a bond, whose angle no place of the atoms has."""


def system_of(name: str):
    """A System of the scenes, its places [nm], and its NonbondedForce."""
    from openmm import app, unit

    data = SCENES / "data"
    system = mm.XmlSerializer.deserialize((data / f"{name}.xml").read_text())
    places = app.PDBFile(str(data / f"{name}.pdb")).positions.value_in_unit(unit.nanometer)
    (force,) = (one for one in system.getForces() if isinstance(one, mm.NonbondedForce))
    return system, np.array(places), force


def test_a_molecule_in_vacuum(tmp_path: Path) -> None:
    system, places, _ = system_of("dipeptide")
    found = beside_openmm(tmp_path, system, places)
    assert [*found.terms] == [
        *("bonds", "angles", "torsions", "impropers"),
        *("lennard_jones", "lennard_jones_14", "coulomb_14", "coulomb"),
    ]
    assert found.error < 2e-8
    assert found.error_of_forces < 1e-9


@pytest.mark.parametrize("begin", [None, 0.3])
def test_a_cutoff_without_a_box(begin: float | None, tmp_path: Path) -> None:
    system, places, force = system_of("dipeptide")
    force.setNonbondedMethod(mm.NonbondedForce.CutoffNonPeriodic)
    force.setCutoffDistance(0.5)
    if begin is not None:
        force.setUseSwitchingFunction(True)
        force.setSwitchingDistance(begin)
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 2e-9
    assert found.error_of_forces < 1e-9


@pytest.mark.parametrize("method", ["CutoffPeriodic", "PME"])
def test_a_molecule_in_water(method: str, tmp_path: Path) -> None:
    """With a switch and the correction of dispersion; alpha and mesh follow from OpenMM's tolerance."""
    system, places, force = system_of("dipeptide_water")
    force.setNonbondedMethod(getattr(mm.NonbondedForce, method))
    force.setUseDispersionCorrection(True)
    force.setUseSwitchingFunction(True)
    force.setSwitchingDistance(0.7)
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 2e-9
    assert found.error_of_forces < 1e-9


def test_torsions_with_terms_of_their_own(tmp_path: Path) -> None:
    """A chain of 14 atoms: Ryckaert and Bellemans' sums in two forces, and maps of two sizes."""
    rng, n = np.random.default_rng(3), 14
    system, maps = mm.System(), mm.CMAPTorsionForce()
    for _ in range(n):
        system.addParticle(12.0)
    for size in (6, 5):
        maps.addMap(size, (5.0 * rng.normal(size=size * size)).tolist())
    for k in range(n - 4):
        maps.addTorsion(k % 2, k, k + 1, k + 2, k + 3, k + 1, k + 2, k + 3, k + 4)
    system.addForce(maps)
    for begin in (0, 1):
        force = mm.RBTorsionForce()
        for k in range(begin, n - 3, 2):
            force.addTorsion(k, k + 1, k + 2, k + 3, *(10.0 * rng.normal(size=6)))
        system.addForce(force)
    found = beside_openmm(tmp_path, system, np.cumsum(0.12 * rng.normal(size=(n, 3)), axis=0))
    assert [*found.terms] == ["rb_torsions", "torsion_maps"]
    assert found.error < 1e-12
    assert found.error_of_forces < 1e-12


def test_forces_without_energy_are_left_out_with_a_remark(tmp_path: Path) -> None:
    more = '<Force type="AndersenThermostat"/><Force type="MonteCarloBarostat"/></Forces>'
    path = write_scene(tmp_path, SYSTEM.replace("</Forces>", more), np.array(PLACES) / 10.0)
    built = minusgrad.build(path)
    assert [*built.potential.terms][:4] == ["bonds", "urey_bradley", "angles", "impropers"]
    assert built.remarks[:2] == [
        f"'a.xml': {kind} is left out: the stepper of the scene keeps the {what}, or no one does"
        for kind, what in (("AndersenThermostat", "temperature"), ("MonteCarloBarostat", "pressure"))
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('cutoff="1"', 'cutoff="2.1"',
         "'a.xml': NonbondedForce: its cutoff must be at most half the least distance between opposite faces"
         " of the box, 1.48839 nm, got 2.1 nm; use a larger box or a smaller cutoff"),
    ],
)  # fmt: skip
def test_systems_that_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = write_scene(tmp_path, SYSTEM.replace(old, new), np.array(PLACES) / 10.0)
    with pytest.raises(SceneError) as refusal:
        minusgrad.build(path)
    assert message in str(refusal.value)


def test_another_state_has_no_force_field(tmp_path: Path) -> None:
    state = 'state = { kind = "random_cluster", n = 3, mass = "1 u", radius = "1 nm" }'
    (old,) = (line for line in SCENE.splitlines() if line.startswith("state"))
    path = write_scene(tmp_path, SYSTEM, np.array(PLACES) / 10.0, SCENE.replace(old, state))
    with pytest.raises(
        SceneError, match="force_field: needs the System of a molecule, got a state without one"
    ):
        minusgrad.build(path)
