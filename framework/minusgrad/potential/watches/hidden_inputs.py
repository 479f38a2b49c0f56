"""NaN and infinity that kernels would hide: a comparison with NaN is false.

    max(a - r, 0) = 0        `if r < a`: the other branch        an energy with a window at NaN: no cells

So the fields that a term compares are inspected before its kernels run, which cost the same with or without.
Where one is NaN at a node of the term, all numbers of the term are NaN, as those of pairs are whose list of
neighbours cannot be built (`Elements.defined`). An infinity may be meant, such as a limit that never acts; of
positions it is none: they count as NaN, also where 1 / r makes them finite. Of maps of single nodes only
positions are inspected: they read large grids, once for each step of a program.

Decisions 0050.
"""

from collections.abc import Iterator
from math import isfinite, isnan
from typing import Any

import numpy as np

from ...codegen.kept_traces import KEPT
from ...energies.fields import Field
from ...energies.term import Term
from ...engine import runtime, storage
from ...engine.kernels import BoundKernel, Code, at_each
from ...symbolic.graph import inputs, reachable
from ...symbolic.operations import TRUTHS

COMPARED = {*TRUTHS, "min", "max", "to_int", "lookup"}
"""Operations that may give a finite number for NaN."""
BOUNDED = {"recip", "pow", "exp", "tanh", "erf", "erfc", "atan2"}
"""Operations that may give one for infinity."""


class Inspection:
    """Looks for NaN in a field, and for infinity if `infinite`, in one pass over memory."""

    def __init__(self, field: Field, infinite: bool):
        self.field, self._infinite = field, infinite
        self._kernel: BoundKernel | None = None

    def any(self) -> bool:
        """True if there may be one."""
        if runtime.arch() != "cpu":
            return self._any_on_device()
        numbers = storage.host(self.field.array).reshape(-1)
        if isnan(largest := np.maximum.reduce(numbers)):
            return True
        return self._infinite and not (isfinite(largest) and isfinite(np.minimum.reduce(numbers)))

    def rows(self) -> np.ndarray:
        """Which nodes have one, (n,)."""
        values = storage.host(self.field.array)
        bad = ~np.isfinite(values) if self._infinite else np.isnan(values)
        return bad.reshape(len(bad), -1).any(axis=1)

    def _any_on_device(self) -> bool:
        if self._kernel is None:
            self._flag = storage.allocate(np.zeros(1, np.int32))
            self._kernel = BoundKernel(
                Code(self._inspection_text(), {"x": self.field.array, "flag": self._flag})
            )
        storage.store(self._flag, np.zeros(1, np.int32))
        self._kernel()
        return bool(storage.host(self._flag)[0])

    def _inspection_text(self) -> str:
        """By bits: comparisons of floats in kernels with fast arithmetic may miss NaN."""
        whole = f"i{self.field.dtype.itemsize}"
        integer, size = f"ti.i{8 * self.field.dtype.itemsize}", np.iinfo(whole).max
        infinity = int(np.array(np.inf, self.field.dtype).view(whole))
        line = f"if (ti.bit_cast(x[{{at}}], {integer}) & {integer}({size})) >= {integer}({infinity}):"
        return at_each("x", self.field.array, line, "    flag[0] = 1")


class HiddenInputs:
    """The fields of a term whose NaN its kernels would hide."""

    def __init__(self, term: Term):
        self.term = term
        self._watched: list[tuple[str, bool, Inspection]] | None = None

    def any(self, value: bool) -> bool:
        """True if one of them is not a number at a node of the term.

        `value`: the energy is asked for; derivatives at infinity are NaN without a comparison.
        """
        if self._watched is None:
            self._watched = [*self._make_inspections()]
        for argument, always, found in self._watched:
            if (always or value) and found.any() and found.rows()[self.term.members(argument)].any():
                return True
        return False

    def _make_inspections(self) -> Iterator[tuple[str, bool, Inspection]]:
        term = self.term
        traced = KEPT.of_term(term, "value")
        if term.outputs and traced.window:
            return  # kernels have a rule: what a node at NaN reads is NaN, what it gives makes cell 0 NaN
        windows = [corner for pair in traced.window for corner in pair]
        compared = {*self._read_arguments([*traced.values, *windows], COMPARED), *self._field_names(windows)}
        bounded = self._read_arguments(traced.values, BOUNDED) if term.arity > 1 else set()
        for argument, field in term.fields.items():
            positions = field.places
            if positions and term.elements.listed:
                continue
            if term.outputs and term.arity == 1 and not positions:
                continue  # maps of programs: what each cell makes of its own numbers
            if argument in compared or (positions and argument in bounded):
                yield argument, argument in compared, Inspection(field, infinite=positions)

    def _read_arguments(self, values: list[Any], operations: set[str]) -> set[str]:
        """The arguments that these operations of a graph depend on."""
        return self._field_names([a for one in reachable(values) if one.op in operations for a in one.args])

    def _field_names(self, values: list[Any]) -> set[str]:
        linear = self.term.energy.linear
        names = {leaf.value[0] for leaf in inputs(values)}
        return names | {linear[name].field for name in names if name in linear}
