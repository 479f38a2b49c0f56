"""Terms whose tuples change after they were bound: which there can be, and checks of new tuples and data."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..elements.changing_tuples import ChangingTuples
from ..elements.elements import Elements
from ..elements.node_tuples import NodeTuples
from ..engine import runtime
from ..errors import EnergyError, unknown
from .element_data import check_weights, datum
from .local_map import LocalMap
from .roles import Datum
from .term_spec import TermSpec

if TYPE_CHECKING:
    from .term import Term


def changing_tuples(spec: TermSpec, elements: Elements, periodic: bool) -> ChangingTuples:
    """The elements of a specification as tuples that change.

    Raises `EnergyError` where they cannot: where they are not listed, or other things follow from them.
    """
    refused = {
        "is a map, whose receivers follow from its tuples": isinstance(spec.energy, LocalMap),
        "has elements that are not listed": spec.tuples is None or type(elements) is not NodeTuples,
        "is limited to bodies": bool(spec.bodies),
        "is in a periodic box, whose images follow from its tuples": periodic,
        "is on a device": runtime.arch() != "cpu",
    }
    if found := [why for why, so in refused.items() if so]:
        raise EnergyError(f"{spec.label}: {found[0]}, got changing = True; leave `changing` out")
    return ChangingTuples(elements.nodes)


def checked_tuples(term: "Term", tuples: Any) -> np.ndarray:
    """New tuples of a term, (E, k), int32. Raises `EnergyError` with the first bad row."""
    what = f"{term.name}.tuples"
    nodes = NodeTuples.of(tuples, term.arity, None, what).nodes
    for argument, field in term.fields.items():
        own = list(term.slots(argument))
        if (outside := ((nodes[:, own] < 0) | (nodes[:, own] >= len(field))).any(axis=1)).any():
            row = int(np.argmax(outside))
            raise EnergyError(
                f"{what}: row {row} = {nodes[row].tolist()} names a node outside 0..{len(field) - 1} of"
                f" '{field.name}'; correct it"
            )
    return nodes


def checked_data(term: "Term", given: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
    """The data of `count` new tuples, by argument. Raises `EnergyError` for missing and unfit values."""
    roles, every = term.energy.of_role(Datum), np.ones(count, bool)
    if strange := [a for a in given if a not in roles]:
        raise EnergyError(f"{term.name}: {unknown('datum', strange[0], roles)}")
    found = {}
    for argument, role in roles.items():
        what = f"{term.name}.{argument}"
        if argument not in given:
            raise EnergyError(f"{what}: needs a value for each of the {count} new tuples, got none; give it")
        found[argument] = datum(what, role, given[argument], term.shape(argument), every, term.dtype)
    for made in term.energy.linear.values():
        check_weights(f"{term.name}.{made.weights}", term.arity, found[made.weights])
    return found


def refuse_in_runs(terms: Iterable[Any]) -> None:
    """Raise `EnergyError` for a term whose tuples change: no checkpoint would hold them."""
    for term in terms:
        if isinstance(getattr(term, "elements", None), ChangingTuples):
            raise EnergyError(
                f"{term.name}: its tuples change, which no checkpoint holds, so that a resumed run would lose"
                " them; bind it without `changing`, or step it from Python"
            )
