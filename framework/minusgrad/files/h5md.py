"""The layout of trajectory files: H5MD 1.1, with our own groups `cells` and `grids`.

    /h5md                                         version int32[2]; author, creator
    /particles/all/box                            dimension, boundary ("periodic" or "none" by axis)
    /particles/all/box/edges/step, time, value    edge vectors of a periodic box, in rows, value [T, d, d]
    /particles/all/<label> [N]                    constants of the nodes, such as `member` of an ensemble
    /particles/all/<label>/step, time, value      frames: one array per node, value [T, N, ...]
    /observables/<name>/step, time, value         scalars and small vectors of the system, value [T, ...]
    /connectivity/<list> [E, k]                   int32 nodes of E tuples; particles_group -> /particles/all
    /looks/<list> [E, 2 or 1]                     what tuples look like (`looks`); shape, frames
    /cells/<list>/<label>/step, time, value       one array per tuple of that list, value [T, E, ...]
    /upright/position, velocity, force, edges, rotation    step, time, value: copies (`upright_frames`)
    /grids/<grid>                                 shape int64[d]; spacing float64, with its unit
    /grids/<grid>/<label>/step, time, value       one value per cell, value [T, *shape, ...]

Step and time have shape [T]. Each value, time and spacing has its unit in the attributes `unit_symbol` and
`unit_si` (its size in SI). H5MD's own `unit` is written only for the few symbols that MDAnalysis reads; it
refuses the file for any other. `master_file` says where the master differs.
Nothing here depends on the time of day. Source: H5MD 1.1, nongnu.org/h5md.

Decisions 0236, 0237.
"""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from math import prod
from typing import NamedTuple

import h5py
import numpy as np

from .frames.looks import ListLook

FRAMES, OBSERVABLES, CELLS, CONNECTIVITY = "particles/all", "observables", "cells", "connectivity"
GRIDS, LOOKS = "grids", "looks"
UPRIGHT = "upright"
"""Copies of frames for other programs (`upright_frames`)."""
VERSION = (1, 1)
POSITION = f"{FRAMES}/position"
VELOCITY = f"{FRAMES}/velocity"
BOX = f"{FRAMES}/box"
EDGES = f"{BOX}/edges"
LEAVES = ("step", "time", "value")
_version = cache(version)
_RESERVED = {"", ".", "..", *LEAVES}
_MDANALYSIS = {"Angstrom", "nm", "pm", "fm", "ps", "fs", "ns", "s"}
Unit = tuple[str, float]
_NOTATION = {
    "position": {"angstrom": "Angstrom"},
    "velocity": {
        "nm ps^-1": "nm ps-1",
        "nm ns^-1": "nm ns-1",
        "pm ps^-1": "pm ps-1",
        "m s^-1": "m s-1",
        "angstrom ps^-1": "Angstrom ps-1",
        "angstrom fs^-1": "Angstrom fs-1",
    },
    "force": {"nm u ps^-2": "kJ mol-1 nm-1", "m kg s^-2": "N"},
}
"""Our unit symbols in H5MD's notation, by label, where MDAnalysis 2.11 has the unit (`H5MDReader`)."""


class Raster(NamedTuple):
    """A grid: number of cells along each axis, x last; the first cell is centred at the origin."""

    shape: tuple[int, ...]
    spacing: float
    unit: Unit | None

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def edges(self) -> list[tuple[float, float]]:
        """The first and last coordinate of the grid along each axis, in the order of the shape."""
        return [(-0.5 * self.spacing, (count - 0.5) * self.spacing) for count in self.shape]


def is_free(name: str) -> bool:
    """True if a series or a list may have this name: no part is empty, dots, or reserved by the layout."""
    return not _RESERVED & set(name.split("/")) and name != BOX


def is_of_nodes(name: str) -> bool:
    """True for a series with a value for each node."""
    return name.startswith(f"{FRAMES}/") and name != EDGES


def label(name: str) -> str:
    """The name of a series without its group.

    `potential/gravity` of `observables/potential/gravity`, `energy_density` of `cells/beam/energy_density`.
    """
    if list_of(name) or grid_of(name):
        return name.split("/", 2)[2]
    return name.removeprefix(FRAMES + "/").removeprefix(OBSERVABLES + "/")


def list_of(name: str) -> str:
    """`beam` of `cells/beam/energy_density`; empty for a series that is not of tuples."""
    return name.split("/", 2)[1] if name.startswith(CELLS + "/") else ""


def grid_of(name: str) -> str:
    """`canvas` of `grids/canvas/dose`; empty for a series that is not over a grid."""
    return name.split("/", 2)[1] if name.startswith(GRIDS + "/") else ""


def series_in(file: h5py.File) -> list[str]:
    """The series of one file: every group that holds a `value`, but for copies of frames."""
    found: list[str] = []
    file.visit(lambda path: found.append(path.removesuffix("/value")) if path.endswith("/value") else None)
    return sorted(name for name in found if not name.startswith(f"{UPRIGHT}/"))


