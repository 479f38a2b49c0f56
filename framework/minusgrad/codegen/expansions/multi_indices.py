"""Multi-indices of Taylor expansions: alpha = (a_1, ..., a_d) with |alpha| = a_1 + ... + a_d up to an order.

x^alpha / alpha! is a monomial, and D^alpha a partial derivative. The order of indices is that of |alpha|.

Decisions 0305.
"""

from collections.abc import Callable
from functools import cache
from itertools import product

Index = tuple[int, ...]


@cache
def up_to(d: int, order: int) -> tuple[Index, ...]:
    """All with |alpha| <= order."""
    every = product(range(order + 1), repeat=d)
    return tuple(sorted((a for a in every if sum(a) <= order), key=lambda a: (sum(a), tuple(-k for k in a))))


@cache
def places(d: int, order: int) -> dict[Index, int]:
    """Where each one is in `up_to`."""
    return {a: k for k, a in enumerate(up_to(d, order))}


def lower(a: Index, axis: int) -> Index | None:
    """alpha minus one along an axis; None where it is zero there."""
    return None if a[axis] == 0 else (*a[:axis], a[axis] - 1, *a[axis + 1 :])


def add_indices(a: Index, b: Index) -> Index:
    return tuple([one + other for one, other in zip(a, b, strict=True)])


def unit(d: int, axis: int) -> Index:
    return tuple([int(k == axis) for k in range(d)])


def monomials(
    d: int, order: int, x: str, name: str, number: Callable[[float], str] = "ti.f64({!r})".format
) -> list[str]:
    """Statements that compute x^alpha / alpha! as {name}{place}, from the components {x}0, {x}1, ...

    number: the text of a constant.
    """
    lines, at = [], places(d, order)
    for a in up_to(d, order)[1:]:
        axis = next(k for k in range(d) if a[k])
        below = lower(a, axis)
        assert below is not None
        factor = f"{x}{axis}" if a[axis] == 1 else f"{x}{axis} * {number(1.0 / a[axis])}"
        lines.append(f"{name}{at[a]} = {factor}" + (f" * {name}{at[below]}" if sum(below) else ""))
    return [f"{name}0 = {number(1.0)}", *lines]
