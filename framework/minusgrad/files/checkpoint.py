"""Checkpoints: immutable files from which a run continues bit for bit.

    000000000600.<16 hex>.h5    attrs  format, version int32[2], step, time, dt
      /arrays/...               one dataset per array; attr unit
      /scene, /meta             uint8: the scene's exact bytes; a JSON text
      /sha256                   uint8 (n + 1, 32): of each array (dtype, shape, bytes), in the order of names;
                                last of step, time, dt, names, units, scene, meta and these

This hash of the content does not depend on the version of HDF5. Of an array of at least 1 MiB the digests of
its blocks are hashed in place of its bytes, as in the file's own hash (`block_hashes`), so that each byte is
hashed once. (Format 2 hashed the bytes of each array, and format 1 stored these hashes in attributes.)
Names are `<step>` for a scheduled checkpoint, `<step>.interrupted` for one that a signal or a time limit
caused, and `<step>.interim` for one by the clock; the step has 12 digits, from 10^12 on more.

A file from elsewhere is hostile: its hash is checked before HDF5 is called, and links, external or virtual
storage, filters and object types are refused before any data is read.

Decisions 0230, 0231.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..errors import CheckpointError
from . import durable, hdf5_trust
from .hashes import block_hashes
from .hdf5_layout import Draft, Hashed, Later, laid_out, raw
from .held import facts, held_folders
from .held.json_text import parse_json

FORMAT = "minusgrad checkpoint"
VERSION = (3, 0)
READS = {1, 2, 3}
"""The major versions that can be read; 3 is written."""
INTERRUPTED, INTERIM = "interrupted", "interim"
_NAME = re.compile(r"(?P<step>\d{12,})(?P<unscheduled>\.interrupted|\.interim)?")
_PART = re.compile(r"(?!\.+$)[^/\0-\x1f]+")
_ROOT = {"arrays", "scene", "meta", "sha256"}


@dataclass(frozen=True)
class Snapshot:
    """One moment of a run.

    step counts from 0; time and dt in the scene's unit of time; arrays by slash name (`fields/x`,
    `stepper/gradient/x`); units of some of these arrays; scene: the text the run was started with; meta:
    plain nested JSON data. Neither may hold wall-clock times: an identical state must give identical bytes.
    """

    step: int
    time: float
    dt: float
    arrays: dict[str, np.ndarray]
    units: dict[str, str] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    scene: bytes = b""

    def arrays_under(self, folder: str) -> dict[str, np.ndarray]:
        """The arrays below a name, by the rest of their names: `under("fields")["x"]`."""
        start = folder.rstrip("/") + "/"
        return {name.removeprefix(start): a for name, a in self.arrays.items() if name.startswith(start)}


def save(folder: Path, snapshot: Snapshot, kind: str = "") -> Path:
    """Write the snapshot; returns only when it is safe on disk.

    kind: "" for a scheduled checkpoint, else INTERRUPTED or INTERIM.

    Raises ValueError for contents that a checkpoint cannot hold (object arrays, names with empty or dotted
    parts, units without an array) and RunFailedError if writing fails.
    """
    for name in snapshot.arrays:
        if not all(map(_PART.fullmatch, name.split("/"))):
            raise ValueError(f"{name!r}: not a name for an array")
    if foreign := sorted(snapshot.units.keys() - snapshot.arrays.keys()):
        raise ValueError(f"units for missing arrays: {', '.join(foreign)}")
    stem = f"{snapshot.step:012d}" + f".{kind}" * bool(kind)
    with block_hashes.threads() as beside:
        return durable.write_new(folder, stem, laid_out(lambda draft: _fill_draft(draft, snapshot, beside)))


def load(path: Path) -> Snapshot:
    """Read a checkpoint, which may be damaged or hostile. Raises CheckpointError."""
    return decode_checkpoint(path, durable.verified_bytes(path))


def decode_checkpoint(path: Path, data: bytes) -> Snapshot:
    """The checkpoint in the bytes of a file, of which `path` is the name. Raises CheckpointError."""
    try:
        with hdf5_trust.open_bytes(data) as file:
            return _read_snapshot(file, len(data))
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise CheckpointError(f"{path}: not a readable checkpoint: {error}") from error


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a folder in the order of their steps, by name alone; some may be damaged."""
    found = [path for path in held_folders.files(folder, ".h5") if _NAME.fullmatch(durable.stem(path))]
    return sorted(found, key=lambda path: (step_of(path), is_scheduled(path), path.name))


