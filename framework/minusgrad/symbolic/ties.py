"""Derivatives at ties of min, max and abs: the mean of the derivatives of both branches of a whole function.

    max(y, 0) + log(1 + exp(-|y|))      has at y = 0 the slope 1/2 and the curvature 1/4

`differentiation` leaves a node `side(a, b)` (true where a > b) wherever a derivative depends on which side of
a tie it is taken. Sides that compare the same quantity, up to a factor, are one switch: max(y, 0), |y| and
min(-2 y, 0) are switched together. `settle_ties` replaces every derivative D by

    select(a > b, D+, select(b > a, D-, (D+ + D-) / 2))

with D+ and D- the derivative on either side. Means of several switches that tie at once are taken one after
another: each combination counts alike. Sums are settled term by term, and products of factors without a
common switch factor by factor, so that most derivatives grow by one select for each of theirs.

Where the compared numbers are one at all states of a region, as in max(max(y, 0), y) for y > 0, there is no
tie: the switches that they depend on are settled first.

A side on which the derivative is not finite at the tie (the root of max(y, 0)) does not count. A branch that
an energy makes itself, by `if` or `select`, is no tie: its condition says to which side a point belongs.

Decisions 0250.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from .graph import reachable
from .operations import OPERATIONS
from .scalar import Expressions, Number, Scalar

MOST = 256
"""Switches that are settled in the derivatives of one request; beyond them each operation by itself."""
BRANCHES = 256
"""Branches of compared numbers that are looked at for a tie at all states."""
TERMS = 64
"""Terms of a sum that are compared; longer sums are one quantity."""
RISKY = ("recip", "log", "pow", "tan", "asin", "acos", "sqrt")
"""Operations that are not finite for some numbers."""
KINKED = ("min", "max", "abs")
Key = tuple
"""A compared quantity: its terms by serial with their factors, and the constant; () if it has no terms."""


def settle_ties(outputs: Sequence[Scalar]) -> list[Scalar]:
    """The outputs, derivatives of one energy, with the mean of both sides at every tie."""
    if not any(node.op == "side" for node in reachable(outputs)):
        return list(outputs)
    means = _Means(outputs[0].graph)
    return [means.mean(output) for output in outputs]


def kink_serials(values: Sequence[Scalar]) -> set[int]:
    """The serials of every min, max and abs that the values contain."""
    return {node.serial for node in reachable(values) if node.op in KINKED}


class _Means:
    """Means over the switches of a graph; each node's is computed once."""

    def __init__(self, graph: Expressions):
        self.graph = graph
        self.keys = _Keys()
        self.left = MOST
        self._means: dict[int, Scalar] = {}

    def mean(self, node: Scalar) -> Scalar:
        """The mean of a derivative over all of its switches."""
        for one in reachable([node], self._unsettled_arguments):
            self._means[one.serial] = self._computed_mean(one)
        return self._means[node.serial]

    def _unsettled_arguments(self, node: Scalar) -> Sequence[Scalar]:
        """The arguments that are settled before the node."""
        known = node.serial in self._means or not self.keys.own_switches(node)
        return () if known or not self._mean_distributes(node) else node.args

    def _mean_distributes(self, node: Scalar) -> bool:
        """True if the mean of an operation is the operation on the means of its arguments."""
        if node.op in ("add", "sub", "div", "to_real"):
            return True
        if node.op == "select":
            return not self.keys.own_switches(node.args[0])
        return node.op == "mul" and not self.keys.shared_switches(*node.args)

    def _computed_mean(self, node: Scalar) -> Scalar:
        if node.serial in self._means:
            return self._means[node.serial]
        if not self.keys.own_switches(node):
            return node
        if self._mean_distributes(node):
            return self.graph.rebuilt(node, tuple(self._means[a.serial] for a in node.args))
        if self.left <= 0:
            return self._one_by_one(node)
        self.left -= 1
        switch = self.keys.switch_before(node, self.keys.first_switch(node))
        up, down = (self.mean(_side_derivative(node, self.keys, switch, side)) for side in (True, False))
        return self._value_at_tie(switch, up, down)

    def _one_by_one(self, node: Scalar) -> Scalar:
        """The operation on the means of its arguments, although they have switches in common."""
        if node.op == "select":
            condition, *sides = node.args
            switch, (a, b) = self.keys.of(condition)[0], map(self.mean, sides)
            straight = self.keys.of(condition)[1]
            return self._value_at_tie(switch, *((a, b) if straight else (b, a)))
        return self.graph.rebuilt(node, tuple(map(self.mean, node.args)))

    def _value_at_tie(self, switch: Key, up: Scalar, down: Scalar) -> Scalar:
        """The number above the tie, below it, and at it."""
        if up is down:
            return up
        a, b = self.keys.compared[switch]
        (endless, of_up), (without_end, of_down) = (_at_tie(side, self.keys, switch) for side in (up, down))
        if of_up is not None and of_up == of_down:  # zero times the rest, of powers of max(a, b)
            return self.graph.apply("select", b < a, up, down)
        middle = 0.5 * (up + down)
        if endless != without_end:
            middle = down if endless else up
        below = self.graph.apply("select", a < b, down, middle)
        return self.graph.apply("select", b < a, up, below)


