"""One iteration of laser deposition by torch and JAX, each in the forms that are best there."""

from collections.abc import Callable

import numpy as np

from .harness.cases import Call
from .harness.peers import peer
from .laser_post import MARGIN, Result, Task, corners


def in_torch(compiled: bool = False, by_fft: bool = False) -> Callable[[Task], Call]:
    """torch: a matrix product gives every point its 256 cells, `scatter_add` sums them, and a backward pass
    of ours takes them (autograd's own `gather` is slower). By FFT: the weights of every point are summed on
    the pixels, and the stencil is convolved; all by autograd."""

    def make(given: Task) -> Call:
        torch = peer("torch")
        rows, cols = given.target.shape
        width, height = cols + 2 * MARGIN, rows + 2 * MARGIN
        path = [torch.tensor(a, requires_grad=True) for a in given.path]
        target = torch.tensor(given.target)
        table = torch.tensor(corners(given.stencil).reshape(4, 256))
        cells = (torch.arange(16)[:, None] * width + torch.arange(16)).reshape(256)
        four = torch.tensor([0, 1, width, width + 1])
        kernel = np.zeros((height, width), given.target.dtype)
        kernel[:15, :15] = given.stencil
        spectrum = torch.fft.rfft2(torch.tensor(kernel))

        class Added(torch.autograd.Function):
            @staticmethod
            def forward(ctx, weights, first):
                where = (first[:, None] + cells).reshape(-1)
                ctx.save_for_backward(where)
                canvas = torch.zeros(height * width, dtype=weights.dtype)
                return canvas.scatter_add(0, where, (weights @ table).reshape(-1))

            @staticmethod
            def backward(ctx, residual):
                return residual.take(ctx.saved_tensors[0]).reshape(-1, 256) @ table.T, None

        def convolved(weights, first):
            where = (first[:, None] + four).reshape(-1)
            pixels = torch.zeros(height * width, dtype=weights.dtype).index_add(0, where, weights.reshape(-1))
            product = torch.fft.rfft2(pixels.reshape(height, width)) * spectrum
            return torch.fft.irfft2(product, s=(height, width))

        added = convolved if by_fft else Added.apply

        def iterate(x, y, power, speed):
            dx, dy = x[1:] - x[:-1], y[1:] - y[:-1]
            square = dx * dx + dy * dy
            length = torch.where(square > 0, torch.sqrt(torch.where(square > 0, square, 1.0)), 0.0)
            amount = power[1:] * length / speed[1:]
            fx, fy = torch.floor(x[1:]).detach(), torch.floor(y[1:]).detach()
            a, b = x[1:] - fx, y[1:] - fy
            weights = torch.stack([(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b], 1)
            first = (fy.clamp(-9, rows + 7).long() + 9) * width + fx.clamp(-9, cols + 7).long() + 9
            canvas = added(amount[:, None] * weights, first)
            dose = canvas.reshape(height, width)[MARGIN:-MARGIN, MARGIN:-MARGIN]
            return dose, ((dose - target) ** 2).mean()

        function = torch.compile(iterate) if compiled else iterate

        def call() -> Result:
            dose, loss = function(*path)
            return Result(dose, loss, torch.autograd.grad(loss, path))

        return call

    return make


def in_jax(by_hand: bool) -> Callable[[Task], Call]:
    """JAX under `jit`: a matrix product gives every point its 16 x 16 cells, and `scatter_add` sums them as
    windows (three times as fast as cell by cell). Gradient by `value_and_grad`, or by a custom vjp that reads
    the windows of the residual."""

    def make(given: Task) -> Call:
        jax = peer("jax")
        jnp, lax = jax.numpy, jax.lax
        dtype, (rows, cols) = given.target.dtype, given.target.shape
        shape = (rows + 2 * MARGIN, cols + 2 * MARGIN)
        path = [jnp.asarray(a) for a in given.path]
        target, table = jnp.asarray(given.target), jnp.asarray(corners(given.stencil).reshape(4, 256))
        to_windows = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))
        of_windows = lax.GatherDimensionNumbers((1, 2), (), (0, 1))

        def added(weights, first):
            spots = (weights @ table).reshape(-1, 16, 16)
            canvas = jnp.zeros(shape, dtype)
            return lax.scatter_add(canvas, first, spots, to_windows, mode="promise_in_bounds")

        def backward(first, residual):
            windows = lax.gather(residual, first, of_windows, (16, 16), mode="promise_in_bounds")
            return windows.reshape(-1, 256) @ table.T, None

        if by_hand:
            plainly, added = added, jax.custom_vjp(added)
            added.defvjp(lambda weights, first: (plainly(weights, first), first), backward)

        def iterate(x, y, power, speed):
            dx, dy = x[1:] - x[:-1], y[1:] - y[:-1]
            square = dx * dx + dy * dy
            length = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
            amount = power[1:] * length / speed[1:]
            fx, fy = lax.stop_gradient(jnp.floor(x[1:])), lax.stop_gradient(jnp.floor(y[1:]))
            a, b = x[1:] - fx, y[1:] - fy
            weights = jnp.stack([(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b], 1)
            first = jnp.stack([jnp.clip(fy, -9, rows + 7), jnp.clip(fx, -9, cols + 7)], 1)
            canvas = added(amount[:, None] * weights, first.astype(jnp.int32) + 9)
            dose = canvas[MARGIN:-MARGIN, MARGIN:-MARGIN]
            return jnp.mean((dose - target) ** 2), dose

        function = jax.jit(jax.value_and_grad(iterate, argnums=(0, 1, 2, 3), has_aux=True))

        def call() -> Result:
            (loss, dose), gradient = jax.block_until_ready(function(*path))
            return Result(dose, loss, gradient)

        return call

    return make


MAKERS: dict[str, Callable[[Task], Call]] = {
    "torch eager": in_torch(),
    "torch by FFT": in_torch(by_fft=True),
    "torch.compile": in_torch(compiled=True),
    "JAX": in_jax(False),
    "JAX, vjp by hand": in_jax(True),
}
"""By name."""
