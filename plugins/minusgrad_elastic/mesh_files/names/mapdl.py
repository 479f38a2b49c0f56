"""Commands of Ansys MAPDL that meshlane passes over in a .cdb file: refused by name where they make a mesh.

It reads blocks (NBLOCK, EBLOCK, CMBLOCK). Single nodes and elements, components by selection and further
files would be missing without a word.
"""

import re

from minusgrad.plugin import UserError

_COMMAND = re.compile(r"(?im)^[ \t]*(N|E|EN|EMORE|NGEN|EGEN|NROTAT|CM|NSYM|ESYM|/INPUT|CDREAD|\*USE)[ \t]*,")


def refuse_commands(file: str, data: bytes) -> None:
    """Raise `UserError` for a command that adds to the mesh, with its line."""
    text = data.decode("latin-1")
    for found in _COMMAND.finditer(text):
        word, rest = found[1].upper(), text[found.end() : found.end() + 20]
        if word == "N" and re.match(r"\s*R5\.3", rest):  # the end of an NBLOCK
            continue
        line = text.count("\n", 0, found.start()) + 1
        raise UserError(
            f"'{file}', line {line}: the command {word} is not read; write the mesh by CDWRITE,DB"
        )
