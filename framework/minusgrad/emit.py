"""Graphs to straight-line Taichi: the loops that evaluate a term and its derivatives.

    sums      per element (pairs: per target, over sources j < i), summed by the caller in fixed order
    of nodes  tuples: per element, then gathered per node in fixed order; pairs: target i reads all j != i

One sweep computes any of U, gradients and their changes along tangents (`sweep`), so that they share work.

No atomics anywhere, so the bits do not depend on the number of threads. What the arrays look like in
memory (the packed sources of a pair, the element buffers) is known here and nowhere else.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from . import runtime
from .energy import Datum, Node, Time
from .errors import EnergyError
from .graph import Scalar, inputs, reachable
from .interactions import Gather, Pairs
from .kernels import Code
from .sweep import WHOLE, Place, Sweep, outputs, tangents
from .terms import Term
from .trace import Trace, of_term

TEXT = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "recip": "{T}(1.0) / {}",
    "floordiv": "ti.floor({} / {})",
    "quotient": "ti.floor({0} / {1} + {T}(0.5) / ti.abs({1}))",  # of integers: exact, however / is rounded
    "to_int": "{T}(ti.cast({}, ti.i64))",
    "to_real": "{T}({})",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "and": "{} & {}",
    "or": "{} | {}",
    "atan2": "ti.atan2({}, {})",
    "pow": "ti.pow({}, {})",
    "min": "ti.min({}, {})",
    "max": "ti.max({}, {})",
    "select": "ti.select({}, {}, {})",
    "erf": "erf_{R}({})",
}
"""Operations whose text is not `ti.name(argument)`; T is the type of the result, R its name without `ti.`"""

WHOLE_TYPE = "ti.f64"
"""Integers are whole numbers of this type in every run: exact to 2^53, where f32 ends at 2^24."""


DOT = "dot_"
"""Begins the name of an array of tangents."""
BLOCK = 64
"""Elements whose energies are summed in one go: the order of the sum is the same at any number of threads."""


class Emitter:
    """The loops of one term. `prefix` begins the names of its own arrays in a kernel of several terms.

    `arrays`: by name, those of another emitter, to be shared with it.
    """

    def __init__(self, term: Term, arrays: Mapping[str, Any] | None = None):
        self.term, self.prefix = term, ""
        self.type = f"ti.{runtime.ENGINE_DTYPES[term.dtype.name]}"
        self.pairs = isinstance(term.elements, Pairs)
        self._arrays: dict[str, Any] = dict(arrays or {})
        self._own("nodes", term.elements.nodes)
        self.scalars = self._packed()

    def named(self, prefix: str) -> "Emitter":
        """The same term and the same arrays under names that begin with `prefix`."""
        twin = copy(self)
        twin.prefix = prefix
        return twin

    # Arrays of the term

    def _own(self, name: str, values: np.ndarray) -> Any:
        if name not in self._arrays:
            self._arrays[name] = runtime.allocate(values)
        return self._arrays[name]

    def _share(self, name: str, values: np.ndarray) -> None:
        """An array that belongs to the term: who sets a parameter sets it for all that work on the term."""
        if name not in self.term.shared:
            self.term.shared[name] = runtime.allocate(values)
        self._arrays[name] = self.term.shared[name]

    def _packed(self) -> dict[str, int]:
        """Parameters with one value for all elements share one array; returns where each begins."""
        places: dict[str, int] = {}
        values: list[float] = []
        for argument, parameter in self.term.parameters.items():
            if parameter.index is None:
                places[argument] = len(values)
                values += np.ravel(parameter.rows).tolist()
            else:
                self._share(f"rows_{argument}", parameter.rows)
                self._own(f"row_of_{argument}", parameter.index)
        for argument, array in self.term.data.items():
            self._arrays[f"data_{argument}"] = array
        for argument, table in self.term.tables.items():
            self._own(f"table_{argument}", table)
        if values:
            self._share("scalars", np.array(values, self.term.dtype))
        return places

    def set_parameter(self, argument: str, rows: np.ndarray) -> None:
        """Write a parameter's values into the arrays that the kernels read."""
        self._put(argument, rows)

    def set_tangent(self, argument: str, values: Any) -> None:
        """Write the tangent of what is no node field: shaped like its values, or one for all of them."""
        self._put(argument, np.asarray(values), DOT)

    def _put(self, argument: str, values: np.ndarray, kind: str = "") -> None:
        """Values of a parameter, datum or the time into the array of this kind, which is made at need."""
        name, begin, size = self._own_place(argument)
        if kind:
            like = np.zeros(1) if name == "clock" else np.zeros_like(runtime.host(self._arrays[name]))
            self._own(kind + name, like)
        whole = runtime.host(self._arrays[kind + name]).copy()
        part = whole[begin : begin + size] if size else whole
        part[...] = values.reshape(part.shape) if values.size == part.size else values
        runtime.store(self._arrays[kind + name], whole)

    def _own_place(self, argument: str) -> tuple[str, int, int]:
        """The array with an argument's values; of `scalars` where they begin, and how many they are."""
        if argument in self.scalars:
            return "scalars", self.scalars[argument], self.term.parameters[argument].rows.size
        if argument in self.term.parameters:
            return f"rows_{argument}", 0, 0
        return (f"data_{argument}" if argument in self.term.data else "clock"), 0, 0

    # What may be asked for

    def sweep(self, wanted: Sweep) -> tuple[Code, dict[str, Any]]:
        """Loops over all elements that compute what is wanted, and the buffers with rows of elements.

        The buffers are (rows, components) in f64, by `Place.buffer`. To what belongs to nodes is added, in
        the arrays shaped like the fields: `g_` before the field's name for gradients, `h_` for changes.
        """
        self._check_shapes(wanted)
        traced = self._trace()
        slots = range(1 if self.pairs else self.term.arity)
        places = list(wanted.places(traced, slots))
        along = tangents(traced, list(wanted.tangents))
        buffers = self._buffers(places)
        loops = self._pair_sweep if self.pairs else self._tuple_sweep
        return self._code(loops(traced.value, places, along), wanted), buffers

    def value(self) -> tuple[Code, Any]:
        """The loops that fill a buffer of partial energies, shape (rows, 1) in f64, and the buffer."""
        code, buffers = self.sweep(Sweep(value=True))
        return code, buffers["value"]

    def total(self) -> tuple[Code, Any]:
        """The loops that sum the energy over blocks of elements, shape (blocks, 1) in f64, and the buffer."""
        if self.pairs:
            return self.value()
        buffer, out = self._own_total(), f"{self.prefix}total"
        loop = self._element_loop(self._trace().value, [WHOLE], {}, ["s += ti.f64({})"])
        return self._code(self._in_blocks(loop, ["s = ti.f64(0.0)"], [f"{out}[b, 0] = s"])), buffer

    def summed(self) -> tuple[Code, Any]:
        """The loops that sum a buffer of partial energies as `total` does, and the buffer of the sums."""
        if self.pairs:
            return Code(""), self._arrays["value"]
        buffer, p = self._own_total(), self.prefix
        loop = self._in_blocks(["", f"    s += {p}value[e, 0]"], ["s = ti.f64(0.0)"], [f"{p}total[b, 0] = s"])
        return self._code(loop), buffer

    def derivative(self, argument: str) -> tuple[Code, Any]:
        """Loops and buffer for dU/d(argument), a datum, parameter, the time or what is Linear in a field."""
        code, buffers = self.sweep(Sweep(slopes=(argument,)))
        return code, buffers[f"d_{argument}"]

    def taken(self, argument: str, into: str, array: Any) -> Code:
        """Serial loops that subtract the changes of an argument, which a sweep left, from `into`.

        `array` (rows, components) in f64: a row for each row of a parameter's values, or for each element.
        """
        p, columns = self.prefix, range(array.shape[1])
        values = self.term.parameters.get(argument)
        row = "e" if values is None else "0" if values.index is None else f"{p}row_of_{argument}[e]"
        buffer = f"{p}dd_{argument}"
        lines = [f"{into}[{row}, {c}] = {into}[{row}, {c}] - {buffer}[e, {c}]" for c in columns]
        return self._code([f"for e in range({buffer}.shape[0]):", *indented(lines)]).naming(**{into: array})

    def gradient(self, targets: Mapping[str, Any]) -> Code:
        """Loops that add dU/d(argument) to `targets[argument]`, arrays shaped like the fields."""
        return self.sweep(Sweep(gradient=targets))[0]

    def _check_shapes(self, wanted: Sweep) -> None:
        every = (*wanted.gradient.items(), *wanted.product.items(), *wanted.tangents.items())
        for argument, array in every:
            if argument in self.term.fields and tuple(array.shape) != self.term.fields[argument].shape:
                raise EnergyError(
                    f"{self.term.name}: dU/d({self._field(argument)}) has shape"
                    f" {list(self.term.fields[argument].shape)}, the array for it {list(array.shape)}"
                )

    def _trace(self) -> Trace:
        return of_term(self.term)  # anew each time: the text depends on what is asked, not on what was before

    # Loops

    def _buffers(self, places: Sequence[Place]) -> dict[str, Any]:
        """A row for each element (pairs: for each target), by name."""
        widths = {p.buffer: p.column + 1 for p in places if p.column is not None}
        rows = len(self.term.elements.nodes)
        return {name: self._own(name, np.zeros((rows, width))) for name, width in widths.items()}

    def _own_total(self) -> Any:
        return self._own("total", np.zeros((-(-self.term.elements.elements // BLOCK), 1)))

    def _tuple_sweep(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """Per element into a buffer, then per node over its slots; at once if elements share no nodes."""
        p, arity, nodes = self.prefix, self.term.arity, self.term.elements.nodes
        nodal = [place for place in places if not place.summed]
        apart = arity == 1 and len(np.unique(nodes)) == len(nodes)

        def line(place: Place) -> str:
            if place.summed:
                return f"{p}{place.buffer}[e, {place.column}] = ti.f64({{}})"
            if apart:
                return self._added(place, "n0", "{}")
            slot = f"{p}slot_{place.buffer}[e * {arity} + {place.slot}{subscript(place.component)}]"
            return f"{slot} = {{}}"

        loop = self._element_loop(value, places, along, [line(place) for place in places])
        if apart or not nodal:
            return self._in_blocks(loop) if apart and nodal else loop
        gather = Gather.of(nodes, len(next(iter(self.term.fields.values()))))
        self._own("start", gather.start)
        self._own("slots", gather.slots)
        for place in nodal:
            shape = self.term.fields[place.argument].shape[1:]
            self._own(f"slot_{place.buffer}", np.zeros((nodes.size, *shape), self.term.dtype))
        return [*loop, *self._gather_loop([place for place in nodal if place.slot == 0])]

    def _gather_loop(self, places: Sequence[Place]) -> list[str]:
        p = self.prefix
        begin = [f"a{k} = {self.type}(0.0)" for k in range(len(places))]
        add = [
            f"a{k} += {p}slot_{place.buffer}[{p}slots[q]{subscript(place.component)}]"
            for k, place in enumerate(places)
        ]
        inner = [f"for q in range({p}start[n], {p}start[n + 1]):", *indented(add)]
        end = [self._added(place, "n", f"a{k}") for k, place in enumerate(places)]
        return [f"for n in range({p}start.shape[0] - 1):", *indented([*begin, *inner, *end])]

    def _added(self, place: Place, node: str, text: str) -> str:
        """Adds to the gradient of a field, or its change, which several arguments may stand for."""
        letter = "g" if place.order == "d" else "h"
        at = f"{letter}_{self._field(place.argument)}[{node}{subscript(place.component)}]"
        return f"{at} = {at} + {text}"

    def _pair_sweep(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """What is summed takes each pair once; nodes read all others.

        By symmetry under exchange, dU/d(target) needs only the derivative in slot 0.
        """
        count = range(len(places))
        types = ["ti.f64" if place.summed else self.type for place in places]
        before = [f"s{k} = {types[k]}(0.0)" for k in count]
        add = [f"s{k} += {'ti.f64({})' if places[k].summed else '{}'}" for k in count]
        after = [
            f"{self.prefix}{place.buffer}[i, {place.column}] = s{k}"
            if place.summed
            else self._added(place, "n0", f"s{k}")
            for k, place in enumerate(places)
        ]
        nodal = [k for k in count if not places[k].summed]
        wanted = outputs(value, places, along)
        return self._pair_loop(
            wanted, [("range(0, i)", count), ("range(i + 1, n)", nodal)], before, add, after
        )

    def _element_loop(
        self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar], write: list[str]
    ) -> list[str]:
        """For each element: load, compute, and `write` the number of each place ({} stands for it)."""
        wanted = outputs(value, places, along)
        loads = self._loads(inputs(wanted))
        lines, texts = self._statements(wanted)
        return [
            f"for e in range({self.prefix}nodes.shape[0]):",
            *indented([*loads, *lines, *filled(write, texts)]),
        ]

    def _in_blocks(self, loop: list[str], before: Sequence[str] = (), after: Sequence[str] = ()) -> list[str]:
        """A loop over elements in blocks: a plain inner loop, which the compiler makes vectors of."""
        count = f"{self.prefix}nodes.shape[0]"
        inner = [f"for e in range(b * {BLOCK}, ti.min((b + 1) * {BLOCK}, {count})):", *loop[1:]]
        return [f"for b in range(({count} + {BLOCK - 1}) // {BLOCK}):", *indented([*before, *inner, *after])]

    def _loads(self, leaves: Iterable[Scalar]) -> list[str]:
        """The nodes of element e, and its leaves."""
        every = self.term.arity == 1 and np.array_equal(
            self.term.elements.nodes[:, 0], np.arange(len(self.term.elements.nodes))
        )
        nodes = (
            ["n0 = e"] if every else [f"n{s} = {self.prefix}nodes[e, {s}]" for s in range(self.term.arity)]
        )
        return [*nodes, *(self._load(leaf) for leaf in leaves)]

    def _pair_loop(
        self,
        wanted: list[Scalar],
        ranges: Sequence[tuple[str, Sequence[int]]],
        before: list[str],
        add: list[str],
        after: list[str],
    ) -> list[str]:
        """Sources packed component by component (structure of arrays), then target i over sources j.

        `ranges` of j, each with the numbers (of `wanted`) that are added there.
        """
        p, n = self.prefix, len(self.term.elements.nodes)
        leaves = list(inputs(wanted))
        sources = [leaf for leaf in leaves if leaf.value[1] == 1]
        for packed in {_packed_in(leaf) for leaf in sources}:
            self._own(packed, np.zeros((self._source_size(), n), self.term.dtype))
        at = {leaf.serial: f"{p}{_packed_in(leaf)}[{self._source_row(leaf)}, j]" for leaf in sources}
        pack = [f"{at[leaf.serial]} = {self._nodal(leaf)}" for leaf in sources]
        fetch = [f"{leaf_name(leaf)} = {at[leaf.serial]}" for leaf in sources]
        late = {leaf.serial for leaf in sources}
        early, lines, texts = self._hoisted(wanted, late, {})
        target = [f"n0 = {p}nodes[i]", *(self._load(leaf) for leaf in leaves if leaf.serial not in late)]
        adds = filled(add, texts)
        sweeps = []
        for r, numbers in ranges:
            if numbers:
                sweeps += [f"for j in {r}:", *indented([*fetch, *lines, *(adds[k] for k in numbers)])]
        return [
            f"for j in range({p}nodes.shape[0]):",
            *indented([f"n1 = {p}nodes[j]", *pack]),
            f"for i in range({p}nodes.shape[0]):",
            *indented([f"n = {p}nodes.shape[0]", *target, *early, *before, *sweeps, *after]),
        ]

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

    # Leaves and statements

    def _field(self, argument: str) -> str:
        return self.term.fields[argument].name

    def _nodal(self, leaf: Scalar) -> str:
        """Where the number of a node field, or of its tangent, stands."""
        argument, slot, component = leaf.value[:3]
        return f"{'w' if is_tangent(leaf) else 'f'}_{self._field(argument)}[n{slot}{subscript(component)}]"

    def _load(self, leaf: Scalar) -> str:
        argument, _, component = leaf.value[:3]
        role, p = self.term.energy.roles[argument], self.prefix
        own = p + DOT * is_tangent(leaf)
        if isinstance(role, Node):
            source = self._nodal(leaf)
        elif isinstance(role, Datum):
            source = f"{own}data_{argument}[e{subscript(component)}]"
            source = f"{WHOLE_TYPE}({source})" if role.integer else source
        elif isinstance(role, Time):
            source = f"{self.type}({f'{own}clock[0]' if is_tangent(leaf) else 't'})"
        elif argument in self.scalars:
            shape = self.term.parameters[argument].rows.shape[1:]
            offset = int(np.ravel_multi_index(component, shape)) if component else 0
            source = f"{own}scalars[{self.scalars[argument] + offset}]"
        else:
            source = f"{own}rows_{argument}[{p}row_of_{argument}[e]{subscript(component)}]"
        return f"{leaf_name(leaf)} = {source}"

    def _type(self, node: Scalar) -> str:
        return WHOLE_TYPE if node.integer else self.type

    def _statements(self, outputs: Sequence[Scalar]) -> tuple[list[str], list[str]]:
        """One assignment per operation, and the text of each output."""
        _, lines, texts = self._hoisted(outputs, None, {})
        return lines, texts

    def _hoisted(
        self, outputs: Sequence[Scalar], late: set[int] | None, names: dict[int, str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Statements that do not depend on the late leaves, those that do, and the outputs' text.

        `names`: of nodes that are known already; those that become known are added.
        """
        early_lines: list[str] = []
        late_lines: list[str] = []
        depends = set(late or ())
        for node in reachable(outputs):
            depends.update([node.serial] * any(a.serial in depends for a in node.args))
        for node in reachable(outputs, self._needs):
            if node.serial in names:
                continue
            if node.op == "input":
                names[node.serial] = leaf_name(node)
            elif node.number is not None:
                names[node.serial] = f"{self._type(node)}({self._literal(node)})"
            else:
                arguments = [names[a.serial] for a in self._needs(node)]
                text = self._operation(node, arguments)
                names[node.serial] = f"r{len(names)}"
                moving = late is None or node.serial in depends
                (late_lines if moving else early_lines).append(f"{names[node.serial]} = {text}")
        return early_lines, late_lines, [names[o.serial] for o in outputs]

    def _needs(self, node: Scalar) -> tuple[Scalar, ...]:
        """The nodes that a node's text names."""
        return node.args

    def _operation(self, node: Scalar, arguments: Sequence[str]) -> str:
        if node.op == "lookup":
            return self._lookup(node, arguments)
        return _template(node).format(*arguments, T=self._type(node), R=self.type[3:])

    def _lookup(self, node: Scalar, places: Sequence[str]) -> str:
        """The number at a place of a table; zero outside."""
        sizes = self.term.tables[node.value].shape
        return within(
            f"{self.prefix}table_{node.value}", [f"ti.cast({p}, ti.i32)" for p in places], sizes, self.type
        )

    def _literal(self, constant: Scalar) -> str:
        number = float(constant.value)
        if not np.isfinite(number):
            return "ti.math.inf" if number > 0 else "-ti.math.inf"
        limits = np.finfo(np.float64 if constant.integer else self.term.dtype)
        if number and not limits.tiny <= abs(number) <= limits.max:
            raise EnergyError(f"{self.term.name}: its constant {number:g} does not fit {self.type[3:]}")
        return repr(number)

    def _code(self, lines: list[str], wanted: Sweep | None = None) -> Code:
        """The lines with every array that they name."""
        text = "".join(f"{line}\n" for line in lines)
        named = {self.prefix + name: array for name, array in self._arrays.items()}
        named |= {f"f_{f.name}": f.array for f in self.term.fields.values()}
        if wanted is not None:
            nodal = {a: array for a, array in wanted.tangents.items() if a in self.term.fields}
            for letter, arrays in (("g", wanted.gradient), ("h", wanted.product), ("w", nodal)):
                named |= {f"{letter}_{self._field(a)}": array for a, array in arrays.items()}
        used = set(re.findall(r"\w+", text))
        return Code(text, {name: array for name, array in named.items() if name in used})


def _template(node: Scalar) -> str:
    """The text of an operation; of powers 1.5, 2.5, ... a root and products."""
    exponent = node.args[1].number if node.op == "pow" else None
    if exponent is not None and 0.0 < exponent < 16.0 and (2.0 * exponent).is_integer():
        return "ti.sqrt({0})" + " * {0}" * int(exponent)
    return TEXT.get(node.op, f"ti.{node.op}({{}})")


def is_tangent(leaf: Scalar) -> bool:
    """Whether a leaf is the tangent of another (`sweep.tangents`)."""
    return len(leaf.value) == 4


def _packed_in(leaf: Scalar) -> str:
    """The array that the sources of pairs are packed into."""
    return DOT * is_tangent(leaf) + "source"


def leaf_name(leaf: Scalar) -> str:
    """The local variable of a leaf; its number tells phi[0] from an argument phi_0."""
    return f"v{leaf.serial}_{leaf.value[0]}"


def within(
    table: str, places: Sequence[str], sizes: Sequence[int], real: str, first: Sequence[int] = ()
) -> str:
    """A table's number at i32 places, zero where one is not within 0..size; from `first` on."""
    inside = " & ".join(f"({p} >= 0) & ({p} < {n})" for p, n in zip(places, sizes, strict=True))
    shifted = zip(places, sizes, first or [0] * len(sizes), strict=True)
    near = ", ".join(f"{f} + ti.min(ti.max({p}, 0), {n - 1})" for p, n, f in shifted)
    return f"ti.select({inside}, {table}[{near}], {real}(0.0))"


def subscript(component: tuple[int, ...]) -> str:
    return "".join(f", {c}" for c in component)


def indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def filled(templates: list[str], texts: list[str]) -> list[str]:
    return [template.format(text) for template, text in zip(templates, texts, strict=True)]
