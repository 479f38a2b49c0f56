"""Folders of runs and sweeps: regular files and folders only; nothing in them is reached through a link.

    own(run)                    from now on this is the folder of a run, which itself may be reached by a link
    read(run / "ckpt" / name)   each part below it is opened by the descriptor of the one above, O_NOFOLLOW

A path below such a folder is refused with its name where a part of it is a link, a FIFO, a socket or a
device. `FolderHold` keeps the descriptor: a folder that is moved or exchanged during a run stays the same.
Paths elsewhere are the user's own, and may be links.

Decisions 0090, 0100.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ...engine import memory
from ...errors import RunFolderError, printable
from . import entered_folder
from .entered_folder import enter_folder, folder_above, kind_error
from .owned_folders import keep, kept_descriptor, let_go, own_folder, owner, split_path

__all__ = [
    "FolderHold", "deleted_run_folder", "examine", "files", "is_file", "is_folder", "kind_error", "make",
    "names", "open_file", "own_folder", "owner", "read_file", "remove_tree", "replace", "status", "stream",
    "sync", "unlink", "walk",
]  # fmt: skip

_LARGE = 1 << 26
"""Bytes: the free memory is asked for files from this size on."""


class FolderHold:
    """The descriptor of a folder, kept until `close`; the folder is that of a run.

    Several holds of one folder may overlap: it stays held until the last of them is closed. Raises OSError
    if it cannot be opened.
    """

    def __init__(self, folder: Path):
        own_folder(folder)
        self._paths = {str(folder.absolute()), os.path.realpath(folder)}
        self._descriptor: int | None = None
        if entered_folder.RELATIVE:
            with enter_folder(folder) as there:
                flags = os.O_RDONLY | entered_folder.DIRECTORY
                self._descriptor = os.open(os.curdir, flags, dir_fd=there.descriptor)
            for path in self._paths:
                keep(path, self._descriptor)

    def close(self) -> None:
        """Let the folder go."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            for path in self._paths:
                let_go(path, descriptor)
            os.close(descriptor)


def open_file(path: Path, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """The descriptor of a regular file.

    Raises RunFolderError for anything else than a regular file, or a part that is a link; OSError if it
    cannot be opened.
    """
    with folder_above(path) as (folder, name):
        return folder.open(name, flags, mode)


def stream(path: Path) -> BinaryIO:
    """A regular file, open for reading. Raises as `open_file` does."""
    return os.fdopen(open_file(path), "rb")


def read_file(path: Path) -> bytes:
    """The bytes of a regular file.

    Raises as `open_file` does, and UserError for a file that does not fit into the free memory.
    """
    with stream(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > _LARGE:
            memory.require(size, printable(str(path)), "a file of a run is read as a whole")
        return file.read()


def status(path: Path) -> os.stat_result | None:
    """The status of a file or folder; None if there is none. Raises RunFolderError for any other kind."""
    try:
        with folder_above(path) as (folder, name):
            return folder.status(name)
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_file(path: Path) -> bool:
    """True if there is a regular file. Raises RunFolderError for a link, a FIFO or a device."""
    return (found := status(path)) is not None and stat.S_ISREG(found.st_mode)


def is_folder(path: Path) -> bool:
    """True if there is a folder. Raises RunFolderError for a link, a FIFO or a device."""
    return (found := status(path)) is not None and stat.S_ISDIR(found.st_mode)


def names(path: Path) -> list[str]:
    """The names in a folder, sorted; none if there is no folder. Raises RunFolderError for a link."""
    try:
        with enter_folder(path) as folder:
            return folder.names()
    except (FileNotFoundError, NotADirectoryError):
        return []


def files(path: Path, suffix: str) -> list[Path]:
    """The names in a folder that end so, as paths, sorted. Raises as `names` does."""
    return [path / name for name in names(path) if name.endswith(suffix)]


def walk(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All regular files below a folder, each with its status; those that a running run deletes are left out.

    Raises RunFolderError for a link, a FIFO or a device.
    """
    for name in names(path):
        if (found := status(path / name)) is None:
            continue
        if stat.S_ISDIR(found.st_mode):
            yield from walk(path / name)
        else:
            yield path / name, found


def examine(path: Path) -> None:
    """Refuse a run folder that contains anything but regular files and folders.

    Raises RunFolderError with the name, what it is, and the cure.
    """
    own_folder(path)
    todo = [path]
    while todo:
        here = todo.pop()
        try:
            with enter_folder(here) as folder:
                for name, kind in folder.kinds():
                    if kind == stat.S_IFDIR:
                        todo.append(here / name)
                    elif kind != stat.S_IFREG:
                        raise kind_error(here / name, kind)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            text = f"{here}: cannot be read: {error.strerror}; give yourself the right to read it"
            raise RunFolderError(text) from error


def make(path: Path) -> None:
    """Make a folder, and those above it, unless they are there. Raises RunFolderError for a link."""
    if split_path(path)[2] == ():
        path.mkdir(parents=True, exist_ok=True)
        return
    with suppress(FileExistsError):
        try:
            with folder_above(path) as (folder, name):
                folder.make(name)
        except FileNotFoundError:
            if path.parent == path:
                raise
            make(path.parent)
            with folder_above(path) as (folder, name):
                folder.make(name)
    with enter_folder(path) as folder:  # refuses what is no folder
        if folder.descriptor is None and not folder.path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def replace(source: Path, target: Path) -> None:
    """Rename a file within its folder, in place of another one."""
    assert source.parent == target.parent, "only within one folder"
    with folder_above(source) as (folder, name):
        folder.replace(name, target.name)


def unlink(path: Path) -> None:
    """Delete a file; of a link the link itself. Raises OSError."""
    with folder_above(path) as (folder, name):
        folder.unlink(name)


def remove_tree(path: Path) -> None:
    """Delete a folder with all that is in it, as far as possible; of a link the link itself."""
    with suppress(FileNotFoundError), folder_above(path) as (folder, name):
        folder.remove_tree(name)


def sync(path: Path) -> None:
    """Flush the names in a folder to the disk. Raises OSError."""
    with enter_folder(path) as folder:
        folder.sync()


def deleted_run_folder(path: Path) -> Path | None:
    """The folder of a run, or the one below it, that was deleted while `path` was written; else None."""
    key, top, parts = split_path(path)
    if not key:
        return None
    try:
        if (descriptor := kept_descriptor(key)) is not None:
            lost = not os.fstat(descriptor).st_nlink
        else:
            lost = not os.path.isdir(top)
    except OSError:
        lost = True
    if lost:
        return Path(top)
    for place in (Path(top).joinpath(*parts[:k]) for k in range(1, len(parts))):
        if status(place) is None:
            return place
    return None
