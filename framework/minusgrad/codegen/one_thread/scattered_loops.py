"""Loops for kernels in which one thread goes through all elements: each adds to its nodes at once.

The numbers of an element are added to the arrays of fields in the order of elements, without slots and a
second loop that gathers them. Pairs of a loop over targets are taken once. For the kernels of many steps
whose lanes are members of an ensemble (`engine.members.member_source`).

Decisions 0389.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...elements.node_tuples import NodeTuples
from ...energies.term import Term
from ...engine.kernels import Code
from ...errors import EnergyError
from ...symbolic.scalar import Scalar
from ..derivative_request import TOTAL, WHOLE, DerivativeRequest, Place, outputs
from ..term_loops import Emitter


class ScatteredLoops(Emitter):
    """The loops of one term for one thread. Raises `EnergyError` for elements that have no tuples."""

    def __init__(self, term: Term):
        super().__init__(term if not term.elements.loop.per_target else _in_tuples(term))

    @property
    def writes_every_node(self) -> bool:
        """False: all numbers are added."""
        return False

    def sweep_with_total(self, wanted: DerivativeRequest) -> tuple[Code, dict[str, Any]]:
        """As `sweep`; but the energy of all elements is the number [0, 0] of the buffer "total"."""
        return self._emit_sweep(wanted, TOTAL if wanted.value else WHOLE)

    def _by_element(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        p = self.prefix

        def line(place: Place) -> str:
            if place is TOTAL:
                return f"{p}total[0, 0] = {p}total[0, 0] + ti.f64({{}})"
            if place.is_summed:
                return f"{p}{place.buffer}[e, {place.column}] = ti.f64({{}})"
            return self._add_to_gradient(replace(place, overwrite=False), f"n{place.slot}", "{}")

        before = [f"{p}total[0, 0] = 0.0"] if TOTAL in places else []
        return [
            *before,
            *self._each_element(outputs(value, places, along), [line(place) for place in places]),
        ]


def _in_tuples(term: Term) -> Term:
    """The same term with its pairs as tuples."""
    if any(values.index is not None for values in term.parameters.values()):
        raise EnergyError(f"{term.name}: has values for each target, and no tuples")
    return replace(term, elements=NodeTuples(term.elements.tuples()))
