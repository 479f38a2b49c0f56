"""The functions of OpenMM's expressions (its parser Lepton): arguments, Python's value, text in energies.

    step(x)         0 for x < 0, else 1             delta(x)        1 for x = 0, else 0
    select(x, y, z) z for x = 0, else y             sec, csc, cot   1 / cos, 1 / sin, 1 / tan
    square, cube, recip     x^2, x^3, 1 / x         the others as in C

step, delta, floor and ceil are piecewise constant, with derivatives of zero. sinh is tanh cosh, which keeps
its digits near zero. OpenMM User Guide 8, "Writing Custom Expressions".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """How many arguments it has, its value in Python, and its text, with {0}, {1}, ... for these."""

    arity: int
    value: Callable[..., float]
    text: str


def _same(name: str, arity: int = 1, value: Callable[..., float] | None = None) -> Function:
    """A function that `ti` has under the same name."""
    places = ", ".join(f"{{{k}}}" for k in range(arity))
    return Function(arity, value or getattr(math, name), f"ti.{name}({places})")


FUNCTIONS = {
    **{name: _same(name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "tanh")},
    "sec": Function(1, lambda a: 1.0 / math.cos(a), "(1.0 / ti.cos({0}))"),
    "csc": Function(1, lambda a: 1.0 / math.sin(a), "(1.0 / ti.sin({0}))"),
    "cot": Function(1, lambda a: 1.0 / math.tan(a), "(ti.cos({0}) / ti.sin({0}))"),
    "atan": Function(1, math.atan, "ti.atan2({0}, 1.0)"),
    "atan2": _same("atan2", 2),
    "cosh": Function(1, math.cosh, "(0.5 * (ti.exp({0}) + ti.exp(-{0})))"),
    "sinh": Function(1, math.sinh, "(0.5 * ti.tanh({0}) * (ti.exp({0}) + ti.exp(-{0})))"),
    "erf": Function(1, math.erf, "erf({0})"),
    "erfc": Function(1, math.erfc, "erfc({0})"),
    "step": Function(1, lambda a: 1.0 if a >= 0.0 else 0.0, "ti.select({0} >= 0.0, 1.0, 0.0)"),
    "delta": Function(1, lambda a: 1.0 if a == 0.0 else 0.0, "ti.select({0} == 0.0, 1.0, 0.0)"),
    "square": Function(1, lambda a: a * a, "({0} * {0})"),
    "cube": Function(1, lambda a: a * a * a, "({0} * {0} * {0})"),
    "recip": Function(1, lambda a: 1.0 / a, "(1.0 / {0})"),
    "min": _same("min", 2, min),
    "max": _same("max", 2, max),
    "abs": _same("abs", 1, abs),
    "floor": _same("floor", 1, lambda a: float(math.floor(a))),
    "ceil": _same("ceil", 1, lambda a: float(math.ceil(a))),
    "select": Function(3, lambda a, b, c: b if a else c, "ti.select({0} != 0.0, {1}, {2})"),
}
"""Every function by its name."""
CONDITIONS = {"step": "{0} >= 0.0", "delta": "{0} == 0.0"}
"""Of functions that are 0 or 1, the condition that they are 1, where `select` asks for it."""
