"""Limits of a machine that a toolpath breaks, before a job file is written."""

import numpy as np

from ..machine.profile import Profile
from ..virtual_machine.planner import limit
from .toolpath import Toolpath

SLACK = 1e-6
"""Of a limit, for rounding."""


def broken_limits(toolpath: Toolpath, profile: Profile) -> list[str]:
    """A sentence for each kind of limit that is broken, with the first point at fault; empty if none is."""
    if len(toolpath) < 2:
        return [f"a toolpath has two points at least, got {len(toolpath)}"]
    for name in ("x", "y", "lit", "power", "speed"):
        values = np.asarray(getattr(toolpath, name), float)[0 if name in "xy" else 1 :]
        if name == "speed":  # travels go as fast as the machine can
            values = np.where(toolpath.lit[1:].astype(bool), values, 0.0)
        if not np.isfinite(values).all():
            k = int(np.flatnonzero(~np.isfinite(values))[0]) + (name not in "xy")
            return [f"{name} is a number, got {getattr(toolpath, name)[k]} at point {k}"]
    lit, power, speed = toolpath.lit[1:].astype(bool), toolpath.power[1:], toolpath.speed[1:]
    steps = np.stack([np.diff(toolpath.x), np.diff(toolpath.y)], axis=1)
    size = np.hypot(*steps.T)
    reach = limit(profile.speed, steps / np.where(size > 0.0, size, 1.0)[:, None])
    least, most = profile.power
    found: list[str] = []
    for axis, places, room in zip("xy", (toolpath.x, toolpath.y), profile.field, strict=True):
        if np.isfinite(room):
            _note_broken(
                found,
                (places < -0.5 * profile.place) | (places > room + 0.5 * profile.place),
                0,
                places * 1e3,
                f"{axis} lies within the field of {1e3 * room:g} mm",
                "mm",
            )
    _note_broken(found, lit & (power > most * (1.0 + SLACK)), 1, power, f"power is at most {most:g} W", "W")
    _note_broken(found, lit & (power < 0.0), 1, power, "power is at least 0 W", "W")
    _note_broken(
        found,
        lit & (power > 0.0) & (power < least * (1.0 - SLACK)),
        1,
        power,
        f"power is 0, or at least {least:g} W",
        "W",
    )
    _note_broken(found, lit & (speed <= 0.0), 1, speed * 1e3, "speed is above 0 mm/s", "mm/s")
    _note_broken(
        found,
        lit & (speed > reach * (1.0 + SLACK)),
        1,
        speed * 1e3,
        "speed is within those of the axes",
        "mm/s",
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        dwell = size / speed
    short = lit & (power > 0.0) & (size > 0.0) & (dwell < profile.minimum_dwell * (1.0 - SLACK))
    _note_broken(
        found, short, 1, dwell * 1e3, f"a lit move takes {1e3 * profile.minimum_dwell:g} ms at least", "ms"
    )
    if not profile.blanking:
        _note_broken(
            found,
            ~lit & (size > 0.0) & (np.arange(len(lit)) > 0),
            1,
            size * 1e3,
            "this laser is never off, so there are no travels",
            "mm",
        )
    return found


def _note_broken(
    found: list[str], bad: np.ndarray, first: int, values: np.ndarray, rule: str, unit: str
) -> None:
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        more = f" (and {int(bad.sum()) - 1} more)" if bad.sum() > 1 else ""
        found.append(f"{rule}, got {values[k]:.6g} {unit} at point {k + first}{more}")
