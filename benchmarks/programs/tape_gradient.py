"""The gradient of a program in time by `ti.ad.Tape` in f64, in a process of its own.

python -m benchmarks.programs.tape_gradient NAME STEPS FILE.npy
"""

import sys

import numpy as np

from minusgrad.engine import runtime


def main(name: str, steps: str, file: str) -> None:
    """Save the gradient of the program `evolution_programs.PROGRAMS[name]` as one row of numbers."""
    from ..evolution_programs import PROGRAMS

    runtime.start()
    np.save(file, PROGRAMS[name].by_tape(int(steps), "f64")())


if __name__ == "__main__":
    main(*sys.argv[1:])
