"""Tuples of nodes that are a function of positions: those of surfaces that are close to each other.

    tuples = search.tuples(x, kind)        at every evaluation: nothing is remembered from step to step

They stand for an energy that is finite on a part of space alone, which no step may leave: two positions that
are both within it may lie on two sides of a surface. So whoever moves nodes asks how far the straight way
stays within (`Elements.free_part`).

Decisions 0086.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from ..list_reference import ListReference
from .changing_tuples import room_after
from .rewritten_tuples import RewrittenTuples

POSITIONS = "x"
"""The argument of an energy over such tuples that has the positions."""


class TupleSearch(Protocol):
    """What finds tuples at positions x (n, d)."""

    def tuples(self, x: np.ndarray, kind: str) -> np.ndarray:
        """The tuples (E, k) of a kind, int32, in an order that follows from x; E may be 0."""

    def free_part(self, before: np.ndarray, after: np.ndarray) -> float:
        """The part of the straight way between two positions that stays in the domain; 1.0: all of it."""

    def trouble(self, x: np.ndarray) -> str:
        """In words, why positions are outside of the domain; "" if they are within."""


class FoundTuples(RewrittenTuples):
    """The tuples of a kind that a search finds, (E, k); E may be 0.

    constants: data that are the same for all elements, by argument of the energy.
    """

    barrier: ClassVar[bool] = True

    def __init__(
        self,
        search: TupleSearch,
        kind: str,
        x: np.ndarray,
        constants: Mapping[str, np.ndarray],
        room: int = 0,
    ):
        super().__init__()
        self.search, self.kind, self.constants = search, kind, constants
        self.brings = constants.keys()
        self._take_tuples(x)
        self._room = room_after(len(self.nodes), room)

    def _take_tuples(self, x: np.ndarray) -> None:
        self._x = np.array(x, np.float64)
        self._finite = bool(np.isfinite(self._x).all())
        if self._finite or not hasattr(self, "nodes"):
            self.nodes = self.search.tuples(self._x, self.kind)

    @property
    def room(self) -> int:
        return self._room

    @property
    def defined(self) -> bool:
        return self._finite

    def following(self, reference: ListReference | None) -> "FoundTuples":
        return FoundTuples(self.search, self.kind, self._x, self.constants, self._room)

    def rebuild(self, fields: Mapping[str, Any]) -> "FoundTuples":
        """The tuples at these positions: itself, or others with another room."""
        x = fields[POSITIONS]
        if np.array_equal(self._x, x):
            return self
        before = self.nodes
        self._take_tuples(x)
        if np.array_equal(self.nodes, before):
            return self
        if room_after(len(self.nodes), self._room) != self._room:
            return FoundTuples(self.search, self.kind, self._x, self.constants, self._room)
        self._renew_arrays()
        return self

    def constant(self, argument: str, dtype: np.dtype) -> Any:
        """The array of a constant with a row for each element, which follows them."""
        row = self.constants[argument].astype(dtype)
        return self.derived_array(
            (argument, dtype), lambda: np.tile(row, (len(self.nodes), *[1] * row.ndim)).astype(dtype)
        )

    def free_part(self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> float:
        start, end = (np.asarray(x[POSITIONS], np.float64) for x in (before, after))
        return self.search.free_part(start, end) if np.isfinite(end).all() else 0.0

    def trouble(self, fields: Mapping[str, np.ndarray]) -> str:
        return self.search.trouble(np.asarray(fields[POSITIONS], np.float64))
