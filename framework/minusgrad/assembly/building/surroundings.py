"""The surroundings of a scene's bodies for pictures: obstacles, loads and supports, as facts of a checkpoint.

    shapes      of [term, kind, numbers]        obstacles, from `looks` of energies
    loads       of [term, kind, numbers, unit, elements, nodes]
    supports    of [name, nodes, axes, moves]   held components of positions; axes None: all

Numbers are those of the start, in the run's units. Of elements and held nodes at most `MOST` are kept, spread
evenly, which is more than a picture can show.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...energies.fields import Hold
from ...energies.roles import Parameter
from ...energies.term import Term
from ...errors import EnergyError
from ...scene.shapes import LOADS, Force, Shape, table
from ...scene.units import UnitSystem

MOST = 400
_UNITS = {"acceleration": "m s^-2", "pressure": "Pa"}


def surroundings(terms: Iterable[Any], holds: Iterable[Hold], units: UnitSystem) -> dict[str, Any]:
    """The surroundings that terms and holds make, JSON-able. Raises `EnergyError` where `looks` fails."""
    found: dict[str, Any] = {"shapes": [], "loads": [], "supports": [_support(hold) for hold in holds]}
    for term in terms:
        if not isinstance(term, Term) or term.energy.looks is None:
            continue
        for shape in _shapes(term):
            try:
                saved = {"term": term.name, **table(shape)}
            except EnergyError as error:
                raise EnergyError(f"{term.name}: {error}") from None
            if isinstance(shape, LOADS):
                found["loads"].append(saved | _load(term, saved, units))
            else:
                found["shapes"].append(saved)
    return found


def _shapes(term: Term) -> list[Shape]:
    """The shapes of one term; of values that differ between its elements only forces can be drawn."""
    looks, given = term.energy.looks, _asked(term)
    assert looks is not None
    try:
        shapes = list(looks(**given))
    except Exception as error:
        raise EnergyError(f"{term.name}: looks fails: {type(error).__name__}: {error}") from error
    varied = any(values.index is not None for values in term.parameters.values())
    return [one for one in shapes if not varied or isinstance(one, Force)]


def _asked(term: Term) -> Mapping[str, Any]:
    """The values that `looks` takes: of one shape for all elements, or one for each."""
    values: dict[str, Any] = {
        name: v.rows[0][()] if v.index is None else v.rows[v.index] for name, v in term.parameters.items()
    }
    looks = term.energy.looks
    assert looks is not None
    values["d"] = term.dimension
    return {name: values[name] for name in inspect.signature(looks).parameters}


def _load(term: Term, saved: Mapping[str, Any], units: UnitSystem) -> dict[str, Any]:
    """The unit, the elements and the nodes of a load."""
    kind, elements = saved["kind"], _rows(term)
    if kind == "acceleration":
        return {"unit": units.symbol(_UNITS[kind]), "elements": []}
    kept = _spread(len(elements))
    of_one = {}
    if kind == "force" and np.ndim(saved["vector"]) == 2:
        of_one = {"vector": [saved["vector"][k] for k in kept]}
    return {"unit": units.symbol(_unit(term, kind)), "elements": elements[kept].tolist(), **of_one}


def _unit(term: Term, kind: str) -> str:
    """The unit of a force: that of the only parameter with axes of space."""
    if kind in _UNITS:
        return _UNITS[kind]
    vectors = [role.unit for role in term.energy.of_role(Parameter).values() if role.shape == ("d",)]
    return vectors[0] if len(vectors) == 1 else "N"


def _rows(term: Term) -> np.ndarray:
    """The nodes of each element, (E, k)."""
    if term.energy.listed:
        return np.asarray(term.elements.nodes)
    return np.asarray(term.members("x") if "x" in term.fields else term.elements.members)[:, None]


def _support(hold: Hold) -> dict[str, Any]:
    moves = bool(np.any(hold.displacement) or np.any(hold.velocity) or hold.rotation is not None)
    nodes = np.asarray(hold.nodes)
    return {
        "name": hold.name,
        "field": hold.field,
        "nodes": nodes[_spread(len(nodes))].tolist(),
        "axes": None if hold.axes is None else list(hold.axes),
        "moves": moves,
    }


def _spread(count: int) -> np.ndarray:
    return (
        np.unique(np.linspace(0, count - 1, min(count, MOST)).round().astype(int)) if count else np.arange(0)
    )
