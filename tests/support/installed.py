"""Distributions that are found without pip: a folder on the path with their metadata beside the package."""

import os
import sys
import tomllib
from pathlib import Path


def as_if_installed(name: str, root: Path, into: Path | None = None) -> dict[str, str]:
    """The environment of a process that finds the plugin `name` of the distribution in `root`.

    into: where its metadata are written, `root` if None.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    info = (into or root) / f"{name}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {project['version']}\n")
    points = [f"{key} = {value}" for key, value in project["entry-points"]["minusgrad"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[minusgrad]", *points, ""]))
    path = [str(root), *([str(into)] if into else []), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
