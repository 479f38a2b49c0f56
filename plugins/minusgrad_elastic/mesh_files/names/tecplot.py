"""The zone of a Tecplot file: one is read, and its title is the name of its cells.

meshlane reads the first zone and leaves out the others without a word.
"""

import re

from minusgrad.plugin import UserError

_ZONE = re.compile(r"(?im)^\s*ZONE\b")
_TITLE = re.compile(r"""(?is)\A\s*ZONE\b.*?\bT\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s,]+))""")


def zone_title(file: str, data: bytes) -> str | None:
    """The title of the zone, if it has one. Raises `UserError` for several zones."""
    text = data.decode("ascii", "replace")
    zones = [one.start() for one in _ZONE.finditer(text)]
    if len(zones) > 1:
        line = text.count("\n", 0, zones[1]) + 2
        raise UserError(
            f"'{file}', line {line}: has {len(zones)} zones, which share no nodes; save it as one zone, or"
            " each in a file of its own"
        )
    title = _TITLE.match(text[zones[0] : zones[0] + 2000]) if zones else None
    found = next((one for one in title.groups() if one), None) if title else None
    return found.strip() if found and found.strip() else None
