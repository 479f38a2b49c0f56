"""The VTKHDF 2.3 view of a trajectory, over the arrays of its H5MD view: for ParaView, PyVista and vtk.

    /VTKHDF                   attrs Version int64[2], Type
      ImageData               of a grid: WholeExtent, Origin, Spacing, Direction; CellData/<label> [T, *shape]
      UnstructuredGrid        of lists of tuples: Points, Connectivity, Offsets, Types; PointData, CellData
      PolyData                of particles: Points, Vertices; PointData
      Steps                   attr NSteps; Values: times (for a minimiser, steps); offsets

One of the three, the first that the run has: a file has one /VTKHDF, and readers fail at collections of
images that change in time (vtk 9.7). The times are those of the frames, or of the grid's first field; a
series without one of them is in the H5MD view only. Points and vectors in the plane get a third component,
zero; cells without a value get NaN. Lists with a look (`looks`) have `radius` or `thickness` in
their cells, and the series over the lines of tubes: their quaternions, and axes where they are recorded.
Source: the VTKHDF file format, docs.vtk.org.

Decisions 0236.
"""

from collections.abc import Mapping
from typing import NamedTuple

import h5py
import numpy as np

from . import h5md, virtual_datasets
from .frames.looks import ListLook
from .h5md import POSITION, Raster
from .virtual_datasets import Source

ROOT = "VTKHDF"
VERSION = (2, 3)
VERTEX, LINE, TRIANGLE, QUADRANGLE, TETRAHEDRON, HEXAHEDRON, WEDGE, PYRAMID = 1, 3, 5, 9, 10, 12, 13, 14
SHAPES = {
    (2, 1): VERTEX, (2, 2): LINE, (2, 3): TRIANGLE, (2, 4): QUADRANGLE, (2, 6): 22, (2, 8): 23, (2, 9): 28,
    (3, 1): VERTEX, (3, 2): LINE, (3, 3): TRIANGLE, (3, 4): TETRAHEDRON, (3, 5): PYRAMID, (3, 6): WEDGE,
    (3, 8): HEXAHEDRON, (3, 10): 24, (3, 20): 25, (3, 27): 29,
}  # fmt: skip
"""VTK's cell types, by (dimension, number of nodes); from 22 on those of order 2."""
_OF_NODES = ("Vertices", "Lines", "Polygons", "Strips")


class Track(NamedTuple):
    """One series of the whole run: steps, times, and the sources of its values."""

    step: np.ndarray
    time: np.ndarray
    values: list[Source]


def write(
    file: h5py.File,
    tracks: Mapping[str, Track],
    lists: Mapping[str, Source],
    grids: Mapping[str, Raster],
    looks: Mapping[str, ListLook] | None = None,
) -> None:
    """Write the /VTKHDF group, if the run has data that VTK can show."""
    able = {name: track for name, track in tracks.items() if track.values[0].dtype.kind in "iuf"}
    for name, raster in sorted(grids.items()):
        numbers = 1 + len(raster.shape)  # fields of vectors and matrices are left out
        of_grid = {n: track for n, track in able.items() if h5md.grid_of(n) == name}
        fields = {n: track for n, track in of_grid.items() if len(track.values[0].shape) == numbers}
        if fields and len(raster.shape) in (2, 3):
            return _write_image(_Sheet.of(file, next(iter(fields.values()))), raster, fields)
    position = able.get(POSITION)
    if position is None or len(position.values[0].shape) != 3:
        return None
    dimension = position.values[0].shape[2]
    able_to = {name: rows for name, rows in sorted(lists.items()) if (dimension, rows.shape[1]) in SHAPES}
    shown = {name: rows for name, rows in able_to.items() if rows.shape[0]}
    sheet = _Sheet.of(file, position)
    return (
        _write_cells(sheet, able, shown, dimension, looks or {}) if shown else _write_particles(sheet, able)
    )


