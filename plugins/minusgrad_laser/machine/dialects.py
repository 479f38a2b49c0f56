"""What the firmware of a controller makes of the words of a job: one row for each.

Sources: GRBL 1.1, its wiki ("Laser Mode") and its parser; FluidNC, its laser spindle; Marlin 2.1, its G-code
reference and its M3-M5; Smoothieware, its modules laser and robot; LinuxCNC, its G-code reference (M3, M67,
G4, G61, G64).

Decisions 0171.
"""

from dataclasses import dataclass
from typing import Literal

Name = Literal["grbl", "fluidnc", "marlin", "smoothieware", "linuxcnc"]


@dataclass(frozen=True)
class Dialect:
    """The rules of one firmware."""

    firmware: str
    full_scale: float | None
    """S of full power; None: the machine's own, which its profile has to give."""
    switches: bool = True
    """M3, M4 and M5 switch the laser; false: it is lit in G1 to G3 alone, by S."""
    lit_rapids: bool = False
    """G0 is as lit as other moves."""
    follows: Literal["M4", "I", "always", "never"] = "M4"
    """When the power is scaled by the actual speed: in M4, after M3 I, always, or never."""
    startup: float = 0.0
    """Part of full power without any S: of Marlin for each M3, of Smoothieware until the first S."""
    dwell: float = 1.0
    """Seconds of P1 in G4."""
    scaled_by_feed: bool = False
    """Actual over programmed speed scales the power; false: over the one that was planned."""
    first_level: bool = False
    """The least power above 0 is the first level of the digital value, whatever S."""
    feed_in_rapids: bool = False
    """G0 goes at the speed of F."""
    separate_words: bool = False
    """Blanks separate words; false: they are nothing, also within a number."""
    checksums: bool = False
    """Lines may end with a checksum."""
    ignored_slash: bool = False
    """A line behind / is executed; false: whether it is, a switch of the controller says."""
    outputs: bool = False
    """M67 and M68 set the power by an analogue output."""
    end: Literal["resets", "stops", "nothing"] = "nothing"
    """M2: sets modes back and goes on, ends the job, or does nothing."""


DIALECTS: dict[str, Dialect] = {
    "grbl": Dialect(
        "GRBL", 1000.0, scaled_by_feed=True, first_level=True, ignored_slash=True, end="resets"
    ),
    "fluidnc": Dialect("FluidNC", 255.0, scaled_by_feed=True, ignored_slash=True, end="resets"),
    "marlin": Dialect(
        "Marlin", 255.0, lit_rapids=True, follows="I", startup=0.8, dwell=1e-3, feed_in_rapids=True,
        separate_words=True, checksums=True,
    ),
    "smoothieware": Dialect(
        "Smoothieware", 1.0, switches=False, follows="always", startup=0.8, dwell=1e-3,
        separate_words=True, checksums=True,
    ),
    "linuxcnc": Dialect(
        "LinuxCNC", None, lit_rapids=True, follows="never", outputs=True, end="stops"
    ),
}  # fmt: skip
