"""G-code of a toolpath: GRBL's dynamic power (M4) and constant power (M3), and Marlin's.

Lengths are millimetres to the profile's `digits`, feeds mm/min; words that hold are left out, since bytes
take time over the port. The laser's digital value has L = 2^bits - 1 levels. GRBL takes floor(S / S_max (L -
1)) + 1 of them, so S stands in the middle of what gives a level; in moves of M4 that are short or never reach
their feed it is dithered. The last words always switch the laser off.

Decisions 0095.
"""

import re
import unicodedata
from collections.abc import Iterator
from math import ceil, floor, inf, log10

import numpy as np

from minusgrad.plugin import UserError

from ..machine.profile import Profile
from ..virtual_machine.limits import violations
from ..virtual_machine.planner import Plan, plan
from ..virtual_machine.program import Program, parse
from .compensation import compensate_moves
from .dithering import cut_coarse_moves, dither_moves
from .limits import broken_limits
from .moves import Moves, digital, follows, most_levels, of_toolpath, reachable_speed
from .planned import planned_program
from .toolpath import Toolpath

HALF = 0.5
"""GRBL takes the next level above S / S_max (L - 1), so half a level less is asked for."""
LONGEST = 80
"""Characters of a name in a comment: GRBL takes lines of 80, Marlin of 96, and comments may be cut."""
CRUISE = 0.98
"""A move whose peak speed is above this part of the programmed one has that speed."""


def write(toolpath: Toolpath, profile: Profile) -> str:
    """The text of a job file in the machine's dialect.

    Raises `UserError` with the list of limits that the toolpath, or the file, breaks, and for a toolpath that
    has no move once places are rounded.
    """
    return job_text(toolpath, profile)[0]


def job_text(toolpath: Toolpath, profile: Profile) -> tuple[str, Plan]:
    """The text of a job file, and the motion that is planned of that text; raises as `write`."""
    refuse_dialect(profile)
    _refuse_problems(broken_limits(toolpath, profile))
    moves = of_toolpath(toolpath, profile)
    if not len(moves):
        longest = 1e6 * max(np.abs(np.diff(z)).max() for z in (toolpath.x, toolpath.y))
        place = f"{1e6 * profile.place:g} um"
        raise UserError(
            f"toolpath: no move is longer than {place}, got {longest:.3g} um along an axis at most; files"
            f" have places of {place}, so merge moves, scale the drawing up, or"
            " give the profile more `decimals`"
        )
    if follows(profile):
        moves = cut_coarse_moves(moves, profile)
    moves = compensate_moves(moves, profile)
    text = "\n".join([*_header_lines(toolpath, profile), *WRITERS[profile.dialect](moves, profile)]) + "\n"
    program = parse(text, profile)
    planned = plan(program, profile)
    _refuse_problems(list(violations(program, planned, profile)))
    return text, planned


def refuse_dialect(profile: Profile) -> None:
    """Raise `UserError` for a machine whose firmware no job is written for."""
    if profile.dialect not in WRITERS:
        raise UserError(
            f"machine: jobs are written for {' and '.join(WRITERS)}, got dialect '{profile.dialect}'; take"
            ' "grbl" for FluidNC, with its power_scale, or replay jobs of other programs'
        )


def toolpath_of(program: Program) -> Toolpath:
    """The toolpath that a job file programs: travels have infinite speed where the file names none."""
    first = (np.nan, np.inf, False)
    columns = program.power, program.feed, program.power > 0.0
    power, speed, lit = (np.append(a, b) for a, b in zip(first, columns, strict=True))
    power[0] = 0.0
    return Toolpath(program.x, program.y, power, speed, lit.astype(bool))


def _refuse_problems(problems: list[str]) -> None:
    if problems:
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise UserError(f"toolpath: limits of the machine are broken, so no job is written:{listed}")


def _header_lines(toolpath: Toolpath, profile: Profile) -> Iterator[str]:
    moves, lit = len(toolpath) - 1, int(toolpath.lit[1:].sum())
    yield f"; Toolpath of minusgrad for {comment(profile.name)}: {moves} moves, {lit} lit"
    speed, rate = ([f"{1e3 * value:g}" for value in axes] for axes in (profile.speed, profile.acceleration))
    full = profile.power[1]
    yield f"; Machine: {speed[0]} x {speed[1]} mm/s, {rate[0]} x {rate[1]} mm/s2, full power {full:g} W"
    if profile.dialect == "grbl":
        deviation = profile.junction_deviation
        corner = "" if deviation is None else f"$11={1e3 * deviation:.{profile.digits}f} "
        yield f"; Settings: {corner}$30={profile.full_scale:g} $31=0 $32=1 " + " ".join(
            f"${number + axis}={value:g}"
            for number, values, factor in ((110, profile.speed, 6e4), (120, profile.acceleration, 1e3))
            for axis, value in enumerate(factor * np.array(values))
        )
    elif profile.fan_pin:
        yield "; Settings: laser at the pin of the fan (M106 S0 to S255)"
    else:
        trap = "on" if profile.dynamic_power else "off"
        scale = f"S0 to S{profile.full_scale:g}"
        yield f"; Settings: LASER_FEATURE, inline power, {scale}, LASER_POWER_TRAP {trap}"


