"""Samples of rings: points along them, dense at corners, with the unit normal towards the waste.

Lengths here are in units of half the kerf: u = (x / h_x, y / h_y), so that the kerf is about a circle of
radius one. The distance of samples is `CLOSE` at corners and grows by `GROWTH` of the distance from the
nearest one, as far as the curvature of the ring allows.
"""

from dataclasses import dataclass

import numpy as np

from .rings import Ring

CLOSE, GROWTH, FAR = 0.25, 0.7, 200.0
"""Distance of samples at corners; its growth with the distance from them, in parts of it; the most of it."""
SHARP = np.radians(12.0)
"""A turn by more than this is a corner; by less, edges are off by less than 0.6 % of half a kerf."""
SAGITTA = 0.01
"""Between samples on a curve, its distance from the chord at most."""
NEAR = 4.0
"""A corner of another edge that is closer than this makes samples dense."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Points (n, 2) [m], unit normals (n, 2) towards the waste, pieces (n,) [m] of the ring that they stand
    for.

    ring: number of the ring (n,). edge: number of the edge in it (n,). corner_after: the corner (n,) of the
    ring between a sample and the next; -1 if there is none.
    """

    points: np.ndarray
    normals: np.ndarray
    pieces: np.ndarray
    ring: np.ndarray
    edge: np.ndarray
    corner_after: np.ndarray

    def __len__(self) -> int:
        return len(self.points)

    def some(self, chosen: np.ndarray) -> "Samples":
        """The chosen samples."""
        return Samples(*(getattr(self, name)[chosen] for name in Samples.__dataclass_fields__))


def sample_rings(
    rings: list[Ring],
    unit: np.ndarray,
    close: float = CLOSE,
    far: float = FAR,
    beside: np.ndarray | None = None,
) -> Samples:
    """The samples of all rings, one ring after another; unit (2,) [m]: half the kerfs along x and y.

    close, far: their distance at corners, and the most of it, in half kerfs. beside: places (k, 2) [m] beside
    which they are as dense as at corners.
    """
    loops = [_Loop.of_ring(ring, unit) for ring in rings]
    others = [np.zeros((0, 2)), *(loop.corners[loop.sharp] for loop in loops)]
    if beside is not None:
        others.append(np.asarray(beside) / unit)
    places = np.concatenate(others)
    parts = [
        _sample_ring(k, ring, loop, loop.places_beside(places), close, far)
        for k, (ring, loop) in enumerate(zip(rings, loops, strict=True))
    ]
    names = list(Samples.__dataclass_fields__)
    if not parts:
        none = np.zeros(0, int)
        return Samples(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), none, none, none)
    return Samples(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def sharp_corners(ring: Ring, unit: np.ndarray) -> np.ndarray:
    """Which corners of a ring (k,) are sharp."""
    return _Loop.of_ring(ring, unit).sharp


@dataclass(frozen=True, eq=False)
class _Loop:
    """A ring in half kerfs: corners and edges (k, 2), lengths of edges and turns at corners (k,), the place
    of each corner along the ring (k + 1,), which corners are sharp (k,).
    """

    corners: np.ndarray
    edges: np.ndarray
    length: np.ndarray
    turn: np.ndarray
    start: np.ndarray
    sharp: np.ndarray

    @classmethod
    def of_ring(cls, ring: Ring, unit: np.ndarray) -> "_Loop":
        corners, edges = ring.corners / unit, ring.edges / unit
        length = np.hypot(*edges.T)
        heading = np.arctan2(edges[:, 1], edges[:, 0])
        turn = np.abs((heading - np.roll(heading, 1) + np.pi) % (2.0 * np.pi) - np.pi)
        return cls(corners, edges, length, turn, np.append(0.0, np.cumsum(length)), turn > SHARP)

    def longest_step(self, begin: float, end: float, close: float, far: float) -> float:
        """By the curvature of the ring between two places."""
        at = (self.start[:-1] - begin) % self.start[-1]
        inside = (at > 1e-9) & (at < end - begin - 1e-9) & (self.turn > 1e-4)
        if not inside.any():
            return far
        radius = 0.5 * (self.length + np.roll(self.length, 1))[inside] / self.turn[inside]
        return float(np.clip(np.sqrt(8.0 * SAGITTA * radius.min()), close, far))

    def places_beside(self, others: np.ndarray) -> np.ndarray:
        """Places along the ring beside which a point of others (n, 2) is near."""
        found = [np.zeros(0)]
        for begin in range(0, len(others), 256):
            off = others[begin : begin + 256, None] - self.corners
            part = (off * self.edges).sum(axis=2) / np.maximum(self.length, 1e-12) ** 2
            apart = np.hypot(*(off - part[:, :, None] * self.edges).transpose(2, 0, 1))
            which, edge = np.nonzero((part > 0.0) & (part < 1.0) & (apart < NEAR))
            found.append(self.start[edge] + part[which, edge] * self.length[edge])
        places = np.sort(np.concatenate(found))
        return places[np.diff(places, prepend=-np.inf) > 0.5 * CLOSE]


def _sample_ring(number: int, ring: Ring, loop: _Loop, near: np.ndarray, close: float, far: float) -> Samples:
    """The samples of a ring; near: places along it that count as corners."""
    around = loop.start[-1]
    stops = np.flatnonzero(loop.sharp)
    begins = loop.start[stops] if len(stops) else np.array([0.0])
    ends = np.append(begins[1:], begins[0] + around)
    places, afters, widths = [], [], []
    for k, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        inner = (near - begin) % around
        inner = inner[(inner > 0.5 * close) & (inner < end - begin - 0.5 * close)]
        marks = np.unique(np.append(inner, [0.0, end - begin] if len(stops) else []))
        cells = _graded_cells(end - begin, marks, close, loop.longest_step(begin, end, close, far))
        places.append(begin + 0.5 * (cells[1:] + cells[:-1]))
        widths.append(np.diff(cells))
        after = np.full(len(cells) - 1, -1)
        after[-1] = stops[(k + 1) % len(stops)] if len(stops) else -1
        afters.append(after)
    at, after, width = np.concatenate(places) % around, np.concatenate(afters), np.concatenate(widths)
    edge = np.clip(np.searchsorted(loop.start, at, side="right") - 1, 0, len(loop.length) - 1)
    length = np.maximum(loop.length[edge], 1e-12)
    points = ring.corners[edge] + ((at - loop.start[edge]) / length)[:, None] * ring.edges[edge]
    pieces = width * np.hypot(*ring.edges[edge].T) / length
    return Samples(points, ring.normals[edge], pieces, np.full(len(at), number), edge, after)


def _graded_cells(length: float, marks: np.ndarray, close: float, most: float) -> np.ndarray:
    """Edges (k + 1,) of cells along a line, small at marks (n,)."""
    edges, at = [0.0], 0.0
    while at < length:
        ahead, behind = marks[marks > at + 1e-9], marks[marks <= at + 1e-9]
        step = close * (1.0 + GROWTH * float(np.min(at - behind, initial=np.inf)))
        if len(ahead):  # it falls again towards the next mark
            step = min(step, close * (1.0 + GROWTH * (ahead[0] - at)) / (1.0 + close * GROWTH))
        at += min(step, most)
        edges.append(at)
    return np.array(edges) * (length / edges[-1])
