"""Lanes: the loops of a term with 16 elements (f32) or 8 (f64) to one vector of the processor.

    r8 = r6 * r6        one instruction for a block of elements

Compilers vectorise plain loops, but seldom these, in which an element reads nodes from scattered places.
One iteration of the loop takes a block of elements, one to a lane, and every number of the graph is a vector.
Values of elements are stored in blocks (`lane_blocks`), where a vector is one load or store; values of nodes
are read lane by lane. A last block that is not full computes its last element several times, and
those copies are never read. Where a loop is over targets, the lanes hold a block of targets, and each
source is broadcast to all of them.

Energies over single nodes need no blocks (`node_lane_loops`).

Decisions 0137, 0260, 0261, 0263.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...energies.roles import Datum
from ...energies.term import Term, in_blocks
from ...engine import lane_blocks, storage
from ...engine.kernels import GRAIN, Code, dealt
from ...engine.slices import BEGIN, END, Slices
from ...symbolic.graph import inputs
from ...symbolic.scalar import Scalar
from ..derivative_request import TOTAL, Place, outputs
from ..lane_statements import AllVectors
from ..statements import indented, is_tangent, leaf_name
from ..term_loops import Emitter

ROWS = ((2,), (3,), (4,))
"""Shapes of numbers of a node that are loaded as one row of four."""
LEAST_TUPLES, LEAST_TARGETS = 8_192, 1024
"""Fewest elements, and targets, for which lanes repay the time of compiling them."""
CHUNK = 128
"""Blocks of tuples that a thread takes at once."""
STRETCH = 256
"""Sources whose partial sum is added to the total at once, so that f32 loses fewer digits."""


class Lanes(AllVectors, Emitter):
    """The loops of one term, a block of elements at a time."""

    NODES = "nodes_in_blocks"
    """The blocks with the nodes of elements."""
    QUADS = "quads_"
    """Begins the names of the copies of node fields in rows of four numbers."""

    def __init__(self, term: Term, arrays: Mapping[str, Any] | None = None):
        super().__init__(term, arrays)
        self.wide = lane_blocks.lanes(term.dtype)
        for argument, role in term.energy.of_role(Datum).items():
            if not role.integer:
                name = in_blocks(argument)
                if argument in term.elements.brings:
                    self._arrays[name] = self._datum_in_blocks(argument)
                    continue
                if name not in term.shared:
                    term.shared[name] = self._datum_in_blocks(argument)
                self._arrays[name] = term.shared[name]
        self._arrays |= self._nodes_in_blocks()

    def _datum_in_blocks(self, argument: str) -> lane_blocks.Blocks:
        datum = self.term.data[argument]
        return self.term.elements.in_lanes((argument, datum.dtype), lambda: storage.host(datum), self.wide)

    def _nodes_in_blocks(self) -> dict[str, Any]:
        elements = self.term.elements
        return {self.NODES: elements.in_lanes("nodes", lambda: elements.nodes, self.wide)}

    def stored_values(self, place: Place, rows: np.ndarray) -> np.ndarray | None:
        name, number = place.buffer, place.column
        if not place.is_summed and self.loop.per_target:
            name = self._sums_name(len(self._targets))
            number = next(k for k, one in enumerate(self._targets) if one is place)
        elif not place.is_summed:
            name, number = f"slot_{place.buffer}", self._slot_number(place)
        array = self._arrays[name]
        return lane_blocks.flat(array)[lane_blocks.place(rows, number, *array.shape[1:])]

    # Vectors

    def _load_statement(self, leaf: Scalar) -> str:
        argument, _, component = leaf.value[:3]
        role = self.term.energy.roles[argument]
        if isinstance(role, Datum) and not role.integer and not is_tangent(leaf):
            shape = self.term.shape(argument)
            number = int(np.ravel_multi_index(component, shape)) if component else 0
            return f"{leaf_name(leaf)} = {self._vector_at(in_blocks(argument), number)}"
        name, _, text = super()._load_statement(leaf).partition(" = ")
        if array := next(iter(self._row_arrays([leaf])), None):
            return f"{name} = {self._by_lane(f'q{leaf.value[1]}_{{lane}}_{array}[{component[0]}]')}"
        if self._is_uniform(leaf):
            return f"{name} = {self._to_all(text)}"
        return f"{name} = {self._by_lane(self._in_lane(text))}"

    def _in_lane(self, text: str) -> str:
        """The text of a number of one element, or of a target, for each lane."""
        for slot in range(self.term.arity):
            text = re.sub(rf"\[n{slot}\b", f"[n{slot}[{{lane}}]", text)
        return re.sub(r"\[e\b", "[e_{lane}", text)

    # Element by element

    def _by_element(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """Per element into blocks, then per node over its slots."""
        nodal = [place for place in places if not place.is_summed]
        wanted = outputs(value, places, along)
        leaves = list(inputs(wanted))
        own = [leaf for leaf in leaves if not self._is_uniform(leaf)]
        early, lines, texts = self._hoist_statements(wanted, {leaf.serial for leaf in own}, {})
        before = [*(self._load_statement(leaf) for leaf in leaves if self._is_uniform(leaf)), *early]
        work = [*self._lane_loads(own), *lines, *self._all_stored(dict(zip(places, texts, strict=True)))]
        gathers = [line for group in self._gathered_places(nodal) for line in self._gather_loop(group)]
        return [*self._rows_loop(own), *self._blocks_of(nodal, before, work), *gathers]

    def _all_stored(self, texts: Mapping[Place, str]) -> list[str]:
        """Statements that store the vectors of all places."""
        return [line for place, text in texts.items() for line in self._store_statements(place, text)]

    def _blocks_of(self, nodal: Sequence[Place], before: list[str], work: list[str]) -> list[str]:
        """The loop over blocks of elements that computes numbers of nodes at these places."""
        return self._block_loop(before, work)

    def _store_statements(self, place: Place, text: str) -> list[str]:
        """Statements that store the vector of a place."""
        if not place.is_summed:
            return [f"{self._vector_at(self._slot_blocks(place), self._slot_number(place))} = {text}"]
        name = f"s_{place.buffer}_{place.column}"
        return [f"{name} = {text}", f"{self._vector_at(place.buffer, place.column)} = {self._in_f64(name)}"]

    def _slot_blocks(self, place: Place) -> str:
        """The blocks with the contributions to all slots of an element."""
        width = int(np.prod(self.term.fields[place.argument].shape[1:], dtype=int))
        numbers = len(self.term.slots(place.argument)) * width
        self._own_blocks(name := f"slot_{place.buffer}", numbers, self.term.dtype)
        return name

    def _slot_number(self, place: Place) -> int:
        """Which of the numbers of an element in `slot_...` a place is."""
        shape = self.term.fields[place.argument].shape[1:]
        component = int(np.ravel_multi_index(place.component, shape)) if shape else 0
        slot = self.term.slots(place.argument).index(place.slot)
        return slot * int(np.prod(shape, dtype=int)) + component

    def _block_loop(self, before: list[str], lines: list[str]) -> list[str]:
        count = self._block_count
        its = f"range(chunk * {CHUNK}, ti.min((chunk + 1) * {CHUNK}, {count}))"
        inner = [f"for block in {its}:", *indented(lines)]
        return dealt("chunk", f"({count} + {CHUNK - 1}) // {CHUNK}", [*before, *inner])

    @property
    def _block_count(self) -> str:
        """How many blocks of elements there are."""
        return f"({self.prefix}nodes.shape[0] + {self.wide - 1}) // {self.wide}"

    def _vector_at(self, name: str, number: Any) -> str:
        """The vector of a number of the block's elements."""
        return f"{self.prefix}{name}[block * {self._arrays[name].shape[1]} + {number}]"

    def _lane_loads(self, leaves: Iterable[Scalar]) -> list[str]:
        """The nodes of the block's elements, or its targets, lane by lane, and their leaves."""
        p, wide, last = self.prefix, self.wide, f"{self.prefix}nodes.shape[0] - 1"
        loads = [self._load_statement(leaf) for leaf in leaves]
        slots = range(self._arrays[self.NODES].shape[1])
        each = [(slot, lane) for slot in slots for lane in range(wide)]
        nodes = [f"n{slot} = {self._vector_at(self.NODES, slot)}" for slot in slots]
        elements = [f"e_{lane} = ti.min(block * {wide} + {lane}, {last})" for lane in range(wide)]
        rows = [
            f"q{slot}_{lane}_{array} = {p}{self.QUADS}{array}[n{slot}[{lane}]]"
            for array in self._row_arrays(leaves)
            for slot, lane in each
        ]
        text = "\n".join(loads)
        used = [line for line in (*elements, *rows) if re.search(rf"\b{line.split(' = ')[0]}\b", text)]
        return [*nodes, *used, *loads]

    def _row_arrays(self, leaves: Iterable[Scalar]) -> dict[str, Field]:
        """The arrays of node fields, or of their tangents, that tuples read in rows of four numbers."""
        fields = {} if self.loop.per_target else self.term.fields
        nodal = [leaf for leaf in leaves if leaf.value[0] in fields]
        named = {self._nodal_entry(leaf).partition("[")[0]: fields[leaf.value[0]] for leaf in nodal}
        return {array: field for array, field in named.items() if field.shape[1:] in ROWS}

    def _rows_loop(self, leaves: Sequence[Scalar]) -> list[str]:
        """Loops that copy node fields into rows of four, each of which is one load; one for each length."""
        loops: dict[int, list[str]] = {}
        names: dict[int, str] = {}
        for array, field in self._row_arrays(leaves).items():
            count, node = self._copied_rows(len(field))
            name = self._own_quads(f"{self.QUADS}{array}", count, field.dtype)
            numbers = [f"{array}[{node}, {c}]" for c in range(field.shape[1])]
            numbers += [f"{self.type}(0.0)"] * (4 - len(numbers))
            loops.setdefault(count, []).append(
                f"    {self.prefix}{name}[n] = ti.Vector([{', '.join(numbers)}])"
            )
            names[count] = name
        return [
            line
            for count, lines in loops.items()
            for line in (f"for n in range({self.prefix}{names[count]}.shape[0]):", *lines)
        ]

    def _copied_rows(self, nodes: int) -> tuple[int, str]:
        """How many rows of four numbers a field over so many nodes is copied to, and the node of row n."""
        return nodes, "n"

    def _own_quads(self, name: str, count: int, dtype: np.dtype) -> str:
        """The name of an array of so many rows of four numbers, each of which is a vector."""
        if name not in self._arrays:
            self._arrays[name] = lane_blocks.zeros(4 * count, 1, 4, dtype).reshape(count, 4)
        return name

    def _gather_loop(self, places: Sequence[Place]) -> list[str]:
        """Sums over the slots of a node, in their order.

        All numbers of a node are one vector: for single numbers compilers emit gather instructions, which
        are slow on many processors.
        """
        p, of = self.prefix, self._set_suffix(places[0].argument)
        name, gather = self._gathering_list(places[0].argument)
        self._derived_array(f"start{of}", name, lambda: gather().start)
        terms = [self._slot_of_node(place) for place in places]
        size = 1 << max(len(places) - 1, 1).bit_length()
        zeros = [f"{self.type}(0.0)"] * size
        inner = [
            *dict.fromkeys(f"at_{slots} = {p}{slots}[q]" for _, slots in terms),
            f"a += ti.Vector([{', '.join([text for text, _ in terms] + zeros[len(terms) :])}])",
        ]
        return [
            f"for n in range({p}start{of}.shape[0] - 1):",
            f"    a = ti.Vector([{', '.join(zeros)}])",
            f"    for q in range({p}start{of}[n], {p}start{of}[n + 1]):",
            *indented(indented(inner)),
            *(f"    {self._add_to_gradient(place, 'n', f'a[{k}]')}" for k, place in enumerate(places)),
        ]

    def _slot_of_node(self, place: Place) -> tuple[str, str]:
        """The text of a number in slot q of a node, and the name of the array of first slots."""
        many, shape = len(self.term.slots(place.argument)), self.term.fields[place.argument].shape[1:]
        width = int(np.prod(shape, dtype=int))
        buffer, slots = self._slot_blocks(place), f"slots_{width}{self._set_suffix(place.argument)}"
        (name, gather), wide = self._gathering_list(place.argument), self.wide

        def places() -> np.ndarray:
            element, slot = np.divmod(gather().slots, many)
            return lane_blocks.place(element, slot * width, many * width, wide).astype(np.int32)

        self._derived_array(slots, (name, wide), places)
        number = self._slot_number(place) * self.wide
        return f"{self.prefix}flat_{buffer}[at_{slots} + {number}]", slots

    # Target by target

    def _slice_plan(self) -> Slices | None:
        """How a launch over blocks of targets can be divided; the sums of a slice are added behind it."""
        if not self.loop.dense:
            return None
        count, rows = f"{self.prefix}nodes.shape[0]", self.term.elements.rows
        blocks = dealt("block", self._block_count, [])[0]
        added = f"range({BEGIN} * {self.wide}, ti.min({END} * {self.wide}, {count}))"
        headers = {
            blocks: f"for turn in range({BEGIN} * {GRAIN}, {END} * {GRAIN}):",
            f"for i in range({count}):": f"for i in {added}:",
        }
        return Slices(self._packing_loop(count) | headers, -(-rows // self.wide), rows * rows // self.wide)

    def _by_target(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """A block of targets over all sources before it, after it and within it, where lanes differ.

        Sums over elements count each pair once: sources before the target.
        """
        count = f"{self.prefix}nodes.shape[0]"
        wanted = outputs(value, places, along)
        leaves = list(inputs(wanted))
        pack, fetch, late = self._source_statements(leaves)
        early, lines, texts = self._hoist_statements(wanted, set(late), {})
        body = [*(self._given_to_all(line) for line in fetch), *lines]
        numbers = range(len(places))
        zeros = [self._to_all(f"{self.type}(0.0)")] * len(places)
        nodal = [k for k in numbers if not places[k].is_summed]
        begin = [f"a{k} = {zeros[k]}" for k in numbers]
        end = [
            f"s{k} += {self._in_f64(f'a{k}')}" if places[k].is_summed else f"s{k} += a{k}" for k in numbers
        ]
        in_block = [
            f"a{k} += ti.select(own {'>' if places[k].is_summed else '!='} other, {texts[k]}, {zeros[k]})"
            for k in numbers
        ]
        stretch = [
            *begin,
            f"for j in range(begin, ti.min(begin + {STRETCH}, end)):",
            *indented([*body, *(f"a{k} += {texts[k]}" for k in numbers)]),
            *(end[k] for k in nodal),
            *(line for k in numbers if places[k].is_summed for line in ("if side == 0:", f"    {end[k]}")),
        ]
        sides = [
            f"end = ti.select(side == 0, base, {count})",
            f"for part in range((end - side * (base + {self.wide}) + {STRETCH - 1}) // {STRETCH}):",
            *indented([f"begin = side * (base + {self.wide}) + part * {STRETCH}", *stretch]),
        ]
        block = [
            f"base = block * {self.wide}",
            *self._lane_loads(leaf for leaf in leaves if leaf.serial not in late),
            *early,
            *(f"s{k} = {self._to_all('ti.f64(0.0)') if places[k].is_summed else zeros[k]}" for k in numbers),
            f"for side in range({2 if nodal else 1}):",
            *indented(sides),
            *begin,
            f"own = {self._lane_numbers()}",
            f"for j in range(base, ti.min(base + {self.wide}, {count})):",
            *indented([f"other = {self._to_all(f'{self.type}(j - base)')}", *body, *in_block]),
            *end,
            *(self._store_block_sums(k, places[k], nodal) for k in numbers),
        ]
        loop = dealt("block", self._block_count, block)
        self._targets = [places[k] for k in nodal]
        return [*pack, *loop, *self._added_to_targets(self._targets)]

    def _given_to_all(self, fetch: str) -> str:
        name, _, text = fetch.partition(" = ")
        return f"{name} = {self._to_all(text)}"

    def _store_block_sums(self, k: int, place: Place, nodal: Sequence[int]) -> str:
        """The statement that stores the sums of a block of targets."""
        if not place.is_summed:
            return f"{self._vector_at(self._sums_name(len(nodal)), nodal.index(k))} = s{k}"
        return f"{self._vector_at(place.buffer, place.column)} = s{k}"

    def _sums_name(self, numbers: int) -> str:
        """The name of the blocks for so many sums of each target."""
        self._own_blocks(name := f"sums_{numbers}", numbers, self.term.dtype)
        return name

    def _added_to_targets(self, places: Sequence[Place]) -> list[str]:
        if not places:
            return []
        p = self.prefix
        sums = [self.row(self._sums_name(len(places)), column, "i") for column in range(len(places))]
        adds = [self._add_to_gradient(place, "n0", text) for place, text in zip(places, sums, strict=True)]
        return [f"for i in range({p}nodes.shape[0]):", *indented([f"n0 = {p}nodes[i]", *adds])]

    # Buffers with rows of elements

    def _row_buffers(self, places: Sequence[Place]) -> dict[str, Any]:
        if TOTAL in places:
            return super()._row_buffers(places)
        widths = {p.buffer: p.column + 1 for p in places if p.column is not None}
        for name, width in widths.items():
            self._own_blocks(name, width, np.dtype(np.float64))
        return {name: self._arrays[name] for name in widths}

    def _own_blocks(self, name: str, numbers: int, dtype: np.dtype) -> lane_blocks.Blocks:
        """Blocks of so many numbers of an element; `flat_...` is the same memory, number by number."""
        if name not in self._arrays:
            made = lane_blocks.zeros(self.term.elements.room, numbers, self.wide, dtype)
            self._arrays[name], self._arrays[f"flat_{name}"] = made, lane_blocks.flat(made)
        return self._arrays[name]

    def total(self) -> tuple[Code, Any]:
        if self.loop.per_target:
            return self.value()
        (values, _), (sums, buffer) = self.value(), self._energy_sum_loops()
        return Code.joined([values, sums]), buffer

    def row(self, buffer: str, column: int, element: str = "e") -> str:
        numbers = self._arrays[buffer].shape[1]
        return f"{self.prefix}flat_{buffer}[{lane_blocks.place(element, column, numbers, self.wide)}]"

    def rows(self, buffer: Any) -> np.ndarray:
        if isinstance(buffer, lane_blocks.Blocks):
            return lane_blocks.rows(buffer, self.term.elements.rows)
        return super().rows(buffer)
