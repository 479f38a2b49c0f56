"""Graphs to straight-line Taichi: the loops that evaluate a term and its derivatives.

    value     per element (pairs: per target, over sources j < i), summed by the caller in fixed order
    gradient  tuples: per element, then gathered per node in fixed order; pairs: target i reads all j != i

No atomics anywhere, so the bits do not depend on the number of threads. What the arrays look like in
memory (the packed sources of a pair, the element buffers) is known here and nowhere else.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from . import derive, runtime
from .energy import Datum, Node, Time
from .errors import EnergyError
from .graph import Scalar, inputs, reachable
from .interactions import Gather, Pairs
from .kernels import Code
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


BLOCK = 64
"""Elements whose energies are summed in one go: the order of the sum is the same at any number of threads."""


class Emitter:
    """The loops of one term. `prefix` begins the names of its own arrays in a kernel of several terms."""

    def __init__(self, term: Term):
        self.term, self.prefix = term, ""
        self.type = f"ti.{runtime.ENGINE_DTYPES[term.dtype.name]}"
        self.pairs = isinstance(term.elements, Pairs)
        self._arrays: dict[str, Any] = {}
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

    def _packed(self) -> dict[str, int]:
        """Parameters with one value for all elements share one array; returns where each begins."""
        places: dict[str, int] = {}
        values: list[float] = []
        for argument, parameter in self.term.parameters.items():
            if parameter.index is None:
                places[argument] = len(values)
                values += np.ravel(parameter.rows).tolist()
            else:
                self._own(f"rows_{argument}", parameter.rows)
                self._own(f"row_of_{argument}", parameter.index)
        for argument, array in self.term.data.items():
            self._arrays[f"data_{argument}"] = array
        for argument, table in self.term.tables.items():
            self._own(f"table_{argument}", table)
        if values:
            self._own("scalars", np.array(values, self.term.dtype))
        return places

    def set_parameter(self, argument: str, rows: np.ndarray) -> None:
        """Write a parameter's values into the arrays that the kernels read."""
        if argument in self.scalars:
            values, begin = runtime.host(self._arrays["scalars"]).copy(), self.scalars[argument]
            values[begin : begin + rows.size] = np.ravel(rows)
            runtime.store(self._arrays["scalars"], values)
        else:
            runtime.store(self._arrays[f"rows_{argument}"], rows)

    # What may be asked for

    def value(self) -> tuple[Code, Any]:
        """The loops that fill a buffer of partial energies, shape (rows, 1) in f64, and the buffer."""
        return self._sums("value", self._trace().value)

    def total(self) -> tuple[Code, Any]:
        """The loops that sum the energy over blocks of elements, shape (blocks, 1) in f64, and the buffer."""
        if self.pairs:
            return self.value()
        blocks = -(-self.term.elements.elements // BLOCK)
        buffer, out = self._own("total", np.zeros((blocks, 1))), f"{self.prefix}total"
        loop = self._element_loop(self._trace().value, None, ["s += ti.f64({})"])
        return self._code(self._in_blocks(loop, ["s = ti.f64(0.0)"], [f"{out}[b, 0] = s"])), buffer

    def derivative(self, argument: str) -> tuple[Code, Any]:
        """Loops and buffer for dU/d(argument), a datum, parameter, the time or what is Linear in a field.

        The buffer is (rows, components) in f64.
        """
        traced = self._trace()
        return self._sums(f"d_{argument}", traced.value, traced.inputs[argument][0])

    def gradient(self, targets: dict[str, Any]) -> Code:
        """Loops that add dU/d(argument) to `targets[argument]`, arrays shaped like the fields."""
        for argument, array in targets.items():
            if tuple(array.shape) != self.term.fields[argument].shape:
                raise EnergyError(
                    f"{self.term.name}: dU/d({self._field(argument)}) has shape"
                    f" {list(self.term.fields[argument].shape)}, the array for it {list(array.shape)}"
                )
        traced = self._trace()
        slots = range(1 if self.pairs else self.term.arity)
        leaves = [(a, s, leaf) for a in targets for s in slots for leaf in traced.inputs[a][s]]
        wrt = [leaf for _, _, leaf in leaves]
        places = [(a, s, leaf.value[2]) for a, s, leaf in leaves]
        if self.pairs:
            return self._pair_gradient(places, derive.gradient(traced.value, wrt), targets)
        return self._tuple_gradient(places, traced.value, wrt, targets)

    def _trace(self) -> Trace:
        return of_term(self.term)  # anew each time: the text depends on what is asked, not on what was before

    # Loops

    def _sums(self, name: str, value: Scalar, wrt: Sequence[Scalar] | None = None) -> tuple[Code, Any]:
        """Loops and buffer for the value or, if `wrt` says so, its derivatives: a row for each element."""
        rows, columns = len(self.term.elements.nodes), range(1 if wrt is None else len(wrt))
        buffer = self._own(name, np.zeros((rows, len(columns))))
        out = self.prefix + name
        if not self.pairs:
            write = [f"{out}[e, {k}] = ti.f64({{}})" for k in columns]
            lines = self._element_loop(value, wrt, write)
        else:
            before = [f"s{k} = ti.f64(0.0)" for k in columns]
            add = [f"s{k} += ti.f64({{}})" for k in columns]
            after = [f"{out}[i, {k}] = s{k}" for k in columns]
            lines = self._pair_loop(_wanted(value, wrt), ["range(0, i)"], before, add, after)
        return self._code(lines), buffer

    def _tuple_gradient(
        self, places: list, value: Scalar, wrt: Sequence[Scalar], targets: dict[str, Any]
    ) -> Code:
        """Per element into a buffer, then per node over its slots; at once if elements share no nodes."""
        arity, nodes = self.term.arity, self.term.elements.nodes
        if arity == 1 and len(np.unique(nodes)) == len(nodes):
            write = [self._added(a, "n0", c, "{}") for a, _, c in places]
            return self._code(self._in_blocks(self._element_loop(value, wrt, write)), targets)
        gather = Gather.of(nodes, len(next(iter(self.term.fields.values()))))
        self._own("start", gather.start)
        self._own("slots", gather.slots)
        for a in targets:
            self._own(f"slot_{a}", np.zeros((nodes.size, *self.term.fields[a].shape[1:]), self.term.dtype))

        write = [f"{self.prefix}slot_{a}[e * {arity} + {s}{subscript(c)}] = {{}}" for a, s, c in places]
        lines = self._element_loop(value, wrt, write)
        return self._code([*lines, *self._gather_loop(places)], targets)

    def _gather_loop(self, places: list) -> list[str]:
        p = self.prefix
        components = [(a, c) for a, s, c in places if s == 0]
        begin = [f"a{k} = {self.type}(0.0)" for k in range(len(components))]
        add = [f"a{k} += {p}slot_{a}[{p}slots[q]{subscript(c)}]" for k, (a, c) in enumerate(components)]
        inner = [f"for q in range({p}start[n], {p}start[n + 1]):", *indented(add)]
        end = [self._added(a, "n", c, f"a{k}") for k, (a, c) in enumerate(components)]
        return [f"for n in range({p}start.shape[0] - 1):", *indented([*begin, *inner, *end])]

    def _added(self, argument: str, node: str, component: tuple[int, ...], text: str) -> str:
        """Adds to the gradient of a field, which several arguments may stand for."""
        place = f"g_{self._field(argument)}[{node}{subscript(component)}]"
        return f"{place} = {place} + {text}"

    def _pair_gradient(self, places: list, outputs: list[Scalar], targets: dict[str, Any]) -> Code:
        """By symmetry under exchange, dU/d(target) needs only the derivative in slot 0."""
        before = [f"s{k} = {self.type}(0.0)" for k in range(len(outputs))]
        after = [self._added(a, "n0", c, f"s{k}") for k, (a, _, c) in enumerate(places)]
        add = [f"s{k} += {{}}" for k in range(len(outputs))]
        lines = self._pair_loop(outputs, ["range(0, i)", "range(i + 1, n)"], before, add, after)
        return self._code(lines, targets)

    def _element_loop(self, value: Scalar, wrt: Sequence[Scalar] | None, write: list[str]) -> list[str]:
        """For each element: load, compute, and `write` the value or each derivative ({} stands for it)."""
        outputs = _wanted(value, wrt)
        loads = self._loads(inputs(outputs))
        lines, texts = self._statements(outputs)
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
        self, outputs: list[Scalar], ranges: list[str], before: list[str], add: list[str], after: list[str]
    ) -> list[str]:
        """Sources packed component by component (structure of arrays), then target i over sources j."""
        p, n = self.prefix, len(self.term.elements.nodes)
        leaves = list(inputs(outputs))
        sources = [leaf for leaf in leaves if leaf.value[1] == 1]
        self._own("source", np.zeros((self._source_size(), n), self.term.dtype))
        rows = {leaf.serial: self._source_row(leaf) for leaf in sources}
        read = {
            leaf.serial: f"f_{self._field(leaf.value[0])}[n1{subscript(leaf.value[2])}]" for leaf in sources
        }
        pack = [f"{p}source[{rows[leaf.serial]}, j] = {read[leaf.serial]}" for leaf in sources]
        fetch = [f"{leaf_name(leaf)} = {p}source[{rows[leaf.serial]}, j]" for leaf in sources]
        late = {leaf.serial for leaf in sources}
        early, lines, texts = self._hoisted(outputs, late, {})
        target = [f"n0 = {p}nodes[i]", *(self._load(leaf) for leaf in leaves if leaf.serial not in late)]
        visit = indented([*fetch, *lines, *filled(add, texts)])
        sweeps = [line for r in ranges for line in (f"for j in {r}:", *visit)]
        return [
            f"for j in range({p}nodes.shape[0]):",
            *indented([f"n1 = {p}nodes[j]", *pack]),
            f"for i in range({p}nodes.shape[0]):",
            *indented([f"n = {p}nodes.shape[0]", *target, *early, *before, *sweeps, *after]),
        ]

    def _source_size(self) -> int:
        return sum(int(np.prod(f.shape[1:], dtype=int)) for f in self.term.fields.values())

    def _source_row(self, leaf: Scalar) -> int:
        argument, _, component = leaf.value
        row = 0
        for a, f in self.term.fields.items():
            if a == argument:
                return row + int(np.ravel_multi_index(component, f.shape[1:])) if component else row
            row += int(np.prod(f.shape[1:], dtype=int))
        raise AssertionError(argument)

    # Leaves and statements

    def _field(self, argument: str) -> str:
        return self.term.fields[argument].name

    def _load(self, leaf: Scalar) -> str:
        argument, slot, component = leaf.value
        role, p = self.term.energy.roles[argument], self.prefix
        if isinstance(role, Node):
            source = f"f_{self._field(argument)}[n{slot}{subscript(component)}]"
        elif isinstance(role, Datum):
            source = f"{p}data_{argument}[e{subscript(component)}]"
            source = f"{WHOLE_TYPE}({source})" if role.integer else source
        elif isinstance(role, Time):
            source = f"{self.type}(t)"
        elif argument in self.scalars:
            shape = self.term.parameters[argument].rows.shape[1:]
            offset = int(np.ravel_multi_index(component, shape)) if component else 0
            source = f"{p}scalars[{self.scalars[argument] + offset}]"
        else:
            source = f"{p}rows_{argument}[{p}row_of_{argument}[e]{subscript(component)}]"
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

    def _code(self, lines: list[str], targets: Mapping[str, Any] | None = None) -> Code:
        """The lines with every array that they name; `targets` are the gradients they add to."""
        text = "".join(f"{line}\n" for line in lines)
        named = {self.prefix + name: array for name, array in self._arrays.items()}
        named |= {f"f_{f.name}": f.array for f in self.term.fields.values()}
        named |= {f"g_{self._field(a)}": array for a, array in (targets or {}).items()}
        used = set(re.findall(r"\w+", text))
        return Code(text, {name: array for name, array in named.items() if name in used})


def _wanted(value: Scalar, wrt: Sequence[Scalar] | None) -> list[Scalar]:
    """The value, or its derivatives."""
    return [value] if wrt is None else derive.gradient(value, wrt)


def _template(node: Scalar) -> str:
    """The text of an operation; of powers 1.5, 2.5, ... a root and products."""
    exponent = node.args[1].number if node.op == "pow" else None
    if exponent is not None and 0.0 < exponent < 16.0 and (2.0 * exponent).is_integer():
        return "ti.sqrt({0})" + " * {0}" * int(exponent)
    return TEXT.get(node.op, f"ti.{node.op}({{}})")


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
