"""Measurements of a field at given times, from a CSV table or from a trajectory file.

    # Jupiter, seen from the Sun                    /particles/all/position/time   [T]
    time, x, y, z                                   /particles/all/position/value  [T, N, d]
    0, 4.84, -1.16, -0.10

A table for several nodes has a column `node`, with the node's name or number; a table for the members of an
ensemble has a column `member`. Vectors are in columns x, y, z,
or vx, vy, vz for a field v; scalars in the column with the field's name. Trajectory files are not
trusted: only two plain arrays are read, without links, filters or data in other files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import h5py
import numpy as np

from ..errors import CheckpointError, UserError
from . import h5md, hdf5_trust
from .csv_table import CsvTable

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
SEGMENTS = "for a run, name a segment in traj/; measurements are"


@dataclass(frozen=True)
class Wanted:
    """The measurements to read: a field, its label in trajectories, the shape of one value, and the nodes.

    `nodes` by number, out of `count`; `names` of all nodes, if they have names. `member`: of an ensemble.
    """

    field: str
    label: str
    shape: tuple[int, ...]
    nodes: Sequence[int]
    count: int
    names: Sequence[str] = ()
    member: int | None = None


@dataclass(frozen=True)
class Measurements:
    """Measurements: times (T,), values (T, E, ...) of E nodes, and each time's place in the file.

    `time_unit` and `unit` are the sizes of the units in SI, or None if the file does not give them.
    """

    times: np.ndarray
    values: np.ndarray
    places: list[str]
    time_unit: float | None = None
    unit: float | None = None


def read_measurements(file: str, data: bytes, wanted: Wanted) -> Measurements:
    """The measurements of a field in a file. Raises `UserError` if it is unreadable or does not fit."""
    return (_of_trajectory if data.startswith(_SIGNATURE) else _of_table)(file, data, wanted)


def _of_table(file: str, data: bytes, wanted: Wanted) -> Measurements:
    table = _of_member(file, data, wanted.member)
    values = np.stack([table.numbers(c) for c in _value_columns(table, wanted)], axis=1)
    times, first, moment = np.unique(table.numbers("time"), return_index=True, return_inverse=True)
    rows = _node_rows(table, wanted)
    found = np.full((len(times), len(wanted.nodes), values.shape[1]), np.nan)
    for place, m, row, value in zip(table.places, moment, rows, values, strict=True):
        if not np.isnan(found[m, row, 0]):
            raise UserError(f"{place}: time {times[m]:.10g} appears twice; remove one row")
        found[m, row] = value
    places = [table.places[k] for k in first]
    if (lacking := np.argwhere(np.isnan(found[:, :, 0]))).size:
        m, row = lacking[0]
        node = _node_name(wanted, wanted.nodes[row])
        raise UserError(f"{places[m]}: node {node} is missing at time {times[m]:.10g}; add a row")
    return Measurements(times, found.reshape(*found.shape[:2], *wanted.shape), places)


def _of_member(file: str, data: bytes, member: int | None) -> CsvTable:
    """The rows of a member, where a table has a column of members; else all."""
    parts = _table_parts(file, data)
    if isinstance(parts, CsvTable):
        return parts
    if member is None:
        raise UserError(
            f"{file}: has a column 'member', got a scene without [ensemble]; add it, or leave the column out"
        )
    if member not in parts:
        raise UserError(f"{file}: needs rows of member {member}, got none; add them")
    return parts[member]


@lru_cache(maxsize=4)
def _table_parts(file: str, data: bytes) -> CsvTable | dict[int, CsvTable]:
    """A table, or the rows of each member; kept, because every member asks for its own."""
    table = CsvTable(file, data)
    return table.parts("member") if "member" in table.columns else table


def _value_columns(table: CsvTable, wanted: Wanted) -> list[str]:
    """The columns of one value's components."""
    if not wanted.shape:
        return [wanted.field]
    if wanted.shape[0] > 3:
        text = f"field '{wanted.field}': a table has at most 3 components, got {wanted.shape[0]}"
        raise UserError(f"{table.file}: {text}; write a trajectory in HDF5")
    axes = "xyz"[: wanted.shape[0]]
    plain, own = list(axes), [f"{wanted.field}{axis}" for axis in axes]
    return own if own[0] in table.columns else plain


