"""The forum post's data: butterfly, random curve, stencil; and one iteration of it by NumPy in f64.

Point i >= 1 deposits power_i |p_i - p_(i-1)| / speed_i times the stencil, bilinear at its sub-pixel offset;
the loss is the mean squared difference from the target.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import airy

from .harness.cases import numbers

SIZE = 512
TOGETHER = 5000  # points whose cells NumPy holds at once
MARGIN = 16  # a canvas with a margin needs no clipping


class Path4(NamedTuple):
    """The fields of the points, (N,) each."""

    x: np.ndarray
    y: np.ndarray
    power: np.ndarray
    speed: np.ndarray


class Task(NamedTuple):
    """What all columns are given, in the precision of the run."""

    path: Path4
    stencil: np.ndarray
    target: np.ndarray


class Result(NamedTuple):
    """What all columns return: dose (512, 512), loss, gradient (4, N)."""

    dose: Any
    loss: Any
    gradient: Any


class Scaled(NamedTuple):
    """Dose, loss and four gradients, one after another, each in parts of the largest number of its own."""

    scales: list[float]
    right: np.ndarray

    @classmethod
    def by(cls, right: Result) -> "Scaled":
        """The reference values set the scales."""
        parts = _parts(right)
        scales = [float(np.abs(part).max()) or 1.0 for part in parts]
        return cls(scales, np.concatenate([part / scale for part, scale in zip(parts, scales, strict=True)]))

    def of(self, found: Result) -> "Answer":
        """A computed value, on the scales of the reference."""
        return Answer(self.scales, found)


class Answer(NamedTuple):
    """A result that waits to be compared: putting it together takes time that is nobody's."""

    scales: list[float]
    found: Result

    def numpy(self) -> np.ndarray:
        """As `Scaled.right`."""
        pairs = zip(_parts(self.found), self.scales, strict=True)
        return np.concatenate([part / scale for part, scale in pairs])


def _parts(result: Result) -> list[np.ndarray]:
    of_each = result.gradient.to_numpy() if hasattr(result.gradient, "to_numpy") else result.gradient
    return [numbers(part).ravel() for part in (result.dose, result.loss, *of_each)]


# The post's data ------------------------------------------------------------------------------------


def butterfly(size: int = SIZE) -> np.ndarray:
    """The target, (row, column), 1 inside and 0 outside."""
    column, row = np.meshgrid(np.arange(size) - size // 2, np.arange(size) - size // 2)
    t = np.arctan2(row, column)
    curve = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24) ** 5
    return (curve > (row**2 + column**2) / (20000 * (size / SIZE) ** 2)).astype(float)


def airy_stencil(size: int = 15) -> np.ndarray:
    """Ai((r/5)^2), maximum 1; r from half a pixel beside the middle sample, as in the post."""
    column, row = np.meshgrid(np.arange(size) - size / 2, np.arange(size) - size / 2)
    stencil = airy((row**2 + column**2) / 25)[0]
    return stencil / stencil.max()


def random_path(points: int = 5000, size: int = SIZE) -> Path4:
    """The post's random curve, from seed 0; on more cells as wide, in steps as short as there."""
    draw = np.random.RandomState(0)
    r = np.cumsum(draw.randint(-5, 5, size=points))
    theta = np.cumsum(draw.rand(points)) * 5 * SIZE / size / 180 * np.pi
    x, y = r * np.cos(theta), r * np.sin(theta)
    wide = 400 * size / SIZE
    x, y = x / np.ptp(x) * wide, y / np.ptp(y) * wide
    x, y = x - x.mean() + size / 2, y - y.mean() + size / 2
    return Path4(x, y, np.full(points, 0.02), np.ones(points))


def task(points: int, dtype: type, size: int = SIZE) -> Task:
    """The benchmark's problem with so many points and cells along a side, in one precision."""
    path = Path4(*(a.astype(dtype) for a in random_path(points, size)))
    return Task(path, airy_stencil().astype(dtype), butterfly(size).astype(dtype))


def corners(stencil: np.ndarray) -> np.ndarray:
    """(4, 16, 16): what the offsets (0, 0), (1, 0), (0, 1), (1, 1) leave in the cells that a spot touches."""
    return np.stack([np.pad(stencil, ((b, 1 - b), (a, 1 - a))) for b in (0, 1) for a in (0, 1)])


# What is right --------------------------------------------------------------------------------------


def expected(given: Task, cast: bool = False) -> Result:
    """The iteration in f64 by NumPy, cell by cell and point by point; `cast`: with the place rounded."""
    x, y, power, speed = (a.astype(float) for a in given.path)
    stencil, target = given.stencil.astype(float), given.target.astype(float)
    (rows, cols), points = target.shape, len(x)
    length = np.hypot(np.diff(x, prepend=x[0]), np.diff(y, prepend=y[0]))
    amount = power * length / speed
    fx, fy = np.floor(x), np.floor(y)
    a, b = (0 * x, 0 * y) if cast else (x - fx, y - fy)
    c = corners(stencil)

    def cells(some: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        row = fy[some].astype(int)[:, None, None] - 7 + np.arange(16)[:, None]
        col = fx[some].astype(int)[:, None, None] - 7 + np.arange(16)
        inside = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
        return row.clip(0, rows - 1), col.clip(0, cols - 1), inside

    def mixed(*four: np.ndarray) -> np.ndarray:
        return np.einsum("in,ikl->nkl", four, c)

    dose = np.zeros_like(target)
    blocks = [slice(begin, begin + TOGETHER) for begin in range(0, points, TOGETHER)]
    for some in blocks:
        row, col, inside = cells(some)
        u, v = a[some], b[some]
        spot = mixed((1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v)
        np.add.at(dose, (row, col), amount[some, None, None] * np.where(inside, spot, 0))
    change, slopes = 2 * (dose - target) / target.size, []
    for some in blocks:
        row, col, inside = cells(some)
        felt, u, v = np.where(inside, change[row, col], 0), a[some], b[some]
        of_amount = ((1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v)
        moved = (of_amount, (v - 1, 1 - v, -v, v), (u - 1, -u, 1 - u, u))
        slopes.append([np.einsum("nkl,nkl->n", felt, mixed(*four)) for four in moved])
    of_amount, gx, gy = np.concatenate(slopes, axis=1)
    gx, gy = amount * gx, amount * gy
    if cast:
        gx, gy = 0 * gx, 0 * gy
    slope = np.divide(of_amount * power / speed, length, out=np.zeros(points), where=length > 0)
    for g, d in ((gx, slope * np.diff(x, prepend=x[0])), (gy, slope * np.diff(y, prepend=y[0]))):
        g += d
        g[:-1] -= d[1:]
    gradient = np.stack([gx, gy, of_amount * length / speed, -of_amount * amount / speed])
    return Result(dose, ((dose - target) ** 2).mean(), gradient)
