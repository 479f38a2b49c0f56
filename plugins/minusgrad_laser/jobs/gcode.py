"""G-code of a toolpath: GRBL's dynamic power (M4) and constant power (M3), and Marlin's.

Lengths are millimetres to 1 um, feeds mm/min, words that hold are left out, since bytes take time over the
port. The laser's digital value has L = 2^bits - 1 levels; each move has the nearest, and where power follows
speed (GRBL, M4) the feed makes up for the rest: the dose of a length is power / feed. The last words always
switch the laser off.
"""

from collections.abc import Iterator
from math import ceil, floor, inf, log10

import numpy as np

from minusgrad.plugin import UserError

from ..machine.profile import Profile
from ..virtual_machine.planner import limit
from ..virtual_machine.program import full_scale
from .limits import broken
from .toolpath import Toolpath


def write(toolpath: Toolpath, profile: Profile) -> str:
    """The text of a job file in the machine's dialect.

    Raises `UserError` with the list of limits that the toolpath breaks.
    """
    problems = broken(toolpath, profile)
    if problems:
        raise UserError(
            "toolpath: limits of the machine are broken, no job is written:\n  " + "\n  ".join(problems)
        )
    places, power, speed, lit = _kept(toolpath)
    levels, feeds = digital(power, speed, lit, np.diff(places, axis=0), profile)
    body = (
        _marlin(places, levels, feeds, lit, profile)
        if profile.dialect == "marlin"
        else _grbl(places, levels, feeds, lit, profile)
    )
    return "\n".join([*_header(toolpath, profile), *body]) + "\n"


def digital(
    power: np.ndarray, speed: np.ndarray, lit: np.ndarray, steps: np.ndarray, profile: Profile
) -> tuple[np.ndarray, np.ndarray]:
    """Levels (n,) of the power, and feeds (n,) [m/s] that make up for rounding where power follows speed.

    A feed stays below what the axes reach along the move (n, 2); if the nearest level would need more, it is
    the one below.
    """
    most = 2**profile.bits - 1
    wanted = np.where(lit, power / profile.power[1] * most, 0.0)
    levels = np.where(wanted > 0.0, np.clip(np.rint(wanted), 1.0, most), 0.0)
    if not (profile.dynamic_power and profile.dialect == "grbl"):
        return levels.astype(int), speed
    size = np.maximum(np.hypot(*steps.T), 1e-300)
    reach = limit(profile.speed, steps / size[:, None])
    safe = np.where(wanted > 0.0, wanted, 1.0)
    too_fast = (speed * levels / safe > reach) & (levels > 1.0)
    levels = np.where(too_fast, np.minimum(levels, np.maximum(np.floor(wanted), 1.0)), levels)
    feeds = np.where(wanted > 0.0, np.minimum(speed * levels / safe, reach), speed)
    return levels.astype(int), feeds


