"""Sums over pairs of a periodic box by brute force: every image within reach, in NumPy, without lists."""

from collections.abc import Callable
from itertools import product

import numpy as np


def images(box: np.ndarray, periodic: tuple[bool, ...], reach: float) -> np.ndarray:
    """The displacements of all images that can be within reach of a node in the box, (m, d)."""
    heights = 1.0 / np.linalg.norm(np.linalg.inv(box), axis=0)
    most = [int(np.ceil(reach / h)) + 1 if p else 0 for h, p in zip(heights, periodic, strict=True)]
    return np.array([*product(*(range(-k, k + 1) for k in most))], float) @ box


def wrapped(x: np.ndarray, box: np.ndarray, periodic: tuple[bool, ...]) -> np.ndarray:
    """The positions in the box, along periodic axes."""
    s = x @ np.linalg.inv(box)
    return (s - np.where(periodic, np.floor(s), 0.0)) @ box


def quintic(r: np.ndarray, begin: float, end: float) -> np.ndarray:
    """The switching function, from its definition."""
    s = np.clip((r - begin) / (end - begin), 0.0, 1.0)
    return 1.0 - 10.0 * s**3 + 15.0 * s**4 - 6.0 * s**5


def pair_sum(
    x: np.ndarray,
    box: np.ndarray,
    periodic: tuple[bool, ...],
    cutoff: float,
    u: Callable[[np.ndarray], np.ndarray],
    excluded: frozenset[tuple[int, int]] = frozenset(),
) -> float:
    """The sum of u(r) over all pairs of nodes and images with r < cutoff, each once.

    `excluded`: pairs (i, j), i < j, whose nearest images do not interact.
    """
    at, shifts, total = wrapped(x, box, periodic), images(box, periodic, cutoff), 0.0
    for i in range(len(x)):
        for j in range(i, len(x)):
            r = np.linalg.norm(at[j] - at[i] + shifts, axis=1)
            if i == j:
                total += 0.5 * u(r[(r > 0.0) & (r < cutoff)]).sum()
                continue
            if (i, j) in excluded:
                r = np.delete(r, np.argmin(r))
            total += u(r[r < cutoff]).sum()
    return float(total)


def pair_derivatives(
    x: np.ndarray,
    box: np.ndarray,
    periodic: tuple[bool, ...],
    cutoff: float,
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    dx: np.ndarray,
    dbox: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """dU/dx, dU/dbox, and their changes along (dx, dbox), from du/dr and d2u/dr2 of all pairs and images."""
    s = x @ np.linalg.inv(box)
    wraps = np.where(periodic, np.floor(s), 0.0)
    shifts = np.rint(images(box, periodic, cutoff) @ np.linalg.inv(box))
    of_x, of_box, x_along, box_along = (np.zeros(one.shape) for one in (x, box, x, box))
    for i in range(len(x)):
        image = shifts[None] - wraps[:, None] + wraps[i]  # (n, m, d), of positions that are not wrapped
        d = x[:, None] + image @ box - x[i]
        r = np.linalg.norm(d, axis=2)
        near = (r > 0.0) & (r < cutoff)
        d, image, r, j = d[near], image[near], r[near][:, None], np.nonzero(near)[0]
        first, second = derivatives(r)
        rate = dx[j] - dx[i] + image @ dbox
        pull = first / r * d
        along = (d * rate).sum(axis=1, keepdims=True) / r**2
        change = (second - first / r) * along * d + first / r * rate
        of_x[i] -= pull.sum(axis=0)  # each pair is visited from both sides
        x_along[i] -= change.sum(axis=0)
        of_box += 0.5 * image.T @ pull
        box_along += 0.5 * image.T @ change
    return of_x, of_box, x_along, box_along


def slope(f: Callable[[float], float], h: float = 1e-5) -> float:
    """df/ds at 0 by central differences of fourth order."""
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
