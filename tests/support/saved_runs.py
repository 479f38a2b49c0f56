"""A run folder filled by a stand-in for physics, in this process or in one that may be killed."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RECORDER, RunDir
from minusgrad.files.trajectory import Recorder

SCENE = b"# a scene\r\n\xc2\xb5 = 1\n"
KEEP = 3


def recorder() -> Recorder:
    return Recorder({"position": ("m", 1.0)}, ("s", 1.0))


def simulate(run: RunDir, x: np.ndarray, recorder: Recorder, start: int, stop: int, tell=False) -> None:
    """A stand-in for physics: frames every 3 steps, energies every step, saves every 10 and at the end."""
    for step in range(start + 1, stop + 1):
        x = 0.99 * x + np.sin(step)
        if step % 3 == 0:
            recorder.record_frame(step, 0.1 * step, {"position": x})
        recorder.record_observables(step, 0.1 * step, {"total": float(x.sum())})
        if step % 10 == 0:
            run.save(snapshot(step, x), recorder, KEEP)
            if tell:
                print("saved", step, flush=True)
    run.save(snapshot(stop, x), recorder, KEEP, seal=stop % 10 == 0)


def snapshot(step: int, x: np.ndarray) -> Snapshot:
    return Snapshot(step, 0.1 * step, 0.1, {"fields/x": x}, {"fields/x": "m"}, {"title": "t"}, SCENE)


def start(path) -> RunDir:
    run = RunDir.create(path, SCENE, ["b=2", "a=1"])
    run.save(snapshot(0, np.zeros((4, 2))), recorder(), KEEP)
    return run


def go_on(path, stop: int, tell=False) -> list[str]:
    with RunDir.open(path) as run:
        snapshot, remarks = run.restore()
        rows = recorder()
        rows.restore(snapshot.arrays_under(RECORDER))
        simulate(run, snapshot.arrays["fields/x"], rows, snapshot.step, stop, tell)
        return remarks + run.tidy(KEEP)


def files(path) -> dict[str, bytes]:
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name != "journal.jsonl")
    return {str(p.relative_to(path)): p.read_bytes() for p in found}


_LOOP = """
import sys
from pathlib import Path
from tests.support.saved_runs import go_on
go_on(Path(sys.argv[1]), 100000, tell=True)
"""
REPOSITORY = Path(__file__).parents[2]


def spawn(path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _LOOP, str(path)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