class _Sheet(NamedTuple):
    """The /VTKHDF group and the times that it shows."""

    group: h5py.Group
    clock: Track

    @classmethod
    def of(cls, file: h5py.File, clock: Track) -> "_Sheet":
        sheet = cls(file.create_group(ROOT), clock)
        sheet.group.attrs["Version"] = np.array(VERSION, np.int64)
        steps = sheet.group.create_group("Steps")
        steps.attrs["NSteps"] = np.int64(len(clock.step))
        moves = bool((np.diff(clock.time) > 0).all())
        steps["Values"] = clock.time if moves else clock.step.astype(np.float64)
        return sheet

    def set_type(self, name: str) -> None:
        self.group.attrs["Type"] = np.bytes_(name)

    def rows(self, track: Track) -> np.ndarray | None:
        """The row of a series at each time; None if one is missing."""
        found = np.searchsorted(track.step, self.clock.step)
        inside = found < len(track.step)
        return found if inside.all() and (track.step[found] == self.clock.step).all() else None

    def offsets(self, kind: str, name: str, rows: np.ndarray) -> None:
        """Write the offset of each time's values."""
        self.group[f"Steps/{kind}Offsets/{name}"] = rows.astype(np.int64)

    def nothing_moves(self, name: str, columns: int = 0) -> None:
        """Write zero offsets for data that is the same at all times."""
        shape = (len(self.clock.step), columns) if columns else (len(self.clock.step),)
        self.group[f"Steps/{name}"] = np.zeros(shape, np.int64)

    def points(self, able: Mapping[str, Track]) -> int:
        """Write points and point data; returns the number of points."""
        of_nodes = {name: track for name, track in able.items() if h5md.is_of_nodes(name)}
        _, count, dimension = self.clock.values[0].shape
        zeros = None
        if dimension < 3:  # never written, so they take no room
            most = max(len(track.step) for track in of_nodes.values())
            zeros = self.group.create_dataset("zeros", (most * count,), self.clock.values[0].dtype)
        for name, track in of_nodes.items():
            rows = self.rows(track)
            if rows is None or track.values[0].shape[1] != count:
                continue
            label = _flat_name(h5md.label(name))
            place = "Points" if name == POSITION else f"PointData/{label}"
            blocks = [virtual_datasets.JoinedRows(0, track.values)]
            virtual_datasets.in_rows(self.group.file, f"{ROOT}/{place}", blocks, count, zeros)
            if name != POSITION:
                self.offsets("PointData", label, rows * count)
        self.group["NumberOfPoints"] = np.array([count], np.int64)
        self.group["Steps/NumberOfParts"] = np.ones(len(self.clock.step), np.int64)
        self.nothing_moves("PartOffsets")
        self.group["Steps/PointOffsets"] = np.arange(len(self.clock.step), dtype=np.int64) * count
        return count


def _write_image(sheet: _Sheet, raster: Raster, fields: Mapping[str, Track]) -> None:
    """Write a grid as ImageData: its first cell is centred at the origin, x is the last axis."""
    sheet.set_type("ImageData")
    ends = [end for count in reversed(raster.shape) for end in (0, count)]
    flat = 3 - len(raster.shape)
    sheet.group.attrs["WholeExtent"] = np.array(ends + [0, 0] * flat, np.int64)
    corner = [-0.5 * raster.spacing] * len(raster.shape) + [0.0] * flat
    sheet.group.attrs["Origin"] = np.array(corner)
    sheet.group.attrs["Spacing"] = np.full(3, raster.spacing)
    sheet.group.attrs["Direction"] = np.eye(3).ravel()
    for name, track in fields.items():
        if (rows := sheet.rows(track)) is not None:
            label = _flat_name(h5md.label(name))
            virtual_datasets.stack_parts(sheet.group.file, f"{ROOT}/CellData/{label}", track.values)
            sheet.offsets("CellData", label, rows)


def _write_particles(sheet: _Sheet, able: Mapping[str, Track]) -> None:
    """Write every node as a vertex of PolyData."""
    sheet.set_type("PolyData")
    count = sheet.points(able)
    for kind in _OF_NODES:
        group, nodes = sheet.group.create_group(kind), np.arange(count if kind == "Vertices" else 0)
        _write_packed(group, "Connectivity", nodes)
        _write_topology(group, np.ones(len(nodes), np.int64))
    sheet.nothing_moves("CellOffsets", 4)
    sheet.nothing_moves("ConnectivityIdOffsets", 4)


