"""References by OpenMM: files of the molecular scenes, energies of each term, forces.

    pip install openmm
    python tests/plugins/molecular/openmm_reference.py

OpenMM 8.6, platform Reference (double precision), AMBER ff14SB and TIP3P-FB, no constraints, flexible water.
Written: scenes/data/dipeptide.pdb and .xml (alanine dipeptide in vacuum, warmed to 400 K),
dipeptide_water.pdb and .xml (the same in a periodic box of water, cutoff 8 angstrom, reaction field, sharp);
and for each, and for the water with particle-mesh Ewald (alpha = 3.4 / nm, 24^3 cells), a JSON file beside
this one: energies [kJ/mol] by term, forces [kJ/mol/nm] of all together.
"""

import json
import sys
from pathlib import Path

import openmm as mm
from openmm import app, unit

HERE = Path(__file__).parent
SCENES = HERE.parents[2] / "scenes" / "data"
FIELD = app.ForceField("amber14-all.xml", "amber14/tip3pfb.xml")
FLEXIBLE = {"constraints": None, "rigidWater": False, "removeCMMotion": False}
KJ = unit.kilojoule_per_mole
BOX = 1.9
PERIODIC = {"nonbondedMethod": app.CutoffPeriodic, "nonbondedCutoff": 0.8 * unit.nanometer}


def context(
    system: mm.System, positions, temperature: float = 400.0, platform: str = "Reference"
) -> mm.Context:
    integrator = mm.LangevinMiddleIntegrator(temperature, 5.0, 0.0005)
    integrator.setRandomNumberSeed(1)
    made = mm.Context(system, integrator, mm.Platform.getPlatformByName(platform))
    made.setPositions(positions)
    return made


def warmed(topology, positions, temperature: float, platform: str, **options):
    """Positions after minimisation and a picosecond in a bath."""
    at = context(FIELD.createSystem(topology, **FLEXIBLE, **options), positions, temperature, platform)
    mm.LocalEnergyMinimizer.minimize(at)
    at.setVelocitiesToTemperature(temperature, 1)
    at.getIntegrator().step(2000)
    return at.getState(getPositions=True).getPositions()


def energy(system: mm.System, positions) -> float:
    return context(system, positions).getState(getEnergy=True).getPotentialEnergy().value_in_unit(KJ)


def split(system: mm.System, positions) -> dict[str, float]:
    """Energies of each force; of the nonbonded one those of all pairs and of exceptions, by kind."""
    found = {}
    for force in system.getForces():
        alone = mm.XmlSerializer.clone(system)
        for k in reversed(range(alone.getNumForces())):
            if alone.getForce(k).getName() != force.getName():
                alone.removeForce(k)
        if force.getName() != "NonbondedForce":
            found[force.getName()] = energy(alone, positions)
            continue
        for name, charged, deep in (("coulomb", True, False), ("lennard_jones", False, True)):
            for listed in (False, True):
                part = mm.XmlSerializer.clone(alone)
                kept = part.getForce(0)
                for k in range(kept.getNumParticles()):
                    q, s, e = kept.getParticleParameters(k)
                    at = q * charged * (not listed), s, e * deep * (not listed)
                    kept.setParticleParameters(k, *at)
                for k in range(kept.getNumExceptions()):
                    i, j, q, s, e = kept.getExceptionParameters(k)
                    kept.setExceptionParameters(k, i, j, q * charged * listed, s, e * deep * listed)
                found[f"{name}_14" if listed else name] = energy(part, positions)
    return found


def reference(name: str, topology, positions, **options) -> None:
    with (SCENES / f"{name}.pdb").open("w") as file:
        app.PDBFile.writeFile(topology, positions, file, keepIds=True)
    pdb = app.PDBFile(str(SCENES / f"{name}.pdb"))
    system = FIELD.createSystem(pdb.topology, **FLEXIBLE, **options)
    for force in system.getForces():
        if isinstance(force, mm.NonbondedForce):
            force.setUseDispersionCorrection(False)
    (SCENES / f"{name}.xml").write_text(mm.XmlSerializer.serialize(system))
    state = context(system, pdb.positions).getState(getForces=True, getEnergy=True)
    forces = state.getForces(asNumpy=True).value_in_unit(KJ / unit.nanometer)
    energies = split(system, pdb.positions)
    assert abs(sum(energies.values()) - state.getPotentialEnergy().value_in_unit(KJ)) < 1e-6
    found = {"energies": energies, "forces": [[float(f"{f:.10g}") for f in row] for row in forces]}
    (HERE / f"{name}.json").write_text(json.dumps(found, indent=0) + "\n")


def long_range() -> None:
    """The same water with particle-mesh Ewald and the correction of dispersion, from the files."""
    pdb = app.PDBFile(str(SCENES / "dipeptide_water.pdb"))
    system = mm.XmlSerializer.deserialize((SCENES / "dipeptide_water.xml").read_text())
    (force,) = (one for one in system.getForces() if isinstance(one, mm.NonbondedForce))
    force.setNonbondedMethod(mm.NonbondedForce.PME)
    force.setPMEParameters(3.4, 24, 24, 24)
    force.setUseDispersionCorrection(True)
    state = context(system, pdb.positions).getState(getForces=True)
    forces = state.getForces(asNumpy=True).value_in_unit(KJ / unit.nanometer)
    found = {
        "energies": split(system, pdb.positions),
        "forces": [[float(f"{f:.10g}") for f in row] for row in forces],
    }
    (HERE / "dipeptide_water_pme.json").write_text(json.dumps(found, indent=0) + "\n")


def main(start: str) -> None:
    pdb = app.PDBFile(start)
    positions = warmed(pdb.topology, pdb.positions, 400.0, "Reference", nonbondedMethod=app.NoCutoff)
    reference("dipeptide", pdb.topology, positions, nonbondedMethod=app.NoCutoff)
    model = app.Modeller(pdb.topology, positions)
    model.addSolvent(FIELD, boxSize=mm.Vec3(BOX, BOX, BOX) * unit.nanometer)
    wet = warmed(model.topology, model.positions, 300.0, "CPU", **PERIODIC)
    reference("dipeptide_water", model.topology, wet, **PERIODIC)
    long_range()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(SCENES / "dipeptide.pdb"))
