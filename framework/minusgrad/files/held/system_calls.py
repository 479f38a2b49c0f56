"""Calls that Linux, macOS and Windows answer differently: locks, flushing to the disk, renaming.

    lock, wait_for_lock, is_locked   flock; on Windows a lock of one byte far behind the end of the file
    flush, flush_folder              fsync; on macOS F_FULLFSYNC, for fsync leaves the bytes in the cache
    of the drive
    read_at                          pread; on Windows seek, read and seek back, one thread after another
    replace                          rename; on Windows it waits a little for programs that have the file open

On Windows no file is renamed or deleted while somebody has it open (`OPEN_NAMES_STAY`), a locked byte can
be neither
read nor written by others, and a folder cannot be flushed. Sources: Microsoft, LockFileEx, MoveFileEx;
Apple, fsync(2).

Decisions 0140.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Lock
from time import sleep
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
_msvcrt: Any = import_module("msvcrt") if fcntl is None else None

OPEN_NAMES_STAY = os.name == "nt"
"""True where a file that is open can be neither renamed nor deleted, and a folder is not opened."""
FAR = 0x7FFF_FFFE
"""The byte that stands for a file on Windows: the last one but one that its call can lock, behind the text
of a journal."""
PAUSES = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Seconds between attempts to rename over a file that another program reads, such as a virus scanner."""

_seeking = Lock()


def read_at(descriptor: int, length: int, begin: int) -> bytes:
    """Bytes from a place of a file, whose own position stays; threads may share the descriptor."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, begin)
    with _seeking, _moved_to(descriptor, begin):
        return os.read(descriptor, length)


def lock(descriptor: int) -> None:
    """Lock a file for this descriptor alone. Raises OSError if another one has locked it."""
    if fcntl is None:
        with _moved_to(descriptor, FAR):
            _msvcrt.locking(descriptor, _msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def wait_for_lock(descriptor: int) -> None:
    """Lock a file for this descriptor alone, once nobody else has it locked."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    while True:
        with suppress(OSError):
            return lock(descriptor)
        sleep(0.02)


def is_locked(descriptor: int) -> bool:
    """True if another descriptor has locked the file; a lock of this one ends with it."""
    try:
        if fcntl is None:
            lock(descriptor)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def flush(descriptor: int) -> None:
    """Return when the bytes of a file, or the names of a folder, are on the disk. Raises OSError."""
    if (whole := getattr(fcntl, "F_FULLFSYNC", None)) is not None:  # macOS
        with suppress(OSError):  # a file system that does not know it, as of a network
            fcntl.fcntl(descriptor, whole)
            return
    os.fsync(descriptor)


def flush_folder(path: str | os.PathLike[str]) -> None:
    """Return when the names in a folder are on the disk; Windows opens no folders, and journals names
    itself."""
    if OPEN_NAMES_STAY:
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def replace(old: str, new: str, **folders: int) -> None:
    """`os.replace`, which on Windows is tried for a second and a half while others have one of the files
    open."""
    for pause in PAUSES if OPEN_NAMES_STAY else ():
        try:
            return os.replace(old, new, **folders)
        except PermissionError:
            sleep(pause)
    os.replace(old, new, **folders)


@contextmanager
def _moved_to(descriptor: int, begin: int) -> Iterator[None]:
    """Inside the position of a file is at this byte; after it, where it was."""
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, begin, os.SEEK_SET)
    try:
        yield
    finally:
        os.lseek(descriptor, place, os.SEEK_SET)
