"""Fonts by files: their families, and which of them stands for a generic family of CSS.

A generic family is the font that is given for it, "cursive=FILE", or one that says so itself, by its PANOSE
numbers; of several the one in most files, then the first. Where a drawing names no family, it is the serif
one, else the first.

Sources: OpenType, tables `name` (1: family, 16: typographic family) and `OS/2` (PANOSE: serif style 2 to 10
with serifs, 11 to 15 without; proportion 9 monospaced).

Decisions 0173.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minusgrad.plugin import UserError, printable

NONE = "no font is named"
"""A family that no file has."""
GENERIC = ("serif", "sans-serif", "monospace", "cursive", "fantasy")
COLLECTIONS = (".ttc", ".otc")
ENDINGS = (".ttf", ".otf", *COLLECTIONS)
_NO_MATCH = re.compile(r"No match for '(.*)' font-family\.")
_WITH, _WITHOUT, _MONOSPACED = range(2, 11), range(11, 16), 9


@dataclass(frozen=True)
class Families:
    """Of the fonts given: all names of families, what stands for generic ones, and the usual one."""

    names: tuple[str, ...] = ()
    generic: Mapping[str, str] = field(default_factory=dict)
    usual: str = NONE

    def options(self) -> dict[str, Any]:
        """Of resvg."""
        found = {f"{kind.replace('-', '_')}_family": self.generic.get(kind, NONE) for kind in GENERIC}
        return found | {"font_family": self.usual}

    def without_serif(self) -> "Families":
        """The same, with which resvg does not take the serif one where it finds none."""
        return Families(self.names, {k: v for k, v in self.generic.items() if k != "serif"}, self.usual)

    def missing(self, warnings: Sequence[str]) -> list[str]:
        """The families of which no file is given, by what resvg says without a serif one."""
        found = [match[1] for line in warnings if (match := _NO_MATCH.fullmatch(line))]
        has_serif = "serif" in self.generic
        return [one for one in found if not (has_serif and "serif" in re.split(r",\s*", one))]


NOTHING = Families()
"""Where no font is given."""


def split_font(given: str) -> tuple[str, str]:
    """The generic family that a font is given for, "" for none, and its file."""
    family, mark, file = given.partition("=")
    return (family.strip(), file.strip()) if mark and family.strip() in GENERIC else ("", given)


@contextmanager
def font_files(fonts: Mapping[str, bytes]) -> Iterator[list[str]]:
    """Paths of the fonts, in a folder of their own, for a library that reads fonts from files."""
    for name in fonts:
        if not name.lower().endswith(ENDINGS):
            raise UserError(f"fonts: needs files {', '.join(ENDINGS)}, got '{printable(name)}'")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{k}{Path(split_font(name)[1]).suffix}" for k, name in enumerate(fonts)]
        for path, data in zip(paths, fonts.values(), strict=True):
            path.write_bytes(data)
        yield [str(path) for path in paths]


def read_families(names: Sequence[str], paths: Sequence[str]) -> Families:
    """In the child: the families of fonts in files. Raises `UserError` for a file that is no font."""
    from fontTools.ttLib import TTCollection, TTFont

    found, given = list[tuple[str, str]](), dict[str, str]()
    for name, path in zip(names, paths, strict=True):
        kind, file = split_font(name)
        try:
            if path.lower().endswith(COLLECTIONS):
                fonts = TTCollection(path, lazy=True).fonts
            else:
                fonts = [TTFont(path, lazy=True)]
            its = [_font_family(font) for font in fonts]
            found += its
            given |= {kind: its[0][0]} if kind else {}
        except MemoryError:
            raise
        except Exception as error:  # of damaged tables
            words = " ".join(str(error).split())[:100] or type(error).__name__
            raise UserError(f"'{printable(file)}': is no font that can be read: {words}") from None
    counts, generic = Counter(found), dict[str, str]()
    for one, kind in counts:
        best = generic.get(kind)
        if kind and (best is None or counts[one, kind] > counts[best, kind]):
            generic[kind] = one
    generic |= given
    families = list(dict.fromkeys(one for one, _ in found))
    return Families(tuple(families), generic, generic.get("serif", families[0] if families else NONE))


def _font_family(font: Any) -> tuple[str, str]:
    """The name of a font's family, and the generic family that it says to be, "" for none."""
    name = font["name"].getBestFamilyName() or font["name"].getDebugName(1)
    if name is None:
        raise ValueError("it has no family name")
    panose = font["OS/2"].panose if "OS/2" in font else None
    kind = ""
    if panose is not None and panose.bFamilyType == 2:
        if panose.bSerifStyle in _WITH:
            kind = "serif"
        elif panose.bSerifStyle in _WITHOUT:
            kind = "sans-serif"
        if kind and panose.bProportion == _MONOSPACED:
            kind = "monospace"
    return str(name), kind
