"""SHA-256 of files and of large arrays by blocks: each byte is hashed once, by two threads.

The digests of an array are the SHA-256 of each of its blocks of 1 MiB, joined. The hash of a file is

    SHA-256 of its bytes, with the digests of each stretch that its table names in place of the stretch

    table, at the file's end:  uint64 (n, 2): begin and length of each stretch, in order; uint64 n; MARK

(little endian); of a file without a table it is SHA-256 of its bytes. The table is hashed, too, so that what
is hashed determines every byte of the file: whoever finds two files of one hash has found two texts of one
SHA-256. A writer that has the digests of its arrays, for hashes of their content, need not hash them again.

Decisions 0231.
"""

import hashlib
import os
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import pairwise
from typing import BinaryIO

from ..held import system_calls

BLOCK = 1 << 20
"""Bytes of a block; arrays of at least one are hashed by blocks."""
MARK = b"\x89BLOCKS\n"
_THREADS = 2
_PIECE = 1 << 22
_END = 8 + len(MARK)

Bytes = bytes | memoryview
Read = Callable[[int, int], Bytes]
"""The bytes from an offset on, by their number; called by several threads."""


def threads() -> ThreadPoolExecutor:
    """Threads that hash: two hash as fast as a disk writes, and a run goes on beside them."""
    return ThreadPoolExecutor(_THREADS)


def digests(data: Bytes, beside: Executor) -> "list[Future[bytes]]":
    """The digests of an array's bytes, being computed."""
    return _submit_blocks(lambda begin, length: data[begin : begin + length], 0, len(data), beside)


def table(stretches: Sequence[tuple[int, int]]) -> bytes:
    """The end of a file with these stretches (begin, length), which are in order and do not overlap."""
    if not stretches:
        return b""
    return b"".join(struct.pack("<QQ", *one) for one in stretches) + struct.pack("<Q", len(stretches)) + MARK


def of_bytes(data: Bytes) -> str:
    """The hash of a file with these bytes, 64 hex digits."""
    return _hash_blocks(lambda begin, length: memoryview(data)[begin : begin + length], len(data))


def of_file(file: BinaryIO) -> str:
    """The hash of an open file, 64 hex digits. Raises OSError if it cannot be read."""
    number = file.fileno()
    return _hash_blocks(
        lambda begin, length: system_calls.read_at(number, length, begin), os.fstat(number).st_size
    )


def _hash_blocks(read: Read, size: int) -> str:
    whole, at = hashlib.sha256(), 0
    with threads() as beside:
        for begin, length in [*_hashed_stretches(read, size), (size, 0)]:
            for piece in range(at, begin, _PIECE):
                whole.update(read(piece, min(_PIECE, begin - piece)))
            for digest in _submit_blocks(read, begin, length, beside):
                whole.update(digest.result())
            at = begin + length
    return whole.hexdigest()


def _submit_blocks(read: Read, begin: int, length: int, beside: Executor) -> "list[Future[bytes]]":
    end = begin + length

    def digest(at: int) -> bytes:
        return hashlib.sha256(read(at, min(BLOCK, end - at))).digest()

    return [beside.submit(digest, at) for at in range(begin, end, BLOCK)]


def _hashed_stretches(read: Read, size: int) -> list[tuple[int, int]]:
    """The stretches that the table of a file names; none if it has no table that can be one."""
    if size < _END or read(size - len(MARK), len(MARK)) != MARK:
        return []
    (count,) = struct.unpack("<Q", read(size - _END, 8))
    begin = size - _END - 16 * count
    if begin < 0:
        return []
    found = [*struct.iter_unpack("<QQ", read(begin, 16 * count))]
    ordered = all(a + length <= b for (a, length), (b, _) in pairwise([*found, (begin, 0)]))
    return found if ordered else []
