"""HDF5 virtual datasets over the same array of several segments.

A missing segment reads as NaN, -1 or 0.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import h5py
import numpy as np

from . import h5md
from .h5md import Unit


class Source(NamedTuple):
    """Name, shape, dtype and unit of an array in a segment; `file` is relative to the run folder."""

    file: str
    path: str
    shape: tuple[int, ...]
    dtype: np.dtype
    unit: Unit | None

    @classmethod
    def of(cls, dataset: h5py.Dataset, path: str, file: str) -> "Source":
        return cls(file, path, dataset.shape, dataset.dtype, h5md.unit_of(dataset))


def _literal_name(name: str) -> bytes:
    """A name in which HDF5 sees no pattern: in sources `%b` counts blocks."""
    return name.replace("%", "%%").encode()


def stack_parts(file: h5py.File, name: str, parts: Sequence[Source]) -> h5py.Dataset:
    """The arrays concatenated along their first axis, T."""
    first, plan = parts[0], _creation_plan(parts[0].dtype)
    total = (sum(part.shape[0] for part in parts), *first.shape[1:])
    start = 0
    for part in parts:
        here, there = h5py.h5s.create_simple(total), h5py.h5s.create_simple(part.shape)
        here.select_hyperslab((start,) + (0,) * len(part.shape[1:]), part.shape)
        plan.set_virtual(here, part.file.encode(), _literal_name(part.path), there)
        start += part.shape[0]
    dataset = _make_dataset(file, name, first.dtype, total, plan)
    h5md.write_unit(dataset, first.unit)
    return dataset


def in_space(file: h5py.File, name: str, parts: Sequence[Source], zeros: h5py.Dataset) -> h5py.Dataset:
    """Vectors (T, n, d) concatenated along T, with d < 3 padded to (T, n, 3).

    `zeros`: a dataset of zeros in this file, of shape (T, n, 3 - d).
    """
    first, plan, start = parts[0], _creation_plan(parts[0].dtype), 0
    _, nodes, width = first.shape
    total = (sum(part.shape[0] for part in parts), nodes, 3)
    for part in parts:
        here, there = h5py.h5s.create_simple(total), h5py.h5s.create_simple(part.shape)
        here.select_hyperslab((start, 0, 0), part.shape)
        plan.set_virtual(here, part.file.encode(), _literal_name(part.path), there)
        start += part.shape[0]
    here, there = h5py.h5s.create_simple(total), h5py.h5s.create_simple(zeros.shape)
    here.select_hyperslab((0, 0, width), zeros.shape)
    plan.set_virtual(here, b".", _literal_name(zeros.name), there)
    dataset = _make_dataset(file, name, first.dtype, total, plan)
    h5md.write_unit(dataset, first.unit)
    return dataset


def flatten_parts(file: h5py.File, name: str, parts: Sequence[Source]) -> h5py.Dataset:
    """Arrays of any shape, flattened and concatenated; zero where a segment is missing."""
    first, plan, start = parts[0], _creation_plan(parts[0].dtype), 0
    plan.set_fill_value(np.zeros((), first.dtype))
    total = (sum(prod(part.shape) for part in parts),)
    for part in parts:
        here, there = h5py.h5s.create_simple(total), h5py.h5s.create_simple(part.shape)
        here.select_hyperslab((start,), (prod(part.shape),))
        plan.set_virtual(here, part.file.encode(), _literal_name(part.path), there)
        start += prod(part.shape)
    return _make_dataset(file, name, first.dtype, total, plan)


class JoinedRows(NamedTuple):
    """Arrays (T, n, ...) of n rows at each time; the first has the number `start` among that time's rows."""

    start: int
    parts: Sequence[Source]


def in_rows(
    file: h5py.File, name: str, blocks: Sequence[JoinedRows], count: int, zeros: h5py.Dataset | None = None
) -> h5py.Dataset:
    """Arrays as rows, `count` for each time: (T count,), or (T count, c) for c numbers each.

    `zeros`: a dataset of T count zeros in this file, the third component of vectors in the plane.
    """
    first, plan = blocks[0].parts[0], _creation_plan(blocks[0].parts[0].dtype)
    width, scalar = prod(first.shape[2:]), len(first.shape) == 2
    padded = 3 if zeros is not None and len(first.shape) == 3 and width < 3 else width
    height = count * sum(part.shape[0] for part in blocks[0].parts)
    total = (height,) if scalar else (height, padded)
    for block in blocks:
        start = block.start
        for part in block.parts:
            here, there = h5py.h5s.create_simple(total), h5py.h5s.create_simple(part.shape)
            slab = (start, 0), (part.shape[0], 1), (count, 1), (part.shape[1], width)
            here.select_hyperslab(*(numbers[: len(total)] for numbers in slab))
            plan.set_virtual(here, part.file.encode(), _literal_name(part.path), there)
            start += count * part.shape[0]
    for column in range(width, padded):
        assert zeros is not None
        here, there = h5py.h5s.create_simple(total), h5py.h5s.create_simple(zeros.shape)
        here.select_hyperslab((0, column), (height, 1))
        there.select_hyperslab((0,), (height,))
        plan.set_virtual(here, b".", _literal_name(zeros.name), there)
    return _make_dataset(file, name, first.dtype, total, plan)


def _creation_plan(dtype: np.dtype) -> h5py.h5p.PropDCID:
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_obj_track_times(False)  # h5py.VirtualLayout would write the time of day into the file
    plan.set_fill_value(np.array({"f": np.nan, "i": -1}.get(dtype.kind, 0), dtype))
    return plan


def _make_dataset(
    file: h5py.File, name: str, dtype: np.dtype, shape: tuple[int, ...], plan: h5py.h5p.PropDCID
) -> h5py.Dataset:
    kind, space = h5py.h5t.py_create(dtype, logical=True), h5py.h5s.create_simple(shape)
    folder, last = name.rsplit("/", 1)
    return h5py.Dataset(h5py.h5d.create(file.require_group(folder).id, last.encode(), kind, space, plan))
