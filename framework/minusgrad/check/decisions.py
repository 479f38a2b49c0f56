"""Decisions of a map: on which side of each condition, tie and rounding its elements are.

An impact changes velocities at once, so a map of impacts jumps where a condition changes: which of two balls
meet has no derivative. Such a jump is written in the source, as one by a cast is not. At ties of min, max and
abs, and where a rounded number changes, a map has a kink.

Decisions 0337.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..codegen.tracing import of_term
from ..codegen.verification.element_samples import Sample
from ..energies.term import Term
from ..symbolic.graph import reachable
from ..symbolic.operations import OPERATIONS
from ..symbolic.scalar import Scalar

TIES = ("min", "max")


@dataclass(frozen=True)
class Switches:
    """Numbers that may change the branch of a map's elements: conditions, ties of two, rounded numbers."""

    term: Term
    conditions: Sequence[Scalar]
    ties: Sequence[tuple[Scalar, Scalar | None]]
    rounded: Sequence[Scalar]

    @classmethod
    def of(cls, term: Term) -> "Switches | None":
        """Those of a map; None of energies, and of maps with windows."""
        if not term.outputs or term.grid is not None:
            return None
        traced = of_term(term)
        nodes = list(reachable([*traced.values, *traced.mirrored]))
        conditions = {node.args[0].serial: node.args[0] for node in nodes if node.op == "select"}
        ties: list[tuple[Scalar, Scalar | None]] = [
            (node.args[0], node.args[1]) for node in nodes if node.op in TIES
        ]
        ties += [(node.args[0], None) for node in nodes if node.op == "abs"]
        return cls(term, list(conditions.values()), ties, [n for n in nodes if OPERATIONS[n.op].rounding])

    def __bool__(self) -> bool:
        return bool(self.conditions or self.ties or self.rounded)

    def condition_truths(self, t: float) -> np.ndarray:
        """The truth of each condition, (conditions, elements)."""
        return self._evaluate_graphs(self.conditions, t) != 0

    def sides(self, t: float, among: np.ndarray | None = None) -> np.ndarray:
        """Truths, signs of differences at ties, and rounded numbers: (switches, elements)."""
        first = self._evaluate_graphs([a for a, _ in self.ties], t, among)
        second = self._evaluate_graphs([a if b is None else b for a, b in self.ties], t, among)
        alone = np.array([b is None for _, b in self.ties], bool).reshape(-1, 1)
        signs = np.sign(first - np.where(alone, 0.0, second))
        truths = self._evaluate_graphs(self.conditions, t, among) != 0
        return np.concatenate([truths, signs, self._evaluate_graphs(self.rounded, t, among)]).astype(float)

    def branches(self, t: float) -> np.ndarray:
        """The sides without rounded numbers."""
        found = self.sides(t)
        return found[: len(found) - len(self.rounded)]

    def roundings(self, t: float) -> np.ndarray:
        """The rounded numbers, (roundings, elements)."""
        return self._evaluate_graphs(self.rounded, t)

    def _evaluate_graphs(
        self, graphs: Sequence[Scalar], t: float, among: np.ndarray | None = None
    ) -> np.ndarray:
        rows = np.arange(self.term.elements.count) if among is None else among
        with np.errstate(all="ignore"):
            found = Sample.of_elements(self.term, rows, t).exact(graphs)
        return np.array(found).reshape(len(graphs), len(rows))


def decisions(term: Term, t: float) -> tuple[bytes, ...] | None:
    """The conditions of all selects and branches, of every element; None of energies and maps to cells."""
    switches = Switches.of(term)
    return None if switches is None else tuple(row.tobytes() for row in switches.condition_truths(t))
