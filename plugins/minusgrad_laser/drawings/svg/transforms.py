"""Transforms of an element, of its attribute or a style, about its origin.

    p' = M p,   M = T(o) F_1 F_2 ... T(-o)

A matrix is (a, b, c, d, e, f): x' = a x + c y + e, y' = b x + d y + f. o is `transform-origin` [px], by
default the origin of the coordinates. Source: CSS Transforms 1; boxes other than the viewport are refused.
"""

import re
from math import cos, radians, sin, tan

from .faults import refuse
from .numbers import DEGREES, NUMBER, Lengths

Matrix = tuple[float, float, float, float, float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_FUNCTION = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*,?", re.ASCII)
_VALUE = re.compile(rf"({NUMBER})([A-Za-z%]*)", re.ASCII)
COUNTS = {
    "matrix": (6,), "translate": (1, 2), "translatex": (1,), "translatey": (1,), "scale": (1, 2),
    "scalex": (1,), "scaley": (1,), "rotate": (1, 3), "skewx": (1,), "skewy": (1,), "skew": (1, 2),
}  # fmt: skip
"""Numbers of each function."""
ANGLES = {"": 1.0, **DEGREES}
"""Degrees."""


def multiply(m: Matrix, n: Matrix) -> Matrix:
    """m n: n acts first."""
    a, b, c, d, e, f = m
    g, h, i, j, k, l = n  # noqa: E741
    return a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f


def translation(x: float, y: float) -> Matrix:
    return 1.0, 0.0, 0.0, 1.0, x, y


def element_transform(
    declared: dict[str, str], lengths: Lengths, viewport: tuple[float, float]
) -> Matrix | None:
    """Of what an element states; None for none. Raises `SvgError`."""
    for name in ("rotate", "scale", "translate", "zoom"):
        if declared.get(name, "none") not in ("none", "normal", ""):
            refuse(f"property {name} '{declared[name][:40]}' is not resolved; use transform")
    text = declared.get("transform", "none")
    if text.lower() in ("none", ""):
        return None
    if declared.get("transform-box", "view-box") != "view-box":
        refuse(f"transform-box '{declared['transform-box'][:40]}' is not resolved; apply the transform")
    matrix = _parse_functions(text, lengths, viewport)
    if (origin := declared.get("transform-origin")) is not None:
        x, y = _parse_origin(origin, lengths, viewport)
        matrix = multiply(multiply(translation(x, y), matrix), translation(-x, -y))
    return matrix


def _parse_functions(text: str, lengths: Lengths, viewport: tuple[float, float]) -> Matrix:
    matrix, at = IDENTITY, 0
    while found := _FUNCTION.match(text, at):
        at = found.end()
        name, values = found[1].lower(), found[2].replace(",", " ")
        values = re.sub(r"(?<=[\d.])(?=[+-])(?<![eE])", " ", values)
        one = [_VALUE.fullmatch(part) for part in values.split()]
        if name not in COUNTS or len(one) not in COUNTS[name] or any(part is None for part in one):
            break
        numbers = [(float(part[1]), part[2].lower()) for part in one if part is not None]
        matrix = multiply(matrix, _function_matrix(name, numbers, text, lengths, viewport))
    else:
        if not text[at:].strip():
            return matrix
    refuse(f"transform '{text[:60]}' is not understood; correct it, or apply the transform")


def _function_matrix(
    name: str, given: list[tuple[float, str]], text: str, lengths: Lengths, viewport: tuple[float, float]
) -> Matrix:
    def length(k: int, whole: float) -> float:
        value, unit = given[k]
        return lengths.resolve("transform", f"{value!r}{unit}", whole, None)

    def angle(k: int) -> float:
        value, unit = given[k]
        if unit not in ANGLES:
            refuse(f"transform '{text[:60]}': '{unit}' is no unit of an angle; use deg")
        return radians(value * ANGLES[unit])

    def plain(k: int) -> float:
        value, unit = given[k]
        if unit not in ("", "%") or (unit and not name.startswith("scale")):
            refuse(f"transform '{text[:60]}': {name} takes numbers, got a unit '{unit}'; correct it")
        return value / 100.0 if unit else value

    many = len(given) > 1
    if name == "matrix":
        a, b, c, d, e, f = (plain(k) for k in range(6))
        return a, b, c, d, e, f
    if name.startswith("translate"):
        if name == "translatey":
            return translation(0.0, length(0, viewport[1]))
        return translation(length(0, viewport[0]), length(1, viewport[1]) if many else 0.0)
    if name.startswith("scale"):
        x = plain(0)
        y = plain(1) if many else x
        x, y = (1.0, x) if name == "scaley" else (x, 1.0 if name == "scalex" else y)
        return x, 0.0, 0.0, y, 0.0, 0.0
    turn = angle(0)
    if name == "rotate":
        rotation = (cos(turn), sin(turn), -sin(turn), cos(turn), 0.0, 0.0)
        if not many:
            return rotation
        x, y = plain(1), plain(2)
        return multiply(multiply(translation(x, y), rotation), translation(-x, -y))
    if name == "skewy":
        return 1.0, tan(turn), 0.0, 1.0, 0.0, 0.0
    return 1.0, tan(angle(1)) if many else 0.0, tan(turn), 1.0, 0.0, 0.0


def _parse_origin(text: str, lengths: Lengths, viewport: tuple[float, float]) -> tuple[float, float]:
    """Of one word, or two: lengths, percentages of the viewport, or sides of it."""
    words = text.lower().split()
    if len(words) == 3 and words[2] in ("0", "0px"):
        words.pop()
    if len(words) not in (1, 2):
        refuse(f"transform-origin '{text[:60]}' is not understood; give two lengths")
    if len(words) == 2 and (words[0] in ("top", "bottom") or words[1] in ("left", "right")):
        words.reverse()
    if len(words) == 1:
        words = ["center", words[0]] if words[0] in ("top", "bottom") else [words[0], "center"]
    parts = ({"left": 0.0, "center": 0.5, "right": 1.0}, {"top": 0.0, "center": 0.5, "bottom": 1.0})
    found = []
    for word, part, whole in zip(words, parts, viewport, strict=True):
        if word in part:
            found.append(part[word] * whole)
        else:
            found.append(lengths.resolve("transform-origin", word, whole, None))
    return found[0], found[1]
