"""The first path of a cut: half a kerf from the rings, in the waste, or in the middle of what is narrower.

In units of half the kerf, u = (x / h_x, y / h_y), the path is one away from all rings: the centres of balls
of radius one that touch a ring from the waste. A ball that another point of a ring would be inside of shrinks
until that point is on it (Ma, Bae & Choi 2012, Vis. Comput. 28, 7): its centre is then on the medial axis. If
both points face each other, the slot between them is cut along this axis, once, with the energy whose kerf is
as wide; else it is a corner, into which no ball goes. Around corners that stand out the path goes in an arc.
Edges that two parts share are a slot of no width.

Decisions 0181.
"""

from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from ..machine.spot import waists_across
from .kerf import Pair, density_for
from .path import Path
from .rings import Ring
from .samples import Samples, sharp_corners

DENSE = 0.2
"""Distance of points of rings among which balls look, in half kerfs."""
TOUCH = 0.1
"""Edges that face each other and are closer than this, in half kerfs, are a shared edge."""
FACING = -0.5
"""Two points of rings face each other if the product of their normals is below this."""
ARC = np.radians(25.0)
"""Turn of the path between points of an arc, at most."""
TWICE = 0.2
"""Moves along the middle of a slot that are closer than this, in half kerfs, are one."""
FINE, NEAR_CORNER, MOST_CUT = 0.6, 2.0, 8.0
"""Length of moves near corners, how near these are, and the longest move that is cut, in half kerfs."""
SMALL = 2.4
"""A hole of this size or less, in half kerfs, is cut by a loop inside."""
INTO_SMALL = 0.7
"""Where that loop is, on the way from the ring to the middle."""


def first_path(
    rings: list[Ring],
    samples: Samples,
    unit: np.ndarray,
    density: float,
    waists: Pair,
    fluence: float,
    least: float,
) -> Path:
    """The path beside the samples of rings. density [J/m]: of a line; unit (2,) [m]: its half kerfs along x
    and y.

    least: the peak of a line over the fluence that cuts, at least.
    """
    crowd, facing = _points_of(rings, unit)
    tree = cKDTree(crowd)
    normals = _unit_vectors(samples.normals * unit)
    at = samples.points / unit
    radius, opposed = _ball_radii(at, normals, samples.ring, tree, crowd, facing)
    narrow = np.bincount(samples.ring, radius >= 1.0, len(rings)) == 0.0
    size = np.array([np.ptp(ring.corners / unit, axis=0).max() for ring in rings])
    tiny = narrow & (size < SMALL)
    is_tiny = tiny[samples.ring]
    radius = np.where(is_tiny, INTO_SMALL * np.minimum(radius, 1.0), radius)
    within = radius < 1.0
    kept = ~within | opposed | is_tiny
    medial = within & kept & ~is_tiny
    centres = (at + np.minimum(radius, 1.0)[:, None] * normals) * unit
    half = np.minimum(radius, 1.0) * np.hypot(*(samples.normals * unit).T)
    lowest = least * fluence * waists_across(waists, samples.normals) * np.sqrt(0.5 * np.pi)
    wanted = np.where(
        medial, np.maximum(density_for(half, waists, samples.normals, fluence), lowest), density
    )
    points: list[np.ndarray] = []
    rows: list[tuple[float, int, bool]] = []
    previous: list[int] = []
    for number in range(len(rings)):
        begin = len(points)
        joined = True
        for i in np.flatnonzero(samples.ring == number):
            if kept[i]:
                points.append(centres[i])
                rows.append((float(min(wanted[i], density)), number, bool(medial[i])))
            j = samples.corner_after[i]
            if j >= 0:
                for corner in _around_corner(rings[number], int(j), unit, tree):
                    points.append(corner)
                    rows.append((density, number, False))
        own = list(range(begin, len(points)))
        previous += [own[-1], *own[:-1]] if len(own) > 1 and joined else [-1] * len(own)
    densities, numbers, middles = (np.array(column) for column in zip(*rows, strict=True))
    found = Path(
        np.array(points),
        np.array(previous),
        densities.astype(float),
        numbers.astype(int),
        np.zeros(len(points), bool),
    )
    return _fine_path(_cut_once(found, middles.astype(bool), unit), rings, unit)


def slot_widths(rings: list[Ring], samples: Samples, unit: np.ndarray) -> np.ndarray:
    """Half the width (n,) of the slot before each sample, in half kerfs: 1 where it is as wide, or none."""
    crowd, facing = _points_of(rings, unit)
    normals = _unit_vectors(samples.normals * unit)
    radius, opposed = _ball_radii(samples.points / unit, normals, samples.ring, cKDTree(crowd), crowd, facing)
    return np.where(opposed, np.minimum(radius, 1.0), 1.0)


