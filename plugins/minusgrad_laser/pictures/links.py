"""References of an SVG file: within the file, or pictures in `data:` URIs; no other file is read."""

from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

FOLLOWED = ("image", "feImage", "use", "tref")
"""Elements that draw what they refer to."""


def fault_of_link(tag: str, attributes: Mapping[str, str], is_clip: bool) -> str | None:
    """What is wrong with the reference of an element; None for nothing.

    is_clip: within a clipPath, where a picture is not drawn.
    """
    link = link_of(attributes)
    if tag not in FOLLOWED or link is None or link.startswith("#"):
        return None
    if tag in ("image", "feImage") and link.startswith("data:"):
        return None
    if tag == "image" and (is_clip or "0" in (attributes.get("width"), attributes.get("height"))):
        return None  # never drawn
    cure = "embed it" if tag in ("image", "feImage") else "copy it into the file"
    return f"refers to '{link[:60]}'; only what is in the file is drawn: {cure}"


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
