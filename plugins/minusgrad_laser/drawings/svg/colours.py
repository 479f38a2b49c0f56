"""Colours of CSS as "#rrggbb" and an opacity; those that are not resolved are refused by name.

Source: CSS Color 4 (hex, names, rgb, hsl, hwb; sRGB alone). Names are those of Pillow, the 148 of CSS.
"""

import re
from colorsys import hls_to_rgb
from functools import lru_cache

from .faults import refuse
from .numbers import DEGREES, NUMBER, number

Colour = tuple[str, float]
"""As "#rrggbb", with its opacity in [0, 1]."""
_FUNCTION = re.compile(r"(rgba?|hsla?|hwb)\(\s*(.*?)\s*\)", re.DOTALL)
_VALUE = re.compile(rf"({NUMBER})(%|deg|grad|rad|turn)?", re.ASCII)


@lru_cache(10_000)
def parse_colour(name: str, text: str) -> Colour:
    """The colour of a property `name`. Raises `SvgError` for one that is not resolved."""
    plain = text.strip().lower()
    if plain == "transparent":
        return "#000000", 0.0
    if re.fullmatch("#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", plain):
        digits = plain[1:] if len(plain) > 5 else "".join(2 * one for one in plain[1:])
        return f"#{digits[:6]}", int(digits[6:] or "ff", 16) / 255.0
    if found := _FUNCTION.fullmatch(plain):
        colour = _parse_function(found[1][:3], found[2])
        if colour is not None:
            return colour
    from PIL.ImageColor import colormap

    known = colormap.get(plain)
    if not isinstance(known, str):
        refuse(f"{name}: colour '{text.strip()[:60]}' is not resolved; give it as #rrggbb")
    return known, 1.0


def _parse_function(kind: str, text: str) -> Colour | None:
    """Of rgb, hsl or hwb; None for what has not three numbers, or four."""
    if "," in text:
        parts = [one.strip() for one in text.split(",")]
    else:
        before, slash, after = text.partition("/")
        parts = [*before.split(), *([after.strip()] if slash else [])]
    values = [_VALUE.fullmatch(one) for one in parts]
    if len(values) not in (3, 4) or any(one is None for one in values):
        return None
    given = [(float(one[1]), one[2]) for one in values if one is not None]
    opacity = 1.0 if len(given) == 3 else _fraction(given[3])
    if opacity is None:
        return None
    if kind == "rgb":
        units = {unit for _, unit in given[:3]}
        if units not in ({None}, {"%"}) or (units == {None} and given[-1][1] == "%"):
            return None  # numbers with an opacity in percent are read in two ways
        whole = 100.0 if given[0][1] == "%" else 255.0
        channels = [value / whole for value, _ in given[:3]]
    else:
        hue, unit = given[0][0], given[0][1] or "deg"
        if unit not in DEGREES or any(other != "%" for _, other in given[1:3]):
            return None
        turn = hue * DEGREES[unit] / 360.0 % 1.0
        a, b = (min(1.0, max(0.0, value / 100.0)) for value, _ in given[1:3])
        channels = list(hls_to_rgb(turn, b, a) if kind == "hsl" else _mix_grey(turn, a, b))
    return "#" + "".join(f"{int(255.0 * min(1.0, max(0.0, one)) + 0.5):02x}" for one in channels), opacity


def _mix_grey(turn: float, white: float, black: float) -> tuple[float, ...]:
    """hwb: a full colour with white and black mixed in."""
    total = white + black
    if total >= 1.0:
        return (white / total,) * 3
    return tuple(one * (1.0 - total) + white for one in hls_to_rgb(turn, 0.5, 1.0))


def _fraction(value: tuple[float, str | None]) -> float | None:
    number, unit = value
    if unit not in (None, "%"):
        return None
    return min(1.0, max(0.0, number / 100.0 if unit else number))


def parse_opacity(name: str, text: str) -> float:
    """An opacity in [0, 1], of a number or a percentage. Raises `SvgError`."""
    value = number(text.rstrip("%").strip())
    if value is None:
        refuse(f"{name}: '{text[:40]}' is no opacity; give a number from 0 to 1")
    return min(1.0, max(0.0, value / 100.0 if text.endswith("%") else value))
