"""A term: an energy with its elements, and each argument bound to the array it is read from."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..elements.elements import Pairs, Tuples
from ..engine import lane_blocks, storage
from ..errors import EnergyError, UnitError
from ..scene.units import UnitSystem, parse_unit
from .fields import Body, Field, Fields, Grid
from .local_energy import (
    Datum,
    LocalEnergy,
    Node,
    Parameter,
    Role,
    Table,
    Time,
    check_exchange,
    concrete,
    identifier,
)
from .local_map import LocalMap


@dataclass
class Values:
    """A parameter's values: rows (R, *shape of one), and for each element its row (None: all have row 0)."""

    rows: np.ndarray
    index: np.ndarray | None = None


@dataclass
class Term:
    """One summand of the potential, U = sum over `elements` of `energy`; or of a field that a map `gives`."""

    name: str
    energy: LocalEnergy
    elements: Tuples | Pairs
    fields: dict[str, Field]
    data: dict[str, np.ndarray]
    parameters: dict[str, Values]
    dtype: np.dtype
    tables: dict[str, np.ndarray] = field(default_factory=dict)
    gives: Field | None = None
    grid: Grid | None = None
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    """The arrays of parameters' values, and of data in blocks, for all potentials that the term stands in."""

    @property
    def dimension(self) -> int | None:
        """d: the components of node fields that are vectors of space; without any, of data that are."""
        shapes = {a: f.shape for a, f in self.fields.items()} | {a: v.shape for a, v in self.data.items()}
        roles = {a: self.energy.roles[a].shape for a in shapes}
        return next((shapes[a][1 + role.index("d")] for a, role in roles.items() if "d" in role), None)

    @property
    def arity(self) -> int:
        """k: the nodes of one element."""
        return 2 if isinstance(self.elements, Pairs) else self.elements.nodes.shape[1]

    def shape(self, argument: str) -> tuple[int, ...]:
        """Of one value of a datum, a parameter, or of what is Linear in a field."""
        if argument in self.energy.linear:
            made = self.energy.linear[argument]
            return (*self.fields[made.field].shape[1:], *self.shape(made.weights)[1:])
        return concrete(self.energy.roles[argument].shape, self.dimension, self.arity)

    def set_datum(self, argument: str, values: Any) -> None:
        """Give the elements other values of a datum, of the same shape."""
        array = self.data[argument]
        held = np.broadcast_to(np.asarray(values, storage.host(array).dtype), array.shape)
        storage.store(array, held)
        if (copy := self.shared.get(in_blocks(argument))) is not None:
            lane_blocks.store(copy, held)

    def arguments(self, element: int, nodes: Sequence[int], t: float) -> dict[str, Any]:
        """The arguments of one element, as its function receives them; the numbers of nodes in f64."""
        fields = {a: [f.values[n].astype(np.float64) for n in nodes] for a, f in self.fields.items()}
        data = {a: storage.host(v)[element] for a, v in self.data.items()}
        parameters = {
            a: v.rows[0 if v.index is None else v.index[element]] for a, v in self.parameters.items()
        }
        return fields | data | parameters | dict.fromkeys(self.energy.of_role(Time), t) | self.tables

    def twin(self, fields: Fields) -> "Term":
        """The same term over other fields of the same names; data and parameters copied as they are now."""
        return replace(
            self,
            fields={a: fields[f.name] for a, f in self.fields.items()},
            data={a: storage.allocate(storage.host(v).copy()) for a, v in self.data.items()},
            parameters={a: Values(v.rows.copy(), v.index) for a, v in self.parameters.items()},
            gives=fields[self.gives.name] if self.gives else None,
            shared={},
        )

    @property
    def uses_time(self) -> bool:
        """Whether the energy depends on the time explicitly."""
        return bool(self.energy.of_role(Time))


