"""Verification of compiled kernels against NumPy: once for each, after its first launch.

A compiler may translate the value itself wrongly, which no check of a gradient against values detects. The
numbers of a kernel for some elements are compared with the traced graph evaluated by NumPy, and the graph's
energy with the function run as plain Python. Numbers that are not finite are not compared. The tolerance for
rounding comes from evaluating the graph again with arguments perturbed by an eps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

import numpy as np

from ..energies.local_energy import Datum, Node, Time
from ..energies.term import Term
from ..engine import runtime, storage
from ..errors import MiscompiledError
from ..symbolic.graph import inputs
from ..symbolic.numpy_values import numbers
from ..symbolic.scalar import Scalar
from .derivative_request import DerivativeRequest, Place
from .statements import is_tangent
from .tracing import Trace

SAMPLES = 8
"""How many elements are compared; of a loop over targets two targets with all their sources."""
ROOM = {"float32": 1e-2, "float64": 1e-6}
"""Tolerance relative to the largest numbers; a wrong kernel is off by about all of them."""
CONDITION = 1e3
"""Tolerance in multiples of the change that arguments perturbed by an eps make."""
DRAWS = (1, 16) * 6
"""Perturbations of the arguments, in eps, one after another: rounding within a function may be larger."""


@dataclass(frozen=True)
class Number:
    """A number that a kernel computes for each row; `once`: its sum takes each element at one row only."""

    name: str
    graph: Scalar
    once: bool = False

    @classmethod
    def at(cls, place: Place, graph: Scalar) -> "Number":
        """The number at a place of a sweep."""
        what = {"value": "u", "d": f"du/d{place.argument}", "dd": f"the change of du/d{place.argument}"}
        return cls(what[place.order], graph, once=place.summed)


@dataclass(frozen=True)
class Sample:
    """Some elements of a term, or those of one target: their rows, and the nodes in each slot."""

    term: Term
    rows: np.ndarray
    nodes: Sequence[np.ndarray]
    t: float
    tangents: Mapping[str, Any] = field(default_factory=dict)

    def leaf(self, leaf: Scalar) -> np.ndarray:
        """The value of a leaf for each element."""
        argument, slot, component = leaf.value[:3]
        role, term = self.term.energy.roles[argument], self.term
        if isinstance(role, Node):
            array = self.tangents[argument] if is_tangent(leaf) else term.fields[argument].array
            found = storage.host(array)[(self.nodes[slot], *component)]
        elif isinstance(role, Time):
            found = np.asarray(self.tangents[argument] if is_tangent(leaf) else self.t)
        elif isinstance(role, Datum):
            array = storage.host(term.data[argument])
            found = self._moved(leaf, array)[(self.rows, *component)]
        else:
            values = term.parameters[argument]
            rows = np.zeros_like(self.rows) if values.index is None else values.index[self.rows]
            found = self._moved(leaf, values.rows)[(rows, *component)]
        return np.broadcast_to(np.asarray(found, np.float64), self.rows.shape)

    def _moved(self, leaf: Scalar, array: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.tangents[leaf.value[0]], array.shape) if is_tangent(leaf) else array

    def known(self) -> dict[int, np.ndarray]:
        """The values of inner nodes of the graph (by serial) that kernels have stored."""
        return {}

    def numbers(self, wanted: Sequence[Scalar], dtype: np.dtype) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The graphs' numbers for each element, and how far they move when arguments are perturbed by an eps.

        Signs are random, and the largest of several draws counts, because one draw may miss a tie. The moves
        by larger perturbations are divided by their size.
        """
        rng, eps = np.random.default_rng(0), float(np.finfo(dtype).eps)
        leaves = {leaf.serial: (self.leaf(leaf), leaf.integer) for leaf in inputs(list(wanted))}

        def drawn(off: float) -> list[np.ndarray]:
            near = {
                serial: values if whole else values * (1.0 + off * rng.choice([-1.0, 1.0], values.shape))
                for serial, (values, whole) in leaves.items()
            }
            found = numbers(wanted, {**near, **self.known()}, self.term.tables, dtype.type)
            return [np.broadcast_to(one, self.rows.shape) for one in found]

        exact, moved = drawn(0.0), [np.zeros(len(self.rows)) for _ in wanted]
        for step in DRAWS:
            moved = [
                np.maximum(far, np.abs(near - one) / step)
                for far, near, one in zip(moved, drawn(step * eps), exact, strict=True)
            ]
        return zip(exact, moved, strict=True)


def aside(wanted: DerivativeRequest) -> DerivativeRequest:
    """The same request with new arrays of zeros, because other terms may have added to the original ones."""
    gradient, product = (
        {a: storage.allocate(np.zeros_like(storage.host(array))) for a, array in arrays.items()}
        for arrays in (wanted.gradient, wanted.product)
    )
    return replace(wanted, gradient=gradient, product=product)


