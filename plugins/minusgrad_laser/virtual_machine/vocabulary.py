"""Words that neither move nor light, and words that are refused by name, with their reasons.

What a controller would not know is not said here: a job for another firmware is refused as an unknown word,
where it would do something.

Decisions 0171.
"""

from ..machine.dialects import Dialect
from .words import WordError

IDLE = {
    ("G", 17), ("G", 40), ("G", 49), ("G", 54), ("G", 61), ("G", 80), ("G", 91.1), ("G", 94),
    ("M", 7), ("M", 8), ("M", 9),
}  # fmt: skip
"""Accepted without a word: the plane, no tool, the first coordinates, exact paths, air assist."""
REMARKED = {
    ("G", 50): "no scaling (G50) is no change", ("G", 64): "corners are replayed sharp: G64 may round them",
    ("G", 69): "no rotation (G69) is no change", ("G", 92.1): "no other origin (G92.1) is no change",
    ("G", 97): "turns of a spindle (G97) move nothing", ("G", 98): "ways back of drills (G98) move nothing",
    ("G", 99): "ways back of drills (G99) move nothing",
    ("M", 48): "overrides of speed (M48) are taken as 100 %",
}  # fmt: skip
REMARKED_BY_PRINTERS = {
    ("M", 17): "motors are on (M17)", ("M", 18): "motors are off (M18): the head may move by hand",
    ("M", 73): "progress (M73) moves nothing", ("M", 75): "timers (M75) move nothing",
    ("M", 77): "timers (M77) move nothing", ("M", 82): "the extruder (M82) moves nothing here",
    ("M", 83): "the extruder (M83) moves nothing here",
    ("M", 84): "motors are off (M84): the head may move by hand", ("M", 105): "reports (M105) move nothing",
    ("M", 110): "numbers of lines (M110) move nothing", ("M", 114): "reports (M114) move nothing",
    ("M", 115): "reports (M115) move nothing", ("M", 155): "reports (M155) move nothing",
    ("M", 300): "sounds (M300) move nothing",
}  # fmt: skip
"""Of Marlin and Smoothieware."""
REFUSED = {
    ("G", 10): "moves the origin", ("G", 18): "is a plane out of the field",
    ("G", 19): "is a plane out of the field", ("G", 30): "moves the head by a way that the file does not say",
    ("G", 38.2): "probes", ("G", 53): "is in the machine's own coordinates",
    ("G", 90.1): "gives centres of arcs in another way", ("G", 93): "gives feeds as inverse times",
    ("G", 95): "gives feeds for each turn of a spindle",
    ("M", 6): "changes a tool",
    ("M", 62): "switches an output that may be the laser's",
    ("M", 63): "switches an output that may be the laser's",
    ("M", 64): "switches an output that may be the laser's",
    ("M", 65): "switches an output that may be the laser's", ("M", 66): "waits for an input",
    ("M", 201): "changes the machine's limits", ("M", 203): "changes the machine's limits",
    ("M", 204): "changes the machine's limits", ("M", 205): "changes the machine's limits",
}  # fmt: skip
"""Why words are not replayed."""
SETTINGS = {
    "$": "lists of settings ($) move nothing", "$$": "lists of settings ($$) move nothing",
    "$#": "lists of settings ($#) move nothing", "$G": "lists of modes ($G) move nothing",
    "$I": "lists of options ($I) move nothing", "$N": "lists of lines ($N) move nothing",
    "$X": "unlocking ($X) moves nothing",
}  # fmt: skip
NUMBERED = {"$10", "$13", "$31", "$32"}
"""GRBL's settings of reports, and those of a laser, as replays assume them: $31=0, $32=1."""


def remark_of(letter: str, value: float, rules: Dialect) -> str | None:
    """What is said of a word that neither moves nor lights; None of another."""
    if letter == "T":
        return "no tool is changed by T"
    if letter == "E" and rules.separate_words:
        return "the extruder (E) moves nothing here"
    known = REMARKED | REMARKED_BY_PRINTERS if rules.separate_words else REMARKED
    return known.get((letter, value))


def setting_remark(setting: str, full_scale: float) -> str:
    """What is said of a line with a setting ($) of GRBL or FluidNC.

    Raises `WordError` for one that moves the head, or that is another than the profile's.
    """
    if remark := SETTINGS.get(setting):
        return remark
    if setting.startswith("$J="):
        raise WordError(f"a jog is no part of a job, got '{setting}'; write it as G0 or G1")
    key, _, value = setting.partition("=")
    kept = {"$30": f"{full_scale:g}", "$31": "0", "$32": "1"}
    if key in ("$10", "$13"):
        return f"settings of reports ({key}) move nothing"
    if key in kept:
        if _is_number(value, float(kept[key])):
            return f"{key} is as the machine's profile has it"
        cure = "give power_scale in the machine's profile" if key == "$30" else "take the line out"
        raise WordError(f"the replay is of {key}={kept[key]}, got '{setting}'; {cure}")
    raise WordError(f"settings of the controller are no part of a job, got '{setting}'; take the line out")


def _is_number(text: str, wanted: float) -> bool:
    try:
        return float(text) == wanted
    except ValueError:
        return False
