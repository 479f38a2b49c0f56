"""Graphs to straight-line Taichi: the loops that evaluate a term and its derivatives.

    sums      per element (or per target, over the sources counted there), summed by the caller in fixed order
    of nodes  per element, then gathered per node in fixed order; or per target, over all of its sources

The elements choose between the two loops (`elements.loops`). One sweep computes any of U, gradients and their
changes along tangents (`sweep`), so that they share work.

No atomics anywhere, so the bits do not depend on the number of threads. Only this module knows the layout
of arrays in memory (packed sources, element buffers).

Decisions 0260, 0276.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from ..elements.elements import Elements
from ..elements.gather import Gather
from ..elements.loops import EachTarget, Sources
from ..engine import runtime, storage
from ..engine.kernels import GRAIN, Code
from ..engine.slices import BEGIN, END, Slices
from ..errors import EnergyError
from ..symbolic.graph import inputs, reachable
from ..symbolic.operations import TRUTHS
from ..symbolic.scalar import Scalar
from .derivative_request import TOTAL, WHOLE, DerivativeRequest, Place, Sweep, outputs, tangents
from .kept_traces import KEPT
from .row_sums import RowSums
from .statements import DOT, fill_templates, indented, is_tangent, leaf_name, subscript
from .tracing import Trace, of_term
from .verification.sweep_verification import verify_sweep

BLOCK = 64
"""Elements whose energies are summed together: the order of the sum does not depend on the threads."""


class Emitter(RowSums):
    """The loops of one term. `swept`: the graph of the newest sweep, until its kernel is verified."""

    swept: Sweep | None = None
    adds_up_elements: ClassVar[bool] = False
    """True if the loops store sums over elements alone, and no derivative of a single element."""
    compared: bool = False
    """True if the graph of the energy was compared with its function."""

    # Code for a request

    def sweep(self, wanted: DerivativeRequest) -> tuple[Code, dict[str, Any]]:
        """Loops over all elements that compute a request, and the buffers with rows of elements.

        The buffers, for `rows`, are in f64 and named by `Place.buffer`. Gradients of node fields are added to
        arrays shaped like the fields, `g_` before the field's name; their tangents to `h_`.
        """
        return self._emit_sweep(wanted, WHOLE)

    def sweep_with_total(self, wanted: DerivativeRequest) -> tuple[Code, dict[str, Any]]:
        """As `sweep`; but of the energy "total", the sums over blocks of elements (or over targets)."""
        if wanted.value and self._writes_own_node:
            return self._emit_sweep(wanted, TOTAL)
        code, buffers = self.sweep(wanted)
        if wanted.value:
            more, buffers["total"] = self._energy_sum_loops()
            code = Code.joined([code, more])
        return code, buffers

    def _emit_sweep(self, wanted: DerivativeRequest, energy: Place) -> tuple[Code, dict[str, Any]]:
        """Loops and buffers, with the energy stored in this place."""
        self._check_shapes(wanted)
        traced = self._trace_energy("sweep", energy.buffer, wanted.names)
        slots = self.loop.slots(self.term.arity)
        places = [energy if p is WHOLE else p for p in wanted.places(traced, slots)]
        along = tangents(traced, list(wanted.tangents))
        buffers = self._row_buffers(places)
        loops = self._by_target if self.loop.per_target else self._by_element
        self.swept = Sweep(traced, places, along)
        code = self._code_of_lines(loops(traced.value, places, along), wanted)
        return replace(code, slices=self._slice_plan()), buffers

    def value(self) -> tuple[Code, Any]:
        """The loops that fill a buffer of partial energies, one component in f64, and the buffer."""
        code, buffers = self.sweep(DerivativeRequest(value=True))
        return code, buffers["value"]

    def total(self) -> tuple[Code, Any]:
        """The loops that sum the energy over blocks of elements, shape (blocks, 1) in f64, and the buffer."""
        if self.loop.per_target:
            return self.value()
        code, buffers = self._emit_sweep(DerivativeRequest(value=True), TOTAL)
        return code, buffers["total"]

    def _energy_sum_loops(self) -> tuple[Code, Any]:
        """The loops that sum a buffer of partial energies as `total` does, and the buffer of the sums."""
        if self.loop.per_target:
            return Code(""), self._arrays["value"]
        buffers = self._row_buffers([TOTAL])
        return self._code_of_lines(self._in_blocks(["", f"    s += {self.row('value', 0)}"], True)), buffers[
            "total"
        ]

    def derivative(self, argument: str) -> tuple[Code, Any]:
        """Loops and buffer for dU/d(argument), a datum, parameter, the time or a Linear argument."""
        code, buffers = self.sweep(DerivativeRequest(slopes=(argument,)))
        return code, buffers[f"d_{argument}"]

    def subtract_changes(self, argument: str, into: str, array: Any) -> Code:
        """Serial loops that subtract the changes of an argument, which a sweep left, from `into`.

        `array` (rows, components) in f64: a row for each row of a parameter's values, or for each element.
        """
        p, columns = self.prefix, range(array.shape[1])
        values = self.term.parameters.get(argument)
        if values is not None and values.index is not None and runtime.arch() != "cpu":
            return self.by_row(argument, f"dd_{argument}", into, array, "-")
        row = "e" if values is None else "0" if values.index is None else f"{p}row_of_{argument}[e]"
        changes = [self.row(f"dd_{argument}", c) for c in columns]
        lines = [f"{into}[{row}, {c}] = {into}[{row}, {c}] - {changes[c]}" for c in columns]
        return self._code_of_lines([f"for e in range({p}nodes.shape[0]):", *indented(lines)]).naming(
            **{into: array}
        )

    def by_row(self, argument: str, buffer: str, into: str, array: Any, sign: str = "+") -> Code:
        """Loops that add the sums of a buffer, by row of a parameter's values, to an array, or take them off.

        sign: "+" or "-". The order is that of the elements.
        """
        index, listed = self.term.parameters[argument].index, f"order_of_{argument}"
        assert index is not None
        order = np.argsort(index, kind="stable").astype(np.int32)
        self._own_array(listed, order)
        rows = np.arange(len(self.term.parameters[argument].rows) + 1)
        begin = np.searchsorted(index[order], rows).astype(np.int32)
        columns = range(array.shape[1])
        numbers = [self.row(buffer, c, f"{self.prefix}{listed}[{{q}}]") for c in columns]
        loops = self._row_sums(
            f"begin_of_{argument}",
            None,
            lambda: begin,
            numbers,
            "ti.f64",
            lambda sums: [f"{into}[n, {c}] = {into}[n, {c}] {sign} {sums[c]}" for c in columns],
        )
        return self._code_of_lines(loops).naming(**{into: array})

    def row(self, buffer: str, column: int, element: str = "e") -> str:
        """The text of a number of an element (or target) in a buffer that a sweep fills."""
        return f"{self.prefix}{buffer}[{element}, {column}]"

    def rows(self, buffer: Any) -> np.ndarray:
        """The values of a buffer, (rows, components)."""
        return storage.host(buffer)[: self.count(buffer)]

    def count(self, buffer: Any) -> int:
        """The number of rows of a buffer that hold values."""
        rows = self.term.elements.rows
        return -(-rows // BLOCK) if self._holds_totals(buffer) else rows

    def _holds_totals(self, buffer: Any) -> bool:
        return buffer is self._arrays.get(TOTAL.buffer)

    def verify(self, wanted: DerivativeRequest, code: Code, t: float) -> None:
        """Verify the output of a new kernel, after its launch. Raises `MiscompiledError` and `RangeError`."""
        sweep = self.swept if self.swept is not None else self._emitted_graph(wanted)
        self.swept = None
        verify_sweep(self, sweep, code, t, wanted.tangents, plainly=not self.compared)
        self.compared = True

    def _emitted_graph(self, wanted: DerivativeRequest) -> Sweep:
        """The graph of a sweep that was emitted before."""
        self.sweep_with_total(wanted)
        assert self.swept is not None
        return self.swept

    def stored_values(self, place: Place, rows: np.ndarray) -> np.ndarray | None:
        """The numbers of a place for some rows, after a launch; None if a field's array has their sums."""
        if place.is_summed:
            return storage.host(self._arrays[place.buffer])[rows, place.column]
        if self._writes_own_node or self.loop.per_target:
            return None
        slots, own = storage.host(self._arrays[f"slot_{place.buffer}"]), self.term.slots(place.argument)
        return slots[(rows * len(own) + own.index(place.slot), *place.component)]

    def totals(self, places: Sequence[Place]) -> tuple[Sequence[range], np.ndarray]:
        """The first and the last block of elements, and their energies, after the launch of a sweep."""
        count, sums = self.term.elements.rows, storage.host(self._arrays[TOTAL.buffer])[:, 0]
        last = (count - 1) // BLOCK
        blocks = [range(b * BLOCK, min((b + 1) * BLOCK, count)) for b in sorted({0, last})]
        return blocks, sums[[b.start // BLOCK for b in blocks]]

    def naming(self, text: str) -> Code:
        """Lines of the caller as code, with the arrays of the term that they name."""
        return self._code_of_lines(text.splitlines())

    def gradient(self, targets: Mapping[str, Any]) -> Code:
        """Loops that add dU/d(argument) to `targets[argument]`, arrays shaped like the fields."""
        return self.sweep(DerivativeRequest(gradient=targets))[0]

    def _check_shapes(self, wanted: DerivativeRequest) -> None:
        every = (*wanted.gradient.items(), *wanted.product.items(), *wanted.tangents.items())
        for argument, array in every:
            if argument in self.term.fields and tuple(array.shape) != self.term.fields[argument].shape:
                raise EnergyError(
                    f"{self.term.name}: dU/d({self._field_name(argument)}) has shape"
                    f" {list(self.term.fields[argument].shape)}, the array for it {list(array.shape)}"
                )

    def _trace_energy(self, *purpose: Hashable) -> Trace:
        """The trace for a purpose, kept for terms that are bound again; without a purpose a new one.

        One for each: the text depends on the request alone, not on earlier ones.
        """
        return KEPT.of_term(self.term, (*self._variant_key, *purpose)) if purpose else of_term(self.term)

    def _slice_plan(self) -> Slices | None:
        """How a launch of the loops over targets, with the sources packed before, can be divided."""
        if not self.loop.dense:
            return None
        count, rows = f"{self.prefix}nodes.shape[0]", self.term.elements.rows
        targets = [
            f"for turn in range({BEGIN} * {GRAIN}, {END} * {GRAIN}):",  # `dealt`, without another indentation
            f"    if turn & {GRAIN - 1} != 0:",
            "        continue",
            f"    i = turn // {GRAIN}",
        ]
        if runtime.arch() != "cpu":
            targets = [f"for i in range({BEGIN}, {END}):"]
        headers = {f"for i in range({count}):": "\n".join(targets)}
        return Slices(self._packing_loop(count) | headers, rows, rows * rows)

    def _packing_loop(self, count: str) -> dict[str, str]:
        """The header of the loop that packs sources, and its replacement: they are packed once."""
        return {f"for j in range({count}):": f"for j in range(ti.select({BEGIN} == 0, {count}, 0)):"}

    # Loops

    def _row_buffers(self, places: Sequence[Place]) -> dict[str, Any]:
        """A row for each element (or target), by name; of the total, for each block."""
        widths = {p.buffer: p.column + 1 for p in places if p.column is not None}
        rows = self.term.elements.room
        return {
            name: self._own_array(
                name, np.zeros((-(-rows // BLOCK) if name == TOTAL.buffer else rows, width))
            )
            for name, width in widths.items()
        }

    @cached_property
    def writes_every_node(self) -> bool:
        """True if the loops write every node of the fields; their output then needs no zeroing."""
        return not self.term.elements.has_own_nodes or self.term.elements.rows == self._node_count

    @property
    def _node_count(self) -> int:
        """The nodes of the fields."""
        return self.term.nodes

    def _gathering_list(self, argument: str) -> tuple[Hashable, Callable[[], Gather]]:
        """The list of the slots that contribute to each node of a field: its name, and how it is made."""
        elements, of = self.term.elements, self._set_suffix(argument)
        count, slots = len(self.term.fields[argument]), tuple(self.term.slots(argument))
        if not elements.fixed:
            return (count, slots), partial(gather_slots, elements, count, slots)
        if of not in self._gathers:
            self._gathers[of] = gather_slots(elements, count, slots)
        return of, lambda: self._gathers[of]

    @cached_property
    def _gathers(self) -> dict[str, Gather]:
        return {}

    @cached_property
    def _writes_own_node(self) -> bool:
        """True if elements are single nodes, each a different one: each writes its own node."""
        return self.term.elements.has_own_nodes and not self.loop.per_target

    def _set_suffix(self, argument: str) -> str:
        """The set that a field is over, as the end of names of arrays; empty where there is one set."""
        energy = self.term.energy
        return f"_{energy.set_of(argument)}" if energy.element_kind.several else ""

    def _by_element(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """Per element into a buffer, then per node over its slots; at once if elements share no nodes."""
        p, term = self.prefix, self.term
        nodal = [place for place in places if not place.is_summed]

        def line(place: Place) -> str:
            if place is TOTAL:
                return "s += ti.f64({})"
            if place.is_summed:
                return f"{p}{place.buffer}[e, {place.column}] = ti.f64({{}})"
            if self._writes_own_node:
                return self._add_to_gradient(place, "n0", "{}")
            own = term.slots(place.argument)
            at = f"e * {len(own)} + {own.index(place.slot)}{subscript(place.component)}"
            return f"{p}slot_{place.buffer}[{at}] = {{}}"

        loop = self._element_loop(value, places, along, [line(place) for place in places])
        if TOTAL in places:
            return self._in_blocks(loop, True)
        if self._writes_own_node or not nodal:
            return self._in_blocks(loop) if nodal else loop
        for place in nodal:
            shape, rows = term.fields[place.argument].shape[1:], term.elements.room
            slots = len(term.slots(place.argument))
            self._own_array(f"slot_{place.buffer}", np.zeros((rows * slots, *shape), term.dtype))
        return [*loop, *(line for group in self._gathered_places(nodal) for line in self._gather_loop(group))]

    def _gathered_places(self, nodal: Sequence[Place]) -> Iterator[list[Place]]:
        """One place for each number of a node; those of fields over one set that follow each other together.

        In this order the first argument bound to a field comes first, and may overwrite its array.
        """
        first = [place for place in nodal if place.slot == self.term.slots(place.argument)[0]]
        for _, group in groupby(first, lambda place: self._set_suffix(place.argument)):
            yield [*group]

    def _gather_loop(self, places: Sequence[Place]) -> list[str]:
        p, of = self.prefix, self._set_suffix(places[0].argument)
        name, gather = self._gathering_list(places[0].argument)
        self._derived_array(f"slots{of}", name, lambda: gather().slots)
        at = f"{p}slots{of}[{{q}}]"
        numbers = [f"{p}slot_{place.buffer}[{at}{subscript(place.component)}]" for place in places]

        def end(sums: Sequence[str]) -> list[str]:
            return [self._add_to_gradient(place, "n", a) for place, a in zip(places, sums, strict=True)]

        return self._row_sums(f"start{of}", name, lambda: gather().start, numbers, self.type, end)

    def output(self, place: Place) -> str:
        """The name of the array of a field that the numbers of a place are added to."""
        return f"{'g' if place.order == 'd' else 'h'}_{self._field_name(place.argument)}"

    def _add_to_gradient(self, place: Place, node: str, text: str) -> str:
        """Adds to the gradient of a field, or its tangent; several arguments may be bound to one field."""
        at = f"{self.output(place)}[{node}{subscript(place.component)}]"
        return f"{at} = {text}" if place.overwrite else f"{at} = {at} + {text}"

    def _by_target(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """Sums over elements count each pair once; nodes read all of their sources.

        By symmetry under exchange, dU/d(target) needs only the derivative in slot 0.
        """
        count = range(len(places))
        types = ["ti.f64" if place.is_summed else self.type for place in places]
        before = [f"s{k} = {types[k]}(0.0)" for k in count]
        add = [f"s{k} += {'ti.f64({})' if places[k].is_summed else '{}'}" for k in count]
        after = [
            f"{self.prefix}{place.buffer}[i, {place.column}] = s{k}"
            if place.is_summed
            else self._add_to_gradient(place, "n0", f"s{k}")
            for k, place in enumerate(places)
        ]
        nodal = [k for k in count if not places[k].is_summed]
        wanted = outputs(value, places, along)
        ranges = [(some, count if some.counted else nodal) for some in self.loop.sources]
        return self._target_loop(wanted, ranges, before, add, after)

    def _element_loop(
        self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar], write: list[str]
    ) -> list[str]:
        """For each element: load, compute, and `write` the number of each place (in place of {})."""
        return self._each_element(outputs(value, places, along), write)

    def _each_element(self, wanted: list[Scalar], write: list[str]) -> list[str]:
        loads = self._element_loads(inputs(wanted))
        lines, texts = self._output_statements(wanted)
        return [
            f"for e in range({self.prefix}nodes.shape[0]):",
            *indented([*loads, *lines, *fill_templates(write, texts)]),
        ]

    def _in_blocks(self, loop: list[str], summing: bool = False) -> list[str]:
        """A loop over elements in blocks, with a plain inner loop that the compiler can vectorise.

        On devices each element has a thread of its own, but for sums.
        `summing`: the loop adds to s, the total of the block.
        """
        count = f"{self.prefix}nodes.shape[0]"
        if runtime.arch() != "cpu" and not summing:
            return [f"for e in range({count}):", *loop[1:]]
        inner = [f"for e in range(b * {BLOCK}, ti.min((b + 1) * {BLOCK}, {count})):", *loop[1:]]
        if summing:
            inner = ["s = ti.f64(0.0)", *inner, f"{self.prefix}total[b, 0] = s"]
        return [f"for b in range(({count} + {BLOCK - 1}) // {BLOCK}):", *indented(inner)]

    def _element_loads(self, leaves: Iterable[Scalar]) -> list[str]:
        """The nodes of element e, and its leaves."""
        elements = self.term.elements
        every = elements.fixed and elements.arity == 1
        every = every and np.array_equal(elements.nodes[:, 0], np.arange(elements.rows))
        nodes = (
            ["n0 = e"] if every else [f"n{s} = {self.prefix}nodes[e, {s}]" for s in range(self.term.arity)]
        )
        return [*nodes, *(self._load_statement(leaf) for leaf in leaves)]

    def _target_loop(
        self,
        wanted: list[Scalar],
        ranges: Sequence[tuple[Sources, Sequence[int]]],
        before: list[str],
        add: list[str],
        after: list[str],
    ) -> list[str]:
        """Sources packed component by component (structure of arrays), then target i over sources j.

        `ranges`: the inner loops over j, each with the numbers (of `wanted`) that are added there.
        """
        p, leaves = self.prefix, list(inputs(wanted))
        pack, fetch, names = (
            self._source_statements(leaves) if self.loop.dense else self._listed_sources(wanted)
        )
        late = set(names)
        early, lines, texts = self._hoist_statements(wanted, late, dict(names))
        leaves_of_target = [leaf for leaf in leaves if leaf.serial not in late and _at_target(leaf)]
        target = [f"n0 = {p}nodes[i]", *(self._load_statement(leaf) for leaf in leaves_of_target)]
        adds = fill_templates(add, texts)
        sweeps = []
        for some, numbers in ranges:
            if numbers:
                header, *begin = (line.format(p=p) for line in (some.header, *some.begin))
                sweeps += [header, *indented([*begin, *fetch, *lines, *(adds[k] for k in numbers)])]
        return [
            *pack,
            f"for i in range({p}nodes.shape[0]):",
            *indented([f"n = {p}nodes.shape[0]", *target, *early, *before, *sweeps, *after]),
        ]

    def _source_statements(self, leaves: Sequence[Scalar]) -> tuple[list[str], list[str], dict[int, str]]:
        """A loop that packs the sources, the statements that read source j, and the names of its leaves."""
        n, late = self.term.elements.rows, [leaf for leaf in leaves if leaf.value[1] == 1]
        for packed in {_packed_in(leaf) for leaf in late}:
            self._own_array(packed, np.zeros((self._source_size(), n), self.term.dtype))
        at = [f"{self.prefix}{_packed_in(leaf)}[{self._source_row(leaf)}, j]" for leaf in late]
        nodal = [f"{place} = {self._nodal_entry(leaf)}" for place, leaf in zip(at, late, strict=True)]
        head = [f"for j in range({self.prefix}nodes.shape[0]):", f"    n1 = {self.prefix}nodes[j]"]
        fetch = [f"{leaf_name(leaf)} = {place}" for place, leaf in zip(at, late, strict=True)]
        return [*head, *indented(nodal)], fetch, {leaf.serial: leaf_name(leaf) for leaf in late}

    def _listed_sources(self, wanted: list[Scalar]) -> tuple[list[str], list[str], dict[int, str]]:
        """The same for listed rows, of which all numbers that depend on no target are computed once.

        The position of an image, x + image . box, is such a number.
        """
        assert isinstance(self.loop, EachTarget)
        p, rows = self.prefix, self.loop.rows
        kept = self._of_sources(wanted)
        if not kept:  # the outputs are constants
            return [], [], {}
        packed = f"packed_{len(kept)}"
        self._own_array(
            packed, np.zeros((len(kept), self.term.elements.arrays()[rows].shape[0]), self.term.dtype)
        )
        lines, texts = self._output_statements(kept)
        head = [f"for j in range({p}{rows}.shape[0]):", f"    n1 = {p}{rows}[j]"]
        loads = [self._load_statement(leaf) for leaf in inputs(kept)]
        store = [f"{p}{packed}[{k}, j] = {text}" for k, text in enumerate(texts)]
        names = {one.serial: f"of_source{k}" for k, one in enumerate(kept)}
        fetch = [f"of_source{k} = {p}{packed}[{k}, j]" for k in range(len(kept))]
        return [*head, *indented([*loads, *lines, *store])], fetch, names

    def _of_sources(self, wanted: list[Scalar]) -> list[Scalar]:
        """The nodes of a graph that depend on the source and not on the target, and that others need.

        Conditions are computed again from their numbers: arrays hold numbers alone.
        """
        source, target = set[int](), set[int]()
        for node in reachable(wanted):
            own = node.op == "input"
            for slot, found in ((1, source), (0, target)):
                if (own and node.value[1] == slot) or any(a.serial in found for a in node.args):
                    found.add(node.serial)
        alone = source - target
        needed = {o.serial: o for o in wanted if o.serial in alone}
        for node in reachable(wanted):
            if node.serial not in alone:
                needed |= {a.serial: a for a in node.args if a.serial in alone}
        while conditions := [one for one in needed.values() if one.op in TRUTHS]:
            for one in conditions:
                del needed[one.serial]
                needed |= {a.serial: a for a in one.args if a.serial in alone}
        return [needed[serial] for serial in sorted(needed)]

    def _source_size(self) -> int:
        return sum(int(np.prod(f.shape[1:], dtype=int)) for f in self.term.fields.values())

    def _source_row(self, leaf: Scalar) -> int:
        argument, _, component = leaf.value[:3]
        row = 0
        for a, f in self.term.fields.items():
            if a == argument:
                return row + int(np.ravel_multi_index(component, f.shape[1:])) if component else row
            row += int(np.prod(f.shape[1:], dtype=int))
        raise AssertionError(argument)


def gather_slots(elements: Elements, count: int, slots: Sequence[int]) -> Gather:
    """The list of slots by node, of elements that share nodes."""
    made = elements.gather(count, slots)
    assert made is not None
    return made


def _at_target(leaf: Scalar) -> bool:
    """True unless a leaf belongs to the source of a pair."""
    return leaf.value[1] != 1


def _packed_in(leaf: Scalar) -> str:
    """The name of the array that sources are packed into."""
    return DOT * is_tangent(leaf) + "source"
