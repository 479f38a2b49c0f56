"""Elementary functions in emitted kernels on devices whose own are inexact, or lack double precision.

Vulkan has none of them in f64 and promises few digits in f32: 2^-11 for sin and cos, 4,096 ulp for asin.
Kernels that the framework emits get a stand-in for `ti` there, whose `exp`, `log` and others are these:

    exp, log       as in vectors on the CPU (`vector_functions`)
    sin, cos       x = k pi/2 + r, k pi/2 in four parts of which all products with k are exact; series in r
    tan            sin / cos
    atan2          t = min / max of |x| and |y|, then of pi/4 less and halved,
                   atan t = 2 atan(t / (1 + sqrt(1 + t^2))), until |t| <= tan(pi/16); series in t
    asin, acos     atan2 with sqrt((1 - x) (1 + x))
    tanh           E / (E + 2), E = exp(2x) - 1 by its series for |x| < 1/2, else 1 - 2 / (exp(2 |x|) + 1)
    pow            a^b = 2^(b k) exp(b log m), a = 2^k m, b k in two parts; in f32 computed in f64

Of f64 the results are accurate to 4 eps, of f32 to 3 eps; pow to (3 + |b| / 2) eps. Beyond |x| = 2^40 sin,
cos and tan are NaN. Series are truncated below rounding (DLMF 4.19, 4.24, 4.33).

Kernels that users write keep the device's own functions: they may be reversed by the engine, which would take
the derivative of the bits of an exponent for zero.

Decisions 0201.
"""

import linecache
import math
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from . import vector_functions

DEVICES = ("vulkan", "metal")
"""Architectures whose own functions are replaced."""
FUNCTIONS = ("exp", "log", "sin", "cos", "tan", "asin", "acos", "tanh", "atan2", "pow")
"""The functions of `ti` that are replaced."""
_WHOLE = {"f32": "i32", "f64": "i64"}
_QUARTER = [
    float.fromhex(part)
    for part in ("0x1.921FB544p0", "0x1.0B4611A6p-34", "0x1.3198A2E0p-69", "0x1.B839A252049C1p-104")
]
"""pi/2 in parts of 33 bits, the last one rounded: products with k < 2^20 are exact (Cody and Waite 1980).

f32 needs three of them, because some of its numbers are as near to multiples of pi/2 as 2^-30."""
_EIGHTH = {
    "f32": (float.fromhex("0x1.921fb6p-1"), float.fromhex("-0x1.777a5cf72cecep-26")),
    "f64": (math.pi / 4, float.fromhex("0x1.1a62633145c07p-55")),
}
"""pi/4 in two parts."""
_TERMS = {"f32": {"sin": 5, "atan": 6, "tanh": 11}, "f64": {"sin": 9, "atan": 12, "tanh": 20}}
"""Of the series: powers of r^2, of t^2 and of 2x."""
_SMALL = {"f32": 2.0**-60, "f64": 2.0**-500}
"""Numbers below it are multiplied by its reciprocal before they are divided."""


@cache
def language(ti: ModuleType, arch: str) -> Any:
    """`ti` in the text of emitted kernels: the engine's module, or a stand-in with functions of our own."""
    return _Language(ti, arch) if arch in DEVICES else ti


class _Language:
    """The engine's module with other elementary functions."""

    def __init__(self, ti: ModuleType, arch: str):
        self._ti, self.__name__ = ti, f"{ti.__name__} on {arch}"
        (
            self.exp,
            self.log,
            self.sin,
            self.cos,
            self.tan,
            self.asin,
            self.acos,
            self.tanh,
            self.atan2,
            self.pow,
        ) = (_Function(self, name, getattr(ti, name)) for name in FUNCTIONS)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ti, name)


class _Function:
    """A function that looks at the type of its argument when a kernel is compiled.

    The engines warn of calls to functions of other modules than theirs.
    """

    def __init__(self, language: Any, name: str, own: Callable):
        self._language, self._name, self._own = language, name, own
        self._made: dict[str, Callable] = {}
        self.__module__ = own.__module__

    def __call__(self, *arguments: Any) -> Any:
        kinds = [self._argument_precision(argument) for argument in arguments]
        if self._name == "pow" and not (kinds[1] or isinstance(arguments[1], float)):
            return self._own(*arguments)  # whole powers
        if not any(kinds):
            return self._own(*arguments)  # numbers of Python
        real = "f64" if "f64" in kinds else "f32"
        if real not in self._made:
            self._made[real] = _compile_function(self._language, self._name, real)
        return self._made[real](*arguments)

    @staticmethod
    def _argument_precision(argument: Any) -> str:
        """f32 or f64; empty for whole numbers, and for those that Python knows."""
        pointer: Any = getattr(argument, "ptr", None)
        kind = pointer.get_rvalue_type().to_string() if hasattr(pointer, "get_rvalue_type") else ""
        return kind if kind in _WHOLE else ""


def _compile_function(language: Any, name: str, real: str) -> Callable:
    """The engine's function of this name and precision."""
    called = f"{name}_{real}"
    source, file, scope = _TEXTS[name](called, real), f"<minusgrad {called}>", {"ti": language}
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), scope)
    return language.func(scope[called])


