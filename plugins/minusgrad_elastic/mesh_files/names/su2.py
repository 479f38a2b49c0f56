"""Names of the markers of an SU2 file, which meshlane replaces by numbers.

    MARKER_TAG= wall      becomes      MARKER_TAG= 1

Its reader gets numbers, and the cells with number k the k-th name. Source: SU2, "Mesh File Format".
"""

import re

from minusgrad.plugin import UserError

TYPES = (3, 5, 9, 10, 12, 13, 14)
"""Types of elements of the format, by VTK's numbers: lines, triangles, ..., pyramids."""


def numbered_markers(file: str, data: bytes) -> tuple[bytes, dict[tuple[int, int], str]]:
    """The file with a number for each marker, and the names by dimension and number.

    Raises `UserError` for several zones and for types of elements that the format does not have.
    """
    text = re.sub(r"(?m)[ \t]*%.*$", "", data.decode("ascii", "replace"))
    text = re.sub(r"(?m)^[ \t]*([A-Z_]+)[ \t]*=[ \t]*", r"\1=", text)
    zones = re.search(r"(?m)^NZONE=(\d+)", text)
    if zones and int(zones[1]) > 1:
        raise UserError(f"'{file}': has {zones[1]} zones; save each zone in a file of its own")
    space = re.search(r"(?m)^NDIME=(\d)", text)
    names: list[str] = []

    def number(one: re.Match) -> str:
        names.append(one[1].strip())
        return f"MARKER_TAG={len(names)}\n"

    text = re.sub(r"(?m)^MARKER_TAG=(.*)$\n?", number, text)
    text = re.sub(r"(?m)^(SEND_RECV|NCHUNK|NPERIODIC|PERIODIC_\w+|AOA|AOS|ANGLE_\w+)=.*$\n?", "", text)
    _check_types(file, text)
    return text.encode("ascii", "replace"), {
        (int(space[1]) - 1 if space else 0, k): name for k, name in enumerate(names, 1)
    }


def _check_types(file: str, text: str) -> None:
    lines = text.split("\n")
    for at, line in enumerate(lines):
        count = re.match(r"(?:NELEM|MARKER_ELEMS)=(\d+)", line)
        for row in range(at + 1, at + 1 + int(count[1])) if count else ():
            kind = lines[row].split()[:1] if row < len(lines) else []
            if not kind or not kind[0].isdigit():
                raise UserError(f"'{file}': {line} announces {count and count[1]} rows; it is cut off")
            if int(kind[0]) not in TYPES:
                raise UserError(
                    f"'{file}', line {row + 1}: elements of VTK's type {kind[0]} are not read; SU2 has lines,"
                    " triangles, quadrilaterals, tetrahedra, hexahedra, wedges and pyramids of order 1"
                )
