"""Dose of a spot of samples drawn along each segment: a line of ink, convolved with the samples.

    ink_m = sum over segments of  P (P / P_0)^(n-1) l / v  int_0^1 hat(X(t) / h - m) hat(Y(t) / h - m') dt
    D_p   = peak / full  sum over samples (k, k') of  S_kk'^n  ink_(p - k + middle)

(X, Y)(t) runs along the segment, of length l [m]; h [m] is the side of a cell, hat(u) = max(0, 1 - |u|),
and power P [W] and speed v [m/s] are those of its second point. The two maps together are the integral over
the segment of the spot that is bilinear between its samples S (`dose.stencils`), exactly, however long the
segment is: `stencil_dose` puts one spot at its end. n is the exponent of the intensity
(`dose.gaussian_beam`), at the samples; `full` [J/m^2] is the fluence that counts as dose one at the power
P_0. Both maps take the same exponent.

The product of two hats is a quadratic of t in each of the four squares around a cell's centre, and Gauss's
rule of two points is exact for it. The convolution is by Fourier transforms of blocks; in f32 a dose is
right to 1e-6 of the largest.
"""

from math import inf

import numpy as np
from scipy.signal import oaconvolve

from minusgrad.plugin import Cell, Datum, Node, Parameter, Stage, local_map, staged_map, ti

from .gaussian_beam import DARK, EXPONENT, GAUSS
from .spots import FULL, PATH, PIXEL, length

PARALLEL = 1e-9
"""A segment that moves so far along an axis, in cells, stays where it is."""


def line_window(x, y, pixel):
    """The cells between whose centres the segment lies."""
    low = [ti.floor(ti.min(y[0], y[1]) / pixel), ti.floor(ti.min(x[0], x[1]) / pixel)]
    return low, [ti.floor(ti.max(y[0], y[1]) / pixel) + 1.0, ti.floor(ti.max(x[0], x[1]) / pixel) + 1.0]


@ti.func
def times_within(u, du, side):
    """The times between which 0 <= side (u + du t) < 1; the first is later than the second for none."""
    moves = ti.abs(du) > PARALLEL
    safe = ti.select(moves, du, 1.0)
    a, b = -u / safe, (side - u) / safe
    place = ti.select(u == 0.0, 0.5 * side, side * u)  # the centre belongs to the side above
    still = ti.select((place > 0.0) & (place < 1.0), 1.0, -1.0)
    return ti.select(moves, ti.min(a, b), -still), ti.select(moves, ti.max(a, b), 2.0 * still)


@local_map(
    "drawn_line",
    gives="ink",
    over=2,
    unit="J",
    **PATH,
    at=Cell(window=line_window, spacing="pixel"),
    pixel=PIXEL,
    exponent=EXPONENT,
    reference=Parameter(
        "W",
        default=1.0,
        bounds=(0.0, inf),
        open=True,
        reason="the power is divided by it",
        about="Power at which `full` exposes fully, whatever the exponent.",
    ),
)
def drawn_line(x, y, power, speed, at, pixel, exponent, reference):
    """Energy along each segment, shared between the centres of cells: a line for `stencil_convolution`."""
    u, v = x[0] / pixel - at[1], y[0] / pixel - at[0]
    du, dv = (x[1] - x[0]) / pixel, (y[1] - y[0]) / pixel
    part = 0.0
    for side in ti.static((-1.0, 1.0)):
        for other in ti.static((-1.0, 1.0)):
            first, last = times_within(u, du, side)
            begin, end = times_within(v, dv, other)
            a, b = ti.max(0.0, ti.max(first, begin)), ti.min(1.0, ti.min(last, end))
            c, g = 0.5 * (a + b), GAUSS * (b - a)
            early = (1.0 - side * (u + (c - g) * du)) * (1.0 - other * (v + (c - g) * dv))
            late = (1.0 - side * (u + (c + g) * du)) * (1.0 - other * (v + (c + g) * dv))
            part += 0.5 * ti.max(b - a, 0.0) * (early + late)
    stronger = ti.exp((exponent - 1.0) * ti.log(ti.max(power[1] / reference, DARK)))
    return power[1] * stronger * length(x, y) / speed[1] * part


