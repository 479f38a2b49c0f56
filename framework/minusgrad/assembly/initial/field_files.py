"""Values of one field in a file: CSV, HDF5, .npy or .npz, recognised by its first bytes.

Files are not trusted: arrays of plain numbers are read, without links, filters, pickles or other files.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import h5py
import numpy as np

from ...errors import UserError, printable
from ...files import h5md, hdf5_trust
from ...files.bounded import numpy_files
from ...files.csv_table import CsvTable
from ...files.measurements import plain_dataset

HDF5 = b"\x89HDF\r\n\x1a\n"
AXES = "xyz"


@dataclass(frozen=True)
class WantedField:
    """Values of a field to read, (rows, *shape). data, columns: as in `initial_table.FieldFile`."""

    field: str
    rows: int
    shape: tuple[int, ...]
    data: str | None = None
    columns: str | Sequence[str] | None = None


@dataclass(frozen=True)
class Found:
    """Values (rows, *shape), and the unit that the file gives them, if it does: its symbol in the file."""

    values: np.ndarray
    unit: str | None = None


def read(file: str, content: bytes, wanted: WantedField) -> Found:
    """The values of a field. Raises `UserError` if the file is unreadable or does not fit."""
    if content.startswith(HDF5):
        found = _of_hdf5(file, content, wanted)
    elif content.startswith((numpy_files.NPY, numpy_files.NPZ)):
        found = Found(_of_numpy(file, content, wanted))
    else:
        found = Found(_of_table(file, content, wanted))
    if wanted.columns is not None and content.startswith((HDF5, numpy_files.NPY, numpy_files.NPZ)):
        raise UserError(f"'{file}': is no table, got `columns`; name the array by `data`")
    needed = (wanted.rows, *wanted.shape)
    if found.values.shape != needed:
        raise UserError(
            f"'{file}': has values of shape {list(found.values.shape)}, '{wanted.field}' needs"
            f" {list(needed)}: one value for each node"
        )
    if not (finite := np.isfinite(found.values).reshape(wanted.rows, -1).all(axis=1)).all():
        raise UserError(f"'{file}': node {int(np.argmin(finite))} has NaN or infinity; correct it")
    return found


def _of_table(file: str, content: bytes, wanted: WantedField) -> np.ndarray:
    if wanted.data is not None:
        raise UserError(f"'{file}': is a table, got `data`; name its columns by `columns`")
    if len(wanted.shape) > 1 or (wanted.shape and wanted.columns is None and wanted.shape[0] > len(AXES)):
        raise UserError(
            f"'{file}': a value of '{wanted.field}' has shape {list(wanted.shape)}; use HDF5 or .npy,"
            " or name a column for each component of a vector"
        )
    table = CsvTable(file, content)
    names = _columns(table, wanted)
    if len(names) != (count := int(np.prod(wanted.shape))):
        raise UserError(
            f"'{file}': needs {count} columns for '{wanted.field}', got {len(names)}: {', '.join(names)}"
        )
    values = np.stack([table.numbers(name) for name in names], axis=1)
    if len(values) != wanted.rows:
        raise UserError(
            f"'{file}': has {len(values)} rows, '{wanted.field}' needs {wanted.rows}: one for each node"
        )
    return values.reshape(wanted.rows, *wanted.shape)


def _columns(table: CsvTable, wanted: WantedField) -> list[str]:
    if wanted.columns is not None:
        return [wanted.columns] if isinstance(wanted.columns, str) else list(wanted.columns)
    if not wanted.shape:
        return [wanted.field]
    plain = list(AXES[: wanted.shape[0]])
    own = [f"{wanted.field}{axis}" for axis in plain]
    there = [names for names in (own, plain) if set(names) <= set(table.columns)]
    if not there:
        raise UserError(
            f"'{table.file}': needs columns {', '.join(own)} or {', '.join(plain)} for '{wanted.field}', got"
            f" {', '.join(table.columns)}; name them by `columns`"
        )
    return there[0]


def _of_hdf5(file: str, content: bytes, wanted: WantedField) -> Found:
    path = (wanted.data or wanted.field).strip("/")
    try:
        with hdf5_trust.open_bytes(content) as opened:
            item = plain_dataset(opened, path, len(content), "initial values are")
            return Found(item[...].astype(np.float64), _unit(item))
    except UserError as error:
        raise UserError(f"'{file}': {error}") from None
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise UserError(f"'{file}': not a readable HDF5 file: {error}") from None


def _unit(item: h5py.Dataset) -> str | None:
    """The unit symbol of a dataset of ours; None if it has none."""
    unit = h5md.unit_of(item)
    return None if unit is None else unit[0]


def _of_numpy(file: str, content: bytes, wanted: WantedField) -> np.ndarray:
    try:
        if content.startswith(numpy_files.NPY):
            if wanted.data is not None:
                raise UserError(f"'{file}': has one array, got `data`; leave it out")
            values = numpy_files.array(content)
        else:
            name = wanted.data or wanted.field
            values = numpy_files.member(content, name, f"'{file}': array '{name}'")
    except KeyError as error:
        raise UserError(f"'{file}': {error.args[0]}; name it by `data`") from None
    except ValueError as error:
        raise UserError(
            f"'{file}': not a readable NumPy file: {printable(str(error), 400)}; save it again"
        ) from None
    if not hdf5_trust.is_plain(values.dtype):
        raise UserError(f"'{file}': needs an array of numbers, got {values.dtype}; convert it")
    return values.astype(np.float64)
