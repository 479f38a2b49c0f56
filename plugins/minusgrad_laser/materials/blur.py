"""Diffusion of a resist: the dose blurred by a Gaussian of standard deviation `width`.

    B = K_y D K_x,      K = exp(t L),      t = (width / pixel)^2 / 2

L is the second difference along an axis, in cells, so that B is what the dose becomes by the heat equation
on the cells after a while. The weights of K, exp(-2 t) I_k(2 t) between cells k apart, are positive and sum
to one, have the variance of the Gaussian exactly, and go to its values where it is wider than a cell: the
discrete Gaussian of Lindeberg 1990, IEEE Trans. Pattern Anal. Mach. Intell. 12, 234. A width of zero
changes nothing.

    blur         nothing flows through the rim of the canvas, so that the sum of the dose stays
    open_blur    beyond the rim there is resist without a dose, and what flows out is lost

Without flux, cosines of wave number pi m / cells are eigenvectors of L, with the values -4 sin^2(pi m / (2
cells)) (Strang 1999, SIAM Rev. 41, 135), so that K is two transforms; the open canvas is put into a larger
one.

D, B (cells,) [1], of any map or field over the canvas; width, pixel [m]. K is symmetric: its transpose is K.
"""

from math import inf
from typing import Any

import numpy as np
from scipy import fft

from minusgrad.plugin import Datum, Node, Parameter, Stage, staged_map

FAR, MORE = 8.0, 16
"""Rim of the larger canvas: so many standard deviations, and cells, around the open one."""


def diffuse_dose(dose: np.ndarray, t: float, closed: bool, rate: bool = False) -> np.ndarray:
    """exp(t L) of a canvas (rows, columns); `rate`: its derivative by t."""
    added = 0 if closed else int(np.ceil(FAR * np.sqrt(2.0 * t))) + MORE
    rows, columns = dose.shape
    waves = fft.dctn(np.pad(dose, added), overwrite_x=True)
    values = [-4.0 * np.sin(0.5 * np.pi * np.arange(n) / n) ** 2 for n in waves.shape]
    down, across = (np.exp(t * value).astype(dose.dtype) for value in values)
    if rate:
        waves *= np.add.outer(*values).astype(dose.dtype)
    waves *= down[:, None]
    waves *= across
    spread = fft.idctn(waves, overwrite_x=True)
    return spread[added : added + rows, added : added + columns]


def spread_dose(dose, width, canvas_cells, pixel, closed, blurred):
    """B of a flat canvas."""
    t = 0.5 * (float(width[None]) / float(pixel[None])) ** 2
    given = dose.to_numpy().reshape(canvas_cells.to_numpy())
    blurred.from_numpy(diffuse_dose(given, t, closed).reshape(-1))


def spread_back(dose, width, canvas_cells, pixel, closed, d_blurred, d_dose, d_width):
    """dU/dD += K dU/dB;  dU/dwidth += dU/dB . dB/dt width / pixel^2."""
    shape, h, s = canvas_cells.to_numpy(), float(pixel[None]), float(width[None])
    t, adjoint = 0.5 * (s / h) ** 2, d_blurred.to_numpy().reshape(shape)
    d_dose.from_numpy(d_dose.to_numpy() + diffuse_dose(adjoint, t, closed).reshape(-1))
    slope = diffuse_dose(dose.to_numpy().reshape(shape), t, closed, rate=True)
    d_width[None] += float((adjoint.astype(np.float64) * slope).sum()) * s / (h * h)


def _example_dose(rng: np.random.Generator) -> dict:
    return {"canvas_cells": (5, 7), "pixel": 0.8, "width": 1.1, "dose": rng.normal(size=35)}


def _blur_map(name: str, closed: bool, claim: str) -> Any:
    return staged_map(
        name,
        gives="blurred",
        stages=[Stage(spread_dose, writes=("blurred",), numbers={"closed": closed}, backward=spread_back)],
        claim=claim,
        example=_example_dose,
        linear=True,
        dose=Node(),
        width=Parameter("m", bounds=(0.0, inf), about="Standard deviation of the Gaussian."),
        canvas_cells=Datum(shape=(2,), integer=True, about="Number of rows and columns of the canvas."),
        pixel=Datum("m", about="Side of a cell."),
    )


blur = _blur_map("blur", True, "Blur by a Gaussian: diffusion in a resist, or a target that begins coarse.")
open_blur = _blur_map("open_blur", False, "Blur by a Gaussian of a canvas amid a resist without a dose.")
