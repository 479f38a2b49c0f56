"""Values of a parameter: one for all elements, one for each body, or one for each element, given or drawn.

Decisions 0291.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...elements.changing.changing_tuples import ChangingTuples
from ...elements.elements import Elements
from ...engine import storage
from ...errors import EnergyError, UnitError
from ...scene.units import UnitSystem
from ..fields import Body
from ..roles import Parameter, Role, TimeStep
from ..term_spec import TermSpec
from .drawn_values import DrawnValues
from .element_data import require_range


@dataclass
class Values:
    """A parameter's values: rows (R, *shape of one), and for each element its row (None: all have row 0).

    `form`: the shape in which values of elements are given and reported; (R,) if empty.
    """

    rows: np.ndarray
    index: np.ndarray | None = None
    form: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.set(self.rows)

    def set(self, rows: np.ndarray) -> None:
        """Replace the rows by a copy, which cannot be written: kernels have a copy of their own."""
        self.rows = storage.locked(rows.copy())

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in which the values are reported: that of one, for elements after their form."""
        one = self.rows.shape[1:]
        return one if self.index is None else (*(self.form or self.rows.shape[:1]), *one)


def default_of(what: str, role: Role, units: UnitSystem | None) -> float:
    """A parameter's default in the run's units. Raises `EnergyError` if it has none of its dimension."""
    if not isinstance(role, Parameter) or role.default is None:
        raise EnergyError(f"{what}: has no default; give it a value [{role.unit}]")
    try:
        return (units or UnitSystem.si()).convert(role.default, role.unit, role.absolute)
    except UnitError as error:
        raise EnergyError(f"{what}: its default cannot be used: {error}") from None


def parameter_values(
    spec: TermSpec,
    argument: str,
    shape: tuple[int, ...],
    elements: Elements,
    kept: np.ndarray,
    count: int,
    dtype: np.dtype,
) -> Values:
    """The values of one parameter, as the specification gives them, or its default.

    `shape`: of one value; `kept`: the listed elements that take part; `count`: the nodes of the fields.
    Raises `EnergyError` for another shape, for values out of bounds, or for values by element where elements
    have none of their own.
    """
    role, what = spec.energy.roles[argument], f"{spec.label}.{argument}"
    assert isinstance(role, Parameter)
    if isinstance(role, TimeStep) and argument not in spec.parameters:
        return Values(np.full(1, np.nan, dtype), None)  # until a stepper sets it
    value = spec.parameters[argument] if argument in spec.parameters else default_of(what, role, spec.units)
    given, index, form = value, None, ()
    own = len(kept) // elements.copies if spec.cells is None else int(spec.cells.max()) + 1
    alike = not elements.own_values or isinstance(elements, ChangingTuples)
    forms = [] if alike else [(own,), *[elements.form] * (len(elements.form) > 1)]
    if isinstance(value, DrawnValues):
        if not forms:
            raise EnergyError(f"{what}: takes one value for all elements, got values for each; give one")
        given = value.of_shape((*forms[-1], *shape))
    elif isinstance(value, Mapping):
        _refuse_sets(what, spec)
        nodes = elements.nodes[:, :1] if spec.energy.element_kind.cells else elements.nodes
        if spec.members and elements.own_values:
            given, index = _by_members(what, nodes, kept, value, spec)
        else:
            given, index = _by_body(what, elements, nodes, count, value, spec.bodies)
    rows = np.asarray(given, dtype=np.float64)
    if rows.shape == shape:
        rows = rows[None]
    elif index is None:
        if rows.shape not in [(*one, *shape) for one in forms]:
            raise EnergyError(f"{what}: {_wrong_number(rows, shape, elements, own)}")
        form = rows.shape[: rows.ndim - len(shape)]
        rows = rows.reshape(-1, *shape)
        if spec.cells is not None:
            chosen, index = np.unique(spec.cells[kept], return_inverse=True)
            rows, index = rows[chosen], index.astype(np.int32)
        else:
            rows = rows[kept] if elements.copies == 1 else rows
            index = np.tile(np.arange(len(rows), dtype=np.int32), elements.copies)
    if not role.admits(rows):
        raise EnergyError(f"{what}: {given} is not {role.limits()}")
    require_range(what, rows, dtype)
    return Values(rows.astype(dtype), index, form if len(form) > 1 else ())