def _number(real: str) -> Callable[[float], str]:
    return lambda number: f"ti.{real}({number!r})"


def _polynomial_text(x: str, coefficients: list[float], real: str) -> str:
    """A polynomial in x, the lowest power first, by Horner's rule."""
    text = f"ti.{real}({coefficients[-1]!r})"
    for c in reversed(coefficients[:-1]):
        text = f"({text} * {x} + ti.{real}({c!r}))"
    return text


def _function_text(head: str, lines: list[str]) -> str:
    return f"def {head}:\n" + "".join(f"    {line}\n" for line in lines)


def _circular(called: str, real: str) -> str:
    """sin, cos or tan of x, by sine and cosine of r and the quarter k mod 4."""
    c, name = _number(real), called.split("_")[0]
    count = _TERMS[real]["sin"]
    sine = [(-1.0) ** n / math.factorial(2 * n + 1) for n in range(count)]
    cosine = [(-1.0) ** n / math.factorial(2 * n) for n in range(count + 1)]
    parts = map(_number("f64"), _QUARTER if real == "f64" else _QUARTER[:3])
    reduced = [
        "high = ti.floor(k * ti.f64(9.5367431640625e-07) + ti.f64(0.5)) * ti.f64(1048576.0)",
        "low = k - high",
        "y = z",
        *(f"y = (y - high * {part}) - low * {part}" for part in parts),
    ]
    by_quarter = {
        "sin": "ti.select(odd, co, si)",
        "cos": "ti.select(odd, si, co)",
        "tan": f"ti.select(odd, {c(0.0)} - co / si, si / co)",
    }[name]
    turned = {"sin": "quarter >= ti.f64(2.0)", "cos": "(quarter == ti.f64(1.0)) | (quarter == ti.f64(2.0))"}
    return _function_text(
        f"{called}(x)",
        [
            "z = ti.f64(x)",
            f"k = ti.floor(z * ti.f64({2.0 / math.pi!r}) + ti.f64(0.5))",
            *reduced,
            f"r = ti.{real}(y)",
            "q = r * r",
            f"si = r * {_polynomial_text('q', sine, real)}",
            f"co = {_polynomial_text('q', cosine, real)}",
            "quarter = k - ti.f64(4.0) * ti.floor(k * ti.f64(0.25))",
            "odd = (quarter == ti.f64(1.0)) | (quarter == ti.f64(3.0))",
            f"value = {by_quarter}",
            *([f"value = ti.select({turned[name]}, {c(0.0)} - value, value)"] if name in turned else []),
            f"known = ti.abs(z) <= ti.f64({2.0**40!r})",
            f"return ti.select(known, value, ti.{real}(ti.math.nan))",
        ],
    )


def _atan2(called: str, real: str) -> str:
    c, largest = _number(real), vector_functions.largest(real)
    series = [(-1.0) ** n / (2 * n + 1) for n in range(_TERMS[real]["atan"])]
    eighth, rest = _EIGHTH[real]
    return _function_text(
        f"{called}(y, x)",
        [
            "ax, ay = ti.abs(x), ti.abs(y)",
            f"up = ti.select(ti.max(ax, ay) < {c(_SMALL[real])}, {c(1.0 / _SMALL[real])}, {c(1.0)})",
            "most, least = ti.max(ax, ay) * up, ti.min(ax, ay) * up",
            f"z = ti.select(most > {c(0.0)}, least / ti.select(most > {c(0.0)}, most, {c(1.0)}), {c(0.0)})",
            f"z = ti.select(least > {c(largest)}, {c(1.0)}, z)",
            f"far = z > {c(math.tan(math.pi / 8))}",
            f"t = ti.select(far, (z - {c(1.0)}) / (z + {c(1.0)}), z)",
            f"t = t / ({c(1.0)} + ti.sqrt({c(1.0)} + t * t))",
            "q = t * t",
            f"value = {c(2.0)} * t * {_polynomial_text('q', series, real)}",
            # multiples of pi/4 in two parts
            f"eighths = ti.select(far, {c(1.0)}, {c(0.0)})",
            f"eighths = ti.select(ay > ax, {c(2.0)} - eighths, eighths)",
            f"value = ti.select(ay > ax, {c(0.0)} - value, value)",
            f"left = ti.bit_cast(x, ti.{_WHOLE[real]}) < ti.{_WHOLE[real]}(0)",
            f"eighths = ti.select(left, {c(4.0)} - eighths, eighths)",
            f"value = ti.select(left, {c(0.0)} - value, value)",
            f"value = eighths * {c(eighth)} + (value + eighths * {c(rest)})",
            f"below = ti.bit_cast(y, ti.{_WHOLE[real]}) < ti.{_WHOLE[real]}(0)",
            f"value = ti.select(below, {c(0.0)} - value, value)",
            "known = (ax <= ti.math.inf) & (ay <= ti.math.inf)",
            "return ti.select(known, value, x + y)",
        ],
    )