def quiet(function: Callable[..., None]) -> Callable[..., None]:
    """The function without NumPy's warnings about infinities and NaN."""

    @wraps(function)
    def call(*arguments: Any) -> None:
        with np.errstate(all="ignore"):
            function(*arguments)

    return call


@quiet
def verify_numbers(
    term: Term,
    traced: Trace,
    wanted: Sequence[Number],
    left: Callable[[np.ndarray], Sequence[np.ndarray]],
    t: float,
    tangents: Mapping[str, Any],
) -> None:
    """Compare a kernel's numbers for some rows, `left(rows)`, with `wanted`. Raises `MiscompiledError`."""
    rows, room = sampled(term), ROOM[term.dtype.name]
    graphs = [number.graph for number in wanted]
    expected, allowed = np.zeros((2, len(wanted), len(rows)))
    if term.elements.loop.per_target:
        for k, target in enumerate(rows):
            tuples, counted = term.elements.of_row(target)
            some = Sample(term, np.full(len(tuples), target), list(tuples.T), t, tangents)
            for n, (exact, moved) in enumerate(some.numbers(graphs, term.dtype)):
                taken = counted if wanted[n].once else slice(None)
                expected[n, k] = exact[taken].sum()
                allowed[n, k] = room * np.abs(exact[taken]).sum() + CONDITION * moved[taken].sum()
        _compare_plainly(some, traced, [0, counted.sum() // 2])
    else:
        some = Sample(term, rows, list(term.elements.nodes[rows].T), t, tangents)
        for n, (exact, moved) in enumerate(some.numbers(graphs, term.dtype)):
            expected[n], allowed[n] = exact, room * np.abs(exact).max() + CONDITION * moved
        _compare_plainly(some, traced, [0, len(rows) - 1])
    compared(term, wanted, rows, left(rows), expected, allowed)


def compared(
    term: Term,
    wanted: Sequence[Number],
    rows: np.ndarray,
    left: Sequence[np.ndarray],
    expected: np.ndarray,
    allowed: np.ndarray,
) -> None:
    """Raise `MiscompiledError` for the first number of a kernel whose error exceeds the tolerance."""
    tiny = float(np.finfo(term.dtype).tiny)  # smaller ones may be zero
    for number, found, right, room in zip(wanted, left, expected, allowed, strict=True):
        finite = np.isfinite(found) & np.isfinite(right) & np.isfinite(room)
        if (wrong := finite & (np.abs(found - right) > room + tiny)).any():
            k = int(np.argmax(wrong))
            _raise(term, number.name, rows[k], found[k], right[k])


@quiet
def verify_sum(term: Term, traced: Trace, found: float, t: float) -> None:
    """Compare the sum of the energy over all elements with the sum that the graph gives."""
    nodes = term.elements.nodes
    every = Sample(term, np.arange(len(nodes)), list(nodes.T), t)
    ((exact, moved),) = every.numbers([traced.value], term.dtype)
    room = ROOM[term.dtype.name] * np.abs(exact).sum() + CONDITION * moved.sum()
    room += len(nodes) * float(np.finfo(term.dtype).tiny)
    what = [Number("u of it and of all before", traced.value)]
    compared(
        term,
        what,
        np.array([len(nodes) - 1]),
        [np.array([found])],
        np.array([[exact.sum()]]),
        np.array([[room]]),
    )


def sampled(term: Term) -> np.ndarray:
    """The rows that are compared: elements, or targets."""
    last = term.elements.rows - 1
    if term.elements.loop.per_target:
        return np.unique([last // 2 + 1, last])
    return np.unique(np.linspace(0, last, SAMPLES).astype(int))


def _compare_plainly(some: Sample, traced: Trace, chosen: Sequence[int]) -> None:
    """The graph of the energy against the function itself."""
    ((of_graph, moved),) = some.numbers([traced.value], np.dtype(np.float64))
    evaluate = some.term.energy.evaluator()
    for k in chosen:
        try:
            right = float(evaluate(some.term.arguments(some.rows[k], [n[k] for n in some.nodes], some.t)))
        except ArithmeticError:
            continue
        room = ROOM["float64"] * abs(right) + CONDITION * moved[k]
        if np.isfinite(right) and np.isfinite(room) and not abs(of_graph[k] - right) <= room:
            _raise(some.term, "u in the traced graph", some.rows[k], of_graph[k], right)


def _raise(term: Term, what: str, element: int, found: float, right: float) -> None:
    raise MiscompiledError(
        f"term '{term.name}', element {element}: {what} is {found:.9g} in the compiled kernel and {right:.9g}"
        f" by its function: engine '{runtime.engine_name()}' has translated it wrongly; set [runtime] engine"
        " to the other one, or fast_math = false, and please report it"
    )
