"""The program of a job file: its moves, as a controller reads them, with the laser's power in each.

GRBL 1.1 in laser mode ($32=1): G0 is always dark; in M3 the power of a move is constant, in M4 it is scaled
by actual over programmed speed; M3, M4 and M5 that change the state, and S without a move, stop the head.
Marlin: `M3 I` gives the power with the moves, G0 is dark; after M3 without I the power is constant, and holds
in G0, which is noted; M106 S sets the power at the pin of the fan (0 to 255), for G0 as well, until M107.
Sources: the wiki of GRBL 1.1 (Laser Mode, Commands), the G-code reference of Marlin 2.1.
"""

from dataclasses import dataclass, field
from math import inf, nan

import numpy as np

from minusgrad.plugin import UserError, memory

from ..machine.profile import Profile
from . import arcs
from .words import Line, lines

INCH = 25.4e-3
SLOWEST = 1e-3
"""The least feed, in units of length a minute."""
MOST_CHORDS = 1_000_000
"""Chords of all arcs of a job."""
BLOCK_BYTES = 1500
"""Memory for a move: its numbers here, in the plan and in the motion."""
IDLE = {
    ("G", 17),
    ("G", 40),
    ("G", 49),
    ("G", 54),
    ("G", 80),
    ("G", 91.1),
    ("G", 94),
    ("M", 7),
    ("M", 8),
    ("M", 9),
}
"""Words that are accepted and change nothing here: the plane, no tool, the first coordinates, air assist."""
UNSAFE = {
    ("G", 10): "moves the origin", ("G", 18): "is a plane out of the field",
    ("G", 19): "is a plane out of the field",
    ("G", 28): "moves the head by a way that the file does not say",
    ("G", 30): "moves the head by a way that the file does not say",
    ("G", 38.2): "probes", ("G", 53): "is in the machine's own coordinates",
    ("G", 90.1): "gives centres of arcs in another way",
    ("G", 92): "moves the origin", ("G", 93): "gives feeds as inverse times", ("M", 0): "waits for the user",
    ("M", 1): "waits for the user", ("M", 6): "changes a tool", ("M", 201): "changes the machine's limits",
    ("M", 203): "changes the machine's limits", ("M", 204): "changes the machine's limits",
    ("M", 205): "changes the machine's limits",
}  # fmt: skip


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

    Raises `UserError` with the line for words that are unknown or unsafe, for moves without a feed, for arcs
    that have no centre, and where the text has no move. Powers above the range, and a laser that is on at the
    end, are violations of the result.
    """
    memory.require(BLOCK_BYTES * text.count("\n"), f"{name}: {text.count(chr(10)):,} lines", "split the job")
    state = _Reader(profile, name)
    for command, line in enumerate(lines(text, name)):
        state.take(command, line)
    return state.program()


@dataclass
class _Reader:
    """What a controller remembers from line to line."""

    profile: Profile
    name: str
    unit: float = 1e-3
    named_unit: bool = False
    absolute: bool = True
    motion: int | None = 0
    feed: float = nan
    s: float = 0.0
    mode: int = 5
    inline: bool = False
    fan: float = 0.0
    x: float = 0.0
    y: float = 0.0
    halt: bool = False
    ended: int = 0
    standard: list[int] = field(default_factory=list)
    """Lines with a G0 that is lit, since M3 has no I (Marlin)."""
    rows: list[tuple[float, ...]] = field(default_factory=list)
    points: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0)])
    notes: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    chords: int = 0
    """Of all arcs so far."""

    def fail(self, line: Line, text: str) -> UserError:
        return UserError(f"{self.name}:{line.number}: {text}")

    def take(self, command: int, line: Line) -> None:
        if self.ended:
            raise self.fail(
                line, f"the program ends in line {self.ended} (M2), got more words; take them out"
            )
        gs, ms, values = self._sort_words(line)
        self._set_modes(line, gs)
        dwell = 4 in gs
        fresh = self._set_laser(
            line, ms, values, moves=bool({"X", "Y", "I", "J", "R"} & set(values)) and not dwell
        )
        if "F" in values:
            if not values["F"] > 0.0:
                raise self.fail(line, f"F: a feed is above 0, got {values['F']:g}; correct it")
            if values["F"] < SLOWEST:
                raise self.fail(
                    line, f"F: a feed is {SLOWEST:g} a minute at least, got {values['F']:g}; correct it"
                )
            self.feed = values["F"] * self.unit / 60.0
        if dwell:
            self._add_dwell(command, line, values)
        elif {"X", "Y", "I", "J", "R"} & set(values):
            self._add_moves(command, line, values)
        elif fresh:
            self.halt = True
        if {2, 30} & set(ms):
            self.ended, self.mode = line.number, 5

    def _sort_words(self, line: Line) -> tuple[list[float], list[float], dict[str, float]]:
        gs: list[float] = []
        ms: list[float] = []
        values: dict[str, float] = {}
        for letter, value in line.words:
            if value is None:
                self.inline = True
                continue
            shown = f"{letter}{value:g}"
            if (letter, value) in UNSAFE:
                raise self.fail(line, f"{shown} {UNSAFE[letter, value]}, which is not replayed; take it out")
            if letter == "G":
                gs.append(value)
            elif letter == "M":
                ms.append(value)
            elif letter == "Z" and value == 0.0:
                continue
            elif letter in "XYIJRFSP":
                if letter in values:
                    raise self.fail(line, f"{letter} stands twice; leave one")
                values[letter] = value
            else:
                raise self.fail(line, f"no word that this machine knows, got '{shown}'; take it out")
        return gs, ms, values

    def _set_modes(self, line: Line, gs: list[float]) -> None:
        moves = [g for g in gs if g in (0, 1, 2, 3, 80)]
        if len(moves) > 1:
            raise self.fail(
                line, f"a line has one kind of move, got G{moves[0]:g} and G{moves[1]:g}; split it"
            )
        for g in gs:
            if g in (0, 1, 2, 3):
                self.motion = int(g)
            elif g == 80:
                self.motion = None
            elif g in (20, 21):
                self.unit, self.named_unit = (INCH, 1e-3)[int(g) - 20], True
            elif g in (90, 91):
                self.absolute = g == 90
            elif g != 4 and ("G", g) not in IDLE:
                raise self.fail(line, f"no word that this machine knows, got 'G{g:g}'; take it out")

    def _set_laser(self, line: Line, ms: list[float], values: dict[str, float], moves: bool) -> bool:
        """Take M and S; true if the head stops for it."""
        marlin = self.profile.dialect == "marlin"
        before, s = self.mode, self.s
        fan = 106 in ms
        for m in ms:
            if m in (3, 4, 5):
                self.mode = int(m)
            elif m == 107 and marlin:
                self.fan = 0.0
            elif m not in (2, 30) and not (marlin and m in (106, 400)) and ("M", m) not in IDLE:
                raise self.fail(line, f"no word that this machine knows, got 'M{m:g}'; take it out")
        if fan:
            self.fan = self._part_of_full(line, values.get("S", 255.0), 255.0)
        elif "S" in values:
            self.s = self._part_of_full(line, values["S"], full_scale(self.profile))
        if marlin:
            if self.mode == 5:
                inline, self.inline = self.inline, False
                return 400 in ms or (before != 5 and not inline)
            return 400 in ms or (not self.inline and self.mode != before)
        return self.mode != before or (self.s != s and not moves and self.mode != 5)

    def _part_of_full(self, line: Line, s: float, full: float) -> float:
        """S as a part of full power."""
        if s < 0.0:
            raise self.fail(line, f"S: a power is at least 0, got {s:g}; correct it")
        if s > full * (1.0 + 1e-9):
            self.violations.append(
                f"{self.name}:{line.number}: S: power above the range, got {s:g}; full power is S{full:g}"
            )
        return min(s / full, 1.0)

    def _beam_power(self, rapid: bool) -> tuple[float, bool]:
        """Power [W] of a move at its programmed speed, and whether it follows the speed."""
        most = self.profile.power[1]
        if self.fan > 0.0:
            return self.fan * most, False
        grbl = self.profile.dialect == "grbl"
        if self.mode == 5 or (rapid and (grbl or self.inline)):
            return 0.0, False
        dynamic = self.mode == 4 if grbl else self.inline and self.profile.dynamic_power
        return self.s * most, dynamic

    def _target_place(self, values: dict[str, float]) -> tuple[float, float]:
        places = []
        for letter, old in (("X", self.x), ("Y", self.y)):
            value = values.get(letter)
            new = old if value is None else value * self.unit
            places.append(new if self.absolute or value is None else old + new)
        return places[0], places[1]

    def _add_moves(self, command: int, line: Line, values: dict[str, float]) -> None:
        if self.motion is None:
            raise self.fail(line, "a move needs G0, G1, G2 or G3 after G80; add one")
        if not self.named_unit:
            self.named_unit = True
            self.notes.append(
                f"{self.name}:{line.number}: no G20 or G21 before the first move; read in millimetres"
            )
        rapid = self.motion == 0
        marlin = self.profile.dialect == "marlin"
        if np.isnan(self.feed) and not rapid:
            raise self.fail(line, f"G{self.motion} has no feed; write F before it")
        feed = inf if rapid and (not marlin or np.isnan(self.feed)) else self.feed
        start, end = (self.x, self.y), self._target_place(values)
        power, dynamic = self._beam_power(rapid)
        if rapid and power > 0.0 and self.fan == 0.0 and end != start:
            self.standard.append(line.number)
        for place in self._way_points(line, values, start, end):
            if place != self.points[-1]:
                self._add_block(command, line, place, feed, power, dynamic, 0.0)
        self.x, self.y = end

    def _way_points(
        self, line: Line, values: dict[str, float], start: tuple[float, float], end: tuple[float, float]
    ) -> list[tuple[float, float]]:
        offsets = [letter for letter in "IJR" if letter in values]
        if self.motion in (0, 1):
            if offsets:
                raise self.fail(
                    line, f"{offsets[0]} belongs to an arc, and this is G{self.motion}; correct it"
                )
            return [end]
        clockwise = self.motion == 2
        if "R" in values:
            centre = arcs.centre_of_radius(start, end, values["R"] * self.unit, clockwise)
            if centre is None:
                raise self.fail(
                    line, f"R: no circle of this radius has both ends, got {values['R']:g}; correct it"
                )
        elif offsets:
            centre = start[0] + values.get("I", 0.0) * self.unit, start[1] + values.get("J", 0.0) * self.unit
        else:
            raise self.fail(line, "an arc has no centre; write I and J, or R")
        apart = arcs.mismatch(start, end, centre)
        if apart:
            raise self.fail(
                line, f"both ends of an arc have one radius, got {apart * 1e3:g} mm between; correct I, J"
            )
        count = arcs.number_of_chords(start, end, centre, clockwise)
        if count > arcs.MOST:
            raise self.fail(
                line,
                f"an arc has {arcs.MOST:,} chords at most, got {count:,}; its radius is too large: correct"
                " it",
            )
        self.chords += count
        if self.chords > MOST_CHORDS:
            text = f"the arcs of a job have {MOST_CHORDS:,} chords at most, got more; split the job"
            raise self.fail(line, text)
        return arcs.chords(start, end, centre, clockwise)

    def _add_dwell(self, command: int, line: Line, values: dict[str, float]) -> None:
        marlin = self.profile.dialect == "marlin"
        wait = values.get("P", 0.0) * 1e-3 if marlin else values.get("P", 0.0)
        if "S" in values and marlin:
            wait = values["S"]
        elif not marlin and "P" not in values:
            raise self.fail(line, "G4 has no time; write P, in seconds")
        if wait < 0.0:
            raise self.fail(line, f"G4: a time is at least 0, got {wait:g}; correct it")
        power, dynamic = self._beam_power(rapid=self.motion == 0)
        self._add_block(command, line, self.points[-1], inf, 0.0 if dynamic else power, False, wait)

    def _add_block(
        self,
        command: int,
        line: Line,
        place: tuple[float, float],
        feed: float,
        power: float,
        dynamic: bool,
        wait: float,
    ) -> None:
        self.points.append(place)
        self.rows.append((feed, power, dynamic, line.number, command, self.halt, wait))
        self.halt = False

    def program(self) -> Program:
        if not self.rows:
            raise UserError(f"{self.name}: no move in the file; is it G-code?")
        last = f"{self.name}:{int(self.rows[-1][3])}"
        if self.fan > 0.0 or (self.mode == 3 and self.s > 0.0):
            self.violations.append(f"{last}: the laser is on at the end; end the file with M5 (or M107)")
        elif self.mode == 4:
            self.notes.append(f"{last}: M4 holds at the end: dark while nothing moves; end the file with M5")
        if self.standard:
            first, more = self.standard[0], len(self.standard) - 1
            also = f" (and {more} more)" if more else ""
            self.notes.append(f"{self.name}:{first}: G0 is lit{also}, since M3 has no I; write M3 I")
        x, y = np.array(self.points).T
        feed, power, dynamic, line, command, halt, wait = np.array(self.rows, float).T
        moving = np.flatnonzero((np.diff(x) != 0.0) | (np.diff(y) != 0.0))
        if len(moving) and power[moving[0]] > 0.0:
            self.notes.append(
                f"{self.name}:{int(line[moving[0]])}: the first move is lit, from (0, 0);"
                " go to the start with G0"
            )
        flags = {"dynamic": dynamic.astype(bool), "halt": halt.astype(bool)}
        places = {"line": line.astype(int), "command": command.astype(int)}
        dark = not (self.fan > 0.0 or (self.mode in (3, 4) and self.s > 0.0))
        notes, violations = tuple(self.notes), tuple(self.violations)
        return Program(
            x, y, feed, power, wait=wait, dark=dark, notes=notes, violations=violations, **flags, **places
        )


def full_scale(profile: Profile) -> float:
    """S at full power."""
    return profile.power_scale or (1000.0 if profile.dialect == "grbl" else 255.0)
