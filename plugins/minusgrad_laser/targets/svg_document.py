"""The elements of an SVG file: what cannot be drawn from the file alone is refused, with its line.

Refused: XML that is not well-formed, entities, references to other files, pictures, text, and effects that
are not drawn (clipping, masks, filters, gradients, opacity of groups, dashes, markers). Styles may select all
elements, types and classes

Decisions 0227.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn
from xml.parsers import expat

from minusgrad.plugin import UserError, printable

from .svg_numbers import LENGTHS, fault_of_length, fault_of_numbers, fault_of_path, fault_of_points, number
from .svg_uses import RecursiveUseError, Uses

SVG = "http://www.w3.org/2000/svg"
REFUSED = {
    "image": "pictures inside a drawing are not read; use kind = 'image' for them",
    "text": "text needs a font; convert text to paths",
    "foreignObject": "only shapes are drawn; remove it",
    "symbol": "symbols are not drawn; unlink or expand them",
    "switch": "only one drawing can be meant; keep the one that is",
    "script": "scripts are not run; remove it",
    "animate": "a drawing stands still; remove the animation",
    "animateTransform": "a drawing stands still; remove the animation",
    "animateMotion": "a drawing stands still; remove the animation",
    "set": "a drawing stands still; remove the animation",
}
SHAPES = ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "use")
HIDDEN = ("mask", "marker", "pattern", "clipPath")
"""Elements whose content is not drawn where it stands."""
EFFECTS = {
    "opacity": "1", "stroke-dasharray": "none", "clip-path": "none", "mask": "none", "filter": "none",
    "marker-start": "none", "marker-mid": "none", "marker-end": "none", "marker": "none",
    "mix-blend-mode": "normal", "vector-effect": "none", "paint-order": "normal",
}  # fmt: skip
"""Properties that are not drawn, and the value at which they have no effect."""
SELECTOR = re.compile(r"\*|[\w-]*([.][\w-]+)?")
MOST_DEEP, MOST_SHAPES = 100, 100_000
"""Elements within one another; shapes that are drawn, each once more for every use."""
LENGTH = re.compile(r"\s*[+]?[\d.]+(e[+-]?\d+)?\s*(px|pt|pc|mm|cm|in|Q)?\s*", re.IGNORECASE)
RULE = re.compile(r"([^{}]++)\{([^{}]*+)\}|([^{}]++|[{}])")
"""The selectors and properties of a rule, or a text that is none. Nothing is looked at twice."""


@dataclass(frozen=True)
class Examined:
    """is_sized: width and height of the page are lengths. shapes: how many are drawn."""

    is_sized: bool
    shapes: int


def examine_svg(file: str, data: bytes) -> Examined:
    """What an SVG file is, before it is drawn.

    Raises `UserError` for what cannot be drawn, with the line and the element.
    """
    if not data:
        raise UserError(f"'{file}' is empty (0 bytes)")
    return _Reader(file).examine(data)


class _Reader:
    """Looks at each element as the parser meets it."""

    def __init__(self, file: str):
        self.file, self.open, self.style, self.sized = file, list[str](), list[str](), False
        self.drawn = False
        self.uses, self.selectors = Uses(), set[str]()
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start_element
        self.parser.EndElementHandler = self._end_element
        self.parser.CharacterDataHandler = self._check_text
        self.parser.EntityDeclHandler = self._refuse_entity
        self.parser.ProcessingInstructionHandler = self._check_instruction

    def examine(self, data: bytes) -> Examined:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            why = expat.errors.messages[error.code]
            raise UserError(f"'{self.file}':{error.lineno}: is no XML that can be read: {why}") from None
        return Examined(self.sized, self._drawn_count())

    def _drawn_count(self) -> int:
        """The shapes that are drawn."""
        if (missing := self.uses.missing()) is not None:
            name, line = missing
            raise UserError(
                f"'{self.file}':{line}: element <use>: nothing has the id '{printable(name)}'; correct it"
            )
        try:
            count = self.uses.count()
        except RecursiveUseError as error:
            raise UserError(
                f"'{self.file}':{error.line}: element <use>: draws '{printable(error.name)}', in which it"
                " stands itself, without end; remove it"
            ) from None
        if count > MOST_SHAPES:
            shown = f"{count:,}" if count < 10**15 else f"about 1e{len(str(count)) - 1}"
            line = self.uses.line_beyond(MOST_SHAPES)
            place, what = (f":{line}", "element <use>: ") if line else ("", "")
            raise UserError(
                f"'{self.file}'{place}: {what}draws more than {MOST_SHAPES:,} shapes, {shown} in all; take"
                " some out, or split the drawing"
            )
        return count

    def refuse(self, what: str) -> NoReturn:
        raise UserError(f"'{self.file}':{self.parser.CurrentLineNumber}: {printable(what, 500)}")

    def _start_element(self, name: str, attributes: Mapping[str, str]) -> None:
        space, tag = name.split(" ") if " " in name else ("", name)
        if not self.open:
            if tag != "svg":
                self.refuse(f"is no SVG: its first element is <{tag}>")
            self.sized = all(LENGTH.fullmatch(attributes.get(key, "")) for key in ("width", "height"))
            self._not_zero(attributes)
        elif space in (SVG, ""):
            if tag in REFUSED:
                self.refuse(f"element <{tag}>: {REFUSED[tag]}")
            if tag == "svg":
                self.refuse("element <svg> in another: only one page is drawn; ungroup it")
            if tag in HIDDEN and "defs" not in self.open:
                self.refuse(f"element <{tag}> outside of <defs>: it is not drawn; remove it, or expand it")
            if tag == "style" and self.drawn:
                self.refuse(
                    "element <style> after shapes, which it would not reach; move it to the beginning"
                )
            self.drawn |= tag in SHAPES
        self.open.append(tag)
        if len(self.open) > MOST_DEEP:
            self.refuse(f"element <{tag}>: elements nest more than {MOST_DEEP} deep; ungroup them")
        self._note_element(tag, {key.split(" ")[-1]: value for key, value in attributes.items()})
        for key, value in attributes.items():
            self._check_attribute(tag, key.split(" ")[-1], value)

    def _note_element(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Count the element, and what it draws once more."""
        used = attributes.get("href", "")[1:] if tag == "use" and "href" in attributes else None
        is_shape = tag in SHAPES and tag != "use"
        self.uses.begin(is_shape, attributes.get("id"), used, self.parser.CurrentLineNumber)

    def _check_attribute(self, tag: str, key: str, value: str) -> None:
        if key == "href" and tag != "a" and not value.startswith("#"):
            self.refuse(f"element <{tag}>: refers to '{value[:60]}'; only what is in the file is drawn")
        if key == "class":
            styled = [one for one in value.split() if {f".{one}", f"{tag}.{one}"} & self.selectors]
            if len(styled) > 1:
                self.refuse(
                    f"element <{tag}>: classes {styled} have styles, of which one must win; leave one"
                )
        if tag == "path" and key == "d":
            if foreign := re.search(r"[^MmZzLlHhVvCcSsQqTtAaEe\d+\-.,\s]", value):
                self.refuse(f"element <path>: '{foreign[0]}' in its data is no command; correct it")
            commands = re.findall(r"[a-df-zA-DF-Z]", value)
            for first, then in pairwise(commands):
                if (first + then).upper() in ("QS", "TS", "CT", "ST"):
                    self.refuse(
                        f"element <path>: command {then} follows {first}, which programs read in two ways;"
                        " write its control points"
                    )
        if fault := self._number_fault(tag, key, value):
            self.refuse(f"element <{tag}>: {fault}; correct it")
        if key == "style":
            for one in value.split(";"):
                self._check_property(tag, *(part.strip() for part in (one + ":").split(":")[:2]))
        else:
            self._check_property(tag, key, value.strip())

    def _number_fault(self, tag: str, key: str, value: str) -> str | None:
        """What is wrong with the numbers of an attribute."""
        if tag == "path" and key == "d":
            return fault_of_path(value)
        if tag in SHAPES and key in LENGTHS:
            fault = fault_of_length(value)
            return f"{key}: {fault}" if fault else None
        if tag in ("polygon", "polyline") and key == "points":
            return fault_of_points(value)
        return fault_of_numbers(value) if key == "transform" else None

    def _check_property(self, tag: str, key: str, value: str) -> None:
        if any(one in self.open for one in HIDDEN) or tag.startswith("fe"):
            return
        if key in ("fill", "stroke") and "url(" in value:
            self.refuse(f"element <{tag}>: {key} '{value}' is no plain colour; give it one")
        if key in EFFECTS and value not in (EFFECTS[key], ""):
            is_opaque = EFFECTS[key] == "1" and number(value) == 1.0
            if not is_opaque:
                self.refuse(f"element <{tag}>: {key} '{value}' is not drawn; remove it, or expand the object")

    def _check_text(self, text: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style.append(text)

    def _end_element(self, name: str) -> None:
        self.uses.end()
        if self.open.pop() == "style":
            style, self.style = self._without_comments("".join(self.style)), []
            if rule := re.search(r"@[\w-]+", style):
                self.refuse(f"element <style>: {rule[0]} is not followed; only what is in the file is drawn")
            for selectors, body, other in RULE.findall(style):
                if other.strip():
                    self.refuse(f"element <style>: '{other.strip()[:40]}' is no rule; correct it")
                for one in selectors.split(",") if selectors else ():
                    self.selectors.add(one.strip())
                    if not SELECTOR.fullmatch(one.strip()):
                        self.refuse(
                            f"element <style>: selector '{one.strip()}' is not understood;"
                            " use types and classes"
                        )
                for part in body.split(";"):
                    self._check_property("style", *(word.strip() for word in (part + ":").split(":")[:2]))

    def _without_comments(self, style: str) -> str:
        parts, at = [], 0
        while (begin := style.find("/*", at)) >= 0:
            parts.append(style[at:begin])
            at = style.find("*/", begin + 2) + 2
            if at < 2:
                self.refuse("element <style>: a comment '/*' has no end '*/'; close it")
        return "".join(parts) + style[at:]

    def _refuse_entity(self, name: str, *_: object) -> None:
        self.refuse(f"entity '{name}': entities are not expanded; write their text in its place")

    def _check_instruction(self, target: str, data: str) -> None:
        if target == "xml-stylesheet":
            self.refuse("an external style sheet; only what is in the file is drawn")

    def _not_zero(self, attributes: Mapping[str, str]) -> None:
        for key in ("width", "height"):
            if (text := attributes.get(key, "").strip()) in ("", "auto"):
                continue
            size = re.fullmatch(r"([^\sA-Za-z%]+(?:[eE][+-]?\d+)?)\s*[A-Za-z%]*", text)
            value = number(size[1]) if size else None
            if value is None or not 0.0 < value < 1e9:
                self.refuse(
                    f"{key} is '{attributes[key]}'; a drawing needs a size above 0, below 1e9, such as 20mm"
                )
        box = [number(one) for one in attributes.get("viewBox", "").replace(",", " ").split()]
        numbers = [one for one in box if one is not None and abs(one) < 1e9]
        if box and not (len(box) == len(numbers) == 4 and min(numbers[2:]) > 1e-9):
            self.refuse(
                f"viewBox is '{attributes['viewBox']}'; it needs four numbers, width and height above 0"
            )
