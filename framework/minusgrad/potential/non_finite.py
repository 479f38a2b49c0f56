"""Non-finite numbers: the first field, map output or force with a NaN or an infinity, and its node.

Decisions 0052.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..codegen.kept_traces import KEPT
from ..codegen.verification.element_samples import Sample
from ..energies.fields import Field
from ..energies.term import Term
from ..engine import storage
from ..errors import NonFiniteError, NonFiniteStartError
from ..symbolic.graph import reachable
from .requests.term_request import targets_of
from .staged.staged_map_kernels import StagedMapKernels
from .staged.staged_term import StagedTerm
from .term_kernels import TermKernels

TOUCHING = 1e-12
"""Parts of the largest coordinate below which two nodes are in one place: rounding by images of the box."""

ON_A_LINE = "as a torsion of nodes on a line: leave it out, or displace a node"
"""The end of a message that no smaller time step cures."""


def first_non_finite_node(values: np.ndarray) -> int | None:
    """The first row of `values`, (n, ...), with a NaN or an infinity; None if all are finite."""
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    return None if finite.all() else int(np.argmin(finite))


def refuse_non_finite(
    fields: Sequence[Field], where: str, error: type[NonFiniteError] = NonFiniteError
) -> None:
    """Raise an `error`, whose text `where` begins, for the first field that is not finite."""
    if found := non_finite_field(fields):
        raise error(f"{where}: {found}")


def refuse_distant(positions: Field, where: str) -> None:
    """Raise `NonFiniteStartError` for positions so far out that the squares of distances are not finite."""
    x = positions.values
    if x.ndim != 2 or x.shape[1] < 2:
        return
    with np.errstate(over="ignore"):
        node = first_non_finite_node((x * x).sum(axis=1))
    if node is not None:
        most, size = np.finfo(x.dtype).max, np.abs(x[node]).max()
        raise NonFiniteStartError(
            f"{where}: field '{positions.name}', node {node}: has a coordinate {size:.3g}, whose square is"
            f" beyond the largest number of its precision, {most:.2g}; move it, or use a larger unit"
        )


def non_finite_field(fields: Iterable[Field], what: str = "field") -> str | None:
    """The first field that is not finite, and its node, as a text; None if all are finite."""
    for field in fields:
        if (node := first_non_finite_node(field.values)) is not None:
            return f"{what} '{field.name}', node {node} is not finite"
    return None


def non_finite_force(
    name: str,
    part: Term | StagedTerm,
    kernels: TermKernels | StagedTerm | StagedMapKernels,
    fields: Iterable[Field],
    t: float,
) -> str | None:
    """The first of `fields` on which this term's force is not finite, and its node; None if all are finite.

    Of a map, the force is that of its local energy, adjoint . output.
    """
    for field in fields:
        out: Any = storage.allocate(np.zeros_like(field.values))
        if targets := targets_of(part, {field.name: out}):
            kernels.gradient_into(targets, t)
        if (node := first_non_finite_node(storage.host(out))) is not None:
            found = f"term '{name}', node {node}: its force on '{field.name}' is not finite"
            if not isinstance(part, Term):
                return found
            causes = (
                _inverted_element_text(part, field, node),
                _without_minimum(part, node, t),
                _without_direction(part, node, t),
            )
            return found + next(filter(None, causes), _in_one_place(part, field, node))
    return None


def _inverted_element_text(term: Term, x: Field, node: int) -> str:
    """The end of a message: the worst element at this node whose F = sum x_a (x) w_a does not preserve
    orientation, if there is one."""
    for made in term.energy.shaping:
        if term.fields[made.field] is not x or term.box is not None:
            continue
        nodes = term.elements.nodes
        chosen = np.flatnonzero((nodes == node).any(axis=1))
        places = x.values.astype(np.float64)[nodes[chosen]]
        weights = storage.host(term.data[made.weights])[chosen].astype(np.float64)
        det = np.linalg.det(np.einsum("eai,eaj->eij", places - places[:, :1], weights))
        if len(det) and det.min() <= 0.0:
            worst = int(np.argmin(det))
            return (
                f"; its element {chosen[worst]} is inverted, det F = {det[worst]:.3g}: take smaller steps of"
                " load or time, or an energy that is finite there"
            )
    return ""


def _without_minimum(term: Term, node: int, t: float) -> str:
    """The end of a message: an element at this node whose `least_value` is NaN, if there is one."""
    graph = KEPT.of_term(term, "value").value
    if not any(one.op == "fixed" for one in reachable([graph])):
        return ""
    chosen = np.flatnonzero((term.elements.nodes == node).any(axis=1))
    (values,) = Sample.of_elements(term, chosen, t).exact([graph])
    lost = chosen[~np.isfinite(values)]
    return (
        f"; its element {lost[0]} has no least energy over its unknown (a plate: no stretch across at which"
        " the stress across is zero): take smaller steps of load or time, or another material"
        if len(lost)
        else ""
    )


def _without_direction(term: Term, node: int, t: float) -> str:
    """The end of a message: an element at this node with atan2(0, 0), such as a torsion on a line."""
    if term.elements.loop.per_target:
        return ""
    found = reachable([KEPT.of_term(term, "value").value])
    pairs = [one.args for one in found if one.op == "atan2"]
    chosen = np.flatnonzero((term.elements.nodes == node).any(axis=1))
    if not pairs or not len(chosen):
        return ""
    values = Sample.of_elements(term, chosen, t).exact([arg for pair in pairs for arg in pair])
    squares = np.square(values).reshape(len(pairs), 2, -1).sum(axis=1)
    lost = chosen[(squares == 0.0).any(axis=0)]
    return f"; its element {lost[0]} has an angle of vectors without length, {ON_A_LINE}" if len(lost) else ""


def _in_one_place(term: Term, x: Field, node: int) -> str:
    """The end of a message: another node at the very place of this one, if there is one among the elements.

    Images in a periodic box count.
    """
    if term.arity < 2 or len(x.shape) != 2:
        return ""
    apart = x.values.astype(np.float64) - x.values[node].astype(np.float64)
    box = term.box.values[0].astype(np.float64) if term.box is not None and x.places else None
    if box is not None and box.shape[1:] == x.shape[1:]:
        turns = np.round(apart @ np.linalg.inv(box))
        apart = apart - turns @ box
    same = np.flatnonzero(np.abs(apart).max(axis=1) <= TOUCHING * np.abs(x.values).max())
    others = same[same != node]
    return f"; node {others[0]} is in the same place, move one of them" if len(others) else ""
