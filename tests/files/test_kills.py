"""Twenty runs, sixty kills at random moments: no run's files tell that there were any."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from minusgrad.files import compaction
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RECORDER, RunDir
from minusgrad.files.trajectory import Recorder
from tests.support.tiers import sampled

RUNS, KILLS = 20, 3
LEAST, MOST = 3, 7
"""So many saves may lie between two kills."""
SEGMENTS = 3
"""So many are joined."""


def _plan(seed: int) -> tuple[int, int, int, int]:
    """Nodes, steps between saves, saves, and checkpoints that stay; another for each run."""
    chance = random.Random(seed)
    nodes = chance.choice([1, 7, 300, 3_000]) if seed else 70_000  # these files are hashed beside
    return nodes, chance.randint(1, 5), chance.randint(KILLS * MOST + 1, 28), chance.randint(1, 4)


def _recorder() -> Recorder:
    return Recorder({"position": ("m", 1.0)}, ("s", 1.0))


def _go_on(path: Path, seed: int, until: int = 0) -> None:
    """A stand-in for physics, from where the run stands to its end.

    until: tell of each save, and wait after this one for the kill.
    """
    compaction.JOINED = SEGMENTS
    nodes, every, saves, keep = _plan(seed)
    with RunDir.open(path) as run:
        snapshot, _ = run.restore()
        rows, x = _recorder(), snapshot.arrays["fields/x"]
        rows.restore(snapshot.arrays_under(RECORDER))
        run.tidy(keep)
        for step in range(snapshot.step + 1, every * saves + 1):
            x = 0.99 * x + np.sin(step + np.arange(nodes)[:, None])
            if step % 3 == 0:
                rows.record_frame(step, 0.1 * step, {"position": x})
            rows.record_observables(step, 0.1 * step, {"total": float(x.sum())})
            if step % every == 0:
                run.save(Snapshot(step, 0.1 * step, 0.1, {"fields/x": x}), rows, keep)
                if until:
                    _report(f"saved {step // every} {time.monotonic()}")
                if until == step // every:
                    signal.pause()


def _report(line: str) -> None:
    """One write for each line: two processes share the pipe, and Python may run unbuffered."""
    os.write(1, f"{line}\n".encode())


def _started(path: Path, seed: int) -> Path:
    with RunDir.create(path, b"# %d" % seed, []) as run:
        nodes, _, _, keep = _plan(seed)
        run.save(Snapshot(0, 0.0, 0.1, {"fields/x": np.zeros((nodes, 2))}), _recorder(), keep)
    return path


def _files(path: Path) -> dict[str, bytes]:
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name != "journal.jsonl")
    return {str(p.relative_to(path)): p.read_bytes() for p in found}


_LOOP = """
import os, sys
from pathlib import Path
from tests.files.test_kills import _go_on, _report
os.fsync = lambda descriptor: None  # a kill loses nothing of what was written
for line in sys.stdin:
    path, seed, until = line.rsplit(maxsplit=2)
    child = os.fork()
    if not child:
        try:
            _go_on(Path(path), int(seed), int(until))
        finally:
            os._exit(1)
    _report(f"process {child}")
    _report(f"ended {os.waitpid(child, 0)[1]}")
"""
"""Each run in a process of its own, which need not load anything first."""


@pytest.fixture(scope="module")
def parent():
    with subprocess.Popen(
        [sys.executable, "-c", _LOOP],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.stdin.close()


def _killed(parent, path: Path, seed: int, until: int, moment: float) -> tuple[int, int]:
    """Go on with a run in another process, and kill it at a moment in the three saves before `until`.

    Returns the last save that it reported, and how it ended.
    """
    parent.stdin.write(f"{path} {seed} {until}\n")
    parent.stdin.flush()
    process, clocks, saved, alive = 0, [], 0, True
    for word, *rest in map(str.split, parent.stdout):
        if word == "ended":
            return saved, int(rest[0])
        if word == "process":
            process = int(rest[0])
        else:
            saved = int(rest[0])
            clocks.append(float(rest[1]))
        if alive and process and clocks and saved >= until - 3:
            pace = (clocks[-1] - clocks[0]) / max(len(clocks) - 1, 1)
            time.sleep(3 * min(pace, 0.2) * moment)
            os.kill(process, signal.SIGKILL)
            alive = False
    raise AssertionError("the other process ended")


@pytest.mark.parametrize("seed", sampled(range(RUNS), range(0, RUNS, 5)))
def test_a_run_killed_three_times_ends_with_an_unbroken_ones_files(tmp_path, monkeypatch, parent, seed):
    monkeypatch.setattr(compaction, "JOINED", SEGMENTS)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    chance, acknowledged = random.Random(1000 + seed), 0
    path = _started(tmp_path / "run", seed)
    for _ in range(KILLS):
        until = acknowledged + chance.randint(LEAST, MOST)
        saved, status = _killed(parent, path, seed, until, chance.random())
        assert status == signal.SIGKILL
        assert saved > acknowledged, "it went on from the last save"
        acknowledged = saved
    _go_on(path, seed)
    _go_on(_started(tmp_path / "whole", seed), seed)
    assert _files(path) == _files(tmp_path / "whole")
    with RunDir.open(path, read_only=True) as run:
        events = [event["event"] for event in run.events()]
    assert events.count("resumed") == KILLS + 1
    assert "not deterministic" not in events
