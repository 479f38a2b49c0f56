"""The loops of maps to the cells of a grid, with 16 cells (f32) or 8 (f64) of a row to one vector.

    forward   a band's cells lie in blocks of a copy, and the blocks that a window touches are added to
    adjoint   vectors begin where the window does; lane by lane the sums go over its rows

Lanes outside of the window compute something, and give zero. What does not depend on the cell is computed in
single numbers and given to all lanes. An array is read lane by lane from a place that is known to be small and
not negative: of such loads, and no others, compilers make one.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from . import blocks, runtime, vectors
from .fields import Field
from .folding import TRUTHS
from .graph import Scalar, reachable
from .lanes import VECTORS
from .statements import WHOLE_TYPE, indented, leaf_name, template
from .terms import Term
from .trace import Trace
from .window_loops import Box, Read, WindowLoops

SMALL = (1 << 30) - 1
"""Places in arrays are not beyond this, and `& SMALL` tells the compiler so."""


def suits(term: Term) -> bool:
    """Whether the rows of a map's grid are long enough for a vector."""
    assert term.grid is not None
    return 0 < runtime.lanes(term.dtype) <= term.grid.shape[-1]


class WindowLanes(WindowLoops):
    """The loops of a map to the cells of a grid, a vector of cells at a time.

    Arrays of its own: `given`, the cells in blocks, each row filled up; `table_..._flat`, tables number by
    number, with as many zeros at both ends as a vector may stand out of a window.
    """

    def __init__(self, term: Term, adjoint: Field):
        super().__init__(term, adjoint)
        self.wide, self.last = runtime.lanes(term.dtype), self.axes[-1]
        self.across = -(-self.shape[-1] // self.wide)
        rows = int(np.prod(self.shape[:-1], dtype=int))
        given = blocks.zeros(rows * self.across * self.wide, 1, self.wide, term.dtype)
        self._arrays["given"], self._arrays["given_flat"] = given, blocks.flat(given)
        self._strides: dict[str, list[int]] = {}
        for name in term.tables:
            table = runtime.host(self._arrays[f"table_{name}"])
            self._strides[name] = [int(np.prod(table.shape[k + 1 :], dtype=int)) for k in range(table.ndim)]
            self._arrays[f"table_{name}_flat"] = runtime.allocate(np.pad(table.ravel(), self._beyond(name)))

    def _beyond(self, table: str) -> int:
        return self.wide * self._strides[table][0]

    # Loops

    def _giving(self, traced: Trace, value: Scalar, box: Box, out: str) -> tuple[list[str], list[str]]:
        low, high = box
        early, lines, (text,) = self._in_lanes([value], self._late(traced), dict(self._floors))
        block = f"{self.prefix}given[{self._row()} * {self.across} + block, 0]"
        add = f"{block} = {block} + ti.select(inside, {text}, {self._to_all(f'{self.type}(0.0)')})"
        blocks_ = f"low // {self.wide}, (high + {self.wide - 1}) // {self.wide}"
        head = [f"for block in range({blocks_}):", f"    lane0 = block * {self.wide}"]
        return early, self._vectors(traced, low, high, head, [*lines, add])

    def _band(self, entries: list[str], out: str) -> list[str]:
        """Begin with zeros; at the end add the sums to what was there."""
        p, zero = self.prefix, self._to_all(f"{self.type}(0.0)")
        rows, columns = f"band * {self.band}, {self._end('band')}", f"0, {self.shape[-1]}"
        if len(self.axes) == 1:
            rows, columns = "0, 1", rows
            count = f"band * {self.band // self.wide}, ({self._end('band')} + {self.wide - 1}) // {self.wide}"
        else:
            depth = int(np.prod(self.shape[1:-1], dtype=int))
            rows = f"band * {self.band * depth}, {self._end('band')} * {depth}"
            count = f"band * {self.band * depth * self.across}, {self._end('band')} * {depth * self.across}"
        copy = [
            f"for row in range({rows}):",
            f"    for column in range({columns}):",
            f"        cell = row * {self.shape[-1]} + column",
            f"        {out}[cell] = {out}[cell] + {p}given_flat[row * {self.across * self.wide} + column]",
        ]
        return [f"for block in range({count}):", f"    {p}given[block, 0] = {zero}", *entries, *copy]

    def _summing(
        self, traced: Trace, summed: Sequence[Scalar], read: Read, names: dict[int, str]
    ) -> tuple[list[str], list[str]]:
        late = self._late(traced) | {leaf.serial for leaf, _ in read}
        early, lines, texts = self._in_lanes(summed, late, names)
        zero = self._to_all(f"{self.type}(0.0)")
        fetch = [f"{leaf_name(leaf)} = {self._by_lane(f'{array}[cell + {{lane}}]')}" for leaf, array in read]
        add = [f"a{k} += ti.select(inside, {text}, {zero})" for k, text in enumerate(texts)]
        head = [
            f"for part in range((high - low + {self.wide - 1}) // {self.wide}):",
            f"    begin = low + part * {self.wide}",
            f"    lane0 = ti.min(begin, {self.shape[-1] - self.wide})",
        ]
        cells = self._vectors(traced, *self._on_grid(), head, [*fetch, *lines, *add], "begin")
        begin = [f"a{k} = {zero}" for k in range(len(texts))]
        lanes = range(self.wide)
        end = [f"s{k} = {' + '.join(f'a{k}[{lane}]' for lane in lanes)}" for k in range(len(texts))]
        return early, [*begin, *cells, *end]

    def _vectors(
        self,
        traced: Trace,
        low: list[str],
        high: list[str],
        head: list[str],
        body: list[str],
        begin: str = "low",
    ) -> list[str]:
        """For every vector of cells of a box, then for every row of it the body.

        `head`: the loop over them, `lane0` the first column of each.

        Lanes are `inside` from the column `begin` on.
        """
        *rows, column = self._places(traced)
        places = [f"{leaf_name(leaf)} = {self._to_all(f'{WHOLE_TYPE}(i{a})')}" for a, leaf in enumerate(rows)]
        begins, ends = (self._to_all(f"{WHOLE_TYPE}({name})") for name in (begin, "high"))
        at = [
            f"{leaf_name(column)} = {self._by_lane(f'{WHOLE_TYPE}(lane0 + {{lane}})')}",
            f"inside = ({leaf_name(column)} >= {begins}) & ({leaf_name(column)} < {ends})",
        ]
        cell = f"cell = ({self._row()} * {self.shape[-1]} + lane0) & {SMALL}"
        return [
            f"low, high = {low[-1]}, {high[-1]}",
            *head,
            *indented([*at, *self._nested(low, high, [cell, *places, *body])]),
        ]

    def _row(self) -> str:
        """The number of the row at i0, i1, ..., without the last axis."""
        text = "0"
        for a in self.axes[:-1]:
            text = f"({text} * {self.shape[a]} + i{a})" if a else f"i{a}"
        return text

    # Vectors

    def _in_lanes(
        self, outputs: Sequence[Scalar], late: Iterable[int], names: dict[int, str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Statements on single numbers for what does not depend on the late leaves, on vectors for what does.

        And the vectors of the outputs.
        """
        depends = set(late)
        for node in reachable(outputs):
            depends.update([node.serial] * any(a.serial in depends for a in node.args))
        moving = [node for node in reachable(outputs, self._needs) if node.serial in depends]
        met = {a.serial: a for node in moving for a in self._needs(node)} | {o.serial: o for o in outputs}
        known = [node for serial, node in met.items() if serial not in depends]
        _, early, texts = self._hoisted(known, None, names)
        wide = {serial: text if serial in depends else self._to_all(text) for serial, text in names.items()}
        for node, text in zip(known, texts, strict=True):
            if node.number is None:
                wide[node.serial] = f"{text}_all"
                early.append(f"{text}_all = {self._to_all(text, node.op in TRUTHS)}")
        lines: list[str] = []
        for node in reachable(outputs, self._needs):
            if node.serial in wide:
                continue
            if node.op == "input":
                wide[node.serial] = leaf_name(node)
            elif node.number is not None:
                wide[node.serial] = self._to_all(self._constant(node))
            else:
                wide[node.serial] = f"r{len(wide)}"
                lines += self._vector(wide[node.serial], node, [wide[a.serial] for a in self._needs(node)])
        return early, lines, [wide[o.serial] for o in outputs]

    def _vector(self, name: str, node: Scalar, arguments: Sequence[str]) -> list[str]:
        """Statements that compute an operation for all lanes."""
        if node.op == "lookup" and not self._needs(node):
            return self._looked_up(name, node)
        if node.op in VECTORS or template(node).startswith("ti.sqrt"):
            one, zero = (self._to_all(f"{self._type(node)}({number})") for number in ("1.0", "0.0"))
            return [
                f"{name} = {(VECTORS.get(node.op) or template(node)).format(*arguments, one=one, zero=zero)}"
            ]
        if node.op in vectors.FUNCTIONS:
            return [f"{name} = {vectors.name(node.op, self.type[3:], self.wide)}({arguments[0]})"]
        single = self._operation(node, [f"({text})[{{lane}}]" for text in arguments])
        column = re.compile(rf"\bi{self.last}\b")
        return [f"{name} = {self._by_lane(column.sub('(lane0 + {lane})', single))}"]

    def _looked_up(self, name: str, node: Scalar) -> list[str]:
        """The numbers of a table at places that are known relative to the window."""
        reads, begin, strides = self._reads[node.serial], self._begin[node.value], self._strides[node.value]
        place, step = [str(self._beyond(node.value))], 0
        for read, first, stride in zip(reads, begin, strides, strict=True):
            axis, offset = read or (0, 0)
            cell = "lane0" if axis == self.last else f"i{axis}"
            place.append(f"({cell} - b{axis} + {offset + first}) * {stride}")
            step += stride * (axis == self.last)
        text = self._by_lane(f"{self.prefix}table_{node.value}_flat[{name}_at + {{lane}} * {step}]")
        return [f"{name}_at = ({' + '.join(place)}) & {SMALL}", f"{name} = {text}"]

    def _to_all(self, text: str, truth: bool = False) -> str:
        """One number, or truth, in every lane."""
        if truth:
            number = f"ti.select({text}, {self.type}(1.0), {self.type}(0.0))"
            return f"{self._to_all(number)} > {self._to_all(f'{self.type}(0.0)')}"
        return f"ti.Vector([{text}] * {self.wide})"

    def _by_lane(self, text: str) -> str:
        """A vector from the text of one number, {lane} its lane."""
        return f"ti.Vector([{', '.join(text.replace('{lane}', str(lane)) for lane in range(self.wide))}])"
