"""Canonical text of a traced energy before simplification, which tells whether the energy is the same.

    0 input ('x', 0, (0,))          number, operation, numbers of its arguments, and the value of a leaf
    1 constant 0.5
    2 mul 1 0
    value 2

The text follows the function and what it read when it was traced (constants, environment variables, data);
it depends on no rule of simplification or differentiation, on no address, and on no order of hashing. Nodes
are numbered as the outputs need them. `evaluation_order` is the order in which the function made them: sums
of gradients follow it, so that equal texts give equal numbers, and with equal orders equal bits.

Decisions 0241.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..energies.local_map import LocalMap
from ..energies.roles import Linear, Node, Role
from ..energies.term import Term
from ..errors import TraceError
from ..symbolic.scalar import Scalar
from .kept_traces import KEPT

_OF_NUMBERS = ("unit", "shape", "bounds", "open", "differentiable", "integer", "axes", "spacing")
"""Properties of numbers in a declaration; defaults are among a term's values, windows in its graph."""


@dataclass(frozen=True)
class CanonicalTrace:
    """The text of a traced energy, and the numbers of its nodes in the order in which they were made."""

    text: str
    evaluation_order: tuple[int, ...]


def canonical_trace(term: Term) -> CanonicalTrace:
    """The declaration and the graph of a term's energy, window included, one node a line."""
    energy = term.energy
    head = [f"over {energy.over!r}", f"d {term.dimension} k {term.arity}"]
    head += [f"role {name} {_role_text(role)}" for name, role in energy.roles.items()]
    head += [f"linear {name} {_role_text(made)}" for name, made in energy.linear.items()]
    if isinstance(energy, LocalMap) and energy.several:
        head += [f"gives {name} {output.unit} {output.shape}" for name, output in energy.outputs.items()]
    try:
        traced, kind = KEPT.of_term(term, "value", simplify=False), "graph"
    except TraceError:  # rules may decide a branch that otherwise has too many paths
        traced, kind = KEPT.of_term(term, "value"), "simplified graph"
    cells = [cell for pair in traced.window for cell in pair]
    outputs = [*traced.values, *cells, *traced.mirrored]
    number = _numbered_nodes(outputs)
    lines = [
        " ".join([str(k), node.op, *(str(number[a]) for a in node.args), repr(node.value)])
        for node, k in number.items()
    ]
    ends = [f"output {number[node]}" for node in outputs]
    made = sorted(number, key=lambda node: node.serial)
    return CanonicalTrace("\n".join([*head, kind, *lines, *ends, ""]), tuple(number[node] for node in made))


def _numbered_nodes(outputs: Sequence[Scalar]) -> dict[Scalar, int]:
    """The nodes that the outputs need, numbered from the left, arguments before users."""
    number: dict[Scalar, int] = {}
    waiting = list(reversed(outputs))
    while waiting:
        node = waiting[-1]
        if node in number:
            waiting.pop()
        elif missing := [a for a in node.args if a not in number]:
            waiting += reversed(missing)
        else:
            number[waiting.pop()] = len(number)
    return number


def _role_text(role: Role | Linear) -> str:
    if isinstance(role, Linear):
        return f"{role.field} {role.weights}"
    said = {name: getattr(role, name) for name in _OF_NUMBERS if hasattr(role, name)}
    said |= {"of": role.of} if isinstance(role, Node) and role.of else {}
    return f"{type(role).__name__} {said}"
