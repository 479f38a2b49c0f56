"""A term: an energy with its elements, and each argument bound to the array it is read from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import runtime
from .energy import Datum, LocalEnergy, Node, Parameter, Time, concrete
from .errors import EnergyError, UnitError
from .fields import Body, Field, Fields
from .interactions import Pairs, Tuples
from .units import UnitSystem, parse_unit


@dataclass
class Values:
    """A parameter's values: rows (R, *shape of one), and for each element its row (None: all have row 0)."""

    rows: np.ndarray
    index: np.ndarray | None = None


@dataclass
class Term:
    """One summand of the potential: U = sum over `elements` of `energy`."""

    name: str
    energy: LocalEnergy
    elements: Tuples | Pairs
    fields: dict[str, Field]
    data: dict[str, np.ndarray]
    parameters: dict[str, Values]
    dtype: np.dtype

    @property
    def dimension(self) -> int | None:
        """d: the components of the node fields that are vectors of space."""
        found = {
            self.fields[a].shape[1] for a, role in self.energy.of_role(Node).items() if "d" in role.shape
        }
        return found.pop() if found else None

    @property
    def uses_time(self) -> bool:
        """Whether the energy depends on the time explicitly."""
        return bool(self.energy.of_role(Time))


def bind(
    energy: LocalEnergy,
    fields: Fields,
    *,
    name: str | None = None,
    tuples: Sequence | np.ndarray | None = None,
    bodies: Sequence[Body] = (),
    renamed: Mapping[str, str] | None = None,
    data: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    units: UnitSystem | None = None,
) -> Term:
    """Bind an energy's arguments to the fields, data and parameter values of a scene.

    `bodies` limits it to some nodes (none: all). `renamed` gives a node field argument another field than
    the one of its own name. A parameter is one value, one for each of `bodies` (a mapping by body name), or
    one for each element (an array). Raises `EnergyError` naming the term and argument.
    """
    name = name or energy.name
    renamed, data, parameters = renamed or {}, data or {}, parameters or {}
    bound = {a: fields[renamed.get(a, a)] for a in energy.of_role(Node)}
    count = _common(name, {a: len(f) for a, f in bound.items()})
    nodes = np.concatenate([b.nodes for b in bodies]) if bodies else np.arange(count, dtype=np.int32)
    elements = _elements(name, energy, nodes, tuples, count)
    term = Term(name, energy, elements, bound, {}, {}, fields.dtype)
    d = _space(term)
    _check_units(term)
    for argument, role in energy.of_role(Datum).items():
        if argument not in data:
            raise EnergyError(f"{name}.{argument}: every element needs a value, none is given")
        shape = (elements.elements, *concrete(role.shape, d))
        dtype = np.dtype(np.int32) if role.integer else fields.dtype
        term.data[argument] = _shaped(f"{name}.{argument}", data[argument], shape, dtype)
    for argument, role in energy.of_role(Parameter).items():
        value = parameters[argument] if argument in parameters else _default(name, argument, role, units)
        term.parameters[argument] = _values(term, argument, role, value, bodies, concrete(role.shape, d))
    unknown = [a for a in (*data, *parameters) if a not in {**term.data, **term.parameters}]
    if unknown:
        raise EnergyError(f"{name}: no datum or parameter named {', '.join(unknown)}")
    return term


def _common(name: str, counts: Mapping[str, int]) -> int:
    if len(set(counts.values())) != 1:
        sizes = ", ".join(f"{a} has {n}" for a, n in counts.items())
        raise EnergyError(f"{name}: its node fields differ in length: {sizes}")
    return next(iter(counts.values()))


def _elements(name: str, energy: LocalEnergy, nodes: np.ndarray, tuples: Any, count: int) -> Tuples | Pairs:
    if energy.over == "pairs":
        if len(nodes) < 2:
            raise EnergyError(f"{name}: a pair needs two nodes, there is {len(nodes)}")
        return Pairs(nodes)
    if energy.over == "nodes":
        return Tuples(np.ascontiguousarray(nodes[:, None]))
    if tuples is None:
        raise EnergyError(f"{name}: needs `tuples`, a list of {energy.arity} nodes for each element")
    return Tuples.of(tuples, energy.arity, count, f"{name}.tuples")


