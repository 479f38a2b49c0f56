"""References of an SVG file: within the file, or pictures in `data:` URIs; no other file is read."""

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

_URL = re.compile(r"url\(\s*['\"]?#([^'\")]+)")
FOLLOWED = ("image", "feImage", "use", "tref")
"""Elements that draw what they refer to."""


def external_link(tag: str, attributes: Mapping[str, str]) -> str | None:
    """The reference of an element to another file, which it would draw; None for others."""
    link = link_of(attributes)
    if tag not in FOLLOWED or link is None or link.startswith("#"):
        return None
    return None if tag in ("image", "feImage") and link.startswith("data:") else link


def named_parts(attributes: Mapping[str, str]) -> list[str]:
    """The ids that an element, or a style sheet, refers to."""
    link = link_of(attributes) or ""
    found = [link[1:]] if link.startswith("#") else []
    return found + [one for value in attributes.values() if "url(" in value for one in _URL.findall(value)]


def link_of(attributes: Mapping[str, str]) -> str | None:
    """The reference of an element: `href`, before the older `xlink:href`."""
    link = attributes.get("href", attributes.get("xlink:href"))
    return None if link is None else link.strip()


def embedded_svg(tag: str, attributes: Mapping[str, str]) -> bytes | None:
    """The bytes of an SVG file in a `data:` URI; None for everything else."""
    link = link_of(attributes) or ""
    if tag not in ("image", "feImage") or not link.startswith("data:image/svg"):
        return None
    head, _, text = link.partition(",")
    try:
        return b64decode("".join(text.split())) if head.endswith(";base64") else unquote_to_bytes(text)
    except (Error, ValueError):
        return None


def data_link(document: str) -> str:
    """An SVG document as a `data:` URI."""
    return "data:image/svg+xml;base64," + b64encode(document.encode()).decode()
