"""Docstrings for Sphinx: ours are plain text with indented blocks and `names`; here they become reST.

An indented block is shown as it stands (code, a formula, a table), everything else is a paragraph in which
`names` are literals and no character has a meaning of its own. Arguments have an entry each, wherever they
are described: in a table ("steps   those of the run"), or in sentences ("steps: of the run. out: a folder.").
One that is described nowhere has its type and its default.
"""

import inspect
import re
from collections.abc import Collection, Mapping
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
    known = parameters(obj)
    lines[:] = restructured(lines, known, known)


def parameters(described: object) -> dict[str, str]:
    """The type and the default of each argument of a function or a class, by name; else nothing."""
    try:
        found = inspect.signature(described).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {}
    return {name: _typed(one) for name, one in found.items() if name != "self" and one.kind not in SEVERAL}


SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _typed(one: inspect.Parameter) -> str:
    """`float`, default `1.0`: the type without modules and conditions."""
    parts = []
    if one.annotation is not one.empty:
        written = (
            one.annotation if isinstance(one.annotation, str) else inspect.formatannotation(one.annotation)
        )
        parts.append(f"`{re.sub(r'(?:[a-z_]+[.])+(?=[A-Za-z])', '', bare(written))}`")
    if one.default is not one.empty:
        parts.append(f"default `{bare(repr(one.default)) or repr('')}`")
    return ", ".join(parts) or "required"


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


ROW = re.compile(r"(\w+(?:, \w+)*) {2,}(\S.*)")
RESULTS = re.compile(r"(?<=\. )(?=(?:Raises|Returns|It raises) )")


def restructured(
    lines: list[str], names: Collection[str] = (), types: Mapping[str, str] | None = None
) -> list[str]:
    """The lines of a docstring, without its common indentation, as reST.

    names: of arguments. types: what is said of those that are described nowhere, in the order of all.
    """
    out: list[str] = []
    for filled, run in groupby(lines, key=lambda line: bool(line.strip())):
        block = list(run)
        entries = (_rows(block, names) or _sentences(block, names)) if filled and names else []
        out += entries or block
    return _shown(_completed(out, types) if types else out)


def _completed(lines: list[str], types: Mapping[str, str]) -> list[str]:
    """The lines with one list of all arguments, where the first is described or else at the end."""
    places = [k for k, line in enumerate(lines) if line.startswith(":param ")]
    said = {lines[k].split(":")[1].removeprefix("param "): lines[k] for k in places}
    every = [said.get(name, f":param {name}: {text}") for name, text in types.items()]
    place = places[0] if places else len(lines)
    before, after = lines[:place], [line for line in lines[place:] if not line.startswith(":param ")]
    return [*before, "", *every, "", *after]


def _rows(block: list[str], names: Collection[str]) -> list[str]:
    """The entries of a table of arguments; none if the block is something else."""
    found: list[tuple[str, str]] = []
    for line in block:
        if (row := ROW.fullmatch(line)) and {*row[1].split(", ")} <= {*names}:
            found.append((row[1], row[2]))
        elif found and line.startswith("  "):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        else:
            return []
    return _entries(found)


def _sentences(block: list[str], names: Collection[str]) -> list[str]:
    """The entries of arguments that sentences describe, between what stands before and behind them."""
    if any(line.startswith(" ") for line in block):
        return []
    text = " ".join(block)
    name = f"(?:{'|'.join(map(re.escape, names))})"
    parts = re.split(rf"(?:^|(?<=[.;)] ))({name}(?:, {name})*(?: \([^()]*\))?): ", text)
    if len(parts) < 3:
        return []
    before, described = parts[0].strip(), list(zip(parts[1::2], parts[2::2], strict=True))
    last, *behind = RESULTS.split(described[-1][1], maxsplit=1)
    described[-1] = (described[-1][0], last)
    return [*([before] if before else []), *_entries(described), *behind]


def _entries(found: list[tuple[str, str]]) -> list[str]:
    """`:param name: meaning`, for each name of a row one."""
    every = []
    for of, text in found:
        names, bracket, kind = of.partition(" (")
        every += [f":param {name}: {bracket.strip()}{kind} {text.strip()}" for name in names.split(", ")]
    every = [re.sub(" {2,}", " ", line) for line in every]
    return ["", *every, ""]


def _shown(lines: list[str]) -> list[str]:
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
    if entry := re.match(r":param \w+: ", line):
        return entry[0] + paragraph(line[entry.end() :])
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
