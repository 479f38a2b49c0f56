"""Verification of kernels of sweeps, and of maps to nodes, at some elements or targets.

Numbers that a kernel keeps for each element are read from there. Sums that it adds to the arrays of fields
are computed once more, by the same kernel, into arrays of zeros: other terms may have added to the originals.

Decisions 0118.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, ClassVar, Protocol

import numpy as np

from ...energies.term import Term
from ...engine import runtime, storage
from ...engine.kernels import BoundKernel, Code
from ...symbolic.scalar import Scalar
from ..derivative_request import TOTAL, Place, Sweep, outputs
from ..tracing import Trace
from .element_samples import Number, Places, at_rows, in_blocks_of
from .kernel_verification import compare, compare_plainly
from .node_sums import NodeNumber, at_nodes


class Swept(Protocol):
    """The loops of a term, after their code for a sweep was emitted and launched.

    `adds_up_elements`: the kernel stores sums over elements alone, and no derivative of a single element.
    """

    term: Term
    adds_up_elements: ClassVar[bool]

    def stored_values(self, place: Place, rows: np.ndarray) -> np.ndarray | None: ...

    def output(self, place: Place) -> str: ...

    def totals(self, places: Sequence[Place]) -> tuple[Sequence[range], np.ndarray]: ...


def verify_sweep(
    loops: Swept, sweep: Sweep, code: Code, t: float, tangents: Mapping[str, Any], plainly: bool
) -> None:
    """Compare the numbers of a sweep with its graphs; `plainly`: these with the energy's function, too.

    Raises `MiscompiledError` and `RangeError`.
    """
    term = loops.term
    if (places := rows_or_none(term, t, tangents)) is None:
        return
    if plainly and not term.outputs:
        compare_plainly(places, sweep.traced)
    rows = np.asarray(places.labels)
    kept = [place for place in sweep.places if place is not TOTAL]
    if loops.adds_up_elements:
        verify_node_sums(loops, sweep, rows, code, t, tangents)
        kept = [place for place in kept if place.is_summed]
    graphs = outputs(sweep.traced.value, kept, sweep.along)
    if kept:
        wanted, found = numbers_found(loops, list(zip(kept, graphs, strict=True)), rows, code, t)
        compare(places, wanted, found)
    if TOTAL in sweep.places:
        blocks, energies = loops.totals(sweep.places)
        compare(in_blocks_of(term, blocks, t), [Number.at(TOTAL, sweep.traced.value)], [energies])


def numbers_found(
    loops: Swept, places: Sequence[tuple[Place, Scalar]], rows: np.ndarray, code: Code, t: float
) -> tuple[list[Number], list[np.ndarray]]:
    """The numbers that a kernel computes at some rows, and their values: of places with their graphs."""
    wanted: list[Number] = []
    found: list[np.ndarray] = []
    others: list[tuple[Place, Scalar]] = []
    for place, graph in places:
        if (numbers := loops.stored_values(place, rows)) is not None:
            wanted.append(Number.at(place, graph))
            found.append(numbers)
        else:
            others.append((place, graph))
    if added := _by_output(loops, others):
        fresh = relaunch_kernel(code, {name for name, _ in added}, t)
        nodes = loops.term.elements.nodes[rows].reshape(len(rows), -1)
        for (name, component), summands in added.items():
            at = nodes[:, summands[0][0].slot]
            wanted.append(Number.at(summands[0][0], reduce(add, (graph for _, graph in summands))))
            found.append(storage.host(fresh[name])[(at, *component)])
    return wanted, found


def verify_node_sums(
    loops: Swept, sweep: Sweep, rows: np.ndarray, code: Code, t: float, tangents: Mapping[str, Any]
) -> None:
    """Compare what a sweep adds to the fields with sums of its graphs over the elements at some nodes.

    Raises `MiscompiledError` and `RangeError`.
    """
    nodal = [place for place in sweep.places if not place.is_summed]
    graphs = outputs(sweep.traced.value, nodal, sweep.along)
    if not (added := _by_output(loops, list(zip(nodal, graphs, strict=True)))):
        return
    places = at_nodes(loops.term, rows, t, tangents)
    fresh = relaunch_kernel(code, {name for name, _ in added}, t)
    found = [storage.host(fresh[name])[(places.labels, *component)] for name, component in added]
    compare(places, [NodeNumber.of(summands) for summands in added.values()], found)


def _by_output(
    loops: Swept, places: Sequence[tuple[Place, Scalar]]
) -> dict[tuple[str, tuple[int, ...]], list[tuple[Place, Scalar]]]:
    """Places with their graphs, by the array and component that they are added to.

    Several arguments may be bound to one field.
    """
    added: dict[tuple[str, tuple[int, ...]], list[tuple[Place, Scalar]]] = {}
    for place, graph in places:
        added.setdefault((loops.output(place), place.component), []).append((place, graph))
    return added


def rows_or_none(term: Term, t: float, tangents: Mapping[str, Any]) -> Places | None:
    """Some elements or targets; None if there are none, or the sources of a target are not known."""
    try:
        return at_rows(term, t, tangents) if term.elements.rows else None
    except NotImplementedError:
        return None


def relaunch_kernel(code: Code, names: set[str], t: float) -> dict[str, Any]:
    """The arrays of these names, from zeros, after a launch of the same kernel on them.

    Where a larger kernel has run the code, and nothing else wrote them, those that it has filled.
    """
    if names <= code.alone:
        return {name: code.arrays[name] for name in names}
    fresh = {name: storage.allocate(np.zeros_like(storage.host(code.arrays[name]))) for name in names}
    BoundKernel(code.naming(**fresh), "t")(t)
    runtime.sync()
    return fresh


def verify_map(
    term: Term,
    traced: Trace,
    wanted: Sequence[Number],
    found: Sequence[np.ndarray],
    t: float,
    tangents: Mapping[str, Any],
) -> None:
    """Compare the outputs of a map to nodes, `wanted`, with their graphs, or with those of their tangents.

    `found`: of each the numbers of all elements, or of all targets.
    """
    if (places := rows_or_none(term, t, tangents)) is None:
        return
    compare_plainly(places, traced)
    rows = np.asarray(places.labels)
    compare(places, wanted, [one[rows] for one in found])


def verify_sums(
    term: Term,
    traced: Trace,
    wanted: Sequence[Number],
    blocks: Sequence[range],
    found: Sequence[np.ndarray],
    t: float,
    tangents: Mapping[str, Any],
) -> None:
    """Compare the outputs of a map to one node, `wanted`, with their graphs, or with those of their tangents.

    `found`: of each the sums over some blocks of elements.
    """
    compare_plainly(at_rows(term, t, tangents), traced)
    compare(in_blocks_of(term, blocks, t, tangents), wanted, found)