def _points_of(rings: list[Ring], unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points of all rings, in half kerfs, and their normals."""
    points, normals = [], []
    for ring in rings:
        corners, edges = ring.corners / unit, ring.edges / unit
        count = np.maximum(np.ceil(np.hypot(*edges.T) / DENSE).astype(int), 1)
        edge = np.repeat(np.arange(len(corners)), count)
        part = (np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + 0.5) / count[edge]
        points.append(corners[edge] + part[:, None] * edges[edge])
        normals.append(_unit_vectors(ring.normals * unit)[edge])
    return np.concatenate(points), np.concatenate(normals)


def _ball_radii(
    at: np.ndarray,
    normals: np.ndarray,
    ring: np.ndarray,
    tree: cKDTree,
    crowd: np.ndarray,
    facing: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Radii (n,) of the largest balls up to a little over one, and whether what stops each one faces it."""
    radius, opposed = _touching_radii(at, normals, tree, crowd, facing)
    going = np.flatnonzero(~opposed)
    for _ in range(30):
        apart, nearest = tree.query(at[going] + radius[going, None] * normals[going])
        inside = apart < radius[going] * (1.0 - 1e-3) - 0.25 * DENSE**2
        going, nearest = going[inside], nearest[inside]
        if not len(going):
            break
        off = crowd[nearest] - at[going]
        ahead = (off * normals[going]).sum(axis=1)
        smaller = (off**2).sum(axis=1) / np.where(ahead > 1e-9, 2.0 * ahead, 1.0)
        radius[going] = np.where(ahead > 1e-9, np.minimum(smaller, radius[going] * 0.999), 0.0)
        opposed[going] = (facing[nearest] * normals[going]).sum(axis=1) < FACING
    return radius, opposed


def _touching_radii(
    at: np.ndarray, normals: np.ndarray, tree: cKDTree, crowd: np.ndarray, facing: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Radii (n,), one or those of balls between edges that are shared, and where these are."""
    radius, shared = np.full(len(at), 1.0), np.zeros(len(at), bool)
    for k, near in enumerate(tree.query_ball_point(at, 0.75 * DENSE)):
        some = np.array(near)
        ahead = (crowd[some] - at[k]) @ normals[k]
        touches = (facing[some] @ normals[k] < -0.9) & (np.abs(ahead) < TOUCH)
        if touches.any():
            radius[k], shared[k] = 0.5 * max(float(ahead[touches].min()), 0.0), True
    return radius, shared


def _around_corner(ring: Ring, corner: int, unit: np.ndarray, tree: cKDTree) -> list[np.ndarray]:
    """Points of the path between the edges at a corner [m]."""
    place = ring.corners[corner] / unit
    before, after = _unit_vectors(ring.normals[[corner - 1, corner]] * unit)
    turn = np.arctan2(before[0] * after[1] - before[1] * after[0], before @ after)
    if turn > 0.0:
        angles = np.arctan2(before[1], before[0]) + np.linspace(0.0, turn, int(np.ceil(turn / ARC)) + 1)
        found = [place + np.array([np.cos(angle), np.sin(angle)]) for angle in angles]
    elif turn > -0.9 * np.pi:
        found = [place + (before + after) / (1.0 + before @ after)]
    else:
        found = []
    return [one * unit for one in found if tree.query(one)[0] > 0.97 - 0.25 * DENSE**2]


def _cut_once(path: Path, medial: np.ndarray, unit: np.ndarray) -> Path:
    """The path without moves along the middle of a slot beside which another one is."""
    moves = path.moves
    within = medial[moves].any(axis=1)
    some = np.flatnonzero(within)
    if not len(some):
        return path
    a, b = path.points[moves[some, 0]] / unit, path.points[moves[some, 1]] / unit
    kept = np.ones(len(moves), bool)
    way = b - a
    square = np.maximum((way**2).sum(axis=1), 1e-12)
    order = np.argsort(some)
    reach = float(np.sqrt(square.max())) + TWICE
    tree = cKDTree(0.5 * (a + b))
    for k in order.tolist():
        middle = 0.5 * (a[k] + b[k])
        for j in tree.query_ball_point(middle, 0.5 * reach + TWICE):
            if j == k or abs(j - k) == 1 or not kept[some[j]] or not kept[some[k]]:
                continue
            if j > k:
                continue
            part = np.clip(((middle - a[j]) @ way[j]) / square[j], 0.0, 1.0)
            if np.hypot(*(middle - a[j] - part * way[j])) < TWICE and abs(way[j] @ way[k]) > 0.7 * np.sqrt(
                square[j] * square[k]
            ):
                kept[some[k]] = False
    previous = path.previous.copy()
    previous[moves[~kept, 1]] = -1
    return _without_lone_points(replace(path, previous=previous))


def _fine_path(path: Path, rings: list[Ring], unit: np.ndarray) -> Path:
    """The path with further points in long moves near corners."""
    corners = [ring.corners[sharp_corners(ring, unit)] / unit for ring in rings]
    known = np.concatenate(corners)
    moves = path.moves
    if not len(known) or not len(moves):
        return path
    a, b = path.points[moves[:, 0]], path.points[moves[:, 1]]
    size = np.hypot(*((b - a) / unit).T)
    near = cKDTree(known).query(0.5 * (a + b) / unit)[0] < NEAR_CORNER + 0.5 * size
    count = np.where(near & (size > 1.5 * FINE), np.ceil(np.minimum(size, MOST_CUT) / FINE), 1.0).astype(int)
    points, previous = [path.points], path.previous.copy()
    density, ring, total = [path.density], [path.ring], len(path.points)
    for k in np.flatnonzero(count > 1).tolist():
        parts = np.arange(1, count[k])[:, None] / count[k]
        begin, end = moves[k]
        points.append(a[k] + parts * (b[k] - a[k]))
        numbers = np.arange(total, total + count[k] - 1)
        previous = np.append(previous, np.append(begin, numbers[:-1]))
        previous[end] = numbers[-1]
        density.append(np.full(len(numbers), path.density[end]))
        ring.append(np.full(len(numbers), path.ring[end]))
        total += len(numbers)
    return Path(
        np.concatenate(points), previous, np.concatenate(density), np.concatenate(ring), np.zeros(total, bool)
    )


def _without_lone_points(path: Path) -> Path:
    """Without points that no move begins or ends at."""
    used = np.zeros(len(path.points), bool)
    used[path.moves.ravel()] = True
    number = np.cumsum(used) - 1
    previous = np.where(path.previous >= 0, number[path.previous], -1)[used]
    return Path(path.points[used], previous, path.density[used], path.ring[used], path.held[used])


def _unit_vectors(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.hypot(*vectors.T)[:, None]
