"""Limits of a machine, checked on the program of a job file and on the motion that was planned for it.

The slew is that of the programmed power, the power at the programmed speed: between lit blocks that follow
each other it changes by at most slew (t_k + t_{k+1}) / 2, t the planned durations. In M4 the power follows
the speed as well, and is 0 at rest whatever the file says: that change is the machine's, and is not checked.

Decisions 0104.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from minusgrad.plugin import UserError

from ..machine.profile import Profile
from .motion import quantise_power
from .planner import Plan, limit
from .program import Program

SLACK = 1e-6
"""Of a limit, for rounding."""
MOST = 20
"""Violations of one kind that are listed one by one."""
PLACES = 2.0**0.5 * 1e-6
"""By which places of 1 um may change the length of a move [m]."""
FIELDS, LARGEST = 4.0, 10.0
"""How many fields of a machine the lit moves of a job reach over at most; without a field, how far [m]."""


def violations(program: Program, plan: Plan, profile: Profile, name: str = "job") -> tuple[str, ...]:
    """One sentence for each broken limit, with its line: field, feed, dwell, least power, slew,
    blanking, rates, and the program's own (power above the range, a laser that is on at the end)."""
    found = list(program.violations)
    lit = (program.power > 0.0) & (plan.length > 0.0)
    for kind in (
        _field_violations(program, profile),
        _feed_violations(program, plan, profile),
        _dwell_violations(program, plan, profile, lit),
        _power_violations(program, profile, lit),
        _slew_violations(program, plan, profile, lit),
        _travel_violations(program, plan, profile, lit),
        _rate_violations(program, plan, profile),
    ):
        listed = [f"{name}:{line}: {text}" for line, text in kind]
        found += listed[:MOST]
        if len(listed) > MOST:
            found.append(f"{name}: and {len(listed) - MOST} more like the last")
    return tuple(found)


def leaving_field(program: Program, profile: Profile, name: str = "job") -> str:
    """Where a program leaves the field first, and how often it does; "" where it stays within."""
    found = list(_field_violations(program, profile))
    if not found:
        return ""
    line, text = found[0]
    more = f" (and {len(found) - 1} places more)" if len(found) > 1 else ""
    return f"{name}:{line}: {text}{more}"


def refuse_far(program: Program, profile: Profile, name: str = "job") -> None:
    """Raise `UserError` for lit moves that reach over many fields: they are for another machine, or unit."""
    lit = np.flatnonzero(program.power > 0.0)
    ends = np.concatenate([lit, lit + 1])
    for letter, places, size in zip("XY", (program.x, program.y), profile.field, strict=True):
        most = FIELDS * size if np.isfinite(size) else LARGEST
        if len(ends) and (reach := float(np.ptp(places[ends]))) > most:
            bed = f"{FIELDS:g} times the field" if np.isfinite(size) else "the largest machines"
            raise UserError(
                f"{name}: lit moves must reach over {most * 1e3:g} mm along {letter} at most, {bed}, got"
                f" {reach * 1e3:.6g} mm; correct the coordinates, or their unit (G20 inches, G21 mm)"
            )


def _field_violations(program: Program, profile: Profile) -> Iterator[tuple[int, str]]:
    for letter, places, size in zip("XY", (program.x, program.y), profile.field, strict=True):
        if np.isfinite(size):
            for k in map(int, np.flatnonzero((places < -1e-6) | (places > size + 1e-6))):
                yield (
                    int(program.line[max(k - 1, 0)]),
                    f"{letter}: out of the field, got {places[k] * 1e3:.3f} mm; it is 0 to {size * 1e3:g} mm",
                )


def _feed_violations(program: Program, plan: Plan, profile: Profile) -> Iterator[tuple[int, str]]:
    most = limit(profile.speed, plan.direction)
    over = np.isfinite(program.feed) & (program.feed > most * (1.0 + SLACK)) & (plan.length > 0.0)
    for k in np.flatnonzero(over):
        got, reach = program.feed[k] * 6e4, most[k] * 6e4
        yield int(program.line[k]), f"F: faster than the axes, got {got:.0f} mm/min; they reach {reach:.0f}"


def _dwell_violations(
    program: Program, plan: Plan, profile: Profile, lit: np.ndarray
) -> Iterator[tuple[int, str]]:
    seconds = plan.durations.sum(axis=1)
    for k in np.flatnonzero(lit & (seconds < profile.minimum_dwell * (1.0 - SLACK))):
        got, least = seconds[k] * 1e3, profile.minimum_dwell * 1e3
        yield (
            int(program.line[k]),
            f"a lit move is too short in time, got {got:.3g} ms; {least:g} is the least",
        )


def _power_violations(program: Program, profile: Profile, lit: np.ndarray) -> Iterator[tuple[int, str]]:
    least, most = profile.power
    got = quantise_power(program.power, replace(profile, power=(0.0, most)))
    for k in np.flatnonzero(lit & (got < least * (1.0 - SLACK))):
        yield (
            int(program.line[k]),
            f"power below the least, got {got[k]:.4g} W; it is 0, or {least:g} W at least",
        )


def _slew_violations(
    program: Program, plan: Plan, profile: Profile, lit: np.ndarray
) -> Iterator[tuple[int, str]]:
    """Half a level of each power, and the rounding of places, are no violation."""
    if not np.isfinite(profile.power_slew):
        return
    moving = np.flatnonzero(plan.length > 0.0)
    seconds = plan.durations.sum(axis=1)[moving]
    longer = seconds * (1.0 + PLACES / plan.length[moving])
    level = profile.power[1] / (2**profile.bits - 1)
    change = np.abs(np.diff(program.power[moving]))
    most = profile.power_slew * 0.5 * (longer[1:] + longer[:-1]) * (1.0 + SLACK) + level
    for k in np.flatnonzero(lit[moving[1:]] & lit[moving[:-1]] & (change > most)):
        got = 2.0 * change[k] / (seconds[k] + seconds[k + 1])
        yield (
            int(program.line[moving[k + 1]]),
            f"power changes too fast, got {got:.4g} W/s; the laser follows {profile.power_slew:g}",
        )


def _travel_violations(
    program: Program, plan: Plan, profile: Profile, lit: np.ndarray
) -> Iterator[tuple[int, str]]:
    if profile.blanking:
        return
    after = np.cumsum(lit) > 0
    for k in np.flatnonzero(after & ~lit & (plan.length > 0.0)):
        yield (
            int(program.line[k]),
            f"a travel of a laser that is never off, got {plan.length[k] * 1e3:.3f} mm; draw it",
        )


def _rate_violations(program: Program, plan: Plan, profile: Profile) -> Iterator[tuple[int, str]]:
    """What no planner should do: that this one does not is checked, too."""
    moving = plan.length > 0.0
    for text, values, most in (
        ("speed", plan.peak, limit(profile.speed, plan.direction)),
        ("acceleration", plan.acceleration, limit(profile.acceleration, plan.direction)),
    ):
        for k in np.flatnonzero(moving & (values > most * (1.0 + SLACK))):
            yield (
                int(program.line[k]),
                f"{text}: above the axes', got {values[k]:g}; the limit is {most[k]:g}",
            )
