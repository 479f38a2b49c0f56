"""CSV export of recorded series, with all digits, so that reading them back gives the same bits.

observables      step, time, total, momentum.x, momentum.y, ...; a cell is empty if nothing was recorded
anything else    step, time, node (or tuple, or row and column), then the series: one row for each node

Of an ensemble, whose series have values for each member, a column `member` follows the time: one row for each
member, and for each of its nodes; statistics over members are as observables of an ordinary run.

The first line names the columns, each as `name [unit]`.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Protocol

import numpy as np

from ...errors import UserError
from ...files import h5md, trajectory
from ...files.frames import series_names
from ...files.h5md import OBSERVABLES
from ...files.run_folder import RunDir
from ...files.trajectory import Series
from ...scene import units
from ..ensembles import member_table
from ..ensembles.saved_ensemble import SavedEnsemble

AXES = "xyz"


class RowStream(Protocol):
    """A text stream that rows are written to."""

    def write(self, text: str, /) -> object: ...


def export(path: Path, names: Sequence[str], out: RowStream) -> int:
    """Write series of a run (all observables, if none is named); returns the number of rows.

    Names are those of `series_names.find_series` ("total", "position"). Raises UserError for a name that
    is unknown or ambiguous, and for series without common rows.
    """
    RunDir.open(path, read_only=True)
    known = trajectory.names(path)
    chosen = [series_names.find_series(path, name, known) for name in names]
    chosen = chosen or [name for name in known if name.startswith(f"{OBSERVABLES}/")]
    if not chosen:
        raise UserError(
            f"{path}: has no observables; name a series (there are: {', '.join(known) or 'none'})"
        )
    table = csv.writer(out, lineterminator="\n")
    if saved := SavedEnsemble.or_none(path):
        parted = [name for name in chosen if saved.own_name(name) is not None]
        chosen = parted if not names else chosen
        if parted and parted != chosen:
            raise UserError(
                f"{parted[0]}: has a row for each member, statistics one for each step; export them"
                " to separate files"
            )
        if parted:
            return _rows(table, _by_member(path, chosen, saved))
    scalars = [name.startswith(f"{OBSERVABLES}/") for name in chosen]
    if all(scalars):
        return _rows(table, _observables(path, chosen))
    if any(scalars):
        text = ", ".join(name for name, scalar in zip(chosen, scalars, strict=True) if scalar)
        raise UserError(
            f"{text}: have one row for each step, the others one for each node or cell;"
            " export them to separate files"
        )
    return _rows(table, _places(path, chosen))


def export_table(path: Path, out: RowStream) -> int:
    """Write a row for each member of an ensemble (`member_table`); returns their number.

    Raises `RunFolderError` for a run without members.
    """
    return _rows(csv.writer(out, lineterminator="\n"), member_table.rows(SavedEnsemble(path)))


def _rows(table, lines: Iterable[Sequence[object]]) -> int:
    count = -1
    for line in lines:
        table.writerow(line)
        count += 1
    return count


def _observables(path: Path, names: Sequence[str]) -> Iterator[Sequence[object]]:
    """One line for each step at which any of the series was recorded."""
    found = {name: trajectory.series(path, name) for name in names}
    yield ["step", _titled(path, names[0], "time"), *(c for n in names for c in _columns(path, n, found[n]))]
    steps = np.unique(np.concatenate([one.step for one in found.values()]))
    at = {name: np.searchsorted(one.step, steps) for name, one in found.items()}
    for k, step in enumerate(steps.tolist()):
        time: float | None = None
        cells: list[object] = []
        for name, one in found.items():
            row = at[name][k]
            there = row < len(one.step) and one.step[row] == step
            time = float(one.time[row]) if there else time
            width = one.value[:1].size
            cells += one.value[row].ravel().tolist() if there else [""] * width
        yield [step, time, *cells]


def _by_member(path: Path, names: Sequence[str], saved: SavedEnsemble) -> Iterator[Sequence[object]]:
    """One line for each step and member, or for each step, member and node or tuple."""
    first, nodes = names[0], not names[0].startswith(f"{OBSERVABLES}/")
    clocks = [trajectory.steps(path, name) for name in names]
    alike = {name.startswith(f"{OBSERVABLES}/") for name in names}
    if h5md.grid_of(first) or len({h5md.list_of(n) for n in names} | alike) > 2 or len(alike) > 1:
        raise UserError(
            f"{', '.join(names)}: belong to different nodes or cells, or to grids; export them one by one,"
            " grids of one member by --member"
        )
    if any(not np.array_equal(steps, clocks[0]) for steps in clocks):
        raise UserError(f"{', '.join(names)}: were recorded at different steps; export them one by one")
    what = ["tuple" if h5md.list_of(first) else "node"] if nodes else []
    head = [c for n in names for c in _columns(path, n, _of_members(path, n, saved), 1 + nodes)]
    yield ["step", _titled(path, first, "time"), "member", *what, *head]
    for group in zip(*(trajectory.pieces(path, name) for name in names), strict=True):
        shaped = [saved.by_member(n, one.value) for n, one in zip(names, group, strict=True)]
        for k, step in enumerate(group[0].step.tolist()):
            time = float(group[0].time[k])
            for place in product(*map(range, shaped[0].shape[1 : 2 + nodes])):
                cells = [v for one in shaped for v in one[k][place].ravel().tolist()]
                yield [step, time, saved.numbers[place[0]], *place[1:], *cells]


def _of_members(path: Path, name: str, saved: SavedEnsemble) -> Series:
    one = trajectory.last_row(path, name)
    return one._replace(value=saved.by_member(name, one.value))


def _places(path: Path, names: Sequence[str]) -> Iterator[Sequence[object]]:
    """One line for each step and node, tuple or cell of a grid."""
    first = names[0]
    if len({(h5md.list_of(name), h5md.grid_of(name)) for name in names}) > 1:
        raise UserError(f"{', '.join(names)}: belong to different nodes or cells; export them one by one")
    clocks = [trajectory.steps(path, name) for name in names] if len(names) > 1 else []
    if any(not np.array_equal(steps, clocks[0]) for steps in clocks):
        raise UserError(f"{', '.join(names)}: were recorded at different steps; export them one by one")
    grid = h5md.grid_of(first)
    dimensions = len(trajectory.grids(path)[grid].shape) if grid else 1
    what = ["row", "column", "layer"][:dimensions] if grid else ["tuple" if h5md.list_of(first) else "node"]
    head = [c for n in names for c in _columns(path, n, trajectory.last_row(path, n), dimensions)]
    yield ["step", _titled(path, first, "time"), *what, *head]
    for group in zip(*(trajectory.pieces(path, name) for name in names), strict=True):
        for k, step in enumerate(group[0].step.tolist()):
            time = float(group[0].time[k])
            for place in product(*map(range, group[0].value.shape[1 : 1 + dimensions])):
                cells = [v for one in group for v in one.value[k][place].ravel().tolist()]
                yield [step, time, *place, *cells]


def _columns(path: Path, name: str, one: Series, places: int = 0) -> list[str]:
    """`momentum.x [kg m/s]`: one for each number of a row."""
    shape = one.value.shape[1 + places :]
    titled = _titled(path, name)
    label, _, unit = titled.partition(" [")
    parts = [part(at, shape) for at in np.ndindex(*shape)]
    return [f"{label}{part}{' [' if unit else ''}{unit}" for part in parts]


def part(at: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The end of the name of one number of a value: `.x`, `.xy`, `.0.12`; "" of a value that is a number."""
    if not shape:
        return ""
    small = all(size <= len(AXES) for size in shape)
    return "." + ("".join(AXES[k] for k in at) if small else ".".join(map(str, at)))


def _titled(path: Path, name: str, leaf: str = "value") -> str:
    value, time = trajectory.symbols(path, name)
    unit, title = (time, "time") if leaf == "time" else (value, h5md.label(name))
    return f"{title} [{units.familiar_name(unit)}]" if unit and unit != "1" else title