def _convolve_samples(values: np.ndarray, samples: np.ndarray, middle: tuple[int, int]) -> np.ndarray:
    """sum over k of S_k values_(p - k + middle), of the size of the values."""
    whole = oaconvolve(values, samples.astype(values.dtype), mode="full")
    rows, columns = values.shape
    return whole[middle[0] : middle[0] + rows, middle[1] : middle[1] + columns]


def convolve(ink, stencil, canvas_cells, peak, full, exponent, dose):
    """D of a flat canvas."""
    given, samples = ink.to_numpy().reshape(canvas_cells.to_numpy()), stencil.to_numpy()
    middle = (samples.shape[0] // 2, samples.shape[1] // 2)
    spot = _signed_power(samples, exponent) * (float(peak[None]) / float(full[None]))
    dose.from_numpy(np.ascontiguousarray(_convolve_samples(given, spot, middle)).reshape(-1))


def convolve_back(
    ink, stencil, canvas_cells, peak, full, exponent, d_dose, d_ink, d_peak, d_full, d_exponent
):
    """The samples turned by half a turn; peak and full scale the dose, the exponent changes the samples."""
    shape, samples = canvas_cells.to_numpy(), stencil.to_numpy()
    given, adjoint = ink.to_numpy().reshape(shape), d_dose.to_numpy().reshape(shape)
    rows, columns = samples.shape
    middle, scale = (rows // 2, columns // 2), float(peak[None]) / float(full[None])
    spot = _signed_power(samples, exponent)
    turned = (rows - 1 - middle[0], columns - 1 - middle[1])
    back = _convolve_samples(adjoint, scale * spot[::-1, ::-1], turned)
    d_ink.from_numpy(d_ink.to_numpy() + back.reshape(-1))
    plain = float((adjoint.astype(np.float64) * _convolve_samples(given, spot, middle)).sum())
    d_peak[None] += plain / float(full[None])
    d_full[None] -= plain * scale / float(full[None])
    logs = np.log(np.maximum(np.abs(samples.astype(np.float64)), DARK)) * spot
    d_exponent[None] += scale * float(
        (adjoint.astype(np.float64) * _convolve_samples(given, logs, middle)).sum()
    )


def _signed_power(samples: np.ndarray, exponent) -> np.ndarray:
    """S^n; samples below zero, as measured ones may have, keep their sign."""
    n = float(exponent[None])
    return np.sign(samples) * np.abs(samples.astype(np.float64)) ** n


def _example_arguments(rng: np.random.Generator) -> dict:
    named = {"canvas_cells": (5, 7), "stencil": rng.uniform(0.1, 1.0, (4, 3)), "exponent": 2.0}
    return named | {"ink": rng.uniform(0.5, 1.5, 35), "peak": 0.7, "full": 1.3}


stencil_convolution = staged_map(
    "stencil_convolution",
    gives="dose",
    stages=[Stage(convolve, writes=("dose",), backward=convolve_back)],
    claim="A line of ink as wide as a spot of samples: the dose of the spot drawn along the path.",
    example=_example_arguments,
    linear=True,
    ink=Node("J"),
    stencil=Datum(shape=("rows", "columns"), about="Samples of the spot, a cell each, the largest 1."),
    canvas_cells=Datum(shape=(2,), integer=True, about="Number of rows and columns of the canvas."),
    exponent=EXPONENT,
    peak=Parameter(
        "m^-2",
        default=1.0,
        bounds=(0.0, inf),
        about="Largest value of the spot: power that falls on an area, per power of the laser.",
    ),
    full=FULL,
)
