"""Sweeps of short runs, by the command line, and their tables."""

import csv
import json
from pathlib import Path
from typing import Any

from tests.support.command import SCENES

TWO_BODY = SCENES / "two_body.toml"
SHORT = {"run.steps": 40}
SOFTENINGS = {"gravity.softening": {"grid": [0.01, 0.02, 0.03]}}


def written(folder: Path, **tables: Any) -> Path:
    """A SWEEP.toml with these tables."""
    path = folder / "points.toml"
    lines = []
    for name, table in tables.items():
        lines.append(f"[{name}]")
        lines += [f"{json.dumps(key)} = {_inline(value)}" for key, value in table.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def table(folder: Path) -> list[dict[str, str]]:
    """The rows of table.csv without their seconds."""
    with (folder / "table.csv").open(newline="") as file:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
