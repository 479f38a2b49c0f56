"""Crash-safe writing of files: temporary file, fsync, rename, fsync of the folder. No other module writes.

    bytes or `hdf5_layout.Image` -> temporary file (O_EXCL) -> write, fsync -> os.replace -> fsync the folder

HDF5 does not write to disk here: files that it appends to or keeps open are lost by a kill or a power cut,
and a full disk under HDF5 ends the process. Immutable files have their hash (SHA-256, of large arrays by
blocks: `block_hashes`) in their name, so that a flipped bit is detected before HDF5 opens the file.

Decisions 0090, 0092, 0100, 0230, 0232.
"""

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, TextIO

import h5py

from ..errors import CheckpointError, FolderGoneError, RunFailedError, RunFolderError, printable
from .hashes import block_hashes
from .hashes.block_hashes import Bytes
from .hdf5_layout import FileImage, chunks
from .held import held_folders, system_calls

TEMPORARY = ".tmp-"
_HASHED = re.compile(r"(?P<stem>.+)\.(?P<sha>[0-9a-f]{16})\.[a-z0-9]+")
_STRAY = re.compile(re.escape(TEMPORARY) + r"[0-9a-f]{8}-(?P<name>.+)", re.DOTALL)
_left: dict[str, dict[str, list[str]]] = {}
"""Temporary files that were in a folder when this process first wrote there, by folder and by their file."""
_NO_FALLOCATE = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}
_LARGE = 1 << 20
"""Bytes: files of at least this size are hashed in a second thread while they are written."""


def image(fill: Callable[[h5py.File], None]) -> bytes:
    """The bytes of the HDF5 file that `fill` writes, built in memory.

    The same content gives the same bytes.
    """
    with h5py.File("image", "w", driver="core", backing_store=False) as file:
        fill(file)
        file.flush()
        return file.id.get_file_image()


def write_new(folder: Path, stem: str, data: bytes | FileImage, suffix: str = ".h5") -> Path:
    """Write `<stem>.<first 16 hex of SHA-256><suffix>` and return its path once it is safe on disk.

    An existing file of that name has the same bytes, unless it was damaged, and is replaced. Raises
    RunFailedError if writing fails.
    """
    with named_failure(folder / f"{stem}{suffix}"), ThreadPoolExecutor(1) as beside:
        large = _byte_count(data) >= _LARGE
        sha = beside.submit(_short_sum, data) if large else None
        with _temporary_file(folder / f"{stem}{suffix}", data) as temporary:
            path = folder / f"{stem}.{sha.result() if sha else _short_sum(data)}{suffix}"
            held_folders.replace(temporary, path)
        _sync_folder(folder)
    return path


