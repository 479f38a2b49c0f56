"""The loops of maps to the cells of a grid, with 16 cells (f32) or 8 (f64) of a row to one vector.

    forward   row by row, the output within a window is added to its cells
    adjoint   lane by lane, the sums go over the rows of a window

Vectors begin where the window does, and end within the row. Lanes outside of the window compute values
that are not used; windows of whole vectors within the row have none, and a loop without masks of their own.
Numbers that do not depend on the cell are computed once and broadcast to all lanes.
Arrays are read and written lane by lane (`lane_statements`). Functions like exp are no instructions: maps
that need them for every cell stay with plain loops, and those to one axis, whose bands divide a row.

Decisions 0267.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ...energies.fields import Field
from ...energies.local_map import LocalMap
from ...energies.term import Term
from ...engine import lane_blocks, runtime, storage
from ...symbolic.graph import reachable
from ...symbolic.operations import TRUTHS
from ...symbolic.scalar import Scalar
from ..lane_statements import SMALL, Vectors, is_instruction
from ..statements import WHOLE_TYPE, indented, leaf_name
from ..tracing import Trace, of_term
from .scatter_loops import Box, OfCell, Read, WindowLoops, size_of

Kept = Callable[[str], str]
"""The text of a vector, with zeros in the lanes outside of the window."""

BY_LANE = {"input", "lookup", "to_int", "to_real"}
"""Other operations that a cell may have: leaves, and a few that are computed lane by lane."""


def suits(term: Term) -> bool:
    """True if the rows of a map's grid are as long as a vector, and cells need vector instructions only.

    And the map gives one number: components of vectors are not beside each other, as lanes are.
    """
    assert term.grid is not None
    assert isinstance(term.energy, LocalMap)
    if term.energy.several or len(term.grid.shape) == 1 or {*term.window_edges} != {"zero"}:
        return False
    if not 0 < runtime.lanes(term.dtype) <= term.grid.shape[-1]:
        return False
    traced = of_term(term)
    (places,) = traced.inputs[term.energy.cell or ""]
    of_cell = depending([traced.value], {leaf.serial for leaf in places})
    return all(node.op in BY_LANE or is_instruction(node) for node in of_cell)


class WindowLanes(Vectors, WindowLoops):
    """The loops of a map to the cells of a grid, a vector of cells at a time.

    Arrays of its own: `flat0_table_...`, tables number by number, with as many zeros at both ends as a vector
    may stand out of a window. `flat1_table_...` is the same one number earlier, and so on: a lookup reads the
    copy in which its vectors are aligned in a window of whole vectors.
    """

    def __init__(self, term: Term, adjoints: Mapping[str, Field]):
        super().__init__(term, adjoints)
        self.wide, self.last = runtime.lanes(term.dtype), self.axes[-1]
        self._strides: dict[str, list[int]] = {}
        self._padded: dict[str, np.ndarray] = {}
        for name in term.tables:
            table = storage.host(self._arrays[f"table_{name}"])
            filled = [(0, 0)] * (table.ndim - 1) + [(0, -table.shape[-1] % self.wide)]
            table = np.pad(table, filled)  # so that rows begin where vectors may
            self._strides[name] = [int(np.prod(table.shape[k + 1 :], dtype=int)) for k in range(table.ndim)]
            self._padded[name] = table

    def _beyond(self, table: str) -> int:
        return self.wide * max(self._strides[table][0], self.wide)

    def _flat_array(self, name: str, earlier: int) -> str:
        """The array of a table's numbers, each so many places earlier."""
        array = f"flat{earlier}_table_{name}"
        if array not in self._arrays:
            table, begin = self._padded[name], self._beyond(name) - earlier
            room = table.size + 2 * self._beyond(name)
            flat = lane_blocks.flat(lane_blocks.zeros(room, 1, self.wide, self.term.dtype))
            flat[begin : begin + table.size] = table.ravel()
            self._arrays[array] = flat
        return array

    # Loops

    def _clear_cells(self, numbers: Sequence[OfCell], cells: str) -> list[str]:
        ((out, _),) = numbers
        number, zero = f"{out}[cell + {{lane}}]", self._to_all(f"{self.type}(0.0)")
        return [
            f"begin, end = {cells}",
            f"for part in range((end - begin + {self.wide - 1}) // {self.wide}):",
            f"    cell = ti.min(begin + part * {self.wide}, end - {self.wide}) & {SMALL}",
            f"    here = {self._to_all(f'{self.type}(begin + part * {self.wide} - cell)')}",
            f"    begun = {self._lane_numbers()} < here",
            *indented(self._put_lanes(number, f"ti.select(begun, {self._by_lane(number)}, {zero})")),
        ]

    def _giving_loop(
        self, traced: Trace, values: Sequence[Scalar], box: Box, numbers: Sequence[OfCell]
    ) -> tuple[list[str], list[str]]:
        early, lines, (text,) = self._in_lanes(values, self._late_serials(traced), dict(self._floors))
        ((out, _),) = numbers
        number = f"{out}[cell + {{lane}}]"

        def added(kept: Kept) -> list[str]:
            return [*lines, *self._put_lanes(number, f"{self._by_lane(number)} + {kept(text)}")]

        return early, self._cell_vector_loops(traced, box, [], added)

    def _summing_loop(
        self, traced: Trace, summed: Sequence[Scalar], read: Read, names: dict[int, str], few: int = 0
    ) -> tuple[list[str], list[str]]:
        late = self._late_serials(traced) | {leaf.serial for leaf, _ in read}
        early, lines, texts = self._in_lanes(summed, late, names)
        zero = self._to_all(f"{self.type}(0.0)")
        arrays = [(leaf_name(leaf), array) for leaf, (array, _) in read]
        fetch = [f"{name} = {self._by_lane(f'{array}[cell + {{lane}}]')}" for name, array in arrays]
        count = range(len(texts))
        begin = [f"a{k} = {zero}" for k in count]
        add = [f"a{k} += {text}" for k, text in enumerate(texts)]
        cells = self._cell_vector_loops(
            traced,
            self._on_grid(),
            begin,
            lambda _: [*fetch, *lines, *add],
            lambda kept: [f"l{k} += {kept(f'a{k}')}" for k in count],
        )
        ends = [line for k in count for line in self._sum_of_lanes(f"s{k}", f"l{k}")]
        return early, [*(f"l{k} = {zero}" for k in count), *cells, *ends]

    def _cell_vector_loops(
        self,
        traced: Trace,
        box: Box,
        before: list[str],
        body: Callable[[Kept], list[str]],
        after: Callable[[Kept], list[str]] = lambda _: [],
    ) -> list[str]:
        """The body for every vector of cells of a box, row by row; statements before and after the rows.

        `lane0`: the first column; lanes are `inside` from the column `begin` on.
        """
        low, high = box
        *rows, column = self._place_leaves(traced)
        places = [f"{leaf_name(leaf)} = {self._to_all(f'{WHOLE_TYPE}(i{a})')}" for a, leaf in enumerate(rows)]
        at = f"{leaf_name(column)} = {self._by_lane(f'{WHOLE_TYPE}(lane0 + {{lane}})')}"
        cell = f"cell = ({self._row_number()} * {self.shape[-1]} + lane0) & {SMALL}"

        def vector(kept: Kept) -> list[str]:
            nested = self._nested_loops(low, high, [cell, *places, *body(kept)])
            return indented([*before, at, *nested, *after(kept)])

        begins, ends = (self._to_all(f"{self.type}({name} - lane0)") for name in ("begin", "high"))
        masked = [
            f"low, high = {low[-1]}, {high[-1]}",
            f"for part in range((high - low + {self.wide - 1}) // {self.wide}):",
            f"    begin = low + part * {self.wide}",
            f"    lane0 = ti.min(begin, {self.shape[-1] - self.wide})",
            f"    inside = ({self._lane_numbers()} >= {begins}) & ({self._lane_numbers()} < {ends})",
            *vector(lambda text: f"ti.select(inside, {text}, {self._to_all(f'{self.type}(0.0)')})"),
        ]
        size, b = size_of(traced.window[self.last]), f"b{self.last}"
        if size is None or size % self.wide:
            return masked
        whole = [
            f"for part in range({size // self.wide}):",
            f"    lane0 = {b} + part * {self.wide}",
            *vector(lambda text: text),
        ]
        within_row = f"({b} >= 0) & (c{self.last} < {self.shape[-1]})"
        return [f"if {within_row}:", *indented(whole), "else:", *indented(masked)]

    def _row_number(self) -> str:
        """The number of the row at i0, i1, ..., without the last axis."""
        text = "0"
        for a in self.axes[:-1]:
            text = f"({text} * {self.shape[a]} + i{a})" if a else f"i{a}"
        return text

    # Vectors

    def _in_lanes(
        self, outputs: Sequence[Scalar], late: Iterable[int], names: dict[int, str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Statements on scalars for nodes that do not depend on the late leaves, on vectors for the others.

        And the vectors of the outputs.
        """
        depends = {node.serial for node in depending(outputs, set(late))}
        moving = [node for node in reachable(outputs, self._needed_nodes) if node.serial in depends]
        met = {a.serial: a for node in moving for a in self._needed_nodes(node)} | {
            o.serial: o for o in outputs
        }
        known = [node for serial, node in met.items() if serial not in depends]
        _, early, texts = self._hoist_statements(known, None, names)
        wide = {serial: text if serial in depends else self._to_all(text) for serial, text in names.items()}
        for node, text in zip(known, texts, strict=True):
            if node.number is None:
                wide[node.serial] = f"{text}_all"
                given = self._truth_to_all(text) if node.op in TRUTHS else self._to_all(text)
                early.append(f"{text}_all = {given}")
        lines: list[str] = []
        for node in reachable(outputs, self._needed_nodes):
            if node.serial in wide:
                continue
            if node.op == "input":
                wide[node.serial] = leaf_name(node)
            elif node.number is not None:
                wide[node.serial] = self._to_all(self._constant_text(node))
            else:
                wide[node.serial] = f"r{len(wide)}"
                if node.op == "lookup" and not self._needed_nodes(node):
                    at, text = self._looked_up(node)
                    lines += [at] * (at not in lines)
                else:
                    text = self._vector_operation(node, [wide[a.serial] for a in self._needed_nodes(node)])
                lines.append(f"{wide[node.serial]} = {text}")
        return early, lines, [wide[o.serial] for o in outputs]

    def _vector_operation(self, node: Scalar, arguments: Sequence[str]) -> str:
        """An operation for all lanes."""
        if is_instruction(node):
            return self._vector_instruction(node, arguments)
        single = self._operation_text(node, [f"({text})[{{lane}}]" for text in arguments])
        return self._by_lane(re.sub(rf"\bi{self.last}\b", "(lane0 + {lane})", single))

    def _looked_up(self, node: Scalar) -> tuple[str, str]:
        """The numbers of a table at places that are known relative to the window; where they begin."""
        name, reads, strides = node.value, self._reads[node.serial], self._strides[node.value]
        place, number, step, at = [str(self._beyond(name))], 0, 0, "at"
        for read, first, stride in zip(reads, self._begin[name], strides, strict=True):
            axis, offset = read or (0, 0)
            at += str(axis)
            place.append(f"({'lane0' if axis == self.last else f'i{axis}'} - b{axis}) * {stride}")
            number += (offset + first) * stride
            step += stride * (axis == self.last)
        at += f"_{name}"  # a user's name comes last, so that no two of them make the same local
        earlier = number % self.wide if step == 1 else 0
        flat = f"{self.prefix}{self._flat_array(name, earlier)}"
        numbers = (f"{flat}[{at} + {number - earlier + lane * step}]" for lane in range(self.wide))
        return f"{at} = ({' + '.join(place)}) & {SMALL}", f"ti.Vector([{', '.join(numbers)}])"

    def _truth_to_all(self, text: str) -> str:
        """The same truth value in every lane."""
        number = self._to_all(f"ti.select({text}, {self.type}(1.0), {self.type}(0.0))")
        return f"{number} > {self._to_all(f'{self.type}(0.0)')}"


def depending(outputs: Sequence[Scalar], on: set[int]) -> list[Scalar]:
    """The nodes that depend on some leaves (by serial), and these."""
    depends = set(on)
    for node in reachable(outputs):
        depends.update([node.serial] * any(a.serial in depends for a in node.args))
    return [node for node in reachable(outputs) if node.serial in depends]
