"""The loops of a map from all nodes of a set to one node, in lanes: sums over a whole field.

    forward   y += sum over nodes n of f(n)            by chunks of nodes, then over the chunks in their order
    adjoint   dU/dq_n += lambda df/dq_n                each node its own, with lambda = dU/dy of the one node

The chunks depend on the number of nodes alone, so the bits do not depend on the number of threads.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...elements.node_tuples import AllCombinations
from ...energies.fields import Field
from ...energies.local_map import LocalMap
from ...energies.term import Term
from ...engine import lane_blocks, storage
from ...engine.kernels import Code
from ...symbolic.scalar import Scalar
from ..derivative_request import DerivativeRequest, adjoint_of
from ..map_loops import MapLoops, map_outputs
from ..statements import indented
from ..term_loops import Emitter
from ..verification.sweep_verification import verify_sums
from .node_lane_loops import PART, NodeLanes

BUFFER = "sums"
"""The name of the array with the sums over chunks."""


def suits(term: Term) -> bool:
    """True if a map sums numbers of the nodes of one set into one node, and reads nothing of the latter."""
    elements, energy = term.elements, term.energy
    if not isinstance(elements, AllCombinations) or elements.form[0] != 1 or elements.copies != 1:
        return False
    fields = [*term.fields.values(), *term.outputs.values()]
    return (
        isinstance(energy, LocalMap)
        and elements.count >= lane_blocks.lanes(term.dtype)
        and all(energy.set_of(a) == energy.element_kind.sets[1] for a in term.fields)
        and all(f.values.ndim == 1 for f in fields)
        and len({f.name for f in fields}) == len(fields)
        and not term.data
        and all(values.index is None for values in term.parameters.values())
    )


class SumLanes(NodeLanes, MapLoops):
    """The loops of a map from all nodes of a set to one node.

    Array of its own: `sums`, a row for each chunk of nodes, a column for each output.
    """

    _writes_own_node = True

    def __init__(self, term: Term, adjoints: Mapping[str, Field]):
        MapLoops.__init__(self, term, adjoints)
        self.wide = lane_blocks.lanes(term.dtype)
        self._weights = {adjoint_of(k) for k in range(len(self.given))}

    def verify_forward(self, code: Code, along: Mapping[str, Any], t: float) -> bool:
        traced, values = self._emitted_outputs(along)
        sums = storage.host(self._arrays[BUFFER])
        count, last = self.term.elements.rows, len(sums) - 1
        chunks = [range(k * PART, count if k == last else (k + 1) * PART) for k in sorted({0, last})]
        found = list(sums[[0, last] if last else [0]].T)
        verify_sums(self.term, traced, self.numbers(values), chunks, found, t, along)
        return True

    def _emit_forward(
        self, outs: Sequence[str], moved: DerivativeRequest, overwrite: Collection[bool]
    ) -> list[str]:
        traced = Emitter._trace_energy(self, "forward", tuple(moved.tangents))
        values = map_outputs(traced, moved)
        self.forwarded = traced, values
        columns, p = range(len(values)), self.prefix
        self._own_array(BUFFER, np.zeros((max(self.term.elements.rows // PART, 1), len(values))))
        stored = partial(self._stored_outputs, outs, [*overwrite])
        total = [
            *(f"a{c} = ti.f64(0.0)" for c in columns),
            f"for q in range({p}{BUFFER}.shape[0]):",
            *indented([f"a{c} += {p}{BUFFER}[q, {c}]" for c in columns]),
            *stored("n", [f"{self.type}(a{c})" for c in columns]),
        ]
        chunks = self._in_chunks(values, lambda texts: [], [*columns], BUFFER)
        return [*chunks, "for n in range(1):", *indented(total)]

    def _is_uniform(self, leaf: Scalar) -> bool:
        return leaf.value[0] in self._weights or super()._is_uniform(leaf)

    def _load_statement(self, leaf: Scalar) -> str:
        text = super()._load_statement(leaf)
        return text.replace("[n0]", "[0]") if leaf.value[0] in self._weights else text
