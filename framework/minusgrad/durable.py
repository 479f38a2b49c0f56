"""The only place that writes files: whole, hashed, on disk before anyone says "saved".

    HDF5 image in memory -> temporary file (O_EXCL) -> write, fsync -> os.replace -> fsync the folder

HDF5 itself never touches a disk here: files appended to or left open across steps are lost by a kill or a
power cut, and a full disk under HDF5 ends the process; bytes written by ourselves raise a clean error. An
immutable file carries the SHA-256 of its bytes in its name, so one flipped bit is seen before HDF5 is called.
"""

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

import h5py

from .errors import CheckpointError, RunFailedError

_TEMPORARY = ".tmp-"
_HASHED = re.compile(r"(?P<stem>.+)\.(?P<sha>[0-9a-f]{16})\.[a-z0-9]+")
_NO_FALLOCATE = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}


def image(fill: Callable[[h5py.File], None]) -> bytes:
    """The bytes of the HDF5 file that `fill` writes, built in memory.

    The same content gives the same bytes.
    """
    with h5py.File("image", "w", driver="core", backing_store=False) as file:
        fill(file)
        file.flush()
        return file.id.get_file_image()


@contextmanager
def opened(data: bytes) -> Iterator[h5py.File]:
    """The HDF5 file whose bytes are `data`, read-only, from memory. Raises OSError if they are not HDF5."""
    with h5py.File(h5py.h5f.open_file_image(data)) as file:
        yield file


def write_new(folder: Path, stem: str, data: bytes, suffix: str = ".h5") -> Path:
    """Write `<stem>.<first 16 hex of SHA-256><suffix>` and return its path once it is safe on disk.

    A file of that name with the same bytes is kept; a damaged one is replaced by the good bytes.
    Raises RunFailedError if the disk refuses.
    """
    path = folder / f"{stem}.{_sha(data)}{suffix}"
    with _named_failure(path):
        if not (path.exists() and path.read_bytes() == data):
            _write(path, data)
        _sync_folder(folder)
    return path


def replace(path: Path, data: bytes) -> None:
    """Write a file of fixed name: readers see the old bytes or the new, never a mixture.

    Raises RunFailedError.
    """
    with _named_failure(path):
        _write(path, data)
        _sync_folder(path.parent)


def append_line(path: Path, text: str) -> None:
    """Append one line and wait until it is on disk; a torn last line is closed first.

    Raises RunFailedError.
    """
    with _named_failure(path), path.open("ab+") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - 1, 0))
        torn = file.read(1) not in (b"", b"\n")
        file.write(b"\n" * torn + text.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def verified(path: Path) -> bytes:
    """The bytes of a file written by `write_new`, if their hash is the one in its name.

    Else CheckpointError.
    """
    name = _HASHED.fullmatch(path.name)
    if name is None:
        raise CheckpointError(f"{path}: no hash in its name (expected NAME.<16 hex>.h5); not a file of a run")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from error
    if _sha(data) != name["sha"]:
        raise CheckpointError(
            f"{path}: damaged: its bytes have SHA-256 {_sha(data)}..., its name says {name['sha']}; "
            "copy it again from where it is whole, or delete it and resume from an older checkpoint"
        )
    return data


def stem(path: Path) -> str:
    """`000000000600` of `000000000600.<16 hex>.h5`; empty if the name is not of that kind."""
    name = _HASHED.fullmatch(path.name)
    return name["stem"] if name else ""


def remove(path: Path) -> None:
    """Delete a file that may be gone already. Raises RunFailedError."""
    with _named_failure(path):
        path.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder that may exist already, and wait until its name is on disk. Raises RunFailedError."""
    with _named_failure(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _sync_folder(folder.parent)


def sweep(folder: Path) -> list[str]:
    """Delete the temporaries that a killed process left in `folder`; returns their names."""
    strays = sorted(folder.glob(_TEMPORARY + "*"))
    for stray in strays:
        remove(stray)
    return [stray.name for stray in strays]


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{_TEMPORARY}{token_hex(4)}-{path.name}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with open(descriptor, "wb", buffering=0) as file:
            _allocate(descriptor, len(data))
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _allocate(descriptor: int, size: int) -> None:
    """Ask for the space at once, so that a full disk is known before the first byte."""
    if not hasattr(os, "posix_fallocate") or not size:
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in _NO_FALLOCATE:
            raise


def _sync_folder(folder: Path) -> None:
    """Without this, a power cut forgets the name of a file whose bytes are safe."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _named_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunFailedError(
            f"{path}: cannot be written: {error.strerror or error}; what was saved before stands: "
            "cure the disk, then `minusgrad resume`"
        ) from error
