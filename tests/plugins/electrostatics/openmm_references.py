"""Energies and forces of OpenMM's Reference platform (8.6.1), written to openmm_references.json:

    python tests/plugins/electrostatics/openmm_references.py

nm, kJ/mol, e. Three chains of three charges, the first of each excluded from the others; one chain crosses
the boundary; alpha 6 / nm, cutoff 0.45 nm. And the dipeptide in water of the molecular scenes, with PME.
"""

import json
from pathlib import Path

import numpy as np

BOXES = {
    "rectangular": np.diag([1.1, 1.0, 1.2]),
    "triclinic": np.array([[1.1, 0, 0], [0.2, 1, 0], [-0.3, 0.4, 1.2]]),
}
CASES = {
    "rectangular": ("rectangular", (8, 9, 10), 0.0),
    "triclinic": ("triclinic", (6, 8, 7), 0.0),
    "even": ("triclinic", (8, 6, 10), 0.0),
    "charged": ("triclinic", (9, 8, 10), 0.7),
}
SCENES = Path(__file__).parents[3] / "scenes" / "data"
ALPHA, MESH = 3.3, (20, 21, 24)
"""Of the dipeptide in water."""
CHAINS = [(0, 1), (0, 2)]
PAIRS = [(3 * m + i, 3 * m + j) for m in range(3) for i, j in CHAINS]


def system(net: float) -> dict[str, np.ndarray]:
    """Fractional places, charges, and Lennard-Jones parameters of three kinds."""
    rng = np.random.default_rng(11)
    middle = np.array([[0.2, 0.25, 0.2], [0.7, 0.3, 0.6], [0.97, 0.75, 0.98]])
    places = np.round(np.repeat(middle, 3, axis=0) + 0.05 * rng.normal(size=(9, 3)), 4)
    charge = np.round(rng.normal(size=9), 3)
    charge[0] += net - charge.sum()
    kinds = np.arange(9) % 3
    sigma, epsilon = np.array([0.31, 0.24, 0.17])[kinds], np.array([0.65, 0.0, 0.2])[kinds]
    return {"places": places, "charge": np.round(charge, 3), "sigma": sigma, "epsilon": epsilon}


def main() -> None:
    import openmm as mm

    found = {}
    for name, (box, mesh, net) in CASES.items():
        of = system(net)
        force = mm.NonbondedForce()
        force.setNonbondedMethod(force.PME)
        force.setCutoffDistance(0.45)
        force.setPMEParameters(6.0, *mesh)
        force.setReciprocalSpaceForceGroup(1)
        force.setUseDispersionCorrection(False)
        found[name] = _of(mm, force, BOXES[box], of, lj=False)
        for switch in (None, 0.4):
            force.setUseSwitchingFunction(switch is not None)
            force.setSwitchingDistance(switch or 0.45)
            energies = []
            for correction in (True, False):
                force.setUseDispersionCorrection(correction)
                energies.append(_of(mm, force, BOXES[box], of, lj=True)["all"])
            found[name][f"dispersion_{switch}"] = energies[0] - energies[1]
    found["water"] = _water(mm)
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(found, indent=1) + "\n")


def _water(mm):
    """The dipeptide in water of the molecular scenes, with PME: energies, and the forces on some atoms."""
    from openmm import app

    system = mm.XmlSerializer.deserialize((SCENES / "dipeptide_water.xml").read_text())
    (force,) = [f for f in system.getForces() if isinstance(f, mm.NonbondedForce)]
    force.setNonbondedMethod(force.PME)
    force.setPMEParameters(ALPHA, *MESH)
    positions = app.PDBFile(str(SCENES / "dipeptide_water.pdb")).positions
    for k in reversed(range(system.getNumForces())):
        if system.getForce(k).getName() != "NonbondedForce":
            system.removeForce(k)
    found = {}
    for name in ("charges", "dispersion"):
        part = mm.XmlSerializer.clone(system)
        of = part.getForce(0)
        of.setUseDispersionCorrection(name == "dispersion")
        for k in range(of.getNumParticles()):
            q, sigma, epsilon = of.getParticleParameters(k)
            of.setParticleParameters(k, *((q, sigma, 0.0) if name == "charges" else (0.0, sigma, epsilon)))
        for k in range(of.getNumExceptions()):
            i, j, *_ = of.getExceptionParameters(k)
            of.setExceptionParameters(k, i, j, 0.0, 1.0, 0.0)
        energies = []
        for corrected in (name == "dispersion", False):
            of.setUseDispersionCorrection(corrected)
            platform = mm.Platform.getPlatformByName("Reference")
            context = mm.Context(part, mm.VerletIntegrator(0.001), platform)
            context.setPositions(positions)
            state = context.getState(getEnergy=True, getForces=True)
            energies.append(state.getPotentialEnergy()._value)
        found[name] = energies[0] - energies[1] if name == "dispersion" else energies[0]
        if name == "charges":
            forces = np.array(state.getForces(asNumpy=True)._value)
            found |= {"forces": forces[::50].tolist(), "largest": float(np.abs(forces).max())}
    return found


def _of(mm, force, box, of, lj):
    force, system = mm.NonbondedForce(force), mm.System()
    system.setDefaultPeriodicBoxVectors(*box)
    for q, sigma, epsilon in zip(of["charge"], of["sigma"], of["epsilon"], strict=True):
        system.addParticle(1.0)
        force.addParticle(q, sigma, epsilon if lj else 0.0)
    for i, j in PAIRS:
        force.addException(i, j, 0.0, 1.0, 0.0)
    system.addForce(force)
    platform = mm.Platform.getPlatformByName("Reference")
    context = mm.Context(system, mm.VerletIntegrator(0.001), platform)
    context.setPositions(of["places"] @ box)
    state = context.getState(getEnergy=True, getForces=True)
    parts = {
        f"group_{g}": context.getState(getEnergy=True, groups={g}).getPotentialEnergy()._value for g in (0, 1)
    }
    forces = np.array(state.getForces(asNumpy=True)._value)
    return {"all": state.getPotentialEnergy()._value, **parts, "forces": forces.tolist()}


if __name__ == "__main__":
    main()
