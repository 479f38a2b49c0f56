"""Included files: GROMACS topologies with their #include lines resolved, and those of OpenMM's force fields.

A topology becomes one list of active lines, each with its file and number: #include is replaced by the lines
of the file, and #ifdef, #ifndef, #else and #endif by those of the branch that is taken. #define and #undef
stay, so that OpenMM replaces macros. An included file lies beside the file that includes it, or in the folder
`include`; it is read as every file of a scene is, never from GROMACS' own folder of another place.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from minusgrad.plugin import UserError, printable

Read = Callable[[str], bytes]
"""The bytes of a file by its name; raises `UserError` where there is none."""
DEEPEST, LONGEST = 32, 5_000_000
"""Files within one another, and lines of all together."""
_INCLUDED = re.compile(rb"""<Include\s+file\s*=\s*["']([^"'<]*)""")
BRANCHES = ("#ifdef", "#ifndef", "#else", "#endif")


@dataclass
class ActiveLines:
    """The lines that count, and of each its file, as a number in `files`, and its number there from 1."""

    texts: list[str] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def active_lines(
    file: str, data: bytes, bytes_of: Read, include: str | None, defines: Mapping[str, str]
) -> ActiveLines:
    """The lines of a topology and of the files that it includes.

    include: a folder of included files. defines: macros that are defined at the beginning. Raises `UserError`
    with the file and the line for a file that is not there, for includes without end, for branches that are
    not closed, and for other words of the preprocessor.
    """
    reader = _Preprocessor(bytes_of, include, defines)
    reader.take_file(file, data, 0)
    return reader.found


class _Preprocessor:
    def __init__(self, bytes_of: Read, include: str | None, defines: Mapping[str, str]):
        self.bytes_of, self.include = bytes_of, include
        self.known: set[str] = set(defines)
        self.found = ActiveLines()

    def take_file(self, file: str, data: bytes, depth: int) -> None:
        """Append the active lines of a file."""
        index = len(self.found.files)
        self.found.files.append(file)
        branches: list[tuple[bool, bool, int]] = []  # taken, behind #else, line
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            where = f"'{printable(file)}': line {number}"
            words = line.split(";")[0].split()
            if words and words[0] == "#" and len(words) > 1:  # "# include"
                words = ["#" + words[1], *words[2:]]
            word = words[0] if words else ""
            if word in BRANCHES:
                self._take_branch(where, number, words, branches)
            elif not all(taken for taken, _, _ in branches):
                continue
            elif word == "#include":
                self._take_include(where, file, line, depth)
            elif word.startswith("#") and word not in ("#define", "#undef"):
                raise UserError(
                    f"{where}: {printable(word)} is not supported; use #ifdef, #ifndef, #else, #endif,"
                    " #define, #undef or #include"
                )
            else:
                if word.startswith("#"):
                    self._note_define(where, words)
                    line = "#" + line.split("#", 1)[1].lstrip()
                self.found.texts.append(line)
                self.found.places.append((index, number))
                if len(self.found.texts) > LONGEST:
                    raise UserError(
                        f"{where}: the included files have more than {LONGEST} lines; include less"
                    )
        if branches:
            raise UserError(
                f"'{printable(file)}': line {branches[-1][2]}: #ifdef without #endif in this file; add one"
            )

    def _take_branch(
        self, where: str, number: int, words: list[str], branches: list[tuple[bool, bool, int]]
    ) -> None:
        word = words[0]
        if word in ("#ifdef", "#ifndef"):
            if len(words) < 2:
                raise UserError(f"{where}: {word} needs a name, got none; write one")
            branches.append(((words[1] in self.known) == (word == "#ifdef"), False, number))
            return
        if not branches or (word == "#else" and branches[-1][1]):
            raise UserError(f"{where}: {word} without its #ifdef; remove it, or write the #ifdef")
        taken, _, begin = branches.pop()
        if word == "#else":
            branches.append((not taken, True, begin))

    def _note_define(self, where: str, words: list[str]) -> None:
        if len(words) < 2:
            raise UserError(f"{where}: {words[0]} needs a name, got none; write one")
        (self.known.add if words[0] == "#define" else self.known.discard)(words[1])

    def _take_include(self, where: str, file: str, line: str, depth: int) -> None:
        name = line.split("include", 1)[1].split(";")[0].strip(' \t"<>')
        if depth >= DEEPEST:
            raise UserError(
                f"{where}: files include one another more than {DEEPEST} deep; remove the #include that"
                " closes the circle"
            )
        tried = [posixpath.join(posixpath.dirname(file), name)]
        tried += [] if self.include is None else [posixpath.join(self.include, name)]
        for one in map(posixpath.normpath, tried):
            try:
                data = self.bytes_of(one)
            except UserError:
                continue
            self.take_file(one, data, depth + 1)
            return
        raise UserError(f"{where}: {_missing_include(name, self.include)}")


def _missing_include(name: str, include: str | None) -> str:
    """What is wrong, and the cure, for a file that is not there."""
    folder = printable(name.split("/")[0])
    what = f"the folder {folder}" if "/" in name else f"the file {folder}"
    searched = "beside it" if include is None else f"beside it or in '{printable(include)}'"
    return (
        f'#include "{printable(name)}" must be there, got no such file {searched}; copy {what} to the scene'
        " (GROMACS has its force fields in share/gromacs/top), and name the folder that has it as `include`"
    )


def force_field_files(names: Iterable[str], bytes_of: Read) -> dict[str, bytes]:
    """The force-field files beside the scene, with those that they include, by name; others are OpenMM's.

    Raises `UserError` for names outside the scene's folder, and for files that declare entities.
    """
    found: dict[str, bytes] = {}
    waiting = list(names)
    while waiting:
        name = posixpath.normpath(waiting.pop())
        if posixpath.isabs(name) or name.startswith("..") or "\\" in name or ":" in name:
            raise UserError(
                f"force_field: '{printable(name)}' lies outside the scene's folder; copy it there"
            )
        if name in found:
            continue
        try:
            found[name] = bytes_of(name)
        except UserError:  # OpenMM has it, or says that it has none
            continue
        waiting += [
            one for inner in _included_names(name, found[name])
            for one in (inner, posixpath.join(posixpath.dirname(name), inner))
        ]  # fmt: skip
    return found


def _included_names(name: str, data: bytes) -> list[str]:
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise UserError(f"'{name}': must have no document type declaration, got one; remove it")
    return [one.decode("utf-8", "replace") for one in _INCLUDED.findall(data)]
