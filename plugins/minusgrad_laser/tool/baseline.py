"""The baseline: the fastest raster that scores within 0.01 of the best raster, on the same machine.

A raster has a pitch, a direction, and one exposure E = P / v [J/m] all along its lines. Where power follows
speed the dose is proportional to E and does not depend on v, so each raster has the largest v with
P = E v <= full power. For each pitch and direction one replay gives the dose of E = full pitch, of which all
other exposures are multiples; the chosen ones are replayed again.
"""

from pathlib import Path
from typing import Literal

import numpy as np

from minusgrad.plugin import StateContext, UnitSystem, UserError

from ..canvas import Canvas
from ..jobs.toolpath import Toolpath
from ..paths.raster import Raster
from ..scores import intersection_over_union
from . import outcome
from .outcome import Outcome
from .picture import Picture
from .request import Request

ANGLES: tuple[Literal[0, 90], ...] = (0, 90)
PITCHES = (0.25, 0.35, 0.5, 0.65, 0.8, 1.0)
"""In spots."""
EXPOSURES = np.geomspace(0.3, 3.0, 47)
"""In parts of the full fluence times the pitch."""
NEAR = 0.01
"""By how much the score of the fastest may be below the best."""


def raster(request: Request, picture: Picture) -> Outcome:
    """The baseline of a request. Raises `UserError` if no line of a raster meets the target."""
    tables = {}
    for angle in ANGLES:
        for pitch in np.array(PITCHES) * request.machine.spot:
            path = _path(request, picture, pitch, angle, 1.0)
            dose = outcome.exported(request, picture, path).evidence.dose
            tables[angle, pitch] = [
                _score(outcome.developed(part * dose, request.material), picture) for part in EXPOSURES
            ]
    best = max(map(max, tables.values()))
    found = []
    for (angle, pitch), scores in tables.items():
        good = np.flatnonzero(np.array(scores) >= best - NEAR)
        if len(good):
            path = _path(request, picture, pitch, angle, float(EXPOSURES[good[0]]))
            one = outcome.exported(request, picture, path)
            found.append(
                (_score(one.evidence.developed, picture) < best - 1.5 * NEAR, one.replay.seconds, one)
            )
    return min(found, key=lambda row: row[:2])[2]


def _score(developed: np.ndarray, picture: Picture) -> float:
    return intersection_over_union(developed, picture.target)


def _path(request: Request, picture: Picture, pitch: float, angle: Literal[0, 90], part: float) -> Toolpath:
    """A raster with `part` of the full fluence, as fast as the machine and its power allow."""
    m = request.machine
    (rows, columns), far = picture.target.shape, 2.0 * max(picture.target.shape) * picture.pixel
    kind = Raster(pitch=float(pitch), spacing=far, angle=angle)
    context = StateContext(UnitSystem.si(), request.seed, Path())
    curve = kind.curve(Canvas(rows, columns, picture.pixel), picture.target, context)
    exposure = part * request.material.full * pitch
    speed = min(*m.speed, request.power / exposure)
    power = exposure * speed
    if power < m.power[0]:
        raise UserError(f"{m.name}: a raster would need {power:.3g} W, less than its least power")
    n, lit, (x, y) = len(curve.points), curve.lit, curve.points.T
    assert lit is not None
    return Toolpath(x, y, np.full(n, power), np.full(n, speed), lit > 0.5)
