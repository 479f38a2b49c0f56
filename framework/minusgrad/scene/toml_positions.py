"""Line and column of every key in a TOML text.

    [[energy]]            ("energy",), ("energy", 0) -> (1, 3)
    kind = "gravity"      ("energy", 0, "kind")      -> (2, 1), with values=True (2, 8)

Lines and columns count characters from 1. The text must be valid TOML already (tomllib has read it): this
reads only enough of the grammar (toml.io/en/v1.0.0) to walk over it.
"""

import re
import tomllib
from bisect import bisect_right

KeyPath = tuple[str | int, ...]

# Strings end at the latest with the line or the text, so that no hostile text makes the search quadratic.
MULTI_LINE = r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)' + r"|'''.*?(?:'{3,5}|\Z)"
KEY = r'(?:[A-Za-z0-9_-]++|"(?:\\.|[^"\\\n])*+"?+' + r"|'[^'\n]*+'?+)"

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*+")
_STRING = re.compile(f"{MULTI_LINE}|{KEY}", re.DOTALL)
_BARE = re.compile(r"[^,\]}\r\n#]++")
_KEY = re.compile(rf"[ \t]*+({KEY})[ \t]*+([.=\]]?)")


def index(text: str, values: bool = False) -> dict[KeyPath, tuple[int, int]]:
    """(line, column) of every table, key and array element; with `values`, of the values."""
    walk = _Walk(text)
    walk.document()
    starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
    offsets = walk.keys | walk.values if values else walk.keys

    def place(offset: int) -> tuple[int, int]:
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    return {path: place(offset) for path, offset in offsets.items()}


class _Walk:
    """One pass over the text, remembering the offset of each key and of each value."""

    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.keys: dict[KeyPath, int] = {}
        self.values: dict[KeyPath, int] = {}
        self.counts: dict[KeyPath, int] = {}

    def document(self) -> None:
        table: KeyPath = ()
        while self.peek():
            if self.peek() == "[":
                table = self.header()
            else:
                self.pair(table)

    def peek(self) -> str:
        """The next character that is not blank or comment; empty at the end."""
        self.at = self.skip(_BLANK)
        return self.text[self.at : self.at + 1]

    def skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        return found.end() if found else self.at

    def read_dotted_path(self, path: KeyPath) -> tuple[KeyPath, int]:
        """Read `a."b".c`: returns the whole path and the offset of its last part."""
        while True:
            found = _KEY.match(self.text, self.at)
            assert found, "index() needs text that tomllib has read"
            path, self.at = (*path, key_name(found[1])), found.end()
            if found[2] != ".":
                return path, found.start(1)
            self.keys.setdefault(path, found.start(1))
            if path in self.counts:
                path = (*path, self.counts[path] - 1)

    def header(self) -> KeyPath:
        """`[table]` or `[[array of tables]]`."""
        many = self.text.startswith("[[", self.at)
        self.at += 1 + many
        path, place = self.read_dotted_path(())
        self.at += many
        if many:
            self.keys.setdefault(path, place)
            self.counts[path] = self.counts.get(path, 0) + 1
            path = (*path, self.counts[path] - 1)
        self.keys[path] = place
        return path

    def pair(self, table: KeyPath) -> None:
        """`key = value`."""
        path, self.keys[path] = self.read_dotted_path(table)
        self.peek()
        self.values[path] = self.at
        self.value(path)

    def value(self, path: KeyPath) -> None:
        opening = self.peek()
        if opening == "[":
            self.members(path, "]")
        elif opening == "{":
            self.members(path, "}")
        else:
            self.at = self.skip(_STRING if opening in "\"'" else _BARE)

    def members(self, path: KeyPath, closing: str) -> None:
        """The elements of an array, or the pairs of an inline table."""
        self.at, number = self.at + 1, 0
        while (upcoming := self.peek()) != closing:
            if upcoming == ",":
                self.at += 1
            elif closing == "}":
                self.pair(path)
            else:
                self.keys[(*path, number)] = self.at
                self.value((*path, number))
                number += 1
        self.at += 1


def key_name(key: str) -> str:
    """The name of a bare or quoted key."""
    if key[0] == '"':
        return next(iter(tomllib.loads(f"{key} = 0")))
    return key[1:-1] if key[0] == "'" else key
