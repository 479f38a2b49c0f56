"""Docstrings for Sphinx: ours are plain text with indented blocks and `names`; here they become reST.

An indented block is shown as it stands (code, a formula, a table of arguments), everything else is a
paragraph in which `names` are literals and no character has a meaning of its own.
"""

import re
from itertools import groupby

from sphinx.application import Sphinx

SPECIAL = re.compile(r"([\\*|_`])")
LITERAL = re.compile(r"(`+)([^`]+)\1")


def setup(app: Sphinx) -> dict[str, bool]:
    """Convert every docstring that autodoc reads."""
    app.connect("autodoc-process-docstring", _convert)
    app.connect("autodoc-process-signature", _bare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _convert(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def _bare(app: Sphinx, what: str, name: str, obj: object, options: object, signature: str, returns: str):
    return bare(signature) if signature else signature, returns


def bare(signature: str) -> str:
    """A signature without the conditions of its types: Annotated[float, Ge(0)] is float."""
    while (begin := signature.find("Annotated[")) >= 0:
        start = begin + len("Annotated[")
        depth, comma, end = 0, 0, start
        for end in range(start, len(signature)):
            depth += (signature[end] in "[(") - (signature[end] in "])")
            if depth < 0:
                break
            if signature[end] == "," and not depth and not comma:
                comma = end
        signature = signature[:begin] + signature[start : comma or end] + signature[end + 1 :]
    return re.sub(r"<\w[^<>]*(?:<[^<>]*>)?[^<>]*>", "...", signature).replace("| None | None", "| None")


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring, without its common indentation, as reST."""
    out: list[str] = []
    for shown, run in groupby(_marked(lines), key=lambda pair: pair[0]):
        block = [line for _, line in run]
        if shown:
            out += ["", ".. code-block:: text", "", *("   " + line for line in block), ""]
        else:
            out += [paragraph(line) for line in _listed(block)]
    return out


ITEM = re.compile(r"\w+: .*[.)]$")


def _listed(lines: list[str]) -> list[str]:
    """Lines "name: meaning." that follow one another are items of a list, with blank lines around."""
    out: list[str] = []
    for items, run in groupby(lines, key=lambda line: ITEM.match(line) is not None):
        block = list(run)
        out += ["", *(f"* {line}" for line in block), ""] if items and len(block) > 1 else block
    return out


def _marked(lines: list[str]) -> list[tuple[bool, str]]:
    """Each line with whether it is part of a block to show as it stands.

    That is an indented line, a line of a table of arguments ("name   what it is"), and blank lines between
    two of them.
    """
    marks = [bool(re.match(r"\s+\S|[\w., ]{1,24}\S {2,}\S", line)) for line in lines]
    for k, line in enumerate(lines):
        if not line.strip() and k and marks[k - 1]:
            following = next((i for i in range(k, len(lines)) if lines[i].strip()), k)
            marks[k] = marks[following]
    return list(zip(marks, lines, strict=True))


def paragraph(line: str) -> str:
    """A line of text: `names` as literals, other special characters escaped."""
    parts, end = [], 0
    for found in LITERAL.finditer(line):
        parts += [SPECIAL.sub(r"\\\1", line[end : found.start()]), f"``{found[2]}``"]
        end = found.end()
        if line[end : end + 1].isalnum():
            parts.append("\\ ")
    text = "".join([*parts, SPECIAL.sub(r"\\\1", line[end:])])
    if text.startswith("\\* "):
        return text[1:]
    return re.sub(r"^(\s*)([+-]|\d+\.|\.\.)(?=\s)", r"\1\\\2", text)
