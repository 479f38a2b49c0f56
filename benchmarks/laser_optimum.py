"""The best that any path can do: the mean squared error of the best non-negative dose on pixels.

    python benchmarks/laser_optimum.py [RUN ...]

A point of a path deposits its stencil bilinearly at its sub-pixel offset. That is a sum of four stencils on whole
pixels, weighted (1-a)(1-b), a (1-b), (1-a) b, a b, and the weights and what the point deposits are not negative. So whatever
a path of whatever length does with power >= 0 is sum_p a_p S(. - p) with a_p >= 0, and

    minimum over a >= 0 of  |S * a - target|^2 / cells

is a lower bound of every path's error. The pixels p go SPILL = 7 beyond the canvas on each side: spots out there still
reach it. It is a convex problem with 526 x 526 unknowns; its gradient is two convolutions by FFT; L-BFGS-B of scipy
finds the upper side of the figure, which is a dose that exists. The lower side is a certificate, not a hope: for every r
on the canvas with S^T r >= 0 (a correlation) and r . target < 0

    |S * a - target|^2  >=  (r . target)^2 / |r|^2         for every a >= 0

because |d - t| |r| >= r . (d - t) = a . S^T r - r . t >= -r . t. The residual of the dose found is such an r but
for the last digits, where S^T r is slightly negative; a little more dose there repairs it. What lies between the
two is the gap, and no figure outside of them can be right.

For each RUN, a folder of the shipped scene: its last `mean_square_error`, and the ratio to the optimum.
"""

import json
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from laser_deposit import airy_stencil, butterfly
from scipy import fft
from scipy.optimize import minimize

SPILL = 7
GAP = 2e-4  # the search ends when the certificate is as close as this, in parts
ROUND = 100  # iterations between two certificates
MOST = 4000
THREADS = 2


class Optimum(NamedTuple):
    """Between `lower` and `upper`; the amount on each pixel that reaches `upper`."""

    lower: float
    upper: float
    amount: np.ndarray
    iterations: int
    seconds: float


class Deposit:
    """S * a on the canvas, from a on the pixels of the canvas and SPILL beyond; and its transpose."""

    def __init__(self, stencil: np.ndarray, canvas: tuple[int, ...]):
        self.canvas = canvas
        self.pixels = tuple(n + 2 * SPILL for n in canvas)
        self.shape = tuple(n + 2 * SPILL + len(stencil) - 1 for n in canvas)
        self.spectrum = fft.rfft2(stencil, self.shape)
        self.middle = tuple(slice(2 * SPILL, 2 * SPILL + n) for n in canvas)

    def of(self, amount: np.ndarray) -> np.ndarray:
        """The dose."""
        spectrum = fft.rfft2(amount, self.shape, workers=THREADS) * self.spectrum
        return fft.irfft2(spectrum, self.shape, workers=THREADS)[self.middle]

    def transposed(self, residual: np.ndarray) -> np.ndarray:
        """S^T r: how a stencil on each pixel meets the residual."""
        canvas = np.zeros(self.shape)
        canvas[self.middle] = residual
        spectrum = fft.rfft2(canvas, workers=THREADS) * self.spectrum.conj()
        rows, cols = self.pixels
        return fft.irfft2(spectrum, self.shape, workers=THREADS)[:rows, :cols]


def lower_bound(deposit: Deposit, residual: np.ndarray, target: np.ndarray, peak: float) -> float:
    """The certificate that a residual gives: in mean square, or 0 if it gives none.

    Where S^T r < 0, r is raised on the cell nearest to the pixel, by as much as its own stencil needs; then by
    one number everywhere for what is left (spots that reach the canvas with their rim alone).
    """
    negative = np.maximum(-deposit.transposed(residual), 0.0)
    raised = residual + negative[SPILL:-SPILL, SPILL:-SPILL] / peak
    left, of_one = np.maximum(-deposit.transposed(raised), 0.0), deposit.transposed(np.ones_like(target))
    raised = raised + (left / of_one).max()
    along = -(raised * target).sum()
    return along**2 / (raised**2).sum() / target.size if along > 0 else 0.0


def optimum(stencil: np.ndarray, target: np.ndarray, gap: float = GAP) -> Optimum:
    """Search until the certificate is close."""
    deposit, began = Deposit(stencil, target.shape), time.perf_counter()
    peak = stencil[SPILL, SPILL]

    def error(flat: np.ndarray) -> tuple[float, np.ndarray]:
        residual = deposit.of(flat.reshape(deposit.pixels)) - target
        gradient = deposit.transposed(residual) / (0.5 * target.size)
        return (residual**2).mean() * SCALE, gradient.ravel() * SCALE

    amount = np.full(deposit.pixels, target.mean() / stencil.sum()).ravel()
    upper, lower, iterations = np.inf, 0.0, 0
    while iterations < MOST and upper - lower > gap * upper:
        options = {"maxiter": ROUND, "maxcor": 20, "maxfun": 10 * ROUND, "ftol": 0.0, "gtol": 0.0}
        found = minimize(
            error, amount, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(amount), options=options
        )
        amount, iterations = found.x, iterations + found.nit
        residual = deposit.of(amount.reshape(deposit.pixels)) - target
        upper = (residual**2).mean()
        lower = max(lower, lower_bound(deposit, residual, target, peak))
        print(f"{iterations:6d} {lower:.7f} {upper:.7f} {time.perf_counter()-began:.1f}", flush=True)
    seconds = time.perf_counter() - began
    return Optimum(lower, upper, amount.reshape(deposit.pixels), iterations, seconds)


SCALE = 1e6


if __name__ == "__main__":
    o=optimum(airy_stencil(), butterfly())
