"""Graphs of pairs with equal products collected: fewer operations in the inner loops of listed lanes.

    a s s + a (s s) + a (s s)   ->   3 a s^2

Derivatives of powers are sums of products that differ in their order alone. Here every number of a pair is a
coefficient and powers of others; sums collect those that agree. Coefficients and factors of the target are
multiplied first, outside of the loop over sources; differences of positions last, so that the components of a
vector share the rest. Numbers that depend on one of the two nodes alone stay as they are.

Powers of such factors have a wider range than what they multiply: sigma^12 beside (sigma/r)^12. In f32
what is scaled by them and used often, as sigma/r, stays whole.

Decisions 0274.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import mul

from ...symbolic.graph import reachable
from ...symbolic.scalar import Scalar

FEW, SHORT = 2, 4
"""Most uses, and most terms, of a sum whose terms join another sum."""


@dataclass(frozen=True)
class Product:
    """coefficient * product of base^power, the bases by their serials."""

    coefficient: float = 1.0
    powers: tuple[tuple[int, int], ...] = ()


@dataclass
class CollectedProducts:
    """Collects equal products in the graphs of numbers of pairs; `wanted`: these graphs.

    narrow: the numbers have a small range, as those in f32.
    """

    wanted: Sequence[Scalar]
    narrow: bool
    bases: dict[int, Scalar] = field(default_factory=dict)
    found: dict[int, Product] = field(default_factory=dict)
    sums: dict[int, list[Product]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.source, self.target = set[int](), set[int]()
        self.uses: Counter[int] = Counter()
        self.known = {node.serial for node in reachable(self.wanted)}
        for node in reachable(self.wanted):
            for slot, into in ((1, self.source), (0, self.target)):
                own = node.op == "input" and node.value[1] == slot
                if own or any(a.serial in into for a in node.args):
                    into.add(node.serial)
            self.uses.update(a.serial for a in node.args)

    def numbers(self) -> list[Scalar]:
        """The same numbers with fewer operations."""
        for node in reachable(self.wanted):
            self.found[node.serial] = self._collected_product(node)
        return [self._product_node(self.found[one.serial]) for one in self.wanted]

    def _collected_product(self, node: Scalar) -> Product:
        if node.number is not None and not node.integer:
            return Product(float(node.number))
        if not self._of_both(node):
            return self._single_power(node)
        of_args = [self.found[a.serial] for a in node.args]
        if node.op == "mul":
            found = _multiply_products(*of_args)
            scaled = self.narrow and any(a.serial not in self.source for a in node.args)
            kept = scaled and node.number is None and self.uses[node.serial] > FEW
            return self._single_power(self._product_node(found)) if kept else found
        if node.op in ("add", "sub"):
            return self._collected_sum(node)
        return self._single_power(node.graph.rebuilt(node, tuple(self._product_node(one) for one in of_args)))

    def _of_both(self, node: Scalar) -> bool:
        """True for a number of the pair."""
        return node.serial in self.source and node.op != "input" and not self._of_source(node)

    def _of_source(self, node: Scalar) -> bool:
        return node.serial not in self.target

    def _single_power(self, node: Scalar) -> Product:
        self.bases[node.serial] = node
        return Product(powers=((node.serial, 1),))

    def _collected_sum(self, node: Scalar) -> Product:
        """The sum of the products that a tree of sums adds up."""
        kinds: dict[tuple[tuple[int, int], ...], float] = {}
        for coefficient, one in self._signed_summands(node, 1.0):
            kinds[one.powers] = kinds.get(one.powers, 0.0) + coefficient * one.coefficient
        terms = [Product(coefficient, powers) for powers, coefficient in kinds.items() if coefficient]
        if len(terms) < 2:
            return terms[0] if terms else Product(0.0)
        size = abs(terms[0].coefficient)
        size = size if all(abs(one.coefficient) == size for one in terms) else 1.0
        terms = [Product(one.coefficient / size, one.powers) for one in terms]
        terms.sort(key=_is_subtracted)
        total = self._product_node(terms[0])
        for one in terms[1:]:
            if _is_subtracted(one):
                total = total - self._product_node(Product(1.0, one.powers))
            else:
                total = total + self._product_node(one)
        common = set.intersection(*({base for base, _ in one.powers} for one in terms))
        if self.uses[node.serial] <= FEW and len(terms) <= SHORT and common:
            self.sums[total.serial] = terms
        return Product(size, self._single_power(total).powers)

    def _signed_summands(self, node: Scalar, sign: float) -> Iterable[tuple[float, Product]]:
        """The products that are added up, also those of sums that stand in other products."""
        for k, arg in enumerate(node.args):
            own = -sign if node.op == "sub" and k else sign
            one = self.found[arg.serial]
            inner = [s for s, power in one.powers if power == 1 and s in self.sums]
            if self.uses[arg.serial] <= FEW and len(inner) == 1 and self._of_both(arg):
                rest = Product(one.coefficient, tuple(p for p in one.powers if p[0] != inner[0]))
                yield from ((own, _multiply_products(rest, term)) for term in self.sums[inner[0]])
            else:
                yield own, one

    def _product_node(self, one: Product) -> Scalar:
        """The node of a product."""
        graph = self.wanted[0].graph
        held = [(self.bases[serial], power) for serial, power in one.powers]
        held.sort(key=lambda pair: pair[0].serial)
        early, last = (
            [_power_by_squares(base, power) for base, power in held if of_kind(base)]
            for of_kind in (self._is_early, self._is_last)
        )
        inner = [_power_by_squares(b, p) for b, p in held if not self._is_early(b) and not self._is_last(b)]
        factors = [graph.constant(one.coefficient)] if one.coefficient != 1.0 or not held else []
        head = [reduce(_as_given, [*factors, *early])] if factors or early else []
        shared = [reduce(mul, inner)] if inner else []
        return reduce(_as_given, [*head, *shared, *last])

    def _is_early(self, base: Scalar) -> bool:
        return base.serial in self.known and base.serial not in self.source

    def _is_last(self, base: Scalar) -> bool:
        return is_difference(base) and not self._is_early(base)


def _as_given(one: Scalar, other: Scalar) -> Scalar:
    """The product of two numbers; rules would move a coefficient behind the last factor."""
    return one.graph.as_given("mul", one, other)


def _multiply_products(one: Product, other: Product) -> Product:
    powers = Counter(dict(one.powers))
    powers.update(dict(other.powers))
    return Product(one.coefficient * other.coefficient, tuple(sorted(powers.items())))


def _is_subtracted(one: Product) -> bool:
    return one.coefficient == -1.0 and bool(one.powers)


def _power_by_squares(base: Scalar, power: int) -> Scalar:
    """base^power by squares."""
    if power == 1:
        return base
    half = _power_by_squares(base, power // 2)
    return half * half * base if power % 2 else half * half


def is_difference(node: Scalar) -> bool:
    """True for a difference of numbers that are finite if the leaves are."""
    return node.op == "sub" and all(map(_is_finite, node.args))


def _is_finite(node: Scalar) -> bool:
    return node.op in ("input", "constant") or (
        node.op in ("add", "sub", "mul") and all(map(_is_finite, node.args))
    )
