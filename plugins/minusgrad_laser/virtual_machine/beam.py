"""The laser of a controller: what its words make of the power of a move.

    power = part of full power . most        part = S / S of full power (GRBL, FluidNC, Marlin, Smoothieware)

GRBL 1.1 in laser mode ($32=1), and FluidNC: G0 is always dark; in M3 the power of a move is constant, in M4
it is scaled by actual over programmed speed; M3, M4 and M5 that change the state, and S without a move, stop
the head. Marlin: `M3 I` gives the power with the moves, G0 is dark; after M3 without I the power is constant,
and holds in G0, which is noted; M3 without S is lit with the start-up power; M106 S sets the power at the
pin of the fan (0 to 255), for G0 as well, until M107. Smoothieware: lit in G1 to G3 by the S of moves alone,
scaled by the speed, without any M3. LinuxCNC: M3 S and M67 E0 Q are lit in all moves.

Decisions 0171.
"""

from collections.abc import Callable, Collection, Mapping, MutableSet

from ..machine.profile import Profile
from .words import WordError

FAN = 255.0
"""S of full power at the pin of the fan."""


class Beam:
    """What a controller remembers of its laser.

    mode: 3, 4 or 5, the last of M3, M4, M5. s: part of full power. report: called with the text of a remark;
    `violations` gets texts of powers above the range.
    """

    def __init__(self, profile: Profile, remark: Callable[[str], None], violate: Callable[[str], None]):
        self.profile, self.rules, self.remark, self.violate = profile, profile.rules, remark, violate
        self.mode, self.inline, self.fan, self.scale = 5, False, 0.0, 1.0
        self.s = 0.0 if self.rules.switches else profile.startup
        self.assumed = not self.rules.switches
        """True while no S was given, so that the power is that of the firmware's configuration."""
        self.analogue: float | None = None

    def take(
        self, ms: Collection[float], values: Mapping[str, float], used: MutableSet[str], inline: bool,
        moves: bool,
    ) -> bool:  # fmt: skip
        """Take the words of a line about the laser, and mark their letters as used.

        ms: the numbers of its M words. inline: it has a bare I. moves: it has a move. True if the head stops.
        """
        before, s = self.mode, self.s
        switched = [int(m) for m in ms if m in (3, 4, 5)]
        marlin = self.rules.follows == "I"
        if inline:
            self.inline = True
        if switched and not self.rules.switches:
            self.remark(
                "M3, M4 and M5 do not switch this laser: it is lit in G1 to G3 by S, and S counts in moves"
            )
            if "S" in values and not moves:
                used.add("S")
        elif switched:
            self.mode = switched[-1]
        self._take_fan(ms, values, used)
        self._take_outputs(ms, values, used)
        if "O" in values and marlin and switched:
            self.s, self.assumed = self._part_of_full(values["O"], FAN, "O"), False
            used |= {"O", "S"}
        elif "S" in values and "S" not in used:
            used.add("S")
            if self.rules.switches or moves:
                self.s, self.assumed = self._part_of_full(values["S"], self.profile.full_scale), False
            else:
                self.remark("S counts in moves alone")
        elif marlin and switched and self.mode != 5:
            self.s, self.assumed = self.profile.startup, True
        return self._stops(ms, before, s, moves)

    def _stops(self, ms: Collection[float], before: int, s: float, moves: bool) -> bool:
        if 400 in ms or 68 in ms:
            return True
        if not self.rules.switches:
            return False
        if self.rules.follows == "I":
            if self.mode == 5:
                inline, self.inline = self.inline, False
                return before != 5 and not inline
            return not self.inline and self.mode != before
        return self.mode != before or (self.s != s and not moves and self.mode != 5)

    def _take_fan(self, ms: Collection[float], values: Mapping[str, float], used: MutableSet[str]) -> None:
        if self.rules.follows != "I":
            return
        if 107 in ms:
            self.fan = 0.0
            used.add("P")
        if 106 in ms:
            self.fan = self._part_of_full(values.get("S", FAN), FAN)
            used |= {"S", "P"}

    def _take_outputs(
        self, ms: Collection[float], values: Mapping[str, float], used: MutableSet[str]
    ) -> None:
        if 221 in ms and not self.rules.switches:
            self.scale = values.get("S", 100.0) / 100.0
            used |= {"S", "P", "R"}
        if not {67, 68} & set(ms):
            return
        if values.get("E", 0.0) != 0.0:
            raise WordError(
                f"output 0 (E0) is taken as the laser's power, got 'E{values['E']:g}'; take it out"
            )
        if "Q" not in values:
            raise WordError("M67 has no value; write Q")
        self.analogue = self._part_of_full(values["Q"], self.profile.full_scale, "Q")
        used |= {"E", "Q"}

    def _part_of_full(self, value: float, full: float, letter: str = "S") -> float:
        """S as a part of full power."""
        if value < 0.0:
            raise WordError(f"{letter}: a power is at least 0, got {value:g}; correct it")
        if value > full * (1.0 + 1e-9):
            self.violate(f"{letter}: power above the range, got {value:g}; full power is {letter}{full:g}")
        return min(value / full, 1.0)

    def power(self, rapid: bool) -> tuple[float, bool]:
        """Power [W] of a move at its programmed speed, and whether it follows the speed."""
        most, follows = self.profile.power[1], self.rules.follows
        if self.fan > 0.0:
            return self.fan * most, False
        if self.analogue is not None:
            return self.analogue * most, False
        dark = rapid and (not self.rules.lit_rapids or self.inline)
        if dark or (self.rules.switches and self.mode == 5):
            return 0.0, False
        part = min(self.s * self.scale, 1.0)
        if part > 0.0 and self.assumed:
            self.remark(f"no S: {self.rules.firmware} takes {100.0 * self.s:g} % of full power; write S")
        dynamic = {
            "M4": self.mode == 4,
            "I": self.inline and self.profile.dynamic_power,
            "always": self.profile.dynamic_power,
            "never": False,
        }[follows]
        return part * most, dynamic

    @property
    def lit_at_rest(self) -> bool:
        """True if a head that stands is lit."""
        if not self.rules.switches:
            return False
        steady = self.mode == 3 or (self.mode == 4 and self.rules.follows == "never")
        return self.fan > 0.0 or bool(self.analogue) or (steady and self.s > 0.0)

    @property
    def dark(self) -> bool:
        """True if no move would be lit."""
        if not self.rules.switches:
            return True
        return not (self.fan > 0.0 or bool(self.analogue) or (self.mode in (3, 4) and self.s > 0.0))
