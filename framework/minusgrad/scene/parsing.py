"""Parsing of scene files and overrides (`gravity.G=2.0`) into plain data, with limits on size and depth.

Limits are checked before parsing: a 200 kB key of 100,000 dotted parts exhausts the memory of tomllib.
Afterwards tables nest at most 32 deep, whole numbers fit 64 bits, and there are no dates, infinities or NaN.
"""

import math
import re
import tomllib
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import Problem, SceneError, UserError, printable, suggestion
from .addresses import NamedTables, name_of, names_in, path_of, with_joined_names
from .input_files import refuse_special
from .toml_positions import KEY, MULTI_LINE, KeyPath, index, key_name

MOST_BYTES = 1_000_000
TOO_LONG = "has more than 1 MB; put large data into a file that the scene names"
MOST_PARTS = 32
_MOST_FILES = 1000
_LISTED = 5
"""So many scenes of a folder are named in a message."""
_MOST_DIGITS = 4000
"""Limit on the digits of one number; Python's own is 4,300."""

_DOT = r"[ \t]*+\.[ \t]*+"
_TOKEN = re.compile(
    rf"{MULTI_LINE}|\#[^\n]*+|(?P<long>{KEY}(?:{_DOT}{KEY}){{{MOST_PARTS},}}+)|{KEY}"
    r"|(?P<open>[\[{])|(?P<close>[\]}])",
    re.DOTALL,
)
_KEYS = re.compile(rf"[ \t]*+{KEY}(?:{_DOT}{KEY})*+[ \t]*+")
_KEY = re.compile(KEY)
_DIGITS = re.compile(r"[-_0-9]*+")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_BARE = re.compile(r"[A-Za-z_][\w.-]*")
_PLAIN = re.compile(r"[^\s\"'\[\]{}=#,][^\"'\[\]{}=#]*")
"""The right side of an override that needs no quotes, as a shell leaves it: `2 fs`, `data/start.csv`."""
_POINTED = re.compile(r"[+-]?(?:\d+\.|\.\d+)(?:[eE][+-]?\d+)?")
"""Numbers with nothing on one side of their point, which TOML does not have: `.5`."""
_WORDS = dict.fromkeys(("None", "null", "nil"), "TOML has no empty value; leave the key out")
_WORDS |= {word: f"write {word.lower()}, in lower case" for word in ("True", "False", "TRUE", "FALSE")}
_QUOTES = "a value with a unit stands in quotes"
_LONGEST = 40
"""Characters of a number, or of a unit, that messages quote."""
_NUMBER_BEFORE = re.compile(r"(?<=[=\[,\s])([-+]?[\d.]+(?:[eE][-+]?\d+)?)[ \t]*$")
_UNIT_WORD = r"[^\W\d_][^\s#,\]}=]*"
_UNIT = re.compile(rf"[ \t]*((?:[°%]|{_UNIT_WORD})(?: {_UNIT_WORD})*)[ \t]*(?=$|[#,\]}}])")
"""What may be a unit, up to the end of a value."""
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read(path: Path) -> bytes:
    """The file's bytes. Raises SceneError if it cannot be read, is no file, or has more than a megabyte."""
    try:
        if path.is_dir():
            raise UserError(f"is a folder, not a scene{_scenes_in(path)}")
        refuse_special(path, "a scene")
        with path.open("rb") as file:
            source = file.read(MOST_BYTES + 1)
    except UserError as error:
        raise SceneError([Problem(str(path), 0, 0, "", str(error))]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        meant = _similar_scene_hint(path) if isinstance(error, FileNotFoundError) else ""
        raise SceneError([Problem(str(path), 0, 0, "", f"cannot be read: {reason}{meant}")]) from None
    refuse_long(source, path)
    return source


def _scenes_in(folder: Path) -> str:
    """The scenes of a folder for a message, or that it is the folder of a run."""
    if (folder / "journal.jsonl").is_file():
        return f"; it is that of a run, which `minusgrad resume {folder}` continues"
    names = [str(one) for one in islice(sorted(folder.glob("*.toml")), _LISTED)]
    return f"; scenes in it are {', '.join(names)}" if names else "; give a file that ends in .toml"


def _similar_scene_hint(path: Path) -> str:
    """`; did you mean 'magnets.toml'?` where a scene of nearly that name lies in the folder."""
    try:
        beside = [str(one) for one in islice(path.parent.glob("*.toml"), _MOST_FILES)]
    except (OSError, ValueError):
        return ""
    return suggestion(str(path), sorted(beside))


def refuse_long(source: bytes, path: Path) -> None:
    """Raise SceneError for a scene of more than a megabyte."""
    if len(source) > MOST_BYTES:
        raise SceneError([Problem(str(path), 0, 0, "", TOO_LONG)])


def decode(file: str, source: bytes) -> str:
    """The text of a file. Raises SceneError with line and column where it is not UTF-8 without a mark."""
    if source.startswith(BOM_UTF8):
        message = "begins with a byte order mark (BOM); save it as UTF-8 without one"
        raise SceneError([Problem(file, 1, 1, "", message)])
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        message = f"byte 0x{source[error.start]:02x} is not UTF-8"
        raise _at_end_of(file, source[: error.start].decode(), message) from None


def parse(file: str, text: str) -> dict[str, Any]:
    """The data of a TOML text. Raises SceneError with line and column."""
    depth, too_deep = 0, f"lists and tables nest more than {MOST_PARTS} deep"
    for token in _TOKEN.finditer(text):
        depth = max(0, depth + bool(token["open"]) - bool(token["close"]))
        if token["long"] or depth > MOST_PARTS:
            message = f"a key of more than {MOST_PARTS} dotted parts" if token["long"] else too_deep
            raise _at_end_of(file, text[: token.start()], message)
        if len(_DIGITS.match(token[0])[0]) > _MOST_DIGITS:  # type: ignore[index]
            raise _at_end_of(file, text[: token.start()], f"a number of more than {_MOST_DIGITS} digits")
    try:
        data = tomllib.loads(text)
    except ValueError as error:
        message, place = _PLACE.sub("", str(error)), _PLACE.search(str(error))
        if place and not place[1]:
            raise _at_end_of(file, text, message) from None
        line, column = (int(place[1]), int(place[2])) if place else (0, 0)
        if message == "Invalid value" and (word := _BARE.match(text.split("\n")[line - 1], column - 1)):
            message = _WORDS.get(word[0], f'text needs quotes; write "{printable(word[0], 60)}"')
        message = _in_words(message, text.split("\n")[line - 1] if line else "", column)
        if quantity := _quantity_before(text.split("\n")[line - 1], column - 1) if line else "":
            message = f'{_QUOTES}; write "{quantity}"'
        raise SceneError([Problem(file, line, column, "", message)]) from None
    if any(len(path) > MOST_PARTS for path, _ in leaves(data)):
        line, column = next(at for path, at in index(text).items() if len(path) > MOST_PARTS)
        raise SceneError([Problem(file, line, column, "", too_deep)])
    return data


def _in_words(message: str, line: str, column: int) -> str:
    """What tomllib says, where its words leave open what is wrong. line: that of the mistake."""
    if message == "Invalid value" and line[column - 1 :].split("#")[0].strip() == "":
        return "needs a value behind the equals sign, got none; give one, or leave the key out"
    if message == "Cannot overwrite a value" and (key := _KEYS.match(line)):
        return f"'{printable(key[0].strip(), 60)}' is given twice; leave one of them out"
    if message.startswith("Cannot declare (") and message.endswith(" twice"):
        return f"{printable(line.strip(), 60)} stands twice; write all its keys under one of them"
    return "the text has no closing quote" if message == "Illegal character '\\n'" else message


def _quantity_before(line: str, at: int) -> str:
    """A number before this place with the unit behind it, such as `10 ms`; empty if there is none."""
    number = _NUMBER_BEFORE.search(line[max(0, at - _LONGEST) : at])
    unit = _UNIT.match(line[at : at + _LONGEST])
    return f"{number[1]} {unit[1]}" if number and unit else ""


def leaves(data: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every value that is not a table or list, with its key path, down to a depth of MOST_PARTS + 1."""
    if not isinstance(data, (dict, list)) or len(path) > MOST_PARTS:
        yield path, data
        return
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield from leaves(value, (*path, key))


def unfit(data: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Values that are valid in TOML but not in a scene, with a message."""
    for path, value in leaves(data):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            yield path, "a whole number must fit 64 bits"
        elif isinstance(value, float) and not math.isfinite(value):
            yield path, f"needs a finite number, not {value}"
        elif not isinstance(value, (str, int, float)):
            yield path, "dates and times are not allowed in a scene; write text in quotes"


def override(
    data: dict[str, Any],
    overrides: Sequence[str],
    sections: Collection[str],
    tables: Mapping[tuple[str, ...], NamedTables],
) -> dict[KeyPath, str]:
    """Set `address=value` in `data`; returns the override of each changed or new key.

    The right side is a TOML value, or text that needs no quotes, such as `2 fs`. Missing tables on the way
    are made, list elements must exist. sections: the keys of a scene, with those below each. tables: those
    whose keys are addresses, which need no quotes. Raises SceneError with all overrides that cannot be
    applied.
    """
    origins: dict[KeyPath, str] = {}
    problems = []
    for text in overrides:
        origin = override_name(text)
        try:
            keys, value = _split_override(text)
            path = with_joined_names(data, path_of(data, keys, sections), value, tables)
            origins[_set_key(data, path, value)] = origin
        except (ValueError, UserError) as error:
            problems.append(Problem(origin, 0, 0, "", str(error)))
    if problems:
        raise SceneError(problems)
    return origins


def override_name(text: str) -> str:
    """The name of an override in messages, in place of a file."""
    return f"override '{text}'" if text.isprintable() else f"override {text!r}"


def _split_override(text: str) -> tuple[list[str], Any]:
    if not text.isprintable():
        raise ValueError("contains a line break or another unprintable character")
    left = _KEYS.match(text)
    if left is None or text[left.end() : left.end() + 1] != "=":
        raise ValueError("write key=value or key.sub.0=value")
    key, right = left[0].strip(), text[left.end() + 1 :]
    keys = [key_name(part) for part in _KEY.findall(key)]
    if len(keys) > MOST_PARTS:
        raise ValueError(f"a key of more than {MOST_PARTS} dotted parts")
    if _WORD.fullmatch(right) and right not in ("true", "false", "inf", "nan"):
        return keys, right
    try:
        return keys, parse("", f"value = {right}")["value"]
    except SceneError as error:
        if _POINTED.fullmatch(right):
            return keys, float(right)
        if _PLAIN.fullmatch(right):
            return keys, right.rstrip()
        cure = f"put text in quotes: {key}='\"{right}\"'" if right else f"write {key}=value"
        if _QUOTES in (why := error.problems[0].message):
            cure = why
        raise ValueError(f"the right side is not a TOML value; {cure}") from None


def _set_key(data: dict[str, Any], keys: list[str], value: Any) -> KeyPath:
    """Returns the path of the outermost key that is new or changed."""
    here: Any = data
    path: KeyPath = ()
    new: KeyPath = ()
    for number, key in enumerate(keys):
        step: Any = _list_element(here, keys[number:], path) if isinstance(here, list) else key
        if not isinstance(here, (dict, list)):
            raise ValueError(f"'{'.'.join(map(str, path))}' is not a table or list, so it has no '{key}'")
        path = (*path, step)
        if number == len(keys) - 1:
            here[step] = value
        elif isinstance(here, dict) and step not in here:
            here[step] = {}
            new = new or path
        here = here[step]
    return new or path


def _list_element(elements: list[Any], keys: Sequence[str], path: KeyPath) -> int:
    """The number of an element that the first of the keys names."""
    key, place = keys[0], ".".join(map(str, path))
    if isinstance(found := names_in(elements).get(key), int):
        return found
    having = [n for n, one in enumerate(elements) if isinstance(one, dict) and key in one]
    if having and len(path) == 1:
        names = [name_of(str(path[0]), one) for one in elements]
        named = [names[n] if names.count(names[n]) == 1 else f"{place}.{n}" for n in having]
        meant = " or ".join(".".join([str(name), *keys]) for name in named)
        raise ValueError(
            f"'{place}' is a list of {len(elements)}, got no number or name of one; write {meant}"
        )
    last = len(elements) - 1
    there = "it is empty" if last < 0 else f"there are 0 to {last}" if last else "there is only 0"
    raise ValueError(f"'{place}' has no element '{key}' ({there})")


def _at_end_of(file: str, before: str, message: str) -> SceneError:
    line_start = before.rfind("\n") + 1
    return SceneError([Problem(file, before.count("\n") + 1, len(before) - line_start + 1, "", message)])
