"""What a controller remembers from line to line: units, modes, places, height, and its laser (`beam`).

What moves or lights is honoured, what does neither is remarked, and what cannot be honoured is refused. The
replay is in the field: one height (Z) for all that is lit, the plane G17, one origin.

Decisions 0171.
"""

from math import inf, nan

import numpy as np

from minusgrad.plugin import UserError

from ..machine.profile import Profile
from . import arcs, vocabulary
from .beam import Beam
from .remarks import Remarks
from .words import Line, WordError

INCH = 25.4e-3
SLOWEST = 1e-3
"""The least feed, in units of length a minute."""
MOST_CHORDS = 1_000_000
"""Chords of all arcs of a job."""
ORIGINS = {54, 55, 56, 57, 58, 59, 59.1, 59.2, 59.3}
KNOWN = "XYZIJKRFSPQEOLHD"
"""Letters of values; each is used by a word of its line, or refused."""
PRINTERS = {220, 400}
"""M words that set the speed, and wait for the moves, of firmwares of printers."""


class Controller:
    """The state of a controller: `points`, and `rows` of blocks as of a `Program`.

    A row has feed, power, dynamic, line, command, halt, wait.
    """

    def __init__(self, profile: Profile, name: str):
        self.profile, self.rules, self.name = profile, profile.rules, name
        self.unit, self.named_unit, self.absolute = 1e-3, False, True
        self.motion: int | None = 0
        self.feed, self.override, self.exact_stop = nan, 1.0, False
        self.x, self.y, self.z, self.origin = 0.0, 0.0, 0.0, 54.0
        self.lit_z: float | None = None
        self.halt, self.chords, self.lost, self.ended = False, 0, 0, 0
        self.rows: list[tuple[float, ...]] = []
        self.points: list[tuple[float, float]] = [(0.0, 0.0)]
        self.remarks, self.violations = Remarks(), list[str]()
        self.beam = Beam(profile, self._remark_here, self._violate_here)
        self.number = 0
        """Of the line that is taken."""

    def remark(self, number: int, text: str) -> None:
        """Remember a remark on a line."""
        self.remarks.add(number, text)

    def _remark_here(self, text: str) -> None:
        self.remarks.add(self.number, text)

    def _violate_here(self, text: str) -> None:
        self.violations.append(f"{self.name}:{self.number}: {text}")

    def take(self, command: int, line: Line) -> None:
        """Take a line, the given one of those that are sent. Raises `UserError` with its place."""
        self.number = line.number
        for text in line.remarks:
            self._remark_here(text)
        for text in line.faults:
            self._violate_here(text)
        try:
            if self.ended and self.rules.end == "stops":
                self._remark_here(f"the job ended in line {self.ended}; nothing behind it is executed")
            elif line.setting == "$H":
                self._go_home("$H")
            elif line.setting:
                self._remark_here(vocabulary.setting_remark(line.setting, self.profile.full_scale))
            elif line.words:
                self._take_words(command, line)
        except WordError as error:
            raise UserError(f"{self.name}:{line.number}: {error}") from None

    def _take_words(self, command: int, line: Line) -> None:
        gs, ms, values, inline = self._sort_words(line)
        used: set[str] = set("XYZIJKRF")
        dwell, elsewhere = 4 in gs, bool({28, 92} & {*gs})
        moves = not dwell and not elsewhere and bool({"X", "Y", "I", "J", "R"} & values.keys())
        self._set_modes(gs)
        if dwell:
            used |= {"P", "S"} if not self.rules.switches or self.rules.follows == "I" else {"P"}
        self._set_speed(ms, values, used)
        if self.beam.take(ms, values, used, inline, moves) and not dwell:
            self.halt = True
        used |= {"E"} if 92 in gs else set()
        for letter in sorted(values.keys() - used):
            self._refuse_word(letter, values[letter])
        self._wait_for_user(ms)
        if 28 in gs:
            self._go_home("G28")
        elif 92 in gs:
            self._set_place(values)
        elif dwell:
            self._add_dwell(command, values)
        elif moves or "Z" in values:
            self._take_move(command, values, moves)
        if {2, 30} & {*ms}:
            self._take_end()

    def _sort_words(self, line: Line) -> tuple[list[float], list[float], dict[str, float], bool]:
        gs, ms, values, inline = list[float](), list[float](), dict[str, float](), False
        for letter, value in line.words:
            if value is None:
                inline = True
            elif reason := vocabulary.REFUSED.get((letter, value)):
                raise WordError(f"{letter}{value:g} {reason}, which is not replayed; take it out")
            elif remark := vocabulary.remark_of(letter, value, self.rules):
                self._remark_here(remark)
                if (letter, value) == ("G", 64):
                    self.exact_stop = False
            elif (letter, value) in vocabulary.IDLE and letter == "M":
                continue
            elif letter in "GM":
                (gs if letter == "G" else ms).append(value)
            elif letter not in KNOWN:
                self._refuse_word(letter, value)
            elif letter in values:
                raise WordError(f"{letter} stands twice; leave one")
            else:
                values[letter] = value
        for m in ms:
            if not self._knows_m(m):
                self._refuse_word("M", m)
        return gs, ms, values, inline

    def _knows_m(self, m: float) -> bool:
        printers = {106, 107} if self.rules.follows == "I" else {221} if not self.rules.switches else set()
        known = {0, 1, 2, 3, 4, 5, 30} | ({67, 68} if self.rules.outputs else set())
        if self.rules.separate_words:
            known |= PRINTERS | printers
        if m in (67, 68) and not self.rules.outputs:
            raise WordError(
                f"M{m:g} sets an output that {self.rules.firmware} does not know; replay it with a machine of"
                ' dialect = "linuxcnc", and its power_scale'
            )
        return m in known

    def _refuse_word(self, letter: str, value: float) -> None:
        shown = f"{letter}{value:g}"
        if letter == "K":
            raise WordError(f"a pitch out of the field is not replayed, got '{shown}'; take it out")
        if letter in "PSO":
            raise WordError(f"{letter} belongs to no word of its line, got '{shown}'; take it out")
        raise WordError(f"no word that this machine knows, got '{shown}'; take it out")

    def _set_modes(self, gs: list[float]) -> None:
        moves = [g for g in gs if g in (0, 1, 2, 3, 80)]
        if len(moves) > 1:
            raise WordError(f"a line has one kind of move, got G{moves[0]:g} and G{moves[1]:g}; split it")
        for g in gs:
            if g in (0, 1, 2, 3):
                self.motion = int(g)
            elif g == 80:
                self.motion = None
            elif g in (20, 21):
                self.unit, self.named_unit = (INCH, 1e-3)[int(g) - 20], True
            elif g in (90, 91):
                self.absolute = g == 90
            elif g in (61, 61.1):
                self.exact_stop = g == 61.1
            elif g in ORIGINS:
                self._choose_origin(g)
            elif g not in (4, 28, 92) and ("G", g) not in vocabulary.IDLE:
                self._refuse_word("G", g)

    def _choose_origin(self, g: float) -> None:
        if g != self.origin:
            if self.rows:
                raise WordError(f"G{g:g} moves the origin, which is not replayed; take it out")
            self._remark_here(f"all places are in the coordinates of G{g:g}")
            self.origin = g

    def _set_speed(self, ms: list[float], values: dict[str, float], used: set[str]) -> None:
        if 220 in ms:
            used.add("S")
            self.override = values.pop("S", 100.0) / 100.0
            if not self.override > 0.0:
                raise WordError(f"M220: a speed is above 0 %, got {100.0 * self.override:g}; correct it")
        if "F" not in values:
            return
        if not values["F"] > 0.0:
            raise WordError(f"F: a feed is above 0, got {values['F']:g}; correct it")
        if values["F"] < SLOWEST:
            raise WordError(f"F: a feed is {SLOWEST:g} a minute at least, got {values['F']:g}; correct it")
        self.feed = values["F"] * self.unit / 60.0

    def _wait_for_user(self, ms: list[float]) -> None:
        if waits := [m for m in ms if m in (0, 1)]:
            if self.beam.lit_at_rest:
                raise WordError(f"M{waits[0]:g} waits for the user with the laser on; switch it off before")
            self.halt = True
            self._remark_here(f"M{waits[0]:g} waits for the user; the time is not counted")

    def _take_end(self) -> None:
        """The end of a program: GRBL sets its modes back and goes on with what a sender still sends."""
        if self.rules.end == "nothing":
            self._remark_here(f"{self.rules.firmware} does nothing at M2 and M30; end the file with M5")
            return
        if self.rules.end == "resets" and self.ended:
            self._remark_here("the program ends once more")
        self.ended, self.beam.mode, self.beam.analogue = self.number, 5, None
        self.motion, self.absolute = 1, True

    def _go_home(self, word: str) -> None:
        way = f"{word} moves the head by a way that the file does not say"
        if self.beam.lit_at_rest:
            raise WordError(f"{way}, and it is lit; switch the laser off before")
        if self.rows:
            self.lost = self.number
        self._remark_here(f"{way}; its time is not counted")

    def _set_place(self, values: dict[str, float]) -> None:
        """Take G92: before the first move it says where the head is, then it may say only what is so."""
        place = tuple(
            self._length(values[letter]) if letter in values else old
            for letter, old in (("X", self.x), ("Y", self.y))
        )
        if self.rows and not np.allclose(place, (self.x, self.y), atol=1e-9):
            raise WordError("G92 moves the origin, which is not replayed; take it out")
        self.x, self.y = place
        if not self.rows:
            self.points[0] = (self.x, self.y)
        if "Z" in values:
            self.z = self._length(values["Z"])

    def _length(self, value: float) -> float:
        return value * self.unit

    def _target(self, values: dict[str, float], letter: str, old: float) -> float:
        if letter not in values:
            return old
        new = self._length(values[letter])
        return new if self.absolute else old + new

    def _take_move(self, command: int, values: dict[str, float], in_field: bool) -> None:
        if self.motion is None:
            raise WordError("a move needs G0, G1, G2 or G3 after G80; add one")
        if not self.named_unit:
            self.named_unit = True
            self._remark_here("no G20 or G21 before the first move; read in millimetres")
        rapid = self.motion == 0
        if np.isnan(self.feed) and not rapid:
            raise WordError(f"G{self.motion} has no feed; write F before it")
        if values.get("K", 0.0) != 0.0:
            self._refuse_word("K", values["K"])
        programmed = self.feed * self.override
        feed = inf if rapid and (not self.rules.feed_in_rapids or np.isnan(self.feed)) else programmed
        height = self._target(values, "Z", self.z)
        if not in_field:
            self._move_height(command, height, feed)
            return
        start = self.x, self.y
        end = self._target(values, "X", self.x), self._target(values, "Y", self.y)
        power, dynamic = self.beam.power(rapid)
        places = self._way_points(values, start, end)
        lit = power > 0.0 and any(place != start for place in places)
        self._require_known_place(values, lit)
        self._keep_height(height, lit)
        if lit and rapid and self.beam.fan == 0.0:
            self._remark_here(
                "G0 is lit, since M3 has no I; write M3 I"
                if self.rules.follows == "I"
                else "G0 is lit, since the laser is on; switch it off before"
            )
        self.halt = self.halt or self.exact_stop
        for place in places:
            if place != self.points[-1]:
                self._add_block(command, place, feed, power, dynamic, 0.0)
        self.x, self.y = end

    def _require_known_place(self, values: dict[str, float], lit: bool) -> None:
        """After G28 the next move has to say where the head is: dark, and to a place in both axes."""
        if self.lost and (lit or not self.absolute or not {"X", "Y"} <= values.keys()):
            raise WordError(
                f"the place of the head is unknown since line {self.lost}; go on with a dark G0 X Y"
            )
        self.lost = 0

    def _keep_height(self, height: float, lit: bool) -> None:
        """Take the height of a move in the field: all that is lit has one."""
        if lit and height != self.z:
            raise WordError(
                f"a lit move changes the height, got Z{height * 1e3:g} mm; the focus is not replayed"
            )
        self.z = height
        if not lit:
            return
        if self.lit_z is None:
            self.lit_z = height
        elif height != self.lit_z:
            raise WordError(
                f"lit moves have one height, got Z{height * 1e3:g} mm after Z{self.lit_z * 1e3:g} mm; the"
                " focus is not replayed: split the job"
            )

    def _move_height(self, command: int, height: float, feed: float) -> None:
        """A move of the height alone: the head stands in the field for its time, where a feed says it."""
        way, self.z = abs(height - self.z), height
        if way == 0.0:
            return
        if feed == inf:
            self._remark_here("moves of the height (Z) by G0 are replayed without their time")
            return
        power, _ = self.beam.power(rapid=self.motion == 0)
        self._add_block(command, self.points[-1], inf, power, False, way / feed)

    def _way_points(
        self, values: dict[str, float], start: tuple[float, float], end: tuple[float, float]
    ) -> list[tuple[float, float]]:
        offsets = [letter for letter in "IJR" if letter in values]
        if self.motion in (0, 1):
            if offsets:
                raise WordError(f"{offsets[0]} belongs to an arc, and this is G{self.motion}; correct it")
            return [end]
        clockwise = self.motion == 2
        if "R" in values:
            centre = arcs.centre_of_radius(start, end, self._length(values["R"]), clockwise)
            if centre is None:
                raise WordError(f"R: no circle of this radius has both ends, got {values['R']:g}; correct it")
        elif offsets:
            i, j = (self._length(values.get(letter, 0.0)) for letter in "IJ")
            centre = start[0] + i, start[1] + j
        else:
            raise WordError("an arc has no centre; write I and J, or R")
        apart = arcs.mismatch(start, end, centre)
        if apart:
            raise WordError(
                f"both ends of an arc have one radius, got {apart * 1e3:g} mm between; correct I, J"
            )
        count = arcs.number_of_chords(start, end, centre, clockwise)
        if count > arcs.MOST:
            raise WordError(
                f"an arc has {arcs.MOST:,} chords at most, got {count:,}; its radius is too large: correct it"
            )
        self.chords += count
        if self.chords > MOST_CHORDS:
            raise WordError(f"the arcs of a job have {MOST_CHORDS:,} chords at most, got more; split the job")
        return arcs.chords(start, end, centre, clockwise)

    def _add_dwell(self, command: int, values: dict[str, float]) -> None:
        seconds = self.rules.separate_words and "S" in values
        if not seconds and not self.rules.separate_words and "P" not in values:
            raise WordError("G4 has no time; write P, in seconds")
        wait = values["S"] if seconds else values.get("P", 0.0) * self.rules.dwell
        if wait < 0.0:
            raise WordError(f"G4: a time is at least 0, got {wait:g}; correct it")
        power, dynamic = self.beam.power(rapid=self.motion == 0)
        resting = dynamic or not self.rules.switches
        self._add_block(command, self.points[-1], inf, 0.0 if resting else power, False, wait)

    def _add_block(
        self, command: int, place: tuple[float, float], feed: float, power: float, dynamic: bool, wait: float
    ) -> None:
        self.points.append(place)
        self.rows.append((feed, power, dynamic, self.number, command, self.halt, wait))
        self.halt = False

    def end(self, last: int) -> None:
        """Say what is to be said of the laser at the end of the file, whose last move is in this line."""
        if self.beam.lit_at_rest:
            self.violations.append(
                f"{self.name}:{last}: the laser is on at the end; end the file with M5 (or M107)"
            )
        elif self.beam.mode == 4 and self.rules.switches:
            self.remark(last, "M4 holds at the end: dark while nothing moves; end the file with M5")

    @property
    def dark(self) -> bool:
        """True if no move would be lit at the end."""
        return self.beam.dark
