"""Properties of each element by the cascade: attributes, style sheets, the style of its own.

What an element states itself is `Element.declared`; what it inherits is found on the walk. Source: CSS
Cascade 4; SVG 2, 6 (attributes that are properties have specificity 0).
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from .elements import Document, Element
from .faults import SvgError, refuse
from .selectors import Selector, parse_selector

_PROPERTIES = (
    "fill stroke fill-rule fill-opacity stroke-opacity stroke-width stroke-linecap stroke-linejoin"
    " stroke-miterlimit stroke-dasharray stroke-dashoffset color font-size visibility display opacity"
    " transform transform-origin transform-box overflow clip clip-path mask filter mix-blend-mode"
    " background background-color marker marker-start marker-mid marker-end rotate scale translate zoom all"
)
PROPERTIES = frozenset(_PROPERTIES.split())
"""Properties that change what is drawn."""
GEOMETRY = frozenset(("x", "y", "width", "height", "cx", "cy", "r", "rx", "ry", "d"))
"""Lengths that SVG 2 lets a style give, which not all programs read."""
NOT_ATTRIBUTES = frozenset(
    ("rotate", "scale", "translate", "zoom", "all", "marker", "background", "background-color")
)
"""Properties that an attribute does not give."""
_RULE = re.compile(r"([^{}]++)\{([^{}]*+)\}|([^{}]++|[{}])")
"""The selectors and properties of a rule, or a text that is none. Nothing is looked at twice."""


@dataclass(frozen=True)
class Rule:
    """A selector with its properties, each with whether it is important; order: in the file."""

    selector: Selector
    properties: dict[str, tuple[str, bool]]
    order: int


def resolve_styles(document: Document) -> None:
    """Set `declared` of every element. Raises `UserError` with the line of the sheet or the element."""
    rules = _rules_by_key(_collect_rules(document))
    for element in document.root.descendants():
        if not element.tag:
            continue
        try:
            element.declared = _cascade(element, rules)
        except SvgError as fault:
            raise document.error(element.line, f"element <{element.tag}>: {fault}") from None


def _collect_rules(document: Document) -> Iterator[Rule]:
    order = 0
    for element in document.root.descendants():
        if element.tag != "style" or element.attributes.get("type", "text/css").strip() not in (
            "",
            "text/css",
        ):
            continue
        try:
            if element.attributes.get("media", "all").strip() not in ("", "all", "screen"):
                refuse(f"media '{element.attributes['media'][:40]}': may be meant or not; remove it")
            for selectors, body in _parse_sheet(element.text):
                properties = parse_declarations(body)
                for one in selectors.split(","):
                    order += 1
                    yield Rule(parse_selector(one), properties, order)
        except SvgError as fault:
            raise document.error(element.line, f"element <style>: {fault}") from None


def _parse_sheet(text: str) -> Iterator[tuple[str, str]]:
    """Selectors and properties of the rules of a style sheet."""
    text = remove_comments(text).replace("<!--", " ").replace("-->", " ")
    text = re.sub(r"\A\s*@charset\s+\"[^\"]*\"\s*;", "", text)  # the XML has its own
    for selectors, body, other in _RULE.findall(text):
        if found := re.search(r"@[\w-]+", selectors or other):
            if found[0] == "@font-face" and selectors.strip() == "@font-face":
                continue
            refuse(f"{found[0]} is not followed; only what is in the file is drawn")
        if other.strip():
            refuse(f"'{other.strip()[:40]}' is no rule; correct it")
        if selectors:
            yield selectors, body


def remove_comments(text: str) -> str:
    parts, at = [], 0
    while (begin := text.find("/*", at)) >= 0:
        parts.append(text[at:begin])
        at = text.find("*/", begin + 2) + 2
        if at < 2:
            refuse("a comment '/*' has no end '*/'; close it")
    return " ".join([*parts, text[at:]])


def parse_declarations(text: str) -> dict[str, tuple[str, bool]]:
    """Properties with their values, and whether they are important."""
    found: dict[str, tuple[str, bool]] = {}
    for part in _split_declarations(text):
        if not part.strip():
            continue
        name, colon, value = part.partition(":")
        if not colon:
            refuse(f"'{part.strip()[:40]}' is no property with a value; correct it")
        name, value = name.strip().lower(), value.strip()
        plain = re.sub(r"\s*!\s*important$", "", value, flags=re.IGNORECASE)
        important = plain != value
        if important or not found.get(name, ("", False))[1]:
            found[name] = (plain, important)
    return found


def _split_declarations(text: str) -> Iterator[str]:
    """The parts between semicolons that stand in neither quotes nor brackets."""
    begin, depth, quote = 0, 0, ""
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "()":
            depth = max(0, depth + (1 if sign == "(" else -1))
        elif sign == ";" and not depth:
            yield text[begin:at]
            begin = at + 1
    if quote or depth:
        refuse(f"'{text[begin:].strip()[:40]}' has a quote or a bracket without end; close it")
    yield text[begin:]


def _rules_by_key(rules: Iterator[Rule]) -> dict[str, list[Rule]]:
    """Rules by the id, a class or the type of the elements that they may select; "" for all."""
    found: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        last = rule.selector.compounds[-1]
        key = f"#{last.name}" if last.name else f".{last.classes[0]}" if last.classes else last.tag
        found[key].append(rule)
    return found


def _cascade(element: Element, rules: dict[str, list[Rule]]) -> dict[str, str]:
    attributes = element.attributes
    found = {key: attributes[key] for key in attributes.keys() & PROPERTIES if key not in NOT_ATTRIBUTES}
    if rules:
        keys = ["", element.tag, f"#{attributes.get('id')}"]
        keys += [f".{one}" for one in set(attributes.get("class", "").split())]
        fitting = [rule for key in keys for rule in rules.get(key, ()) if rule.selector.fits(element)]
        fitting.sort(key=lambda rule: (rule.selector.weight, rule.order))
    else:
        fitting = []
    own = parse_declarations(remove_comments(attributes["style"])) if "style" in attributes else {}
    for important in (False, True):
        for properties in (*(rule.properties for rule in fitting), own):
            for name, (value, its) in properties.items():
                if its is important:
                    _refuse_geometry(element, name, value)
                    _set_property(found, name, value)
    return {name: value.strip() for name, value in found.items()}


def _set_property(found: dict[str, str], name: str, value: str) -> None:
    if name not in PROPERTIES:
        return
    if name == "marker":
        found.update(dict.fromkeys(("marker-start", "marker-mid", "marker-end"), value))
    found[name] = value


def _refuse_geometry(element: Element, name: str, value: str) -> None:
    drawn = ("svg", "use", "symbol", "path", "rect", "circle", "ellipse")
    if name in GEOMETRY and element.tag in drawn and not (element.parent is None and value == "100%"):
        refuse(f"{name} in a style is read by some programs only; make it an attribute")
