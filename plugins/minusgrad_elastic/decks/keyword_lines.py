"""Blocks of a deck in the manner of Abaqus: a keyword line and the data lines after it.

    *Keyword, parameter=value, parameter
    1., 2., 3.

`**` begins a comment. Capitals and blanks do not count, but in quotes; a keyword line that ends with a comma
goes on in the next line. Source: Abaqus Analysis User's Guide, "Input syntax rules".
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from minusgrad.plugin import UserError, printable


@dataclass
class Keyword:
    """A keyword without blanks, in capitals; parameters by name in capitals; data: line number and text."""

    file: str
    name: str
    shown: str
    line: int
    parameters: dict[str, str]
    data: list[tuple[int, str]] = field(default_factory=list)

    def fail(self, what: str, line: int | None = None) -> NoReturn:
        """Raise a `UserError` with file, line and keyword."""
        where = f"'{self.file}', line {self.line if line is None else line}"
        raise UserError(f"{where}: {printable(self.shown)}: {what}")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and fields of each data line; after a comma at its end the last one is empty."""
        for line, text in self.data:
            yield line, [word.strip() for word in text.split(",")]

    def numbers(self, line: int, fields: list[str]) -> list[float]:
        """Fields as numbers; an empty one is 0, as in Abaqus."""
        try:
            return [float(word.replace("D", "E").replace("d", "e")) if word else 0.0 for word in fields]
        except ValueError:
            self.fail(f"must be numbers, got '{printable(', '.join(fields), 60)}'; save it again", line)


def text_of(data: bytes) -> str:
    """The text of a deck; one that is no UTF-8 is in the code page of Windows, as accented names are."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def keyword_blocks(file: str, text: str) -> Iterator[Keyword]:
    """The blocks of a deck, in their order. Raises `UserError` for data before the first keyword."""
    block: Keyword | None = None
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        bare = line.strip()
        if not bare or bare.startswith("**"):
            continue
        if not bare.startswith("*"):
            if block is None:
                said = printable(bare, 40)
                raise UserError(f"'{file}', line {number}: must begin with a keyword (*Node), got '{said}'")
            block.data.append((number, bare))
            continue
        if block is not None:
            yield block
        while bare.endswith(","):
            bare += _continuation(lines)
        block = _keyword_of(file, number, bare)
    if block is not None:
        yield block


def _continuation(lines: Iterator[tuple[int, str]]) -> str:
    """The next line of a keyword line that ends with a comma; comments between do not count."""
    for _, line in lines:
        if not line.strip().startswith("**"):
            return line.strip() or " "
    return " "


def _keyword_of(file: str, number: int, line: str) -> Keyword:
    name, *words = split_quoted(line)
    parameters = {}
    for word in words:
        key, _, value = word.partition("=")
        if key := "".join(key.split()).upper():
            parameters[key] = value.strip().strip('"')
    return Keyword(file, "".join(name[1:].split()).upper(), name.strip(), number, parameters)


def split_quoted(line: str) -> list[str]:
    """The parts between commas that do not stand in quotes."""
    if '"' not in line:
        return line.split(",")
    parts, quoted = [""], False
    for letter in line:
        quoted ^= letter == '"'
        if letter == "," and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def listed_names(text: str) -> frozenset[str]:
    """Names between commas, without blanks."""
    return frozenset("".join(name.split()) for name in text.split(","))


def label(name: str) -> str:
    """The key of a name: capitals, quotes and blanks around it do not count."""
    return name.strip().strip('"').strip().upper()
