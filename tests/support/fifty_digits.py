"""The language of energies in 50 digits: the same source, with mpmath in the place of Taichi.

Shares the rewriting of the source with the engine and nothing else: neither scalars, nor tensors, nor rules.
Out of its domain a function is no number, as in Taichi.
"""

from collections.abc import Callable
from functools import partial, reduce
from itertools import product
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

from minusgrad.symbolic.rewriting import missing, rebind

DIGITS = 50
mp.dps = DIGITS


def _quotient(operator: Callable) -> Callable:
    def divided(a: Any, b: Any) -> Any:
        try:
            return operator(a, b)
        except ZeroDivisionError:
            return mp.nan

    return divided


mpf.__truediv__, mpf.__rtruediv__ = _quotient(mpf.__truediv__), _quotient(mpf.__rtruediv__)
"""A guard may keep a division by zero out of the sum: as in Taichi, it is no error."""


class Array(np.ndarray):
    """A vector or a matrix of numbers of any kind."""

    def __array_wrap__(self, result, context=None, return_scalar=False):
        return array(result) if np.ndim(result) else result

    def dot(self, other):  # type: ignore[override]
        return (self * other).sum()

    def __matmul__(self, other):
        made = np.asarray(self).dot(np.asarray(other))
        return array(made) if np.ndim(made) else made

    def sum(self):  # type: ignore[override]
        return reduce(lambda a, b: a + b, self.ravel().tolist())

    def max(self):  # type: ignore[override]
        return max(self.ravel().tolist())

    def min(self):  # type: ignore[override]
        return min(self.ravel().tolist())

    def any(self):  # type: ignore[override]
        return any(self.ravel().tolist())

    def all(self):  # type: ignore[override]
        return all(self.ravel().tolist())

    def trace(self):  # type: ignore[override]
        return array(np.diag(self)).sum()

    def norm_sqr(self):
        return (self * self).sum()

    def norm(self, eps=0.0):
        return mpmath.sqrt(self.norm_sqr() + eps)

    def norm_inv(self, eps=0.0):
        return 1 / self.norm(eps)

    def normalized(self, eps=0.0):
        return self / (self.norm() + eps)

    def cross(self, other):
        made = np.cross(np.asarray(self), np.asarray(other)) if len(self) == 3 else None
        return self[0] * other[1] - self[1] * other[0] if made is None else array(made)

    def outer_product(self, other):
        return array(np.outer(np.asarray(self), np.asarray(other)))

    def determinant(self):
        return mpmath.det(mpmath.matrix(self.tolist()))

    def inverse(self):
        return array(mpmath.inverse(mpmath.matrix(self.tolist())).tolist())

    def cast(self, dtype):
        return dtype(self)

    @property
    def n(self):
        return self.shape[0]

    def __getattr__(self, name):
        places = _swizzled(name)
        return self[places[0]] if len(places) == 1 else self[places]

    def __setattr__(self, name, value):
        self[_swizzled(name)] = value


def _swizzled(name: str) -> list[int]:
    if not set(name) <= set("xyzw"):
        raise AttributeError(name)
    return ["xyzw".index(c) for c in name]


def array(values: Any) -> Array:
    """Real numbers with Taichi's methods."""
    exact = np.array(values, dtype=object)
    return np.vectorize(_real_number, otypes=[object])(exact).view(Array) if exact.size else exact.view(Array)


def _real_number(value: Any) -> Any:
    return value if isinstance(value, mpf) else mpf(float(value))


def _each(function: Callable) -> Callable:
    """Of numbers, and entry by entry of arrays beside numbers."""

    def applied(*values: Any) -> Any:
        if not any(isinstance(v, np.ndarray) for v in values):
            return function(*values)
        return array(np.frompyfunc(function, len(values), 1)(*values))

    return applied


def _within(function: Callable, inside: Callable[[Any], bool]) -> Callable:
    """The function where it is real, elsewhere no number."""
    return _each(lambda a: function(mpmath.mpmathify(a)) if inside(a) else mp.nan)


