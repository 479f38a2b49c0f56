"""Preview of a toolpath as SVG: moves in the colour of their power, travels dashed, a scale bar in mm."""

from math import floor, log10, sqrt

import numpy as np

from ..machine.profile import Profile
from .toolpath import Toolpath

SHADES = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""From no power to full power: five colours of viridis (van der Walt & Smith 2015), linear between them."""
LEVELS = 24
"""Number of different colours."""


def write(toolpath: Toolpath, profile: Profile) -> str:
    """The text of an SVG file, in its real size."""
    x, y = 1e3 * np.asarray(toolpath.x), 1e3 * np.asarray(toolpath.y)
    spot = 1e3 * sqrt(profile.spot[0] * profile.spot[1])
    low, high = (np.array([f(x), f(y)]) for f in (np.min, np.max))
    extent = float(max((high - low).max(), 4.0 * spot))
    margin, text = max(2.0 * spot, 0.04 * extent), 0.03 * extent
    width, height = (high - low) + 2.0 * margin
    foot = 3.0 * text
    lit = np.asarray(toolpath.lit, bool)
    level = np.minimum(np.asarray(toolpath.power) / profile.power[1] * LEVELS, LEVELS - 1).astype(int)
    level = np.where(lit & (np.asarray(toolpath.power) > 0.0), level, -1)
    level[0] = -2  # where the job begins
    paths = _paths_by_level(x - low[0] + margin, high[1] - y + margin, level)
    thin = 0.15 * spot
    dashes = f"{4.0 * thin:.4g} {3.0 * thin:.4g}"
    body = [
        f'<g fill="none" stroke="#888" stroke-width="{thin:.4g}" stroke-dasharray="{dashes}">',
        *(f'<path d="{d}"/>' for d in paths.pop(-1, [])),
        "</g>",
        f'<g fill="none" stroke-width="{0.5 * spot:.4g}" stroke-linecap="round" stroke-linejoin="round">',
        *(f'<path stroke="{shade((k + 0.5) / LEVELS)}" d="{"".join(d)}"/>' for k, d in sorted(paths.items())),
        "</g>",
        *_scale_bar(margin, height + 0.6 * text, width - 2.0 * margin, text),
        *_power_legend(width - margin, height + 0.6 * text, text, profile.power[1]),
    ]
    total = height + foot
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.4f}mm" height="{total:.4f}mm"'
            f' viewBox="0 0 {width:.4f} {total:.4f}" font-family="sans-serif" font-size="{text:.4g}">',
            '<rect width="100%" height="100%" fill="#fff"/>',
            *body,
            "</svg>\n",
        ]
    )


def shade(part: float) -> str:
    """The colour of a part of full power."""
    place = min(max(part, 0.0), 1.0) * (len(SHADES) - 1)
    k = min(int(place), len(SHADES) - 2)
    mixed = [round(a + (place - k) * (b - a)) for a, b in zip(SHADES[k], SHADES[k + 1], strict=True)]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def _paths_by_level(x: np.ndarray, y: np.ndarray, level: np.ndarray) -> dict[int, list[str]]:
    """Of each level of power the runs of moves that have it, as data of SVG paths; -1 are travels."""
    starts = np.flatnonzero(np.diff(level, prepend=-3))
    paths: dict[int, list[str]] = {}
    for begin, end in zip(starts, np.append(starts[1:], len(level)), strict=True):
        if level[begin] > -2:
            places = zip(x[begin - 1 : end].tolist(), y[begin - 1 : end].tolist(), strict=True)
            run = "L".join(f"{a:.3f} {b:.3f}" for a, b in places)
            paths.setdefault(int(level[begin]), []).append("M" + run)
    return paths


def _scale_bar(left: float, top: float, room: float, text: float) -> list[str]:
    power = 10.0 ** floor(log10(0.3 * room)) if room > 0.0 else text
    length = max((m * power for m in (1.0, 2.0, 5.0) if m * power <= 0.3 * room), default=power)
    bar = 0.15 * text
    return [
        f'<rect x="{left:.4g}" y="{top:.4g}" width="{length:.4g}" height="{bar:.4g}" fill="#000"/>',
        f'<text x="{left:.4g}" y="{top + 1.4 * text:.4g}">{length:g} mm</text>',
    ]


def _power_legend(right: float, top: float, text: float, full: float) -> list[str]:
    size, high = 0.4 * text, 0.4 * text
    left = right - LEVELS * size
    boxes = (
        f'<rect x="{left + k * size:.4g}" y="{top:.4g}" width="{1.05 * size:.4g}" height="{high:.4g}"'
        f' fill="{shade((k + 0.5) / LEVELS)}"/>'
        for k in range(LEVELS)
    )
    base = top + 1.5 * text
    return [
        *boxes,
        f'<text x="{left:.4g}" y="{base:.4g}">0</text>',
        f'<text x="{right:.4g}" y="{base:.4g}" text-anchor="end">{full:g} W</text>',
    ]
