"""Straight-line Taichi source of expression graphs, and the arrays of a term that it reads.

    r8 = r6 * r6        r is the result of an operation, v a leaf that was loaded from an array

Every literal and every local states its type, so that scenes of both precisions share a process.

Decisions 0264, 0279.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from ..energies.roles import Box, Datum, Image, Node, Time
from ..energies.term import Term
from ..engine import storage
from ..engine.kernels import Code, words
from ..errors import EnergyError
from ..symbolic.graph import reachable
from ..symbolic.operations import OPERATIONS
from ..symbolic.scalar import Scalar
from .derivative_request import ADJOINT_OF, DerivativeRequest

WHOLE_TYPE = "ti.f64"
"""Integers are whole numbers of this type in every run: exact to 2^53, where f32 ends at 2^24."""


DOT = "dot_"
"""Begins the name of an array of tangents."""


class Statements:
    """The arrays of one term, and the statements that compute graphs of it from them.

    `prefix` begins the names of its own arrays in a kernel of several terms. `arrays`: arrays of another
    object to share, by name.
    """

    def __init__(self, term: Term, arrays: Mapping[str, Any] | None = None):
        self.term, self.prefix = term, ""
        self.type = f"ti.{storage.ENGINE_DTYPES[term.dtype.name]}"
        self.loop = term.elements.loop
        self._arrays: dict[str, Any] = dict(arrays or {})
        for name, array in self._of_elements().items():
            self._own_array(name, array)
        self.scalars = self._pack_parameters()

    def with_prefix(self, prefix: str) -> Self:
        """The same term and the same arrays under names that begin with `prefix`."""
        twin = copy(self)
        twin.prefix = prefix
        return twin

    # Arrays of the term

    @property
    def arrays(self) -> Mapping[str, Any]:
        """The arrays of its own loops by name: of elements, values and buffers, not of fields."""
        return self._arrays

    def _of_elements(self) -> dict[str, Any]:
        """The arrays that the loop over elements names."""
        return self.term.elements.arrays()

    def _own_array(self, name: str, values: Any) -> Any:
        if name not in self._arrays:
            slot = isinstance(values, storage.ArraySlot)
            self._arrays[name] = values if slot else storage.allocate(values)
        return self._arrays[name]

    def _share_array(self, name: str, values: np.ndarray) -> None:
        """An array of the term: a parameter is set once for all objects that work on the term."""
        if name not in self.term.shared:
            self.term.shared[name] = storage.allocate(values)
        self._arrays[name] = self.term.shared[name]

    def _pack_parameters(self) -> dict[str, int]:
        """Parameters with one value for all elements share one array; returns where each begins."""
        places: dict[str, int] = {}
        values: list[float] = []
        for argument, parameter in self.term.parameters.items():
            if parameter.index is None:
                places[argument] = len(values)
                values += np.ravel(parameter.rows).tolist()
            else:
                self._share_array(f"rows_{argument}", parameter.rows)
                self._own_array(f"row_of_{argument}", parameter.index)
        for argument, array in self.term.data.items():
            self._arrays[f"data_{argument}"] = array
        for argument, table in self.term.tables.items():
            self._own_array(f"table_{argument}", table)
        if values:
            self._share_array("scalars", np.array(values, self.term.dtype))
        return places

    def set_parameter(self, argument: str, rows: np.ndarray) -> None:
        """Write a parameter's values into the arrays that the kernels read."""
        self._write_values(argument, rows)

    def set_tangent(self, argument: str, values: Any) -> None:
        """Write the tangent of a parameter, datum or the time: shaped like its values, or one number."""
        self._write_values(argument, np.asarray(values), DOT)

    def _write_values(self, argument: str, values: np.ndarray, kind: str = "") -> None:
        """Write values of a parameter, datum or the time; an array of tangents is allocated on first use."""
        name, begin, size = self._own_place(argument)
        if kind:
            like = np.zeros(1) if name == "clock" else np.zeros_like(storage.host(self._arrays[name]))
            changing = isinstance(self._arrays.get(name), storage.ArraySlot)
            made = self._own_array(kind + name, storage.ArraySlot(like) if changing else like)
            if changing and made.shape != like.shape:
                made.replace(like)
        whole = storage.host(self._arrays[kind + name]).copy()
        part = whole[begin : begin + size] if size else whole
        part[...] = values.reshape(part.shape) if values.size == part.size else values
        storage.store(self._arrays[kind + name], whole)

    def parameter_place(self, argument: str) -> tuple[Any, int]:
        """The array with the values of a parameter of one number, for other kernels, and their place in it.

        Raises `EnergyError` for a parameter that has rows.
        """
        name, begin, size = self._own_place(argument)
        if size != 1:
            raise EnergyError(f"{self.term.name}.{argument}: has a value for each element; give one number")
        return self._arrays[name], begin

    def array_of(self, argument: str) -> Any:
        """The array with the values of a parameter or datum, perhaps among others."""
        return self._arrays[self._own_place(argument)[0]]

    def _own_place(self, argument: str) -> tuple[str, int, int]:
        """The array with an argument's values; of `scalars` where they begin, and how many they are."""
        if argument in self.scalars:
            return "scalars", self.scalars[argument], self.term.parameters[argument].rows.size
        if argument in self.term.parameters:
            return f"rows_{argument}", 0, 0
        return (f"data_{argument}" if argument in self.term.data else "clock"), 0, 0

    # Leaves and statements

    def _field_name(self, argument: str) -> str:
        return self.term.fields[argument].name

    def _nodal_entry(self, leaf: Scalar) -> str:
        """The array element of a node field's component, or of its tangent."""
        argument, slot, component = leaf.value[:3]
        return (
            f"{'w' if is_tangent(leaf) else 'f'}_{self._field_name(argument)}[n{slot}{subscript(component)}]"
        )

    def _load_statement(self, leaf: Scalar) -> str:
        argument, slot, component = leaf.value[:3]
        role, p = self.term.energy.roles[argument], self.prefix
        own = p + DOT * is_tangent(leaf)
        if isinstance(role, Node):
            source = self._nodal_entry(leaf)
        elif isinstance(role, Box):
            letter = "w" if is_tangent(leaf) else "f"
            source = f"{letter}_{self.term.uniform[argument].name}[0{subscript(component)}]"
        elif isinstance(role, Image):
            array, row = ("row_images", "j") if slot else ("target_images", "i")
            source = f"{self.type}({p}{array}[{row}{subscript(component)}])"
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

    def _node_type(self, node: Scalar) -> str:
        return WHOLE_TYPE if node.integer else self.type

    def _output_statements(self, outputs: Sequence[Scalar]) -> tuple[list[str], list[str]]:
        """One assignment per operation, and the text of each output."""
        _, lines, texts = self._hoist_statements(outputs, None, {})
        return lines, texts

    @property
    def _variant_key(self) -> tuple[Hashable, ...]:
        """All that graphs and statements depend on besides the trace and the request."""
        return type(self).__qualname__, self.term.dtype.str

    def _hoist_statements(
        self, outputs: Sequence[Scalar], late: set[int] | None, names: dict[int, str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Statements that do not depend on the late nodes, those that do, and the outputs' text.

        `names`: of nodes computed before, by serial; new ones are added.
        """
        if not outputs:
            return [], [], []
        of = tuple([one.serial for one in outputs]), None if late is None else frozenset(late)
        key = ("statements", self.prefix, *self._variant_key, *of, tuple(names.items()))

        def make() -> tuple[list[str], list[str], list[str], dict[int, str]]:
            known = dict(names)
            return (*self._write_statements(outputs, late, known), known)

        early, lines, texts, known = outputs[0].graph.once(key, make)
        names |= known
        return [*early], [*lines], [*texts]

    def _write_statements(
        self, outputs: Sequence[Scalar], late: set[int] | None, names: dict[int, str]
    ) -> tuple[list[str], list[str], list[str]]:
        known = set(names)
        early_lines: list[str] = []
        late_lines: list[str] = []
        depends = set(late or ())
        for node in reachable(outputs):
            depends.update([node.serial] * any(a.serial in depends for a in node.args))
        for node in reachable(outputs, lambda n: () if n.serial in known else self._needed_nodes(n)):
            if node.serial in names:
                continue
            if node.op == "input":
                names[node.serial] = leaf_name(node)
            elif node.number is not None:
                names[node.serial] = self._constant_text(node)
            else:
                arguments = [names[a.serial] for a in self._needed_nodes(node)]
                text = self._operation_text(node, arguments)
                names[node.serial] = f"r{len(names)}"
                moving = late is None or node.serial in depends
                (late_lines if moving else early_lines).append(f"{names[node.serial]} = {text}")
        return early_lines, late_lines, [names[o.serial] for o in outputs]

    def _needed_nodes(self, node: Scalar) -> tuple[Scalar, ...]:
        """The nodes that a node's text names."""
        return node.args

    def _operation_text(self, node: Scalar, arguments: Sequence[str]) -> str:
        if node.op == "lookup":
            return self._lookup_text(node, arguments)
        return template(node).format(*arguments, T=self._node_type(node), R=self.type[3:])

    def _lookup_text(self, node: Scalar, places: Sequence[str]) -> str:
        """The number of a table at integer indices; zero out of bounds."""
        sizes = self.term.tables[node.value].shape
        return bounded_lookup(
            f"{self.prefix}table_{node.value}", [f"ti.cast({p}, ti.i32)" for p in places], sizes, self.type
        )

    def _constant_text(self, node: Scalar) -> str:
        return f"{self._node_type(node)}({self._literal_text(node)})"

    def _literal_text(self, constant: Scalar) -> str:
        number = float(constant.value)
        if not np.isfinite(number):
            return "ti.math.inf" if number > 0 else "-ti.math.inf"
        limits = np.finfo(np.float64 if constant.integer else self.term.dtype)
        if number and not limits.tiny <= abs(number) <= limits.max:
            raise EnergyError(f"{self.term.name}: its constant {number:g} does not fit {self.type[3:]}")
        return repr(number)

    def _code_of_lines(self, lines: list[str], wanted: DerivativeRequest | None = None) -> Code:
        """The lines with every array that they name."""
        text = "\n".join([*lines, ""])
        named = {self.prefix + name: array for name, array in self._arrays.items()}
        named |= {f"f_{f.name}": f.array for f in self.term.read.values()}
        if wanted is not None:
            read = self.term.read
            along = {a: array for a, array in wanted.tangents.items() if a in read}
            for letter, arrays in (("g", wanted.gradient), ("h", wanted.product), ("w", along)):
                named |= {f"{letter}_{read[a].name}": array for a, array in arrays.items()}
        used = words(text)
        aliases = {
            f"{kind}_{adjoint}{name}": f"{kind}_{adjoint}{alias}"
            for name, alias in self.term.aliases.items()
            for kind in ("f", "w", "g", "h", "quads_f", "quads_w", "part_quads_f", "part_quads_w")
            for adjoint in ("", ADJOINT_OF)
        }
        return Code(text, {name: array for name, array in named.items() if name in used}, aliases=aliases)


def template(node: Scalar) -> str:
    """The text of an operation; of powers 1.5, 2.5, ... a root and products."""
    exponent = node.args[1].number if node.op == "pow" else None
    if exponent is not None and 0.0 < exponent < 16.0 and (2.0 * exponent).is_integer():
        return "ti.sqrt({0})" + " * {0}" * int(exponent)
    return OPERATIONS[node.op].text


def is_tangent(leaf: Scalar) -> bool:
    """True if a leaf is the tangent of another (`derivative_request.tangents`)."""
    return len(leaf.value) == 4


def leaf_name(leaf: Scalar) -> str:
    """The local variable of a leaf; its number tells phi[0] from an argument phi_0."""
    return f"v{leaf.serial}_{leaf.value[0]}"


def bounded_lookup(
    table: str, places: Sequence[str], sizes: Sequence[int], real: str, first: Sequence[int] = ()
) -> str:
    """The number of a table at i32 indices, zero out of bounds; `first`: where the table begins."""
    inside = " & ".join(f"({p} >= 0) & ({p} < {n})" for p, n in zip(places, sizes, strict=True))
    shifted = zip(places, sizes, first or [0] * len(sizes), strict=True)
    near = ", ".join(f"{f} + ti.min(ti.max({p}, 0), {n - 1})" for p, n, f in shifted)
    return f"ti.select({inside}, {table}[{near}], {real}(0.0))"


def subscript(component: tuple[int, ...]) -> str:
    return "".join(f", {c}" for c in component)


def indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def fill_templates(templates: list[str], texts: list[str]) -> list[str]:
    return [template.format(text) for template, text in zip(templates, texts, strict=True)]
