"""Plugins of this tree that were added since it was installed: tests and tools find them all the same.

Entry points are metadata of an installation; a plugin that is new in `pyproject.toml` is in none. Where they
differ, metadata with those of the tree come first on the path, of this process and of those that it starts.
"""

import os
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]
GROUP = "minusgrad"


def show_plugins_of_tree() -> None:
    """Put metadata with the tree's plugins first on the path, if the installed ones are others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    try:
        found = distribution(project["name"])
    except PackageNotFoundError:
        return
    installed = {point.name: point.value for point in found.entry_points if point.group == GROUP}
    if installed == project["entry-points"][GROUP]:
        return
    groups = project["entry-points"] | {"console_scripts": project["scripts"]}
    lines = [f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in of.items()) for name, of in groups.items()]
    texts = {"METADATA": found.read_text("METADATA") or "", "entry_points.txt": "\n".join(lines)}
    folder = ROOT / ".cache" / "metadata"
    info = folder / f"{project['name']}-{found.version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        if not (info / name).is_file() or (info / name).read_text() != text:
            (info / name).write_text(text)
    first = [str(folder), str(ROOT / "framework"), str(ROOT / "plugins")]
    sys.path[:0] = first
    os.environ["PYTHONPATH"] = os.pathsep.join([*first, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