def _maker(*shape: int) -> Callable[..., Array]:
    def make(*parts: Any) -> Array:
        flat = [v for part in parts for v in np.ravel(np.array(part, dtype=object))]
        return array(np.array(flat * (int(np.prod(shape)) // len(flat)), dtype=object).reshape(shape))

    return make


def _sign(a: Any) -> Any:
    return mpf((a > 0) - (a < 0))


def _round(a: Any) -> Any:
    return _sign(a) * mpmath.floor(abs(mpmath.mpmathify(a)) + 0.5)


def _whole(value: Any) -> Any:
    return array([_whole(v) for v in value]) if isinstance(value, np.ndarray) else int(value)


def _real(value: Any) -> Any:
    return array(value) if isinstance(value, np.ndarray) else _real_number(value)


class _Matrix:
    def __call__(self, rows, dt=None):
        return array(rows)

    def identity(self, dt, n):
        return array(np.eye(n))

    def diag(self, dim, val):
        return array(np.eye(dim)) * val

    def rows(self, rows):
        return array(np.stack(rows))

    def cols(self, columns):
        return array(np.stack(columns, axis=1))

    def zero(self, dt, *shape):
        return array(np.zeros(shape))


class _Precise(SimpleNamespace):
    def __getattr__(self, name):
        return missing(name, self)


def _principal(F: Array) -> tuple[list[Any], Any]:
    """Principal stretches, the least negative where det F is, and their axes as columns."""
    of = mpmath.matrix(F.tolist())
    squares, axes = mp.eigsy(of.T * of)
    stretches = [mpmath.sqrt(one) for one in squares]
    least = stretches.index(min(stretches))
    stretches[least] *= mpmath.sign(mpmath.det(of))
    return stretches, axes


def _polar(F: Array) -> Array:
    stretches, axes = _principal(F)
    inverse = axes * mpmath.diag([1 / one for one in stretches]) * axes.T
    return array((mpmath.matrix(F.tolist()) * inverse).tolist())


def _sum_over_stretches(function: Callable) -> Callable:
    return lambda F, *more: sum(function(one, *more) for one in _principal(F)[0])


STRETCHES = {
    "polar": _polar,
    "stretch_trace": _sum_over_stretches(lambda s: s),
    "biot_squares": _sum_over_stretches(lambda s: (s - 1) ** 2),
    "stretch_powers": _sum_over_stretches(lambda s, a: abs(s) ** a),
    "log_stretch_squares": _sum_over_stretches(lambda s: mpmath.log(abs(s)) ** 2),
}
"""Functions of principal stretches, by the eigenvectors of mpmath."""

_max = _each(lambda a, b: a if a > b else b)
_min = _each(lambda a, b: a if a < b else b)
_select = _each(lambda c, a, b: a if c else b)
PRECISE = _Precise(
    **STRETCHES,
    **{
        f: _each(getattr(mpmath, f))
        for f in ("exp", "sin", "cos", "tan", "tanh", "erf", "erfc", "floor", "ceil")
    },
    **{f"vec{n}": _maker(n) for n in (2, 3, 4)},
    **{f"mat{n}": _maker(n, n) for n in (2, 3, 4)},
    sqrt=_within(mpmath.sqrt, lambda a: a >= 0),
    rsqrt=_within(lambda a: 1 / mpmath.sqrt(a), lambda a: a > 0),
    log=_within(mpmath.log, lambda a: a > 0),
    asin=_within(mpmath.asin, lambda a: abs(a) <= 1),
    acos=_within(mpmath.acos, lambda a: abs(a) <= 1),
    atan2=_each(mpmath.atan2),
    pow=_each(lambda a, b: mpmath.mpmathify(a) ** b),
    abs=_each(abs),
    round=_each(_round),
    sign=_each(_sign),
    max=lambda *values: reduce(_max, values),
    min=lambda *values: reduce(_min, values),
    select=_select,
    clamp=lambda v, low, high: _min(high, _max(low, v)),
    mix=lambda a, b, t: a * (1 - t) + b * t,
    cast=lambda value, dtype: dtype(value),
    static=lambda value: value,
    ndrange=lambda *ends: product(*(range(*e) if isinstance(e, tuple) else range(e) for e in ends)),
    zero=lambda a: a * 0,
    dot=lambda a, b: a.dot(b),
    cross=lambda a, b: a.cross(b),
    length=lambda a: a.norm(),
    distance=lambda a, b: (a - b).norm(),
    normalize=lambda a: a.normalized(),
    determinant=lambda a: a.determinant(),
    inverse=lambda a: a.inverse(),
    f64=_real,
    i32=_whole,
    Vector=_Matrix(),
    Matrix=_Matrix(),
    template=None,
    types=SimpleNamespace(
        vector=lambda n, dtype=None: _maker(n), matrix=lambda n, m, dtype=None: _maker(n, m)
    ),
)
PRECISE.math = PRECISE
PRECISE.builtins = {"min": PRECISE.min, "max": PRECISE.max, "pow": PRECISE.pow, "abs": PRECISE.abs}
PRECISE.builtins |= {"int": _whole, "float": _real, "any": lambda v: v.any(), "all": lambda v: v.all()}


def precise(function: Callable) -> Callable:
    """The function of numbers and arrays of mpmath."""
    return partial(rebind(function, PRECISE))
