"""A checkpoint: everything a run needs to go on exactly as if it had never stopped, in one immutable file.

    000000000600.<16 hex>.h5    attrs  format, version int32[2], step, time, dt
      /arrays/...               one dataset an array; attrs unit, sha256 of (dtype, shape, bytes)
      /scene, /meta             uint8: the scene's exact bytes; a JSON text

Names are `<12-digit step>` for a checkpoint that the schedule asked for and `<12-digit step>.interrupted`
for one that a signal or time limit did. A file from elsewhere is hostile: its hash is checked before HDF5
is called, and links, external or virtual storage, filters and object types are refused before any data is
read.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from . import durable
from .errors import CheckpointError

FORMAT = "minusgrad checkpoint"
VERSION = (1, 0)
_NAME = re.compile(r"(?P<step>\d{12})(?P<interrupted>\.interrupted)?")
_PART = re.compile(r"(?!\.+$)[^/\0-\x1f]+")
_ROOT = {"arrays", "scene", "meta"}


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

    def under(self, folder: str) -> dict[str, np.ndarray]:
        """The arrays below a name, by the rest of their names: `under("fields")["x"]`."""
        start = folder.rstrip("/") + "/"
        return {name.removeprefix(start): a for name, a in self.arrays.items() if name.startswith(start)}


def save(folder: Path, snapshot: Snapshot, scheduled: bool = True) -> Path:
    """Write the snapshot; returns only when it is safe on disk.

    Raises ValueError for what no checkpoint can hold (object arrays, names with empty or dotted parts,
    units of no array) and RunFailedError if the disk refuses.
    """
    for name in snapshot.arrays:
        if not all(map(_PART.fullmatch, name.split("/"))):
            raise ValueError(f"not a name for an array: {name!r}")
    if foreign := sorted(snapshot.units.keys() - snapshot.arrays.keys()):
        raise ValueError(f"units of arrays that are not there: {', '.join(foreign)}")
    stem = f"{snapshot.step:012d}" + ("" if scheduled else ".interrupted")
    return durable.write_new(folder, stem, durable.image(lambda file: _fill(file, snapshot)))


def load(path: Path) -> Snapshot:
    """Read a checkpoint, trusting nothing. Raises CheckpointError with what is wrong and the cure."""
    data = durable.verified(path)
    try:
        with durable.opened(data) as file:
            return _read(file, len(data))
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise CheckpointError(f"{path}: not a readable checkpoint: {error}") from error


def listed(folder: Path) -> list[Path]:
    """The checkpoints of a folder in the order of their steps, good or damaged, judged by name alone."""
    found = [path for path in folder.glob("*.h5") if _NAME.fullmatch(durable.stem(path))]
    return sorted(found, key=lambda path: (step_of(path), is_scheduled(path), path.name))


def step_of(path: Path) -> int:
    """The step in a checkpoint's name."""
    return int(durable.stem(path).split(".")[0])


def is_scheduled(path: Path) -> bool:
    """False for the checkpoint of an interruption."""
    return not durable.stem(path).endswith(".interrupted")


def newest(folder: Path) -> tuple[Path | None, list[str]]:
    """The newest checkpoint whose bytes match its name, and a remark about each newer one passed over."""
    remarks = []
    for path in reversed(listed(folder)):
        try:
            durable.verified(path)
        except CheckpointError as error:
            remarks.append(f"passed over: {error}")
        else:
            return path, remarks
    return None, remarks


def prune(folder: Path, keep: int) -> list[Path]:
    """Delete all but the newest `keep` >= 1 scheduled checkpoints; those of interruptions are not touched."""
    if keep < 1:
        raise ValueError(f"keep = {keep}: a run must keep at least one checkpoint")
    dropped = list(filter(is_scheduled, listed(folder)))[:-keep]
    for path in dropped:
        durable.remove(path)
    return dropped


def _fill(file: h5py.File, snapshot: Snapshot) -> None:
    file.attrs["format"] = np.bytes_(FORMAT)
    file.attrs["version"] = np.array(VERSION, np.int32)
    file.attrs["step"] = np.int64(snapshot.step)
    file.attrs["time"] = np.float64(snapshot.time)
    file.attrs["dt"] = np.float64(snapshot.dt)
    file["scene"] = np.frombuffer(snapshot.scene, np.uint8)
    file["meta"] = np.frombuffer(json.dumps(snapshot.meta, sort_keys=True).encode(), np.uint8)
    file.create_group("arrays")
    for name in sorted(snapshot.arrays):
        array = np.asarray(snapshot.arrays[name], order="C")
        if not _is_plain(array.dtype):
            raise ValueError(f"{name}: a checkpoint holds numbers and booleans, not {array.dtype}")
        dataset = file.create_dataset(f"arrays/{name}", data=array)
        dataset.attrs["sha256"] = np.bytes_(_logical_sha(array))
        if name in snapshot.units:
            dataset.attrs["unit"] = snapshot.units[name]


