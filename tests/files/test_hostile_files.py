"""Files from elsewhere: refused before anything is read; never wrong numbers, never a hang."""

import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from minusgrad.app import verify
from minusgrad.errors import CheckpointError, UserError
from minusgrad.files import checkpoint, compaction, durable, hdf5_trust, master_file, trajectory
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from tests.support.tiers import counts

BATCH = 1000
SECONDS, MEMORY = 2, 2 << 30
"""What a mutant may cost in computing time; what its process may hold in bytes."""
SNAPSHOT = Snapshot(
    6,
    0.1 + 0.2,
    0.1,
    {
        "fields/x": np.arange(12.0).reshape(4, 3),
        "fields/pinned": np.array([True, False]),
        "half": np.array(1),
    },
    {"fields/x": "m"},
    {"sealed": 6, "title": "t"},
    b"# a scene\n",
)


def _same(a: Snapshot, b: Snapshot) -> bool:
    head = [(s.step, s.time.hex(), s.dt.hex(), s.units, s.meta, s.scene) for s in (a, b)]
    bits = [{n: (x.dtype, x.shape, x.tobytes()) for n, x in s.arrays.items()} for s in (a, b)]
    return head[0] == head[1] and bits[0] == bits[1]


def test_a_checkpoint_with_one_byte_changed_is_refused(tmp_path):
    """Every byte of it, by one bit or by another value."""
    path, chance = checkpoint.save(tmp_path, SNAPSHOT), random.Random(0)
    with path.open("r+b", buffering=0) as file:
        for place, byte in enumerate(path.read_bytes()):
            changed = chance.choice(
                [byte ^ 1 << chance.randrange(8), (byte + chance.randrange(1, 256)) % 256]
            )
            os.pwrite(file.fileno(), bytes([changed]), place)
            with pytest.raises(CheckpointError, match="damaged"):
                checkpoint.load(path)
            os.pwrite(file.fileno(), bytes([byte]), place)
    assert _same(checkpoint.load(path), SNAPSHOT)


def _place(data: bytes, chance: random.Random, length: int = 1) -> int:
    """Anywhere; more often near something that is not zero."""
    places = (chance.randrange(max(len(data) - length, 1)) for _ in range(8))
    return next((at for at in places if any(data[at : at + 8]) or chance.random() < 0.1), 0)


def _flip(data: bytes, chance: random.Random) -> bytes:
    new = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        new[_place(data, chance)] ^= 1 << chance.randrange(8)
    return bytes(new)


def _overwrite(data: bytes, chance: random.Random) -> bytes:
    new, length = bytearray(data), chance.choice([1, 1, 2, 4, 16])
    at, edge = _place(data, chance, length), chance.choice([b"\0", b"\xff", b"\x7f", b"\x80", b"\x01", None])
    new[at : at + length] = edge * length if edge else chance.randbytes(length)
    return bytes(new)


