"""Selectors of style sheets: types, classes, ids, attributes, :first-child and the four combinators.

Others are refused by name, but for those of a pointer, such as :hover, which select nothing in a file.
Source: CSS Selectors 3; specificity (ids, classes and attributes, types) section 9.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from .elements import Element
from .faults import refuse

_IDENT = r"-?[A-Za-z_\u0080-\uffff][\w\u0080-\uffff-]*"
_PART = re.compile(
    rf"([#.]){_IDENT}|:({_IDENT})|\[\s*({_IDENT})\s*(?:([~|^$*]?=)\s*(\"[^\"]*\"|'[^']*'|{_IDENT})\s*)?\]"
)
_TYPE = re.compile(rf"\*|{_IDENT}")
_COMBINATOR = re.compile(r"\s*([>+~])\s*|\s+")
NEVER = ("hover", "active", "focus", "visited", "link", "focus-visible", "focus-within", "target")
"""Pseudo-classes that select nothing in a file."""
TESTS = {
    "=": lambda value, wanted: value == wanted,
    "~=": lambda value, wanted: wanted in value.split(),
    "|=": lambda value, wanted: value == wanted or value.startswith(wanted + "-"),
    "^=": lambda value, wanted: bool(wanted) and value.startswith(wanted),
    "$=": lambda value, wanted: bool(wanted) and value.endswith(wanted),
    "*=": lambda value, wanted: bool(wanted) and wanted in value,
}


@dataclass(frozen=True)
class Compound:
    """What one element must be. tests: (attribute, operation or "", text)."""

    tag: str = ""
    name: str = ""
    classes: tuple[str, ...] = ()
    tests: tuple[tuple[str, str, str], ...] = ()
    first: bool = False
    root: bool = False
    never: bool = False

    def fits(self, element: Element) -> bool:
        attributes = element.attributes
        return not (
            self.never
            or not element.tag
            or (self.tag and self.tag != element.tag)
            or (self.name and self.name != attributes.get("id"))
            or (self.classes and not set(self.classes) <= set(attributes.get("class", "").split()))
            or (self.first and element.place != 0)
            or (self.root and element.parent is not None)
            or any(not _fits_test(attributes, *test) for test in self.tests)
        )

    @property
    def weight(self) -> tuple[int, int, int]:
        others = len(self.classes) + len(self.tests) + self.first + self.root + self.never
        return int(bool(self.name)), others, int(bool(self.tag))


@dataclass(frozen=True)
class Selector:
    """Compounds from the left to the right; combinators between them: " ", ">", "+" or "~"."""

    compounds: tuple[Compound, ...]
    combinators: tuple[str, ...]

    @property
    def weight(self) -> tuple[int, int, int]:
        a, b, c = zip(*(one.weight for one in self.compounds), strict=True)
        return sum(a), sum(b), sum(c)

    def fits(self, element: Element) -> bool:
        if not self.compounds[-1].fits(element):
            return False
        seen: set[tuple[int, int]] = set()
        pending = [(len(self.compounds) - 1, element)]
        while pending:
            k, at = pending.pop()
            if k == 0:
                return True
            for other in _related_elements(self.combinators[k - 1], at):
                if (k, id(other)) not in seen and self.compounds[k - 1].fits(other):
                    seen.add((k, id(other)))
                    pending.append((k - 1, other))
        return False


def _related_elements(combinator: str, element: Element) -> Iterator[Element]:
    parent = element.parent
    if parent is None:
        return
    if combinator == ">":
        yield parent
    elif combinator == "+":
        if element.place:
            yield parent.children[element.place - 1]
    elif combinator == "~":
        yield from parent.children[: element.place]
    else:
        while parent is not None:
            yield parent
            parent = parent.parent


def _fits_test(attributes: dict[str, str], name: str, operation: str, wanted: str) -> bool:
    value = attributes.get(name)
    return value is not None and (not operation or TESTS[operation](value, wanted))


@lru_cache(1000)
def parse_selector(text: str) -> Selector:
    """One selector. Raises `SvgError`."""
    text = text.strip()
    compounds: list[Compound] = []
    combinators: list[str] = []
    at = 0
    while True:
        compound, at = _parse_compound(text, at)
        compounds.append(compound)
        if at == len(text):
            return Selector(tuple(compounds), tuple(combinators))
        found = _COMBINATOR.match(text, at)
        if found is None or found.end() == len(text):
            _refuse_selector(text)
        combinators.append(found[1] or " ")
        at = found.end()


def _parse_compound(text: str, at: int) -> tuple[Compound, int]:
    begin, tag, name = at, "", ""
    classes: list[str] = []
    tests: list[tuple[str, str, str]] = []
    marks: set[str] = set()
    if found := _TYPE.match(text, at):
        tag, at = ("" if found[0] == "*" else found[0]), found.end()
    while found := _PART.match(text, at):
        at = found.end()
        if found[1] == "#":
            name = found[0][1:]
        elif found[1] == ".":
            classes.append(found[0][1:])
        elif found[2]:
            pseudo = found[2].lower()
            if pseudo not in ("first-child", "root", *NEVER):
                _refuse_selector(text)
            marks.add(pseudo)
        else:
            value = found[5] or ""
            tests.append((found[3], found[4] or "", value.strip("\"'")))
    if at == begin:
        _refuse_selector(text)
    first, root = "first-child" in marks, "root" in marks
    never = bool(marks - {"first-child", "root"})
    return Compound(tag, name, tuple(classes), tuple(tests), first, root, never), at


def _refuse_selector(text: str) -> NoReturn:
    refuse(f"selector '{text[:60]}' is not understood; use types, classes, ids and attributes")
