"""Vectors and matrices of scalars, with the names and meanings they have in Taichi.

Entries are any scalars with + - * /; `functions` supplies sqrt, min and the like for them.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from operator import add, floordiv, mod, mul, sub, truediv
from typing import Any

SWIZZLES = ("xyzw", "rgba", "stpq")


class Tensor:
    """A vector, shape (n,), or a matrix, shape (n, m); entries in row-major order."""

    def __init__(self, shape: tuple[int, ...], entries: Iterable[Any], functions: Any):
        self.shape, self.entries, self.functions = shape, list(entries), functions

    @classmethod
    def of(cls, rows: Sequence[Any], functions: Any) -> "Tensor":
        """From a list of scalars (a vector) or of vectors or lists (the rows of a matrix)."""
        rows = [list(r) if isinstance(r, (Tensor, list, tuple)) else r for r in rows]
        if rows and isinstance(rows[0], list):
            return cls((len(rows), len(rows[0])), [e for r in rows for e in r], functions)
        return cls((len(rows),), rows, functions)

    def _like(self, entries: Iterable[Any]) -> "Tensor":
        return Tensor(self.shape, entries, self.functions)

    def copy(self) -> "Tensor":
        return self._like(self.entries)

    @property
    def n(self) -> int:
        return self.shape[0]

    @property
    def m(self) -> int:
        return self.shape[1] if len(self.shape) == 2 else 1

    def __len__(self) -> int:
        return self.n

    def __iter__(self):
        return iter(self[i] for i in range(self.n))

    # Elements

    def _offset(self, index: Any) -> int:
        index = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(i, int) for i in index):
            raise TypeError("an element is chosen by a number known when the energy is compiled (ti.static)")
        if len(index) != len(self.shape) or not all(0 <= i < s for i, s in zip(index, self.shape, strict=True)):
            raise IndexError(f"index {list(index)} of a tensor of shape {list(self.shape)}")
        return index[0] if len(index) == 1 else index[0] * self.m + index[1]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and len(self.shape) == 2:
            return Tensor((self.m,), [self[index, j] for j in range(self.m)], self.functions)
        return self.entries[self._offset(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.entries[self._offset(index)] = value

    def __getattr__(self, name: str) -> Any:
        letters = next((s for s in SWIZZLES if name and set(name) <= set(s)), None)
        if letters is None or len(self.__dict__.get("shape", ())) != 1:
            raise AttributeError(f"a tensor has no '{name}' that the engine knows")
        chosen = [self[letters.index(c)] for c in name]
        return chosen[0] if len(name) == 1 else Tensor.of(chosen, self.functions)

    def __setattr__(self, name: str, value: Any) -> None:
        if len(name) == 1 and name in "".join(SWIZZLES):
            self[next(s for s in SWIZZLES if name in s).index(name)] = value
        else:
            super().__setattr__(name, value)

    # Arithmetic, element by element

    def _with(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, (list, tuple)):
            other = Tensor.of(other, self.functions)
        if not isinstance(other, Tensor):
            return self._like(op(a, other) for a in self.entries)
        if other.shape != self.shape:
            raise TypeError(f"shapes {list(self.shape)} and {list(other.shape)} do not go together")
        return self._like(op(a, b) for a, b in zip(self.entries, other.entries, strict=True))

    def map(self, function: Callable[..., Any], *others: Any) -> "Tensor":
        """function(entry, ...) for each entry; others are tensors of the same shape or scalars."""
        columns = [o.entries if isinstance(o, Tensor) else [o] * len(self.entries) for o in others]
        return self._like(function(*row) for row in zip(self.entries, *columns, strict=True))

    def __add__(self, other):
        return self._with(other, add)

    def __radd__(self, other):
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other):
        return self._with(other, sub)

    def __rsub__(self, other):
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._with(other, mul)

    def __rmul__(self, other):
        return self._with(other, lambda a, b: b * a)

    def __truediv__(self, other):
        return self._with(other, truediv)

    def __rtruediv__(self, other):
        return self._with(other, lambda a, b: b / a)

    def __floordiv__(self, other):
        return self._with(other, floordiv)

    def __mod__(self, other):
        return self._with(other, mod)

    def __pow__(self, other):
        return self._with(other, lambda a, b: a**b)

    def __neg__(self):
        return self._like(-a for a in self.entries)

    def __pos__(self):
        return self

    def __abs__(self):
        return self._like(abs(a) for a in self.entries)

    # Linear algebra

    def __matmul__(self, other: "Tensor") -> Any:
        if len(self.shape) == 1:
            raise TypeError("a vector is no left factor of @; use dot or outer_product")
        if self.m != other.n:
            raise TypeError(f"shapes {list(self.shape)} and {list(other.shape)} do not go together in @")
        if len(other.shape) == 1:
            return Tensor((self.n,), (self[i].dot(other) for i in range(self.n)), self.functions)
        columns = other.transpose()
        entries = (self[i].dot(columns[j]) for i, j in product(range(self.n), range(other.m)))
        return Tensor((self.n, other.m), entries, self.functions)

    def sum(self) -> Any:
        total = self.entries[0]
        for entry in self.entries[1:]:
            total = total + entry
        return total

    def dot(self, other: "Tensor") -> Any:
        return self._with(other, mul).sum()

    def norm_sqr(self) -> Any:
        return self.dot(self)

    def norm(self, eps: Any = 0.0) -> Any:
        """sqrt(|v|^2 + eps), as in Taichi."""
        return self.functions.sqrt(self.norm_sqr() + eps)

    def norm_inv(self, eps: Any = 0.0) -> Any:
        return 1.0 / self.norm(eps)

    def normalized(self, eps: Any = 0.0) -> "Tensor":
        return self * (1.0 / (self.norm() + eps))

    def cross(self, other: "Tensor") -> Any:
        a, b = self, other
        if self.n == 2:
            return a[0] * b[1] - a[1] * b[0]
        return self._like(a[j] * b[k] - a[k] * b[j] for j, k in ((1, 2), (2, 0), (0, 1)))

    def outer_product(self, other: "Tensor") -> "Tensor":
        return Tensor((self.n, other.n), (a * b for a, b in product(self, other)), self.functions)

    def transpose(self) -> "Tensor":
        entries = (self[i, j] for j, i in product(range(self.m), range(self.n)))
        return Tensor((self.m, self.n), entries, self.functions)

    def trace(self) -> Any:
        return Tensor.of([self[i, i] for i in range(self.n)], self.functions).sum()

    def determinant(self) -> Any:
        """By cofactors of the first row, up to 4 x 4."""
        if self.n == 1:
            return self[0, 0]
        signed = [self[0, j] * self._minor(0, j) * (-1.0) ** j for j in range(self.n)]
        return Tensor.of(signed, self.functions).sum()

    def inverse(self) -> "Tensor":
        """Adjugate over determinant."""
        inverse_det = 1.0 / self.determinant()
        places = product(range(self.n), range(self.n))
        adjugate = [self._minor(j, i) * (-1.0) ** (i + j) for i, j in places]
        return self._like(inverse_det * a for a in adjugate)

    def _minor(self, i: int, j: int) -> Any:
        if self.n == 1:
            return 1.0
        kept = [[self[r, c] for c in range(self.n) if c != j] for r in range(self.n) if r != i]
        return Tensor.of(kept, self.functions).determinant()

    def max(self) -> Any:
        return self._fold(self.functions.max)

    def min(self) -> Any:
        return self._fold(self.functions.min)

    def _fold(self, function: Callable[[Any, Any], Any]) -> Any:
        result = self.entries[0]
        for entry in self.entries[1:]:
            result = function(result, entry)
        return result

    def fill(self, value: Any) -> None:
        self.entries = [value] * math.prod(self.shape)
