"""HDF5 files assembled without copying arrays: metadata from HDF5, array bytes streamed.

    image = laid_out(fill)     fill(draft): draft.file is an h5py.File, draft.array places an array's parts
    for chunk in image: ...    its bytes in order, each chunk a few megabytes at most
    image.hashed()             what the file's hash is of: digests in place of arrays that have them

HDF5 computes the layout and writes its metadata into pages in memory; for arrays it only reserves space. A
file of any size needs no memory beyond its arrays, which may be in other files. The same content gives the
same bytes.

Decisions 0232.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from .hashes import block_hashes
from .hashes.block_hashes import Bytes
from .held import held_folders

CHUNK = 1 << 22
"""The number of bytes that are hashed and written at once."""
_PAGE = 1 << 12


class Stretch(NamedTuple):
    """A range of bytes of a file."""

    file: Path
    start: int
    length: int


class Later(NamedTuple):
    """Bytes that are still being computed, of known length."""

    future: "Future[bytes]"
    length: int


class Hashed(NamedTuple):
    """The whole of an array of at least `block_hashes.BLOCK` bytes, and its digests, being computed."""

    array: np.ndarray
    digests: "list[Future[bytes]]"


Part = np.ndarray | Stretch | Later | Hashed


class Draft:
    """A file whose layout is being computed; `file` takes attributes and small arrays as usual."""

    def __init__(self, file: h5py.File):
        self.file = file
        self._placed: list[tuple[h5py.Dataset, list[Part]]] = []

    def array(
        self, name: str, parts: Sequence[Part], shape: tuple[int, ...], dtype: np.dtype
    ) -> h5py.Dataset:
        """Reserve space for an array whose bytes are the concatenated parts, in C order."""
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_layout(h5py.h5d.CONTIGUOUS)
        plan.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plan.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        plan.set_obj_track_times(False)
        folder, _, last = name.rpartition("/")
        group = self.file.require_group(folder or "/")
        kind, space = h5py.h5t.py_create(dtype, logical=True), h5py.h5s.create_simple(shape)
        dataset = h5py.Dataset(h5py.h5d.create(group.id, last.encode(), kind, space, plan))
        held = sum(map(_part_length, parts))
        assert held == dataset.nbytes, (name, held, dataset.nbytes)
        if dataset.nbytes:
            self._placed.append((dataset, list(parts)))
        return dataset

    def places(self) -> list[tuple[int, list[Part]]]:
        """The offsets of the arrays and their parts, in the order of the file."""
        return sorted(((d.id.get_offset(), parts) for d, parts in self._placed), key=lambda place: place[0])


@dataclass(frozen=True)
class FileImage:
    """The bytes of a file; may be iterated several times. end: that of HDF5, where the table follows."""

    end: int
    pages: dict[int, bytearray]
    places: list[tuple[int, list[Part]]]
    table: bytes

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end + len(self.table)

    def __iter__(self) -> Iterator[Bytes]:
        return self._joined_chunks(_chunks)

    def hashed(self) -> Iterator[Bytes]:
        """The bytes whose SHA-256 is the hash of the file (`block_hashes`)."""
        return self._joined_chunks(_hashed)

    def _joined_chunks(self, chunks_of: Callable[[Part], Iterator[Bytes]]) -> Iterator[Bytes]:
        at = 0
        for begin, parts in self.places:
            yield from _bytes_between(self.pages, at, begin)
            at = begin + sum(map(_part_length, parts))
            for part in parts:
                yield from chunks_of(part)
        yield from _bytes_between(self.pages, at, self.end)
        yield self.table


def laid_out(fill: Callable[[Draft], None]) -> FileImage:
    """The file that `fill` describes."""
    pages = _Pages()
    with h5py.File(pages, "w") as file:
        draft = Draft(file)
        fill(draft)
        file.flush()
        places = draft.places()
    hashed = [(begin, parts[0].array.nbytes) for begin, parts in places if isinstance(parts[0], Hashed)]
    return FileImage(pages.size, pages.pages, places, block_hashes.table(hashed))


def stretch(dataset: h5py.Dataset, file: Path) -> Stretch:
    """The byte range of a contiguous dataset in its file."""
    start = dataset.id.get_offset() if dataset.nbytes else 0
    assert start is not None, dataset.name
    return Stretch(file, start, dataset.nbytes)


def _part_length(part: Part) -> int:
    if isinstance(part, Hashed):
        return part.array.nbytes
    return part.nbytes if isinstance(part, np.ndarray) else part.length


def raw(array: np.ndarray) -> memoryview:
    """The bytes of an array in C order; without a copy if it is in this order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _hashed(part: Part) -> Iterator[Bytes]:
    if isinstance(part, Hashed):
        return (digest.result() for digest in part.digests)
    return _chunks(part)


def _chunks(part: Part) -> Iterator[Bytes]:
    if isinstance(part, Later):
        yield part.future.result()
    elif isinstance(part, Stretch):
        with held_folders.stream(part.file) as file:
            file.seek(part.start)
            left = part.length
            while left and (chunk := file.read(min(left, CHUNK))):
                left -= len(chunk)
                yield chunk
        if left:
            raise OSError(f"{part.file}: ends {left} bytes too early")
    else:
        yield from chunks(raw(part.array if isinstance(part, Hashed) else part))


def chunks(data: Bytes) -> Iterator[Bytes]:
    """Bytes in memory, in pieces of a few megabytes."""
    whole = memoryview(data)
    for begin in range(0, len(whole), CHUNK):
        yield whole[begin : begin + CHUNK]


def _bytes_between(pages: dict[int, bytearray], begin: int, end: int) -> Iterator[Bytes]:
    """The bytes that HDF5 wrote between two offsets; zeros in pages without writes."""
    while begin < end:
        page, within = divmod(begin, _PAGE)
        length = min(_PAGE - within, end - begin)
        yield memoryview(pages.get(page, bytearray(_PAGE)))[within : within + length]
        begin += length


class _Pages(io.RawIOBase):
    """A sparse file in memory: only pages that were written to exist."""

    def __init__(self) -> None:
        self.pages: dict[int, bytearray] = {}
        self.size = self._at = 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def truncate(self, size: int | None = None) -> int:
        self.size = self._at if size is None else size
        return self.size

    def readinto(self, buffer) -> int:
        target = memoryview(buffer).cast("B")
        at = 0
        for piece in _bytes_between(self.pages, self._at, min(self._at + len(target), self.size)):
            target[at : at + len(piece)] = piece
            at += len(piece)
        self._at += at
        return at

    def write(self, data) -> int:
        source = memoryview(data).cast("B")
        at = 0
        while at < len(source):
            page, within = divmod(self._at + at, _PAGE)
            length = min(_PAGE - within, len(source) - at)
            kept = self.pages.setdefault(page, bytearray(_PAGE))
            kept[within : within + length] = source[at : at + length]
            at += length
        self._at += at
        self.size = max(self.size, self._at)
        return at