def step_of(path: Path) -> int:
    """The step in a checkpoint's name."""
    return int(durable.stem(path).split(".")[0])


def is_scheduled(path: Path) -> bool:
    """False for the checkpoint of an interruption, or by the clock."""
    return not durable.stem(path).endswith((f".{INTERRUPTED}", f".{INTERIM}"))


def is_interim(path: Path) -> bool:
    """True for a checkpoint by the clock."""
    return durable.stem(path).endswith(f".{INTERIM}")


def newest(folder: Path) -> tuple[Path | None, list[str]]:
    """The newest undamaged checkpoint, and a remark about each newer one that was skipped."""
    remarks: list[str] = []
    return next(undamaged_checkpoints(folder, remarks), None), remarks


def undamaged_checkpoints(folder: Path, remarks: list[str]) -> Iterator[Path]:
    """The undamaged checkpoints, the newest first; `remarks` get one about each that is skipped."""
    todo = list_checkpoints(folder)
    while todo:
        path = todo.pop()
        try:
            durable.check(path)
        except CheckpointError as error:
            if held_folders.status(path) is not None:
                remarks.append(f"skipped: {error}")
            else:  # a running run has replaced it
                todo = list_checkpoints(folder)
        else:
            yield path


def prune(folder: Path, keep: int, keep_every: int = 0) -> list[Path]:
    """Delete scheduled checkpoints, except the newest `keep` >= 1 and those at multiples of `keep_every`.

    Unscheduled checkpoints are not touched. Returns the deleted paths.
    """
    if keep < 1:
        raise ValueError(f"keep: a run must keep at least one checkpoint, got {keep}")
    older = list(filter(is_scheduled, list_checkpoints(folder)))[:-keep]
    dropped = [path for path in older if not keep_every or step_of(path) % keep_every]
    for path in dropped:
        durable.remove(path)
    return dropped


def sums(snapshot: Snapshot) -> dict[str, bytes]:
    """SHA-256 of each array's dtype, shape and bytes, by name; under "" that of the rest and these hashes."""
    with block_hashes.threads() as beside:
        digests = {name: _block_digests(array, beside) for name, array in snapshot.arrays.items()}
        return _array_sums(snapshot, digests)


def _array_sums(snapshot: Snapshot, digests: "Mapping[str, list[Future[bytes]]]") -> dict[str, bytes]:
    """digests: of the arrays that are hashed by blocks."""
    arrays = snapshot.arrays
    found = {name: _logical_sha(arrays[name], digests.get(name)) for name in sorted(arrays)}
    head = [int(snapshot.step), _hex_of_float(snapshot.time), _hex_of_float(snapshot.dt), sorted(found)]
    rest = hashlib.sha256(json.dumps([*head, snapshot.units, snapshot.meta], sort_keys=True).encode())
    rest.update(hashlib.sha256(snapshot.scene).digest() + b"".join(found.values()))
    return found | {"": rest.digest()}


def _hex_of_float(number: float) -> str:
    """`float.hex`, from the bits: engines may set the processor to flush subnormal numbers to zero."""
    bits = int(np.float64(number).view(np.uint64))
    exponent, fraction = bits >> 52 & 0x7FF, bits & (1 << 52) - 1
    if exponent or not fraction:
        return float(number).hex()
    return f"{'-' * (bits >> 63)}0x0.{fraction:013x}p-1022"


def _block_digests(array: np.ndarray, beside: Executor) -> "list[Future[bytes]]":
    """Of an array that is hashed by blocks; of others none."""
    return block_hashes.digests(raw(array), beside) if array.nbytes >= block_hashes.BLOCK else []


