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
    assert found.error < 1e-11
    assert found.error_of_forces < 1e-11


@pytest.mark.parametrize("begin", [None, 0.3])
def test_a_cutoff_without_a_box(begin: float | None, tmp_path: Path) -> None:
    system, places, force = system_of("dipeptide")
    force.setNonbondedMethod(mm.NonbondedForce.CutoffNonPeriodic)
    force.setCutoffDistance(0.5)
    if begin is not None:
        force.setUseSwitchingFunction(True)
        force.setSwitchingDistance(begin)
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 1e-11
    assert found.error_of_forces < 1e-11


@pytest.mark.parametrize("method", [pytest.param("CutoffPeriodic", marks=pytest.mark.long), "PME"])
def test_a_molecule_in_water(method: str, tmp_path: Path) -> None:
    """With a switch and the correction of dispersion; alpha and mesh follow from OpenMM's tolerance."""
    system, places, force = system_of("dipeptide_water")
    force.setNonbondedMethod(getattr(mm.NonbondedForce, method))
    force.setUseDispersionCorrection(True)
    force.setUseSwitchingFunction(True)
    force.setSwitchingDistance(0.7)
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 1e-11
    assert found.error_of_forces < 1e-11


BOX = np.array([1.2, 1.3, 1.4])


def ions(method: str, net: float = 0.0, repeats: int = 2):
    """Charged atoms of three sizes near a lattice, in a box; two exceptions, one of them with energies."""
    rng, force = np.random.default_rng(4), mm.NonbondedForce()
    system, places = mm.System(), np.indices((repeats,) * 3).reshape(3, -1).T * BOX / repeats
    system.setDefaultPeriodicBoxVectors(*[mm.Vec3(*row) for row in np.diag(BOX)])
    force.setNonbondedMethod(getattr(mm.NonbondedForce, method))
    force.setCutoffDistance(0.5)
    for k in range(len(places)):
        system.addParticle(20.0)
        force.addParticle((-1.0) ** k + net, 0.2 + 0.02 * (k % 3), 0.3 + 0.1 * (k % 2))
    force.addException(0, 1, 0.3, 0.3, 0.2)
    force.addException(2, 3, 0.0, 1.0, 0.0)
    system.addForce(force)
    return system, places + 0.03 * rng.normal(size=places.shape), force


@pytest.mark.parametrize(
    ("method", "net", "terms"),
    [
        ("Ewald", 0.1, {"pme_direct", "pme_background", "dispersion_correction"}),
        ("LJPME", 0.0, {"dispersion_reciprocal", "dispersion_uniform", "dispersion_excluded"}),
        ("PME", 0.1, {"pme_reciprocal", "pme_background", "dispersion_correction"}),
    ],
)
def test_ewald_sums(method: str, net: float, terms: set[str], tmp_path: Path) -> None:
    """With a net charge; of LJPME OpenMM ignores the switch and the correction of dispersion."""
    system, places, force = ions(method, net)
    force.setUseSwitchingFunction(True)
    force.setSwitchingDistance(0.4)
    found = beside_openmm(tmp_path, system, places)
    assert terms <= found.terms.keys()
    assert found.error < 1e-11
    assert found.error_of_forces < 1e-11


@pytest.mark.long
def test_ewald_sums_of_parameters_of_the_file(tmp_path: Path) -> None:
    system, places, force = ions("LJPME")
    force.setPMEParameters(5.0, 15, 18, 20)
    force.setLJPMEParameters(6.0, 12, 14, 21)
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 1e-11
    assert found.error_of_forces < 1e-11


@pytest.mark.long
def test_the_waves_of_many_charges_are_those_of_a_fine_mesh(tmp_path: Path) -> None:
    system, places, force = system_of("dipeptide_water")
    force.setNonbondedMethod(mm.NonbondedForce.Ewald)
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 2e-9
    assert found.error_of_forces < 5e-8


