"""The elements of an SVG file as a tree, with their lines; read by expat, from the file alone.

Refused: XML that is not well-formed, entities that refer to files or to one another, external style sheets,
elements deeper than `MOST_DEEP`, and parts that are drawn more than `MOST_SHAPES` times.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from minusgrad.plugin import UserError, printable

from .uses import EndlessError, Uses

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
INKSCAPE = "http://www.inkscape.org/namespaces/inkscape"
SHAPES = ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon")
MOST_DEEP = 100
"""Elements within one another."""
MOST_ENTITIES, LONGEST_ENTITY = 100, 1000


@dataclass(eq=False)
class Element:
    """tag: its name, "" for one of another language. attributes: without a namespace, and those of Inkscape's
    layers as "inkscape:label", "inkscape:groupmode". text: of a style sheet. declared: see `styles`."""

    tag: str
    attributes: dict[str, str]
    line: int
    parent: "Element | None" = None
    place: int = 0
    children: list["Element"] = field(default_factory=list)
    text: str = ""
    declared: dict[str, str] = field(default_factory=dict)

    def descendants(self) -> Iterator["Element"]:
        """The element itself, and all below it, in the order of the file."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending += reversed(element.children)


class Document:
    """The root of a file and its elements by their ids; of two with one id it is the first."""

    def __init__(self, file: str, root: Element):
        self.file, self.root = file, root
        self.named: dict[str, Element] = {}
        for element in root.descendants():
            name = element.attributes.get("id")
            if name:
                self.named.setdefault(name, element)

    def error(self, line: int, text: str) -> UserError:
        return UserError(f"'{printable(self.file)}':{line}: {printable(text, 500)}")


def read_elements(file: str, data: bytes) -> Document:
    """The tree of a file. Raises `UserError` with the line."""
    if not data:
        raise UserError(f"'{printable(file)}' is empty (0 bytes)")
    if data[:2] == b"\x1f\x8b":
        raise UserError(f"'{printable(file)}' is compressed (SVGZ); unpack it")
    return _Reader(file).parse(data)


class _Reader:
    """Builds the tree as the parser meets its elements."""

    def __init__(self, file: str):
        self.file, self.open = file, list[Element]()
        self.root: Element | None = None
        self.uses, self.entities = Uses(), 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start_element
        self.parser.EndElementHandler = self._end_element
        self.parser.CharacterDataHandler = self._add_text
        self.parser.EntityDeclHandler = self._check_entity
        self.parser.ProcessingInstructionHandler = self._check_instruction

    def parse(self, data: bytes) -> Document:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            why = expat.errors.messages[error.code]
            raise UserError(
                f"'{printable(self.file)}':{error.lineno}: is no XML that can be read: {why}"
            ) from None
        except (ValueError, LookupError) as error:  # an encoding that is none
            self.refuse(f"is no XML that can be read: {error}")
        assert self.root is not None
        document = Document(self.file, self.root)
        self._refuse_endless(document)
        return document

    def refuse(self, text: str) -> NoReturn:
        line = self.parser.CurrentLineNumber
        raise UserError(f"'{printable(self.file)}':{line}: {printable(text, 500)}") from None

    def _start_element(self, name: str, attributes: Mapping[str, str]) -> None:
        space, tag = name.split(" ", 1) if " " in name else ("", name)
        line = self.parser.CurrentLineNumber
        if self.root is None and (tag != "svg" or space not in (SVG, "")):
            self.refuse(f"is no SVG: its first element is <{tag}>")
        element = Element(tag if space in (SVG, "") else "", _known_attributes(attributes), line)
        if self.open:
            element.parent, element.place = self.open[-1], len(self.open[-1].children)
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        if len(self.open) > MOST_DEEP:
            self.refuse(f"element <{tag}>: elements nest more than {MOST_DEEP} deep; ungroup them")
        href = element.attributes.get("href", "").strip()
        used = href[1:] if element.tag == "use" and href[:1] == "#" else None
        self.uses.begin(element.tag in SHAPES, element.attributes.get("id"), used, line)

    def _end_element(self, name: str) -> None:
        self.uses.end()
        self.open.pop()

    def _add_text(self, text: str) -> None:
        if self.open and self.open[-1].tag == "style":
            self.open[-1].text += text

    def _refuse_endless(self, document: Document) -> None:
        """Refuse a `<use>` within what it draws, and more shapes than can be meant."""
        if (missing := self.uses.missing()) is not None:
            name, line = missing
            raise document.error(line, f"element <use>: nothing has the id '{name}'; correct it")
        try:
            self.uses.count()
        except EndlessError as error:
            raise document.error(error.line or 1, str(error)) from None

    def _check_entity(self, name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        """Texts of their own are put in by expat; Illustrator writes names of languages so."""
        self.entities += 1
        if is_parameter or value is None:
            self.refuse(f"entity '{name}': is of another file; only what is in the file is drawn")
        if len(value) > LONGEST_ENTITY or "&" in value or self.entities > MOST_ENTITIES:
            self.refuse(f"entity '{name}': is too long or has entities in it; write its text in its place")

    def _check_instruction(self, target: str, data: str) -> None:
        if target == "xml-stylesheet":
            self.refuse("an external style sheet; only what is in the file is drawn")


def _known_attributes(attributes: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for key, value in attributes.items():
        space, name = key.split(" ", 1) if " " in key else ("", key)
        if space in (SVG, ""):
            found[name] = value
        elif space == INKSCAPE and name in ("label", "groupmode"):
            found[f"inkscape:{name}"] = value
        elif space == XLINK and name == "href":
            found.setdefault("href", value)
    if (f"{XLINK} href" in attributes) and "href" in attributes:
        found["href"] = attributes["href"]
    return found
