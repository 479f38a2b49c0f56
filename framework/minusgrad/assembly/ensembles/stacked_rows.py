"""Rows of all members as one recorder takes them.

observables        (M, ...)
frames             (M N, ...), the members' nodes one after another; `member`: the member of each
values of tuples   (M E, ...), over lists in which each member has its own nodes
grids              (M n_1, n_2, ...), stacked along the first axis of the grid
box edges          observables/box/edges (M, d, d), because members may have different boxes

Members that failed have NaN (integers: 0).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...errors import RunFailedError
from ...files.h5md import EDGES, OBSERVABLES, Raster
from ...files.trajectory import Recorder
from ..built_scene import BuiltScene
from .marks import BOXES
from .statistics import Statistics

Row = Mapping[str, np.ndarray]


class StackedRows:
    """Stacks the rows that the template's observers recorded for each of the members `numbers`.

    `record_observables(step, time, values)` takes those of all members at once, (M, ...) each.
    """

    def __init__(self, template: BuiltScene, numbers: Sequence[int]):
        self.numbers, self.count = numbers, len(numbers)
        self.nodes = len(template.state.names) or _nodes(template)
        self._own = own = template.recorder
        table = template.scene.ensemble
        self.statistics = Statistics(table.statistics if table is not None else None)
        lists = {name: self._tuples(rows) for name, rows in own.lists.items()}
        grids = {name: self._grid(one) for name, one in own.grids.items()}
        member = np.repeat(np.asarray(numbers, np.int32), self.nodes)
        self.recorder = Recorder(
            own.units,
            own.time_unit,
            lists,
            template.state.shown,
            grids,
            own.periodic,
            {"member": member},
            {n: replace(one, sizes=np.tile(one.sizes, (self.count, 1))) for n, one in own.looks.items()},
        )

    def of_all(self, nodes: np.ndarray) -> np.ndarray:
        """The nodes of all members in the file, from those of one."""
        starts = self.nodes * np.arange(self.count)[:, None]
        return (starts + np.asarray(nodes)[None]).ravel()

    def record(self, step: int, time: float, seen: Sequence[Row | None]) -> None:
        """Record the rows of one moment, by member; None of a member that failed.

        Raises `RunFailedError` where members have rows of different names or shapes.
        """
        rows = [one for one in seen if one is not None]
        names = dict.fromkeys(name for one in rows for name in one)
        found = dict(
            self._stacked(name, [None if one is None else one.get(name) for one in seen]) for name in names
        )
        self.recorder.take_units(self._own)
        self.recorder.record_series(step, time, self.statistics.of(found, self.recorder))

    def record_observables(self, step: int, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Record observables of one moment, (M, ...) each. Raises `RunFailedError` like `record`."""
        self.recorder.take_units(self._own)
        found = {f"{OBSERVABLES}/{name}": np.asarray(value, np.float64) for name, value in values.items()}
        self.recorder.record_series(step, time, self.statistics.of(found, self.recorder))

    def _stacked(self, name: str, parts: Sequence[np.ndarray | None]) -> tuple[str, np.ndarray]:
        there = [part for part in parts if part is not None]
        shape, dtype = there[0].shape, there[0].dtype
        if odd := next((list(part.shape) for part in there if part.shape != shape), None):
            raise RunFailedError(
                f"series '{name}': has shape {odd} and {list(shape)} in two members; a series has"
                " one shape for all members: leave it out"
            )
        missing = np.full(shape, np.nan if dtype.kind == "f" else 0, dtype)
        whole = np.stack([missing if part is None else part for part in parts])
        if name == EDGES:
            return BOXES, whole
        if name.startswith(f"{OBSERVABLES}/"):
            return name, whole
        return name, whole.reshape(self.count * shape[0], *shape[1:])

    def _tuples(self, rows: np.ndarray) -> np.ndarray:
        """A list of tuples (E, k) for all members (M E, k)."""
        starts = self.nodes * np.arange(self.count, dtype=np.int64)[:, None, None]
        return (starts + rows[None]).reshape(-1, rows.shape[1])

    def _grid(self, one: Raster) -> Raster:
        return one._replace(shape=(self.count * one.shape[0], *one.shape[1:]))


def _nodes(template: BuiltScene) -> int:
    """The number of nodes of one member: that of its positions, else of its longest field over nodes."""
    fields = template.fields
    moved = [fields[m.position] for m in template.state.motions] or [fields[n] for n in fields]
    return max((len(field) for field in moved), default=0)