def _asin(called: str, real: str) -> str:
    c = _number(real)
    return _function_text(f"{called}(x)", [f"return ti.atan2(x, ti.sqrt(({c(1.0)} - x) * ({c(1.0)} + x)))"])


def _acos(called: str, real: str) -> str:
    c = _number(real)
    return _function_text(f"{called}(x)", [f"return ti.atan2(ti.sqrt(({c(1.0)} - x) * ({c(1.0)} + x)), x)"])


def _tanh(called: str, real: str) -> str:
    c = _number(real)
    series = [1.0 / math.factorial(n + 1) for n in range(_TERMS[real]["tanh"])]
    return _function_text(
        f"{called}(x)",
        [
            "a = ti.abs(x)",
            f"r = ti.min({c(2.0)} * a, {c(1.0)})",
            f"grown = r * {_polynomial_text('r', series, real)}",
            f"near = grown / (grown + {c(2.0)})",
            f"far = {c(1.0)} - {c(2.0)} / (ti.exp({c(2.0)} * ti.min(a, {c(22.0)})) + {c(1.0)})",
            f"value = ti.select(a < {c(0.5)}, near, far)",
            f"value = ti.select(x < {c(0.0)}, {c(0.0)} - value, value)",
            "return ti.select(a <= ti.math.inf, value, x)",
        ],
    )


def _pow(called: str, real: str) -> str:
    """In f64, whichever the precision is."""
    tiny, largest, log2 = 2.0**-1022, vector_functions.largest("f64"), math.log(2.0)
    return _function_text(
        f"{called}(base, power)",
        [
            "b = ti.min(ti.max(ti.f64(power), ti.f64(-1e18)), ti.f64(1e18))",
            "size = ti.abs(ti.f64(base))",
            f"small = size < ti.f64({tiny!r})",
            "a = ti.select(small, size * ti.f64(18014398509481984.0), size)",
            "bits = ti.bit_cast(a, ti.i64)",
            "k = ti.f64((bits >> ti.i64(52)) - ti.i64(1023)) - ti.select(small, ti.f64(54.0), ti.f64(0.0))",
            f"m = ti.bit_cast((bits & ti.i64({(1 << 52) - 1})) | ti.i64({1023 << 52}), ti.f64)",
            f"c = m > ti.f64({math.sqrt(2.0)!r})",
            "m = ti.select(c, m * ti.f64(0.5), m)",
            "k = ti.select(c, k + ti.f64(1.0), k)",
            # b in two parts, of which products of the first with k are exact
            "high = ti.f64(ti.f32(b))",
            "whole = ti.floor(high * k + ti.f64(0.5))",
            # not (high k - whole + (b - high) k) log 2, of which a compiler may make b k - whole
            f"rest = (high * k - whole) * ti.f64({log2!r}) + (b - high) * (k * ti.f64({log2!r}))",
            "rest = rest + b * ti.log(m)",
            f"total = whole * ti.f64({log2!r}) + rest",
            "whole = ti.min(ti.max(whole, ti.f64(-2000.0)), ti.f64(2000.0))",
            "half = ti.floor(whole * ti.f64(0.5))",
            "first = ti.bit_cast((ti.cast(half, ti.i64) + ti.i64(1023)) << ti.i64(52), ti.f64)",
            "second = ti.bit_cast((ti.cast(whole - half, ti.i64) + ti.i64(1023)) << ti.i64(52), ti.f64)",
            "value = ti.exp(rest) * first * second",
            "none, most = ti.f64(0.0), ti.f64(ti.math.inf)",
            "value = ti.select(total > ti.f64(720.0), most, ti.select(total < ti.f64(-760.0), none, value))",
            "grows = b > ti.f64(0.0)",
            "value = ti.select(size > ti.f64(0.0), value, ti.select(grows, none, most))",
            f"value = ti.select(size > ti.f64({largest!r}), ti.select(grows, most, none), value)",
            "odd = ti.abs(b - ti.f64(2.0) * ti.floor(b * ti.f64(0.5))) == ti.f64(1.0)",
            f"broken = (ti.floor(b) != b) & (size > ti.f64(0.0)) & (size <= ti.f64({largest!r}))",
            "turned = ti.select(odd, ti.f64(0.0) - value, ti.select(broken, ti.f64(ti.math.nan), value))",
            "value = ti.select(ti.bit_cast(ti.f64(base), ti.i64) < ti.i64(0), turned, value)",
            "value = ti.select(b == ti.f64(0.0), ti.f64(1.0), value)",
            "known = (size <= ti.math.inf) & (ti.abs(ti.f64(power)) <= ti.math.inf)",
            f"return ti.{real}(ti.select(known, value, ti.f64(base) + ti.f64(power)))",
        ],
    )


_TEXTS: dict[str, Callable[[str, str], str]] = {
    "exp": lambda called, real: vector_functions.vector_function_text("exp", called, real, 1),
    "log": lambda called, real: vector_functions.vector_function_text("log", called, real, 1),
    "sin": _circular,
    "cos": _circular,
    "tan": _circular,
    "atan2": _atan2,
    "asin": _asin,
    "acos": _acos,
    "tanh": _tanh,
    "pow": _pow,
}
