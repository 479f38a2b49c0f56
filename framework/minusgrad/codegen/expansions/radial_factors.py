"""Symbolic factors of a pair energy: what belongs to each node, and functions of the distance alone.

    u(i, j) = sum over t of a_t(i) b_t(j) K_t(s),   s = |x_i - x_j|^2

a and b depend on the fields of one node, K on the distance, parameters and the time. They are found in the
traced function: its products and sums are taken apart, with the positions (sqrt(s), 0, 0) and 0. That u
depends on positions by the distance alone is tested with the function itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from ...energies.roles import Node
from ...energies.term import Term
from ...errors import EnergyError
from ...symbolic import differentiation
from ...symbolic.graph import inputs, reachable
from ...symbolic.scalar import Scalar
from ..kept_traces import KEPT
from ..tracing import Trace
from .isotropy import refuse_other_directions

FIRST, SECOND, DISTANCE = 1, 2, 4
"""What a number depends on: the fields of the first node, of the second, the distance."""
SMOOTH = {
    "add",
    "sub",
    "mul",
    "div",
    "recip",
    "pow",
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
}
SMOOTH |= {"atan2", "tanh", "cosh", "sinh", "erf", "erfc", "to_real", "input", "constant"}
"""Operations without kinks."""
CURE = "leave `far` out for direct sums"


@dataclass(frozen=True)
class RadialProduct:
    """One summand: a of the first node, b of the second, and K of the squared distance."""

    a: Scalar
    b: Scalar
    kernel: Scalar


@dataclass(frozen=True)
class RadialFactors:
    """The summands of u in one graph; `squared` is the leaf s."""

    traced: Trace
    squared: Scalar
    products: Sequence[RadialProduct]

    @classmethod
    def of(cls, term: Term) -> "RadialFactors":
        """The factors of a term. Raises `EnergyError` for a function without such factors."""
        traced = KEPT.of_term(term, "far pairs")
        squared = traced.graph.input("squared", None, ())
        value = _along_an_axis(term, traced, squared)
        _refuse_kinks(term, value, squared)
        summands = _Summands(term, squared).of(value)
        merged: dict[tuple[int, int], RadialProduct] = {}
        for one in summands:
            key = one.a.serial, one.b.serial
            kernel = merged[key].kernel + one.kernel if key in merged else one.kernel
            merged[key] = RadialProduct(one.a, one.b, kernel)
        refuse_other_directions(term, position_of(term), CURE)
        return cls(traced, squared, [*merged.values()])

    def radial(self, kernel: Scalar, order: int) -> list[Scalar]:
        """g_k = (2 d/ds)^k K for k = 0, ..., order: (1/r d/dr)^k of K as a function of r."""
        found = [kernel]
        for _ in range(order):
            found.append(2.0 * differentiation.gradient(found[-1], [self.squared])[0])
        return found


def position_of(term: Term) -> str:
    """The argument with the positions."""
    return next(a for a, f in term.fields.items() if f.places)


def _along_an_axis(term: Term, traced: Trace, squared: Scalar) -> Scalar:
    """u with the nodes at (sqrt(s), 0, 0) and at the origin."""
    graph, zero = traced.graph, traced.graph.constant(0.0)
    root = graph.apply("sqrt", squared)
    first, second = traced.inputs[position_of(term)]
    known = {leaf.serial: zero for leaf in (*first[1:], *second)} | {first[0].serial: root}
    for node in reachable([traced.value]):
        if node.serial not in known:
            args = tuple([known[a.serial] for a in node.args])
            if node.op == "mul" and args[0] is args[1] is root:
                known[node.serial] = squared
            else:
                known[node.serial] = graph.rebuilt(node, args) if args else node
    return known[traced.value.serial]


def _refuse_kinks(term: Term, value: Scalar, squared: Scalar) -> None:
    """Refuse operations with a kink or a jump in the distance."""
    depends = {squared.serial}
    for node in reachable([value]):
        if any(a.serial in depends for a in node.args):
            depends.add(node.serial)
            if node.op not in SMOOTH:
                raise EnergyError(
                    f"{term.name}.far: needs an energy that is smooth in the distance, got the operation"
                    f" '{node.op}'; {CURE}"
                )


class _Summands:
    """Takes products and sums apart."""

    def __init__(self, term: Term, squared: Scalar):
        self.term, self.squared = term, squared
        self.one = squared.graph.constant(1.0)
        self._known: dict[int, int] = {}

    def of(self, node: Scalar) -> list[RadialProduct]:
        """The summands of a number. Raises `EnergyError` where it is no such sum."""
        depends = self._depends(node)
        if not depends & (FIRST | SECOND):
            return [RadialProduct(self.one, self.one, node)]
        if depends in (FIRST, SECOND) and not self._reads_parameters(node):
            of_first = depends == FIRST
            return [RadialProduct(node if of_first else self.one, self.one if of_first else node, self.one)]
        if node.op == "add":
            return [one for arg in node.args for one in self.of(arg)]
        if node.op == "sub":
            minus = [RadialProduct(p.a, p.b, -1.0 * p.kernel) for p in self.of(node.args[1])]
            return [*self.of(node.args[0]), *minus]
        if node.op == "mul":
            left, right = map(self.of, node.args)
            return [RadialProduct(p.a * q.a, p.b * q.b, p.kernel * q.kernel) for p in left for q in right]
        if node.op == "recip" and len(parts := self.of(node.args[0])) == 1:
            inverse = [node.graph.apply("recip", n) for n in (parts[0].a, parts[0].b, parts[0].kernel)]
            return [RadialProduct(*inverse)]
        raise EnergyError(
            f"{self.term.name}.far: needs an energy that is a sum of products a(i) b(j) K(r), got the"
            f" operation '{node.op}' of {self._words(node)}; write it as such a sum, or {CURE}"
        )

    def _depends(self, node: Scalar) -> int:
        for one in reachable([node]):
            if one.serial not in self._known:
                own = 0
                if one is self.squared:
                    own = DISTANCE
                elif one.op == "input" and isinstance(self.term.energy.roles[one.value[0]], Node):
                    own = FIRST if one.value[1] == 0 else SECOND
                self._known[one.serial] = reduce(
                    lambda a, b: a | b, [self._known[a.serial] for a in one.args], own
                )
        return self._known[node.serial]

    def _reads_parameters(self, node: Scalar) -> bool:
        own = [leaf for leaf in inputs([node]) if leaf is not self.squared]
        return any(not isinstance(self.term.energy.roles[leaf.value[0]], Node) for leaf in own)

    def _words(self, node: Scalar) -> str:
        depends = self._depends(node)
        found = [
            word for bit, word in ((FIRST, "node i"), (SECOND, "node j"), (DISTANCE, "r")) if depends & bit
        ]
        found += ["parameters"] * self._reads_parameters(node)
        return " and ".join(found)
