"""Samples of rings: points along them, dense at corners, with the unit normal towards the waste.

Lengths here are in units of half the kerf: u = (x / h_x, y / h_y), so that the kerf is about a circle of
radius one. The distance of samples is `CLOSE` at corners and grows by `GROWTH` of the distance from the
nearest one, as far as the curvature of the ring allows.
"""

from dataclasses import dataclass

import numpy as np

from .rings import Ring

CLOSE, GROWTH, FAR = 0.25, 0.25, 200.0
"""Distance of samples at corners, its growth with the distance from them, and the most of it."""
SHARP = np.radians(12.0)
"""A turn by more than this is a corner; by less where its edges are longer than half the kerf."""
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


def sample_rings(rings: list[Ring], unit: np.ndarray, close: float = CLOSE) -> Samples:
    """The samples of all rings, one ring after another; unit (2,) [m]: half the kerfs along x and y.

    close: their distance at corners, in half kerfs.
    """
    corners = [sharp_corners(ring, unit) for ring in rings]
    known = [ring.corners[sharp] / unit for ring, sharp in zip(rings, corners, strict=True)]
    others = np.concatenate(known) if known else np.zeros((0, 2))
    parts = [
        _sample_ring(k, ring, sharp, others, unit, close)
        for k, (ring, sharp) in enumerate(zip(rings, corners, strict=True))
    ]
    return Samples(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Samples.__dataclass_fields__)
    )


def sharp_corners(ring: Ring, unit: np.ndarray) -> np.ndarray:
    """Which corners of a ring (k,) are sharp."""
    edges = ring.edges
    length = np.hypot(*(edges / unit).T)
    heading = np.arctan2(edges[:, 1], edges[:, 0])
    turn = np.abs((heading - np.roll(heading, 1) + np.pi) % (2.0 * np.pi) - np.pi)
    long = np.minimum(length, np.roll(length, 1)) > 1.0
    return np.asarray((turn > SHARP) | (long & (turn > 0.2 * SHARP)))


def _sample_ring(
    number: int, ring: Ring, sharp: np.ndarray, others: np.ndarray, unit: np.ndarray, close: float
) -> Samples:
    corners, count = ring.corners / unit, len(ring.corners)
    length = np.hypot(*(np.roll(corners, -1, axis=0) - corners).T)
    start = np.append(0.0, np.cumsum(length))
    stops = np.flatnonzero(sharp)
    begins = start[stops] if len(stops) else np.array([0.0])
    ends = np.append(begins[1:], begins[0] + start[-1])
    near = _near_places(corners, length, start, others)
    places, afters, widths = [], [], []
    for k, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        at, width = _graded_places(
            end - begin,
            _longest_step(ring, corners, start, begin, end, close),
            begin,
            near,
            start[-1],
            bool(len(stops)),
            close,
        )
        places.append(begin + at)
        widths.append(width)
        after = np.full(len(at), -1)
        if len(stops):
            after[-1] = stops[(k + 1) % len(stops)]
        afters.append(after)
    at, after, width = np.concatenate(places) % start[-1], np.concatenate(afters), np.concatenate(widths)
    edge = np.clip(np.searchsorted(start, at, side="right") - 1, 0, count - 1)
    part = (at - start[edge]) / np.where(length[edge] > 0.0, length[edge], 1.0)
    points = ring.corners[edge] + part[:, None] * ring.edges[edge]
    scale = np.hypot(*ring.edges.T) / np.where(length > 0.0, length, 1.0)
    return Samples(points, ring.normals[edge], width * scale[edge], np.full(len(at), number), edge, after)


def _graded_places(
    length: float, most: float, begin: float, near: np.ndarray, around: float, between: bool, close: float
) -> tuple[np.ndarray, np.ndarray]:
    """Places along a line between two corners, and the widths of their cells; near: places of corners beside
    the ring.
    """
    inner = (near - begin) % around
    inner = inner[(inner > 0.5 * close) & (inner < length - 0.5 * close)]
    marks = np.unique(np.concatenate([[0.0, length] if between else [], inner]))
    edges, at = [0.0], 0.0
    while at < length:
        ahead = marks[marks > at + 1e-9]
        behind = np.min(at - marks[marks <= at + 1e-9], initial=np.inf)
        step = close + GROWTH * behind
        if len(ahead):  # it falls again towards the next corner
            step = min(step, (close + GROWTH * (ahead[0] - at)) / (1.0 + GROWTH))
        at += min(step, most)
        edges.append(at)
    cells = np.array(edges) * (length / edges[-1])
    return 0.5 * (cells[1:] + cells[:-1]), np.diff(cells)


def _longest_step(
    ring: Ring, corners: np.ndarray, start: np.ndarray, begin: float, end: float, close: float
) -> float:
    """By the curvature of a line between two places of a ring."""
    edges = np.roll(corners, -1, axis=0) - corners
    heading = np.arctan2(edges[:, 1], edges[:, 0])
    turn = np.abs((heading - np.roll(heading, 1) + np.pi) % (2.0 * np.pi) - np.pi)
    length = np.hypot(*edges.T)
    at = (start[:-1] - begin) % start[-1]
    inside = (at > 1e-9) & (at < end - begin - 1e-9) & (turn > 1e-4)
    if not inside.any():
        return FAR
    radius = 0.5 * (length + np.roll(length, 1))[inside] / turn[inside]
    return float(np.clip(np.sqrt(8.0 * SAGITTA * radius.min()), close, FAR))


def _near_places(
    corners: np.ndarray, length: np.ndarray, start: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Places along the ring beside which another corner is."""
    edges, found = np.roll(corners, -1, axis=0) - corners, []
    for begin in range(0, len(others), 256):
        off = others[begin : begin + 256, None] - corners
        part = (off * edges).sum(axis=2) / np.where(length > 0.0, length, 1.0) ** 2
        apart = np.hypot(*(off - part[:, :, None] * edges).transpose(2, 0, 1))
        which, edge = np.nonzero((part > 0.0) & (part < 1.0) & (apart < NEAR))
        found.append(start[edge] + part[which, edge] * length[edge])
    places = np.sort(np.concatenate(found)) if found else np.zeros(0)
    return places[np.diff(places, prepend=-np.inf) > 0.5 * CLOSE]
