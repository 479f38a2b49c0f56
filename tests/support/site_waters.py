"""Boxes of water with virtual sites, made by openmm.app, as scenes beside OpenMM's Reference platform."""

from pathlib import Path
from typing import Any

import numpy as np

COULOMB = f"{1389.3545764438198!r} kJ mol^-1 angstrom e^-2"
"""1 / (4 pi eps0) as OpenMM has it."""
ALPHA = float(np.sqrt(-np.log(2.0 * 5e-4)) / 5.0)
MESH = (20, 20, 20)
WELLS = """
[[energy]]
kind = "lennard_jones_mixture"
name = "lennard_jones"
fields = { x = "places" }
body = "lennard_jones"
cutoff = "5 angstrom"
switch = "none"
exclude = "exclusions"
"""
CHARGES = {
    "reaction field": f"""
[[energy]]
kind = "coulomb_reaction_field"
name = "coulomb"
fields = {{ x = "places" }}
cutoff = "5 angstrom"
radius = "5 angstrom"
switch = "none"
exclude = "exclusions"
coulomb_constant = "{COULOMB}"
""",
    "vacuum": f"""
[[energy]]
kind = "coulomb"
fields = {{ x = "places" }}
cutoff = "5000 angstrom"
switch = "none"
exclude = "exclusions"
coulomb_constant = "{COULOMB}"
""",
    "pme": f"""
[[compound]]
kind = "pme"
fields = {{ x = "places" }}
cutoff = "5 angstrom"
alpha = "{ALPHA!r} angstrom^-1"
mesh = {list(MESH)}
exclude = "exclusions"
coulomb_constant = "{COULOMB}"
""",
}
HEAD = """
plugins = ["elastic", "electrostatics", "molecular"]

[units]
system = "molecular"

[state]
kind = "molecule"
system = "water.xml"
positions = "water.pdb"
temperature = "300 K"

[[map]]
kind = "virtual_sites"
"""
FORCE_FIELD = """
[[compound]]
kind = "force_field"
"""
RIGID = """
[[constraint]]
kind = "rod"
project_start = true
"""
STEPS = """
[stepper]
kind = "leapfrog"
dt = "1 fs"

[run]
steps = 10
"""


def water_in_openmm(folder: Path, model: str, method: str, rigid: bool = True) -> Any:
    """The System of a box of 1.25 nm of a model of water, whose files are written into the folder."""
    import openmm as mm
    from openmm import app, unit

    field = app.ForceField(f"{model}.xml")
    modeller = app.Modeller(app.Topology(), [])
    edge = 0.9 if method == "vacuum" else 1.25
    modeller.addSolvent(
        field, model=model, boxSize=mm.Vec3(edge, edge, edge) * unit.nanometer, neutralize=False
    )
    methods = {"reaction field": app.CutoffPeriodic, "vacuum": app.NoCutoff, "pme": app.PME}
    cut = {} if method == "vacuum" else {"nonbondedCutoff": 0.5 * unit.nanometer}
    system = field.createSystem(
        modeller.topology, nonbondedMethod=methods[method], rigidWater=rigid, removeCMMotion=False, **cut
    )
    for force in system.getForces():
        if isinstance(force, mm.NonbondedForce):
            force.setUseDispersionCorrection(False)
            force.setPMEParameters(10.0 * ALPHA, *MESH)
    (folder / "water.xml").write_text(mm.XmlSerializer.serialize(system))
    with (folder / "water.pdb").open("w") as file:
        app.PDBFile.writeFile(modeller.topology, modeller.positions, file)
    return system


def scene_of(folder: Path, method: str, more: str = RIGID + STEPS, compound: bool = False) -> Path:
    """The scene of the files that are in the folder: with energies one by one, or with `force_field`."""
    path = folder / "water.toml"
    if compound:
        path.write_text(HEAD.split("[[map]]")[0] + FORCE_FIELD + more)
        return path
    wells = WELLS.replace('"5 ang', '"5000 ang') if method == "vacuum" else WELLS
    path.write_text(HEAD + wells + CHARGES[method] + more)
    return path


def order_of(system: Any) -> tuple[np.ndarray, int]:
    """The particles of a System, atoms first, and the number of atoms."""
    site = np.array([system.isVirtualSite(k) for k in range(system.getNumParticles())])
    return np.concatenate([np.flatnonzero(~site), np.flatnonzero(site)]), int((~site).sum())


def reference(system: Any, places: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """U [kJ/mol], forces [kJ/mol/angstrom] on atoms, and places [angstrom] that OpenMM gives sites."""
    import openmm as mm

    order, atoms = order_of(system)
    given = np.zeros_like(places)
    given[order] = 0.1 * places
    context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(given)
    context.computeVirtualSites()
    state = context.getState(getEnergy=True, getForces=True, getPositions=True)
    forces = 0.1 * state.getForces(asNumpy=True)._value[order[:atoms]]
    found = 10.0 * state.getPositions(asNumpy=True)._value[order]
    return state.getPotentialEnergy()._value, forces, found
