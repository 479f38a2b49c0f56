"""Hashes by blocks: any changed, moved or missing byte of any part of a file changes them."""

import hashlib
import random
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest

from minusgrad.errors import CheckpointError
from minusgrad.files import checkpoint, durable, hdf5_trust
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.hashes import block_hashes
from minusgrad.files.hashes.block_hashes import BLOCK, MARK, table

pytestmark = pytest.mark.unit

LENGTHS = (BLOCK, 2 * BLOCK + 5, 3)
ARRAYS = {
    "one block": np.random.default_rng(0).random(BLOCK // 8),
    "three, turned": np.random.default_rng(1).random((3, BLOCK // 8)).T,
    "big endian": np.random.default_rng(2).random(BLOCK // 8 + 1).astype(">f8"),
    "a byte less": np.zeros(BLOCK - 1, np.uint8),
    "truth": np.arange(BLOCK + 1) % 3 == 0,
}
SNAPSHOT = Snapshot(7, 0.5, 0.1, ARRAYS, {"truth": "m"}, {"a": 1}, b"scene")


def _file() -> tuple[bytes, list[tuple[int, int]]]:
    """Three stretches with gaps before, between (none between two of them) and behind, and a table."""
    chance, stretches, data = random.Random(0), [], b""
    for gap, length in zip((7, 0, 100), LENGTHS, strict=True):
        data += chance.randbytes(gap)
        stretches.append((len(data), length))
        data += chance.randbytes(length)
    return data + chance.randbytes(50) + table(stretches), stretches


def test_the_hash_is_the_one_that_is_documented(tmp_path: Path) -> None:
    data, stretches = _file()
    text, at = b"", 0
    for begin, length in stretches:
        text += data[at:begin]
        for block in range(begin, begin + length, 1 << 20):
            text += hashlib.sha256(data[block : min(block + (1 << 20), begin + length)]).digest()
        at = begin + length
    expected = hashlib.sha256(text + data[at:]).hexdigest()
    assert data[-32 - 8 * 4 :] == struct.pack("<7Q", *sum(stretches, ()), 3) + b"\x89BLOCKS\n"
    assert block_hashes.of_bytes(data) == expected
    (tmp_path / "file").write_bytes(data)
    with (tmp_path / "file").open("rb") as file:
        assert block_hashes.of_file(file) == expected


@pytest.mark.parametrize("size", [0, 1, 15, 16, 3 << 20])
def test_without_a_table_it_is_sha256_of_the_bytes(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert block_hashes.of_bytes(data) == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "entries",
    {
        "beyond the end": [(0, 101)],
        "far beyond the end": [(0, 2**64 - 1)],
        "not in order": [(50, 10), (0, 10)],
        "overlapping": [(0, 51), (50, 10)],
        "more than the file has": [(0, 10)] * 10,
    }.items(),
    ids=lambda item: item[0],
)
def test_a_table_that_cannot_be_one_is_bytes_like_others(entries: tuple[str, list]) -> None:
    data = bytes(100) + table(entries[1])
    assert block_hashes.of_bytes(data) == hashlib.sha256(data).hexdigest()
    many = bytes(100) + struct.pack("<Q", 2**60) + MARK
    assert block_hashes.of_bytes(many) == hashlib.sha256(many).hexdigest()


def test_every_change_of_a_file_changes_its_hash() -> None:
    """Bits of stretches, gaps and table; blocks exchanged, dropped or repeated; the end cut or extended."""
    data, stretches = _file()
    chance, seen = random.Random(1), {block_hashes.of_bytes(data)}
    ends = [begin + at for begin, n in stretches for at in (-1, 0, n - 1, n)]
    places = [*ends, *range(len(data) - 80, len(data)), *(chance.randrange(len(data)) for _ in range(20))]
    changed = {data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :] for at in places}
    (begin, _) = stretches[1]
    first, second = data[begin : begin + BLOCK], data[begin + BLOCK : begin + 2 * BLOCK]
    changed |= {data[:begin] + second + first + data[begin + 2 * BLOCK :]}
    changed |= {data[:begin] + second + data[begin + 2 * BLOCK :]}
    changed |= {data[:begin] + first + data[begin:], data[:-1], data + b"\0", data[1:]}
    (one, two, three), body = stretches, data[: -16 * 3 - 16]
    tables = [[one, two], [one], [one, two, (three[0], 2)], [(one[0], one[1] + two[1]), three]]
    changed |= {body + table(other) for other in tables} | {body}
    for other in sorted(changed):
        seen.add(block_hashes.of_bytes(other))
    assert len(seen) == 1 + len(changed) > 100


def test_digests_in_place_of_a_stretch_do_not_pass_for_it() -> None:
    data, stretches = _file()
    begin, length = stretches[1]
    blocks = [data[at : min(at + BLOCK, begin + length)] for at in range(begin, begin + length, BLOCK)]
    short = b"".join(hashlib.sha256(block).digest() for block in blocks)
    forged = data[:begin] + short + data[begin + length :]
    assert block_hashes.of_bytes(forged) != block_hashes.of_bytes(data)


def test_large_arrays_come_back_and_are_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed, real = [], hashlib.sha256

    class Counting:
        def __init__(self, data=b""):
            self._sum = real()
            self.update(data)

        def update(self, data) -> None:
            hashed.append(memoryview(data).nbytes)
            self._sum.update(data)

        def digest(self) -> bytes:
            return self._sum.digest()

        def hexdigest(self) -> str:
            return self._sum.hexdigest()

    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "sha256", Counting)
        path = checkpoint.save(tmp_path, SNAPSHOT)
    large = sum(array.nbytes for array in ARRAYS.values())
    assert large < sum(hashed) < large + 2 * BLOCK, "the array below a block is hashed twice, others once"
    assert path.read_bytes().endswith(MARK)
    assert path.name.split(".")[1] == block_hashes.of_bytes(path.read_bytes())[:16]
    back = checkpoint.load(path)
    for name, array in ARRAYS.items():
        other = back.arrays[name]
        assert (array.dtype, array.shape, array.tobytes()) == (other.dtype, other.shape, other.tobytes())
    durable.check(path)
    assert checkpoint.sums(back) == checkpoint.sums(SNAPSHOT)
    with h5py.File(path) as file:
        assert bytes(file["sha256"][...].tobytes()) == b"".join(checkpoint.sums(SNAPSHOT).values())


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_content_that_was_changed_under_a_fitting_name_is_refused(tmp_path: Path, name: str) -> None:
    """The first and the last byte of each array."""
    path = checkpoint.save(tmp_path, SNAPSHOT)
    data = bytearray(path.read_bytes())
    path.unlink()
    with hdf5_trust.open_bytes(bytes(data)) as file:
        begin, length = file[f"arrays/{name}"].id.get_offset(), file[f"arrays/{name}"].nbytes
    for at in (begin, begin + length - 1):
        data[at] ^= 1
        with pytest.raises(CheckpointError, match=f"array '{name}' does not match"):
            checkpoint.load(durable.write_new(tmp_path, "000000000007", bytes(data)))
        data[at] ^= 1


def test_large_arrays_of_format_2_load(tmp_path: Path) -> None:
    """Whose rows are SHA-256 of dtype, shape and all bytes; one that differs is refused."""
    with hdf5_trust.open_bytes(checkpoint.save(tmp_path, SNAPSHOT).read_bytes()) as whole:
        names = sorted(ARRAYS)
        rows = [
            hashlib.sha256(f"{a.dtype.str}{a.shape}".encode() + a.tobytes()).digest()
            for a in (np.ascontiguousarray(ARRAYS[name]) for name in names)
        ]
        rest = hashlib.sha256(f'[7, "{(0.5).hex()}", "{(0.1).hex()}", {names}, '.replace("'", '"').encode())
        rest.update(b'{"truth": "m"}, {"a": 1}]' + hashlib.sha256(b"scene").digest() + b"".join(rows))

        def fill(file: h5py.File, rows: list[bytes] = rows) -> None:
            for name in set(whole) - {"sha256"}:
                whole.copy(name, file)
            for name, value in whole.attrs.items():
                file.attrs[name] = value
            file.attrs["version"] = np.int32([2, 0])
            file["sha256"] = np.frombuffer(b"".join([*rows, rest.digest()]), np.uint8).reshape(-1, 32)

        path = durable.write_new(tmp_path, "000000000007", durable.image(fill))
        wrong = durable.write_new(
            tmp_path, "000000000008", durable.image(lambda file: fill(file, [*rows[:-1], bytes(32)]))
        )
    assert np.array_equal(checkpoint.load(path).arrays["one block"], ARRAYS["one block"])
    with pytest.raises(CheckpointError, match=f"array '{names[-1]}' does not match"):
        checkpoint.load(wrong)
