"""Functions that compilers lack: log, exp, atan2 of SIMD vectors, the first two on devices of single numbers.

    log x = k log 2 + 2 artanh z,    z = (y - 1) / (y + 1),    x = 2^k y,    sqrt(1/2) <= y < sqrt(2)

k is read from the exponent of each lane, if any lane needs it. The series in
z^2 <= 0.0295 is truncated below rounding; the result is accurate to two eps of log x, also near x = 1.

    exp x = 2^k exp r,    k = floor(x / log 2 + 1/2),    r = x - k log 2 in two parts, |r| <= log 2 / 2

exp r is a series in r, truncated below rounding; 2^k is written into the exponent of each lane; the result
is accurate to two eps over the range of normal numbers, and zero below it at the latest.

    atan2(y, x) = +-(m pi/4 +- atan t),   t = min / max of |x| and |y|, or (min - max) / (min + max)

The second t is taken where the first is above tan(pi/8). atan t = t P(t^2), P the polynomial through the
Chebyshev points of t^2 <= tan^2(pi/8), whose error is below rounding; the sign is that of the bits of y. The
result is accurate to three eps.

Decisions 0137, 0217.
"""

import linecache
import math
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

FUNCTIONS = ("log", "exp", "atan2")
"""The available functions."""
_CALLED = re.compile(rf"\b({'|'.join(FUNCTIONS)})_(f32|f64)x(\d+)\b")
_TERMS = {"f32": 5, "f64": 12}
"""Of the series of log."""
_BITS = {"f32": ("i32", 127, 23), "f64": ("i64", 1023, 52)}
"""Of a number the bits of its exponent: their type, the offset of the exponent, their place."""


def name(function: str, real: str, wide: int) -> str:
    """The name in kernels, such as log_f32x16."""
    return f"{function}_{real}x{wide}"


def helpers(ti: ModuleType, text: str) -> dict[str, Callable]:
    """The Taichi functions of vectors that a kernel's text calls, by name."""
    made = {}
    for function, real, wide in sorted(set(_CALLED.findall(text))):
        called = name(function, real, int(wide))
        source, file, scope = (
            vector_function_text(function, called, real, int(wide)),
            f"<minusgrad {called}>",
            {"ti": ti},
        )
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), scope)
        made[called] = ti.func(scope[called])
    return made


def vector_function_text(function: str, called: str, real: str, wide: int) -> str:
    """The source text of a function of vectors of so many numbers, or of one number."""
    return {"log": _log, "exp": _exp, "atan2": _atan2}[function](called, real, wide)


def _constant_texts(real: str, wide: int) -> Callable[[Any], str]:
    """The text of a number as a vector; of one lane, as itself."""
    if wide == 1:
        return lambda number: f"ti.{real}({number})"
    return lambda number: f"ti.Vector([ti.{real}({number})] * {wide})"


def _by_lane(text: str, name: str, wide: int) -> str:
    """A vector from the text for one lane, in which `name` is a vector; names are parted by |."""
    if wide == 1:
        return text
    lanes = (re.sub(rf"\b({name})\b", rf"\1[{lane}]", text) for lane in range(wide))
    return f"ti.Vector([{', '.join(lanes)}])"


def _log(called: str, real: str, wide: int) -> str:
    vector = _constant_texts(real, wide)
    terms, up, (whole, offset, place) = _TERMS[real], {"f32": 64, "f64": 512}[real], _BITS[real]
    root, mantissa = math.sqrt(0.5), (1 << place) - 1
    bits, one = f"ti.bit_cast(y, ti.{whole})", f"ti.{whole}({offset << place})"
    exponent = f"ti.cast(({bits} >> ti.{whole}({place})), ti.{real})"
    fraction = f"ti.bit_cast(({bits} & ti.{whole}({mantissa})) | {one}, ti.{real})"
    reduced = [
        f"c = y < {vector(2.0 ** (1 - up))}",
        f"y = ti.select(c, y * {vector(2.0**up)}, y)",
        f"k = ti.select(c, {vector(float(-up - offset))}, {vector(float(-offset))})",
        f"k = k + {_by_lane(exponent, 'y', wide)}",
        f"y = {_by_lane(fraction, 'y', wide)}",
        f"c = y >= {vector(2.0 * root)}",
        f"y = ti.select(c, y * {vector(0.5)}, y)",
        f"k = ti.select(c, k + {vector(1.0)}, k)",
    ]
    series = vector(2.0 / (2 * terms - 1))
    for n in reversed(range(terms - 1)):
        series = f"({series} * q + {vector(2.0 / (2 * n + 1))})"
    lines = [
        "y = x",
        f"k = {vector(0.0)}",
        f"far = ti.select((x < {vector(root)}) | (x >= {vector(2.0 * root)}), {vector(1.0)}, {vector(0.0)})",
        f"if far{'.sum()' if wide > 1 else ''} > ti.{real}(0.0):",
        *(f"    {line}" for line in reduced),
        f"z = (y - {vector(1.0)}) / (y + {vector(1.0)})",
        "q = z * z",
        f"value = k * {vector(math.log(2.0))} + z * {series}",
        f"edge = ti.select(x < {vector(0.0)}, {vector('ti.math.nan')}, {vector('-ti.math.inf')})",
        f"value = ti.select(x > {vector(0.0)}, value, edge)",
        f"return ti.select(x <= {vector(largest(real))}, value, x)",
    ]
    return f"def {called}(x):\n" + "".join(f"    {line}\n" for line in lines)


