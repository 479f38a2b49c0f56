"""Sets of a PERMAS model, which meshlane reads and does not hand on: files with sets are refused by name."""

import re

from minusgrad.plugin import UserError

_SET = re.compile(r"(?im)^\s*\$(NSET|ESET|SFSET)\b[^\n]*?NAME\s*=\s*(\S+)|^\s*\$(NSET|ESET|SFSET)\b")
_OF_ELEMENTS = re.compile(r"(?im)^\s*\$ELEMENT\b[^\n]*\bESET\s*=\s*(\S+)")


def refuse_sets(file: str, data: bytes) -> None:
    """Raise `UserError` for a file with sets of nodes or elements."""
    text = data.decode("ascii", "replace")
    if found := _SET.search(text) or _OF_ELEMENTS.search(text):
        line = text.count("\n", 0, found.start()) + 1 + (text[found.start()] == "\n")
        raise UserError(
            f"'{file}', line {line}: sets of PERMAS are not read; convert it with them, to MSH or Abaqus"
        )