def comment(text: str) -> str:
    """The text as controllers may read it: GRBL obeys !, ?, ~ and bytes beyond ASCII in comments, too."""
    plain = unicodedata.normalize("NFKD", " ".join(text.split()))
    return re.sub(r"[^ -~]|[!?~%;()$]", "", plain)[:LONGEST]


def _grbl_lines(moves: Moves, profile: Profile) -> Iterator[str]:
    most, full = most_levels(profile), profile.full_scale
    digits = max(0, ceil(log10(3.0 * most / full)))
    levels, feeds = digital(moves, profile)
    s = np.where(levels == most, 1.0, (levels - HALF) / max(most - 1, 1))
    if follows(profile):
        planned = plan(planned_program(moves, profile), profile)
        slow = planned.peak < CRUISE * planned.nominal
        feeds = np.where(slow, np.minimum(moves.feed, reachable_speed(moves.places, profile)), feeds)
        chosen = (moves.wanted > 0.0) & (slow | (planned.length < min(profile.waists)))
        step = 0.1**digits / full * max(most - 1, 1)
        s = np.where(chosen, dither_moves(moves, feeds, planned, chosen, step, profile) / max(most - 1, 1), s)
    s = np.where(levels > 0, s, 0.0) * full
    words = _Words("", profile.digits)
    yield "G21G90G94M5"
    yield from _events_before(moves, -1)
    yield words.move(moves.places[0], rapid=True)
    yield f"M{4 if profile.dynamic_power else 3}S0"  # here the head stops: the motion is planned from rest
    words.held["S"] = "0"
    rows = zip(moves.places[1:].tolist(), feeds.tolist(), s.tolist(), moves.lit.tolist(), strict=True)
    for k, (place, feed, power, lit) in enumerate(rows):
        yield from _events_before(moves, k)
        if lit:
            yield words.move(place, _feed_text(feed), _decimal_text(power, digits))
        else:
            yield words.move(place, power="0", rapid=True)  # dark without laser mode ($32), too
    yield "S0"
    yield "M5"
    yield from _events_before(moves, len(moves))


def _marlin_lines(moves: Moves, profile: Profile) -> Iterator[str]:
    levels, feeds = digital(moves, profile)
    most, full, fan = most_levels(profile), 255.0 if profile.fan_pin else profile.full_scale, profile.fan_pin
    digits = 0 if most <= full else 3
    yield "G21"
    yield "G90"
    yield "M107" if fan else "M5 I"
    if not fan:
        yield "M3 I S0"
    words, holds = _Words(" ", profile.digits), "0"
    yield from _events_before(moves, -1)
    yield words.move(moves.places[0], _feed_text(min(profile.speed)), None if fan else "0", rapid=True)
    rows = zip(moves.places[1:].tolist(), feeds.tolist(), levels.tolist(), moves.lit.tolist(), strict=True)
    for k, (place, feed, level, lit) in enumerate(rows):
        yield from _events_before(moves, k)
        power = _decimal_text(level * full / most, digits) if lit else "0"
        if fan and power != holds:
            yield "M107" if power == "0" else f"M106 S{power}"
            holds = power
        yield words.move(place, _feed_text(feed), None if fan else power, rapid=not lit)
    yield "M107" if fan else "M5 I"
    yield "M5"
    yield from _events_before(moves, len(moves))


def _events_before(moves: Moves, k: int) -> Iterator[str]:
    """Lines of the file that stand before a move."""
    return (text for at, text in moves.events if at == k)


class _Words:
    """The words of a move that differ from those that hold."""

    def __init__(self, between: str, digits: int):
        self.between, self.digits, self.held = between, digits, {"G": "", "X": "", "Y": "", "F": "", "S": ""}

    def move(
        self, place: list[int], feed: str | None = None, power: str | None = None, rapid: bool = False
    ) -> str:
        """A line; without feed and power it has none of these words."""
        x, y = (_decimal_text(z * 10.0**-self.digits, self.digits) for z in place)
        asked = {"G": "0" if rapid else "1", "X": x, "Y": y, "F": feed, "S": power}
        fresh = {letter: value for letter, value in asked.items() if value not in (None, self.held[letter])}
        self.held.update(fresh)
        return self.between.join(letter + value for letter, value in fresh.items())


def _feed_text(speed: float) -> str:
    """mm/min to four digits, rounded down, so that no limit is passed."""
    feed = speed * 6e4 * (1.0 + 1e-9)
    digits = max(0, 3 - floor(log10(feed))) if 0.0 < feed < inf else 0
    return _decimal_text(floor(feed * 10**digits) / 10**digits, digits)


def _decimal_text(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


WRITERS = {"grbl": _grbl_lines, "marlin": _marlin_lines}
"""What writes the moves of a job, by dialect."""
