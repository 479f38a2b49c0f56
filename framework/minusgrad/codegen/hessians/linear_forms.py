"""Linear forms F = sum_a x_a (x) w_a in the loops of Hessians, and their tangent moduli d2u/(dF dF).

    H_(a c)(b d) = sum over k and l of w_ak  d2u/(dF_ck dF_dl)  w_bl

Where u depends on fields through such F alone, only the moduli are written out: of a solid 9 rows, whatever
the nodes of its cells. The contraction with the weights w is a loop over the nodes. Of a field with several
F, such as one at a point and one at the centre of a cell, k and l run over the columns of all of them.

Decisions 0276.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from ...symbolic.graph import inputs
from ...symbolic.scalar import Scalar
from ..statements import indented, leaf_name, subscript
from ..term_loops import Emitter
from ..tracing import Trace

FEW_NODES = 4
"""Nodes of an element over which F is written out as a sum; over more it is a loop."""


@dataclass(frozen=True)
class LinearForm:
    """F = sum_a x_a (x) w_a in a Hessian, or several F of one x side by side.

    `begin`: the first row of x; `width`: its components; `weights`: the arguments w, and the shape of each at
    a node; `numbers`: the components of F, those of one component of x beside each other, each with its leaf;
    `first`: the leaves of x_0.
    """

    begin: int
    width: int
    weights: Sequence[tuple[str, tuple[int, ...]]]
    numbers: Sequence[tuple[Scalar, Scalar]]
    first: Sequence[Scalar]

    @property
    def axes(self) -> int:
        """The columns of F."""
        return sum(prod(shape) for _, shape in self.weights)

    @property
    def leaves(self) -> list[Scalar]:
        """The leaves in the places of the components of F."""
        return [leaf for leaf, _ in self.numbers]

    @property
    def places(self) -> list[tuple[int, ...]]:
        """The components of x as indices."""
        return [leaf.value[2] for leaf in self.first]


class FormLoops(Emitter):
    """The part of Hessians' loops that works on linear forms; how entries are named is up to subclasses."""

    def _entry_text(self, out: str, number: str) -> str:
        """Where a number of element e is written."""
        return f"{out}[e, {number}]"

    def _weight_text(self, weights: str, node: str, component: tuple[int, ...]) -> str:
        """The text of a weight of a node of element e."""
        return f"data_{weights}[e, {node}{subscript(component)}]"

    def _zero_text(self) -> str:
        return f"{self.type}(0.0)"

    def _argument_width(self, argument: str) -> int:
        return prod(self.term.fields[argument].shape[1:])

    def _linear_forms(self, traced: Trace, arguments: Sequence[str]) -> list[LinearForm]:
        """The Linear arguments made of each field, as one form; fields without are left out."""
        linear = self.term.energy.linear
        found, begin = [], 0
        for argument in arguments:
            width = self._argument_width(argument)
            if made := [name for name, role in linear.items() if role.field == argument]:
                weights = [(linear[name].weights, self.term.shape(linear[name].weights)[1:]) for name in made]
                parts = [_by_component(traced, name, width) for name in made]
                numbers = [n for rows in zip(*parts, strict=True) for row in rows for n in row]
                found.append(LinearForm(begin, width, weights, numbers, traced.inputs[argument][0]))
            begin += self.term.arity * width
        return found

    def _moduli_statements(
        self, forms: Sequence[LinearForm], wanted: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[str], list[str]]:
        """The leaves that the moduli `wanted` are computed from, the statements, and the moduli's texts."""
        leaves = [leaf for form in forms for leaf in form.leaves]
        names: dict[int, str] = {}
        if self.term.arity > FEW_NODES:
            before = [line for k, form in enumerate(forms) for line in self._form_sum(k, form)]
            for k, form in enumerate(forms):
                names |= {leaf.serial: f"F{k}_{i}" for i, leaf in enumerate(form.leaves)}
            known = [leaf for form in forms for leaf in form.first]
        else:
            known = [number for form in forms for _, number in form.numbers]
            _, before, found = self._hoist_statements(known, None, names)
            names |= {leaf.serial: text for leaf, text in zip(leaves, found, strict=True)}
        _, lines, texts = self._hoist_statements(wanted, None, names)
        over = {leaf.serial for leaf in leaves}
        read = [leaf for leaf in inputs([*known, *wanted]) if leaf.serial not in over]
        return read, [*before, *lines], texts

    def _form_sum(self, number: int, form: LinearForm) -> list[str]:
        """F = sum_a (x_a - x_0) (x) w_a in a loop over the nodes, as `F{number}_0`, ..., c * axes + k."""
        entries = [f"F{number}_{i}" for i in range(len(form.numbers))]
        begin = [f"{entry} = {self._zero_text()}" for entry in entries]
        legs = [f"u{c} = x{c} - {leaf_name(leaf)}" for c, leaf in enumerate(form.first)]
        add = [f"{entry} += u{i // form.axes} * w{i % form.axes}" for i, entry in enumerate(entries)]
        body = [*self._values_at_node(form), *legs, *self._weight_locals(form, "w", "a"), *add]
        return [*begin, f"for a in range(1, {self.term.arity}):", *indented(body)]

    def _values_at_node(self, form: LinearForm) -> list[str]:
        """The components of the field at node a of element e, as `x0`, ..."""
        array = self._nodal_entry(form.first[0]).partition("[")[0]
        return [
            "na = nodes[e, a]",
            *(f"x{c} = {array}[na{subscript(at)}]" for c, at in enumerate(form.places)),
        ]

    def _contraction_loops(self, out: str, forms: Sequence[LinearForm], moduli: Sequence[str]) -> list[str]:
        """Loops over nodes that write the entries of H from the texts of the moduli's lower half."""
        leaves = [leaf for form in forms for leaf in form.leaves]
        both: dict[tuple[int, int], str] = {}
        for text, (i, j) in zip(moduli, halves(len(leaves)), strict=True):
            both[leaves[i].serial, leaves[j].serial] = both[leaves[j].serial, leaves[i].serial] = text
        pairs = ((f, g) for k, f in enumerate(forms) for g in forms[: k + 1])
        return [line for f, g in pairs for line in self._block_entries(out, both, f, g)]

    def _block_entries(
        self, out: str, moduli: Mapping[tuple[int, int], str], f: LinearForm, g: LinearForm
    ) -> list[str]:
        """The entries of two arguments: of one alone, and of nodes a and b, those with a >= b."""
        rows, columns = [leaf.serial for leaf in f.leaves], [leaf.serial for leaf in g.leaves]
        half = [
            f"t{i}_{d} = "
            + _sum_text(f"{moduli[row, columns[d * g.axes + k]]} * w{k}" for k in range(g.axes))
            for (i, row), d in product(enumerate(rows), range(g.width))
        ]
        first = "b + 1" if f is g else "0"
        inner = [*self._weight_locals(f, "v", "a"), *self._node_entries(out, f, g, ("a", "v"), False)]
        loop = [
            *self._weight_locals(g, "w", "b"),
            *half,
            *(self._node_entries(out, f, g, ("b", "w"), True) if f is g else []),
            f"for a in range({first}, {self.term.arity}):",
            *indented(inner),
        ]
        return [f"for b in range({self.term.arity}):", *indented(loop)]

    def _weight_locals(self, form: LinearForm, name: str, node: str) -> list[str]:
        """The weights of a node, as local variables."""
        places = [self._weight_text(w, node, c) for w, shape in form.weights for c in np.ndindex(*shape)]
        return [f"{name}{k} = {place}" for k, place in enumerate(places)]

    def _node_entries(
        self, out: str, f: LinearForm, g: LinearForm, of: tuple[str, str], lower_only: bool
    ) -> list[str]:
        """The entries of a node, whose weights have a name, with node b."""
        node, weight = of
        lines: list[str] = []
        for c in range(f.width):
            lines.append(f"row = {f.begin + c} + {node} * {f.width}")
            lines.append(f"entry = row * (row + 1) // 2 + {g.begin} + b * {g.width}")
            for d in range(c + 1 if lower_only else g.width):
                text = _sum_text(f"{weight}{k} * t{c * f.axes + k}_{d}" for k in range(f.axes))
                lines.append(f"{self._entry_text(out, f'entry + {d}')} = {text}")
        return lines


def halves(m: int) -> Iterator[tuple[int, int]]:
    """The places (i, j), j <= i, of a lower half, row by row."""
    return ((i, j) for i in range(m) for j in range(i + 1))


def _by_component(traced: Trace, name: str, width: int) -> list[list[tuple[Scalar, Scalar]]]:
    """The numbers of a Linear argument, each with a leaf in its place, by component of the field."""
    numbers = traced.inputs[name][0]
    pairs = [(traced.graph.input(name, None, (k,)), number) for k, number in enumerate(numbers)]
    axes = len(numbers) // width
    return [pairs[c * axes : (c + 1) * axes] for c in range(width)]


def _sum_text(parts: Iterable[str]) -> str:
    return " + ".join(parts)
