"""`python -m tests.kills`: kill jobs of all kinds, and report what was lost. Exit code 1 if anything was."""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from .jobs import JOBS
from .trial import Whole, library, trial, whole

LOADED = "KILLS_LOADED"


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.kills", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(JOBS)} (default: all)")
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="trials over all kinds")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), metavar="S", help="begin no trial after"
    )
    a = parser.parse_args()
    kinds = a.kinds or list(JOBS)
    if unknown := sorted(set(kinds) - JOBS.keys()):
        parser.error(f"no such kind: {', '.join(unknown)}")
    if LOADED not in os.environ:  # the loader takes the library at the start of a process alone
        line = [sys.executable, "-m", "tests.kills", *sys.argv[1:]]
        os.execve(sys.executable, line, os.environ | {"LD_PRELOAD": str(library()), LOADED: "1"})
    _import_all()
    return report(kinds, a.kills, a.seed, a.seconds)


def _import_all() -> None:
    """What jobs import, before the forks: it takes longer than most of them."""
    import scipy.optimize
    import scipy.sparse.linalg  # noqa: F401

    import minusgrad.app.verbs.runs  # noqa: F401
    from minusgrad.assembly.registry import Registry

    Registry.load()


def report(kinds: list[str], kills: int, seed: int, seconds: float) -> int:
    """Kill so often, kind by kind in turn; a line for each trial that lost something, and a sum."""
    chance, began, lost, done = random.Random(seed), time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        rights: dict[str, Whole] = {}
        while done < kills and time.monotonic() - began < seconds:
            kind, folder = kinds[done % len(kinds)], Path(name) / str(done)
            if kind not in rights:
                rights[kind] = whole(kind, Path(name) / f"whole {kind}")
                print(f"{kind}: {rights[kind].seconds:.1f} s, {dict(rights[kind].counts)}", flush=True)
            wrong = trial(kind, folder, rights[kind], chance)
            done, lost = done + 1, lost + bool(wrong)
            if wrong:
                print(f"LOST {kind}, trial {done} of seed {seed}: {wrong}", flush=True)
            else:
                shutil.rmtree(folder)
        print(
            f"{done} trials over {len(rights)} kinds, {lost} lost, {time.monotonic() - began:.0f} s",
            flush=True,
        )
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
