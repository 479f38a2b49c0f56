"""Maps over pairs within a cutoff in lanes: sums over the sources of each target, such as densities.

forward   y_i += sum over j of f(i, j)           a block of targets at a time, stored target by target
adjoint   the gradient of the local energy lambda_i f(i, j) + lambda_j f(j, i), as of any energy

Decisions 0273.
"""

from collections.abc import Sequence

from ..derivative_request import DerivativeRequest
from ..map_loops import MapLoops, map_outputs
from ..statements import indented
from ..term_loops import Emitter
from .listed_lanes import ListedLanes


class ListedMapLanes(MapLoops, ListedLanes):
    """The loops of a map over pairs within a cutoff, a block of targets at a time."""

    def _emit_forward(
        self, outs: Sequence[str], moved: DerivativeRequest, overwrite: Sequence[bool]
    ) -> list[str]:
        traced = Emitter._trace_energy(self, "forward", tuple(moved.tangents))
        values = map_outputs(traced, moved)
        self.forwarded = traced, values
        sums, numbers = self._sums_name(len(values)), range(len(values))
        kept = [f"{self._vector_at(sums, k)} = s{k}" for k in numbers]
        texts = [self.row(sums, k, "i") for k in numbers]
        stored = self._stored_outputs(outs, overwrite, "n0", texts)
        return [
            *self._source_loops(values, [False for _ in numbers], kept),
            f"for i in range({self.prefix}nodes.shape[0]):",
            *indented([f"n0 = {self.prefix}nodes[i]", *stored]),
        ]
