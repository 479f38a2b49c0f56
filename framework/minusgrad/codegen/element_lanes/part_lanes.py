"""Lanes over parts of elements: forces are added to the rows of their part; no slot keeps a number.

    own[n0[lane]] = own[n0[lane]] + row          a row of four numbers, one load and one store

A part is one thread's work (`elements.parts`). Node fields are copied to the rows of all parts before, so one
number leads to the positions of a node and to its sum.

Decisions 0262.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...elements.parts import Parts
from ...energies.term import Term
from ...engine.kernels import dealt
from ..derivative_request import Place
from ..statements import indented
from .lane_loops import ROWS, Lanes


def parts_of(term: Term, wide: int) -> Parts | None:
    """The parts of a term's elements; None if they do not suit it.

    They suit elements that stay, whose fields are over one set and have rows of two to four numbers.
    """
    elements = term.elements
    if (
        elements.loop.per_target
        or not elements.fixed
        or elements.arity == 1
        or elements.room != elements.rows
    ):
        return None
    if term.energy.element_kind.several or any(f.shape[1:] not in ROWS for f in term.fields.values()):
        return None
    return Parts.of(elements.nodes, wide)


class PartLanes(Lanes):
    """The loops of one term whose elements are in parts."""

    adds_up_elements = True
    NODES = "rows_in_blocks"
    QUADS = "part_quads_"

    def __init__(self, term: Term, parts: Parts, arrays: Mapping[str, Any] | None = None):
        self.parts = parts
        super().__init__(term, arrays)
        self._own_array("part_begin", parts.begin)
        self._own_array("part_first", parts.first)
        self._own_array("part_nodes", parts.nodes)

    def _nodes_in_blocks(self) -> dict[str, Any]:
        parts = self.parts
        return {self.NODES: self.term.elements.in_lanes("rows of parts", lambda: parts.rows, self.wide)}

    def _copied_rows(self, nodes: int) -> tuple[int, str]:
        return len(self.parts.nodes), f"{self.prefix}part_nodes[n]"

    def stored_values(self, place: Place, rows: np.ndarray) -> np.ndarray | None:
        return super().stored_values(place, rows) if place.is_summed else None

    def _all_stored(self, texts: Mapping[Place, str]) -> list[str]:
        """Numbers of elements, and what is added to the rows of their nodes."""
        store = super()._all_stored({place: text for place, text in texts.items() if place.is_summed})
        for name in _buffers_of([*texts]):
            store += self._added_to_rows(name, {q: text for q, text in texts.items() if q.buffer == name})
        return store

    def _blocks_of(self, nodal: Sequence[Place], before: list[str], work: list[str]) -> list[str]:
        """The blocks of each part, one after another, after its sums are set to zero."""
        if not nodal:
            return self._block_loop(before, work)
        p = self.prefix
        part = [
            *before,
            f"for row in range({p}part_begin[part], {p}part_begin[part + 1]):",
            *(f"    {p}sums_{name}[row] = {self._zero_row}" for name in _buffers_of(nodal)),
            f"for block in range({p}part_first[part], {p}part_first[part + 1]):",
            *indented(work),
        ]
        return dealt("part", f"({p}part_first.shape[0] - 1)", part)

    @property
    def _zero_row(self) -> str:
        """A row of zeros."""
        return f"ti.Vector([{', '.join([f'{self.type}(0.0)'] * 4)}])"

    def _added_to_rows(self, buffer: str, texts: Mapping[Place, str]) -> list[str]:
        """Statements that add the vectors of a buffer's places to the rows of their nodes."""
        lines: list[str] = []
        sums = f"{self.prefix}{self._own_quads(f'sums_{buffer}', len(self.parts.nodes), self.term.dtype)}"
        for slot in dict.fromkeys(place.slot for place in texts):
            columns = {place.component[0]: text for place, text in texts.items() if place.slot == slot}
            numbers = [f"c{k}[{{lane}}]" if k in columns else f"{self.type}(0.0)" for k in range(4)]
            lines += [f"c{k} = {text}" for k, text in columns.items()]
            at = f"{sums}[n{slot}[{{lane}}]]"
            add = f"{at} = {at} + ti.Vector([{', '.join(numbers)}])"
            lines += [add.replace("{lane}", str(lane)) for lane in range(self.wide)]
        return lines

    def _gather_loop(self, places: Sequence[Place]) -> list[str]:
        """Sums over the rows of a node, in the order of parts."""
        p = self.prefix
        if "start_of_parts" not in self._arrays:
            gather = self.parts.gather(self.term.nodes)
            self._own_array("start_of_parts", gather.start)
            self._own_array("slots_of_parts", gather.slots)
        buffers = _buffers_of(places)
        return [
            f"for n in range({p}start_of_parts.shape[0] - 1):",
            *(f"    a{k} = {self._zero_row}" for k in range(len(buffers))),
            f"    for q in range({p}start_of_parts[n], {p}start_of_parts[n + 1]):",
            f"        at_row = {p}slots_of_parts[q]",
            *(f"        a{k} += {p}sums_{name}[at_row]" for k, name in enumerate(buffers)),
            *(
                f"    {self._add_to_gradient(q, 'n', f'a{buffers.index(q.buffer)}[{q.component[0]}]')}"
                for q in places
            ),
        ]


def _buffers_of(places: Sequence[Place]) -> list[str]:
    """The names of the sums that numbers of nodes are added to."""
    return [*dict.fromkeys(place.buffer for place in places if not place.is_summed)]