def replace(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file of fixed name: readers see the old bytes or the new, never a mixture.

    mode: who may do what with it, less what the process takes from everybody. Raises RunFailedError.
    """
    with named_failure(path):
        _sweep_killed(path)
        with _temporary_file(path, data, mode) as temporary:
            held_folders.replace(temporary, path)
        _sync_folder(path.parent)


def write_file(path: str | Path, data: bytes | str) -> None:
    """Write a file that belongs to no run, whole or not at all: readers see the old bytes or the new.

    data: bytes, or text that is written as UTF-8. Raises `RunFailedError` where the folder does not exist or
    cannot be written; what was there stays.
    """
    path = Path(path)
    with outside_a_run(path, "give another file with --out"):
        replace(path, data.encode() if isinstance(data, str) else data)


@contextmanager
def rewritten(path: Path) -> Iterator[TextIO]:
    """A text file to write to, which replaces `path` if the block succeeds.

    Raises RunFailedError.
    """
    with named_failure(path):
        _sweep_killed(path)
        with _temporary_file(path, b"") as temporary:
            descriptor = held_folders.open_file(temporary, os.O_WRONLY)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                yield file
                file.flush()
                system_calls.flush(file.fileno())
            held_folders.replace(temporary, path)
        _sync_folder(path.parent)


@contextmanager
def rewritten_by_name(path: Path) -> Iterator[Path]:
    """A temporary file that a library writes by its name, and which replaces `path` if the block succeeds.

    It has the suffix of `path`. Raises RunFailedError, of the library's OSError too.
    """
    with named_failure(path):
        _sweep_killed(path)
        with _temporary_file(path, b"") as temporary:
            yield temporary
            descriptor = held_folders.open_file(temporary, os.O_WRONLY)
            try:
                system_calls.flush(descriptor)
            finally:
                os.close(descriptor)
            held_folders.replace(temporary, path)
        _sync_folder(path.parent)


def append_line(path: Path, text: str) -> None:
    """Append one line and wait until it is on disk; a torn last line is closed first.

    Raises RunFailedError.
    """
    with named_failure(path):
        descriptor = held_folders.open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            end = os.lseek(descriptor, 0, os.SEEK_END)
            torn = end > 0 and system_calls.read_at(descriptor, 1, end - 1) != b"\n"
            _write_all(descriptor, b"\n" * torn + text.encode() + b"\n")
            system_calls.flush(descriptor)
        finally:
            os.close(descriptor)


def verified_bytes(path: Path) -> bytes:
    """The bytes of a file written by `write_new`.

    Raises CheckpointError if their hash is not the one in the name.
    """
    expected, data = _vouched_sum(path), _read_bytes(path)
    _compare_sum(path, _short_sum(data), expected)
    return data


def check(path: Path) -> None:
    """Raise CheckpointError unless the hash of a file is the one in its name."""
    try:
        with held_folders.stream(path) as file:
            check_stream(path, file)
    except OSError as error:
        raise _unreadable_error(path, error) from error


def check_stream(path: Path, file: BinaryIO) -> None:
    """`check` for a file that is open."""
    expected = _vouched_sum(path)
    try:
        found = block_hashes.of_file(file)
    except OSError as error:
        raise _unreadable_error(path, error) from error
    _compare_sum(path, found[:16], expected)


def _vouched_sum(path: Path) -> str:
    name = _HASHED.fullmatch(path.name)
    if name is None:
        raise CheckpointError(
            f"{printable(str(path))}: no hash in its name (expected NAME.<16 hex>.h5); not a file of a run"
        )
    return name["sha"]


def _read_bytes(path: Path) -> bytes:
    try:
        return held_folders.read_file(path)
    except OSError as error:
        raise _unreadable_error(path, error) from error


def _unreadable_error(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"{path}: cannot be read: {error.strerror}")


def _compare_sum(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise CheckpointError(
            f"{path}: damaged: its bytes have SHA-256 {found}..., its name says {expected}; "
            "copy it again from an undamaged source, or delete it and resume from an older checkpoint"
        )


def stem(path: Path) -> str:
    """`000000000600` of `000000000600.<16 hex>.h5`; empty for other names."""
    name = _HASHED.fullmatch(path.name)
    return name["stem"] if name else ""


def remove(path: Path) -> None:
    """Delete a file that may be gone already. Raises RunFailedError."""
    with named_failure(path), suppress(FileNotFoundError):
        held_folders.unlink(path)


def empty_file(path: Path) -> None:
    """Make a file empty. Raises RunFailedError."""
    with named_failure(path):
        descriptor = held_folders.open_file(path, os.O_WRONLY)
        try:
            os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, unless they exist, and wait until their names are on disk.

    Raises RunFailedError.
    """
    with named_failure(folder):
        new = [above for above in folder.parents if not above.exists()]
        held_folders.make(folder)
        for made in (folder, *new):
            _sync_folder(made.parent)


def settle(folder: Path) -> None:
    """Wait until deletions in a folder are on disk. Raises RunFailedError."""
    with named_failure(folder):
        _sync_folder(folder)


def sweep(folder: Path) -> list[str]:
    """Delete temporary files that a killed process left in `folder`; returns their names."""
    strays = [name for name in held_folders.names(folder) if name.startswith(TEMPORARY)]
    for stray in strays:
        remove(folder / stray)
    return strays


def _sweep_killed(path: Path) -> None:
    """Delete temporary files of this one that killed processes left; no process holds their locks.

    The folder is listed at the first small file that this process writes there, and never again.
    """
    folder = str(path.parent.absolute())
    if folder not in _left:
        _left[folder] = {}
        for name in held_folders.names(path.parent):
            if stray := _STRAY.fullmatch(name):
                _left[folder].setdefault(stray["name"], []).append(name)
    if strays := _left[folder].pop(path.name, None):
        living = [name for name in strays if not _delete_stray(path.with_name(name))]
        _left[folder] |= {path.name: living} if living else {}


def _delete_stray(stray: Path) -> bool:
    """Delete a temporary file, unless the process that writes it lives; False if it does."""
    with suppress(FileNotFoundError, RunFolderError):
        descriptor = held_folders.open_file(stray)
        try:
            system_calls.lock(descriptor)
            if not system_calls.OPEN_NAMES_STAY:
                held_folders.unlink(stray)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        if system_calls.OPEN_NAMES_STAY:
            held_folders.unlink(stray)
    return True


def _byte_count(data: bytes | FileImage) -> int:
    return data.size if isinstance(data, FileImage) else len(data)


def _byte_chunks(data: bytes | FileImage) -> Iterator[Bytes]:
    return iter(data) if isinstance(data, FileImage) else chunks(data)


def _short_sum(data: bytes | FileImage) -> str:
    if not isinstance(data, FileImage):
        return block_hashes.of_bytes(data)[:16]
    sum_of = hashlib.sha256()
    for chunk in data.hashed():
        sum_of.update(chunk)
    return sum_of.hexdigest()[:16]


@contextmanager
def _temporary_file(path: Path, data: bytes | FileImage, mode: int = 0o666) -> Iterator[Path]:
    """A temporary file beside `path` with these bytes, safe on disk; deleted if the block fails."""
    temporary = path.with_name(f"{TEMPORARY}{token_hex(4)}-{path.name}")
    descriptor = None
    try:
        descriptor = held_folders.open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with suppress(OSError):  # a file system without locks
            system_calls.lock(descriptor)
        _allocate_space(descriptor, _byte_count(data))
        for chunk in _byte_chunks(data):
            _write_all(descriptor, chunk)
            _send_to_disk(descriptor, len(chunk))
        system_calls.flush(descriptor)
        if system_calls.OPEN_NAMES_STAY:
            os.close(descriptor)
            descriptor = None
        yield temporary
    except BaseException:
        with suppress(OSError, RunFolderError):
            held_folders.unlink(temporary)
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _write_all(descriptor: int, data: Bytes) -> None:
    """Write all bytes, in several calls if necessary."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _send_to_disk(descriptor: int, length: int) -> None:
    """Let the disk begin with the last bytes, if they are many, while others are hashed and copied."""
    if length >= _LARGE and hasattr(os, "posix_fadvise"):
        begin = os.lseek(descriptor, 0, os.SEEK_CUR) - length
        os.posix_fadvise(descriptor, begin, length, os.POSIX_FADV_DONTNEED)


def _allocate_space(descriptor: int, size: int) -> None:
    """Reserve the space, so that a full disk is detected before the first byte."""
    if not hasattr(os, "posix_fallocate") or not size:
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in _NO_FALLOCATE:
            raise


def _sync_folder(folder: Path) -> None:
    """Flush the folder's entries: otherwise a power cut can lose the name of a file whose bytes are safe."""
    held_folders.sync(folder)


@contextmanager
def outside_a_run(path: Path, cure: str) -> Iterator[None]:
    """Name this cure where a file that belongs to no run cannot be written. Raises `RunFailedError`."""
    try:
        yield
    except RunFailedError as error:
        if not isinstance(reason := error.__cause__, OSError):
            raise
        text = f"{path}: cannot be written: {reason.strerror or reason}; {cure}"
        raise RunFailedError(text) from reason


@contextmanager
def named_failure(path: Path) -> Iterator[None]:
    """Raise an OSError of the block as RunFailedError that names `path` and the cure."""
    try:
        yield
    except OSError as error:
        if (lost := held_folders.deleted_run_folder(path)) is not None:
            raise FolderGoneError(
                f"{lost}: was deleted while it was written; what was saved in it is lost; start the run again"
            ) from error
        cure = "earlier saves are intact; repair the disk, then `minusgrad resume`"
        if not _has_saves(path):
            cure = "nothing has been saved yet; repair the disk, then start again"
        text = f"{path}: cannot be written: {error.strerror or error}; {cure}"
        raise RunFailedError(text) from error


def _has_saves(path: Path) -> bool:
    """False if the run that a file belongs to has no checkpoint."""
    try:
        run = held_folders.owner(path)
        return run is None or bool(held_folders.files(run / "ckpt", ".h5"))
    except OSError:
        return True
