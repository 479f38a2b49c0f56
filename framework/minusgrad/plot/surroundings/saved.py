"""The surroundings of the bodies of a run, from its folder alone: obstacles, loads, supports, the box."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import CheckpointError
from ...files import checkpoint, h5md, trajectory
from ...scene.shapes import Acceleration, Cuboid, Facets, Force, Plane, Pressure, Shape, Sphere, shape

POSITIONS = "x"
"""The name of the field of positions."""


class Load(NamedTuple):
    """A load: its shape, in this unit, on elements whose nodes are (E, k); none for all nodes."""

    term: str
    shape: Force | Pressure | Acceleration
    unit: str
    elements: np.ndarray


class Support(NamedTuple):
    """Held nodes (n,), along axes, (0, 1, 2) for all of space; `moves` if they are driven."""

    name: str
    nodes: np.ndarray
    axes: tuple[int, ...]
    moves: bool


class RecordedBox(NamedTuple):
    """A box over time: steps (T,) and edge vectors (T, d, d), one to a row; periodic (d,) along which axes.

    One corner is at the origin. Of a box that does not change T is 1.
    """

    steps: np.ndarray
    edges: np.ndarray
    periodic: tuple[bool, ...]

    def at(self, step: int) -> np.ndarray:
        """The edge vectors (d, d) at a step: those of the newest row, before that the first ones."""
        return self.edges[max(int(np.searchsorted(self.steps, step, "right")) - 1, 0)]


@dataclass(frozen=True)
class Surroundings:
    """Obstacles by term, loads, supports, and the box, in the run's units; empty where there are none.

    Numbers are those of the start. Of the elements of a load and the nodes of a support there are a few
    hundred at most, spread evenly.
    """

    planes: Sequence[tuple[str, Plane]] = ()
    spheres: Sequence[tuple[str, Sphere]] = ()
    cuboids: Sequence[tuple[str, Cuboid]] = ()
    facets: Sequence[tuple[str, Facets]] = ()
    loads: Sequence[Load] = ()
    supports: Sequence[Support] = ()
    box: RecordedBox | None = None

    def __bool__(self) -> bool:
        parts = (self.planes, self.spheres, self.cuboids, self.facets, self.loads, self.supports)
        return any(map(len, parts)) or self.box is not None


def surroundings(run: Path) -> Surroundings:
    """The surroundings that the newest undamaged checkpoint of a run folder knows; no engine is started.

    Raises CheckpointError if a segment of the trajectory is damaged.
    """
    path, _ = checkpoint.newest(run / "ckpt")
    if path is None:
        return Surroundings()
    saved = checkpoint.load(path)
    try:
        return _read(run, saved, saved.meta.get("surroundings") or {})
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise CheckpointError(f"{path}: its surroundings cannot be read ({error!r}); use another") from error


def _read(run: Path, saved: checkpoint.Snapshot, known: Mapping[str, Any]) -> Surroundings:
    found = [(one["term"], shape(one)) for one in known.get("shapes", ())]
    every = tuple(range(_dimension(run, saved)))
    return Surroundings(
        planes=_of(found, Plane),
        spheres=_of(found, Sphere),
        cuboids=_of(found, Cuboid),
        facets=_of(found, Facets),
        loads=[_load(one) for one in known.get("loads", ())],
        supports=[
            Support(
                one["name"],
                np.asarray(one["nodes"], int),
                every if one["axes"] is None else tuple(one["axes"]),
                one["moves"],
            )
            for one in known.get("supports", ())
            if one["field"] == POSITIONS
        ],
        box=_box(run, saved),
    )


def _dimension(run: Path, saved: checkpoint.Snapshot) -> int:
    """The number of coordinates; 3 if nothing tells."""
    if f"fields/{POSITIONS}" in saved.arrays:
        return saved.arrays[f"fields/{POSITIONS}"].shape[-1]
    if h5md.POSITION in trajectory.names(run):
        return trajectory.last_row(run, h5md.POSITION).value.shape[-1]
    return 3


def _of(found: list[tuple[str, Shape]], kind: type[Any]) -> list[tuple[str, Any]]:
    return [(term, one) for term, one in found if isinstance(one, kind)]


def _load(saved: dict[str, Any]) -> Load:
    of = shape(saved)
    assert isinstance(of, Force | Pressure | Acceleration)
    elements = np.asarray(saved["elements"], int)
    return Load(saved["term"], of, saved["unit"], np.atleast_2d(elements))


def _box(run: Path, saved: checkpoint.Snapshot) -> RecordedBox | None:
    """The recorded edges of a box, or those of a checkpoint if none were recorded."""
    periodic = next(trajectory.read_each_segment(run, lambda file, _: h5md.periodic_in(file)), ())
    if not any(periodic):
        return None
    if h5md.EDGES in trajectory.names(run):
        seen = trajectory.series(run, h5md.EDGES)
        return RecordedBox(seen.step, seen.value.astype(float), periodic)
    if "fields/box" not in saved.arrays:
        return None
    return RecordedBox(np.array([saved.step]), saved.arrays["fields/box"].astype(float), periodic)
