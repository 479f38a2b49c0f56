"""The runs of a folder, the newest of them, and what is said of a path that is no run.

Decisions 0122.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from ...errors import RunFolderError, printable

JOURNAL, SCENE = "journal.jsonl", "scene.toml"
RUNS = Path("runs")
"""Where runs lie that were given no folder."""
_SHOWN = 5


def is_run(path: Path) -> bool:
    """True for a folder with the two files that every run has from its start on."""
    return all(os.path.lexists(path / name) for name in (SCENE, JOURNAL))


def runs_below(folder: Path) -> list[Path]:
    """The runs in a folder and in the folders of it, the one that was written to last first."""
    found: dict[Path, float] = {}
    for pattern in (f"*/{JOURNAL}", f"*/*/{JOURNAL}"):
        for journal in folder.glob(pattern):
            if is_run(journal.parent):
                found[journal.parent] = _change_time(journal)
    return sorted(found, key=lambda run: (-found[run], run.as_posix()))


def _change_time(path: Path) -> float:
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0.0


def newest_run() -> Path:
    """The newest run below `runs` of the working folder. Raises `RunFolderError` if there is none."""
    for run in runs_below(RUNS):
        return run
    raise RunFolderError(f"{RUNS}: contains no run; `minusgrad run SCENE` makes one, or give a folder")


def refuse_no_run(path: Path) -> None:
    """Raise `RunFolderError` for a path that is no run, which says what it is, and which runs there are."""
    if is_run(path):
        return
    if path.suffix == ".toml":
        raise RunFolderError(f"{path}: is a scene, not a run; run it first: `minusgrad run {path}`")
    if not os.path.lexists(path):
        raise RunFolderError(f"{path}: no such folder; {_runs_nearby(path)}")
    if not path.is_dir():
        raise RunFolderError(f"{path}: is a file, not the folder of a run; {_runs_nearby(path)}")
    if within := runs_below(path):
        raise RunFolderError(f"{path}: not a run, but has runs in it; give one: {_listed_runs(within)}")
    raise RunFolderError(f"{path}: not a run (it lacks {SCENE} or {JOURNAL}); `minusgrad run` makes one")


def _runs_nearby(path: Path) -> str:
    """The runs beside a path, or below `runs`, in words."""
    beside = [run for run in runs_below(path.parent) if run.parent == path.parent]
    if known := beside or runs_below(RUNS):
        return f"runs here: {_listed_runs(known)}"
    return "`minusgrad run` makes one"


def _listed_runs(runs: Iterable[Path]) -> str:
    names = [printable(str(run)) for run in runs]
    return ", ".join([*names[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])])
