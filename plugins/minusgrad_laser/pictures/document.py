"""An SVG file written anew for its picture: UTF-8, entities expanded, and nothing beside SVG's own elements.

What refers to other files, what is not drawn, and what draws without end is refused, with its line.

Decisions 0172.
"""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from minusgrad.plugin import UserError, printable

from ..drawings.svg.uses import EndlessError, Uses
from .elements import SHAPES, is_left_out, rewrite_attributes
from .links import data_link, embedded_svg, named_parts
from .page import Page, read_page
from .styles import rewrite_sheet

SVG, XLINK, XML = (
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/1999/xlink",
    "http://www.w3.org/XML/1998/namespace",
)
KEPT = {"": "", SVG: "", XLINK: "xlink:", XML: "xml:"}
"""Namespaces of attributes that are kept, and their prefixes."""
LOCATED, AT_LINE = ("rect", "circle", "ellipse", "polygon", "polyline"), "line"
"""Elements of which resvg says the id, and what theirs begins with where they have none."""
ENCODINGS = ("utf-8", "utf8", "utf-16", "us-ascii", "ascii", "iso-8859-1", "windows-1252")
"""Of files that are read."""
MOST_DEEP, MOST_TEXT = 100, 64_000_000
"""Elements within one another; characters once expanded."""
LAYERED = re.compile(r"opacity|clip|mask|blend|isolation|<symbol|<svg|<marker|data:image/svg")
PATTERNED = re.compile(r"<pattern|image-rendering\s*[:=][\s\"']*(?:optimizeSpeed|pixelated|crisp-edges)")
FILTERED = re.compile(r"<fe[A-Z]|filter\s*[:=]")


@dataclass
class Written:
    """The document: its page, what is within its <svg>, and what a renderer has to be prepared for.

    shapes: how many are drawn. text: the line of the first text, 0 for none. remarks: what is left out.
    """

    page: Page
    attributes: dict[str, str]
    body: str
    shapes: int
    text: int
    remarks: list[str] = field(default_factory=list)

    def whole_text(self, attributes: Mapping[str, str] | None = None) -> str:
        """The document as an <svg> with its own attributes, or with others."""
        given = self.attributes if attributes is None else attributes
        head = "".join(f" {key}={quoteattr(value)}" for key, value in given.items())
        return f'<svg xmlns="{SVG}" xmlns:xlink="{XLINK}"{head}>{self.body}</svg>'

    @property
    def is_layered(self) -> bool:
        """Parts may be drawn apart, and put together then."""
        return bool(LAYERED.search(self.body)) or "style" in self.attributes

    @property
    def is_patterned(self) -> bool:
        """Patterns may be drawn, whose tiles have whole pixels, or pictures of the nearest pixel."""
        return bool(PATTERNED.search(self.body))

    @property
    def is_filtered(self) -> bool:
        """Filters may act."""
        return bool(FILTERED.search(self.body)) or "filter" in str(self.attributes)


def write_document(file: str, data: bytes, dpi: float = 96.0, level: int = 0) -> Written:
    """The document of a file; px are 1/dpi inch. level: how many files it is embedded in.

    Raises `UserError` for what cannot be drawn, with the line and the element.
    """
    if data[:2] == b"\x1f\x8b":
        data = _unpacked(file, data)
    if not data:
        raise UserError(f"'{file}' is empty (0 bytes)")
    return _Writer(file, level).write(data, dpi)


def _unpacked(file: str, data: bytes) -> bytes:
    """What is in a compressed file (.svgz)."""
    try:
        unpacker = zlib.decompressobj(wbits=31)
        found = unpacker.decompress(data, MOST_TEXT)
    except zlib.error as error:
        raise UserError(f"'{file}': cannot be unpacked: {error}; save it as plain SVG") from None
    if unpacker.unconsumed_tail:
        raise UserError(f"'{file}': has more than {MOST_TEXT:,} characters; simplify the drawing")
    return found


