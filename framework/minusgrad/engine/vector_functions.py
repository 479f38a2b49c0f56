"""Elementwise functions of SIMD vectors that the compilers lack: log.

    log x = k log 2 + 2 artanh z,    z = (y - 1) / (y + 1),    x = 2^k y,    sqrt(1/2) <= y < sqrt(2)

2^k is factored out in halving strides, with a condition for each lane, if any lane needs it. The series in
z^2 <= 0.0295 is truncated below rounding; the result is accurate to two eps of log x, also near x = 1.
"""

import linecache
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

FUNCTIONS = ("log",)
"""The available functions."""
_STRIDES = {
    "f32": (64, (64, 32, 16, 8, 4, 2, 1), 5),
    "f64": (512, (512, 256, 128, 64, 32, 16, 8, 4, 2, 1), 12),
}
"""Strides of the exponent: up (twice) and down; and the number of terms of the series."""


def name(function: str, real: str, wide: int) -> str:
    """The name in kernels, such as log_f32x16."""
    return f"{function}_{real}x{wide}"


def helpers(ti: ModuleType, text: str) -> dict[str, Callable]:
    """The Taichi functions of vectors that a kernel's text calls, by name."""
    made = {}
    for real, wide in (("f32", 16), ("f64", 8)):
        if (called := name("log", real, wide)) in text:
            source, file, scope = _log(called, real, wide), f"<minusgrad {called}>", {"ti": ti}
            linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
            exec(compile(source, file, "exec"), scope)
            made[called] = ti.func(scope[called])
    return made


def _log(called: str, real: str, wide: int) -> str:
    def vector(number: Any) -> str:
        return f"ti.Vector([ti.{real}({number})] * {wide})"

    def stride(condition: str, power: int) -> list[str]:
        return [
            f"c = {condition}",
            f"y = ti.select(c, y * {vector(2.0**power)}, y)",
            f"k = ti.select(c, k - {vector(float(power))}, k)",
        ]

    up, down, terms = _STRIDES[real]
    root = math.sqrt(0.5)
    strides = [
        *stride(f"y < {vector(2.0 ** (1 - up))}", up),
        *stride(f"y < {vector(root)}", up),
        *(line for power in down for line in stride(f"y >= {vector(root * 2.0**power)}", -power)),
    ]
    series = vector(2.0 / (2 * terms - 1))
    for n in reversed(range(terms - 1)):
        series = f"({series} * q + {vector(2.0 / (2 * n + 1))})"
    lines = [
        "y = x",
        f"k = {vector(0.0)}",
        f"far = ti.select((x < {vector(root)}) | (x >= {vector(2.0 * root)}), {vector(1.0)}, {vector(0.0)})",
        f"if far.sum() > ti.{real}(0.0):",
        *(f"    {line}" for line in strides),
        f"z = (y - {vector(1.0)}) / (y + {vector(1.0)})",
        "q = z * z",
        f"value = k * {vector(math.log(2.0))} + z * {series}",
        f"edge = ti.select(x < {vector(0.0)}, {vector('ti.math.nan')}, {vector('-ti.math.inf')})",
        f"value = ti.select(x > {vector(0.0)}, value, edge)",
        f"return ti.select(x <= {vector(_largest(real))}, value, x)",
    ]
    return f"def {called}(x):\n" + "".join(f"    {line}\n" for line in lines)


def _largest(real: str) -> float:
    return (2.0 - 2.0**-23) * 2.0**127 if real == "f32" else (2.0 - 2.0**-52) * 2.0**1023
