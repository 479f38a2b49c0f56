"""Names of files that every system holds beside each other: Windows and macOS ignore capitals, Windows
keeps some names.

Source: Microsoft, Naming Files, Paths, and Namespaces. Decisions 0140.

Decisions 0140.
"""

from collections.abc import Iterable

RESERVED = frozenset(
    {"aux", "con", "nul", "prn", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)
"""Names of devices on Windows, whatever follows a dot."""


def distinct(stems: Iterable[str]) -> list[str]:
    """The names in their order, with `_` behind those that are a device's or differ from one before by
    capitals alone."""
    taken: set[str] = {*RESERVED}
    found = []
    for stem in stems:
        while stem.partition(".")[0].lower() in RESERVED or stem.lower() in taken:
            head, dot, rest = stem.partition(".")
            stem = f"{head}_{dot}{rest}"
        taken.add(stem.lower())
        found.append(stem)
    return found
