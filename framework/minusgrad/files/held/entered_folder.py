"""Entering a folder: its files by its descriptor, or by their paths where the system has no such calls.

Each part below the folder of a run is opened by the descriptor of the one above, with O_NOFOLLOW. Without
descriptors a file is looked at before it is opened, and compared after.

Decisions 0090, 0100.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import RunFolderError, printable
from . import system_calls
from .owned_folders import kept_descriptor, split_path

RELATIVE = {os.open, os.stat, os.unlink, os.mkdir, os.rename} <= os.supports_dir_fd
"""True if the system opens files relative to descriptors."""
_NOFOLLOW, _CLOEXEC = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NONBLOCK, DIRECTORY = getattr(os, "O_NONBLOCK", 0), getattr(os, "O_DIRECTORY", 0)
_LINKED = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO, errno.EOPNOTSUPP}
"""What systems say of links, sockets and FIFOs that are not followed or waited for."""
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}


def kind_error(path: Path, kind: int) -> RunFolderError:
    """The error of something that is no regular file or folder, with the cure."""
    parts = split_path(path)[2]
    run = printable(str(path.parents[len(parts) - 1])) if parts else str(path)
    name = printable("/".join(parts) or path.name)
    if kind == stat.S_IFLNK:
        cure = f"copy the run with its files: cp -rL '{run}' NEW, and use NEW"
    else:
        cure = "move it out of this folder"
    what = f"got {_KINDS.get(kind, 'another kind of file')}; {cure}"
    return RunFolderError(f"{run}: '{name}' must be a regular file or folder, {what}")


class Folder:
    """A folder that is entered: by its descriptor, or by its path where the system has no such calls."""

    def __init__(self, path: Path, descriptor: int | None, follow: bool):
        self.path, self.descriptor, self.follow = path, descriptor, follow

    def _path_of_name(self, name: str) -> str:
        return name if self.descriptor is not None else os.path.join(self.path, name)

    def enter(self, name: str) -> "Folder":
        """A folder in this one, which is no link."""
        path, flags = self.path / name, os.O_RDONLY | DIRECTORY | _NOFOLLOW | _CLOEXEC
        if self.descriptor is None:
            self._refuse_kind(name, stat.S_IFDIR)
            return Folder(path, None, False)
        try:
            return Folder(path, os.open(name, flags, dir_fd=self.descriptor), False)
        except OSError as error:
            if error.errno in _LINKED:
                self._refuse_kind(name, stat.S_IFDIR)
            raise

    def open(self, name: str, flags: int, mode: int) -> int:
        """A regular file in this folder; one of the user's own may be a link."""
        flags |= _CLOEXEC | _NONBLOCK | _BINARY | (0 if self.follow else _NOFOLLOW)
        before = self._refuse_kind(name) if self.descriptor is None and not self.follow else None
        try:
            found = os.open(self._path_of_name(name), flags, mode, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno in _LINKED:
                self._refuse_kind(name)
            raise
        after = os.fstat(found)
        changed = before is not None and (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino)
        if changed or not stat.S_ISREG(after.st_mode):
            os.close(found)
            if stat.S_ISDIR(after.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            raise kind_error(self.path / name, stat.S_IFLNK if changed else stat.S_IFMT(after.st_mode))
        return found

    def _refuse_kind(self, name: str, *allowed: int) -> os.stat_result | None:
        """Refuse what is no regular file, and none of the kinds that are allowed, too."""
        if (found := self._file_status(name)) is None:
            return None
        if (kind := stat.S_IFMT(found.st_mode)) not in (stat.S_IFREG, *allowed):
            raise kind_error(self.path / name, kind)
        return found

    def _file_status(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self._path_of_name(name), dir_fd=self.descriptor, follow_symlinks=self.follow)
        except FileNotFoundError:
            return None

    def status(self, name: str) -> os.stat_result | None:
        """Of a file or a folder."""
        return self._refuse_kind(name, stat.S_IFDIR)

    def names(self) -> list[str]:
        """Sorted."""
        return sorted(os.listdir(self.path if self.descriptor is None else self.descriptor))

    def kinds(self) -> Iterator[tuple[str, int]]:
        """Each name with what it is."""
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    yield entry.name, stat.S_IFREG
                elif entry.is_dir(follow_symlinks=False):
                    yield entry.name, stat.S_IFDIR
                else:
                    with suppress(FileNotFoundError):
                        yield entry.name, stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)

    def make(self, name: str) -> None:
        os.mkdir(self._path_of_name(name), dir_fd=self.descriptor)

    def unlink(self, name: str) -> None:
        os.unlink(self._path_of_name(name), dir_fd=self.descriptor)

    def replace(self, old: str, new: str) -> None:
        if self.descriptor is None:
            system_calls.replace(self._path_of_name(old), self._path_of_name(new))
        else:
            system_calls.replace(old, new, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove_tree(self, name: str) -> None:
        found = os.stat(self._path_of_name(name), dir_fd=self.descriptor, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            self.unlink(name)
        elif self.descriptor is None:
            shutil.rmtree(self._path_of_name(name), ignore_errors=True)
        else:
            shutil.rmtree(name, ignore_errors=True, dir_fd=self.descriptor)

    def sync(self) -> None:
        if self.descriptor is not None:
            system_calls.flush(self.descriptor)
        else:
            system_calls.flush_folder(self.path)


@contextmanager
def enter_folder(path: Path) -> Iterator[Folder]:
    """A folder, each part below that of a run entered without following links."""
    key, top, below = split_path(path)
    if not key:
        top, below = str(path), ()
    held = kept_descriptor(key)
    if not RELATIVE or not key:  # a folder of the user's own may be one that cannot be listed
        folder = Folder(Path(top), None, not key)
    elif held is not None:
        folder = Folder(Path(top), held, False)
    else:
        folder = Folder(Path(top), os.open(top, os.O_RDONLY | DIRECTORY | _CLOEXEC), False)
    try:
        for part in below:
            inner = folder.enter(part)
            _leave_folder(folder, held)
            folder = inner
        yield folder
    finally:
        _leave_folder(folder, held)


def _leave_folder(folder: Folder, held: int | None) -> None:
    if folder.descriptor is not None and folder.descriptor != held:
        os.close(folder.descriptor)


@contextmanager
def folder_above(path: Path) -> Iterator[tuple[Folder, str]]:
    """The folder above a path, and its name there."""
    with enter_folder(path.parent) as folder:
        yield folder, path.name