def _read(file: h5py.File, size: int) -> Snapshot:
    _check_version(file)
    datasets = dict(_walk(file, "", set()))
    places = sorted(
        (dataset.id.get_offset(), dataset.nbytes) for dataset in datasets.values() if dataset.nbytes
    )
    if any(start + length > end for (start, length), (end, _) in pairwise([*places, (size, 0)])):
        raise CheckpointError("its arrays overlap, or claim more than the file has; do not trust it")
    arrays, units = {}, {}
    for path, dataset in datasets.items():
        name = path.removeprefix("arrays/")
        if name == path:
            continue
        arrays[name] = dataset[...]
        if dataset.attrs["sha256"] != np.bytes_(_logical_sha(arrays[name])):
            raise CheckpointError(f"array '{name}' does not match its own SHA-256; use another checkpoint")
        if "unit" in dataset.attrs:
            units[name] = str(dataset.attrs["unit"])
    meta = json.loads(datasets["meta"][...].tobytes())
    if not isinstance(meta, dict):
        raise CheckpointError("its meta is no JSON object; it was not written by minusgrad")
    step, time, dt = int(file.attrs["step"]), float(file.attrs["time"]), float(file.attrs["dt"])
    return Snapshot(step, time, dt, arrays, units, meta, datasets["scene"][...].tobytes())


def _check_version(file: h5py.File) -> None:
    if file.attrs.get("format") != np.bytes_(FORMAT):
        raise CheckpointError(f"an HDF5 file, but not a {FORMAT}")
    major, minor = (int(number) for number in file.attrs["version"])
    if major != VERSION[0]:
        raise CheckpointError(
            f"written by format {major}, this is {VERSION[0]}: "
            "resume it with the minusgrad that wrote it, or start the run anew"
        )
    if minor <= VERSION[1] and (unknown := sorted(set(file) - _ROOT)):
        raise CheckpointError(f"holds unknown names: {', '.join(unknown)}; it was not written by minusgrad")


def _walk(group: h5py.Group, prefix: str, seen: set[int]) -> Iterator[tuple[str, h5py.Dataset]]:
    """Every dataset by its path, each object once, nothing read.

    Raises CheckpointError for what we never write.
    """
    for name in group:
        path = prefix + name
        if type(group.get(name, getlink=True)) is not h5py.HardLink:
            raise CheckpointError(f"'{path}' is a link; a checkpoint holds none: do not trust it")
        item = group[name]
        address = h5py.h5o.get_info(item.id).addr
        if address in seen:
            raise CheckpointError(f"'{path}' is a second name of another object: do not trust it")
        seen.add(address)
        if isinstance(item, h5py.Group):
            yield from _walk(item, path + "/", seen)
        else:
            refuse_strange(path, item, "a checkpoint holds")
            yield path, item


def refuse_strange(path: str, item: h5py.Dataset, who: str) -> None:
    """Raise CheckpointError for what is no array that holds plain numbers in one piece, by itself."""
    plan = item.id.get_create_plist() if isinstance(item, h5py.Dataset) else None
    if plan is None or not _is_plain(item.dtype):
        what = f"holds {item.dtype}" if plan else "is no array"
    elif plan.get_layout() == h5py.h5d.VIRTUAL or plan.get_external_count():
        what = "keeps its data in another file"
    elif plan.get_nfilters():
        what = "is stored through a filter"
    elif plan.get_layout() != h5py.h5d.CONTIGUOUS:
        what = "is not stored in one piece"
    elif item.id.get_storage_size() != item.nbytes:
        what = "claims more data than is stored"
    else:
        return
    raise CheckpointError(f"'{path}' {what}; {who} plain arrays only: do not trust it")


def _is_plain(dtype: np.dtype) -> bool:
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def _logical_sha(array: np.ndarray) -> str:
    """SHA-256 of dtype, shape and bytes: equal arrays compare across versions of HDF5."""
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + array.tobytes()).hexdigest()
