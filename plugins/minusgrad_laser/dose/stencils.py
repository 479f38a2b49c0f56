"""Spots as samples (rows, columns), a cell of the canvas each, the largest 1.

Sample [k, l] falls on cell (floor(y / pixel) - rows // 2 + k, floor(x / pixel) - columns // 2 + l) when the
point lies at the centre of a cell: [rows // 2, columns // 2] is the sample under the point.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    ByKind,
    CsvTable,
    Record,
    StateContext,
    UserError,
    images,
    memory,
    numpy_files,
    printable,
    quantities,
)

from ..canvas import Length

PICTURES = (".png", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg")


class AiryFunction(Record):
    """The forum post's spot: Ai((r / width)^2), the Airy function (not the Airy disc of optics).

    Its samples are at offsets k - size / 2 pixels from its middle, as in the post: for an odd size the middle
    lies half a pixel above and to the right of the point.
    """

    kind: Literal["airy"] = "airy"
    size: Annotated[int, Field(ge=1, le=2**15), memory.fits(1)]
    """Number of samples along a side."""
    width: Length
    """Width of the spot."""

    def samples(self, pixel: float, context: StateContext) -> np.ndarray:
        offset = (np.arange(self.size) - self.size / 2.0) * pixel / quantities(self, context.units)["width"]
        return normalise_peak(airy(offset[:, None] ** 2 + offset**2), "stencil")


class FromFile(Record):
    """A measured spot, a sample for each cell: numbers in a CSV file or NumPy's .npy, or a picture's light.

    The first row of numbers is the bottom one; pictures are turned so that they stand upright.
    """

    kind: Literal["file"] = "file"
    file: str
    """CSV file, NumPy array (.npy) or picture, with a sample for each cell."""

    def samples(self, pixel: float, context: StateContext) -> np.ndarray:
        data, ending = context.read(self.file), Path(self.file).suffix.lower()
        if ending in PICTURES:
            light, opaque = images.read(self.file, data)
            return normalise_peak(light * opaque, f"'{self.file}'")
        values = _stencil_array(self.file, data) if ending == ".npy" else CsvTable(self.file, data).matrix()
        return normalise_peak(values, f"'{self.file}'")


AnyStencil = Annotated[AiryFunction | FromFile, ByKind()]


def normalise_peak(values: np.ndarray, source: str) -> np.ndarray:
    """The samples over their largest. Raises `UserError` for NaN, infinity, and where none is above 0."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        raise UserError(f"{source} has {values[row, column]} in row {row}, column {column}")
    if values.max() <= 0.0:
        raise UserError(f"{source}: no sample of the spot is above 0, so it deposits nothing")
    return values / values.max()


def airy(z: np.ndarray) -> np.ndarray:
    """Ai(z) for z >= 0, to rounding in the exponent 2/3 z^(3/2).

    Ai(z) = 1/pi Re int_0^inf exp(i (t^3 / 3 + z t)) dt along t = s + i c, through the saddle c = sqrt(z) (or
    c = 1 near 0), where the integrand is a Gaussian and the trapezoid rule converges faster than any power
    (DLMF 9.5.4 shifted; Gil, Segura & Temme 2002, Numer. Algorithms 30, 11).
    """
    c, h = np.maximum(np.sqrt(z), 1.0), 1.0 / 16.0
    total = np.full(np.shape(z), 0.5)
    for u in np.arange(1, 105) * h:  # s = u / sqrt(c)
        total += np.exp(-u * u) * np.cos(u**3 / (3.0 * c**1.5) + (z - c * c) * u / np.sqrt(c))
    return np.exp(c**3 / 3.0 - z * c) * h * total / (np.pi * np.sqrt(c))


def _stencil_array(file: str, data: bytes) -> np.ndarray:
    try:
        values = numpy_files.array(data)
    except ValueError as error:
        raise UserError(
            f"'{file}' is no array in NumPy's format .npy ({printable(str(error), 400)}); save it with"
            " numpy.save"
        ) from None
    if values.ndim != 2 or not values.size or values.dtype.kind not in "uif":
        found = f"an array of shape {values.shape} of {values.dtype}"
        raise UserError(f"'{file}' holds {found}; a spot is rows and columns of numbers")
    return values.astype(float)
