"""Linear forms of integer expressions: which of them differ by a constant at every state.

    form = constant + sum of coefficient * atom         (an atom: a cell's place, the floor of a real number)

Integers are exact, so their sums may be collected. The forms prove that a table is read within its bounds and
count the cells of a window.

Decisions 0259.
"""

from dataclasses import dataclass, field

from .operations import OPERATIONS
from .scalar import Scalar


@dataclass
class Form:
    """`constant` plus the atoms, by serial, times their coefficients (none of them zero)."""

    constant: int = 0
    coefficients: dict[int, int] = field(default_factory=dict)
    atoms: dict[int, Scalar] = field(default_factory=dict)

    def plus(self, other: "Form", factor: int = 1) -> "Form":
        """The sum of this one and `factor` times the other."""
        total = dict(self.coefficients)
        for serial, coefficient in other.coefficients.items():
            total[serial] = total.get(serial, 0) + factor * coefficient
        kept = {serial: c for serial, c in total.items() if c}
        atoms = self.atoms | other.atoms
        return Form(self.constant + factor * other.constant, kept, {s: atoms[s] for s in kept})

    def minus(self, other: "Form") -> "Form":
        return self.plus(other, -1)

    @property
    def known_value(self) -> int | None:
        """The value, if it is the same at every state."""
        return None if self.coefficients else self.constant


def form(node: Scalar) -> Form:
    """The form of an integer, or of a real number that is whole by construction."""
    if node.number is not None and float(node.number).is_integer():
        return Form(int(node.number))
    if node.op in ("add", "sub"):
        return form(node.args[0]).plus(form(node.args[1]), 1 if node.op == "add" else -1)
    if node.op == "mul" and node.args[0].number is not None and float(node.args[0].number).is_integer():
        return Form().plus(form(node.args[1]), int(node.args[0].number))
    if (node.op in ("to_real", "to_int") or is_rounded(node)) and is_whole(node.args[0]):
        return form(node.args[0])
    return Form(0, {node.serial: 1}, {node.serial: node})


def is_rounded(node: Scalar) -> bool:
    """True for the floor, ceil or round of a real number."""
    return OPERATIONS[node.op].result == "whole"


def is_whole(node: Scalar) -> bool:
    """True if a number is whole at every state."""
    if node.integer or is_rounded(node):
        return True
    if node.number is not None:
        return float(node.number).is_integer()
    return node.op in ("add", "sub", "mul", "to_real") and all(map(is_whole, node.args))