class _Keys:
    """The switches that nodes depend on. `compared`: two numbers of each, in the order of its sign."""

    def __init__(self) -> None:
        self.compared: dict[Key, tuple[Scalar, Scalar]] = {}
        self._of: dict[tuple[int, int], tuple[Key, bool]] = {}
        self._own: dict[int, frozenset[Key]] = {}
        self._values: dict[int, frozenset[Key]] = {}

    def of(self, node: Scalar) -> tuple[Key, bool]:
        """The switch of a side, min, max or abs, and whether its first argument is the one above."""
        return self.of_pair(*(node.args if len(node.args) == 2 else (node.args[0], node.graph.constant(0.0))))

    def of_pair(self, a: Scalar, b: Scalar) -> tuple[Key, bool]:
        """The switch that two numbers are compared by, and whether it is above where a is."""
        if (a.serial, b.serial) not in self._of:
            key, straight = _compared_quantity(a, b)
            self.compared.setdefault(key, (a, b) if straight else (b, a))
            self._of[a.serial, b.serial] = key, straight
        return self._of[a.serial, b.serial]

    def own_switches(self, node: Scalar) -> frozenset[Key]:
        """The switches of the sides that a derivative contains."""
        return self._switch_union(
            node, self._own, lambda one: {self.of(one)[0]} if one.op == "side" else None
        )

    def of_values(self, node: Scalar) -> frozenset[Key]:
        """The switches of the min, max and abs that a value contains."""
        return self._switch_union(
            node, self._values, lambda one: {self.of(one)[0]} if one.op in KINKED else set()
        )

    def all_switches(self, node: Scalar) -> frozenset[Key]:
        """The switches of a derivative, and those that its own sides depend on."""
        found = set(self.own_switches(node))
        for one in reachable([node], self.above_sides):
            if one.op == "side":
                found.update(*map(self.of_values, one.args))
        return frozenset(found)

    def shared_switches(self, a: Scalar, b: Scalar) -> frozenset[Key]:
        """The switches on which both of two numbers depend."""
        return (self.own_switches(a) & self.all_switches(b)) | (self.all_switches(a) & self.own_switches(b))

    def first_switch(self, node: Scalar) -> Key:
        """The switch of a product or select that is settled first: it depends on no other one of the node."""
        wanted = self.shared_switches(*node.args) if node.op == "mul" else self.all_switches(node.args[0])
        own = wanted & self.own_switches(node)
        sides = {self.of(n)[0]: n for n in reachable([node], self.above_sides) if n.op == "side"}
        depends = {key: frozenset().union(*map(self.of_values, sides[key].args)) - {key} for key in own}
        free = [key for key in own if not depends[key] & own]
        return min(free or own)

    def switch_before(self, node: Scalar, switch: Key) -> Key:
        """The switch to settle first where sides of this one may be tied at all states: max(max(y, 0), y).

        It is one of those that the compared numbers depend on, by which the tie is no tie, but decided.
        """
        for one in reachable([node], self.above_sides):
            if one.op == "side" and self.of(one)[0] == switch:
                left = [BRANCHES]
                for kink in self._outer_kinks(one.args):
                    if (other := self.of(kink)[0]) != switch and self._equal_on_branch(one.args, other, left):
                        return other
        return switch

    def _equal_on_branch(self, pair: Sequence[Scalar], switch: Key, left: list[int]) -> bool:
        """True if both numbers are one on a branch of a switch, or of others below; or if too many are."""
        for up in (True, False):
            left[0] -= 1
            if left[0] < 0:
                return True
            a, b = (_choose_branch(value, self, switch, up) for value in pair)
            if _linear_difference(a, b) == ({}, 0.0):
                return True
            others = {self.of(kink)[0] for kink in self._outer_kinks((a, b))} - {
                switch,
                self.of_pair(a, b)[0],
            }
            if any(self._equal_on_branch((a, b), other, left) for other in sorted(others)):
                return True
        return False

    def _outer_kinks(self, values: Sequence[Scalar]) -> list[Scalar]:
        """The min, max and abs in these values that no other one of them contains."""
        nodes = reachable(values, lambda one: () if one.op in KINKED else one.args)
        return [one for one in nodes if one.op in KINKED]

    def above_sides(self, node: Scalar) -> Sequence[Scalar]:
        """The arguments of a node that may contain sides."""
        return node.args if self.own_switches(node) and node.op != "side" else ()

    def _switch_union(self, node: Scalar, known: dict[int, frozenset[Key]], of_one) -> frozenset[Key]:
        """The union over a node and all that it needs; None for `of_one`: nothing of its own, go on."""
        if node.serial not in known:
            for one in reachable([node], lambda n: () if n.serial in known else n.args):
                if one.serial not in known:
                    mine = of_one(one) or set()
                    below = () if mine and one.op == "side" else (known[a.serial] for a in one.args)
                    known[one.serial] = frozenset(mine).union(*below)
        return known[node.serial]


