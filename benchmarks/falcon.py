"""Far pairs beside falcON (Dehnen 2002), no race: `python -m benchmarks.falcon` prints

CPU seconds of the forces in a Plummer sphere (f32, tree included), and their measured rms error, ours and
those of falcON on one thread, twice in turn, at opening angles for an error of 1e-3.

The variable FALCON names the folder usr/dehnen/falcON of NEMO's sources, where lib/libfalcON.a and
../utils/lib/libWDutils.a have been built by their makefiles.
"""

import ctypes
import sys

import numpy as np

from minusgrad.engine import runtime

from .far_pairs import Bodies, ForceError, gradient, sphere
from .far_pairs_scaling import COARSE, cpu_seconds
from .harness import session
from .harness.cases import Call, MissingColumnError
from .harness.compiled import pointers, with_falcon
from .harness.session import Settings

ANGLES = {100_000: 0.27, 1_000_000: 0.31}
"""falcON's theta by number of bodies, for an error of 1e-3."""
TURNS = 2


def main() -> None:
    """Measure and print."""
    session.expect(Settings(threads=session.cores(), quick=False))
    runtime.start(runtime.Options(threads=session.threads()))
    print("      N  ours: CPU s  rms error  falcON: CPU s  rms error  ratio")
    for n, theta in ANGLES.items():
        ours, falcon = gradient(sphere(n), "f32", COARSE), in_falcon(sphere(n), theta)
        for _ in range(TURNS):
            (seconds, error), (theirs, off) = cpu_seconds(ours), cpu_seconds(falcon)
            row = f"{n:>7} {seconds:>12.3f} {1e-3 * error:>10.1e} {theirs:>14.3f} {1e-3 * off:>10.1e}"
            print(f"{row} {seconds / theirs:>6.2f}", flush=True)


def in_falcon(bodies: Bodies, theta: float) -> Call:
    """falcON's accelerations; the axes are exchanged at each call, as ours are."""
    library = with_falcon("falcon.cpp")
    library.begin.restype = ctypes.c_void_p
    x, m = np.ascontiguousarray(bodies.x, np.float32), np.ascontiguousarray(bodies.m, np.float32)
    out, turned = np.zeros_like(x), np.ascontiguousarray(x[:, ::-1])
    tree = ctypes.c_void_p(library.begin(len(m), *pointers([m]), ctypes.c_float(theta)))
    calls = 0

    def call() -> ForceError:
        nonlocal calls
        calls += 1
        library.accelerations(tree, *pointers([turned if calls % 2 else x, out]))
        return ForceError(bodies, lambda: out[:, ::-1] if calls % 2 else out)

    return call


if __name__ == "__main__":
    try:
        main()
    except MissingColumnError as error:
        sys.exit(str(error))
