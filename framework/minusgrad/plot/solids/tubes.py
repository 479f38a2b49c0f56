"""Tubes and bars around lines: smooth through nodes of two lines, closed at ends, turned with their frames.

    c(s) = (1 - s)^2 (1 + 2 s) x_a + s^2 (3 - 2 s) x_b + l s (1 - s) ((1 - s) t_a - s t_b)

x_a, x_b are the nodes of a line of length l and t_a, t_b the directions there: the mean of both lines that
meet in a node, else that of the line. The cross-section is across c'; d1 goes from the mean of both frames
at a node over that of the line in its middle to the other node.

Decisions 0138.
"""

from typing import NamedTuple

import numpy as np

from .pieces import Piece, indexed, joined, unit

AROUND = 20
"""Corners of an ellipse."""
ALONG = 8
"""The most parts of a line."""
FACETS = 200_000
"""Lines have so many parts that there are no more facets than these, some."""
BENT = -0.2
"""Two lines at a node are one tube where the cosine of the angle between their directions is above this."""


class Stations(NamedTuple):
    """Cross-sections of lines at S places along each: middles, axes d1, d2, t (E, S, 3), widths (E, S, 2).

    ends (E, 2): True where no other line goes on.
    """

    middle: np.ndarray
    d1: np.ndarray
    d2: np.ndarray
    along: np.ndarray
    widths: np.ndarray
    ends: np.ndarray


def axes_of(q: np.ndarray) -> np.ndarray:
    """d1, d2, d3 (E, 3, 3), in rows, of quaternions (w, x, y, z) of any length (E, 4)."""
    w, x, y, z = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
        [2.0 * (x * y - w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z + w * x)],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def partners(lines: np.ndarray) -> np.ndarray:
    """The line that shares each end of lines (E, 2), (E, 2), where exactly two meet; else -1."""
    ends = lines.ravel()
    order = np.argsort(ends, kind="stable")
    _, first, counts = np.unique(ends[order], return_index=True, return_counts=True)
    found = np.full(ends.shape, -1)
    at = first[counts == 2]
    one, other = order[at], order[at + 1]
    found[one], found[other] = other // 2, one // 2
    return found.reshape(lines.shape)


def stations(
    x: np.ndarray, lines: np.ndarray, widths: np.ndarray, first: np.ndarray | None, parts: int
) -> Stations:
    """The cross-sections of lines (E, 2) between nodes x (N, 3); first (E, 3): d1 of each line, if known."""
    a, b = x[lines[:, 0]], x[lines[:, 1]]
    step = b - a
    length = np.linalg.norm(step, axis=1)
    ahead = unit(step)
    mates = partners(lines)
    goes_on = np.zeros(lines.shape, bool)
    tangent = np.stack([ahead, ahead], axis=1)
    across = np.tile((first if first is not None else _any_across(ahead))[:, None], (1, 2, 1))
    wide = np.repeat(widths[:, None], 2, axis=1)
    for end in (0, 1):
        mate = mates[:, end]
        same = lines[mate, 1 - end] == lines[:, end]  # it runs the same way
        other = np.where(same[:, None], ahead[mate], -ahead[mate])
        on = (mate >= 0) & (np.einsum("ei,ei->e", ahead, other) > BENT)
        goes_on[:, end] = on
        tangent[on, end] = unit(ahead + other)[on]
        wide[on, end] = 0.5 * (widths + widths[mate])[on]
        if first is not None:
            turned = on & same & (np.einsum("ei,ei->e", first, first[mate]) > 0.0)
            across[turned, end] = (first + first[mate])[turned]
    s = np.linspace(0.0, 1.0, parts + 1)[None, :, None]
    t_a, t_b = tangent[:, :1], tangent[:, 1:]
    size = length[:, None, None]
    place = (1 - s) ** 2 * (1 + 2 * s) * a[:, None] + s**2 * (3 - 2 * s) * b[:, None]
    place = place + size * s * (1 - s) * ((1 - s) * t_a - s * t_b)
    slope = 6 * s * (1 - s) * step[:, None] / np.where(size > 0, size, 1.0)
    along = unit(slope + (1 - s) * (1 - 3 * s) * t_a + s * (3 * s - 2) * t_b)
    middle = (first if first is not None else across[:, 0])[:, None]
    early, late = np.clip(1 - 2 * s, 0, 1), np.clip(2 * s - 1, 0, 1)
    d1 = early * unit(across[:, :1]) + late * unit(across[:, 1:]) + (1 - early - late) * middle
    d1 = unit(d1 - np.einsum("esi,esi->es", d1, along)[..., None] * along)
    sizes = (1 - s) * wide[:, :1] + s * wide[:, 1:]
    return Stations(place, d1, np.cross(along, d1), along, sizes, ~goes_on)


def _any_across(ahead: np.ndarray) -> np.ndarray:
    """A direction across each line."""
    axis = np.eye(3)[np.argmin(np.abs(ahead), axis=1)]
    return unit(axis - np.einsum("ei,ei->e", axis, ahead)[:, None] * ahead)


