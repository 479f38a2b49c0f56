"""Lines of text as runs of one script each, which a font can set.

Without HarfBuzz only scripts are set whose letters neither join nor move: others are refused by name.
"""

import unicodedata
from dataclasses import dataclass

from minusgrad.plugin import UserError, printable

JOINED = frozenset(("Arab", "Syrc", "Mong", "Mand", "Nkoo", "Adlm", "Rohg", "Sogd", "Chrs", "Phag"))
"""Scripts whose letters join, so that no space fits between them."""
PLAIN = frozenset(
    ("Latn", "Grek", "Cyrl", "Armn", "Geor", "Hani", "Hira", "Kana", "Bopo", "Hang", "Zyyy", "Cher", "Runr")
)
"""Scripts whose letters stand side by side (ISO 15924; Zyyy: common to all)."""
MOST_CHARACTERS = 10_000


@dataclass(frozen=True)
class Run:
    """Characters of one script; whether they run from the right to the left."""

    text: str
    script: str
    is_leftward: bool


def split_lines(text: str) -> list[str]:
    """The lines of a text, normalised (NFC). Raises `UserError` for what no line can have."""
    if len(text) > MOST_CHARACTERS:
        raise UserError(f"text: has {len(text):,} characters; give {MOST_CHARACTERS:,} at most")
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").split("\n")
    if not any(line.strip() for line in lines):
        raise UserError(f"text: needs letters, got '{printable(text[:40])}'")
    for one in "".join(lines):
        if unicodedata.category(one) in ("Cc", "Cs", "Co", "Cn"):
            raise UserError(f"text: has the character U+{ord(one):04X}, which no letter shows; take it out")
    return lines


def split_runs(line: str, shaped: bool, spaced: bool) -> list[Run]:
    """The runs of a line. shaped: HarfBuzz sets them; spaced: letters stand farther apart than they do.

    Raises `UserError` for directions that mix, and for scripts that cannot be set so.
    """
    kinds = {unicodedata.bidirectional(one) for one in line}
    is_leftward = bool(kinds & {"R", "AL"})
    if is_leftward and kinds & {"L", "EN", "AN"}:
        raise UserError(
            f"text: '{printable(line[:40])}' runs in both directions; give each part a line of its own"
        )
    found: list[Run] = []
    for one in line:
        script = character_script(one)
        if not shaped and (script not in PLAIN or unicodedata.combining(one)):
            raise UserError(
                f"text: '{one}' (U+{ord(one):04X}) is of a script whose letters join or move; set kerning ="
                " true, which takes HarfBuzz"
            )
        if spaced and script in JOINED:
            raise UserError(
                f"text: letter_spacing would tear apart '{one}' (U+{ord(one):04X}) and its neighbour, which"
                " join; leave it out"
            )
        if found and (script in ("Zyyy", "Zinh", found[-1].script) or found[-1].script == "Zyyy"):
            kept = found[-1].script if script in ("Zyyy", "Zinh") else script
            found[-1] = Run(found[-1].text + one, kept, is_leftward)
        else:
            found.append(Run(one, "Zyyy" if script == "Zinh" else script, is_leftward))
    return found[::-1] if is_leftward else found


def character_script(character: str) -> str:
    """As ISO 15924 names it."""
    from fontTools.unicodedata import script

    return str(script(character))
