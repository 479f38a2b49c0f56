"""The page of an SVG file: width and height by their units, else by the viewBox.

Sources: SVG 2, 8.2 (viewport) and 8.12 (intrinsic size); CSS Values 4, 6.2 (absolute lengths).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from minusgrad.plugin import UserError

from ..drawings.svg.numbers import INCHES, number

LENGTHS = {**INCHES, "q": 1.0 / 101.6}
"""Inches of the units of length."""
LARGEST = 1e9
_LENGTH = re.compile(r"([^\sA-Za-z%]+(?:[eE][+-]?\d+)?)\s*([A-Za-z%]*)")


@dataclass(frozen=True)
class Page:
    """Width and height [px], None for one that follows from nothing; is_sized: as lengths in the file.

    far: the largest coordinate of its viewBox, in parts of its width or height.
    """

    width: float | None
    height: float | None
    is_sized: bool
    far: float = 1.0


def read_page(place: str, attributes: Mapping[str, str], dpi: float) -> Page:
    """The page of the attributes of an <svg>. Raises `UserError` for sizes that are none."""
    corner, box = _view_box(place, attributes)
    sides = [_side(place, key, attributes, dpi) for key in ("width", "height")]
    lengths = [length if unit != "%" else None for length, unit in sides]
    if box is None:
        return Page(lengths[0], lengths[1], None not in lengths)
    far = max(max(abs(low), abs(low + side)) / side for low, side in zip(corner, box, strict=True))
    absent = [length is None and unit == "" for length, unit in sides]
    if absent[1] and lengths[0] is not None:
        return Page(lengths[0], lengths[0] * box[1] / box[0], True, far)
    if absent[0] and lengths[1] is not None:
        return Page(lengths[1] * box[0] / box[1], lengths[1], True, far)
    found = [
        one if one is not None else of * (1.0 if length is None else length / 100.0)
        for one, of, (length, _) in zip(lengths, box, sides, strict=True)
    ]
    return Page(found[0], found[1], None not in lengths, far)


def _side(place: str, key: str, attributes: Mapping[str, str], dpi: float) -> tuple[float | None, str]:
    """A length [px] or a percentage with "%"; None with the unit that is no length, "" where it is absent."""
    text = attributes.get(key, "").strip()
    if text in ("", "auto"):
        return None, ""
    found = _LENGTH.fullmatch(text)
    value = number(found[1]) if found else None
    if found is None or value is None or not 0.0 < value < LARGEST:
        raise UserError(
            f"{place}: {key} is '{attributes[key][:60]}'; a drawing needs a size above 0, below 1e9, such as"
            " 20mm"
        )
    unit = found[2].lower()
    if unit in ("", "px", "%"):
        return value, unit
    return (value * LENGTHS[unit] * dpi, unit) if unit in LENGTHS else (None, unit)


def _view_box(
    place: str, attributes: Mapping[str, str]
) -> tuple[tuple[float, float], tuple[float, float] | None]:
    """Corner of the viewBox, and its width and height, None without one."""
    text = attributes.get("viewBox")
    if text is None or not text.strip():
        return (0.0, 0.0), None
    box = [number(one) for one in text.replace(",", " ").split()]
    numbers = [one for one in box if one is not None and abs(one) < LARGEST]
    if not (len(box) == len(numbers) == 4 and min(numbers[2:]) > 1e-9):
        raise UserError(f"{place}: viewBox is '{text[:60]}'; it needs four numbers, width and height above 0")
    return (numbers[0], numbers[1]), (numbers[2], numbers[3])
