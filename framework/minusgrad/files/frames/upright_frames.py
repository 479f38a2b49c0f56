"""Frames for programs that know a box by its lengths and angles: rotated so that its edges stand upright.

    /upright/position, velocity, force, edges     step, time, value [T, ...]: values times the rotation
    /upright/rotation                             step, time, value [T, 3, 3]

Such programs, MDAnalysis among them, take the first edge to lie along x and the second in the plane of x, y.
A segment in which an edge does not stand so has these copies beside the frames as they are, and the master
file shows the copies where such programs look. Our own readers never do. The third edge of a left-handed box
is reversed in them, which leaves the lattice as it is.

Decisions 0060, 0238.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..h5md import EDGES, FRAMES, UPRIGHT

Column = Any
"""A column of a segment: `files.trajectory.Column`."""

VECTORS = {f"{FRAMES}/{label}": f"{UPRIGHT}/{label}" for label in ("position", "velocity", "force")}
COPIES = VECTORS | {EDGES: f"{UPRIGHT}/edges"}
"""The series that have copies, and these."""
ROTATION = f"{UPRIGHT}/rotation"


def copies(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The rotated copies of the columns of a segment, whose parts are arrays; none of upright boxes."""
    edges = columns.get(EDGES)
    if edges is None or edges.shape[1:] != (3, 3) or not len(edges.step):
        return {}
    boxes = _column_values(edges)
    if all(map(stands_upright, boxes)):
        return {}
    turns, found = np.array([rotation(box) for box in boxes.astype(np.float64)]), {}
    found[ROTATION] = edges._replace(parts=[turns], dtype=turns.dtype, unit=None)
    found[COPIES[EDGES]] = edges._replace(parts=[np.array([*map(turn_upright, boxes, turns)], edges.dtype)])
    place = {int(step): k for k, step in enumerate(edges.step)}
    for name, copy in VECTORS.items():
        one = columns.get(name)
        if one is None or len(one.shape) != 3 or one.shape[2] != 3 or one.dtype.kind != "f":
            continue
        if set(one.step.tolist()) <= place.keys():
            rows = zip(_column_values(one), one.step.tolist(), strict=True)
            turned = [turned_by(row, turns[place[step]]) for row, step in rows]
            found[copy] = one._replace(parts=[np.array(turned, one.dtype)])
    return found


def columns_together(groups: "Iterable[Mapping[str, Column]]") -> "dict[str, list[Column]]":
    """The columns of several segments by name; where one has no copies, its own rows stand for them."""
    groups = [*groups]
    found: dict[str, list[Column]] = {}
    for name in dict.fromkeys(name for group in groups for name in group):
        parts = [_standing_for(name, group) for group in groups]
        found[name] = [part for part in parts if part is not None]
    return found


def _standing_for(name: str, group: Mapping[str, Column]) -> "Column | None":
    if name in group or not name.startswith(f"{UPRIGHT}/"):
        return group.get(name)
    if name == ROTATION:
        edges = group.get(EDGES)
        same = np.tile(np.eye(3), (0 if edges is None else len(edges.step), 1, 1))
        return edges and edges._replace(parts=[same], dtype=same.dtype, unit=None)
    return next((group.get(one) for one, copy in COPIES.items() if copy == name), None)


def stands_upright(box: np.ndarray) -> bool:
    """True if the edges (rows) of a box stand as other programs take them to do."""
    return not np.triu(box, 1).any() and bool((np.diag(box) > 0.0).all())


def rotation(box: np.ndarray) -> np.ndarray:
    """The rotation R (3, 3) after which the edges, times R, stand upright; 1 of those that do."""
    if stands_upright(box):
        return np.eye(3)
    first = box[0] / np.linalg.norm(box[0])
    second = box[1] - np.sum(box[1] * first) * first
    second = second / np.linalg.norm(second)
    return np.stack([first, second, np.cross(first, second)], axis=1)


def turned_by(vectors: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Vectors (N, 3) times a rotation, in double precision."""
    x = vectors.astype(np.float64)
    return x[:, :1] * turn[0] + x[:, 1:2] * turn[1] + x[:, 2:] * turn[2]


def turn_upright(box: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The edges of a box times its rotation, as they stand upright; the third one points up."""
    if stands_upright(box):
        return box.astype(np.float64)
    turned = np.tril(turned_by(box, turn))
    turned[2] *= np.sign(turned[2, 2])
    return turned


def _column_values(column: "Column") -> np.ndarray:
    flat = np.concatenate([np.asarray(part).ravel() for part in column.parts])
    return flat.reshape(column.shape)