def _kept(toolpath: Toolpath) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Places (m + 1, 2) in um, and power, speed, lit (m,) of the moves that are longer than rounding."""
    places = np.rint(np.stack([toolpath.x, toolpath.y], axis=1) * 1e6).astype(int)
    keep = np.append(True, (np.diff(places, axis=0) != 0).any(axis=1))
    moves = keep[1:]
    return (
        places[keep],
        toolpath.power[1:][moves],
        toolpath.speed[1:][moves],
        toolpath.lit[1:][moves].astype(bool),
    )


def _header(toolpath: Toolpath, profile: Profile) -> Iterator[str]:
    moves, lit = len(toolpath) - 1, int(toolpath.lit[1:].sum())
    yield f"; Toolpath of minusgrad for {' '.join(profile.name.split())}: {moves} moves, {lit} lit"
    speed, rate = ([f"{1e3 * value:g}" for value in axes] for axes in (profile.speed, profile.acceleration))
    full = profile.power[1]
    yield f"; Machine: {speed[0]} x {speed[1]} mm/s, {rate[0]} x {rate[1]} mm/s2, full power {full:g} W"
    if profile.dialect == "grbl":
        corner = "" if profile.junction_deviation is None else f"$11={1e3 * profile.junction_deviation:.3f} "
        yield f"; Settings: {corner}$30={full_scale(profile):g} $31=0 $32=1 " + " ".join(
            f"${number + axis}={value:g}"
            for number, values, factor in ((110, profile.speed, 6e4), (120, profile.acceleration, 1e3))
            for axis, value in enumerate(factor * np.array(values))
        )
    elif profile.fan_pin:
        yield "; Settings: laser at the pin of the fan (M106 S0 to S255)"
    else:
        trap = "on" if profile.dynamic_power else "off"
        scale = f"S0 to S{full_scale(profile):g}"
        yield f"; Settings: LASER_FEATURE, inline power, {scale}, LASER_POWER_TRAP {trap}"


def _grbl(
    places: np.ndarray, levels: np.ndarray, feeds: np.ndarray, lit: np.ndarray, profile: Profile
) -> Iterator[str]:
    yield "G21G90G94"
    yield f"M{4 if profile.dynamic_power else 3}S0"
    words = _Words(marlin=False)
    if len(places):
        yield words.move(places[0], None, None, first=True)
    scale = _levels_to_s(profile)
    for place, level, feed, on in zip(
        places[1:].tolist(), levels.tolist(), feeds.tolist(), lit.tolist(), strict=True
    ):
        yield words.move(place, feed if on else None, scale(level) if on else None)
    yield "S0"
    yield "M5"


def _marlin(
    places: np.ndarray, levels: np.ndarray, feeds: np.ndarray, lit: np.ndarray, profile: Profile
) -> Iterator[str]:
    off = "M107" if profile.fan_pin else "M5 I"
    yield "G21"
    yield "G90"
    yield off
    if not profile.fan_pin:
        yield "M3 I S0"
    travel = min(profile.speed)
    words = _Words(marlin=True)
    scale = _levels_to_s(profile)
    fan = 0
    if len(places):
        yield words.move(places[0], travel, None if profile.fan_pin else "0", first=True)
    for place, level, feed, on in zip(
        places[1:].tolist(), levels.tolist(), feeds.tolist(), lit.tolist(), strict=True
    ):
        level = level if on else 0
        if profile.fan_pin and level != fan:
            yield f"M106 S{scale(level)}" if level else "M107"
            fan = level
        power = None if profile.fan_pin else scale(level)
        yield words.move(place, feed if on else travel, power, rapid=not on)
    yield off
    if not profile.fan_pin:
        yield "M5"


class _Words:
    """The words of a move that differ from those that hold."""

    def __init__(self, marlin: bool):
        self.marlin, self.g, self.x, self.y, self.f, self.s = marlin, "", "", "", "", ""

    def move(self, place, feed, power, first: bool = False, rapid: bool | None = None) -> str:
        """A line; power None: a travel in GRBL's G0, which is dark."""
        dark = first or (power is None if rapid is None else rapid)
        x, y = (_decimal(int(z) * 1e-3, 3) for z in place)
        parts = [("g", "G", "0" if dark else "1"), ("x", "X", x), ("y", "Y", y)]
        if feed is not None:
            parts.append(("f", "F", _feed(feed)))
        if power is not None:
            parts.append(("s", "S", power))
        line = []
        for name, letter, value in parts:
            if getattr(self, name) != value or (first and name in "xy"):
                setattr(self, name, value)
                line.append(letter + value)
        return (" " if self.marlin else "").join(line)


def _levels_to_s(profile: Profile):
    """S of a level: GRBL takes floor(S / S_max (L - 1)) + 1, so the middle of what it takes for the level."""
    most, full = 2**profile.bits - 1, full_scale(profile)
    if profile.dialect == "marlin":
        full = 255.0 if profile.fan_pin else full
        return lambda level: _decimal(level * full / most, 0 if most <= full else 3)
    digits = max(0, ceil(log10(3.0 * (most - 1) / full))) if most > 1 else 0
    shift = 0.5

    def s(level: int) -> str:
        if level in (0, most):
            return _decimal(full if level else 0.0, digits)
        return _decimal((level - shift) / (most - 1) * full, digits)

    return s


def _feed(speed: float) -> str:
    """mm/min to four digits, rounded down, so that no limit is passed."""
    feed = speed * 6e4 * (1.0 + 1e-9)
    digits = max(0, 3 - floor(log10(feed))) if 0.0 < feed < inf else 0
    return _decimal(floor(feed * 10**digits) / 10**digits, digits)


def _decimal(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