def _write_cells(
    sheet: _Sheet,
    able: Mapping[str, Track],
    shown: Mapping[str, Source],
    dimension: int,
    looks: Mapping[str, ListLook],
) -> None:
    """Write the tuples of all lists as cells; data of one list is NaN in the cells of others."""
    sheet.set_type("UnstructuredGrid")
    over = {name: series_of_lines(able, shown[name], looks[name]) for name in shown if name in looks}
    of_lines = {series for found in over.values() for series in found}
    sheet.points({name: track for name, track in able.items() if name not in of_lines})
    lists = list(shown.values())
    sizes = np.concatenate([np.full(rows.shape[0], rows.shape[1], np.int64) for rows in lists])
    types = [np.full(rows.shape[0], SHAPES[dimension, rows.shape[1]], np.uint8) for rows in lists]
    virtual_datasets.flatten_parts(sheet.group.file, f"{ROOT}/Connectivity", lists)
    _write_topology(sheet.group, sizes)
    _write_packed(sheet.group, "Types", np.concatenate(types))
    sheet.nothing_moves("CellOffsets")
    sheet.nothing_moves("ConnectivityIdOffsets")
    starts = dict(zip(shown, np.cumsum([0, *(rows.shape[0] for rows in lists)]).tolist(), strict=False))
    labels = {h5md.label(name) for name in able if h5md.list_of(name) in shown}
    for label in sorted(labels):
        named = {name: able.get(f"{h5md.CELLS}/{name}/{label}") for name in shown}
        _cell_data(sheet, _flat_name(label), {starts[n]: t for n, t in named.items() if t}, len(sizes))
    taken = {_flat_name(label) for label in labels}
    for label in sorted({h5md.label(series) for series in of_lines}):
        of = {starts[n]: able[s] for n, found in over.items() for s in found if h5md.label(s) == label}
        if _flat_name(label) not in taken:
            _cell_data(sheet, _flat_name(label), of, len(sizes))
    for label, values in thicknesses({n: looks[n] for n in over}, starts, len(sizes)).items():
        if label not in taken:
            _write_packed(sheet.group, f"CellData/{label}", values)
            sheet.nothing_moves(f"CellDataOffsets/{label}")


AXES = ("d1", "d2", "d3")
"""Labels of the axes of frames, where they are recorded."""


def series_of_lines(able: Mapping[str, Track], lines: Source, look: ListLook) -> list[str]:
    """The series over the lines of tubes: their frames, and others of as many rows, unless nodes have so."""
    frames = able.get(f"{h5md.FRAMES}/{look.frames}") if look.frames else None
    count = lines.shape[0]
    if frames is None or frames.values[0].shape[1:] != (count, 4):
        return []
    nodes = able[POSITION].values[0].shape[1]
    own = {f"{h5md.FRAMES}/{label}" for label in (look.frames, *AXES)}
    return [
        name
        for name, track in able.items()
        if h5md.is_of_nodes(name)
        and track.values[0].shape[1:2] == (count,)
        and (count != nodes or name in own)
    ]


def thicknesses(
    looks: Mapping[str, ListLook], starts: Mapping[str, int], total: int
) -> dict[str, np.ndarray]:
    """Of all cells, NaN where they have none: the radius of tubes (of equal area), thickness of sheets."""
    found: dict[str, np.ndarray] = {}
    for name, look in looks.items():
        label, values = ("thickness", look.sizes[:, 0]) if look.is_sheet else ("radius", look.radii)
        whole = found.setdefault(label, np.full(total, np.nan))
        whole[starts[name] : starts[name] + len(values)] = values
    return found


def _cell_data(sheet: _Sheet, label: str, of: Mapping[int, Track], total: int) -> None:
    """One label of several lists recorded at the same steps, by the number of their first tuple."""
    first = next(iter(of.values()))
    rows, kinds = sheet.rows(first), {(t.values[0].dtype, t.values[0].shape[2:]) for t in of.values()}
    if rows is None or len(kinds) > 1 or any(not np.array_equal(t.step, first.step) for t in of.values()):
        return
    blocks = [virtual_datasets.JoinedRows(start, track.values) for start, track in of.items()]
    virtual_datasets.in_rows(sheet.group.file, f"{ROOT}/CellData/{label}", blocks, total)
    sheet.offsets("CellData", label, rows * total)


def _write_topology(group: h5py.Group, sizes: np.ndarray) -> None:
    """Write the number of nodes of each cell."""
    group["NumberOfCells"] = np.array([len(sizes)], np.int64)
    group["NumberOfConnectivityIds"] = np.array([int(sizes.sum())], np.int64)
    _write_packed(group, "Offsets", np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def _write_packed(group: h5py.Group, name: str, numbers: np.ndarray) -> None:
    """Write index arrays, which are rewritten at every save, with the one filter that VTK supports."""
    pack = {"compression": "gzip", "compression_opts": 1, "shuffle": True} if numbers.size > 1000 else {}
    group.create_dataset(name, data=numbers, **pack)


def _flat_name(label: str) -> str:
    """A name without slashes, as VTK requires."""
    return label.replace("/", ".")
