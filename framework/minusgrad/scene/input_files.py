"""Input files: regular files that fit into the free memory, which is known before they are opened.

A FIFO or a device as input would let a program wait for ever.

Decisions 0224, 0239.
"""

import os
import stat
from pathlib import Path

from ..engine import memory
from ..errors import UserError

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
}


def refuse_special(path: Path, name: str = "") -> os.stat_result | None:
    """The file's status; None where it cannot be looked at, which opening it will report.

    name: what messages call it, default its path. Raises `UserError` for a FIFO, a device or a socket.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if (kind := _KINDS.get(stat.S_IFMT(status.st_mode))) is not None:
        raise UserError(f"{name or path}: must be a regular file, got {kind}; copy its contents into a file")
    return status


def read(path: Path, name: str = "") -> bytes:
    """The bytes of a regular file.

    Raises `UserError` as `refuse_special` does and for a file larger than the free memory, and OSError or
    ValueError where it cannot be opened.
    """
    if (status := refuse_special(path, name)) is not None:
        memory.require(status.st_size, name or str(path), "an input file is read as a whole")
    return path.read_bytes()
