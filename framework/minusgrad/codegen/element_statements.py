"""Statements of one element's derivatives inside a larger loop, where the values of its nodes are locals.

The loops of other modules read fields from arrays. A kernel that solves for the fields of an element, such as
one of Newton's iterations, has them as local variables, and asks for derivatives by them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..energies.roles import Time
from ..symbolic import differentiation, ties
from ..symbolic.graph import inputs
from ..symbolic.scalar import Scalar
from .hessians.hessian_loops import lower
from .hessians.linear_forms import halves
from .term_loops import Emitter
from .tracing import Trace

Leaf = tuple[str, int, tuple[int, ...]]
"""An argument, a slot of the element, and a component."""


@dataclass(frozen=True)
class Derived:
    """First and second derivatives of u by some leaves: lines that compute them, and the texts of them.

    `first`, `second`: by places in `leaves`, and by pairs of them in both orders; zero ones are missing.
    `rate`, `value`: du/dt and u; empty where it is zero or not asked for.
    """

    lines: list[str]
    first: Mapping[int, str]
    second: Mapping[tuple[int, int], str]
    rate: str
    value: str = ""


class ElementStatements(Emitter):
    """The statements of one term; `e` is the element, and `n0`, `n1`, ... are its nodes."""

    def derivative_statements(
        self,
        leaves: Sequence[Leaf],
        local: Mapping[Leaf, str],
        first: Sequence[int],
        second: Callable[[int, int], bool] | None = None,
        rate: bool = False,
        value: bool = False,
    ) -> Derived:
        """Derivatives by `leaves`: those in `first`, second ones of the pairs that are wanted, du/dt, and u.

        local: the locals with the values of leaves, in f64; other leaves are loaded from arrays.
        """
        purpose = tuple(leaves), tuple(first), second is not None, rate, value
        traced = self._trace_energy("statements", *purpose)
        nodes = [leaf_of(traced, leaf) for leaf in leaves]
        slopes = ties.settle_ties(differentiation.gradient(traced.value, nodes))
        wanted: dict[Any, Scalar] = {k: slopes[k] for k in first}
        if second is not None:
            entries = zip(halves(len(nodes)), lower(traced.value, nodes), strict=True)
            wanted |= {(i, j): entry for (i, j), entry in entries if second(i, j)}
        if rate:
            clock = next(a for a, role in self.term.energy.roles.items() if isinstance(role, Time))
            slope = differentiation.gradient(traced.value, traced.inputs[clock][0])
            wanted[clock] = ties.settle_ties(slope)[0]
        if value:
            wanted["u"] = traced.value
        wanted = {key: one for key, one in wanted.items() if one.number != 0.0}
        lines, texts = self._assigned_outputs([*wanted.values()], traced, local)
        by = dict(zip(wanted, texts, strict=True))
        pairs = {key: text for key, text in by.items() if isinstance(key, tuple)}
        pairs |= {(j, i): text for (i, j), text in pairs.items()}
        slope_in_time = by[clock] if rate and clock in by else ""
        return Derived(lines, {k: by[k] for k in first if k in by}, pairs, slope_in_time, by.get("u", ""))

    def arrays_of(self, lines: Sequence[str]) -> dict[str, Any]:
        """The arrays that lines name."""
        return dict(self._code_of_lines([*lines]).arrays)

    def _assigned_outputs(
        self, wanted: list[Scalar], traced: Trace, local: Mapping[Leaf, str]
    ) -> tuple[list[str], list[str]]:
        """The loads of all leaves that are read, the statements, and the texts of the wanted outputs."""
        if not wanted:
            return [], []
        known = {leaf_of(traced, leaf).serial: text for leaf, text in local.items()}
        loads = []
        for leaf in inputs(wanted):
            line = self._load_statement(leaf)
            if leaf.serial in known:
                line = f"{line.split(' = ')[0]} = {self.type}({known[leaf.serial]})"
            loads.append(line)
        lines, texts = self._output_statements(wanted)
        return [*loads, *lines], texts


def leaf_of(traced: Trace, leaf: Leaf) -> Scalar:
    """The input of a trace at an argument, a slot and a component."""
    argument, slot, component = leaf
    return next(one for one in traced.inputs[argument][slot] if one.value[2] == component)