def in_blocks(argument: str) -> str:
    """The name of a datum's copy in blocks of lanes."""
    return f"blocks_of_{argument}"


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
    tables: Mapping[str, Any] | None = None,
    gives: str | None = None,
    grid: Grid | None = None,
    units: UnitSystem | None = None,
) -> Term:
    """Bind an energy's (or a map's) arguments to the fields, data and parameter values of a scene.

    `bodies` limits it to their nodes, and to the tuples that lie wholly in them (none: all). `renamed` gives
    a node field argument another field than the one of its own name. A parameter is one value, one for each
    of `bodies` (a mapping by body name), or one for each element (an array). `tables` by argument. What a map
    gives is called `gives` (default: as it was declared); `grid`: the cells it gives to. Raises `EnergyError`
    naming the term and argument.
    """
    name = identifier(name or energy.name, "a term")
    renamed, data, parameters = renamed or {}, data or {}, parameters or {}
    refuse_strange(name, renamed, energy.of_role(Node))
    grid, parameters = _gridded(name, energy, grid, parameters)
    bound = {a: fields[renamed.get(a, a)] for a in energy.of_role(Node)}
    count = _common(name, {a: len(f) for a, f in bound.items()})
    nodes = _nodes(name, bodies, count)
    elements, kept = _elements(name, energy, nodes, tuples, count)
    term = Term(name, energy, elements, bound, {}, {}, fields.dtype, grid=grid)
    _check_space(term)
    _check_units(term)
    _check_bounds(term, fields.derived)
    for argument, role in energy.of_role(Datum).items():
        if argument not in data:
            raise EnergyError(f"{name}.{argument}: every element needs a value, none is given")
        d = term.dimension or _told(role, data[argument])
        shape = (len(kept), *concrete(role.shape, d, term.arity))
        dtype = np.dtype(np.int32) if role.integer else fields.dtype
        values = _shaped(f"{name}.{argument}", data[argument], shape, dtype)
        term.data[argument] = storage.allocate(values[kept])
    for argument, role in energy.of_role(Parameter).items():
        value = (
            parameters[argument] if argument in parameters else default_of(f"{name}.{argument}", role, units)
        )
        shape = concrete(role.shape, term.dimension)
        term.parameters[argument] = _values(term, argument, role, value, bodies, kept, shape)
    if unknown := [a for a in (*data, *parameters) if a not in {**term.data, **term.parameters}]:
        raise EnergyError(f"{name}: no datum or parameter named {', '.join(unknown)}")
    if unknown := [a for a in tables or {} if a not in energy.of_role(Table)]:
        raise EnergyError(f"{name}: no table named {', '.join(unknown)}")
    for made in energy.linear.values():
        _check_weights(term, made.weights)
    for argument, role in energy.of_role(Table).items():
        term.tables[argument] = _table(f"{name}.{argument}", role, (tables or {}).get(argument), fields.dtype)
    if isinstance(energy, LocalMap):
        receivers = len(grid) if grid else count
        term.gives = fields.derive(identifier(gives or energy.gives, "a field"), receivers, energy.unit)
    elif gives is not None:
        raise EnergyError(f"{name}: is no map, and gives no field '{gives}'")
    elif isinstance(elements, Pairs):
        _check_exchange_here(term)
    return term


def refuse_strange(name: str, renamed: Mapping[str, str], nodal: Mapping[str, Any]) -> None:
    """Raises `EnergyError` where something else than a node field argument is given a field."""
    if strange := [a for a in renamed if a not in nodal]:
        there = ", ".join(nodal)
        raise EnergyError(
            f"{name}: has no node field '{strange[0]}' to give '{renamed[strange[0]]}' (it has: {there})"
        )


def _gridded(
    name: str, energy: LocalEnergy, grid: Grid | None, parameters: Mapping[str, Any]
) -> tuple[Grid | None, Mapping[str, Any]]:
    """The grid that a map gives to, if it gives to cells, and its spacing among the parameters."""
    if not isinstance(energy, LocalMap) or energy.cell is None:
        if grid is not None:
            raise EnergyError(f"{name}: gives nothing to cells; leave the grid out")
        return None, parameters
    if grid is None:
        raise EnergyError(f"{name}: gives to the cells of a grid, and there is none")
    if energy.spacing in parameters:
        raise EnergyError(f"{name}.{energy.spacing}: is the grid's spacing; leave it out")
    return grid, {**parameters, energy.spacing: grid.spacing} if energy.spacing else parameters


def _table(what: str, role: Table, numbers: Any, dtype: np.dtype) -> np.ndarray:
    if numbers is None:
        raise EnergyError(f"{what}: needs a table of numbers, none is given")
    table = np.asarray(numbers)
    with np.errstate(over="ignore"):
        held = table.astype(dtype) if table.dtype.kind in "iuf" else None
    if held is None or not np.isfinite(held).all():
        raise EnergyError(f"{what}: needs finite numbers")
    if table.ndim != role.axes or not table.size:
        raise EnergyError(
            f"{what}: has shape {list(table.shape)}; it needs {role.axes} axes, none of them empty"
        )
    return held


