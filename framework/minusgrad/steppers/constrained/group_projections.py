"""Projections of many small groups of equations, such as rigid molecules: each group on its own in a kernel.

A launch projects all groups, and each ends its iterations by itself, so that the bits depend neither on other
groups nor on the number of threads. On the first launches the kernels' rows and positions are compared with
those of the constraints' own kernels (`Equations`).

Decisions 0378.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import Motion
from ...engine import storage
from ...engine.kernels import MOST_ARRAYS, BoundKernel, Code
from ...errors import UnsolvedStepError
from ...potential.constraints.constraints import Constraints
from ...potential.constraints.equations import Equations
from ..holds import Holds
from .group_code import GroupCode
from .group_kinds import GroupKind
from .limits import MOST, ROUNDED, SINGULAR, SOLVED
from .projections import Projections

LARGEST = 10
"""The most equations of a group: its system is written out."""
KINDS = 16
"""The most kinds of groups: each has a loop of its own."""


class GroupProjections(Projections):
    """`Projections` for groups of some kinds (`group_kinds`), which have all equations among them."""

    def __init__(
        self,
        constraints: Constraints,
        motions: Sequence[Motion],
        inertia: Mapping[str, Any],
        holds: Holds,
        kinds: Sequence[GroupKind],
    ):
        super().__init__(constraints, motions, inertia, holds)
        fields, self.kinds = constraints.fields, list(kinds)
        shared = {name: np.zeros(self.count) for name in ("given", "rates")} | {"extent": np.zeros(1)}
        self._shared = {name: storage.allocate(values) for name, values in shared.items()}
        self._shared |= {"rows": self.rows, "weights": self.weights}
        positions, velocities = ([fields[n] for n in names] for names in self._names_of_motions())
        codes = [
            GroupCode(k, kind, self.equations, positions, velocities, bool(holds.fields), self._shared)
            for k, kind in enumerate(self.kinds)
        ]
        self._marks = [code.arrays[code.marks] for code in codes]
        least = SINGULAR[fields.dtype.name]
        self._jacobian = BoundKernel(_merged(code.jacobian(least) for code in codes), "t")
        self._moved = BoundKernel(_merged(code.moved(SOLVED, ROUNDED, MOST) for code in codes), "h", "t")
        self._tangent = BoundKernel(_merged(code.tangent() for code in codes))
        self._factored = self._compared = False

    def _names_of_motions(self) -> tuple[list[str], list[str]]:
        return [m.position for m in self.motions], [m.velocity for m in self.motions]

    def begin(self, t: float, loaded: bool = False) -> None:
        """Take the Jacobian at the present positions and time.

        Raises `UnsolvedStepError` where it is singular.
        """
        self.time, self._factored = t, False
        self._jacobian(t)
        if not self._compared:
            self.compare_rows(t)
            self._compared = True
        if any(storage.host(marks)[:, 0].any() for marks in self._marks):
            super().begin(t)
            self._factored = True
        elif self.drives:
            self.equations.load(t)
            parts = np.split(
                storage.host(self.rows), np.cumsum([c.size for c in self.equations.columns])[:-1]
            )
            shaped = zip(parts, self.equations.columns, strict=True)
            self.driven = self._driven([part.reshape(c.shape) for part, c in shaped])

    def load(self, t: float, loaded: bool = False) -> None:
        """Take the rows of the Jacobian, for the factors of the whole matrix."""
        super().load(t, loaded)
        self._factored = False

    def factor(self) -> None:
        """Compute G W G^T and its factors."""
        super().factor()
        self._factored = True

    def positions(self, h: float, t: float, guess: np.ndarray) -> np.ndarray:
        """Move positions, after a drift of length h, onto g = 0 at time t; the multipliers (E,)."""
        storage.store(self._shared["given"], guess * h)
        storage.store(self._shared["extent"], np.array([self.equations.extent()]))
        for marks in self._marks:
            marks.fill(0)
        self._moved(h, t)
        found = [storage.host(marks) for marks in self._marks]
        storage.store(self._turns, np.array([self.iterations + max(marks[:, 1].max() for marks in found)]))
        for kind, marks in zip(self.kinds, found, strict=True):
            if (bad := np.flatnonzero(marks[:, 0])).size:
                row = self._row(kind, int(bad[0]), int(marks[bad[0], 0]) - 1)
                raise UnsolvedStepError(f"{row}: Newton's method does not reach it in {MOST} iterations")
        self.impulses = storage.host(self._shared["given"]).copy()
        return self.impulses / h

    def _row(self, kind: GroupKind, group: int, equation: int) -> Any:
        """The element of an equation of a group."""
        one = kind.elements[equation]
        return self.equations.row(int(self.equations.first[one.constraint] + kind.table[group, one.element]))

    def velocities(self) -> np.ndarray:
        """Make velocities tangent, where `begin` was; the impulses (E,)."""
        if self.constraints.uses_time:
            storage.store(self._shared["rates"], self.equations.rates())
        self._tangent()
        self.impulses = storage.host(self._shared["given"]).copy()
        return self.impulses

    def solve(self, right: np.ndarray) -> np.ndarray:
        """(G W G^T)^-1 b for b (E,), where `begin` was."""
        if not self._factored:
            self.factor()
        return super().solve(right)


def fits(kinds: Sequence[GroupKind], equations: Equations) -> bool:
    """True if groups of these kinds are small, and kernels have room for the arrays of all."""
    if len(kinds) > KINDS or max(len(kind.elements) for kind in kinds) > LARGEST:
        return False
    terms = [part.term for part in equations.parts.values()]
    own = sum(len(t.data) + 2 * len(t.parameters) + len(t.tables) + len(t.fields) for t in terms)
    return own + 2 * len(kinds) + 2 * len(equations.names) + len(terms) + 5 <= MOST_ARRAYS


def _merged(codes: Iterable[Code]) -> Code:
    return Code.merged([*codes])
