"""Frames as VTK unstructured grids, one .vtu file for each, and a .pvd file with their times.

    FOLDER/frames.pvd                the times and files, which ParaView opens as one animation
    FOLDER/frames_000000000050.vtu   points, cells of the recorded lists (else vertices), their values

Numbers are in the run's units, each array in the precision of the run. Vectors in the plane get a third
component, zero; cells of other lists than that of a value get NaN. Tubes have their radius and d1, d2, d3,
sheets their thickness and the normals of nodes. Source: the VTK XML formats, docs.vtk.org.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from ...files import durable, h5md, vtkhdf
from ...files.vtkhdf import SHAPES, VERTEX
from ...plot.solids import sheets, tubes
from .recorded_frames import Frame, RecordedFrames, in_space

NAME = "frames"
TYPES = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64", "u1": "UInt8", "i1": "Int8"}
"""VTK's names of NumPy's types."""


def export_vtu(
    run: Path, out: Path, names: Sequence[str] = (), step: int | None = None, every: int = 1
) -> int:
    """Write the recorded frames of a run into a folder, which is made; returns their number.

    names, step, every: as for `RecordedFrames`, which raises its errors.
    """
    frames = RecordedFrames(run, names, step, every)
    mesh = _Mesh(frames)
    with durable.outside_a_run(out, "give another folder with --out"):
        durable.make_folder(out)
        times = []
        for frame in frames:
            file = f"{NAME}_{frame.step:012d}.vtu"
            durable.replace(out / file, _file("UnstructuredGrid", mesh.piece(frame)).encode())
            times.append((frame.time, file))
        if len({time for time, _ in times}) < len(times):  # a minimiser's: its iterations count
            times = [(float(k), file) for k, (_, file) in enumerate(times)]
        sets = "\n".join(f'<DataSet timestep="{t!r}" part="0" file={quoteattr(f)}/>' for t, f in times)
        durable.replace(out / f"{NAME}.pvd", _file("Collection", sets).encode())
    return len(frames)


class _Mesh:
    """The cells of all lists that VTK can show, or a vertex for each node."""

    def __init__(self, frames: RecordedFrames):
        first = next(iter(frames))
        self.nodes = len(first.position)
        d = max(frames.dimension, 2)
        shown = {n: rows for n, rows in frames.lists.items() if (d, rows.shape[1]) in SHAPES and len(rows)}
        self.starts = dict(zip(shown, np.cumsum([0, *map(len, shown.values())]).tolist(), strict=False))
        lists = list(shown.values()) or [np.arange(self.nodes)[:, None]]
        kinds = [SHAPES.get((d, rows.shape[1]), VERTEX) for rows in lists]
        self.count = sum(map(len, lists))
        self.cells = {
            "connectivity": np.concatenate([rows.ravel() for rows in lists]).astype(np.int64),
            "offsets": np.cumsum(np.concatenate([np.full(len(r), r.shape[1], np.int64) for r in lists])),
            "types": np.concatenate(
                [np.full(len(r), kind, np.uint8) for r, kind in zip(lists, kinds, strict=True)]
            ),
        }

        looks = {n: one for n, one in frames.looks.items() if n in shown and len(one.sizes) == len(shown[n])}
        self.shown, self.looks = shown, looks
        self.sizes = vtkhdf.thicknesses(looks, self.starts, self.count)

    def piece(self, frame: Frame) -> str:
        """A frame as XML."""
        of_nodes = {h5md.label(n): a for n, a in frame.arrays.items() if h5md.is_of_nodes(n)}
        of_nodes = {label: array for label, array in of_nodes.items() if len(array) == self.nodes}
        of_nodes |= {label: array for label, array in self._of_looks(frame).items() if label not in of_nodes}
        head = f'<Piece NumberOfPoints="{self.nodes}" NumberOfCells="{self.count}">'
        time = _array("TimeValue", np.array([frame.time]), 'NumberOfTuples="1"')
        parts = [
            f"<FieldData>{time}</FieldData>",
            head,
            f"<Points>{_array('Points', frame.position)}</Points>",
            f"<Cells>{''.join(_array(name, array) for name, array in self.cells.items())}</Cells>",
            f"<PointData>{''.join(_array(name, _vectors(a)) for name, a in of_nodes.items())}</PointData>",
            f"<CellData>{''.join(self._cell_data(frame.arrays))}</CellData>",
            "</Piece>",
        ]
        return "\n".join(parts)

    def _of_looks(self, frame: Frame) -> dict[str, np.ndarray]:
        """Of nodes: the normal where they are on a sheet, the mean radius on tubes, else NaN."""
        found: dict[str, np.ndarray] = {}
        for name, look in self.looks.items():
            rows = self.shown[name]
            on = np.unique(rows)
            if look.is_sheet:
                whole = found.setdefault("normal", np.full((self.nodes, 3), np.nan))
                whole[on] = sheets.node_normals(frame.position.astype(float), rows)[on]
            else:
                whole = found.setdefault("radius", np.full(self.nodes, np.nan))
                count = np.bincount(rows.ravel(), minlength=self.nodes)[on]
                whole[on] = np.bincount(rows.ravel(), np.repeat(look.radii, 2), self.nodes)[on] / count
        return found

    def _axes(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """d1, d2, d3 of the lines of tubes by the names of series over their lists."""
        found: dict[str, np.ndarray] = {}
        for name, look in self.looks.items():
            q = arrays.get(f"{h5md.FRAMES}/{look.frames}") if look.frames else None
            if q is not None and q.shape == (len(look.sizes), 4):
                axes = tubes.axes_of(q)
                found |= {f"{h5md.CELLS}/{name}/d{k + 1}": axes[:, k] for k in range(3)}
        return found

    def _cell_data(self, arrays: Mapping[str, np.ndarray]) -> Iterator[str]:
        yield from (_array(label, values) for label, values in self.sizes.items())
        arrays = self._axes(arrays) | dict(arrays)
        of_cells = {name: array for name, array in arrays.items() if h5md.list_of(name) in self.starts}
        for label in sorted({h5md.label(name) for name in of_cells}):
            some = {h5md.list_of(n): a for n, a in of_cells.items() if h5md.label(n) == label}
            shapes = {array.shape[1:] for array in some.values()}
            if len(shapes) > 1:
                continue
            whole = np.full((self.count, *shapes.pop()), np.nan, np.result_type(*some.values(), np.float32))
            for name, array in some.items():
                whole[self.starts[name] : self.starts[name] + len(array)] = array
            yield _array(label, whole)


def _vectors(values: np.ndarray) -> np.ndarray:
    """Vectors in the plane with a third component."""
    return in_space(values) if values.ndim == 2 and values.shape[1] == 2 else values


def _array(name: str, values: np.ndarray, more: str = "") -> str:
    """An array as XML: its bytes after their number, in base 64."""
    values = np.ascontiguousarray(values)
    if values.dtype.str[1:] not in TYPES:
        values = values.astype(np.float64)
    data = values.astype(values.dtype.newbyteorder("<")).tobytes()
    components = int(np.prod(values.shape[1:], dtype=int))
    text = base64.b64encode(np.uint64(len(data)).astype("<u8").tobytes() + data).decode()
    kind = TYPES[values.dtype.str[1:]]
    return (
        f'<DataArray type="{kind}" Name={quoteattr(name.replace("/", "."))}'
        f' NumberOfComponents="{components}" {more} format="binary">{text}</DataArray>\n'
    )


def _file(kind: str, contents: str) -> str:
    return (
        '<?xml version="1.0"?>\n'
        f'<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
        f"<{kind}>\n{contents}\n</{kind}>\n</VTKFile>\n"
    )
