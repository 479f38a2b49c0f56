"""Taichi source for SIMD lanes: operations on whole vectors, for the modules that emit in lanes.

Operations with text in the column `vectors` of the table of operations are instructions on vectors, every
other one is computed lane by lane. Most others end the process, and the lanes of a condition are read
wrongly, so the result of a new kernel is checked before it is used (`kernel_verification`).

Arrays may be read and written lane by lane at indices that are known to be small and not negative: compilers
merge such loads and stores into one.

Decisions 0137, 0205.
"""

from collections.abc import Sequence

from ..energies.roles import Box, Time
from ..engine import vector_functions
from ..symbolic.graph import reachable
from ..symbolic.operation import SAME
from ..symbolic.operations import OPERATIONS, TRUTHS
from ..symbolic.scalar import Scalar
from .statements import Statements, template

MOST_BY_LANE = 3
"""Operations lane by lane that an energy may have: each is as many statements as there are lanes."""
MOST_FUNCTIONS = 8
"""Logarithms, exponentials, angles that an energy may have: with 28 a kernel compiles in minutes."""
SMALL = (1 << 30) - 1
"""Bound of array indices; `& SMALL` gives it to the compiler."""


def is_instruction(node: Scalar) -> bool:
    """True if an operation is an instruction on whole vectors."""
    return OPERATIONS[node.op].vectors != "" or template(node).startswith("ti.sqrt")


def serve(value: Scalar, most_by_lane: int = MOST_BY_LANE) -> bool:
    """True if lanes suit an energy: real numbers, and few operations lane by lane."""
    nodes = [n for n in reachable([value]) if n.number is None]
    whole = any(n.integer and n.op not in TRUTHS for n in nodes)
    functions = sum(n.op in vector_functions.FUNCTIONS for n in nodes)
    known = {"input", *vector_functions.FUNCTIONS}
    by_lane = sum(n.op not in known and not is_instruction(n) for n in nodes)
    return not whole and functions <= MOST_FUNCTIONS and by_lane <= most_by_lane


class Vectors(Statements):
    """Text for all lanes at once."""

    wide: int

    def _to_all(self, text: str) -> str:
        """One number in every lane."""
        return f"ti.Vector([{text}] * {self.wide})"

    def _by_lane(self, text: str) -> str:
        """A vector from the text of one number, {lane} its lane."""
        return f"ti.Vector([{', '.join(text.replace('{lane}', str(lane)) for lane in range(self.wide))}])"

    def _vector_instruction(self, node: Scalar, arguments: Sequence[str]) -> str:
        """An operation on whole vectors."""
        one, zero = (self._to_all(f"{self._node_type(node)}({number})") for number in ("1.0", "0.0"))
        own = OPERATIONS[node.op].vectors
        text = template(node) if own in ("", SAME) else own
        return text.format(*arguments, one=one, zero=zero)

    def _lane_numbers(self) -> str:
        """The number of each lane."""
        return f"ti.Vector([{', '.join(f'{self.type}({lane}.0)' for lane in range(self.wide))}])"

    def _put_lanes(self, number: str, text: str) -> list[str]:
        """Store a vector at the indices of its lanes (the text of one), from which it must have been loaded.

        Only then compilers know all addresses before the first store and merge the stores.
        """
        put = (f"{number} = put[{{lane}}]".replace("{lane}", str(lane)) for lane in range(self.wide))
        return [f"put = {text}", *put]

    def _in_f64(self, name: str) -> str:
        """A vector in f64."""
        return name if self.type == "ti.f64" else self._by_lane(f"ti.f64({name}[{{lane}}])")

    def _sum_of_lanes(self, name: str, vector: str) -> list[str]:
        """The sum of a vector's lanes, by halves."""
        lines, wide = [], self.wide
        while wide > 4:
            wide //= 2
            halves = ", ".join(f"{vector}[{lane}] + {vector}[{lane + wide}]" for lane in range(wide))
            lines.append(f"{vector}h = ti.Vector([{halves}])")
            vector += "h"
        return [*lines, f"{name} = {' + '.join(f'{vector}[{lane}]' for lane in range(wide))}"]


class AllVectors(Vectors):
    """Statements that compute every number of a graph in all lanes."""

    def _constant_text(self, node: Scalar) -> str:
        return self._to_all(super()._constant_text(node))

    def _operation_text(self, node: Scalar, arguments: Sequence[str]) -> str:
        if node.op in vector_functions.FUNCTIONS:
            return f"{vector_functions.name(node.op, self.type[3:], self.wide)}({', '.join(arguments)})"
        if is_instruction(node):
            return self._vector_instruction(node, arguments)
        single = super()._operation_text(node, [f"({text})[{{lane}}]" for text in arguments])
        return self._by_lane(single)

    def _is_uniform(self, leaf: Scalar) -> bool:
        """True if a leaf is the same for all elements."""
        role = self.term.energy.roles[leaf.value[0]]
        return leaf.value[0] in self.scalars or isinstance(role, (Time, Box))