def _node_rows(table: CsvTable, wanted: Wanted) -> list[int]:
    """For each row, the position of its node in `wanted.nodes`."""
    if "node" not in table.columns:
        if len(wanted.nodes) > 1:
            raise UserError(
                f"{table.file}: needs a column 'node' for {len(wanted.nodes)} nodes;"
                " add it, or limit the loss to one with `body`"
            )
        return [0] * len(table)
    row_of = {str(node): row for row, node in enumerate(wanted.nodes)}
    row_of |= {wanted.names[node]: row for row, node in enumerate(wanted.nodes) if wanted.names}
    texts = table.texts("node")
    for place, text in zip(table.places, texts, strict=True):
        if text not in row_of:
            raise UserError(
                f"{place}: column 'node': must be a node of the loss, got '{text}'"
                f" (there are: {_some_names(wanted)})"
            )
    return [row_of[text] for text in texts]


def _some_names(wanted: Wanted) -> str:
    names = [_node_name(wanted, node) for node in wanted.nodes]
    return ", ".join(names if len(names) < 9 else [*names[:4], "...", names[-1]])


def _node_name(wanted: Wanted, node: int) -> str:
    return wanted.names[node] if wanted.names else str(node)


def _of_trajectory(file: str, data: bytes, wanted: Wanted) -> Measurements:
    try:
        with hdf5_trust.open_bytes(data) as opened:
            found = _measurements_of(opened, len(data), wanted)
    except UserError as error:
        raise UserError(f"'{file}': {error}") from None
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise UserError(f"'{file}': not a readable HDF5 file: {error}") from None
    return replace(found, places=[f"'{file}', {place}" for place in found.places])


def _measurements_of(opened: h5py.File, size: int, wanted: Wanted) -> Measurements:
    name = f"{h5md.FRAMES}/{wanted.label}"
    time, value = (plain_dataset(opened, f"{name}/{leaf}", size, SEGMENTS) for leaf in ("time", "value"))
    shape = (len(time), wanted.count, *wanted.shape) if time.ndim == 1 else None
    if value.shape != shape or not time.size:
        raise UserError(
            f"{name}/value: needs shape [times, {wanted.count}, ...], like the field '{wanted.field}',"
            f" and one time for each row, got {list(value.shape)} and {list(time.shape)} times"
        )
    times, values = time[...].astype(np.float64), value[...][:, list(wanted.nodes)].astype(np.float64)
    places = [f"row {k}" for k in range(len(times))]
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1) & np.isfinite(times)
    if not finite.all():
        raise UserError(f"{places[int(np.argmin(finite))]}: contains NaN or infinity")
    return Measurements(times, values, places, _size_in_si(time), _size_in_si(value))


def plain_dataset(opened: h5py.File, path: str, size: int, who: str) -> h5py.Dataset:
    """A dataset of numbers stored in this file, reached without links.

    size: that of the file. who: the words before "plain arrays only" in a message. Raises `UserError` if it
    is missing, and `CheckpointError` for one that is not to be trusted.
    """
    item, before = opened, ""
    for part in path.split("/"):
        there = sorted(item) if isinstance(item, h5py.Group) else []
        if part not in there:
            raise UserError(f"has no '{path}' (in '{before}/' there are: {', '.join(there) or 'none'})")
        before = f"{before}/{part}"
        if type(item.get(part, getlink=True)) is not h5py.HardLink:
            raise CheckpointError(
                f"'{before}' is a link; do not trust it, or copy the linked data into the file"
            )
        item = item[part]
    hdf5_trust.refuse_strange(path, item, who)
    if item.nbytes > size:
        raise CheckpointError(f"'{path}' claims more bytes than the file has; do not trust it")
    return item


def _size_in_si(item: h5py.Dataset) -> float | None:
    unit = h5md.unit_of(item)
    return None if unit is None else unit[1]
