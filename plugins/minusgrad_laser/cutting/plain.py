"""The plain cut: outlines offset by one kerf, at one power and speed, as programs do that know one kerf."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..drawings.drawing import Outline
from ..drawings.polygons import holds_point
from ..jobs.toolpath import Toolpath
from .first_path import first_path
from .kerf import Pair
from .rings import Ring
from .samples import sample_rings
from .strokes import Stroke, ordered_strokes, strokes_of

ROUND = 0.5
"""Distance of points of the path around corners, in half kerfs."""


def plain_cut(
    rings: list[Ring], slits: Sequence[Outline], offset: float, power: float, speed: float, waists: Pair
) -> Toolpath:
    """The toolpath. offset [m]: half the kerf, of all lines; power [W], speed [m/s] of the whole path."""
    strokes = slit_strokes(slits, rings, power / speed)
    if rings:
        unit = np.array([offset, offset])
        path = first_path(rings, sample_rings(rings, unit, ROUND), unit, power / speed, waists, 1.0, 1.0)
        strokes += strokes_of(replace(path, density=np.full(len(path.points), power / speed)), rings)
    points = [one.points for one in ordered_strokes(strokes)]
    lit = np.concatenate([np.arange(len(one)) > 0 for one in points])
    x, y = np.concatenate(points).T
    return Toolpath(x, y, np.where(lit, power, 0.0), np.full(len(x), speed), lit)


def slit_strokes(slits: Sequence[Outline], rings: list[Ring], density: float) -> list[Stroke]:
    """Open outlines, each cut along its line, before the rings around it."""
    found: list[Stroke] = []
    for one in slits:
        points = np.asarray(one.points, float)
        around = [ring for ring in rings if holds_point(ring.corners, points.mean(axis=0))]
        group = max(around, key=lambda ring: ring.depth).group if around else -1 - len(found)
        found.append(Stroke(points, np.full(len(points), density), len(around), group))
    return found
