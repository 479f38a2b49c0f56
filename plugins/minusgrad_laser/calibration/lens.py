"""What a lens bends: displacements of a sheet, from where its own lines are in the photo.

    u(x, y) = sum over i + j <= 3 of c_ij x^i y^j

A homography keeps straight lines straight; lenses do not, by one or two per cent of a picture, and a width is
off by the change of scale. Each line says how far it is off along its normal, each pair of opposite lines how
far along itself, without the latency; the c_ij are the least squares of these. Cubic terms are what a lens
has first (Brown 1966, Photogrammetric Engineering 32, 444).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .measured_lines import MeasuredSheet
from .rectified_photo import RectifiedPhoto, bent_basis
from .sheet import Line, Sheet

FEWEST = 30
"""Measured distances without which a photo is taken as it is."""
FAR = 5.0
"""Distances beyond so many (robust) deviations do not count."""
ROUNDS = 3


def straightened(photo: RectifiedPhoto, measured: MeasuredSheet) -> RectifiedPhoto:
    """The photo with displacements by which the measured lines lie where they should."""
    places, directions, away = _distances(photo.sheet, measured)
    if len(away) < FEWEST:
        return photo
    basis = bent_basis(photo.sheet, places)
    rows = np.concatenate([basis * directions[:, :1], basis * directions[:, 1:]], axis=1)
    used = np.ones(len(away), bool)
    for _ in range(ROUNDS):
        found = np.linalg.lstsq(rows[used], away[used], rcond=1e-10)[0]
        misses = np.abs(away - rows @ found)
        used = misses <= FAR * max(1.4826 * float(np.median(misses[used])), 1e-9)
    return replace(photo, bend=photo.bend + found.reshape(2, -1).T)


def _distances(sheet: Sheet, measured: MeasuredSheet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places (k, 2), directions (k, 2), and how far off lines are along these (k,) [m]; 0 at the marks."""
    places, directions, away = [], [], []
    for k in np.flatnonzero(np.isfinite(measured.centre)):
        x, y = sheet.lines[k].direction
        places.append(_middle(sheet.lines[k]))
        directions.append((-y, x))
        away.append(measured.centre[k])
    for first, second in sheet.reversed_pairs():
        along = 0.5 * (measured.middle[first] - measured.middle[second])
        if np.isfinite(along):
            places.append(np.mean([_middle(sheet.lines[first]), _middle(sheet.lines[second])], axis=0))
            directions.append(sheet.lines[first].direction)
            away.append(along)
    for mark in sheet.marks:
        places += [mark, mark]
        directions += [(1.0, 0.0), (0.0, 1.0)]
        away += [0.0, 0.0]
    return np.array(places), np.array(directions), np.array(away)


def _middle(line: Line) -> Sequence[float]:
    return [0.5 * (a + b) for a, b in zip(line.start, line.end, strict=True)]
