"""What large jobs cost: growth of a long run, and the times of commands on large folders.

    python -m benchmarks.load [--steps 1000000] [--frames 10000] [--points 1000] [--members 10000]
                              [--gigabytes 2]

A row a second of a long run shows whether its memory and its open files grow. 0 leaves a job out. The
folders lie in a temporary place and are deleted.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from minusgrad.published.processor import processor_name

SCENE = Path(__file__).parents[1] / "scenes" / "two_body.toml"
COMMAND = [sys.executable, "-m", "minusgrad"]
VERBS = ("info", "verify", "plot", "resume")


def seconds(*words: object) -> tuple[float, float, int]:
    """CPU seconds (of all its threads) and peak memory [MB] of a command, and its exit code."""
    before, peak = _spent(), 0
    child = psutil.Popen([*COMMAND, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None:
        try:
            peak = max(peak, child.memory_info().rss)
        except psutil.Error:
            break
        time.sleep(0.02)
    code = child.wait()
    return _spent() - before, peak / 1e6, code


def _spent() -> float:
    """CPU seconds of all children that have ended: other load of the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def grown(*words: object) -> list[tuple[float, float, int]]:
    """Seconds, memory [MB] and open files of a command, once a second."""
    rows, began = [], time.monotonic()
    child = psutil.Popen([*COMMAND, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None:
        try:
            rows.append((time.monotonic() - began, child.memory_info().rss / 1e6, child.num_fds()))
        except psutil.Error:
            break
        time.sleep(1.0)
    child.wait()
    return rows


def times(name: str, run: Path, verbs: tuple[str, ...] = VERBS) -> None:
    size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file()) / 1e6
    print(f"{name}: {size:.0f} MB", flush=True)
    for verb in verbs:
        took, peak, code = seconds(verb, run)
        print(f"  {verb} {took:.1f} s CPU {peak:.0f} MB" + f" (exit code {code})" * bool(code), flush=True)


def long_run(folder: Path, steps: int) -> None:
    """As many observer rows as steps. Frames are few; the energies of each step are recorded.

    Rows stay in memory until a save, of which there are 50: a slope is what remains after them.
    """
    rows = grown(
        "run", SCENE, f"run.steps={steps}", "observe.0.every=1", "observe.2.every=100000",
        f"checkpoint.every={max(1, steps // 50)}", "--out", folder,
    )  # fmt: skip
    late = rows[len(rows) // 4 :]
    slope = np.polyfit([t for t, _, _ in late], [mb for _, mb, _ in late], 1)[0]
    print(
        f"{steps} steps and rows in {rows[-1][0]:.0f} s: memory {late[0][1]:.0f} MB after a quarter,"
        f" {rows[-1][1]:.0f} MB at the end, most {max(mb for _, mb, _ in rows):.0f} MB, slope"
        f" {3600 * slope:.0f} MB/h; open files {late[0][2]} and {rows[-1][2]}, most"
        f" {max(files for _, _, files in rows)}",
        flush=True,
    )
    times(f"{steps} rows", folder)


def many_frames(folder: Path, frames: int) -> None:
    seconds(
        "run",
        SCENE,
        f"run.steps={frames}",
        "observe.2.every=1",
        f"checkpoint.every={frames}",
        "--out",
        folder,
    )
    times(f"{frames} frames", folder)


def many_points(folder: Path, points: int) -> None:
    file = folder.with_suffix(".toml")
    file.write_text(
        f'[vary]\n"gravity.softening" = {{ range = {{ from = 0.01, to = 0.1, count = {points} }} }}\n'
    )
    took, peak, code = seconds("sweep", SCENE, file, "run.steps=10", "--workers", 0, "--out", folder)
    again, _, _ = seconds("sweep", SCENE, file, "run.steps=10", "--workers", 0, "--out", folder)
    print(
        f"{points} points of 10 steps in one process: {took:.1f} s CPU, {peak:.0f} MB, exit code {code};"
        f" the same line once more {again:.1f} s CPU",
        flush=True,
    )
    times("one point", folder / "points" / "0000")


def many_members(folder: Path, members: int) -> None:
    scene = folder.with_suffix(".toml")
    drawn = '"state.eccentricity" = { uniform = [0.0, 0.6] }'
    vary = f"\n[ensemble]\nmembers = {members}\n\n[ensemble.vary]\n{drawn}\n"
    scene.write_text(SCENE.read_text() + vary)
    took, peak, code = seconds("run", scene, "run.steps=100", "--out", folder)
    print(f"{members} members, 100 steps: {took:.1f} s CPU, {peak:.0f} MB, exit code {code}", flush=True)
    times(f"{members} members", folder)


LARGE = """
title = "Points in the field of a sphere"
plugins = ["gravity"]

[units]
system = "dimensionless"

[state]
kind = "random_points"
n = {n}
side = 1.0
mass = 1.0

[[energy]]
kind = "plummer_field"
mass = 1.0
scale = 1.0
centre = [0.0, 0.0, 0.0]
G = 1.0

[stepper]
kind = "leapfrog"
dt = 0.01

[run]
steps = 2

[[observe]]
kind = "frames"
every = 2

[checkpoint]
every = 2
keep = 1
"""
NODE = 80
"""Bytes of a node of it in a checkpoint: its place, velocity, gradient and mass."""


def large_state(folder: Path, gigabytes: float) -> None:
    """A run of two steps that is stopped at once, so that `resume` has both to do. A frame at either end."""
    scene = folder.with_suffix(".toml")
    scene.write_text(LARGE.format(n=int(gigabytes * 1e9 / NODE)))
    took, peak, code = seconds("run", scene, "--max-hours", 1e-9, "--out", folder)
    print(
        f"a state of {gigabytes:g} GB is made and saved twice in {took:.1f} s CPU, {peak:.0f} MB, exit code"
        f" {code}",
        flush=True,
    )
    times(f"a state of {gigabytes:g} GB", folder, ("info", "verify", "resume", "verify", "plot"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    jobs = {
        "steps": (1_000_000, long_run), "frames": (10_000, many_frames), "points": (1_000, many_points),
        "members": (10_000, many_members), "gigabytes": (2.0, large_state),
    }  # fmt: skip
    for name, (count, _) in jobs.items():
        parser.add_argument(f"--{name}", type=type(count), default=count)
    given = vars(parser.parse_args())
    print(f"{processor_name()}, {psutil.cpu_count()} cores, load {psutil.getloadavg()[0]:.1f}")
    for name, (_, job) in jobs.items():
        if given[name]:
            with tempfile.TemporaryDirectory() as place:
                job(Path(place) / name, given[name])


if __name__ == "__main__":
    main()
