"""Special functions in energies, beyond those of Taichi: `from minusgrad import erf, erfc`.

    erf(x)  = 2 / sqrt(pi) * integral from 0 to x of exp(-s^2) ds
    erfc(x) = 1 - erf(x), without the digits that this difference loses

Kernels compute it to the precision of their numbers, by rational approximations on |x| < 15/32, < 4 and
beyond (Cody 1969, Math. Comput. 23, 631); the derivative is the exact one.

Decisions 0217.
"""

import linecache
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np


def erf(x: Any) -> Any:
    """The error function erf(x) = 2/sqrt(pi) int_0^x exp(-s^2) ds, in energies, maps and plain Python.

    x: a number, or an array (elementwise). Returns the same shape, accurate to rounding in either precision
    (DLMF 7.2.1).
    """
    return np.vectorize(math.erf, otypes=[float])(x)[()]


def erfc(x: Any) -> Any:
    """The complementary error function erfc(x) = 1 - erf(x), in energies, maps and plain Python.

    x: a number, or an array (elementwise). Returns the same shape, accurate to a few roundings of itself in
    either precision, also where it is tiny (DLMF 7.2.2).
    """
    return np.vectorize(math.erfc, otypes=[float])(x)[()]


_NEAR = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
     6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2,
     1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2,
     5.37181101862009858e2, 1.62138957456669019e3, 3.29079923573345963e3,
     4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)  # fmt: skip
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
     1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
     2.33520497626869185e-3),
)  # fmt: skip
"""Numerators and denominators, highest power first: of erf(x) / x in x^2; of erfc(x) exp(x^2) in x; of
(1 / sqrt(pi) - x erfc(x) exp(x^2)) x^2 in 1 / x^2."""


def helpers(ti: ModuleType, text: str) -> dict[str, Callable]:
    """The Taichi functions that a kernel's text calls, by name: erf_f32, erf_f64, erfc_f32, erfc_f64."""
    made = {}
    for function, written in (("erf", _erf), ("erfc", _erfc)):
        for real in ("f32", "f64"):
            if (name := f"{function}_{real}") in text:
                source, file, scope = written(real), f"<minusgrad {name}>", {"ti": ti}
                linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
                exec(compile(source, file, "exec"), scope)
                made[name] = ti.func(scope[name])
    return made


def _erf(real: str) -> str:
    return f"""\
def erf_{real}(x):
    y = ti.abs(x)
    q = y * y
    value = y  # not a number
    if y < ti.{real}(0.46875):
        value = y * {_ratio_text(_NEAR, "q", real)}
    elif y < ti.{real}(4.0):
        value = ti.{real}(1.0) - ti.exp(-q) * {_ratio_text(_MIDDLE, "y", real)}
    elif y < ti.{real}(6.0):
        p = ti.{real}(1.0) / q
        tail = ti.{real}({1.0 / math.sqrt(math.pi)!r}) - p * {_ratio_text(_FAR, "p", real)}
        value = ti.{real}(1.0) - ti.exp(-q) / y * tail
    elif y >= ti.{real}(6.0):
        value = ti.{real}(1.0)
    return ti.select(x < ti.{real}(0.0), -value, value)
"""


def _erfc(real: str) -> str:
    """Of exp(-y^2) = exp(-a^2) exp((a - y) (a + y)) the square of a is exact; y^2 alone loses digits."""
    return f"""\
def erfc_{real}(x):
    y = ti.abs(x)
    q = y * y
    value = y  # not a number
    if y < ti.{real}(0.46875):
        value = ti.{real}(1.0) - y * {_ratio_text(_NEAR, "q", real)}
    elif y < ti.{real}(28.0):
        near = ti.floor(y * ti.{real}(16.0)) * ti.{real}(0.0625)
        bell = ti.exp(-near * near) * ti.exp((near - y) * (near + y))
        if y < ti.{real}(4.0):
            value = bell * {_ratio_text(_MIDDLE, "y", real)}
        else:
            p = ti.{real}(1.0) / q
            tail = ti.{real}({1.0 / math.sqrt(math.pi)!r}) - p * {_ratio_text(_FAR, "p", real)}
            value = bell / y * tail
    elif y >= ti.{real}(28.0):
        value = ti.{real}(0.0)
    return ti.select(x < ti.{real}(0.0), ti.{real}(2.0) - value, value)
"""


def _ratio_text(of: tuple[tuple[float, ...], tuple[float, ...]], x: str, real: str) -> str:
    above, below = (_horner_text(row, x, real) for row in of)
    return f"({above}) / ({below})"


def _horner_text(coefficients: tuple[float, ...], x: str, real: str) -> str:
    text = f"ti.{real}({coefficients[0]!r})"
    for c in coefficients[1:]:
        text = f"({text} * {x} + ti.{real}({c!r}))"
    return text
