"""Replay of a job file: from its text and the profile of a machine to the dose and the seconds."""

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from minusgrad.plugin import UserError, memory

from ..machine.profile import Profile
from .dose import dose
from .limits import violations
from .motion import Motion, motion
from .planner import Plan, plan
from .program import Program, parse

MARGIN = 3.0
"""Around the lit moves on a canvas that is not given, in units of the waists."""


@dataclass(frozen=True, eq=False)
class Replay:
    """A job as the machine does it: `dose` (rows, columns) in parts of `full`, `seconds`, and what was found.

    `origin` [m] is the centre of the first cell, in coordinates of the file. `violations` are broken limits,
    `notes` are remarks; each names its line. `motion.table()` has t, x, y, v, P.
    """

    dose: np.ndarray
    seconds: float
    origin: tuple[float, float]
    pixel: float
    waists: tuple[float, float]
    full: float
    motion: Motion
    plan: Plan
    program: Program
    violations: tuple[str, ...]
    notes: tuple[str, ...]


def replay(
    text: str,
    profile: Profile,
    shape: tuple[int, int] | None = None,
    pixel: float | None = None,
    waists: tuple[float, float] | None = None,
    full: float = 1.0,
    origin: tuple[float, float] = (0.0, 0.0),
    name: str = "job",
) -> Replay:
    """Replay the text of a G-code file on the machine of a profile.

    shape (rows, columns) of the canvas whose first cell is centred at `origin` [m]; without a shape, it is
    drawn around the lit moves. pixel, waists along x and y [m]: the profile's where left out. full [J/m^2]
    is the fluence that counts as dose one; `name` is the file's, in messages. Raises `UserError` for files
    that cannot be read (see `program.parse`).
    """
    pixel, waists = pixel or profile.pixel, waists or profile.waists
    program = parse(text, profile, name)
    planned = plan(program, profile)
    moves = motion(program, planned, profile)
    if shape is None:
        shape, origin = canvas_around(program, pixel, waists, name)
    memory.require(16 * shape[0] * shape[1], f"{name}: {shape[1]} x {shape[0]} cells", "take larger cells")
    return Replay(
        dose(moves, shape, pixel, waists, full, origin), planned.seconds, origin, pixel, waists, full,
        moves, planned, program, violations(program, planned, profile, name),
        remarks(program, planned, name),
    )  # fmt: skip


def remarks(program: Program, planned: Plan, name: str) -> tuple[str, ...]:
    """Those of the program and of its plan."""
    late = f"{name}: the head stood {planned.late} times, because lines came too slowly"
    return (*program.notes, *([late] if planned.late else []))


def canvas_around(
    program: Program, pixel: float, waists: tuple[float, float], name: str
) -> tuple[tuple[int, int], tuple[float, float]]:
    """Shape and origin of a canvas around the lit blocks; cells keep to whole multiples of a pixel."""
    lit = np.flatnonzero(program.power > 0.0)
    if not len(lit):
        raise UserError(f"{name}: the laser is never on; is it a job for this machine?")
    ends = np.concatenate([lit, lit + 1])
    places = list(zip((program.x[ends], program.y[ends]), waists, strict=True))
    low = [floor((z.min() - MARGIN * waist) / pixel) for z, waist in places]
    high = [ceil((z.max() + MARGIN * waist) / pixel) for z, waist in places]
    return (high[1] - low[1] + 1, high[0] - low[0] + 1), (low[0] * pixel, low[1] * pixel)
