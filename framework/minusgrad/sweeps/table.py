"""The table of a sweep: a row for each point, complete at every moment, as HDF5 and as CSV.

    point, state, outcome, the varied keys, the last observables, seconds, error

table.h5    /point (N,), /state, /outcome, /error (texts), /seconds, /parameters/KEY (N, ...),
            /observables/NAME (N, ...), NaN where there is none; `unit` is an attribute
table.csv   the same, with a column for each number: `momentum.x [kg m/s]`
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..app.results.csv_export import part
from ..errors import UserError, unknown
from ..files import durable
from .members import MOST
from .plan import VariedColumn
from .rows import FINISHED, STATES, Row, resolve_observables

TEXT = h5py.string_dtype()


class PointTable:
    """The rows of all points.

    path: the folder of the sweep. columns: the varied keys. observe: the observables asked for; () for small
    ones. `indices`: sensitivity indices, if the sweep computes them, by output, key and kind ("S1",
    "S1_conf", "ST", "ST_conf").
    """

    def __init__(
        self,
        path: Path,
        rows: Sequence[Row],
        columns: Mapping[str, VariedColumn],
        observe: Sequence[str] = (),
    ):
        self.path, self.rows, self.columns, self.observe = path, list(rows), columns, tuple(observe)
        self.indices: dict[str, dict[str, dict[str, float]]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def states(self) -> list[str]:
        """The state of each point (`rows`)."""
        return [row.state for row in self.rows]

    @property
    def counts(self) -> dict[str, int]:
        """How many points are in each state that occurs."""
        return {state: n for state in STATES if (n := self.states.count(state))}

    @cached_property
    def observed(self) -> dict[str, VariedColumn]:
        """The last values of the observables (N, ...), NaN where there are none, and their units.

        Raises `UserError` for one that is asked for and that no finished run recorded.
        """
        found: dict[str, VariedColumn] = {}
        known: dict[str, tuple[tuple[int, ...], str]] = {}
        for row in self.rows:
            for name, (value, unit) in row.observables.items():
                shape, _ = known.get(name, (np.shape(value), unit))  # the last shard may have fewer members
                known[name] = tuple(map(max, shape, np.shape(value))), unit
        small = [name for name, (shape, _) in known.items() if int(np.prod(shape)) <= MOST]
        for name in (
            (resolve_observables(self.observe, known) if known else ()) if self.observe else sorted(small)
        ):
            shape, unit = known[name]
            values = np.full((len(self), *shape), np.nan)
            for k, row in enumerate(self.rows):
                if name in row.observables:
                    there = np.array(row.observables[name].value)
                    part_of: Any = (k, *(slice(size) for size in there.shape))
                    values[part_of] = there
            found[name] = VariedColumn(values, unit)
        return found

    def column(self, name: str) -> np.ndarray:
        """The values of a varied key or of an observable at all points, (N, ...).

        Raises `UserError` for an unknown name.
        """
        every = {**self.columns, **self.observed}
        if name not in every:
            raise UserError(f"table: {unknown('column', name, every)}")
        return every[name].values

    def numbers(self) -> dict[str, np.ndarray]:
        """Each number of the observables, (N,), by its name: `momentum.x`."""
        return {
            f"{name}{part(at, one.values.shape[1:])}": one.values[(slice(None), *at)]
            for name, one in self.observed.items()
            for at in np.ndindex(*one.values.shape[1:])
        }

    @property
    def is_finished(self) -> bool:
        """True if all points are."""
        return all(state == FINISHED for state in self.states)

    def save(self) -> None:
        """Replace table.h5 and table.csv, each as a whole. Raises `RunFailedError`."""
        durable.replace(self.path / "table.h5", durable.image(self._fill_tables))
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.lines())
        durable.replace(self.path / "table.csv", text.getvalue().encode())

    def lines(self) -> Iterator[list[Any]]:
        """The CSV as lists of cells; the first line names the columns."""
        flat = [_flat_columns(name, one) for name, one in {**self.columns, **self.observed}.items()]
        heads = [head for one in flat for head, _ in one]
        yield ["point", "state", "outcome", *heads, "seconds", "error"]
        for k, row in enumerate(self.rows):
            cells = [_cell_text(values[k]) for one in flat for _, values in one]
            yield [row.point, row.state, row.outcome, *cells, row.seconds, " ".join(row.error.split())]

    def _fill_tables(self, file: h5py.File) -> None:
        file["point"] = np.array([row.point for row in self.rows], np.int64)
        file["seconds"] = np.array([row.seconds for row in self.rows])
        for name in ("state", "outcome", "error"):
            texts = [getattr(row, name) for row in self.rows]
            file.create_dataset(name, data=texts, dtype=TEXT)
        for group, columns in (("parameters", self.columns), ("observables", self.observed)):
            for name, one in columns.items():
                values = one.values
                if values.dtype.kind == "O":
                    values = np.array([str(value) for value in values], TEXT)
                data = file.create_dataset(f"{group}/{name}", data=values)
                data.attrs["unit"] = one.unit


def _flat_columns(name: str, one: VariedColumn) -> list[tuple[str, np.ndarray]]:
    """The columns of CSV of one column: their heads, and the values (N,) of each."""
    unit = f" [{one.unit}]" if one.unit else ""
    shape = one.values.shape[1:]
    return [(f"{name}{part(at, shape)}{unit}", one.values[(slice(None), *at)]) for at in np.ndindex(*shape)]


def _cell_text(value: Any) -> Any:
    """A number with all its digits; nothing for NaN."""
    value = value.item() if isinstance(value, np.generic) else value
    return "" if isinstance(value, float) and np.isnan(value) else value
