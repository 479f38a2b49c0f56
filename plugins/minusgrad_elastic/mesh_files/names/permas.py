"""What meshlane loses of a PERMAS model: files with sets, which it does not hand on, are refused by name.

So are elements of order 2, for whose nodes it has an order without a source.
"""

import re

from minusgrad.plugin import UserError

_SET = re.compile(r"(?im)^\s*\$(NSET|ESET|SFSET)\b[^\n]*?NAME\s*=\s*(\S+)|^\s*\$(NSET|ESET|SFSET)\b")
_OF_ELEMENTS = re.compile(r"(?im)^\s*\$ELEMENT\b[^\n]*\bESET\s*=\s*(\S+)")


_ORDER_2 = re.compile(r"(?im)^\s*\$ELEMENT\s+TYPE\s*=\s*(HEXE2\d|TET10|PENTA15|TRIMS6|QUAMS[89]|\w*A[689])\b")


def refuse_sets(file: str, data: bytes) -> None:
    """Raise `UserError` for a file with sets of nodes or elements, or elements of order 2."""
    text = data.decode("ascii", "replace")
    if found := _ORDER_2.search(text):
        raise UserError(f"'{file}': elements {found[1]} of order 2 are not read; convert it to MSH or Abaqus")
    if found := _SET.search(text) or _OF_ELEMENTS.search(text):
        line = text.count("\n", 0, found.start()) + 1 + (text[found.start()] == "\n")
        raise UserError(
            f"'{file}', line {line}: sets of PERMAS are not read; convert it with them, to MSH or Abaqus"
        )
