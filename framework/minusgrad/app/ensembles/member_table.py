"""A table with a row for each member: varied values, how it ended, and its last observables.

    member, gravity.G, state, steps, error, total, drift
    0, 1.0034, finished, 200, , -0.0932, 5.7e-06

A varied value or an observable of several numbers has a column for each of them, up to `WIDE`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...files import h5md, trajectory
from ...files.h5md import OBSERVABLES
from .saved_ensemble import SavedEnsemble

WIDE = 16
"""Values with more numbers, such as initial fields, are left out of the table."""


def columns(saved: SavedEnsemble) -> dict[str, Sequence[Any]]:
    """The columns of the table by their titles, each with a value for each member."""
    numbers = saved.numbers
    found: dict[str, Sequence[Any]] = {"member": numbers}
    for key, values in saved.points.items():
        found |= _parts(key, saved.units[key], values)
    found["state"] = [saved.state(n) for n in numbers]
    found["steps"] = [saved.steps(n) for n in numbers]
    found["error"] = [saved.failures[n].text if n in saved.failures else "" for n in numbers]
    for name in trajectory.names(saved.path):
        if name.startswith(f"{OBSERVABLES}/") and saved.own_name(name) is not None:
            last = trajectory.last_row(saved.path, name).value[0]
            found |= _parts(h5md.label(name), trajectory.symbols(saved.path, name)[0], last)
    return found


def rows(saved: SavedEnsemble) -> Iterator[Sequence[object]]:
    """The lines of the table: titles, then one for each member."""
    table = columns(saved)
    yield list(table)
    yield from zip(*table.values(), strict=True)


def records(saved: SavedEnsemble) -> list[dict[str, Any]]:
    """The table as one mapping for each member."""
    titles, *lines = rows(saved)
    return [dict(zip(map(str, titles), line, strict=True)) for line in lines]


def _parts(label: str, unit: str, values: np.ndarray) -> dict[str, Sequence[Any]]:
    """A column for each number of a value."""
    flat = values.reshape(len(values), -1)
    if flat.shape[1] > WIDE:
        return {}
    ending = f" [{unit}]" if unit and unit != "1" else ""
    places = ["".join(f".{k}" for k in at) for at in np.ndindex(values.shape[1:])]
    return {f"{label}{at}{ending}": column.tolist() for at, column in zip(places, flat.T, strict=True)}
