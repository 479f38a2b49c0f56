"""The best that any path can do: the mean squared error of the best non-negative dose on pixels.

    python -m benchmarks.laser_optimum [RUN ...]

A point of a path deposits its stencil bilinearly at its sub-pixel offset (a, b). That is a sum of four
stencils on whole pixels, weighted (1-a)(1-b), a (1-b), (1-a) b, a b; these are not negative, nor is what the
point deposits. So whatever a path of whatever length leaves with power >= 0 is a sum over pixels q of w_q
times the stencil at q, w_q >= 0, and no path has a smaller error than

    minimum over w >= 0 of  |S * w - target|^2 / cells

The pixels q go SPILL = 7 beyond the canvas on each side: spots out there still reach it, spots farther out do
not. It is a convex problem with 526 x 526 unknowns. The search is ADMM: two copies, u = S * w for the error
and v = w for the sign, so that each iteration is one division of spectra (four FFTs) and two formulas for
each pixel.

Two figures come out. `upper` is the error of a dose that exists. `lower` is a certificate, and needs no trust
in the search: for every r on the canvas whose correlation with the stencil, S^T r, is nowhere negative, and
with r . target < 0,

    |S * w - target|^2  >=  (r . target)^2 / |r|^2         for every w >= 0

because |d - t| |r| >= r . (d - t) = w . S^T r - r . t >= -r . t for d = S * w. ADMM's multiplier is such an r
but for its last digits; where S^T r < 0, r is raised until it is not. Any path's error that is below `lower`
is a mistake (or negative power).

For each RUN, a folder of the shipped scene: its last `mean_square_error`, and the ratio to `upper`.
"""

import json
import platform
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import fft

from minusgrad.files import trajectory

from .laser_post import airy_stencil, butterfly

SPILL = 7
GAP = 2e-4  # the search ends when (upper - lower) / upper is as small as this
MOST, LOOK = 3000, 200  # iterations at most, and between two certificates
ERROR_WEIGHT, SIGN_WEIGHT, RELAXATION = 0.15, 4.0, 1.8  # of ADMM: they change its speed alone
RAISES, RAISE = 40, 4.0
THREADS = 2


class Optimum(NamedTuple):
    """Between `lower` and `upper`, in mean square; what each pixel deposits for `upper`."""

    lower: float
    upper: float
    amount: np.ndarray
    iterations: int
    seconds: float


class Deposit:
    """S * w on the canvas, from w on the canvas and SPILL beyond; and its transpose. A ring of zeros around
    keeps what FFTs wrap around off the canvas."""

    def __init__(self, stencil: np.ndarray, canvas: tuple[int, ...]):
        self.pixels = tuple(n + 2 * SPILL for n in canvas)
        self.shape = tuple(n + 4 * SPILL for n in canvas)
        self.middle = tuple(slice(2 * SPILL, 2 * SPILL + n) for n in canvas)
        self.total = stencil.sum()
        self.spectrum = self.forth(np.pad(stencil, [(0, n - len(stencil)) for n in self.shape]))
        self.of_one = self.transposed(np.ones(canvas))

    def forth(self, values: np.ndarray) -> np.ndarray:
        """The spectrum."""
        return fft.rfft2(values, workers=THREADS)

    def back(self, spectrum: np.ndarray) -> np.ndarray:
        """The values of a spectrum."""
        return fft.irfft2(spectrum, self.shape, workers=THREADS)

    def of(self, amount: np.ndarray) -> np.ndarray:
        """The dose."""
        return self.back(self.forth(np.pad(amount, (0, 2 * SPILL))) * self.spectrum)[self.middle]

    def transposed(self, residual: np.ndarray) -> np.ndarray:
        """S^T r: how the stencil on each pixel meets the residual."""
        spectrum = self.forth(np.pad(residual, 2 * SPILL)) * self.spectrum.conj()
        rows, cols = self.pixels
        return self.back(spectrum)[:rows, :cols]


def certificate(deposit: Deposit, r: np.ndarray, target: np.ndarray) -> float:
    """The best lower bound that comes out of r while it is raised where S^T r < 0."""
    best = 0.0
    for _ in range(RAISES):
        missing = np.maximum(-deposit.transposed(r), 0.0)
        allowed = r + (missing / deposit.of_one).max()  # the same everywhere: now S^T r >= 0
        along = max(0.0, -float((allowed * target).sum()))
        best = max(best, along**2 / float((allowed**2).sum()) / target.size)
        r = r + RAISE / deposit.total * missing[SPILL:-SPILL, SPILL:-SPILL]
    return best


def optimum(stencil: np.ndarray, target: np.ndarray) -> Optimum:
    """Search until the certificate is close; the two sides are printed on the way."""
    began = time.perf_counter()
    deposit = Deposit(stencil, target.shape)
    divisor = ERROR_WEIGHT * np.abs(deposit.spectrum) ** 2 + SIGN_WEIGHT
    of_error, of_sign = ERROR_WEIGHT * deposit.spectrum.conj() / divisor, SIGN_WEIGHT / divisor
    dose, amount = np.zeros(deposit.shape), np.zeros(deposit.shape)
    dose[deposit.middle] = target
    pull, push = np.zeros(deposit.shape), np.zeros(deposit.shape)  # the multipliers, in parts of the weights
    rows, cols = deposit.pixels
    lower, upper, kept, iteration = 0.0, float((target**2).mean()), amount[:rows, :cols], 0
    while iteration < MOST and upper - lower > GAP * upper:
        iteration += 1
        joint = of_error * deposit.forth(dose - pull) + of_sign * deposit.forth(amount - push)
        pull += RELAXATION * deposit.back(deposit.spectrum * joint) + (1 - RELAXATION) * dose
        push += RELAXATION * deposit.back(joint) + (1 - RELAXATION) * amount
        dose = pull.copy()
        dose[deposit.middle] = (target + ERROR_WEIGHT * pull[deposit.middle]) / (1 + ERROR_WEIGHT)
        pull -= dose
        amount = np.maximum(push, 0.0)
        push -= amount
        if iteration % LOOK == 0:
            candidate = amount[:rows, :cols]
            error = float(((deposit.of(candidate) - target) ** 2).mean())
            if error < upper:
                upper, kept = error, candidate.copy()
            lower = max(lower, certificate(deposit, pull[deposit.middle], target))
            print(
                f"{iteration:6d} iterations {time.perf_counter() - began:6.1f} s   {lower:.7f} .. {upper:.7f}"
            )
    return Optimum(lower, upper, kept, iteration, time.perf_counter() - began)


def main(runs: list[Path]) -> None:
    found = optimum(airy_stencil(), butterfly())
    gap = (found.upper - found.lower) / found.upper
    print(f"optimum between {found.lower:.6f} and {found.upper:.6f}: gap {gap:.1e}, {found.seconds:.0f} s")
    ratios = {}
    for run in runs:
        error = float(trajectory.last_row(run, "observables/mean_square_error").value[-1])
        ratios[str(run)] = {"mean_square_error": error, "ratio": error / found.upper}
        print(f"{run}: mean square error {error:.6f}, {error / found.upper:.3f} times the optimum")
    machine = {
        "processor": platform.processor() or platform.machine(),
        "threads": THREADS,
        "python": platform.python_version(),
    }
    figures = {k: v for k, v in found._asdict().items() if k != "amount"}
    print(json.dumps({"machine": machine, "optimum": figures, "runs": ratios}))


if __name__ == "__main__":
    main([Path(run) for run in sys.argv[1:]])
