"""The folders of runs and sweeps that this process has met, and the descriptors of those that it holds.

Both tables are state of the process, by absolute path: a path leads into a folder of a run wherever in the
program it is used, and no caller must hand on that it does.

Decisions 0090, 0100.
"""

import os
from pathlib import Path

from ...errors import RunFolderError, printable

_owned: dict[str, None] = {}
"""The folders of runs and sweeps that this process has met, by absolute path."""
_held: dict[str, list[int]] = {}
"""Descriptors of those that are held, the first of several holds of one folder first."""


def own_folder(folder: Path) -> None:
    """Note that a folder is that of a run or a sweep: no link below it is followed from now on."""
    for path in (str(folder.absolute()), os.path.realpath(folder)):
        _owned.setdefault(path)


def owner(path: Path) -> Path | None:
    """The folder of a run or a sweep, met by this process, that a path lies in."""
    key = split_path(path)[0]
    return Path(key) if key else None


def keep(path: str, descriptor: int) -> None:
    """Note a descriptor of the folder with this absolute path."""
    _held.setdefault(path, []).append(descriptor)


def let_go(path: str, descriptor: int) -> None:
    """Forget it; other holds of the folder stay."""
    if descriptor in (held := _held.get(path, [])):
        held.remove(descriptor)
        if not held:
            del _held[path]


def kept_descriptor(path: str) -> int | None:
    """The descriptor of a folder by the key of `split_path`; None if it is not held."""
    return held[0] if (held := _held.get(path)) else None


def split_path(path: Path) -> tuple[str, str, tuple[str, ...]]:
    """The folder of a run above a path as its key, empty for a path elsewhere; as a path; the parts below it.

    A folder that is held comes first, then the outermost. Of a path elsewhere: its folder, and its name.
    """
    whole = str(path) if path.is_absolute() else os.path.join(os.getcwd(), path)
    place, found = whole, ""
    while place:
        if place in _held:
            found = place
            break
        if place in _owned:
            found = place
        place = place[: place.rfind(os.sep)] if os.sep in place else ""
    if not found:
        return "", str(path.parent), (path.name,)
    parts = tuple(filter(None, whole[len(found) :].split(os.sep)))
    if ".." in parts:
        raise RunFolderError(f"{printable(str(path))}: leads out of its folder by '..'; do not trust it")
    return found, found, parts