def _number(data: bytes, chance: random.Random) -> bytes:
    """A number of the file's own kind: a length, a size, an address."""
    size = chance.choice([2, 4, 8])
    top, at = 1 << 8 * size, _place(data, chance, 8) // 4 * 4
    value = chance.choice([0, 1, top - 1, top // 2, top // 2 - 1, len(data), chance.randrange(len(data))])
    return data[:at] + (value % top).to_bytes(size, "little") + data[at + size :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: _place(data, chance)]


def _block(data: bytes, chance: random.Random) -> tuple[int, int]:
    length = chance.choice([4, 8, 64, 512])
    at = _place(data, chance, length)
    return at, at + length


def _double(data: bytes, chance: random.Random) -> bytes:
    at, end = _block(data, chance)
    return data[:end] + data[at:end] + data[end:]


def _zero(data: bytes, chance: random.Random) -> bytes:
    at, end = _block(data, chance)
    return data[:at] + bytes(end - at) + data[end:]


def _swap(data: bytes, chance: random.Random) -> bytes:
    length = chance.choice([4, 8, 64, 512])
    a, b = sorted(chance.sample(range(len(data) // length), 2))
    a, b = a * length, b * length
    between = data[a + length : b]
    return data[:a] + data[b : b + length] + between + data[a : a + length] + data[b + length :]


def _insert(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return data[:at] + chance.randbytes(chance.choice([1, 4, 8, 100])) + data[at:]


KINDS: list[Callable[[bytes, random.Random], bytes]] = [
    *[_flip, _flip, _overwrite, _overwrite, _number, _number, _number],
    *[_cut, _double, _zero, _swap, _insert],
]


def _mutant(data: bytes, seed: int) -> tuple[str, bytes]:
    chance = random.Random(seed)
    kind = chance.choice(KINDS)
    return kind.__name__, kind(data, chance)


def _try(folder: Path, begin: int, end: int) -> None:
    """In a process of its own: load mutants, each under the name that its bytes vouch for."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    durable.os.fsync = lambda descriptor: None
    data = checkpoint.save(folder, SNAPSHOT).read_bytes()
    for seed in range(begin, end):
        kind, bytes_of_it = _mutant(data, seed)
        path = durable.write_new(folder, "000000000006", bytes_of_it)
        print(seed, kind, end=" ", flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            found = checkpoint.load(path)
        except CheckpointError:
            print("refused", flush=True)
        except BaseException as error:
            print("raised", repr(error), flush=True)
        else:
            print("same" if _same(found, SNAPSHOT) else "wrong", flush=True)
        path.unlink()


_CHILD = """
import sys
from pathlib import Path
from tests.files.test_hostile_files import _try
_try(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
"""


@pytest.mark.parametrize("number", counts(1000, 10_000))
def test_mutants_are_refused_or_the_same(tmp_path, record_property, number):
    """None gives other data, none hangs; one that ends its process is known by its number."""
    outcomes, crashed, begin = [], [], 0
    while begin < number:
        end = min(begin + BATCH, number)
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, str(tmp_path), str(begin), str(end)],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            timeout=SECONDS * 60,
            check=False,
        )
        lines = [line.split(maxsplit=2) for line in child.stdout.splitlines()]
        begin = end
        if child.returncode:
            assert lines, child.stderr
            assert len(lines[-1]) == 2, child.stderr
            crashed.append((*lines.pop(), signal.Signals(-child.returncode).name))
            begin = int(crashed[-1][0]) + 1
        outcomes += lines
    counts = Counter(line[2].split("(")[0] for line in outcomes)
    record_property("shown", f"mutants of a checkpoint\n{dict(counts)}, crashed: {crashed}")
    assert len(outcomes) + len(crashed) == number
    assert [line for line in outcomes if line[2] not in ("refused", "same")] == []
    assert crashed == []
    assert counts["refused"] > number / 2


ROWS = 1021
"""Of the array that is tampered with: a number that stands nowhere else in a file."""
CHECKPOINT, SEGMENT = "arrays/fields/x", "observables/total/value"


def _run(path: Path) -> Path:
    """A run of two segments and a master; many rows in the first."""
    with RunDir.create(path, b"", []) as run:
        rows, step = Recorder({"total": ("J", 1.0)}, ("s", 1.0), {"bonds": np.array([[0, 1]])}, ("bonds",)), 0
        run.save(Snapshot(0, 0.0, 0.1, {"fields/x": np.zeros(ROWS)}), rows, 3)
        for count in (ROWS, 3):
            for _ in range(count):
                step += 1
                rows.record_observables(step, 0.1 * step, {"total": 0.5 * step})
            rows.record_frame(step, 0.1 * step, {"position": np.ones((2, 3))})
            run.save(Snapshot(step, 0.1 * step, 0.1, {"fields/x": np.zeros(ROWS)}), rows, 3)
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return _run(tmp_path_factory.mktemp("hostile") / "run")


def _tampered(path: Path, change: Callable[[h5py.File, str], None], place: str, patch=bytes) -> Path:
    """A file with changed content whose name fits, in the place of the one that was there."""
    with hdf5_trust.open_bytes(path.read_bytes()) as whole:

        def fill(file: h5py.File) -> None:
            for name in whole:
                whole.copy(name, file)
            for name, value in whole.attrs.items():
                file.attrs[name] = value
            change(file, place)

        data = patch(durable.image(fill))
    stem = durable.stem(path)
    path.unlink()
    return durable.write_new(path.parent, stem, data)


def _instead(**options):
    def change(file: h5py.File, place: str) -> None:
        del file[place]
        file.create_dataset(place, **options)

    return change


def _linked(link: Callable[[h5py.File, str], object]):
    def change(file: h5py.File, place: str) -> None:
        target = link(file, place)
        del file[place]
        file[place] = target

    return change


def _foreign(file: h5py.File, place: str) -> None:
    layout = h5py.VirtualLayout((ROWS,), "f8")
    layout[:] = h5py.VirtualSource("/etc/other.h5", "x", (ROWS,))
    del file[place]
    file.create_virtual_dataset(place, layout)


def _cycle(file: h5py.File, place: str) -> None:
    above = file[place.rpartition("/")[0]]
    above["again"] = above


def _unknown_filter(file: h5py.File, place: str) -> None:
    del file[place]
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((ROWS,))
    plan.set_filter(32099, h5py.h5z.FLAG_OPTIONAL, (1, 2))
    h5py.h5d.create(file.id, place.encode(), h5py.h5t.NATIVE_DOUBLE, h5py.h5s.create_simple((ROWS,)), plan)


def _compact(file: h5py.File, place: str) -> None:
    del file[place]
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(file.id, place.encode(), h5py.h5t.NATIVE_DOUBLE, h5py.h5s.create_simple((ROWS,)), plan)


def _deep(file: h5py.File, place: str) -> None:
    group = file[place.split("/")[0]]
    for _ in range(3000):
        group = group.create_group("d")
    group["value"] = 1.0


def _nothing(file: h5py.File, place: str) -> None:
    pass


def _of_64_gib(data: bytes) -> bytes:
    """An array that claims to be large, and to lie there: its length and its bytes changed alike."""
    for old, new in ((ROWS, 1 << 33), (8 * ROWS, 1 << 36)):
        assert 1 <= data.count(struct.pack("<Q", old)) <= 12
        data = data.replace(struct.pack("<Q", old), struct.pack("<Q", new))
    return data


HOSTILE = {
    "soft link": (_linked(lambda file, place: h5py.SoftLink("/elsewhere")), bytes),
    "external link": (_linked(lambda file, place: h5py.ExternalLink("/etc/passwd", "/x")), bytes),
    "cycle": (_cycle, bytes),
    "raw data outside": (_instead(shape=(ROWS,), dtype="f8", external=[("/etc/passwd", 0, 8 * ROWS)]), bytes),
    "virtual": (_foreign, bytes),
    "unstored 64 GiB": (_instead(shape=(1 << 33,), dtype="f8"), bytes),
    "claimed 64 GiB": (_nothing, _of_64_gib),
    "texts": (_instead(data=["text"] * ROWS, dtype=h5py.string_dtype()), bytes),
    "fixed texts": (_instead(data=[b"text"] * ROWS), bytes),
    "lists": (_instead(shape=(ROWS,), dtype=h5py.vlen_dtype(np.float64)), bytes),
    "references": (_instead(shape=(ROWS,), dtype=h5py.ref_dtype), bytes),
    "references to regions": (_instead(shape=(ROWS,), dtype=h5py.regionref_dtype), bytes),
    "compound": (_instead(shape=(ROWS,), dtype=[("a", "f8")]), bytes),
    "array of arrays": (_instead(shape=(ROWS,), dtype=np.dtype(("f8", (4,)))), bytes),
    "complex": (_instead(shape=(ROWS,), dtype="c16"), bytes),
    "opaque": (_instead(shape=(ROWS,), dtype="V8"), bytes),
    "empty": (_instead(dtype="f8", data=h5py.Empty("f8")), bytes),
    "named type": (_linked(lambda file, place: np.dtype("f8")), bytes),
    "known filter": (_instead(data=np.zeros(ROWS), compression="gzip"), bytes),
    "unknown filter": (_unknown_filter, bytes),
    "pieces": (_instead(data=np.zeros(ROWS), chunks=(10,)), bytes),
    "within the header": (_compact, bytes),
    "three thousand groups deep": (_deep, bytes),
    "no HDF5": (_nothing, lambda data: b"x" * 999),
    "cut": (_nothing, lambda data: data[: len(data) // 2]),
    "nothing": (_nothing, lambda data: b""),
}
READERS: dict[str, Callable[[Path, Path], object]] = {
    "series": lambda run, segment: trajectory.series(run, "observables/total"),
    "names": lambda run, segment: trajectory.names(run),
    "last": lambda run, segment: trajectory.last_row(run, "cells/none/none"),
    "symbols": lambda run, segment: trajectory.symbols(run, "observables/none"),
    "connectivity": lambda run, segment: trajectory.connectivity(run),
    "grids": lambda run, segment: trajectory.grids(run),
    "contents": lambda run, segment: list(trajectory.contents(segment)),
    "heads": lambda run, segment: list(
        trajectory.read_each_segment(run, lambda f, _: list(trajectory.heads(f)))
    ),
    "compaction": lambda run, segment: compaction._join_segments(run, [segment], trajectory.Span(1, 2000, 1)),
    "master": lambda run, segment: master_file.write(run, trajectory.segments(run)),
}


@pytest.fixture
def nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_):
        raise AssertionError("data was read")

    for name in ("__getitem__", "__array__", "read_direct", "__iter__"):
        monkeypatch.setattr(h5py.Dataset, name, read)


def _copy(run: Path, to: Path) -> Path:
    return Path(shutil.copytree(run, to))


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_checkpoint_is_refused_before_it_is_read(tmp_path, run, what, request):
    change, patch = HOSTILE[what]
    newest = checkpoint.list_checkpoints(_copy(run, tmp_path / "run") / "ckpt")[-1]
    path = _tampered(newest, change, CHECKPOINT, patch)
    request.getfixturevalue("nothing_is_read")
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_segment_is_refused_before_it_is_read(tmp_path, run, what, monkeypatch, request):
    change, patch = HOSTILE[what]
    path = _copy(run, tmp_path / "run")
    segment = _tampered(trajectory.segments(path)[0], change, SEGMENT, patch)
    there = sorted(path.rglob("*"))
    with monkeypatch.context():
        request.getfixturevalue("nothing_is_read")
        for reader in READERS.values():
            with pytest.raises(CheckpointError) as caught:
                reader(path, segment)
            assert str(segment) in str(caught.value)
    monkeypatch.undo()
    assert sorted(path.rglob("*")) == there
    answers = {answer.what: answer for answer in verify.verify(path)}
    assert not answers[f"traj/{segment.name}"].passed


def _attributes(file: h5py.File, place: str) -> None:
    for k in range(3000):
        file[place].attrs[f"a{k}"] = "text"


def _long_name(file: h5py.File, place: str) -> None:
    file[place.rpartition("/")[0]].create_group("n" * 60_000)


def _many_groups(file: h5py.File, place: str) -> None:
    for k in range(5000):
        file.create_group(f"{place.split('/')[0]}/g{k}")


BULKY = {"three thousand attributes": _attributes, "a long name": _long_name, "many groups": _many_groups}


@pytest.mark.parametrize("what", BULKY)
def test_what_is_only_bulky_changes_no_number(tmp_path, run, what):
    path = _copy(run, tmp_path / "run")
    newest = checkpoint.list_checkpoints(path / "ckpt")[-1]
    before = checkpoint.load(newest)
    assert _same(checkpoint.load(_tampered(newest, BULKY[what], CHECKPOINT)), before)
    _tampered(trajectory.segments(path)[0], BULKY[what], SEGMENT)
    assert trajectory.names(path) == trajectory.names(run)
    np.testing.assert_array_equal(
        trajectory.series(path, "observables/total").value, 0.5 * np.arange(1, ROWS + 4)
    )


def _put(name: str, what) -> Callable[[h5py.File, str], None]:
    def change(file: h5py.File, place: str) -> None:
        file.pop(name, None)
        file[name] = what

    return change


MISSHAPED = {
    "no step": lambda file, place: file.__delitem__("observables/total/step"),
    "a value that is a group": lambda file, place: (file.pop(place), file.create_group(place)),
    "fewer steps": _put("observables/total/step", np.arange(3)),
    "a number as a series": _put(SEGMENT, np.float64(1)),
    "lists that are an array": _put("connectivity", np.arange(3)),
    "grids that are an array": _put("grids", np.arange(3)),
    "a grid without a shape": lambda file, place: file.create_group("grids/canvas"),
    "a unit that is an array": lambda file, place: file[place].attrs.__setitem__("unit_si", np.arange(3.0)),
}


@pytest.mark.parametrize("what", MISSHAPED)
def test_a_misshaped_segment_is_refused_or_read_as_it_is(tmp_path, run, what):
    """And nothing but CheckpointError comes out of it."""
    path = _copy(run, tmp_path / "run")
    segment = _tampered(trajectory.segments(path)[0], MISSHAPED[what], SEGMENT)
    refused = 0
    for reader in READERS.values():
        try:
            reader(path, segment)
        except CheckpointError as error:
            refused += str(segment) in str(error)
        except UserError:
            pass
    assert refused
    list(verify.verify(path))
