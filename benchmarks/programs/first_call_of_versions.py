"""First gradient and first product of several versions of the framework: CPU seconds and ratios.

python -m benchmarks.programs.first_call_of_versions [--repeats N] [--engine NAME] FOLDER FOLDER ...

Each folder is a check-out with `framework`, `plugins` and `benchmarks`; ratios are to the first one. Every
number is the user and system time of a process of its own. The versions take turns, with an empty and with a
filled folder of compiled kernels.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

CHILD = """
import json, time
import numpy as np
from minusgrad import ti
from benchmarks.solid import Solid
solid = Solid.of((8, 8, 8)).rounded(np.float64)
potential = solid.potential("f64")
began = time.process_time()
potential.gradient("x")
between = time.process_time()
potential.product({"x": solid.along}, "x")
print(json.dumps([between - began, time.process_time() - between]))
"""
WHAT = ("first gradient", "first product")


def asked(version: Path, engine: str, cache: Path) -> list[float]:
    """CPU seconds of the first gradient and of the first product in a new process."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (version / "framework", version / "plugins"))),
    }
    env |= {"MINUSGRAD_ENGINE": engine, "TI_OFFLINE_CACHE_FILE_PATH": str(cache)}
    env |= {"QD_OFFLINE_CACHE_FILE_PATH": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", CHILD], cwd=version, env=env, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main(versions: list[Path], repeats: int, engine: str) -> None:
    """Ask the versions in turn, and print minimum and median of each."""
    times: dict[tuple[str, Path], list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        filled = {v: Path(folder) / f"filled {k}" for k, v in enumerate(versions)}
        for v in versions:
            asked(v, engine, filled[v])
        for turn in range(repeats):
            for k, v in enumerate(versions if turn % 2 else versions[::-1]):
                times.setdefault(("empty", v), []).append(asked(v, engine, Path(folder) / f"{turn} {k}"))
                times.setdefault(("filled", v), []).append(asked(v, engine, filled[v]))
    for state in ("empty", "filled"):
        for place, what in enumerate(WHAT):
            rows = {v: [one[place] for one in times[state, v]] for v in versions}
            first = rows[versions[0]]
            for v, row in rows.items():
                ratios = f"{min(row) / min(first):.2f} {median(row) / median(first):.2f}"
                seconds = f"{min(row):.4f} s {median(row):.4f} s"
                print(
                    f"{engine}, {state} cache, {what}: {v.name}: min, median {seconds}; to the first {ratios}"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", nargs="+", type=Path)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--engine", default="taichi")
    given = parser.parse_args()
    main([v.resolve() for v in given.versions], given.repeats, given.engine)
