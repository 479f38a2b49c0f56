"""Files whose SHA-256 was compared with their names: each is hashed once a process, unless it changes.

A file is known by device, inode, size and times of its open descriptor, and HDF5 reads through this same
descriptor: a file that takes its name later is another one, and is hashed.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ...errors import CheckpointError
from .. import durable
from ..held import held_folders

_RACE = 50_000_000
"""Nanoseconds: a file changed so recently may change again within one tick of the file system's clock."""


class _Stamp(NamedTuple):
    device: int
    inode: int
    size: int
    modified: int
    changed: int


_known: dict[Path, _Stamp] = {}


class Vouched(NamedTuple):
    """An open file whose bytes have the hash in its name. known: its contents were examined before."""

    path: Path
    stream: BinaryIO
    stamp: _Stamp
    known: bool

    def note_examined(self) -> None:
        """Note that the contents were examined, too."""
        if self.stamp.changed < time.time_ns() - _RACE:
            _known[self.path] = self.stamp


@contextmanager
def open_vouched(path: Path) -> Iterator[Vouched]:
    """An immutable file, opened; hashed unless it is known.

    Raises CheckpointError if it cannot be read, is damaged, or changes while it is read.
    """
    try:
        stream = held_folders.stream(path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from error
    with stream:
        stamp = _file_stamp(stream)
        known = _known.get(path.absolute()) == stamp
        if not known:
            durable.check_stream(path, stream)
        yield Vouched(path.absolute(), stream, stamp, known)
        if _file_stamp(stream)[:4] != stamp[:4]:  # deletion alone changes the last
            raise CheckpointError(f"{path}: changed while it was read; read it again")


def forget() -> None:
    """Hash every file again when it is next opened."""
    _known.clear()


def _file_stamp(stream: BinaryIO) -> _Stamp:
    found = os.fstat(stream.fileno())
    return _Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
