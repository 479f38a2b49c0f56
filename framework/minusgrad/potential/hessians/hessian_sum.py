"""The sum of a Hessian of fixed elements and Hessians of elements that change, as one CSR matrix.

The pattern of the fixed elements is computed once. A term whose tuples change has a small assembly of its
own, over the nodes that its elements name; its numbers are added at their places, and blocks that the fixed
part lacks are inserted.

Decisions 0287.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...energies.fields import Field
from .assembly import HessianAssembly
from .element_hessians import ElementHessians
from .sparsity_pattern import Pattern, SparsityPattern, compact, distinct

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class HessianSum:
    """The Hessian over some fields: of `fixed` shares, whose pattern is kept, and of others at each call."""

    def __init__(self, fields: Sequence[Field], fixed: Sequence[ElementHessians]):
        self.fields, self.fixed = fields, HessianAssembly(fields, fixed)
        self._parts: dict[ElementHessians, tuple[int, HessianAssembly]] = {}
        self._joint: tuple[list[tuple[ElementHessians, int]], HessianAssembly] | None = None
        self._merged: tuple[list[HessianAssembly], MergedPattern] | None = None

    def matrix(self, t: float, project: str | None, changing: Sequence[ElementHessians]) -> "csr_matrix":
        """H at the present fields and time; matrices share `indices` and `indptr` until tuples change."""
        if not changing:
            return self.fixed.matrix(t, project)
        if not self.fixed.shares:
            return self._assemble_together(changing).matrix(t, project)
        parts = [self._term_assembly(share) for share in changing]
        if self._merged is None or self._merged[0] != parts:
            self._merged = parts, MergedPattern(self.fixed.pattern, [part.pattern for part in parts])
        pattern = self._merged[1]
        numbers = [part.numbers(t, project) for part in parts]
        return pattern.matrix(pattern.sum_numbers(self.fixed.numbers(t, project), numbers))

    def _assemble_together(self, changing: Sequence[ElementHessians]) -> HessianAssembly:
        """The assembly of all terms, where none is fixed."""
        state = [(share, share.version) for share in changing]
        if self._joint is None or self._joint[0] != state:
            self._joint = state, HessianAssembly(self.fields, changing)
        return self._joint[1]

    def _term_assembly(self, share: ElementHessians) -> HessianAssembly:
        """The assembly of a term for its present elements."""
        version, made = self._parts.get(share, (-1, None))
        if made is None or version != share.version:
            self._parts = {one: part for one, part in self._parts.items() if one is not share}
            made = HessianAssembly(self.fields, [share], compact(self.fields, share))
            self._parts[share] = share.version, made
        return made


class MergedPattern(Pattern):
    """The union of a pattern and smaller ones over some of its rows, and where their numbers lie in it."""

    def __init__(self, base: Pattern, parts: Sequence[SparsityPattern]):
        columns = np.int64(base.size)
        keys = [part.dofs.rows[part.row_numbers()] * columns + part.dofs.rows[part.indices] for part in parts]
        every = keys[0] if len(keys) == 1 else distinct(np.concatenate(keys))
        row, column = every // columns, every % columns
        lacking, place = _missing_places(base, row, column)
        before = place[lacking]
        added = np.bincount(row[lacking], minlength=base.size)
        self.indptr = (base.indptr + np.concatenate([[0], np.cumsum(added)])).astype(np.int32)
        self.indices = np.insert(base.indices, before, column[lacking]).astype(np.int32)
        self._of_base = np.ones(len(self.indices), bool)
        self._of_base[before + np.arange(len(before))] = False
        at = place + np.cumsum(lacking) - lacking  # the places behind what was inserted before them
        self._of_parts = [at[np.searchsorted(every, one)] for one in keys]

    def sum_numbers(self, base: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
        """The numbers of the sum, from those of the base and of the parts."""
        data = np.zeros(len(self.indices))
        data[self._of_base] = base
        for places, numbers in zip(self._of_parts, parts, strict=True):
            data[places] += numbers
        return data


def _missing_places(base: Pattern, row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of these entries a pattern lacks, and the places of all, or before which they belong.

    The entries are in order of rows and columns.
    """
    rows = distinct(row)
    begin, length = base.indptr[rows].astype(np.int64), np.diff(base.indptr)[rows]
    first = np.concatenate([[0], np.cumsum(length)])
    near = np.repeat(begin - first[:-1], length) + np.arange(first[-1])
    known = np.repeat(rows, length) * np.int64(base.size) + base.indices[near]
    wanted = row * np.int64(base.size) + column
    found = np.searchsorted(known, wanted)
    there = np.zeros(len(wanted), bool)
    inside = found < len(known)
    there[inside] = known[found[inside]] == wanted[inside]
    number = np.searchsorted(rows, row)
    return ~there, begin[number] + found - first[number]