def tubes(
    x: np.ndarray,
    lines: np.ndarray,
    widths: np.ndarray,
    q: np.ndarray | None,
    outline: str,
    rgb: np.ndarray,
    second: np.ndarray,
    most: int = FACETS,
) -> Piece:
    """The surface of lines (E, 2) between nodes x (N, 3) with full widths (E, 2), frames q (E, 4) or None.

    rgb (E, 3): colours of the lines. second (E, 3): of a bar, that of the side whose normal is against the
    thinner of d1 and d2; outline: "tube" or "bar". most: about so many facets at most.
    """
    round_ = outline != "bar"
    corners = AROUND if round_ else 8
    parts = int(np.clip(most / (2 * corners * max(len(lines), 1)), 1, ALONG))
    at = stations(x, lines, widths, None if q is None else axes_of(q)[:, 0], parts)
    points, normals, turn = _ellipse(at) if round_ else _rectangle(at)
    count, stops, around = points.shape[:3]
    number = np.arange(count * stops * around).reshape(count, stops, around)
    here, there = number[:, :-1], number[:, 1:]
    pairs = [(k, k + 1) for k in range(around - 1)] if round_ else [(k, k + 1) for k in range(0, 8, 2)]
    quads = [
        np.stack([here[..., k], here[..., m], there[..., m], there[..., k]], axis=-1).reshape(-1, 4)
        for k, m in pairs
    ]
    own = np.tile(np.arange(count).repeat(stops - 1), len(pairs))
    colours = rgb[own]
    if not round_:
        thin = np.argmin(widths, axis=1)  # bars that are flat along d2 have d2 as their normal, else d1
        back = np.where(thin[own] == 0, 2, 3)
        side = np.arange(4).repeat(count * (stops - 1))
        colours = np.where((side == back)[:, None], second[own], colours)
    four = np.concatenate(quads)
    faces = np.concatenate([four[:, [0, 1, 2]], four[:, [0, 2, 3]]])
    flat = points.reshape(-1, 3)
    around_ = turn.reshape(-1) if round_ and q is not None else None
    shade = np.tile(np.concatenate([colours, colours])[:, None], (1, 3, 1))
    hull = indexed(flat, normals.reshape(-1, 3), faces, shade, around_)
    return joined([hull, *_caps(at, points, rgb, number)])


def _ellipse(at: Stations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points and normals (E, S, K, 3) around ellipses, the first twice, and the turns (E, S, K)."""
    turn = np.linspace(0.0, 1.0, AROUND + 1)
    c, s = np.cos(2 * np.pi * turn)[None, None, :, None], np.sin(2 * np.pi * turn)[None, None, :, None]
    a, b = 0.5 * at.widths[..., :1, None], 0.5 * at.widths[..., 1:, None]
    d1, d2 = at.d1[:, :, None], at.d2[:, :, None]
    points = at.middle[:, :, None] + a * c * d1 + b * s * d2
    return points, unit(b * c * d1 + a * s * d2), np.broadcast_to(turn, points.shape[:3])


def _rectangle(at: Stations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points and normals (E, S, 8, 3) of the sides of rectangles: +d1, +d2, -d1, -d2, two corners each."""
    a, b = 0.5 * at.widths[..., :1, None], 0.5 * at.widths[..., 1:, None]
    d1, d2 = at.d1[:, :, None], at.d2[:, :, None]
    one = np.array([1, 1, 1, -1, -1, -1, -1, 1], float)[None, None, :, None]
    other = np.array([-1, 1, 1, 1, 1, -1, -1, -1], float)[None, None, :, None]
    points = at.middle[:, :, None] + one * a * d1 + other * b * d2
    out = [(1, 0), (1, 0), (0, 1), (0, 1), (-1, 0), (-1, 0), (0, -1), (0, -1)]
    p, q = (np.array([row[k] for row in out], float)[None, None, :, None] for k in (0, 1))
    return points, p * d1 + q * d2, np.full(points.shape[:3], np.nan)


def _caps(at: Stations, points: np.ndarray, rgb: np.ndarray, number: np.ndarray) -> list[Piece]:
    """Flat ends."""
    found = []
    for end, stop, out in ((0, 0, -1.0), (1, -1, 1.0)):
        own = np.flatnonzero(at.ends[:, end])
        if not len(own):
            continue
        ring, middle = points[own, stop], at.middle[own, stop]
        following = np.roll(ring, -1, axis=1)
        pair = (ring, following) if out > 0 else (following, ring)
        centre = np.repeat(middle[:, None], ring.shape[1], axis=1)
        corners = np.stack([centre, *pair], axis=2).reshape(-1, 3, 3)
        normal = np.repeat(out * at.along[own, stop], ring.shape[1], axis=0)
        normals = np.repeat(normal[:, None], 3, axis=1)
        shade = np.repeat(np.repeat(rgb[own], ring.shape[1], axis=0)[:, None], 3, axis=1)
        found.append(Piece(corners, normals, shade, np.full(corners.shape[:2], np.nan)))
    return found
