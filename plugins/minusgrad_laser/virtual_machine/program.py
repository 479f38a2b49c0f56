"""The program of a job file: its moves, as a controller reads them, with the laser's power in each."""

from dataclasses import dataclass

import numpy as np

from minusgrad.plugin import UserError, memory

from ..machine.profile import Profile
from .controller import Controller
from .words import lines

BLOCK_BYTES = 1500
"""Memory for a move: its numbers here, in the plan and in the motion."""


@dataclass(frozen=True, eq=False)
class Program:
    """Blocks k from point k to point k + 1: x, y (n + 1,) [m], and of each block (n,):

    feed [m/s] as programmed (inf: as fast as the machine can), power [W] at that speed, `dynamic` (power
    follows speed), `line` of the file, `command` (number of the line among those that are sent), `halt` (the
    head stops before it), `wait` [s] of a block without length. `dark` is whether the laser is off at the
    end; `notes` are findings that break no limit; `violations` those that do.
    """

    x: np.ndarray
    y: np.ndarray
    feed: np.ndarray
    power: np.ndarray
    dynamic: np.ndarray
    line: np.ndarray
    command: np.ndarray
    halt: np.ndarray
    wait: np.ndarray
    dark: bool
    notes: tuple[str, ...]
    violations: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.feed)


def parse(text: str, profile: Profile, name: str = "job") -> Program:
    """The program of a job's text.

    What moves or lights is honoured; what does neither is in the notes. Raises `UserError` with the line for
    words that are unknown, or that cannot be honoured, for moves without a feed, for arcs that have no
    centre, and where the text has no move. Powers above the range, and a laser that is on at the end, are
    violations of the result.
    """
    memory.require(BLOCK_BYTES * text.count("\n"), f"{name}: {text.count(chr(10)):,} lines", "split the job")
    state = Controller(profile, name)
    for command, line in enumerate(lines(text, profile.rules, name)):
        state.take(command, line)
    return _program_of(state)


def _program_of(state: Controller) -> Program:
    if not state.rows:
        raise UserError(f"{state.name}: no move in the file; is it G-code?")
    x, y = np.array(state.points).T
    feed, power, dynamic, line, command, halt, wait = np.array(state.rows, float).T
    moving = np.flatnonzero((np.diff(x) != 0.0) | (np.diff(y) != 0.0))
    last, first = int(line[-1]), int(line[moving[0]]) if len(moving) else 0
    state.end(last)
    if len(moving) and power[moving[0]] > 0.0:
        state.remark(first, "the first move is lit, from (0, 0); go to the start with G0")
    flags = {"dynamic": dynamic.astype(bool), "halt": halt.astype(bool)}
    places = {"line": line.astype(int), "command": command.astype(int)}
    notes, violations = tuple(state.remarks.texts(state.name)), tuple(state.violations)
    return Program(
        x, y, feed, power, wait=wait, dark=state.dark, notes=notes, violations=violations, **flags, **places
    )