_POWERS = {
    "f32": (8, (-104.0, 88.72283905206835), (0.693359375, -2.12194440054690583e-4)),
    "f64": (14, (-746.0, 709.782712893384), (0.6931471803691238, 1.90821492927058770e-10)),
}
"""Of exp: terms of the series; x below which it is 0 and above which it is infinite; log 2 in two parts, of
which products of the first with k are exact."""


def _exp(called: str, real: str, wide: int) -> str:
    vector = _constant_texts(real, wide)
    (terms, (low, high), (first, rest)), (whole, offset, place) = _POWERS[real], _BITS[real]
    series = vector(1.0)
    for n in reversed(range(1, terms)):
        series = f"({series} * r * {vector(1.0 / n)} + {vector(1.0)})"
    bits = f"(ti.cast(k, ti.{whole}) + ti.{whole}({offset})) << ti.{whole}({place})"
    power = f"ti.bit_cast({bits}, ti.{real})"
    lines = [
        f"far = ti.max(x, {vector(0.0)} - x) > {vector(0.5 * high)}",
        f"y = ti.select(far, x * {vector(0.5)}, x)",  # of which the square: 2^k shall be a normal number
        f"y = ti.select(y < {vector(0.5 * high)}, y, {vector(0.5 * high)})",
        f"y = ti.select(y > {vector(0.5 * low)}, y, {vector(0.5 * low)})",
        f"k = ti.floor(y * {vector(1.0 / math.log(2.0))} + {vector(0.5)})",
        f"r = ti.max(y - k * {vector(first)}, {vector(-2.0)}) - k * {vector(rest)}",  # else one product
        f"value = {series} * {_by_lane(power, 'k', wide)}",
        "value = ti.select(far, value * value, value)",
        f"value = ti.select(x > {vector(low)}, value, {vector(0.0)})",
        f"value = ti.select(x > {vector(high)}, {vector('ti.math.inf')}, value)",
        f"return ti.select(x <= {vector(largest(real))}, value, x)",
    ]
    return f"def {called}(x):\n" + "".join(f"    {line}\n" for line in lines)


_ARCS = {"f32": 6, "f64": 12}
"""Terms of P."""


def _atan2(called: str, real: str, wide: int) -> str:
    vector, whole = _constant_texts(real, wide), _BITS[real][0]
    series = vector(0.0)
    for coefficient in reversed(_arc_polynomial(_ARCS[real])):
        series = f"({series} * q + {vector(coefficient)})"
    sign = f"(ti.bit_cast(y, ti.{whole}) & ti.{whole}({-(1 << 8 * (4 if real == 'f32' else 8) - 1)}))"
    signed = f"ti.bit_cast(ti.bit_cast(value, ti.{whole}) | {sign}, ti.{real})"
    lines = [
        f"sx, sy = ti.max(x, {vector(0.0)} - x), ti.max(y, {vector(0.0)} - y)",
        f"ax, ay = ti.min(sx, {vector(largest(real))}), ti.min(sy, {vector(largest(real))})",
        "most, least = ti.max(ax, ay), ti.min(ax, ay)",
        f"far = least > {vector(math.tan(math.pi / 8))} * most",
        "above, below = ti.select(far, least - most, least), ti.select(far, least + most, most)",
        f"below = ti.min(below, {vector(largest(real))})",
        f"t = above / ti.select(below > {vector(0.0)}, below, {vector(1.0)})",
        f"q = t * t * {vector(2.0 / math.tan(math.pi / 8) ** 2)} - {vector(1.0)}",
        f"value = t * {series}",
        f"value = ti.select(far, value + {vector(math.pi / 4)}, value)",
        f"value = ti.select(ay > ax, {vector(math.pi / 2)} - value, value)",
        f"value = ti.select(x < {vector(0.0)}, {vector(math.pi)} - value, value)",
        f"value = {_by_lane(signed, 'value|y', wide)}",
        f"known = (sx <= {vector('ti.math.inf')}) & (sy <= {vector('ti.math.inf')})",
        "return ti.select(known, value, x + y)",
    ]
    return f"def {called}(y, x):\n" + "".join(f"    {line}\n" for line in lines)


def _arc_polynomial(terms: int) -> list[float]:
    """P of so many terms, from that of order zero on, over 2 t^2 / tan^2(pi/8) - 1."""
    import numpy as np

    points = np.cos(math.pi * (np.arange(terms) + 0.5) / terms)
    t = math.tan(math.pi / 8) * np.sqrt(0.5 * (points + 1.0))
    return np.polynomial.chebyshev.cheb2poly(
        np.polynomial.chebyshev.chebfit(points, np.arctan(t) / t, terms - 1)
    ).tolist()


def largest(real: str) -> float:
    """The largest finite number of a precision."""
    return (2.0 - 2.0**-23) * 2.0**127 if real == "f32" else (2.0 - 2.0**-52) * 2.0**1023