def _fill_draft(draft: Draft, snapshot: Snapshot, beside: Executor) -> None:
    file, kept, digests = draft.file, {}, {}
    file.attrs["format"] = np.bytes_(FORMAT)
    file.attrs["version"] = np.array(VERSION, np.int32)
    file.attrs["step"] = np.int64(snapshot.step)
    file.attrs["time"] = np.float64(snapshot.time)
    file.attrs["dt"] = np.float64(snapshot.dt)
    file["scene"] = np.frombuffer(snapshot.scene, np.uint8)
    file["meta"] = np.frombuffer(json.dumps(snapshot.meta, sort_keys=True).encode(), np.uint8)
    file.create_group("arrays")
    for name in sorted(snapshot.arrays):
        kept[name] = array = np.asarray(snapshot.arrays[name], order="C")
        if not hdf5_trust.is_plain(array.dtype):
            raise ValueError(f"{name}: a checkpoint holds numbers and booleans, not {array.dtype}")
        digests[name] = found = _block_digests(array, beside)
        part = Hashed(array, found) if found else array
        dataset = draft.array(f"arrays/{name}", [part], array.shape, array.dtype)
        if name in snapshot.units:
            dataset.attrs["unit"] = snapshot.units[name]
    whole, shape = replace(snapshot, arrays=kept), (len(kept) + 1, 32)
    rows = beside.submit(lambda: b"".join(_array_sums(whole, digests).values()))
    draft.array("sha256", [Later(rows, 32 * shape[0])], shape, np.dtype(np.uint8))


def _read_snapshot(file: h5py.File, size: int) -> Snapshot:
    major = _major_version(file)
    datasets = hdf5_trust.arrays(file, size, "a checkpoint")
    named = {p.removeprefix("arrays/"): d for p, d in datasets.items() if p.startswith("arrays/")}
    units = {name: str(d.attrs["unit"]) for name, d in named.items() if "unit" in d.attrs}
    meta = parse_json(datasets["meta"][...].tobytes())
    if not isinstance(meta, dict):
        raise CheckpointError("its meta is not a JSON object; it was not written by minusgrad")
    if said := facts.wrong(meta, facts.OF_CHECKPOINTS):
        raise CheckpointError(f"in its meta {said}; it was not written by minusgrad")
    step, time, dt = int(file.attrs["step"]), float(file.attrs["time"]), float(file.attrs["dt"])
    arrays = {name: dataset[...] for name, dataset in named.items()}
    found = Snapshot(step, time, dt, arrays, units, meta, datasets["scene"][...].tobytes())
    saved = _sums_of_format_1(named) if major == 1 else _saved_sums(datasets["sha256"], named)
    _compare_sums(_array_sums(found, {}) if major < 3 else sums(found), saved)
    return found


def _saved_sums(rows: h5py.Dataset, named: Iterable[str]) -> dict[str, bytes]:
    names = [*sorted(named), ""]
    if rows.shape != (len(names), 32) or rows.dtype != np.uint8:
        raise CheckpointError("needs one SHA-256 for each array and one for the rest; use another checkpoint")
    return dict(zip(names, map(bytes, rows[...]), strict=True))


def _sums_of_format_1(named: Mapping[str, h5py.Dataset]) -> dict[str, bytes]:
    return {name: bytes.fromhex(bytes(d.attrs["sha256"]).decode()) for name, d in named.items()}


def _compare_sums(found: Mapping[str, bytes], saved: Mapping[str, bytes]) -> None:
    for name, sha in saved.items():
        if found[name] != sha:
            what = f"array '{name}' does" if name else "step, time, names, units, scene or meta do"
            raise CheckpointError(f"{what} not match the SHA-256 saved with it; use another checkpoint")


def _major_version(file: h5py.File) -> int:
    """The major version of the format. Raises CheckpointError if this version cannot be read."""
    if file.attrs.get("format") != np.bytes_(FORMAT):
        raise CheckpointError(f"an HDF5 file, but not a {FORMAT}")
    major, minor = (int(number) for number in file.attrs["version"])
    if major not in READS:
        raise CheckpointError(
            f"written by format {major}, this is {VERSION[0]}: "
            "resume it with the minusgrad that wrote it, or run the scene again"
        )
    if (major, minor) <= VERSION and (unknown := sorted(set(file) - _ROOT)):
        raise CheckpointError(f"holds unknown names: {', '.join(unknown)}; it was not written by minusgrad")
    return major


def _logical_sha(array: np.ndarray, digests: "Iterable[Future[bytes]] | None" = None) -> bytes:
    """SHA-256 of dtype, shape and bytes, or the digests of these: the same with each version of HDF5."""
    found = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    if digests:
        found.update(b"".join(digest.result() for digest in digests))
    else:
        found.update(np.ascontiguousarray(array).data)
    return found.digest()
