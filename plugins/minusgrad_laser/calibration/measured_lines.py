"""What a photo says of the lines and squares of its sheet: widths, shifts along them, darkness.

The light across a line, averaged along it, over that of the paper on both sides, goes from 1 to that of the
ink. A line is as wide as the light is below the middle of both: where the dose exceeds the threshold. One
that is not much wider than the blur of the photo, s, has the width of its missing light, which no blur
changes, if its middle is as dark as that of a line of this width, erf(b / (2 sqrt 2 s)); else it is paler
than the ink, and has no width here. Along a line its ends follow from the missing light about each, and half
the sum of what its middle and that of its reverse are off, each along its direction, is the shift.

Decisions 0179.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from scipy.special import erf

from minusgrad.plugin import UserError

from .rectified_photo import RectifiedPhoto
from .sheet import Line

REACH = 3.8
"""How far across a line the light is read, in modules."""
BEYOND = 6.0
"""How far beyond the ends of a line its own ends are sought, in modules."""
ENDS = 1.5
"""How far about an end its missing light is summed, in modules."""
SIDES = 2.8
"""From where on it is that of the paper."""
MIDDLE = 0.25, 0.75
"""The part of a line whose width is measured."""
DEEP = 0.1
"""How far from the ink the middle of a line may be that says how blurred the photo is; 0: ink, 1: paper."""
PALE = 0.15
"""How much paler than the ink the middle of a line may be whose width counts."""
WIDE, THIN = 3.0, 1.0
"""Widths in deviations of the blur: from which on edges are read, and below which there is none."""
TAILS = 3.5
"""How far beyond its edges the missing light of a line is summed, in deviations of the blur."""
FINE = 0.5
"""Steps across a line, in pixels."""


@dataclass(frozen=True, eq=False)
class MeasuredSheet:
    """Of each line (n,): width [m], `centre` across and `middle` along its direction, from where it should be
    [m]; NaN: none.

    covered (n,): the sides of a line are burnt, too. darkness (m,): of each square, 0 as the paper, 1 as the
    ink. blur: deviation of an edge, pixel: side of one [m].
    """

    width: np.ndarray
    centre: np.ndarray
    middle: np.ndarray
    covered: np.ndarray
    darkness: np.ndarray
    blur: float
    pixel: float


@dataclass(frozen=True, eq=False)
class _Profile:
    """Across a line: places (k,) [m], missing light (k,), 0 of the paper and 1 of the ink; NaN: not seen."""

    across: np.ndarray
    missing: np.ndarray
    is_covered: bool = False

    @property
    def edges(self) -> tuple[float, float, float] | None:
        return _edges(self.across, self.missing, 0.5)


def measured_sheet(photo: RectifiedPhoto) -> MeasuredSheet:
    """All that is measured."""
    sheet = photo.sheet
    middles = np.array([np.mean([one.start, one.end], axis=0) for one in sheet.lines])
    pixel = photo.pixel(middles)
    profiles = [_profile_across(photo, line, side) for line, side in zip(sheet.lines, pixel, strict=True)]
    blur = _photo_blur(profiles, float(np.median(pixel)))
    found = [_line_width(one, blur) for one in profiles]
    middle = [
        np.nan if np.isnan(width) else _line_middle(photo, line, side, centre, width, blur)
        for line, side, (centre, width) in zip(sheet.lines, pixel, found, strict=True)
    ]
    return MeasuredSheet(
        np.array([width for _, width in found]), np.array([centre for centre, _ in found]), np.array(middle),
        np.array([p.is_covered for p in profiles]),
        _square_darkness(photo), blur, float(np.median(pixel)),
    )  # fmt: skip


def refuse_unburnt(name: str, found: MeasuredSheet) -> None:
    """Raise `UserError` where lines are not burnt, or where all is burnt."""
    count = len(found.width)
    if np.count_nonzero(found.covered) > 0.5 * count:
        raise UserError(
            f"{name}: is burnt between its lines, too, {np.count_nonzero(found.covered)} of {count};"
            " write a grid with less --powers, or more --speeds"
        )
    if np.count_nonzero(np.isfinite(found.width)) < 0.1 * count:
        raise UserError(
            f"{name}: {np.count_nonzero(np.isfinite(found.width))} of {count} lines are burnt as dark as its"
            " marks; write a grid with more --powers, or less --speeds"
        )


def _profile_across(photo: RectifiedPhoto, line: Line, pixel: float) -> _Profile:
    module = photo.sheet.module
    along, start = np.array(line.direction), np.array(line.start)
    normal = np.array([-along[1], along[0]])
    across = np.arange(-REACH * module, REACH * module, FINE * pixel)
    s = np.arange(MIDDLE[0] * line.length, MIDDLE[1] * line.length, pixel)
    light = photo.at(start + s[:, None, None] * along + across[None, :, None] * normal).mean(axis=0)
    if np.isnan(light).any():
        return _Profile(across, np.full(len(across), np.nan))
    away = np.abs(across) > SIDES * module
    paper = np.polyval(np.polyfit(across[away], light[away], 1), across)
    missing = (1.0 - light / paper) / (1.0 - photo.ink)
    return _Profile(across, missing, _is_burnt_beside(photo, float(light[away].mean())))


def _photo_blur(profiles: list[_Profile], pixel: float) -> float:
    """Deviation of the edges of lines that are as dark as the ink [m]; half a pixel where there is none."""
    slopes = [
        edges[2]
        for one in profiles
        if not one.is_covered and one.missing.max() > 1.0 - DEEP and (edges := one.edges)
    ]
    return float(1.0 / (np.sqrt(2.0 * np.pi) * np.median(slopes))) if slopes else 0.5 * pixel


def _line_width(profile: _Profile, blur: float) -> tuple[float, float]:
    """Place across and width of a line [m]; NaN: none."""
    if profile.is_covered or np.isnan(profile.missing).any() or (edges := profile.edges) is None:
        return np.nan, np.nan
    low, high, _ = edges
    centre, width = 0.5 * (low + high), high - low
    if width < WIDE * blur:
        step = profile.across[1] - profile.across[0]
        near = np.abs(profile.across - centre) < 0.5 * width + TAILS * blur
        width = float(profile.missing[near].sum() * step)
    if width < THIN * blur:
        return np.nan, np.nan
    full = erf(width / (2.0 * np.sqrt(2.0) * blur))
    return (centre, width) if profile.missing.max() > (1.0 - PALE) * full else (np.nan, np.nan)


def _is_burnt_beside(photo: RectifiedPhoto, light: float) -> bool:
    """True if this is no paper: as dark as the ink within the marks."""
    marks = np.array(photo.sheet.marks) + photo.sheet.module * np.array([7.5, 0.0])
    return bool(light < 0.5 * (1.0 + photo.ink) * np.nanmin(photo.at(marks)))


def _line_middle(
    photo: RectifiedPhoto, line: Line, pixel: float, centre: float, width: float, blur: float
) -> float:
    """The middle between the ends of a line, from where it should be [m]."""
    module = photo.sheet.module
    along, start = np.array(line.direction), np.array(line.start)
    normal = np.array([-along[1], along[0]])
    s = np.arange(-BEYOND * module, line.length + BEYOND * module, FINE * pixel)
    half = round((0.5 * width + blur) / (FINE * pixel))  # all of it: pixels divide it anyhow
    band = centre + FINE * pixel * np.arange(-half, half + 1)
    beside = np.array([-1.0, 1.0]) * 0.9 * REACH * module
    core, sides = (
        photo.at(start + s[:, None, None] * along + one[None, :, None] * normal).mean(axis=1)
        for one in (band, beside)
    )
    missing = 1.0 - core / sides
    inner = (s > MIDDLE[0] * line.length) & (s < MIDDLE[1] * line.length)
    part = missing / np.median(missing[inner])
    edges = _edges(s, ndimage.uniform_filter1d(part, max(1, round(module / (FINE * pixel)))), 0.5)
    if edges is None or np.isnan(part).any():
        return np.nan
    step, total = s[1] - s[0], 0.0
    for end, sign in zip(edges[:2], (-1.0, 1.0), strict=True):
        near = np.abs(s - end) < ENDS * module
        length = float(part[near].sum()) * step  # as if the line were whole as far as that
        total += s[near][0] - 0.5 * step + length if sign > 0.0 else s[near][-1] + 0.5 * step - length
    return 0.5 * (total - line.length)


def _edges(at: np.ndarray, missing: np.ndarray, level: float) -> tuple[float, float, float] | None:
    """Where the dark part about the middle ends, below and above, and the mean slope there; None: nowhere."""
    middle = len(at) // 2
    near = slice(len(at) // 4, len(at) - len(at) // 4)
    dark = missing > level
    inside = near.start + np.flatnonzero(dark[near])
    if not len(inside):
        return None
    seed = int(inside[np.argmin(np.abs(inside - middle))])
    found = []
    for step in (-1, 1):
        k = seed
        while 0 <= k + step < len(at) and dark[k + step]:
            k += step
        if not 0 <= k + step < len(at):
            return None
        fall = missing[k] - missing[k + step]
        found.append(
            (at[k] + (missing[k] - level) / fall * (at[k + step] - at[k]), fall / abs(at[1] - at[0]))
        )
    return found[0][0], found[1][0], 0.5 * (found[0][1] + found[1][1])


def _square_darkness(photo: RectifiedPhoto) -> np.ndarray:
    """Of each square: 0 as light as the paper around it, 1 as dark as the ink."""
    inner = (np.arange(24) + 0.5) / 24.0 * 0.6 + 0.2
    found = []
    for square in photo.sheet.squares:
        corner = np.array(square.corner)
        grid = np.stack(np.meshgrid(inner, inner), axis=-1) * square.side
        outside = square.side + 2.5 * photo.sheet.module
        rim = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]) * 0.5 * outside
        paper = np.nanmedian(photo.at(corner + 0.5 * square.side + rim))
        ratio = np.nanmean(photo.at(corner + grid)) / paper
        found.append((1.0 - ratio) / (1.0 - photo.ink))
    return np.array(found)
