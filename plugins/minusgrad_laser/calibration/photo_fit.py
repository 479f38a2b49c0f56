"""From a photo of a burnt sheet to spot and material: marks, code, lines, fit.

A camera writes light through a curve (sRGB: IEC 61966-2-1), a program may not, and a file does not say so. A
blurred line keeps its missing light only where the curve is undone: so both are tried, and the one counts
whose widths scatter less about those of a spot.
"""

from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError

from .lens import straightened
from .measured_lines import MeasuredSheet, measured_sheet, refuse_unburnt
from .rectified_photo import rectified_photo
from .sheet import Sheet
from .spot_fit import LineData, SpotFit, fit_spot, line_data

LENSES = 2
"""Times that the photo is straightened by where its lines are."""


@dataclass(frozen=True, eq=False)
class PhotoFit:
    """What a photo says: measured, data of the fit, the fit; tone: the curve that was undone."""

    measured: MeasuredSheet
    data: LineData
    fitted: SpotFit
    tone: str


def fit_photo(
    name: str, light: np.ndarray, sheet: Sheet, waist: float, kerf_at: tuple[float, float] | None = None
) -> PhotoFit:
    """The fit of a photo (rows, columns) in [0, 1], row 0 at the bottom.

    waist [m]: the smaller one that is expected. Raises `UserError` where marks or lines are not found, where
    a pixel is larger than half of the spot, and where another sheet is in the photo.
    """
    found = [_fit_toned(name, light, tone, sheet, waist, kerf_at) for tone in TONES]
    best = min(found, key=lambda one: one.fitted.widths.scatter)
    for axis in "xy":
        refuse_coarse(name, best.measured.pixel, best.fitted.estimates[f"waist {axis}"].value)
    return best


def _fit_toned(
    name: str, light: np.ndarray, tone: str, sheet: Sheet, waist: float, kerf_at: tuple[float, float] | None
) -> PhotoFit:
    photo = rectified_photo(name, TONES[tone](light), sheet)
    measured = measured_sheet(photo)
    refuse_coarse(name, measured.pixel, waist)
    refuse_unburnt(name, measured)
    for _ in range(LENSES):
        measured = measured_sheet(photo := straightened(photo, measured))
    data = line_data(sheet, measured, kerf_at)
    return PhotoFit(measured, data, fit_spot(data), tone)


def linear_light(light: np.ndarray) -> np.ndarray:
    """Light in proportion to that of the scene, of light as sRGB has it."""
    return np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)


TONES = {"straight": lambda light: light, "sRGB": linear_light}
"""What undoes the curve of a photo."""


def refuse_coarse(name: str, pixel: float, waist: float) -> None:
    """Raise `UserError` where a pixel is larger than a waist, half of the spot [m]."""
    if pixel > waist:
        raise UserError(
            f"{name}: a pixel is {1e6 * pixel:.3g} um of the sheet, more than half of the spot of"
            f" {2e6 * waist:.3g} um; take the photo from closer, or scan it with {0.0254 / waist:.0f}"
            " dpi or more"
        )
