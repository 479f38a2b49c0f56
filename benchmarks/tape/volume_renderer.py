"""A volume renderer in Taichi alone: cameras around a cube, rays that march through it, by `ti.ad.Tape`.

A view's pixel is the integral of the density along its ray, by the midpoint rule; the loss is the mean
squared difference from target views.
"""

import math
from collections.abc import Callable

import numpy as np

from minusgrad import ti


def program(
    cells: int,
    pixels: int,
    views: int,
    steps: int,
    precision: str = "f64",
    side: float = 20.0,
    distance: float = 40.0,
    opening: float = 0.33,
) -> Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]:
    """A function of density (cells^3,) [1/cm] and target (rays,) that returns loss and dL/d(density).

    Cells are numbered by z, y and x, rays by row, view and column. side, distance: of the cube, and of the
    cameras from its centre [cm]; opening: half the width of a view at distance 1.
    """
    real = getattr(ti, precision)
    rays = views * pixels * pixels
    density = ti.field(real, (cells, cells, cells), needs_grad=True)
    image, loss = ti.field(real, rays, needs_grad=True), ti.field(real, (), needs_grad=True)
    wanted = ti.field(real, rays)

    @ti.kernel
    def render():
        for ray, k in ti.ndrange(rays, steps):
            angle = ti.cast(ray // pixels % views, real) * (math.pi / views)
            right = ti.cast(2 * (ray % pixels) + 1, real) / pixels - 1
            up = ti.cast(2 * (ray // (pixels * views)) + 1, real) / pixels - 1
            cos, sin = ti.cos(angle), ti.sin(angle)
            way = ti.Vector([-cos - opening * right * sin, -sin + opening * right * cos, opening * up])
            way = way / way.norm()
            eye = ti.Vector([distance * cos, distance * sin, 0 * cos])
            one, two = (-side / 2 - eye) / way, (side / 2 - eye) / way
            begin = ti.min(one, two).max()
            length = ti.max(ti.max(one, two).min() - begin, 0)
            at = (eye + (begin + (k + 0.5) / steps * length) * way) * (cells / side) + cells / 2
            cell = ti.min(ti.max(ti.cast(ti.floor(at), ti.i32), 0), cells - 1)
            image[ray] += density[cell[2], cell[1], cell[0]] * length / steps

    @ti.kernel
    def compare():
        for ray in range(rays):
            loss[None] += (image[ray] - wanted[ray]) ** 2 / rays

    def evaluate(start: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
        density.from_numpy(start.reshape(cells, cells, cells).astype(precision.replace("f", "float")))
        wanted.from_numpy(target.astype(precision.replace("f", "float")))
        image.fill(0)
        with ti.ad.Tape(loss):
            render()
            compare()
        return float(loss[None]), density.grad.to_numpy().astype(np.float64).ravel()

    return evaluate
