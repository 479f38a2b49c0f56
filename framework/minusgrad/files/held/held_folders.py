"""Folders of runs and sweeps: regular files and folders only; nothing in them is reached through a link.

    own(run)                    from now on this is the folder of a run, which itself may be reached by a link
    read(run / "ckpt" / name)   each part below it is opened by the descriptor of the one above, O_NOFOLLOW

A path below such a folder is refused with its name where a part of it is a link, a FIFO, a socket or a
device. `Hold` keeps the descriptor, so that a folder that is moved or exchanged during a run stays the same.
Paths elsewhere are the user's own, and may be links. Where a system has no calls relative to descriptors, a
file is looked at before it is opened, and compared after.

Decisions 0090.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ...engine import memory
from ...errors import RunFolderError, printable

RELATIVE = {os.open, os.stat, os.unlink, os.mkdir, os.rename} <= os.supports_dir_fd
"""True if the system opens files relative to descriptors."""
_NOFOLLOW, _CLOEXEC = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_CLOEXEC", 0)
_NONBLOCK, _DIRECTORY = getattr(os, "O_NONBLOCK", 0), getattr(os, "O_DIRECTORY", 0)
_LINKED = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO, errno.EOPNOTSUPP}
"""What systems say of links, sockets and FIFOs that are not followed or waited for."""
_LARGE = 1 << 26
"""Bytes: the free memory is asked for files from this size on."""
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}
_owned: dict[str, None] = {}
"""The folders of runs and sweeps that this process has met, by absolute path."""
_held: dict[str, int] = {}
"""Descriptors of those that are held."""


def own(folder: Path) -> None:
    """Note that a folder is that of a run or a sweep: no link below it is followed from now on."""
    for path in (str(folder.absolute()), os.path.realpath(folder)):
        _owned.setdefault(path)


def owner(path: Path) -> Path | None:
    """The folder of a run or a sweep, met by this process, that a path lies in."""
    key = _split(path)[0]
    return Path(key) if key else None


class Hold:
    """The descriptor of a folder, kept until `close`; the folder is that of a run.

    Raises OSError if it cannot be opened.
    """

    def __init__(self, folder: Path):
        own(folder)
        self._paths = {str(folder.absolute()), os.path.realpath(folder)}
        self._descriptor: int | None = None
        if RELATIVE:
            with _entered(folder) as entered:
                self._descriptor = os.open(os.curdir, os.O_RDONLY | _DIRECTORY, dir_fd=entered.descriptor)
            _held.update(dict.fromkeys(self._paths, self._descriptor))

    def close(self) -> None:
        """Let the folder go."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            for path in self._paths:
                if _held.get(path) == descriptor:
                    del _held[path]
            os.close(descriptor)


