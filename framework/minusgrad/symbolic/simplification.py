"""The normal form of expressions, into which a new node is brought before it enters the graph.

Constants are computed, numeric factors stand outermost, a division is a multiplication by a shared
reciprocal, small whole powers are products. Rules hold for finite numbers: 0 * x is 0 and x - x is 0
whatever x is.
"""

import math
from collections.abc import Callable

from .scalar import Number, Scalar


def fold_constants(python: Callable[..., Number], numbers: list[Number]) -> Number | None:
    """The value of an operation for constants; None where it has no finite real value."""
    try:
        value = python(*numbers)
    except (ArithmeticError, ValueError):
        return None
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def _zero(like: Scalar) -> Scalar:
    return like.graph.constant(0 if like.integer else 0.0)


def _add(a: Scalar, b: Scalar) -> Scalar | None:
    if a.number == 0.0:
        return b
    if b.number == 0.0:
        return a
    if a is b:
        return 2 * a
    if b.op == "mul" and b.args[0].number == -1.0:
        return a - b.args[1]
    if a.op == "mul" and a.args[0].number == -1.0:
        return b - a.args[1]
    return None


def _sub(a: Scalar, b: Scalar) -> Scalar | None:
    if b.number == 0.0:
        return a
    if a.number == 0.0:
        return -b
    if a is b:
        return _zero(a)
    if b.op == "mul" and b.args[0].number == -1.0:
        return a + b.args[1]
    return None


def _mul(a: Scalar, b: Scalar) -> Scalar | None:
    if b.number is not None and a.number is None:
        return b * a
    if a.number is not None:
        return _scaled(a.number, b)
    for factor, other in ((a, b), (b, a)):  # numeric factors move out, if no product can leave f32 for it
        if factor.op == "mul" and (number := factor.args[0].number) is not None and 1e-6 < abs(number) < 1e6:
            return factor.args[0] * (factor.args[1] * other)
    return None


def _scaled(number: Number, b: Scalar) -> Scalar | None:
    if number == 0.0:
        return _zero(b)
    if number == 1.0:
        return b
    if b.op == "mul" and (inner := b.args[0].number) is not None and 1e-30 < abs(number * inner) < 1e30:
        return (number * inner) * b.args[1]
    return None


def _div(a: Scalar, b: Scalar) -> Scalar | None:
    if b.number is None:
        return a * b.graph.apply("recip", b)
    if abs(math.frexp(b.number)[0]) == 0.5 and 1e-30 < abs(b.number) < 1e30:  # a power of two: exact
        return (1.0 / b.number) * a
    return None


def _floordiv(a: Scalar, b: Scalar) -> Scalar | None:
    return a.graph.apply("quotient", a, b) if a.integer else None


def _pow(a: Scalar, b: Scalar) -> Scalar | None:
    """Products and roots; a^1.5 stays a power, because its derivative at 0 is not that of sqrt(a) a."""
    exponent = b.number
    if exponent is None or abs(exponent) > 16.0 or not (2.0 * exponent).is_integer():
        return None
    if exponent < 0.0:
        return a.graph.apply("recip", a ** (-exponent))
    if exponent == 0.5:
        return a.graph.apply("sqrt", a)
    return _power_by_squares(a, int(exponent)) if float(exponent).is_integer() else None


def _power_by_squares(a: Scalar, n: int) -> Scalar:
    """a^n by squaring."""
    if n == 0:
        return a.graph.constant(1 if a.integer else 1.0)
    half = _power_by_squares(a, n // 2)
    return half * half * a if n % 2 else half * half


def _select(condition: Scalar, a: Scalar, b: Scalar) -> Scalar | None:
    if condition.number is not None:
        return a if condition.number else b
    return a if a is b else None


def _and(a: Scalar, b: Scalar) -> Scalar | None:
    """Of two truths, where one is known."""
    for known, other in ((a, b), (b, a)):
        if known.number is not None:
            return other if known.number else known
    return None


def _or(a: Scalar, b: Scalar) -> Scalar | None:
    for known, other in ((a, b), (b, a)):
        if known.number is not None:
            return known if known.number else other
    return None


def _whole(a: Scalar) -> Scalar | None:
    return a if a.integer else None


def _real(a: Scalar) -> Scalar | None:
    return None if a.integer else a


def _abs(a: Scalar) -> Scalar | None:
    return a if a.op == "abs" else None


RULES: dict[str, Callable[..., Scalar | None]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "floordiv": _floordiv,
    "pow": _pow,
    "select": _select,
    "and": _and,
    "or": _or,
    "floor": _whole,
    "ceil": _whole,
    "round": _whole,
    "to_int": _whole,
    "to_real": _real,
    "abs": _abs,
}
CASTS = ("to_real", "to_int")
"""Casts: of a number that is of the kind already they are no operation, and every assignment has one."""