def test_parameters_with_offsets_have_the_values_of_defaults(tmp_path: Path) -> None:
    system, places, force = ions("CutoffPeriodic")
    force.addGlobalParameter("lambda", 0.5)
    force.addGlobalParameter("mu", 0.25)
    force.addParticleParameterOffset("lambda", 3, 0.1, 0.01, 0.2)
    force.addParticleParameterOffset("mu", 3, 0.2, 0.02, -0.1)
    force.addExceptionParameterOffset("mu", 1, 0.4, 0.1, 0.3)
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 1e-11
    assert found.error_of_forces < 1e-11
    assert minusgrad.build(tmp_path / "a.toml").remarks[0] == (
        "'a.xml': NonbondedForce: parameters with offsets have the values of the defaults, lambda = 0.5, mu ="
        " 0.25; to change them, write the file again"
    )


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


@pytest.mark.parametrize("method", [pytest.param("CutoffPeriodic", marks=pytest.mark.long), "PME"])
def test_molecules_that_the_box_cuts(method: str, tmp_path: Path) -> None:
    """Forces and exceptions that use the box join them; else OpenMM counts the way through the box."""
    system, places, force = system_of("dipeptide_water")
    force.setNonbondedMethod(getattr(mm.NonbondedForce, method))
    places[::2, 0] += 1.9
    write_scene(tmp_path, system, places)
    with pytest.raises(
        SceneError, match=r"its exception of atoms . and . is not periodic, got atoms that are nearer"
    ):
        minusgrad.build(tmp_path / "a.toml")
    force.setExceptionsUsePeriodicBoundaryConditions(True)
    found = beside_openmm(tmp_path, system, places)
    assert found.theirs > 1e6
    assert found.error < 1e-11
    for one in system.getForces():
        if hasattr(one, "setUsesPeriodicBoundaryConditions"):
            one.setUsesPeriodicBoundaryConditions(True)
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 1e-11
    assert found.error_of_forces < 1e-11


def test_forces_of_one_class_must_agree_on_the_box(tmp_path: Path) -> None:
    system, places, _ = system_of("dipeptide")
    for periodic in (True, False):
        force = mm.HarmonicBondForce()
        force.setUsesPeriodicBoundaryConditions(periodic)
        system.addForce(force)
    with pytest.raises(
        SceneError, match="all forces HarmonicBondForce must use the periodic box, or none, got both"
    ):
        minusgrad.build(write_scene(tmp_path, system, places))


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
        ('method="2"', 'method="3"',
         "'a.xml': NonbondedForce: Ewald's sum needs a rectangular box, got another one; make the System with"
         " PME"),
        ('method="2"', 'method="6"',
         "'a.xml': NonbondedForce: method must be a number from 0 to 5, got 6; write the file again"),
        ('method="2"', 'method="4" includeDirectSpace="0"',
         "'a.xml': NonbondedForce without its direct space is not supported; set"
         " setIncludeDirectSpace(True)"),
    ],
)  # fmt: skip
def test_systems_that_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = write_scene(tmp_path, SYSTEM.replace(old, new), np.array(PLACES) / 10.0)
    with pytest.raises(SceneError) as refusal:
        minusgrad.build(path)
    assert message in str(refusal.value)


def test_energies_beside_the_compound_are_remarked(tmp_path: Path) -> None:
    again = 'energy = [{ kind = "harmonic_bond", tuples = "bonds", name = "again" }]\n'
    built = minusgrad.build(write_scene(tmp_path, SYSTEM, np.array(PLACES) / 10.0, again + SCENE))
    assert built.remarks[-1] == (
        "'a.xml': force_field has all of its energies, again come on top; the scene counts"
    )


def test_another_state_has_no_force_field(tmp_path: Path) -> None:
    state = 'state = { kind = "random_cluster", n = 3, mass = "1 u", radius = "1 nm" }'
    (old,) = (line for line in SCENE.splitlines() if line.startswith("state"))
    path = write_scene(tmp_path, SYSTEM, np.array(PLACES) / 10.0, SCENE.replace(old, state))
    with pytest.raises(
        SceneError, match="force_field: needs the System of a molecule, got a state without one"
    ):
        minusgrad.build(path)
