"""Insets: the area that lines are drawn over, so that the mark ends at the outline of the wanted area.

    D(x) = D_0 Phi(2 (x_e - x) / w),   D = T  at  x_e - x = -delta,   delta = w / 2 Phi^-1(1 - T / D_0)

D(x) is the dose near a straight edge x_e of an area of the dose D_0, w the waist of the spot across the edge,
T the threshold, Phi the normal distribution. With D_0 = 2 T there is no inset; with more the mark is larger
than what is drawn, with less it is smaller. An elliptical spot has another inset along x than along y.
"""

import numpy as np
from scipy import ndimage
from scipy.special import ndtri

from ..paths.offsets import distance, outlines
from .engraving import Area

LEAST = 0.05
"""Insets below this part of a cell are none."""
CORNER = 1.5
"""Insets by which the rest of a corner may be away from the rim: sqrt(2) of a square one."""


def edge_insets(dose: float, threshold: float, waists: tuple[float, float]) -> tuple[float, float]:
    """The insets along x and y [m] of an area with a dose; none of one that marks nothing."""
    if dose <= threshold:
        return 0.0, 0.0
    part = float(ndtri(1.0 - threshold / dose))
    return 0.5 * waists[0] * part, 0.5 * waists[1] * part


def inset_area(area: Area, insets: tuple[float, float]) -> tuple[Area, float]:
    """The area without a rim of the insets along x and y [m], both above zero, or with one, both below.

    Parts that are narrower than the rims are kept whole; the second value is their part of the area.
    """
    reach = np.abs(insets) / area.pixel
    if reach.max() < LEAST:
        return area, 0.0
    grow = int(np.ceil(reach.max())) + 2
    covered = np.pad(area.covered, grow)
    inside = covered > 0.5
    wide = ndimage.binary_dilation(inside, np.ones((3, 3)), grow)
    near = wide & ~ndimage.binary_erosion(inside, np.ones((3, 3)), grow)
    rows, columns = np.nonzero(near)
    places = np.stack([columns, rows], axis=1) / reach
    apart = distance(places, [line / reach for line in outlines(covered, 0.5, beyond=0.0)])
    depth = np.where(inside[near], apart, -apart) - np.sign(insets[0])
    found = inside.astype(float)
    found[near] = np.clip(0.5 + depth * reach.min(), 0.0, 1.0)
    narrow = inside & (ndimage.distance_transform_edt(found <= 0.5) > CORNER * reach.max() + 1.0)
    found = np.where(narrow, covered, found)
    corner = area.corner[0] - grow, area.corner[1] - grow
    return Area(found, corner, area.pixel), float(narrow.sum() / inside.sum())