def _told(role: Datum, given: Any) -> int | None:
    """The dimension of space that a datum's values tell by their shape."""
    shape = np.shape(given)
    if "d" not in role.shape or len(shape) < len(role.shape):
        return None
    return shape[role.shape.index("d") - len(role.shape)]


def _nodes(name: str, bodies: Sequence[Body], count: int) -> np.ndarray:
    """The nodes of the bodies, or all.

    Raises `EnergyError` for a node that the fields do not have, or that two bodies name: kernels do not look.
    """
    if not bodies:
        return np.arange(count, dtype=np.int32)
    nodes = np.concatenate([b.nodes for b in bodies])
    if (outside := nodes[(nodes < 0) | (nodes >= count)]).size:
        raise EnergyError(f"{name}: no node {outside[0]}; its fields have {count} nodes")
    found, times = np.unique(nodes, return_counts=True)
    if (times > 1).any():
        names = ", ".join(b.name for b in bodies)
        raise EnergyError(
            f"{name}: node {found[times > 1][0]} is in two of the bodies {names}; name each node once"
        )
    return nodes


def _check_weights(term: Term, argument: str) -> None:
    """Weights of an element sum to zero: only then is what they make blind to a motion of the whole."""
    if term.arity == 1:
        raise EnergyError(f"{term.name}.{argument}: one node alone has no weights that sum to zero, but zero")
    weights = storage.host(term.data[argument]).astype(np.float64)
    weights = weights.reshape(*weights.shape[:2], -1)
    left, size = np.abs(weights.sum(axis=1)).max(axis=1), np.abs(weights).max(axis=(1, 2))
    if (off := left > 100.0 * np.finfo(term.dtype).eps * size).any():
        e = int(np.argmax(off))
        raise EnergyError(
            f"{term.name}.{argument}: the weights of element {e} sum to {left[e]:g}, and not to zero: what"
            " they make would change when the whole element is moved"
        )


def _check_exchange_here(term: Term) -> None:
    """The state's own pairs, a few of them, do not change when their nodes are exchanged."""
    rng, nodes = np.random.default_rng(0), term.elements.nodes
    parameters = {a: v.rows[0].astype(np.float64) for a, v in term.parameters.items()}
    for _ in range(16):
        chosen = rng.choice(nodes, 2, replace=False)
        fields = {a: [f.values[n].astype(np.float64) for n in chosen] for a, f in term.fields.items()}
        check_exchange(term.energy, fields | parameters | dict.fromkeys(term.energy.of_role(Time), 0.0))


def _common(name: str, counts: Mapping[str, int]) -> int:
    if len(set(counts.values())) != 1:
        sizes = ", ".join(f"{a} has {n}" for a, n in counts.items())
        raise EnergyError(f"{name}: its node fields differ in length: {sizes}")
    return next(iter(counts.values()))


def _elements(
    name: str, energy: LocalEnergy, nodes: np.ndarray, tuples: Any, count: int
) -> tuple[Tuples | Pairs, np.ndarray]:
    """The elements, and which of those given they are: tuples that leave the bodies do not take part."""
    every = np.ones(len(nodes), bool)
    if energy.over == "pairs":
        if len(nodes) < 2:
            raise EnergyError(f"{name}: a pair needs two nodes, there is {len(nodes)}")
        return Pairs(nodes), every
    if energy.over == "nodes":
        return Tuples(np.ascontiguousarray(nodes[:, None])), every
    arity = energy.over if isinstance(energy.over, int) else None
    if tuples is None:
        many = f"{arity} nodes in each" if arity else "as many nodes in each"
        raise EnergyError(f"{name}: needs its elements, e.g. tuples = [{list(range(arity or 3))}], {many}")
    rows = Tuples.of(tuples, arity, count, f"{name}.tuples").nodes
    kept = np.asarray(np.isin(rows, nodes).all(axis=1))
    if not kept.any():
        raise EnergyError(f"{name}: none of its {len(rows)} tuples lies in the bodies it is limited to")
    return Tuples(np.ascontiguousarray(rows[kept])), kept


def _check_space(term: Term) -> None:
    """The node fields have the shapes of their roles, with one dimension of space."""
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


def _check_units(term: Term) -> None:
    """A field of another dimension than its argument is refused; a field without a unit is taken on trust."""
    for argument, role in term.energy.of_role(Node).items():
        check_unit(f"{term.name}.{argument}", term.fields[argument], role)


