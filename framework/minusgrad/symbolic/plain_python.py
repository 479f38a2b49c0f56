"""Evaluation of an energy in plain Python: the same source, with NumPy as a stand-in for Taichi.

A reference for the compiled value that shares neither the compiler, nor the tracer, nor its tensors. It finds
miscompiled values, which finite differences cannot find: they would differentiate the wrong function.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import reduce
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

from .elimination.functions import least_value
from .graph import REAL_PLACE
from .neighbours import Neighbours
from .operations import OPERATIONS
from .rewriting import Types, missing, number, of_vectors, rebind, run, unprinted
from .stretches import functions as stretches


class Array(np.ndarray):
    """A NumPy array with the methods that Taichi's vectors and matrices have."""

    def norm_sqr(self):
        return np.sum(np.asarray(self) ** 2)

    def norm(self, eps=0.0):
        return np.sqrt(self.norm_sqr() + eps)

    def any(self):  # type: ignore[override]
        return np.asarray(self).any()

    def all(self):  # type: ignore[override]
        return np.asarray(self).all()

    def get_shape(self):
        return self.shape

    def cast(self, dtype):
        return dtype(self)

    def norm_inv(self, eps=0.0):
        return 1.0 / self.norm(eps)

    def normalized(self, eps=0.0):
        return self / (self.norm() + eps)

    def dot(self, other):  # type: ignore[override]
        return np.dot(np.asarray(self), np.asarray(other))

    def __matmul__(self, other):
        made = np.matmul(np.asarray(self), np.asarray(other))
        return array(made) if np.ndim(made) else made

    def sum(self):  # type: ignore[override]
        return np.asarray(self).sum()

    def max(self):  # type: ignore[override]
        return np.asarray(self).max()

    def min(self):  # type: ignore[override]
        return np.asarray(self).min()

    def trace(self):  # type: ignore[override]
        return np.asarray(self).trace()

    def cross(self, other):
        if len(self) == 2:
            return self[0] * other[1] - self[1] * other[0]
        return array(np.cross(np.asarray(self), np.asarray(other)))

    def outer_product(self, other):
        return array(np.outer(self, other))

    def determinant(self):
        return np.linalg.det(np.asarray(self))

    def inverse(self):
        return array(np.linalg.inv(np.asarray(self)))

    @property
    def n(self):
        return self.shape[0]

    @property
    def m(self):
        return self.shape[1] if self.ndim == 2 else 1

    def __getattr__(self, name):
        if (places := _swizzled(name)) is None:
            raise AttributeError(name)
        return self[places[0]] if len(places) == 1 else self[places]

    def __setattr__(self, name, value):
        if (places := _swizzled(name)) is None:
            super().__setattr__(name, value)
        else:
            self[places] = value


class Lookup:
    """A table of numbers, read at integer indices; zero out of bounds."""

    def __init__(self, numbers: Any):
        self.numbers = np.asarray(numbers, dtype=float)
        self.shape = self.numbers.shape

    def __getitem__(self, places):
        places = places if isinstance(places, tuple) else (places,)
        if not all(isinstance(p, (int, np.integer)) for p in places):
            raise TypeError(REAL_PLACE)
        inside = all(0 <= p < n for p, n in zip(places, self.shape, strict=True))
        return self.numbers[places] if inside else np.float64(0.0)


def _swizzled(name: str) -> list[int] | None:
    for letters in ("xyzw", "rgba", "stpq"):
        if name and set(name) <= set(letters):
            return [letters.index(c) for c in name]
    return None


def array(values: Any) -> Array:
    """A real array with Taichi's methods."""
    return np.array(values, dtype=float).view(Array)


def _maker(*shape: int, dtype: Callable[[Any], Any] | None = None) -> Callable[..., Array]:
    def make(*parts: Any) -> Array:
        flat = np.concatenate([np.ravel(p) for p in parts]).astype(float)
        made = array(np.broadcast_to(flat, shape) if flat.size == 1 else flat.reshape(shape))
        return made if dtype is None else dtype(made)

    return make


class _PlainConstructor:
    def __getattr__(self, name):
        return of_vectors(name, self)

    def __call__(self, rows, dt=None):
        return array(rows) if dt is None else dt(array(rows))

    def diag(self, dim, val):
        return array(val * np.eye(dim))

    def zero(self, dt, *shape):
        return array(np.zeros(shape))

    def one(self, dt, *shape):
        return array(np.ones(shape))

    def unit(self, n, i, dt=None):
        return array(np.eye(n)[i])

    def identity(self, dt, n):
        return array(np.eye(n))

    def rows(self, rows):
        return array(np.stack(rows))

    def cols(self, columns):
        return array(np.stack(columns, axis=1))


def _fold(function):
    return lambda *values: reduce(function, values)


def _truncate_to_int(value):
    """The truncated value as a Python integer; an array stays real."""
    if np.ndim(value):
        return array(np.trunc(value))
    return int(value) if np.isfinite(value) else 0


