"""Settings of OpenMM's NonbondedForce: obeyed by the scene, or named; conformers of a PDB file."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg

openmm = pytest.importorskip("openmm")
unit = pytest.importorskip("openmm.unit")

EDGE, CUTOFF = 2.4, 0.8
PLACES = np.array([[1.0, 1.0, 1.0], [1.33, 1.02, 0.97], [0.8, 1.6, 1.1], [1.7, 0.9, 1.2], [1.2, 1.1, 1.62]])
CHARGES = (0.3, -0.2, 0.1, -0.3, 0.1)
METHODS = openmm.NonbondedForce


def system_of(method: int, **settings: float) -> openmm.System:
    """Five atoms with wells and charges."""
    made, force = openmm.System(), openmm.NonbondedForce()
    made.setDefaultPeriodicBoxVectors(*(np.eye(3) * EDGE))
    for charge in CHARGES:
        made.addParticle(12.0)
        force.addParticle(charge, 0.3, 0.5)
    force.setNonbondedMethod(method)
    force.setCutoffDistance(CUTOFF)
    force.setUseDispersionCorrection(bool(settings.get("dispersion")))
    force.setReactionFieldDielectric(settings.get("permittivity", 78.3))
    if "switch" in settings:
        force.setUseSwitchingFunction(True)
        force.setSwitchingDistance(settings["switch"])
    made.addForce(force)
    return made


def energy_of(system: openmm.System) -> float:
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(PLACES)
    return context.getState(energy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)


def pdb_of(places: np.ndarray, locations: str = "     ", names: str = "ABCDE") -> str:
    rows = [
        f"ATOM  {k + 1:5d}  {names[k]}  {locations[k]}MOL A   1    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00\n"
        for k, (x, y, z) in enumerate(10.0 * places)
    ]
    return "".join(rows) + "END\n"


def loaded(
    folder: Path, system: openmm.System, energies: list, compounds: list = (), pdb: str = ""
) -> mg.Simulation:
    (folder / "m.xml").write_text(openmm.XmlSerializer.serialize(system))
    (folder / "m.pdb").write_text(pdb or pdb_of(PLACES))
    return mg.load(
        {
            "units": {"system": "molecular"},
            "state": {"kind": "molecule", "system": "m.xml", "positions": "m.pdb"},
            "energy": energies,
            "stepper": {"kind": "leapfrog", "dt": "1 fs"},
            "run": {"steps": 1},
        }
        | ({"compound": list(compounds)} if compounds else {})
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wells(**keys: object) -> dict:
    return {"kind": "lennard_jones_mixture", "cutoff": "8 angstrom", **keys}


def field(**keys: object) -> dict:
    usual = {"cutoff": "8 angstrom", "switch": "none", "radius": "8 angstrom"}
    return {"kind": "coulomb_reaction_field", **usual, **keys}


OF_DISPERSION = {"kind": "dispersion", "cutoff": "8 angstrom", "switch": "6.5 angstrom"}


def said(simulation: mg.Simulation) -> list[str]:
    return [one for one in simulation.remarks if "NonbondedForce" in one]


def test_a_scene_with_the_settings_of_the_system_has_its_energy_and_no_remark(folder: Path) -> None:
    system = system_of(METHODS.CutoffPeriodic, switch=0.65, dispersion=True, permittivity=40.0)
    scene = loaded(folder, system, [wells(switch="6.5 angstrom"), field(eps_rf=40.0)], [OF_DISPERSION])
    assert scene.potential.value() == pytest.approx(energy_of(system), rel=1e-6)
    assert said(scene) == []


DIFFERENT = {
    "CutoffPeriodic": (
        {"switch": 0.65, "dispersion": True},
        [wells(switch="none"), {"kind": "coulomb", "cutoff": "8 angstrom", "switch": "none"}],
        [],
        [
            "a switch from 0.65 nm, lennard_jones_mixture no switch",
            "has a dispersion correction, the scene none",
            "asks for CutoffPeriodic, which is 'coulomb_reaction_field' here, the scene has 'coulomb'",
        ],
    ),
    "CutoffNonPeriodic": (
        {},
        [wells(cutoff="9 angstrom", switch="none"), field(radius="7 angstrom", eps_rf=40.0)],
        [],
        [
            "a cutoff of 0.8 nm, lennard_jones_mixture a cutoff of 0.9 nm",
            "a cutoff of 0.8 nm, coulomb_reaction_field a radius of 0.7 nm",
            "has rfDielectric = 78.3, coulomb_reaction_field eps_rf = 40",
        ],
    ),
    "PME": (
        {},
        [wells(), field()],
        [OF_DISPERSION],
        [
            "has no switch, lennard_jones_mixture a switch from 0.72 nm",
            "has no dispersion correction, the scene has 'dispersion_correction'",
            "asks for PME, which is 'pme' here, the scene has 'coulomb_reaction_field'",
        ],
    ),
}


@pytest.mark.parametrize(
    "method", [one if one == "PME" else pytest.param(one, marks=pytest.mark.long) for one in DIFFERENT]
)
def test_a_setting_that_the_scene_does_not_obey_is_named(folder: Path, method: str) -> None:
    settings, energies, compounds, words = DIFFERENT[method]
    found = said(loaded(folder, system_of(getattr(METHODS, method), **settings), energies, compounds))
    assert len(found) == len(words)
    for remark, expected in zip(found, words, strict=True):
        assert remark.startswith("'m.xml': its NonbondedForce has ") or "asks for" in remark
        assert expected in remark
        assert remark.endswith("; the scene counts")


def test_a_scene_without_the_ewald_sum_of_dispersion_is_told(folder: Path) -> None:
    found = said(loaded(folder, system_of(METHODS.LJPME), [wells(), field()]))
    assert any("LJPME" in one for one in found), found


@pytest.mark.long
def test_without_a_cutoff_one_beyond_all_atoms_is_none(folder: Path) -> None:
    far = {"cutoff": "500 angstrom", "switch": "none"}
    system = system_of(METHODS.NoCutoff)
    scene = loaded(folder, system, [wells(**far), {"kind": "coulomb", **far}])
    assert said(scene) == []
    assert scene.potential.value() == pytest.approx(energy_of(system), rel=1e-6)


@pytest.mark.parametrize("locations", ["AB 2X", pytest.param("BBBBB", marks=pytest.mark.long)])
def test_the_first_conformer_of_each_atom_is_taken_whatever_its_letter(folder: Path, locations: str) -> None:
    """Every atom once, also where one has the letter B alone; a second conformer is left out."""
    rows = pdb_of(PLACES, locations).splitlines(keepends=True)
    second = pdb_of(PLACES + 0.05, "ZZZZZ").splitlines(keepends=True)[2]
    pdb = "".join([*rows[:3], second, *rows[3:]])
    (folder / "m.pdb").write_text(pdb)
    scene = loaded(folder, system_of(METHODS.CutoffPeriodic), [field()], pdb=pdb)
    assert np.abs(scene.fields["x"].values - 10.0 * PLACES).max() < 1e-9
