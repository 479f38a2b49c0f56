"""The stand-in for the module `ti` while a function is traced: its functions act on symbolic scalars.

`ti.math` is the same object, because the names of the two modules do not clash.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from typing import Any

from .elimination import newton
from .graph import Graph
from .operations import OPERATIONS, TRUTHS
from .rewriting import Types, missing, of_vectors, unprinted
from .scalar import Scalar
from .stretches import isotropic
from .tensors import Tensor, as_real, flat, is_integer

REALS = ("f16", "f32", "f64", "float16", "float32", "float64")


WHOLES = ("i32", "i64", "int32", "int64")
"""Narrower and unsigned integers wrap round in Taichi: refused."""


class Symbolic:
    """The stand-in for `ti` and `ti.math` while an energy is traced."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.math = self
        self.pi, self.e, self.inf = math.pi, math.e, math.inf
        for op, row in OPERATIONS.items():
            if row.function:
                setattr(self, op, self._operation_function(op, row.arity))
            elif row.result == "whole":
                setattr(self, op, partial(self._round_and_cast, op))
        for function in isotropic.FUNCTIONS:
            setattr(self, function.__name__, function)
        self.least_value = partial(newton.least_value, graph)
        for dtype in REALS:
            setattr(self, dtype, partial(self._cast_entry, "to_real"))
        for dtype in WHOLES:
            setattr(self, dtype, partial(self._cast_entry, "to_int"))
        self.Vector = self.Matrix = _Constructor(self)
        self.types = Types(
            **{dtype: getattr(self, dtype) for dtype in (*REALS, *WHOLES)},
            vector=self._vector_type,
            matrix=self._matrix_type,
            template=self.template,
        )
        for n in (2, 3, 4):
            setattr(self, f"vec{n}", self._vector_type(n, self.f64))
            setattr(self, f"ivec{n}", self._vector_type(n, self.i32))
            setattr(self, f"mat{n}", self._matrix_type(n, n, self.f64))
        self.builtins = {"min": self.min, "max": self.max, "pow": self.pow, "print": unprinted}
        self.builtins |= {"int": self.i32, "float": self.f64, "bool": self.truth}
        self.builtins |= {"any": self._any, "all": self._all}

    def __getattr__(self, name: str) -> Any:
        return missing(name, self)

    # Scalars, and tensors entry by entry

    def _map_entries(self, function: Callable[..., Any], *values: Any) -> Any:
        tensor = next((v for v in values if isinstance(v, Tensor)), None)
        if tensor is None:
            return function(*values)
        wide = [v if isinstance(v, Tensor) else tensor.map(lambda _, v=v: v) for v in values]
        return wide[0].map(function, *wide[1:])

    def _apply_operation(self, op: str, *values: Any) -> Any:
        return self._map_entries(lambda *entries: self.graph.apply(op, *entries), *values)

    def _operation_function(self, op: str, arity: int) -> Callable[..., Any]:
        def function(*values: Any) -> Any:
            if len(values) != arity:
                names = ", ".join("abc"[:arity])
                raise TypeError(
                    f"ti.{op}: takes {arity} arguments, got {len(values)}; write ti.{op}({names})"
                )
            return self._apply_operation(op, *values)

        return function

    def _cast_entry(self, op: str, value: Any) -> Any:
        """A cast: of a comparison 1 where it holds, else 0."""
        kind = float if op == "to_real" else int

        def cast(entry: Any) -> Any:
            truth = isinstance(entry, Scalar) and entry.op in TRUTHS
            return (
                self.graph.apply("select", entry, kind(1), kind(0)) if truth else self.graph.apply(op, entry)
            )

        return self._map_entries(cast, value)

    def _round_and_cast(self, op: str, value: Any, dtype: Any = None) -> Any:
        whole = self._apply_operation(op, value)
        return whole if dtype is None else self.cast(whole, dtype)

    def truth(self, value: Any) -> Any:
        """True if a number is not zero; a comparison is its own truth."""
        decided = isinstance(value, bool) or (isinstance(value, Scalar) and value.op in TRUTHS)
        return value if decided else self._map_entries(lambda v: self.graph.apply("ne", v, 0), value)

    def _any(self, values: Any) -> Any:
        return values.any() if isinstance(values, Tensor) else any(values)

    def _all(self, values: Any) -> Any:
        return values.all() if isinstance(values, Tensor) else all(values)

    def max(self, *values: Any) -> Any:
        return reduce(lambda a, b: self._apply_operation("max", a, b), values)

    def min(self, *values: Any) -> Any:
        return reduce(lambda a, b: self._apply_operation("min", a, b), values)

    def pow(self, a: Any, b: Any) -> Any:
        return self._apply_operation("pow", a, b)

    def rsqrt(self, a: Any) -> Any:
        return 1.0 / self.sqrt(a)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        return self._apply_operation("select", condition, a, b)

    def clamp(self, value: Any, low: Any, high: Any) -> Any:
        return self.min(high, self.max(low, value))

    def mix(self, a: Any, b: Any, t: Any) -> Any:
        return a * (1.0 - t) + b * t

    def sign(self, value: Any) -> Any:
        return self.select(value > 0, 1.0, self.select(value < 0, -1.0, 0.0))

    def cast(self, value: Any, dtype: Callable[[Any], Any]) -> Any:
        return dtype(value)

    def zero(self, value: Any) -> Any:
        """Zero of the value's kind and shape."""
        return self._map_entries(lambda v: 0 if is_integer(v) else 0.0, value)

    def one(self, value: Any) -> Any:
        return self._map_entries(lambda v: 1 if is_integer(v) else 1.0, value)

    def template(self) -> None:
        """An annotation: the argument is passed by reference."""

    def static(self, *values: Any) -> Any:
        return values[0] if len(values) == 1 else values

    def static_assert(self, *_: Any) -> None:
        return None

    def ndrange(self, *ends: Any) -> Any:
        return product(*(range(*e) if isinstance(e, tuple) else range(e) for e in ends))

    # Vectors and matrices

    def _vector_type(self, n: int, dtype: Any = as_real) -> Callable[..., Tensor]:
        return lambda *parts: self._tensor_from_parts((n,), parts, dtype)

    def _matrix_type(self, n: int, m: int, dtype: Any = as_real) -> Callable[..., Tensor]:
        return lambda *parts: self._tensor_from_parts((n, m), parts, dtype)

    def _tensor_from_parts(
        self, shape: tuple[int, ...], parts: Sequence[Any], dtype: Callable[[Any], Any]
    ) -> Tensor:
        """A tensor from numbers, lists and tensors, one after another; one number fills it."""
        entries, size = list(flat(parts)), math.prod(shape)
        if len(entries) not in (1, size):
            raise TypeError(
                f"tensor of shape {list(shape)}: takes {size} numbers, got {len(entries)}; give one for each"
                " entry, or one for all"
            )
        return self.cast(Tensor(shape, entries * (size // len(entries)), self), dtype)

    def dot(self, a: Tensor, b: Tensor) -> Any:
        return a.dot(b)

    def cross(self, a: Tensor, b: Tensor) -> Any:
        return a.cross(b)

    def length(self, a: Tensor) -> Any:
        return a.norm()

    def distance(self, a: Tensor, b: Tensor) -> Any:
        return (a - b).norm()

    def normalize(self, a: Tensor) -> Any:
        return a.normalized()

    def determinant(self, a: Tensor) -> Any:
        return a.determinant()

    def inverse(self, a: Tensor) -> Tensor:
        return a.inverse()


def _split_rows(values: list, size: int) -> list[list]:
    """The values in rows of `size`."""
    return [values[begin : begin + size] for begin in range(0, len(values), size)]


class _Constructor:
    """`ti.Vector([...])`, `ti.Matrix([...])`, and the named makers zero, one, unit, identity, rows, cols."""

    def __init__(self, functions: Symbolic):
        self.functions = functions

    def __getattr__(self, name: str) -> Any:
        return of_vectors(name, self)

    def __call__(self, rows: Any, dt: Any = None) -> Tensor:
        made = Tensor.of(rows, self.functions)
        return made if dt is None else self.functions.cast(made, dt)

    def _filled_tensor(
        self, dt: Any, shape: tuple[int, ...], value: Callable[[tuple[int, ...]], int]
    ) -> Tensor:
        places = product(*map(range, shape))
        return self.functions.cast(Tensor(shape, map(value, places), self.functions), dt)

    def zero(self, dt: Any, *shape: int) -> Tensor:
        return self._filled_tensor(dt, shape, lambda _: 0)

    def one(self, dt: Any, *shape: int) -> Tensor:
        return self._filled_tensor(dt, shape, lambda _: 1)

    def unit(self, n: int, i: int, dt: Any = as_real) -> Tensor:
        return self._filled_tensor(dt, (n,), lambda p: int(p[0] == i))

    def identity(self, dt: Any, n: int) -> Tensor:
        return self._filled_tensor(dt, (n, n), lambda p: int(p[0] == p[1]))

    def diag(self, dim: int, val: Any) -> Tensor:
        places = product(range(dim), range(dim))
        return Tensor((dim, dim), (val if i == j else 0 for i, j in places), self.functions)

    def rows(self, rows: Sequence[Any]) -> Tensor:
        return Tensor.of(rows, self.functions)

    def cols(self, columns: Sequence[Any]) -> Tensor:
        return Tensor.of(columns, self.functions).transpose()


class TableLookup:
    """A table while an energy is traced."""

    def __init__(self, graph: Graph, name: str, shape: tuple[int, ...]):
        self._graph, self._name, self.shape = graph, name, shape

    def __getitem__(self, places: Any) -> Scalar:
        places = places if isinstance(places, tuple) else (places,)
        if len(places) != len(self.shape):
            raise TypeError(
                f"{self._name}: is a table with {len(self.shape)} axes, got {len(places)} numbers; give one"
                " for each axis"
            )
        return self._graph.lookup(self._name, *places)
