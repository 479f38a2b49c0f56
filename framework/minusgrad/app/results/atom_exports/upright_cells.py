"""Boxes for files that know three edges by lengths and angles: upright, with edges along open axes, too.

The first edge lies along x and the second in the plane of x, y; positions, velocities and forces are turned
with the box (`files.frames.upright_frames`). Where a box is open along some axes, such files say that it
repeats there all the same: the edge is then replaced by one that is perpendicular to the periodic ones and
`FREE` longer than twice the extent of the atoms, so that nearest images are those of the run.

Decisions 0147.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ....files.frames import upright_frames
from .atom_frames import AtomFrame, AtomFrames

FREE = 10.0
"""angstrom."""


@dataclass(frozen=True)
class UprightFrames:
    """The frames of a run with boxes that stand upright, and remarks on what was done to them.

    extents: along each axis that is open, the largest extent of the atoms. times: those of the frames.
    """

    frames: AtomFrames
    extents: tuple[float, ...]
    times: tuple[float, ...]
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, frames: AtomFrames) -> "UprightFrames":
        """Look at all frames once: at their boxes, and how far the atoms reach along open axes."""
        periodic, extents, turned, boxed = frames.periodic, np.zeros(3), False, False
        times = []
        for frame in frames:
            times.append(frame.time)
            if frame.edges is None or not any(periodic):
                continue
            boxed = True
            if not all(periodic):
                along = frame.position @ open_directions(frame.edges, periodic).T
                extents = np.maximum(extents, np.ptp(along, axis=0))
            turned |= not upright_frames.stands_upright(closed_box(frame.edges, periodic, extents))
        remarks = []
        if turned:
            remarks.append(
                "the box, positions and vectors are rotated: its first edge lies along x, its second in the"
                " plane of x, y"
            )
        if boxed and not all(periodic):
            axes = ", ".join(axis for axis, one in zip("xyz", periodic, strict=True) if not one)
            remarks.append(
                f"the box is open along {axes}: its edge there is {FREE:g} angstrom longer than twice the"
                " extent of the atoms"
            )
        return cls(frames, tuple(extents.tolist()), tuple(times), tuple(remarks))

    def __iter__(self) -> Iterator[AtomFrame]:
        for frame in self.frames:
            yield self.stand_upright(frame)

    def stand_upright(self, frame: AtomFrame) -> AtomFrame:
        """A frame with its box upright; without one as it is."""
        if frame.edges is None or not any(self.frames.periodic):
            return replace(frame, edges=None)
        return turn_upright(frame, closed_box(frame.edges, self.frames.periodic, self.extents))


def turn_upright(frame: AtomFrame, box: np.ndarray) -> AtomFrame:
    """A frame in this box, rotated so that the box stands upright."""
    turn = upright_frames.rotation(box)
    return replace(
        frame,
        position=upright_frames.turned_by(frame.position, turn),
        velocity=None if frame.velocity is None else upright_frames.turned_by(frame.velocity, turn),
        force=None if frame.force is None else upright_frames.turned_by(frame.force, turn),
        stress=None if frame.stress is None else turn.T @ frame.stress @ turn,
        edges=upright_frames.turn_upright(box, turn),
    )


def open_directions(edges: np.ndarray, periodic: Sequence[bool]) -> np.ndarray:
    """Unit vectors (3, 3) in rows: of an open axis perpendicular to all edges along which the box repeats."""
    found = np.zeros((3, 3))
    kept = [edges[k] for k in range(3) if periodic[k]]
    for k in range(3):
        if periodic[k]:
            continue
        one = edges[k] if np.any(edges[k]) else np.eye(3)[k]
        for other in orthonormal(kept):
            one = one - np.sum(one * other) * other
        found[k] = one / np.linalg.norm(one)
        kept.append(found[k])
    return found


def orthonormal(vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """An orthonormal basis of what vectors span (Gram and Schmidt)."""
    found: list[np.ndarray] = []
    for vector in vectors:
        for other in found:
            vector = vector - np.sum(vector * other) * other
        found.append(vector / np.linalg.norm(vector))
    return found


def closed_box(edges: np.ndarray, periodic: Sequence[bool], extents: ArrayLike) -> np.ndarray:
    """The edges, with those of open axes replaced."""
    if all(periodic):
        return edges
    lengths = 2.0 * np.asarray(extents) + FREE
    return np.where(np.array(periodic)[:, None], edges, open_directions(edges, periodic) * lengths[:, None])


def lengths_and_angles(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths (3,) of the edges in rows, and the angles (3,) alpha, beta, gamma in degrees."""
    lengths = np.linalg.norm(edges, axis=1)
    pairs = ((1, 2), (0, 2), (0, 1))
    cosines = [np.sum(edges[i] * edges[j]) / (lengths[i] * lengths[j]) for i, j in pairs]
    return lengths, np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