def _space(term: Term) -> int | None:
    """Check the shapes of the node fields; returns the dimension of space."""
    d: int | None = None
    for argument, role in term.energy.of_role(Node).items():
        shape = term.fields[argument].shape[1:]
        if len(shape) == len(role.shape) and "d" in role.shape:
            d = d or shape[role.shape.index("d")]
        wanted = tuple(d if s == "d" else s for s in role.shape)
        if shape != wanted:
            shown = "a scalar" if not shape else f"of shape {list(shape)}"
            expected = "a scalar" if not role.shape else f"of shape {list(role.shape)}"
            raise EnergyError(
                f"{term.name}.{argument}: field '{term.fields[argument].name}' is {shown} at each node,"
                f" not {expected}"
            )
    return d


def _check_units(term: Term) -> None:
    """A field of another dimension than its argument is refused; a field without a unit is taken on trust."""
    for argument, role in term.energy.of_role(Node).items():
        field = term.fields[argument]
        if field.unit != "1" and parse_unit(field.unit).dimension != parse_unit(role.unit).dimension:
            raise EnergyError(
                f"{term.name}.{argument}: field '{field.name}' is in {field.unit}, not {role.unit}"
            )


def _shaped(what: str, value: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    array = np.asarray(value, dtype=dtype)
    if array.shape != shape:
        if array.shape != shape[1:]:
            raise EnergyError(
                f"{what}: has shape {list(array.shape)}, needs {list(shape)} or {list(shape[1:])}"
            )
        array = np.broadcast_to(array, shape)
    return runtime.allocate(array)


def _default(name: str, argument: str, role: Parameter, units: UnitSystem | None) -> float:
    if role.default is None:
        raise EnergyError(f"{name}.{argument}: has no default; give it a value [{role.unit}]")
    try:
        return (units or UnitSystem.si()).convert(role.default, role.unit)
    except UnitError as error:
        raise EnergyError(f"{name}.{argument}: its default cannot be used: {error}") from None


def _values(
    term: Term, argument: str, role: Parameter, value: Any, bodies: Sequence[Body], shape: tuple[int, ...]
) -> Values:
    what = f"{term.name}.{argument}"
    index = None
    if isinstance(value, Mapping):
        value, index = _by_body(what, term, value, bodies)
    rows = np.asarray(value, dtype=np.float64)
    if rows.shape == shape:
        rows = rows[None]
    elif index is None:
        if isinstance(term.elements, Pairs) or rows.shape != (term.elements.elements, *shape):
            raise EnergyError(f"{what}: has shape {list(rows.shape)}; one value has {list(shape)}")
        index = np.arange(len(rows), dtype=np.int32)
    low, high = role.bounds
    if not np.isfinite(rows).all() or (rows < low).any() or (rows > high).any():
        raise EnergyError(f"{what}: {value} is not within [{low:g}, {high:g}]")
    return Values(rows.astype(term.dtype), index)


def _by_body(what: str, term: Term, value: Mapping, bodies: Sequence[Body]) -> tuple[list, np.ndarray]:
    if isinstance(term.elements, Pairs):
        raise EnergyError(f"{what}: a pair may span two bodies; a value for each node is a Node field")
    missing = [b.name for b in bodies if b.name not in value]
    if missing or len(value) != len(bodies):
        raise EnergyError(f"{what}: needs a value for each of the bodies {', '.join(b.name for b in bodies)}")
    row_of_node = {int(n): row for row, b in enumerate(bodies) for n in b.nodes}
    index = np.array([row_of_node[int(n)] for n in term.elements.nodes[:, 0]], np.int32)
    return [value[b.name] for b in bodies], index