def check_unit(what: str, field: Field, role: Role) -> None:
    """Raises `EnergyError` for a field of another dimension than its role."""
    if field.unit != "1" and parse_unit(field.unit).dimension != parse_unit(role.unit).dimension:
        raise EnergyError(f"{what}: field '{field.name}' is in {field.unit}, not {role.unit}")


def _check_bounds(term: Term, derived: Set[str]) -> None:
    """The fields start within the bounds of their roles; what maps give is not made yet."""
    nodes = np.flatnonzero(np.bincount(term.elements.nodes.ravel()))
    for argument, role in term.energy.of_role(Node).items():
        if term.fields[argument].name in derived:
            continue
        values = term.fields[argument].values[nodes]
        if np.isfinite(values).all() and not role.admits(values):
            flat = values.reshape(len(values), -1)
            first = next(k for k, row in enumerate(flat) if not role.admits(row))
            shown = flat[first].tolist() if flat.shape[1] > 1 else f"{flat[first, 0]:g}"
            raise EnergyError(
                f"{term.name}.{argument}: field '{term.fields[argument].name}' is {shown} at node"
                f" {nodes[first]}, not {role.limits()}"
            )


def _shaped(what: str, value: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    given = np.asarray(value)
    if given.dtype.kind not in "iuf" or not np.isfinite(given).all():
        raise EnergyError(f"{what}: needs finite numbers")
    with np.errstate(invalid="ignore", over="ignore"):
        array = given.astype(dtype)
    if dtype.kind == "i" and (array != given).any():
        raise EnergyError(f"{what}: needs whole numbers below 2^31, not {given[array != given].flat[0]}")
    if array.shape != shape:
        if array.shape != shape[1:]:
            raise EnergyError(
                f"{what}: has shape {list(array.shape)}, needs {list(shape)} or {list(shape[1:])}"
            )
        array = np.broadcast_to(array, shape)
    return array


def default_of(what: str, role: Role, units: UnitSystem | None) -> float:
    """A parameter's default in the run's units. Raises `EnergyError` where there is none that can be used."""
    if not isinstance(role, Parameter) or role.default is None:
        raise EnergyError(f"{what}: has no default; give it a value [{role.unit}]")
    try:
        return (units or UnitSystem.si()).convert(role.default, role.unit)
    except UnitError as error:
        raise EnergyError(f"{what}: its default cannot be used: {error}") from None


def _values(
    term: Term,
    argument: str,
    role: Parameter,
    value: Any,
    bodies: Sequence[Body],
    kept: np.ndarray,
    shape: tuple[int, ...],
) -> Values:
    what = f"{term.name}.{argument}"
    index = None
    if isinstance(value, Mapping):
        value, index = _by_body(what, term, value, bodies)
    rows = np.asarray(value, dtype=np.float64)
    if rows.shape == shape:
        rows = rows[None]
    elif index is None:
        if isinstance(term.elements, Pairs) or rows.shape != (len(kept), *shape):
            raise EnergyError(f"{what}: has shape {list(rows.shape)}; one value has {list(shape)}")
        rows = rows[kept]
        index = np.arange(len(rows), dtype=np.int32)
    if not role.admits(rows):
        raise EnergyError(f"{what}: {value} is not {role.limits()}")
    return Values(rows.astype(term.dtype), index)


def _by_body(what: str, term: Term, value: Mapping, bodies: Sequence[Body]) -> tuple[list, np.ndarray]:
    if isinstance(term.elements, Pairs):
        raise EnergyError(f"{what}: a pair may span two bodies; a value for each node is a Node field")
    if {b.name for b in bodies} != set(value):
        names = ", ".join(b.name for b in bodies) or "none: say which `body`"
        raise EnergyError(f"{what}: has values for {', '.join(value)}; the term's bodies are {names}")
    row_of_node = np.full(len(next(iter(term.fields.values()))), -1)
    for row, body in enumerate(bodies):
        row_of_node[body.nodes] = row
    rows = row_of_node[term.elements.nodes]
    if (spans := (rows != rows[:, :1]).any(axis=1)).any():
        nodes = term.elements.nodes[np.argmax(spans)].tolist()
        raise EnergyError(f"{what}: the tuple {nodes} spans two bodies; give one value for each element")
    return [value[b.name] for b in bodies], rows[:, 0].astype(np.int32)
