"""The post's program in Taichi."""

from collections.abc import Callable

import numpy as np

from minusgrad import ti

from .harness.cases import Call
from .laser_post import Result, Task


class SeedsForm:
    """The post's program in Taichi: scatter kernels with atomics, differentiated by a Tape.

    Three kernels as in the post (clear, deposit, loss). Two things differ from it: a cell outside the canvas
    is dropped, and the length of a zero segment is guarded, because its gradient would be NaN.
    """

    def __init__(self, given: Task):
        real = {"float32": ti.f32, "float64": ti.f64}[given.target.dtype.name]
        points, (rows, cols) = len(given.path.x), given.target.shape
        path = ti.field(real, (4, points), needs_grad=True)
        dose, loss = ti.field(real, (rows, cols), needs_grad=True), ti.field(real, (), needs_grad=True)
        stencil, target = ti.field(real, given.stencil.shape), ti.field(real, (rows, cols))
        for field, values in ((path, np.stack(given.path)), (stencil, given.stencil), (target, given.target)):
            field.from_numpy(values)
        size = len(given.stencil)

        @ti.func
        def amount(i):
            d = ti.Vector([path[0, i] - path[0, i - 1], path[1, i] - path[1, i - 1]])
            square = d.dot(d)
            length = ti.select(square > 0, ti.sqrt(ti.select(square > 0, square, real(1.0))), real(0.0))
            return path[2, i] * length / path[3, i]

        @ti.func
        def sample(row, col):
            value = real(0.0)
            if 0 <= row < size and 0 <= col < size:
                value = stencil[row, col]
            return value

        @ti.kernel
        def clear():
            for p in ti.grouped(dose):
                dose[p] = 0.0

        @ti.kernel
        def deposit_cast():
            for i in range(1, points):
                for m, n in ti.ndrange(size, size):
                    r = ti.cast(ti.floor(path[1, i]), ti.i32) + m - size // 2
                    c = ti.cast(ti.floor(path[0, i]), ti.i32) + n - size // 2
                    if 0 <= r < rows and 0 <= c < cols:
                        dose[r, c] += stencil[m, n] * amount(i)

        @ti.kernel
        def deposit_bilinear():
            for i in range(1, points):
                for m, n in ti.ndrange(size + 1, size + 1):
                    fx, fy = ti.floor(path[0, i]), ti.floor(path[1, i])
                    a, b = path[0, i] - fx, path[1, i] - fy
                    r = ti.cast(fy, ti.i32) + m - size // 2
                    c = ti.cast(fx, ti.i32) + n - size // 2
                    if 0 <= r < rows and 0 <= c < cols:
                        upper = (1 - a) * sample(m, n) + a * sample(m, n - 1)
                        lower = (1 - a) * sample(m - 1, n) + a * sample(m - 1, n - 1)
                        dose[r, c] += ((1 - b) * upper + b * lower) * amount(i)

        @ti.kernel
        def compare():
            for p in ti.grouped(dose):
                loss[None] += (dose[p] - target[p]) ** 2 / (rows * cols)

        def form(deposit: Callable) -> Call:
            def call() -> Result:
                clear()
                with ti.ad.Tape(loss):
                    deposit()
                    compare()
                ti.sync()
                return Result(dose, loss, path.grad)

            return call

        self.cast, self.bilinear = form(deposit_cast), form(deposit_bilinear)