def copies_in(file: h5py.File) -> list[str]:
    """The copies of frames of one file, whose boxes stand upright."""
    return [f"{UPRIGHT}/{label}" for label in sorted(file.get(UPRIGHT, ()))]


def constants_in(file: h5py.File) -> list[str]:
    """The labels of the arrays over nodes that do not change, of one file."""
    group = file.get(FRAMES, {})
    return sorted(name for name in group if isinstance(group[name], h5py.Dataset))


def lists_in(file: h5py.File) -> list[str]:
    """The lists of tuples of one file."""
    return sorted(file.get(CONNECTIVITY, ()))


def grids_in(file: h5py.File) -> dict[str, Raster]:
    """The grids of one file."""
    return {name: _read_raster(group) for name, group in sorted(file.get(GRIDS, {}).items())}


def looks_in(file: h5py.File) -> dict[str, ListLook]:
    """What the tuples of lists of one file look like."""
    return {name: _read_look(array) for name, array in sorted(file.get(LOOKS, {}).items())}


def write_look(file: h5py.File, name: str, look: ListLook) -> None:
    """Write what the tuples of a list look like."""
    array = file.create_dataset(f"{LOOKS}/{name}", data=np.asarray(look.sizes, np.float64))
    array.attrs["shape"], array.attrs["frames"] = np.bytes_(look.shape), np.bytes_(look.frames.encode())
    write_unit(array, look.unit)


def _read_look(array: h5py.Dataset) -> ListLook:
    return ListLook(
        bytes(array.attrs["shape"]).decode(),
        array[...],
        bytes(array.attrs["frames"]).decode(),
        unit_of(array),
    )


def write_head(file: h5py.File, dimension: int, periodic: Sequence[bool] = ()) -> None:
    """Write the H5MD header: version, author, creator, and a box of this dimension.

    periodic: whether it repeats along each axis; the others are unbounded.
    """
    head = file.create_group("h5md")
    head.attrs["version"] = np.array(VERSION, np.int32)
    head.create_group("author").attrs["name"] = np.bytes_("minusgrad")
    creator = head.create_group("creator")
    creator.attrs["name"] = np.bytes_("minusgrad")
    creator.attrs["version"] = np.bytes_(_version("minusgrad"))
    box = file.create_group(BOX)
    box.attrs["dimension"] = np.int32(dimension)
    repeats = [*periodic, *[False] * dimension][:dimension]
    box.attrs["boundary"] = np.array([b"periodic" if one else b"none" for one in repeats])


def periodic_in(file: h5py.File) -> tuple[bool, ...]:
    """Whether the box of one file repeats along each axis; empty if it repeats along none."""
    found = tuple(bytes(one) == b"periodic" for one in file[BOX].attrs["boundary"])
    return found if any(found) else ()


def share_clock(file: h5py.File, owner: str, name: str) -> None:
    """Give a series the step and time of another, as hard links."""
    for leaf in ("step", "time"):
        file[f"{name}/{leaf}"] = file[f"{owner}/{leaf}"]


def refer(file: h5py.File, tuples: h5py.Dataset) -> None:
    """Mark the numbers in a list of tuples as indices of all particles, counted from 0."""
    tuples.attrs["particles_group"] = file[FRAMES].ref


def write_raster(file: h5py.File, name: str, raster: Raster) -> None:
    """Write shape, spacing and unit of a grid."""
    group = file.require_group(f"{GRIDS}/{name}")
    group.attrs["shape"] = np.array(raster.shape, np.int64)
    group.attrs["spacing"] = np.float64(raster.spacing)
    write_unit(group, raster.unit)


def _read_raster(group: h5py.Group) -> Raster:
    """Read a grid written by `write_raster`."""
    return Raster(tuple(group.attrs["shape"].tolist()), float(group.attrs["spacing"]), unit_of(group))


def write_unit(dataset: h5py.Dataset | h5py.Group, unit: Unit | None) -> None:
    """Write the unit of a dataset, if it has one."""
    if unit is None:
        return
    symbol, size = unit
    dataset.attrs["unit_symbol"] = symbol
    dataset.attrs["unit_si"] = np.float64(size)
    if symbol in _MDANALYSIS:
        dataset.attrs.create("unit", symbol, dtype=h5py.string_dtype("ascii"))


def write_notation(dataset: h5py.Dataset, label: str, unit: Unit | None) -> None:
    """Write the attribute `unit` of positions, velocities or forces in H5MD's notation, if there is one."""
    if unit is not None and (text := _NOTATION[label].get(unit[0])):
        dataset.attrs.create("unit", text, dtype=h5py.string_dtype("ascii"))


def unit_of(dataset: h5py.Dataset | h5py.Group) -> Unit | None:
    """Read a unit written by `write_unit`; None if there is none."""
    if "unit_si" not in dataset.attrs:
        return None
    return str(dataset.attrs["unit_symbol"]), float(dataset.attrs["unit_si"])