def _real_value(value):
    return array(value) if np.ndim(value) else np.float64(value)


def _rounding_operation(function):
    return lambda value, dtype=_real_value: dtype(function(value))


def _constant_like(number):
    """`ti.zero` and `ti.one`: the number in the kind and the shape of a value."""
    return lambda value: array(np.full(np.shape(value), number)) if np.ndim(value) else type(value)(number)


def _any(values):
    return values.any() if isinstance(values, np.ndarray) else any(values)


def _all(values):
    return values.all() if isinstance(values, np.ndarray) else all(values)


def _truth(value):
    return np.not_equal(value, 0)


def _select(condition, a, b):
    chosen = np.where(condition, a, b)
    return array(chosen) if chosen.ndim else chosen[()]


class _Numpy(SimpleNamespace):
    """The stand-in for `ti`; functions of the table of operations are looked up when they are used."""

    def __getattr__(self, name):
        row = OPERATIONS.get(name)
        if row is not None and row.result == "whole":
            return _rounding_operation(row.numpy)
        return row.numpy if row is not None and row.function else missing(name, self)

    def __dir__(self):
        functions = (name for name, row in OPERATIONS.items() if row.function or row.result == "whole")
        return [*super().__dir__(), *functions]


NUMPY = _Numpy(
    **{name: getattr(np, name) for name in ("sign", "pi", "e", "inf", "dot")},
    **(REALS := dict.fromkeys(("f16", "f32", "f64", "float16", "float32", "float64"), _real_value)),
    **(WHOLES := dict.fromkeys(("i32", "i64", "int32", "int64"), _truncate_to_int)),
    **{f"vec{n}": _maker(n) for n in (2, 3, 4)},
    **{f"ivec{n}": _maker(n, dtype=_truncate_to_int) for n in (2, 3, 4)},
    **{f"mat{n}": _maker(n, n) for n in (2, 3, 4)},
    pow=lambda a, b: a**b,
    rsqrt=lambda value: 1.0 / np.sqrt(value),
    zero=_constant_like(0),
    one=_constant_like(1),
    truth=_truth,
    template=None,
    min=_fold(np.minimum),
    max=_fold(np.maximum),
    select=_select,
    clamp=lambda v, low, high: np.minimum(np.maximum(v, low), high),
    mix=lambda a, b, t: a * (1.0 - t) + b * t,
    cast=lambda value, dtype: dtype(value),
    static=lambda *values: values[0] if len(values) == 1 else values,
    static_assert=lambda *_: None,
    ndrange=lambda *ends: product(*(range(*e) if isinstance(e, tuple) else range(e) for e in ends)),
    cross=lambda a, b: a.cross(b),
    length=lambda a: a.norm(),
    distance=lambda a, b: (a - b).norm(),
    normalize=lambda a: a.normalized(),
    determinant=lambda a: a.determinant(),
    inverse=lambda a: a.inverse(),
    **{one.__name__: one for one in stretches.FUNCTIONS} | {"polar": lambda F: array(stretches.polar(F))},
    least_value=least_value,
    Vector=_PlainConstructor(),
    Matrix=_PlainConstructor(),
    types=Types(
        vector=lambda n, dtype=_real_value: _maker(n, dtype=dtype),
        matrix=lambda n, m, dtype=_real_value: _maker(n, m, dtype=dtype),
        template=None,
        **REALS,
        **WHOLES,
    ),
)
NUMPY.math = NUMPY
NUMPY.builtins = {
    "min": NUMPY.min,
    "max": NUMPY.max,
    "pow": NUMPY.pow,
    "int": _truncate_to_int,
    "float": _real_value,
}
NUMPY.builtins |= {"bool": _truth, "any": _any, "all": _all, "print": unprinted}


def evaluate(function: Callable, arguments: Mapping[str, Any]) -> float:
    """The energy of one element. `arguments` by name: node fields as lists, arrays or numbers."""
    return evaluator(function)(arguments)


def evaluator(function: Callable, several: bool = False) -> Callable[[Mapping[str, Any]], Any]:
    """The function that evaluates one element, rebound once; `several`: it may return several numbers."""
    body, names = rebind(function, NUMPY), tuple(inspect.signature(function).parameters)

    def energy(arguments: Mapping[str, Any]) -> Any:
        with np.errstate(all="ignore"):
            prepared = [_prepare_argument(arguments[name]) for name in names]
            return run(body, prepared) if several else float(number(body, prepared, _is_number))

    return energy


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating))


def _prepare_argument(value: Any) -> Any:
    if isinstance(value, list):
        return [_prepare_argument(v) for v in value]
    if value is None or isinstance(value, Lookup):  # None: a node of another set
        return value
    if isinstance(value, Neighbours):
        return value.map_values(_prepare_argument)
    return (
        value
        if isinstance(value, int)
        else int(value)
        if isinstance(value, np.integer)
        else _real_value(value)
    )