def opened(path: Path, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """The descriptor of a regular file.

    Raises RunFolderError for anything else than a regular file, or a part that is a link; OSError if it
    cannot be opened.
    """
    with _above(path) as (folder, name):
        return folder.open(name, flags, mode)


def stream(path: Path) -> BinaryIO:
    """A regular file, open for reading. Raises as `opened` does."""
    return os.fdopen(opened(path), "rb")


def read(path: Path) -> bytes:
    """The bytes of a regular file.

    Raises as `opened` does, and UserError for a file that does not fit into the free memory.
    """
    with stream(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > _LARGE:
            memory.require(size, printable(str(path)), "a file of a run is read as a whole")
        return file.read()


def status(path: Path) -> os.stat_result | None:
    """The status of a file or folder; None if there is none. Raises RunFolderError for any other kind."""
    try:
        with _above(path) as (folder, name):
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
        with _entered(path) as folder:
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
    own(path)
    todo = [path]
    while todo:
        here = todo.pop()
        try:
            with _entered(here) as folder:
                for name, kind in folder.kinds():
                    if kind == stat.S_IFDIR:
                        todo.append(here / name)
                    elif kind != stat.S_IFREG:
                        raise refused(here / name, kind)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            text = f"{here}: cannot be read: {error.strerror}; give yourself the right to read it"
            raise RunFolderError(text) from error


def make(path: Path) -> None:
    """Make a folder, and those above it, unless they are there. Raises RunFolderError for a link."""
    if _split(path)[2] == ():
        path.mkdir(parents=True, exist_ok=True)
        return
    with suppress(FileExistsError):
        try:
            with _above(path) as (folder, name):
                folder.make(name)
        except FileNotFoundError:
            if path.parent == path:
                raise
            make(path.parent)
            with _above(path) as (folder, name):
                folder.make(name)
    with _entered(path) as folder:  # refuses what is no folder
        if folder.descriptor is None and not folder.path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def replace(source: Path, target: Path) -> None:
    """Rename a file within its folder, in place of another one."""
    assert source.parent == target.parent, "only within one folder"
    with _above(source) as (folder, name):
        folder.replace(name, target.name)


def unlink(path: Path) -> None:
    """Delete a file; of a link the link itself. Raises OSError."""
    with _above(path) as (folder, name):
        folder.unlink(name)


def remove_tree(path: Path) -> None:
    """Delete a folder with all that is in it, as far as possible; of a link the link itself."""
    with suppress(FileNotFoundError), _above(path) as (folder, name):
        folder.remove_tree(name)


def sync(path: Path) -> None:
    """Flush the names in a folder to the disk. Raises OSError."""
    with _entered(path) as folder:
        folder.sync()


def gone(path: Path) -> Path | None:
    """The folder of a run, or the one below it, that was deleted while `path` was written; else None."""
    key, top, parts = _split(path)
    if not key:
        return None
    try:
        if (descriptor := _held.get(key)) is not None:
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


def refused(path: Path, kind: int) -> RunFolderError:
    """The error of something that is no regular file or folder, with the cure."""
    parts = _split(path)[2]
    run = printable(str(path.parents[len(parts) - 1])) if parts else str(path)
    name = printable("/".join(parts) or path.name)
    if kind == stat.S_IFLNK:
        cure = f"copy the run with its files: cp -rL '{run}' NEW, and use NEW"
    else:
        cure = "move it out of this folder"
    what = f"got {_KINDS.get(kind, 'another kind of file')}; {cure}"
    return RunFolderError(f"{run}: '{name}' must be a regular file or folder, {what}")


class _Folder:
    """A folder that is entered: by its descriptor, or by its path where the system has no such calls."""

    def __init__(self, path: Path, descriptor: int | None, follow: bool):
        self.path, self.descriptor, self.follow = path, descriptor, follow

    def _name(self, name: str) -> str:
        return name if self.descriptor is not None else os.path.join(self.path, name)

    def enter(self, name: str) -> "_Folder":
        """A folder in this one, which is no link."""
        path, flags = self.path / name, os.O_RDONLY | _DIRECTORY | _NOFOLLOW | _CLOEXEC
        if self.descriptor is None:
            self._refuse(name, stat.S_IFDIR)
            return _Folder(path, None, False)
        try:
            return _Folder(path, os.open(name, flags, dir_fd=self.descriptor), False)
        except OSError as error:
            if error.errno in _LINKED:
                self._refuse(name, stat.S_IFDIR)
            raise

    def open(self, name: str, flags: int, mode: int) -> int:
        """A regular file in this folder; one of the user's own may be a link."""
        flags |= _CLOEXEC | _NONBLOCK | (0 if self.follow else _NOFOLLOW)
        before = self._refuse(name) if self.descriptor is None and not self.follow else None
        try:
            found = os.open(self._name(name), flags, mode, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno in _LINKED:
                self._refuse(name)
            raise
        after = os.fstat(found)
        changed = before is not None and (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino)
        if changed or not stat.S_ISREG(after.st_mode):
            os.close(found)
            if stat.S_ISDIR(after.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            raise refused(self.path / name, stat.S_IFLNK if changed else stat.S_IFMT(after.st_mode))
        return found

    def _refuse(self, name: str, *allowed: int) -> os.stat_result | None:
        """Refuse what is no regular file, and none of the kinds that are allowed, too."""
        if (found := self._status(name)) is None:
            return None
        if (kind := stat.S_IFMT(found.st_mode)) not in (stat.S_IFREG, *allowed):
            raise refused(self.path / name, kind)
        return found

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self._name(name), dir_fd=self.descriptor, follow_symlinks=self.follow)
        except FileNotFoundError:
            return None

    def status(self, name: str) -> os.stat_result | None:
        """Of a file or a folder."""
        return self._refuse(name, stat.S_IFDIR)

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
        os.mkdir(self._name(name), dir_fd=self.descriptor)

    def unlink(self, name: str) -> None:
        os.unlink(self._name(name), dir_fd=self.descriptor)

    def replace(self, old: str, new: str) -> None:
        if self.descriptor is None:
            os.replace(self._name(old), self._name(new))
        else:
            os.replace(old, new, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove_tree(self, name: str) -> None:
        found = os.stat(self._name(name), dir_fd=self.descriptor, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            self.unlink(name)
        elif self.descriptor is None:
            shutil.rmtree(self._name(name), ignore_errors=True)
        else:
            shutil.rmtree(name, ignore_errors=True, dir_fd=self.descriptor)

    def sync(self) -> None:
        if self.descriptor is not None:
            os.fsync(self.descriptor)
            return
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _split(path: Path) -> tuple[str, str, tuple[str, ...]]:
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


@contextmanager
def _entered(path: Path) -> Iterator[_Folder]:
    """A folder, each part below that of a run entered without following links."""
    key, top, below = _split(path)
    if not key:
        top, below = str(path), ()
    kept = _held.get(key)
    if not RELATIVE or not key:  # a folder of the user's own may be one that cannot be listed
        folder = _Folder(Path(top), None, not key)
    elif kept is not None:
        folder = _Folder(Path(top), kept, False)
    else:
        folder = _Folder(Path(top), os.open(top, os.O_RDONLY | _DIRECTORY | _CLOEXEC), False)
    try:
        for part in below:
            inner = folder.enter(part)
            _leave(folder, kept)
            folder = inner
        yield folder
    finally:
        _leave(folder, kept)


def _leave(folder: _Folder, kept: int | None) -> None:
    if folder.descriptor is not None and folder.descriptor != kept:
        os.close(folder.descriptor)


@contextmanager
def _above(path: Path) -> Iterator[tuple[_Folder, str]]:
    """The folder above a path, and its name there."""
    with _entered(path.parent) as folder:
        yield folder, path.name
