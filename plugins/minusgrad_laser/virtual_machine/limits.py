"""Limits of a machine, checked on the program of a job file and on the motion that was planned for it."""

from collections.abc import Iterator

import numpy as np

from ..machine.profile import Profile
from .planner import Plan, limit
from .program import Program

SLACK = 1e-6
"""Of a limit, for rounding."""
MOST = 20
"""Violations of one kind that are listed one by one."""


def violations(program: Program, plan: Plan, profile: Profile, name: str = "job") -> tuple[str, ...]:
    """One sentence for each broken limit, with its line: field, feed, rates, dwell, power, the end."""
    found = list(program.violations)
    lit = (program.power > 0.0) & (plan.length > 0.0)
    for kind in (
        _field(program, profile),
        _feeds(program, plan, profile),
        _dwells(program, plan, profile, lit),
        _rates(program, plan, profile),
    ):
        listed = [f"{name}:{line}: {text}" for line, text in kind]
        found += listed[:MOST]
        if len(listed) > MOST:
            found.append(f"{name}: and {len(listed) - MOST} more like the last")
    return tuple(found)


def _field(program: Program, profile: Profile) -> Iterator[tuple[int, str]]:
    for letter, places, size in zip("XY", (program.x, program.y), profile.field, strict=True):
        if np.isfinite(size):
            for k in map(int, np.flatnonzero((places < -1e-6) | (places > size + 1e-6))):
                yield (
                    int(program.line[max(k - 1, 0)]),
                    f"{letter}: out of the field, got {places[k] * 1e3:.3f} mm; it is 0 to {size * 1e3:g} mm",
                )


def _feeds(program: Program, plan: Plan, profile: Profile) -> Iterator[tuple[int, str]]:
    most = limit(profile.speed, plan.direction)
    over = np.isfinite(program.feed) & (program.feed > most * (1.0 + SLACK)) & (plan.length > 0.0)
    for k in np.flatnonzero(over):
        got, reach = program.feed[k] * 6e4, most[k] * 6e4
        yield int(program.line[k]), f"F: faster than the axes, got {got:.0f} mm/min; they reach {reach:.0f}"


def _dwells(program: Program, plan: Plan, profile: Profile, lit: np.ndarray) -> Iterator[tuple[int, str]]:
    seconds = plan.durations.sum(axis=1)
    for k in np.flatnonzero(lit & (seconds < profile.minimum_dwell * (1.0 - SLACK))):
        got, least = seconds[k] * 1e3, profile.minimum_dwell * 1e3
        yield (
            int(program.line[k]),
            f"a lit move is too short in time, got {got:.3g} ms; {least:g} is the least",
        )


def _rates(program: Program, plan: Plan, profile: Profile) -> Iterator[tuple[int, str]]:
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