def _refuse_sets(what: str, spec: TermSpec) -> None:
    if spec.energy.element_kind.several:
        sets = ", ".join(spec.energy.element_kind.names)
        raise EnergyError(
            f"{what}: a body is part of one set of nodes, got values of bodies for elements over {sets}; give"
            " one value for each element"
        )


def _wrong_number(rows: np.ndarray, shape: tuple[int, ...], elements: Elements, count: int) -> str:
    """The rest of a message about values that are neither one, nor one for each element."""
    if len(form := elements.form) > 1:
        shapes = [[count, *shape], [*form, *shape]]
        return f"needs shape {list(shape)}, {shapes[0]} or {shapes[1]}, got {list(rows.shape)}; reshape it"
    if rows.shape[1:] != shape or not rows.shape:
        return f"one value needs shape {list(shape)}, got {list(rows.shape)}; reshape it"
    if isinstance(elements, ChangingTuples):
        return f"takes one value for all, got {len(rows)} for tuples that change; make it a Datum"
    if not elements.own_values:
        return f"takes one value for all elements, got {len(rows)}; values of nodes are a Node field"
    return f"needs one value, or {count}, one for each element, got {len(rows)}; give 1 or {count}"


def _by_members(
    what: str, nodes: np.ndarray, kept: np.ndarray, value: Mapping, spec: TermSpec
) -> tuple[list, np.ndarray]:
    """The values of the bodies, and for each element the row of the body that it is in."""
    _refuse_other_bodies(what, value, spec.bodies)
    small = replace(spec, members={name: own[kept] for name, own in spec.members.items()})
    each = np.stack([replace(small, bodies=[body]).in_bodies(nodes) for body in spec.bodies]) >= 0
    if (twice := each.sum(axis=0) != 1).any():
        element, several = int(np.argmax(twice)), each[:, np.argmax(twice)]
        names = " and ".join(b.name for b, own in zip(spec.bodies, several, strict=True) if own) or "none"
        raise EnergyError(
            f"{what}: element {nodes[element].tolist()} must be in one body, got {names}; name bodies"
            " that share none, or give one value for each element"
        )
    return [value[b.name] for b in spec.bodies], each.argmax(axis=0).astype(np.int32)


def _refuse_other_bodies(what: str, value: Mapping, bodies: Sequence[Body]) -> None:
    if {b.name for b in bodies} != set(value):
        names = ", ".join(b.name for b in bodies) or "none: name them in `body`"
        raise EnergyError(f"{what}: has values for {', '.join(value)}; the term's bodies are {names}")


def _by_body(
    what: str, elements: Elements, members: np.ndarray, count: int, value: Mapping, bodies: Sequence[Body]
) -> tuple[list, np.ndarray]:
    """The values of the bodies, and for each element the row of the body that its `members` lie in."""
    if not elements.own_values:
        raise EnergyError(
            f"{what}: a pair may span two bodies, so it has no value of a body; use a Node field"
        )
    _refuse_other_bodies(what, value, bodies)
    row_of_node = np.full(count, -1)
    for row, body in enumerate(bodies):
        if (taken := body.nodes[row_of_node[body.nodes] >= 0]).size:
            other = bodies[row_of_node[taken[0]]].name
            raise EnergyError(
                f"{what}: node {taken[0]} is in the bodies {other} and {body.name}, which have values of"
                " their own; name bodies that share none, or give one value for each element"
            )
        row_of_node[body.nodes] = row
    rows = row_of_node[members]
    if (spans := (rows != rows[:, :1]).any(axis=1)).any():
        nodes = members[np.argmax(spans)].tolist()
        raise EnergyError(f"{what}: the tuple {nodes} spans two bodies; give one value for each element")
    return [value[b.name] for b in bodies], rows[:, 0].astype(np.int32)
