"""A photo as seen from above: light at places of the sheet, by the homography of its four corner marks.

    (x', y', w') = H (x, y, 1),   column = x' / w',  row = y' / w'

H (3, 3) with H_33 = 1 solves eight equations, two of each mark (Hartley & Zisserman 2004, Multiple View
Geometry, ch. 4). The code of the sheet says which mark is the first, and that the photo is of this sheet.

Decisions 0178.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

from minusgrad.plugin import UserError

from .corner_marks import convex, find_marks, turning_order
from .sheet import BITS, RADII, Sheet

WRONG_BITS = 1
"""Of the code, for dirt."""


@dataclass(frozen=True, eq=False)
class RectifiedPhoto:
    """light (rows, columns), row 0 at the bottom; homography (3, 3) from metres of the sheet to pixels.

    ink: light of what is burnt over that of the paper beside it. is_inverted: what is burnt was lighter.
    """

    light: np.ndarray
    homography: np.ndarray
    sheet: Sheet
    ink: float
    is_inverted: bool
    bend: np.ndarray
    """Coefficients (10, 2) of displacements by the lens (`lens`)."""

    def at(self, places: np.ndarray) -> np.ndarray:
        """Light (...) at places (..., 2) [m], linear between pixels; NaN outside of the photo."""
        places = places + bent_basis(self.sheet, places) @ self.bend
        columns, rows = _mapped(self.homography, places)
        return ndimage.map_coordinates(
            self.light, np.stack([rows, columns]), order=1, mode="constant", cval=np.nan
        )

    def pixel(self, places: np.ndarray) -> np.ndarray:
        """Side of a pixel (n,) at places (n, 2) [m]: the square root of its area."""
        x, y = np.moveaxis(places, -1, 0)
        h = self.homography
        depth = h[2, 0] * x + h[2, 1] * y + h[2, 2]
        return np.sqrt(np.abs(depth) ** 3 / abs(np.linalg.det(h)))


def rectified_photo(name: str, light: np.ndarray, sheet: Sheet) -> RectifiedPhoto:
    """The photo of a sheet. Raises `UserError` where marks are missing, or the sheet is another one."""
    places, inverted = _corner_places(name, light)
    seen = 1.0 - light if inverted else light
    marks = np.array(sheet.marks)
    found: list[tuple[int, int, np.ndarray]] = []
    for turn in range(4):
        h = homography(marks, np.roll(places, -turn, axis=0))
        number = _read_code(seen, h, sheet)
        found.append((bin(number ^ sheet.number).count("1"), number, h))
    wrong, number, h = min(found, key=lambda one: one[0])
    if wrong > WRONG_BITS:
        raise UserError(
            f"{name}: its code is not that of this sheet, {sheet.number}, got {found[0][1]}; give the sheet"
            " that was written with the job in the photo"
        )
    photo = RectifiedPhoto(seen, h, sheet, 0.0, inverted, np.zeros((10, 2)))
    return replace(photo, ink=_ink_level(photo))


def bent_basis(sheet: Sheet, places: np.ndarray) -> np.ndarray:
    """Products x^i y^j (..., 10), i + j <= 3, of places (..., 2), -1 to 1 between the marks."""
    marks = np.array(sheet.marks)
    x, y = np.moveaxis((places - marks.mean(axis=0)) / (0.5 * np.ptp(marks, axis=0)), -1, 0)
    one = np.ones_like(x)
    return np.stack([one, x, y, x * x, x * y, y * y, x**3, x * x * y, x * y * y, y**3], axis=-1)


def homography(places: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """The matrix (3, 3) that takes four places (4, 2) to pixels (4, 2)."""
    size = np.abs(places).max()
    rows, sides = [], []
    for (x, y), (u, v) in zip(places / size, pixels, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        sides += [u, v]
    h = np.append(np.linalg.solve(np.array(rows), np.array(sides)), 1.0).reshape(3, 3)
    return h @ np.diag([1.0 / size, 1.0 / size, 1.0])


def _mapped(h: np.ndarray, places: np.ndarray) -> np.ndarray:
    x, y = np.moveaxis(places, -1, 0)
    depth = h[2, 0] * x + h[2, 1] * y + h[2, 2]
    return np.stack([(h[k, 0] * x + h[k, 1] * y + h[k, 2]) / depth for k in range(2)])


def _corner_places(name: str, light: np.ndarray) -> tuple[np.ndarray, bool]:
    """Places (4, 2) of the marks in turning order [pixels]; true if they are light on dark."""
    most = 0
    for inverted in (False, True):
        marks = find_marks(1.0 - light if inverted else light)
        most = max(most, len(marks))
        if len(marks) > 4:
            raise UserError(
                f"{name}: has {len(marks)} corner marks, but a sheet has four; cut the photo to one sheet"
            )
        if len(marks) == 4 and convex(places := turning_order(marks)):
            return places, inverted
    what = f"{most} of the four corner marks are" if most else "no corner mark is"
    raise UserError(
        f"{name}: {what} found (a disc in a ring at each corner); take the whole sheet, sharp, without glare,"
        " or burn marks with more --power"
    )


def _read_code(light: np.ndarray, h: np.ndarray, sheet: Sheet) -> int:
    """The number that the code says."""
    offsets = (np.arange(5) + 0.5) / 5.0 * 0.6 + 0.2
    square = np.stack(np.meshgrid(offsets, offsets), axis=-1) * sheet.cell
    corners = np.array([corner for corner, _ in sheet.code_cells()])
    columns, rows = _mapped(h, corners[:, None, None, :] + square)
    found = ndimage.map_coordinates(light, np.stack([rows, columns]), order=1, mode="nearest")
    first, second = found.mean(axis=(1, 2)).reshape(BITS, 2).T
    bits = first < second
    return int((bits << np.arange(BITS)).sum())


def _ink_level(photo: RectifiedPhoto) -> float:
    """Light of the discs of the marks over that of the paper around them."""
    angles = np.linspace(0.0, 2.0 * np.pi, 64, endpoint=False)
    rim = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    levels = []
    for mark in photo.sheet.marks:
        radii = [photo.sheet.module * one for one in (0.35 * RADII[0], 0.5 * (RADII[0] + RADII[1]))]
        dark, paper = (np.nanmedian(photo.at(np.array(mark) + radius * rim)) for radius in radii)
        levels.append(dark / paper)
    return float(np.median(levels))
