"""The loops of energies over single nodes in lanes: a vector holds consecutive nodes.

Fields and data of one number each are read and written lane by lane (`lane_statements`). Sums over blocks of
nodes are accumulated in the same loop. The last vector ends with the last node; lanes in it that the vector
before has written keep their values.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.roles import Datum
from ...energies.term import Term
from ...engine import lane_blocks, storage
from ...engine.kernels import dealt
from ...symbolic.graph import inputs
from ...symbolic.scalar import Scalar
from ..derivative_request import TOTAL, Place, outputs
from ..lane_statements import SMALL, AllVectors
from ..statements import indented
from ..term_loops import Emitter

PART = 4096
"""Nodes whose energies are summed together."""


def one_of_each(term: Term) -> bool:
    """True if element e is node e, every field and datum is a scalar, and parameters have no rows."""
    count, wide = len(next(iter(term.fields.values()), ())), lane_blocks.lanes(term.dtype)
    nodes, fields = term.elements.nodes, list(term.fields.values())
    data = [storage.host(values) for values in term.data.values()]
    return (
        count >= wide
        and term.elements.fixed
        and np.array_equal(nodes[:, 0], np.arange(count))
        and all(array.ndim == 1 for array in (*(f.values for f in fields), *data))
        and len({f.name for f in fields}) == len(fields)
        and not any(role.integer for role in term.energy.of_role(Datum).values())
        and all(values.index is None for values in term.parameters.values())
    )


class NodeLanes(AllVectors, Emitter):
    """The loops of one term over single nodes; requests for values by element are served by plain loops."""

    def __init__(self, term: Term, arrays: Mapping[str, Any] | None = None):
        super().__init__(term, arrays)
        self.wide = lane_blocks.lanes(term.dtype)

    def totals(self, places: Sequence[Place]) -> tuple[Sequence[range], np.ndarray]:
        if not _in_vectors(places):
            return super().totals(places)
        return [range(self.term.elements.rows)], storage.host(self._arrays["parts"]).sum(axis=0)

    def _row_buffers(self, places: Sequence[Place]) -> dict[str, Any]:
        if not _in_vectors(places):
            return super()._row_buffers(places)
        parts = max(self.term.elements.rows // PART, 1)
        return {
            place.buffer: self._own_array("parts", np.zeros((parts, 1)))
            for place in places
            if place.is_summed
        }

    def _by_element(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        if not _in_vectors(places):
            plain = Emitter(self.term, self._arrays).with_prefix(self.prefix)
            lines = plain._by_element(value, places, along)
            self._arrays |= plain._arrays
            return lines
        wanted = outputs(value, places, along)
        sums = [k for k, place in enumerate(places) if place is TOTAL]

        def put(texts: Sequence[str]) -> list[str]:
            nodal = [k for k in range(len(places)) if k not in sums]
            return [line for k in nodal for line in self._stored(places[k], texts[k])]

        return self._in_chunks(wanted, put, sums, "parts")

    def _in_chunks(
        self,
        wanted: Sequence[Scalar],
        put: Callable[[Sequence[str]], list[str]],
        sums: Sequence[int],
        buffer: str,
    ) -> list[str]:
        """The loops over chunks of nodes that compute some graphs in lanes, and `put` the text of each.

        Those numbered in `sums` are added up by chunk, in the columns of a buffer.
        """
        p, wide, count = self.prefix, self.wide, f"{self.prefix}nodes.shape[0]"
        leaves = list(inputs(list(wanted)))
        own = [leaf for leaf in leaves if not self._is_uniform(leaf)]
        early, lines, texts = self._hoist_statements(list(wanted), {leaf.serial for leaf in own}, {})
        before = [*(self._load_statement(leaf) for leaf in leaves if self._is_uniform(leaf)), *early]
        zero = self._to_all(f"{self.type}(0.0)")
        adds = [
            line
            for column, k in enumerate(sums)
            for line in (
                f"kept = ti.select(inside, {texts[k]}, {zero})",
                f"s{column} += {self._in_f64('kept')}",
            )
        ]
        vector = [
            f"begin = base + part * {wide}",
            f"node = ti.min(begin, end - {wide}) & {SMALL}",
            f"inside = lanes >= {self._to_all(f'{self.type}(begin - node)')}",
            *(self._load_statement(leaf) for leaf in own),
            *lines,
            *put(texts),
            *adds,
        ]
        parts, columns = f"ti.max({count} // {PART}, 1)", range(len(sums))
        each = [
            f"base = chunk * {PART}",
            f"end = ti.select(chunk == {parts} - 1, {count}, base + {PART})",
            *before,
            f"lanes = {self._lane_numbers()}",
            *(f"s{c} = {self._to_all('ti.f64(0.0)')}" for c in columns),
            f"for part in range((end - base + {wide - 1}) // {wide}):",
            *indented(vector),
            *(line for c in columns for line in self._sum_of_lanes(f"whole{c}", f"s{c}")),
            *(f"{p}{buffer}[chunk, {c}] = whole{c}" for c in columns),
        ]
        return dealt("chunk", parts, each)

    def _load_statement(self, leaf: Scalar) -> str:
        name, _, text = super()._load_statement(leaf).partition(" = ")
        if self._is_uniform(leaf):
            return f"{name} = {self._to_all(text)}"
        single = re.sub(r"\[(n\d|e)\b", "[node + {lane}", text)
        return f"{name} = {self._by_lane(single)}"

    def _stored(self, place: Place, text: str) -> list[str]:
        """Statements that store the vector of a place."""
        number = self._add_to_gradient(place, "node + {lane}", "").partition(" = ")[0]
        was = self._by_lane(number)
        new = text if place.overwrite else f"{was} + {text}"
        return self._put_lanes(number, f"ti.select(inside, {new}, {was})")


def _in_vectors(places: Sequence[Place]) -> bool:
    """True if no value by element is requested: all numbers belong to nodes or to the total."""
    return all(place is TOTAL or not place.is_summed for place in places)
