"""Vectors and matrices of scalars, with the names and meanings they have in Taichi.

Entries are any scalars with + - * /; `functions` supplies sqrt, min and the like for them. As in Taichi a
tensor holds integers or real numbers, never both.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from operator import add, and_, eq, floordiv, ge, gt, le, lt, mod, mul, ne, or_, sub, truediv
from operator import index as to_index
from typing import Any

from ..errors import suggestion

LARGEST = 4
"""Rows of a matrix whose determinant Taichi computes."""
MOST = 4096
"""Numbers of a vector or matrix: kernels hold each in a variable."""
SWIZZLES = ("xyzw", "rgba", "stpq")
MAKERS = ("zero", "one", "unit", "identity", "diag", "rows", "cols")
"""Methods of the class `ti.Matrix`, not of a matrix."""
TRUNCATES = "began as an integer, got a real number, which Taichi truncates; begin with 0.0"


def is_integer(value: Any) -> bool:
    """True for an integer or a tensor of integers, as Taichi would type a name with this value."""
    return isinstance(value, int) or getattr(value, "integer", False) is True


def as_real(value: Any) -> Any:
    """The same value as a real number, or as a tensor of real numbers."""
    if isinstance(value, int):
        return float(value)
    return value.as_real() if hasattr(value, "as_real") else value


class Tensor:
    """A vector, shape (n,), or a matrix, shape (n, m); entries in row-major order."""

    __slots__ = ("entries", "functions", "integer", "shape")
    __array_ufunc__ = None  # numpy scalars on the left hand over to us

    def __init__(self, shape: tuple[int, ...], entries: Iterable[Any], functions: Any):
        if prod(shape) > MOST:
            raise TypeError(
                f"vector or matrix: has at most {MOST:,} numbers in an energy, got shape {list(shape)};"
                " pass it as a Table"
            )
        self.shape, self.entries, self.functions = shape, list(entries), functions
        self.integer = all(map(is_integer, self.entries))
        if not self.integer:
            self.entries = [as_real(e) for e in self.entries]

    @classmethod
    def of(cls, rows: Sequence[Any], functions: Any) -> "Tensor":
        """From a list of scalars (a vector) or of vectors or lists (the rows of a matrix)."""
        parts = [list(r) if isinstance(r, (Tensor, list, tuple)) else [r] for r in rows]
        nested = {isinstance(r, (Tensor, list, tuple)) for r in rows}
        if len(nested) != 1 or len(set(map(len, parts))) != 1:
            raise TypeError(
                f"vector or matrix: must have rows of one length, got {', '.join(map(str, map(len, parts)))};"
                " a vector takes numbers, a matrix rows"
            )
        shape = (len(rows), len(parts[0])) if nested.pop() else (len(rows),)
        return cls(shape, [e for part in parts for e in part], functions)

    def _with_entries(self, entries: Iterable[Any]) -> "Tensor":
        return Tensor(self.shape, entries, self.functions)

    def copy(self) -> "Tensor":
        return self._with_entries(self.entries)

    def as_real(self) -> "Tensor":
        return self._with_entries(as_real(e) for e in self.entries)

    @property
    def n(self) -> int:
        return self.shape[0]

    @property
    def m(self) -> int:
        return self.shape[1] if len(self.shape) == 2 else 1

    def __len__(self) -> int:
        return self.n

    def __iter__(self):
        """Entries of a vector, rows of a matrix."""
        return iter(self.entries) if len(self.shape) == 1 else (self.row(i) for i in range(self.n))

    def __bool__(self) -> bool:
        raise TypeError(
            "vector: has no single truth; write .any() or .all(), and & and | between comparisons"
        )

    def get_shape(self) -> tuple[int, ...]:
        return self.shape

    # Elements

    def row(self, i: int) -> "Tensor":
        return Tensor((self.m,), self.entries[i * self.m : (i + 1) * self.m], self.functions)

    def _index_places(self, index: Any) -> list[range]:
        """The places that an index or slice chooses along each axis."""
        index = tuple(i if isinstance(i, slice) else to_index(i) for i in _axes(index))
        if len(index) != len(self.shape):
            raise IndexError(
                f"index: needs {len(self.shape)} numbers for shape {list(self.shape)}, got {list(index)};"
                " a row of a matrix is A[i, :]"
            )
        if not all(0 <= i < s for i, s in zip(index, self.shape, strict=True) if isinstance(i, int)):
            raise IndexError(
                f"index: must be within shape {list(self.shape)}, got {list(index)}; they count from 0, and"
                " none is negative"
            )
        chosen = zip(index, self.shape, strict=True)
        return [range(s)[i] if isinstance(i, slice) else range(i, i + 1) for i, s in chosen]

    def _entry_offsets(self, places: list[range]) -> list[int]:
        return [i * self.m + j for i, j in product(*places)] if len(places) == 2 else list(places[0])

    def __getitem__(self, index: Any) -> Any:
        places = self._index_places(index)
        chosen = [self.entries[k] for k in self._entry_offsets(places)]
        shape = tuple(len(p) for p, i in zip(places, _axes(index), strict=True) if isinstance(i, slice))
        return Tensor(shape, chosen, self.functions) if shape else chosen[0]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._write_entries(self._entry_offsets(self._index_places(index)), value)

    def _write_entries(self, offsets: Sequence[int], value: Any) -> None:
        """Write one number for each offset, or the same to all."""
        several = isinstance(value, (Tensor, list, tuple))
        values = list(flat(value)) if several else [value] * len(offsets)
        if len(values) != len(offsets) or (several and len(offsets) == 1):
            raise TypeError(wrong_count(len(offsets), len(values)))
        for offset, entry in zip(offsets, values, strict=True):
            self.entries[offset] = self._cast_to_own_type(entry)

    def _cast_to_own_type(self, value: Any) -> Any:
        """The value in the type of this tensor."""
        if self.integer and not is_integer(value):
            raise TypeError(f"entry: {TRUNCATES}")
        return value if self.integer else as_real(value)

    def __getattr__(self, name: str) -> Any:
        if (places := _swizzle_places(name)) is None or len(self.shape) != 1:
            raise AttributeError(f"tensor: has no '{name}'{_method_cure(name)}")
        chosen = [self[place] for place in places]
        return chosen[0] if len(name) == 1 else Tensor.of(chosen, self.functions)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Tensor.__slots__:
            super().__setattr__(name, value)
        elif (places := _swizzle_places(name)) is None:
            raise AttributeError(f"vector: has no component '{name}'; write v.x or v[0]")
        else:
            self._write_entries(
                [o for place in places for o in self._entry_offsets(self._index_places(place))], value
            )

    # Arithmetic, element by element

    def _combine_with(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, (list, tuple)):
            other = Tensor.of(other, self.functions)
        return self.map(op, other)

    def map(self, function: Callable[..., Any], *others: Any) -> "Tensor":
        """function(entry, ...) for each entry; others are tensors of the same shape or scalars."""
        for other in others:
            if isinstance(other, Tensor) and other.shape != self.shape:
                raise TypeError(
                    f"operands: must have one shape, got {list(self.shape)} and {list(other.shape)}; take"
                    " a part, such as v[0:2]"
                )
        columns = [o.entries if isinstance(o, Tensor) else [o] * len(self.entries) for o in others]
        return self._with_entries(function(*row) for row in zip(self.entries, *columns, strict=True))

    def __add__(self, other):
        return self._combine_with(other, add)

    def __radd__(self, other):
        return self._combine_with(other, lambda a, b: b + a)

    def __sub__(self, other):
        return self._combine_with(other, sub)

    def __rsub__(self, other):
        return self._combine_with(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._combine_with(other, mul)

    def __rmul__(self, other):
        return self._combine_with(other, lambda a, b: b * a)

    def __truediv__(self, other):
        return self._combine_with(other, truediv)

    def __rtruediv__(self, other):
        return self._combine_with(other, lambda a, b: b / a)

    def __floordiv__(self, other):
        return self._combine_with(other, floordiv)

    def __rfloordiv__(self, other):
        return self._combine_with(other, lambda a, b: b // a)

    def __mod__(self, other):
        return self._combine_with(other, mod)

    def __rmod__(self, other):
        return self._combine_with(other, lambda a, b: b % a)

    def __pow__(self, other):
        return self._combine_with(other, pow)

    def __rpow__(self, other):
        return self._combine_with(other, lambda a, b: b**a)

    def __lt__(self, other):
        return self._combine_with(other, lt)

    def __le__(self, other):
        return self._combine_with(other, le)

    def __gt__(self, other):
        return self._combine_with(other, gt)

    def __ge__(self, other):
        return self._combine_with(other, ge)

    def __eq__(self, other):
        return self._combine_with(other, eq)

    def __ne__(self, other):
        return self._combine_with(other, ne)

    def __and__(self, other):
        return self._combine_with(other, and_)

    def __or__(self, other):
        return self._combine_with(other, or_)

    __rand__, __ror__ = __and__, __or__
    __hash__ = object.__hash__

    def __neg__(self):
        return self._with_entries(-a for a in self.entries)

    def __pos__(self):
        return self

    def __abs__(self):
        return self._with_entries(abs(a) for a in self.entries)

    # Linear algebra

    def __matmul__(self, other: "Tensor") -> Any:
        if len(self.shape) == 1:
            if len(other.shape) == 1:
                return self.dot(other)
            return other.transpose() @ self
        if self.m != other.n:
            raise TypeError(
                f"@: needs as many columns on the left as rows on the right, got {list(self.shape)} and"
                f" {list(other.shape)}; transpose one of them"
            )
        if len(other.shape) == 1:
            return Tensor((self.n,), (row.dot(other) for row in self), self.functions)
        entries = (row.dot(column) for row, column in product(self, other.transpose()))
        return Tensor((self.n, other.m), entries, self.functions)

    def sum(self) -> Any:
        return self._fold_entries(add)

    def dot(self, other: "Tensor") -> Any:
        return self._require_vector("dot")._combine_with(other, mul).sum()

    def norm_sqr(self) -> Any:
        return (self * self).sum()

    def norm(self, eps: Any = 0.0) -> Any:
        """sqrt(|v|^2 + eps), as in Taichi."""
        return self.functions.sqrt(self.norm_sqr() + eps)

    def norm_inv(self, eps: Any = 0.0) -> Any:
        return 1.0 / self.norm(eps)

    def normalized(self, eps: Any = 0.0) -> "Tensor":
        return self._require_vector("normalized") * (1.0 / (self.norm() + eps))

    def cross(self, other: "Tensor") -> Any:
        a, b = self, other
        if a.shape == b.shape == (2,):
            return a[0] * b[1] - a[1] * b[0]
        if not a.shape == b.shape == (3,):
            raise TypeError(
                f"cross: takes two vectors of 2 or of 3 components, got {list(a.shape)} and {list(b.shape)};"
                " take components, such as v.xyz"
            )
        return self._with_entries(a[j] * b[k] - a[k] * b[j] for j, k in ((1, 2), (2, 0), (0, 1)))

    def outer_product(self, other: "Tensor") -> "Tensor":
        return Tensor(
            (self._require_vector("outer_product").n, other._require_vector("outer_product").n),
            (a * b for a, b in product(self, other)),
            self.functions,
        )

    def transpose(self) -> "Tensor":
        if len(self.shape) == 1:
            raise TypeError(
                "transpose: takes a matrix, got a vector; for a @ b.transpose() write a.outer_product(b)"
            )
        entries = (self.entries[i * self.m + j] for j, i in product(range(self.m), range(self.n)))
        return Tensor((self.m, self.n), entries, self.functions)

    def trace(self) -> Any:
        return Tensor.of([self[i, i] for i in range(self._square_order())], self.functions).sum()

    def determinant(self) -> Any:
        """By cofactors of the first row."""
        if self._small() == 1:
            return self[0, 0]
        signed = [self[0, j] * self._minor(0, j) * (-1.0) ** j for j in range(self.n)]
        return Tensor.of(signed, self.functions).sum()

    def inverse(self) -> "Tensor":
        """Adjugate over determinant."""
        inverse_det = 1.0 / self.determinant()
        places = product(range(self.n), range(self.n))
        adjugate = [self._minor(j, i) * (-1.0) ** (i + j) for i, j in places]
        return self._with_entries(inverse_det * a for a in adjugate)

    def _square_order(self) -> int:
        """n of an n x n matrix."""
        if len(self.shape) != 2 or self.n != self.m:
            raise TypeError(
                "trace, determinant and inverse: take a square matrix, got shape"
                f" {list(self.shape)}; use A.transpose() @ A"
            )
        return self.n

    def _small(self) -> int:
        if self._square_order() > LARGEST:
            raise TypeError(
                f"determinant and inverse: go to {LARGEST} x {LARGEST} in Taichi, got {self.n} x {self.n};"
                " eliminate in static loops"
            )
        return self.n

    def _require_vector(self, operation: str) -> "Tensor":
        if len(self.shape) != 1:
            raise TypeError(
                f"{operation}: takes vectors, got shape {list(self.shape)}; take columns with A[:, j], or"
                " (A * B).sum()"
            )
        return self

    def _minor(self, i: int, j: int) -> Any:
        if self.n == 1:
            return 1.0
        kept = [[self[r, c] for c in range(self.n) if c != j] for r in range(self.n) if r != i]
        return Tensor.of(kept, self.functions).determinant()

    def any(self) -> Any:
        return self._entry_truths()._fold_entries(or_)

    def all(self) -> Any:
        return self._entry_truths()._fold_entries(and_)

    def _entry_truths(self) -> "Tensor":
        """For each entry: True if it is not zero."""
        return self.map(self.functions.truth)

    def cast(self, dtype: Callable[[Any], Any]) -> "Tensor":
        return self.functions.cast(self, dtype)

    def max(self) -> Any:
        return self._fold_entries(self.functions.max)

    def min(self) -> Any:
        return self._fold_entries(self.functions.min)

    def _fold_entries(self, function: Callable[[Any, Any], Any]) -> Any:
        result = self.entries[0]
        for entry in self.entries[1:]:
            result = function(result, entry)
        return result

    def fill(self, value: Any) -> None:
        self.entries = [self._cast_to_own_type(value)] * len(self.entries)


def wrong_count(needed: int, given: int) -> str:
    """The message for an assignment of a wrong number of values."""
    wanted = "one number" if needed == 1 else f"{needed} numbers"
    return f"assignment: needs {wanted}, got a list of {given}; give one number for each entry"


def _axes(index: Any) -> tuple:
    return index if isinstance(index, tuple) else (index,)


def flat(value: Any) -> Iterator[Any]:
    """The numbers in a tensor, or in nested lists."""
    if isinstance(value, (Tensor, list, tuple)):
        for part in value:
            yield from flat(part)
    else:
        yield value


def _method_cure(method: str) -> str:
    """The cure for a method that tensors of energies lack."""
    if method in ("to_list", "to_numpy"):
        return "; read its entries: v[0], A[0, 1]"
    if method in ("field", "ndarray"):
        return "; arrays are arguments of the energy: a Node, Datum, Parameter or Table"
    if method in MAKERS:
        return f"; it makes a matrix: ti.Matrix.{method}(...)"
    return suggestion(method, [n for n in dir(Tensor) if not n.startswith("_")])


def _swizzle_places(name: str) -> list[int] | None:
    """The places that letters such as `x` or `xzy` stand for."""
    letters = next((s for s in SWIZZLES if name and set(name) <= set(s)), None)
    return None if letters is None else [letters.index(c) for c in name]
