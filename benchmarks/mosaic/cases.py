"""The settings of Mosaic's checks of gradients ("gradient/fd_check") and of its comparison of solvers."""

from typing import Any

import numpy as np

from .problems import Structural, Thermal


def box(counts: tuple[int, int, int], sides: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Points and hexahedra of a box, x fastest; corners of a cell counterclockwise, below, then above."""
    nx, ny, nz = counts
    x, y, z = (np.linspace(0.0, side, n + 1) for side, n in zip(sides, counts, strict=True))
    points = np.stack(np.meshgrid(z, y, x, indexing="ij")[::-1], axis=-1).reshape(-1, 3)
    k, j, i = (a.ravel() for a in np.meshgrid(range(nz), range(ny), range(nx), indexing="ij"))
    row, layer = nx + 1, (nx + 1) * (ny + 1)
    first = k * layer + j * row + i
    below = np.stack([first, first + 1, first + 1 + row, first + row], axis=1)
    return points, np.concatenate([below, below + layer], axis=1)


def random_density(count: int) -> np.ndarray:
    """Normal around 0.5, between 0.05 and 0.95."""
    noise = 0.3 * np.random.default_rng(0).standard_normal(count)
    return np.clip(0.5 + noise.astype(np.float32), 0.05, 0.95).astype(np.float64)


def cantilever(corner: bool) -> Structural:
    """2 x 1 x 1 in 8 x 2 x 4 cells, clamped at x = 0; a force of 1 on the right face, or at one corner."""
    counts, sides = (8, 2, 4), (2.0, 1.0, 1.0)
    points, cells = box(counts, sides)
    right = points[:, 0] > sides[0] - 1e-6
    area, up = sides[1] * sides[2], -1.0
    if corner:
        dy, dz = sides[1] / counts[1], sides[2] / counts[2]
        right &= (points[:, 1] < dy + 1e-6) & (points[:, 2] < dz + 1e-6)
        area, up = dy * dz, 1.0
    conditions: dict[str, Any] = {
        "dirichlet": {"mask": (points[:, 0] < 1e-6).astype(int), "values": None},
        "neumann": {"mask": right.astype(int), "values": [[0.0, 0.0, up / area]]},
    }
    return Structural(points, cells, conditions)


def slab(nx: int = 8, ny: int = 4) -> Thermal:
    """2 x 1 in one layer of cells as thick as long, T = 0 at x = 0, a heat of 1 through the right face."""
    thickness = 2.0 / nx
    points, cells = box((nx, ny, 1), (2.0, 1.0, thickness))
    conditions: dict[str, Any] = {
        "dirichlet": {"mask": (points[:, 0] < 1e-6).astype(int), "values": [[0.0]]},
        "neumann": {"mask": (points[:, 0] > 2.0 - 1e-6).astype(int), "values": [[1.0 / thickness]]},
    }
    warm = np.random.default_rng(1).normal(size=len(points))
    return Thermal(points, cells, conditions, target=warm)
