"""The system g(x, t) = 0 of all constraints over some fields: values, sparse Jacobian, second derivatives.

    G = dg/dx            (E, N), CSR with a fixed pattern, rows in the order of constraints and their elements
    K = sum lambda_e d2g_e/dx2       (N, N), CSR with a fixed pattern; K w is the change of G^T lambda along w
    violation = |g_e| / (|G_e| X)    the distance from g_e = 0, in parts of X

E elements, N components of the fields, one field after another, node by node (as in `Potential.hessian`).
|G_e| is the norm of row e, and X the largest coordinate of a node with constraints: a coordinate is rounded
to eps X, so that a violation of a few eps is as good as none.

Decisions 0300.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...energies.fields import Fields
from ...energies.term import Term
from ...errors import EnergyError
from .element_equations import ElementEquations

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class ConstraintRow:
    """One equation: an element of a constraint."""

    constraint: str
    element: int
    nodes: tuple[int, ...]

    def __str__(self) -> str:
        nodes = f"node{'s' * (len(self.nodes) > 1)} {', '.join(map(str, self.nodes))}"
        return f"constraint '{self.constraint}', element {self.element} ({nodes})"


class Equations:
    """g(x, t) = 0 over the fields `names`, at the present values; all in f64.

    terms: bound constraints, by name. Raises `EnergyError` for a constraint that reads none of the fields.
    """

    def __init__(self, fields: Fields, terms: Mapping[str, Term], names: Sequence[str]):
        self.fields, self.names = fields, tuple(names)
        self.parts = {name: ElementEquations(term, fields, names) for name, term in terms.items()}
        if idle := [name for name, part in self.parts.items() if not part.arguments]:
            raise EnergyError(
                f"constraint '{idle[0]}': reads none of the fields that change, got {', '.join(names)}; give"
                " it one of them, or leave it out"
            )
        self.sizes = [fields[name].values.size for name in names]
        self.first = np.concatenate([[0], np.cumsum([part.count for part in self.parts.values()])])
        self.columns = [part.columns for part in self.parts.values()]
        self.members = np.unique(np.concatenate([c.ravel() for c in self.columns]))
        self._pattern: _Pattern | None = None
        self._second: _Pattern | None = None

    @property
    def count(self) -> int:
        """E: how many equations there are."""
        return int(self.first[-1])

    @property
    def size(self) -> int:
        """N: the components of the fields."""
        return sum(self.sizes)

    def row(self, number: int) -> ConstraintRow:
        """The element of an equation, by its number."""
        place = int(np.searchsorted(self.first, number, side="right")) - 1
        name, part = list(self.parts.items())[place]
        element = number - int(self.first[place])
        return ConstraintRow(name, element, tuple(part.term.elements.nodes[element].tolist()))

    def joined_values(self) -> np.ndarray:
        """The values of the fields, (N,)."""
        return np.concatenate([self.fields[name].values.astype(np.float64).ravel() for name in self.names])

    def by_field(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Numbers of components (N,) by field, in its shape."""
        parts = np.split(values, np.cumsum(self.sizes)[:-1])
        return {n: part.reshape(self.fields[n].shape) for n, part in zip(self.names, parts, strict=True)}

    def load(self, t: float) -> None:
        """Take the present values of the fields, and the time; the methods below are then at these."""
        for part in self.parts.values():
            part.load(t)

    def values(self) -> np.ndarray:
        """g (E,)."""
        found = [part.values() for part in self.parts.values()]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def rates(self) -> np.ndarray:
        """dg/dt (E,) at fixed fields; zero of constraints that are not driven."""
        return np.concatenate([part.rates() for part in self.parts.values()])

    def bend(self, velocity: np.ndarray) -> np.ndarray:
        """d2g/ds2 (E,) along x + s v and t + s, for a velocity (N,)."""
        return self.rate_change(velocity, self.by_field(velocity), {}, 1.0)

    def rate_change(
        self,
        velocity: np.ndarray,
        along: Mapping[str, np.ndarray],
        values: Mapping[str, Any],
        clock: float = 0.0,
    ) -> np.ndarray:
        """The change of G v + dg/dt (E,) along tangents, at a fixed velocity v (N,).

        along: tangents of fields, in their shapes. values: of parameters and data, by their names
        "term.argument". clock: of the time.
        """
        return np.concatenate(
            [
                part.rate_change(
                    velocity, along, {n: a for n, a in values.items() if n.partition(".")[0] == name}, clock
                )
                for name, part in self.parts.items()
            ]
        )

    def rows(self) -> list[np.ndarray]:
        """The numbers of G element by element, (E, m) of each constraint, in the order of `columns`."""
        return [part.rows() for part in self.parts.values()]

    def jacobian(self) -> "csr_matrix":
        """G (E, N). All matrices share `indices` and `indptr`: never write them."""
        return self.matrix(self.rows())

    def matrix(self, rows: Sequence[np.ndarray]) -> "csr_matrix":
        """The matrix (E, N) of rows element by element, as `rows` gives them."""
        if self._pattern is None:
            every = [
                (first + np.arange(len(c))[:, None] + 0 * c, c)
                for first, c in zip(self.first.tolist(), self.columns, strict=False)
            ]
            self._pattern = _Pattern(every, (self.count, self.size))
        return self._pattern.matrix([part.ravel() for part in rows])

    def hessian(self, multipliers: np.ndarray) -> "csr_matrix":
        """K = sum over elements of lambda_e d2g_e/dx2, (N, N), for multipliers (E,)."""
        if self._second is None:
            every = [
                (np.repeat(c[:, :, None], c.shape[1], 2), np.repeat(c[:, None, :], c.shape[1], 1))
                for c in self.columns
            ]
            self._second = _Pattern(every, (self.size, self.size))
        shares = np.split(np.asarray(multipliers, np.float64), self.first[1:-1])
        parts = zip(self.parts.values(), shares, strict=True)
        return self._second.matrix([(part.hessians() * s[:, None, None]).ravel() for part, s in parts])

    def extent(self) -> float:
        """X: the largest coordinate of a node with constraints; 1 where all are zero."""
        x = self.joined_values()
        x = x if len(self.members) == len(x) else x[self.members]
        return float(max(x.max(initial=0.0), -x.min(initial=0.0))) or 1.0

    def violation(self, values: np.ndarray, rows: Sequence[np.ndarray], extent: float) -> np.ndarray:
        """|g_e| / (|G_e| X) (E,) of each equation; infinite where the row is zero and g_e is not."""
        sizes = np.concatenate([np.sqrt((part**2).sum(axis=1)) for part in rows])
        with np.errstate(all="ignore"):
            found = np.abs(values) / (sizes * extent)
        return np.where(values == 0.0, 0.0, found)


class _Pattern:
    """The places of numbers in a sparse matrix: those at one place are added, in their order."""

    def __init__(self, every: Sequence[tuple[np.ndarray, np.ndarray]], shape: tuple[int, int]):
        row = np.concatenate([np.asarray(r, np.int64).ravel() for r, _ in every])
        column = np.concatenate([np.asarray(c, np.int64).ravel() for _, c in every])
        keys, self._place = np.unique(row * shape[1] + column, return_inverse=True)
        self.shape, self.indices = shape, (keys % shape[1]).astype(np.int32)
        counts = np.bincount(keys // shape[1], minlength=shape[0])
        self.indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    def matrix(self, numbers: Sequence[np.ndarray]) -> "csr_matrix":
        from scipy.sparse import csr_matrix

        data = np.bincount(self._place, np.concatenate(numbers), len(self.indices))
        matrix = csr_matrix((data, self.indices, self.indptr), shape=self.shape, copy=False)
        matrix.indices = self.indices  # SciPy replaces it by a view
        return matrix