def _compared_quantity(a: Scalar, b: Scalar) -> tuple[Key, bool]:
    """The quantity that compares a with b: a - b without its sign and size; and True if a has the plus sign.

    Of numbers that differ by a constant at every state the key is empty.
    """
    left, constant = _linear_difference(a, b)
    if not left:
        return (), constant >= 0.0
    pairs = sorted(left.items())
    first = pairs[0][1]
    return (tuple((serial, factor / first) for serial, factor in pairs), constant / first), first > 0.0


def _linear_difference(a: Scalar, b: Scalar) -> tuple[dict[int, float], float]:
    """a - b as factors of terms, by serial, and a constant."""
    terms: dict[int, float] = {}
    constant = 0.0
    waiting = [(a, 1.0), (b, -1.0)]
    while waiting:
        node, factor = waiting.pop()
        if node.number is not None:
            constant += factor * float(node.number)
        elif len(terms) + len(waiting) < TERMS and node.op in ("add", "sub"):
            sign = 1.0 if node.op == "add" else -1.0
            waiting += [(node.args[0], factor), (node.args[1], sign * factor)]
        elif node.op == "mul" and node.args[0].number is not None:
            waiting.append((node.args[1], factor * float(node.args[0].number)))
        elif node.op == "to_real":
            waiting.append((node.args[0], factor))
        else:
            terms[node.serial] = terms.get(node.serial, 0.0) + factor
    return {serial: factor for serial, factor in terms.items() if factor}, constant


def _side_derivative(node: Scalar, keys: _Keys, switch: Key, up: bool) -> Scalar:
    """A derivative on one side of a switch: its sides, and those that become it there, are known."""
    graph, new = node.graph, dict[int, Scalar]()
    on_branch = partial(_choose_branch, keys=keys, switch=switch, up=up)
    for one in reachable([node], keys.above_sides):
        if one.op == "side":
            a, b = map(on_branch, one.args)
            key, straight = keys.of_pair(a, b)
            if key in ((), switch):
                new[one.serial] = graph.constant(int(straight if key == () else straight == up))
            elif a is not one.args[0] or b is not one.args[1]:
                new[one.serial] = graph.apply("side", a, b)
        elif any(a.serial in new for a in one.args):
            new[one.serial] = graph.rebuilt(one, tuple(new.get(a.serial, a) for a in one.args))
    return new.get(node.serial, node)


def _choose_branch(value: Scalar, keys: _Keys, switch: Key, up: bool) -> Scalar:
    """A value with the branch of every min, max and abs that a switch decides, in place of those."""
    if switch not in keys.of_values(value):
        return value
    new: dict[int, Scalar] = {}
    for one in reachable([value]):
        changed = any(a.serial in new for a in one.args)
        made = value.graph.rebuilt(one, tuple(new.get(a.serial, a) for a in one.args)) if changed else one
        if made.op in KINKED:
            key, straight = keys.of(made)
            if key in ((), switch):
                made = _branch_taken(made, straight if key == () else straight == up)
        if made is not one:
            new[one.serial] = made
    return new.get(value.serial, value)


def _branch_taken(node: Scalar, above: bool) -> Scalar:
    """The branch of a min, max or abs whose first argument is above, or below."""
    if node.op == "abs":
        return node.args[0] if above else -node.args[0]
    return node.args[0] if above == (node.op == "max") else node.args[1]


def _at_tie(side: Scalar, keys: _Keys, switch: Key) -> tuple[bool, Number | None]:
    """Of a derivative on one side, at the tie of every state: True if it is infinite, and its number."""
    new = dict(_known_at_tie(side, keys, switch))
    for node in reachable([side]):
        if node.serial in new or not any(a.serial in new for a in node.args):
            continue
        args = tuple(new.get(a.serial, a) for a in node.args)
        if node.op in RISKY and all(a.number is not None for a in args):
            try:
                OPERATIONS[node.op].python(*(a.number for a in args))  # type: ignore[misc]
            except (ArithmeticError, ValueError):
                return True, None
        if (made := _fold_operation(node, args)) is not None:
            new[node.serial] = made
    return False, new.get(side.serial, side).number


def _fold_operation(node: Scalar, args: tuple[Scalar, ...]) -> Scalar | None:
    """The operation on other arguments, where that is a number."""
    if all(a.number is not None for a in args):
        made = node.graph.rebuilt(node, args)
        return made if made.number is not None else None
    if node.op == "mul" and any(a.number == 0.0 for a in args):
        return node.graph.constant(0.0)
    return None


def _known_at_tie(side: Scalar, keys: _Keys, switch: Key) -> Iterator[tuple[int, Scalar]]:
    """Nodes (by serial) that are a number at the tie, with it."""
    graph = side.graph
    if switch and len(switch[0]) == 1:
        yield switch[0][0][0], graph.constant(-switch[1])
    for node in reachable([side]):
        if node.op in KINKED and keys.of(node)[0] == switch:
            low = (
                graph.constant(0.0)
                if node.op == "abs"
                else next((a for a in node.args if a.number is not None), None)
            )
            if low is not None:
                yield node.serial, low
