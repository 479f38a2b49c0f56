"""Validation of HDF5 files that may be damaged or hostile, before any data is read.

`open_bytes` and `opened_file` are the only places that open HDF5 for reading: they refuse texts whose heap
HDF5 would search forever. `arrays` accepts contiguous arrays of numbers in groups that form a tree, and
refuses links, external and virtual storage, filters, object types, and arrays that overlap or claim more
bytes than the file has. `contained_hdf5` is for files of others, which are read in a child process.

Decisions 0156.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

import h5py
import numpy as np

from ..errors import CheckpointError, UserError
from .held import held_folders

_HEAP = b"GCOL\1\0\0\0"


@contextmanager
def open_bytes(data: bytes) -> Iterator[h5py.File]:
    """The HDF5 file whose bytes are `data`, read-only, from memory.

    Raises CheckpointError as `texts` does, and OSError if the bytes are not HDF5.
    """
    texts(data)
    with h5py.File(h5py.h5f.open_file_image(data)) as file:
        yield file


@contextmanager
def opened_file(path: Path) -> Iterator[h5py.File]:
    """Like `open_bytes`, for a file that need not fit into memory."""
    with held_folders.stream(path) as stream, opened_stream(stream, False) as file:
        yield file


@contextmanager
def opened_stream(stream: BinaryIO, examined: bool) -> Iterator[h5py.File]:
    """Like `open_bytes`, for an open file; `examined`: its texts are known to end."""
    if not examined:
        with mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
            texts(data)
    with h5py.File(stream, "r") as file:
        yield file


@contextmanager
def contained_hdf5(data: bytes) -> Iterator[h5py.File]:
    """The HDF5 file of another program in these bytes, from memory, for a reader in a child process.

    Unlike those of `arrays` it may have chunks and filters, types of its own, several names for one object.
    Raises `UserError` if it is no HDF5 file, and for whatever leads out of it, links to other files and
    arrays whose data lie in them: a run folder with the file then has all that was read.
    """
    texts(data)
    try:
        file = h5py.File(h5py.h5f.open_file_image(data))
    except (OSError, ValueError) as error:
        raise UserError(f"it is no HDF5 file, or damaged: {' '.join(str(error).split())[:200]}") from None
    with file:
        try:
            _refuse_outside(file, "", set())
        except (RuntimeError, LookupError, OSError) as error:  # whatever HDF5 says of a damaged tree
            words = " ".join(str(error).split())[:200]
            raise UserError(f"its groups are damaged: {words}; save it again") from None
        yield file


def _refuse_outside(group: h5py.Group, prefix: str, seen: set[int]) -> None:
    """Raise `UserError` for links and arrays that lead out of the file; `seen`: addresses of groups."""
    for name in group:
        path = prefix + name
        if group.id.links.get_info(name.encode()).type not in (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT):
            raise UserError(f"'{path}' is a link to another file, which is not read; save it into one file")
        item = group.get(name)
        plan = item.id.get_create_plist() if isinstance(item, h5py.Dataset) else None
        if plan and (plan.get_layout() == h5py.h5d.VIRTUAL or plan.get_external_count()):
            raise UserError(f"'{path}' keeps its data in another file, which is not read; save one file")
        address = None if item is None else h5py.h5o.get_info(item.id).addr
        if isinstance(item, h5py.Group) and address not in seen:
            seen.add(int(address or 0))
            _refuse_outside(item, path + "/", seen)


def arrays(file: h5py.File, size: int, who: str, shared: bool = False) -> dict[str, h5py.Dataset]:
    """The arrays of a file of `size` bytes, by their paths; no data is read.

    shared: whether an array may have several names. Raises CheckpointError for contents that
    `who` never has.
    """
    found = dict(_walk_datasets(file, "", {}, who, shared))
    stored = {h5py.h5o.get_info(d.id).addr: d for d in found.values() if d.nbytes}  # by address: each once
    places = sorted((d.id.get_offset(), d.nbytes) for d in stored.values())
    if any(start + length > end for (start, length), (end, _) in pairwise([*places, (size, 0)])):
        raise CheckpointError("its arrays overlap, or claim more bytes than the file has; do not trust it")
    return found


def _walk_datasets(
    group: h5py.Group, prefix: str, seen: dict[int, bool], who: str, shared: bool
) -> Iterator[tuple[str, h5py.Dataset]]:
    """Every dataset by its path; `seen`: by address, whether it is an array."""
    for name in group:
        path = prefix + name
        if type(group.get(name, getlink=True)) is not h5py.HardLink:
            raise CheckpointError(f"'{path}' is a link, which {who} never has; do not trust it")
        item = group[name]
        address, is_array = h5py.h5o.get_info(item.id).addr, isinstance(item, h5py.Dataset)
        if address in seen and not (shared and is_array):
            raise CheckpointError(f"'{path}' is a second name of another object; do not trust it")
        seen[address] = is_array
        if isinstance(item, h5py.Group):
            yield from _walk_datasets(item, path + "/", seen, who, shared)
        else:
            refuse_strange(path, item, f"{who} holds")
            yield path, item


def refuse_strange(path: str, item: h5py.Dataset, who: str) -> None:
    """Raise CheckpointError unless `item` is a contiguous dataset of numbers, stored in this file."""
    plan = item.id.get_create_plist() if isinstance(item, h5py.Dataset) else None
    if plan is None or item.shape is None:
        what = "is not an array"
    elif not is_plain(item.dtype):
        what = f"holds {item.dtype}"
    elif plan.get_layout() == h5py.h5d.VIRTUAL or plan.get_external_count():
        what = "keeps its data in another file"
    elif plan.get_nfilters():
        what = "is stored through a filter"
    elif plan.get_layout() != h5py.h5d.CONTIGUOUS:
        what = "is not contiguous"
    elif item.id.get_storage_size() != item.nbytes:
        what = "claims more bytes than are stored"
    else:
        return
    raise CheckpointError(f"'{path}' {what}; {who} plain arrays only; do not trust it")


def texts(data: bytes | mmap) -> None:
    """Raise CheckpointError if reading a text of variable length, such as a unit, might never end.

    HDF5 keeps such texts in heaps (`GCOL`) and walks from object to object by the stored lengths: forever, if
    one is 0 or points back.
    """
    at = data.find(_HEAP)
    while at >= 0:
        place, end = at + 16, at + int.from_bytes(data[at + 8 : at + 16], "little")
        while place + 16 <= min(end, len(data)):
            length = int.from_bytes(data[place + 8 : place + 16], "little")
            used = data[place : place + 2] != b"\0\0"
            step = 16 + (length + 7) // 8 * 8 if used else length
            if step < 16 or place + step > end:
                raise CheckpointError("reading its texts would not end; do not trust it")
            place += step
        at = data.find(_HEAP, at + 1)


def is_plain(dtype: np.dtype) -> bool:
    """True for numbers and booleans of up to eight bytes."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8