class _Writer:
    """Looks at each element as the parser meets it, and writes it."""

    def __init__(self, file: str, level: int):
        self.file, self.level, self.uses = file, level, Uses()
        self.open, self.parts, self.length, self.foreign = list[str](), list[str](), 0, 0
        self.root, self.remarks, self.text = dict[str, str](), list[str](), 0
        self.tag, self.sheet, self.ids, self.links = "", list[str](), set[str](), list[tuple[str, int, str]]()
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.CharacterDataHandler = self._write_text
        parser.EntityDeclHandler = self._check_entity
        parser.XmlDeclHandler = self._check_encoding
        parser.SkippedEntityHandler = self._refuse_entity
        parser.ProcessingInstructionHandler = self._check_instruction

    def write(self, data: bytes, dpi: float) -> Written:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            why = expat.errors.messages[error.code]
            raise UserError(f"'{self.file}':{error.lineno}: is no XML that can be read: {why}") from None
        except (ValueError, LookupError) as error:  # of an encoding
            raise UserError(f"'{self.file}': is no XML that can be read: {error}; save as UTF-8") from None
        self.remarks += [
            f"'{self.file}':{line}: element <{tag}>: nothing has the id '{printable(name, 60)}'"
            for name, line, tag in self.links
            if name not in self.ids
        ]
        self.uses.forget_missing()
        shapes = self._count_shapes()
        page = read_page(f"'{self.file}':1", self.root, dpi)
        return Written(page, self.root, "".join(self.parts), shapes, self.text, self.remarks)

    def _count_shapes(self) -> int:
        """The shapes that are drawn, once for every use."""
        try:
            return self.uses.count()
        except EndlessError as error:
            place = f":{error.line}" if error.line else ""
            raise UserError(f"'{self.file}'{place}: {printable(str(error), 500)}") from None

    def refuse(self, what: str) -> NoReturn:
        raise UserError(f"'{self.file}':{self.parser.CurrentLineNumber}: {printable(what, 500)}")

    def _refuse_element(self, what: str) -> NoReturn:
        self.refuse(f"element <{self.tag}>: {what}")

    def _remark_element(self, what: str) -> None:
        line, text = self.parser.CurrentLineNumber, printable(f"element <{self.tag}>: {what}", 500)
        self.remarks.append(f"'{self.file}':{line}: {text}")

    def _start_element(self, name: str, attributes: Mapping[str, str]) -> None:
        space, tag = name.split(" ") if " " in name else ("", name)
        if self.foreign:
            self.foreign += 1
            return
        if not self.open and tag != "svg":
            self.refuse(f"is no SVG: its first element is <{tag}>")
        self.tag, parent = tag, self.open[-1] if self.open else ""
        if space not in (SVG, "") or is_left_out(tag, parent, self._refuse_element, self._remark_element):
            self.foreign = 1
            self._append('<other:other xmlns:other="other"/>')
            return
        kept = self._kept_attributes(tag, attributes)
        self.open.append(tag)
        if len(self.open) > MOST_DEEP:
            self.refuse(f"element <{tag}>: elements nest more than {MOST_DEEP} deep; ungroup them")
        used = kept.get("href", kept.get("xlink:href", "")) if tag == "use" else ""
        self.uses.begin(tag in SHAPES, kept.get("id"), used[1:] or None, self.parser.CurrentLineNumber)
        if len(self.open) == 1:
            self.root = kept
        else:
            self._append(f"<{tag}{''.join(f' {key}={quoteattr(kept[key])}' for key in kept)}>")

    def _kept_attributes(self, tag: str, attributes: Mapping[str, str]) -> dict[str, str]:
        given = {}
        for name, value in attributes.items():
            space, key = name.split(" ") if " " in name else ("", name)
            if space in KEPT:
                given[KEPT[space] + key] = value
        found = rewrite_attributes(
            tag, given, "clipPath" in self.open, self.level > 0, self._refuse_element, self._remark_element
        )
        if (inner := embedded_svg(tag, found)) is not None:
            found["href"] = data_link(self._write_embedded(inner))
        if tag in LOCATED:
            found.setdefault("id", f"{AT_LINE} {self.parser.CurrentLineNumber}")
        self._note_links(found)
        return found

    def _write_embedded(self, data: bytes) -> str:
        """The document of a drawing that is embedded."""
        if self.level > 2:
            self._refuse_element("drawings are embedded in one another too deep; take them out")
        line = self.parser.CurrentLineNumber
        embedded = write_document(f"{self.file}:{line}: <{self.tag}>", data, level=self.level + 1)
        self.text = self.text or (line if embedded.text else 0)
        self.remarks += embedded.remarks
        return embedded.whole_text()

    def _note_links(self, attributes: Mapping[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if self.tag != "a":
            self.links += [(one, line, self.tag) for one in named_parts(attributes)]
        if "id" in attributes:
            self.ids.add(attributes["id"])

    def _end_element(self, name: str) -> None:
        if self.foreign:
            self.foreign -= 1
            return
        self.uses.end()
        if self.open[-1] == "style":
            self.tag, text, self.sheet = "style", "".join(self.sheet), []
            text = rewrite_sheet(text, self._refuse_element, self._remark_element)
            self._note_links({"style": text})
            self._append(escape(text))
        if len(self.open) > 1:
            self._append(f"</{self.open[-1]}>")
        self.open.pop()

    def _write_text(self, text: str) -> None:
        if self.open[-1:] == ["style"]:
            self.sheet.append(text)
        elif not self.foreign and self.open:
            self._append(escape(text))
            if not self.text and "text" in self.open and text.strip():
                self.text = self.parser.CurrentLineNumber

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)
        if self.length > MOST_TEXT:
            self.refuse(f"has more than {MOST_TEXT:,} characters; simplify the drawing")

    def _check_entity(self, name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        if value is None:
            self.refuse(f"entity '{name}': stands in another file, which is not read; write its text here")

    def _check_encoding(self, version: str, encoding: str | None, *_: object) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            self.refuse(f"encoding '{encoding}' is not read; save as UTF-8")

    def _refuse_entity(self, name: str, *_: object) -> None:
        self.refuse(f"entity '{name}': has no text in this file; write its text in its place")

    def _check_instruction(self, target: str, data: str) -> None:
        if target == "xml-stylesheet":
            self.refuse("an external style sheet; only what is in the file is drawn")
