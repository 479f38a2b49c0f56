"""Arrays of a state in an HDF5 file: equal arrays give equal bytes, so that the file's hash is stable.

    fields/x, fields/m            a value for each node, (n, ...)
    tuples/bonds                  a list of elements, (E, k) numbers of nodes
    images/bonds                  copies of these nodes in a periodic box, (E, k, d), of pairs also (E, d)
    data/bonds/rest               a value for each of its elements, (E, ...)
    bodies/left                   the numbers of the nodes of a body, (b,)
    tables/knots                  constants

The attribute `unit` of a field or of data is the unit of its numbers, "km"; without it they are in the units
of the scene.

Decisions 0397.
"""

from collections.abc import Mapping
from typing import NamedTuple

import h5py
import numpy as np

from ...errors import CheckpointError, UserError, unknown
from ...files import hdf5_layout, hdf5_trust
from ...files.bounded.atom_signs import refuse_atoms

GROUPS = ("fields", "tuples", "images", "data", "bodies", "tables")


class Stored(NamedTuple):
    """An array, and the unit of its numbers; "" for that of the scene."""

    values: np.ndarray
    unit: str = ""


def written(arrays: Mapping[str, Stored]) -> bytes:
    """The bytes of a file with these arrays, by their paths, such as "fields/x"."""

    def fill(draft: hdf5_layout.Draft) -> None:
        for path, (values, unit) in sorted(arrays.items()):
            made = draft.array(path, [values], values.shape, values.dtype)
            if unit:
                made.attrs["unit"] = unit

    return b"".join(map(bytes, hdf5_layout.laid_out(fill)))


def read(name: str, data: bytes) -> dict[str, Stored]:
    """The arrays of a file, by their paths.

    Raises `UserError` for bytes that are no such file, unknown groups, and numbers that are not finite.
    """
    refuse_atoms(name, data, "arrays (HDF5)")
    try:
        with hdf5_trust.open_bytes(data) as file:
            found = hdf5_trust.arrays(file, len(data), "a file of arrays")
            arrays = {path: Stored(one[...], _unit(one)) for path, one in found.items()}
    except CheckpointError as error:
        raise UserError(f"'{name}': {error}") from None
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise UserError(f"'{name}': is no HDF5 file ({error}); write one with h5py") from None
    for path, (values, _) in arrays.items():
        if (group := path.partition("/")[0]) not in GROUPS or "/" not in path:
            raise UserError(f"'{name}': {unknown('group', group, GROUPS)}")
        if values.dtype.kind == "f" and (bad := np.argwhere(~np.isfinite(values))).size:
            where = ", ".join(map(str, bad[0]))
            raise UserError(
                f"'{name}': {path}: needs finite numbers, got {values[tuple(bad[0])]} at [{where}]; correct"
                " it"
            )
    return arrays


def _unit(dataset: h5py.Dataset) -> str:
    found = dataset.attrs.get("unit", "")
    return found.decode() if isinstance(found, bytes) else str(found)
