"""Recorded series of a run as an xarray Dataset, with named axes.

    observables        (time, member, component...)
    frames             (time, member, node, component...)
    values of tuples   (time, member, LIST, component...);   grids (time, member, axes...)

Series that were recorded at the same steps share one axis of time; the others have `time_2`, ... of their
own. Coordinates: the steps, the times, the members with their varied values. A run without members has no
axis of them.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import MissingPackageError, pip_line
from ...files import h5md, trajectory
from ...files.h5md import OBSERVABLES
from ...scene import units
from .saved_ensemble import SavedEnsemble

if TYPE_CHECKING:
    import xarray

MEMBER = "member"


def to_xarray(run: Path) -> "xarray.Dataset":
    """The series of a run folder. Raises `MissingPackageError` without xarray."""
    try:
        import xarray
    except ImportError:
        raise MissingPackageError(
            f"to_xarray: needs the package xarray, which is not installed; {pip_line('xarray')}"
        ) from None
    saved = SavedEnsemble.or_none(run)
    arrays: dict[Hashable, Any] = {}
    coordinates: dict[Hashable, Any] = {} if saved is None else _members(saved)
    clocks: dict[bytes, str] = {}
    for name in trajectory.names(run):
        step, time, value = trajectory.series(run, name)
        clock = clocks.setdefault(step.tobytes(), f"time_{len(clocks) + 1}" if clocks else "time")
        symbol, of_time = trajectory.symbols(run, name)
        coordinates[clock] = clock, time, {"units": of_time}
        coordinates[clock.replace("time", "step")] = clock, step
        value, axes = _axes(name, value, saved)
        arrays[_label(name)] = (clock, *axes), value, {"units": units.familiar_name(symbol), "series": name}
    return xarray.Dataset(arrays, coordinates, {"run": str(run)})


def _members(saved: SavedEnsemble) -> dict[Hashable, Any]:
    """The members, and their varied values, as coordinates."""
    found: dict[Hashable, Any] = {MEMBER: np.array(saved.numbers)}
    for key, values in saved.points.items():
        axes = [f"{key}.{k}" for k in range(values.ndim - 1)]
        found[key] = (MEMBER, *axes), values, {"units": saved.units[key]}
    steps = [saved.failures[n].step if n in saved.failures else -1 for n in saved.numbers]
    return found | {"failed": (MEMBER, np.array(steps) >= 0), "failed_step": (MEMBER, np.array(steps))}


def _axes(name: str, value: np.ndarray, saved: SavedEnsemble | None) -> tuple[np.ndarray, list[str]]:
    """The values with an axis for members, and the names of the axes behind time."""
    axes: list[str] = []
    label = _label(name)
    if saved is not None and saved.own_name(name) is not None:
        value = saved.by_member(name, value)
        axes.append(MEMBER)
    if h5md.is_of_nodes(name):
        axes.append("node" if name in _MOVED else f"{label}.node")
    elif tuples := h5md.list_of(name):
        axes.append(tuples)
    rest = value.ndim - 1 - len(axes)
    sizes = value.shape[1 + len(axes) :]
    return value, axes + [f"component_{sizes[k]}" if rest == 1 else f"{label}.{k}" for k in range(rest)]


_MOVED = (h5md.POSITION, h5md.VELOCITY, f"{h5md.FRAMES}/force")
"""The frames over the nodes that positions have."""


def _label(name: str) -> str:
    """The name of an array: as in the files, without "observables" and "particles/all"."""
    return h5md.label(name) if name.startswith((f"{OBSERVABLES}/", f"{h5md.FRAMES}/")) else name
