"""Named arrays: everything that changes, and everything that may be differentiated.

A field's array is passed to kernels as an argument and owned here: on the CPU it is NumPy memory, so
reading a field copies nothing. For the length of a call, memory of the caller may take its place.

Decisions 0021, 0050, 0145, 0152, 0159, 0160, 0209, 0283, 0302.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from math import prod
from operator import add
from typing import Any

import numpy as np

from ..elements.list_reference import BOX, POSITIONS, ListReference
from ..elements.node_numbers import node_numbers
from ..elements.periodic_box import PeriodicBox
from ..engine import storage
from ..errors import EnergyError, UnknownFieldError, unknown
from ..scene.solid_looks import Sheets, Tubes
from .values.atom_labels import AtomLabels
from .values.read_only_values import ReadOnlyValues

PRECISIONS: dict[str, np.dtype] = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32)}


_WORDS = {
    "x": ("position", "positions", "pos", "r"),
    "v": ("velocity", "velocities", "vel"),
    "m": ("mass", "masses"),
    "q": ("charge", "charges"),
}
"""By the name of a usual field, words that people take for it."""


@dataclass
class Field:
    """One named array over nodes: shape (n, *shape of one value), in the run's units."""

    name: str
    array: storage.ArraySlot
    shape: tuple[int, ...]
    dtype: np.dtype
    unit: str = "1"
    pair_set: Hashable = None
    """The directed pairs that it has values for, if it is no field over nodes."""
    computed_places: bool = False
    """True if it is the output of a map to positions."""
    check: Callable[[np.ndarray], Any] | None = field(default=None, repr=False, compare=False)
    """Raises an error for values that the field must not have."""

    @classmethod
    def of(cls, name: str, values: Any, unit: str = "1", dtype: np.dtype = PRECISIONS["f64"]) -> "Field":
        """A field holding a copy of `values`."""
        values = np.ascontiguousarray(values, dtype=dtype)
        if values.ndim < 1 or not values.size:
            raise EnergyError(
                f"field '{name}': needs at least one node, got shape {values.shape}; give an array (n, ...)"
            )
        return cls(name, storage.ArraySlot(storage.allocate(values)), values.shape, values.dtype, unit)

    def __repr__(self) -> str:
        unit = "" if self.unit == "1" else f", SI unit {self.unit}"
        return f"Field('{self.name}', {list(self.shape)}, {self.dtype}{unit})"

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def places(self) -> bool:
        """True if its values are positions of nodes, which have images in a periodic box."""
        return (self.name == POSITIONS or self.computed_places) and len(self.shape) == 2

    def __setitem__(self, place: Any, values: Any) -> None:
        raise EnergyError(
            f"field '{self.name}': is written as a whole, got an assignment to [{place!r}]; write"
            " .set(values)"
        )

    def twin(self) -> "Field":
        """A field of the same name and shape in memory of its own, holding zeros."""
        made = Field.of(self.name, np.zeros(self.shape), self.unit, self.dtype)
        made.pair_set = self.pair_set
        return made

    def resize(self, count: int) -> None:
        """Have `count` values, all zero; nothing happens where it has as many."""
        if count != len(self):
            self.shape = (count, *self.shape[1:])
            self.array.replace(np.zeros(self.shape, self.dtype))

    @property
    def values(self) -> np.ndarray:
        """The present values; read only (on the CPU the memory itself), with `EnergyError` where written."""
        return storage.host(self.array).view(ReadOnlyValues).of(self.name)

    def set(self, values: Any) -> None:
        """Overwrite the values. Raises `EnergyError` for another shape, or a box that spans no volume."""
        values = np.asarray(values, dtype=self.dtype)
        if values.shape != self.shape:
            raise EnergyError(
                f"field '{self.name}': needs shape {self.shape}, got {values.shape}; reshape it"
            )
        if self.check is not None:
            self.check(values)
        storage.store(self.array, values)


@dataclass(frozen=True, eq=False)
class Body:
    """Nodes under a name, so that energies, holds and observers can be limited to them.

        Body("left", [0, 1, 2])

    name: what scenes call it. nodes: their numbers from 0, or a range; kept as an array (n,) of int32.
    """

    name: str
    nodes: np.ndarray

    def __init__(self, name: str, nodes: Iterable[int] | np.ndarray):
        listed = nodes if isinstance(nodes, np.ndarray) else list(nodes)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "nodes", node_numbers(f"body '{name}'", listed))


def union_nodes(bodies: Iterable[Body]) -> np.ndarray:
    """The nodes of some bodies, each once, where it comes first."""
    nodes = np.concatenate([body.nodes for body in bodies])
    found, first = np.unique(nodes, return_index=True)
    return nodes if len(found) == len(nodes) else nodes[np.sort(first)]


@dataclass(frozen=True)
class Motion:
    """A field that moves by Newton's law: dv/dt = -(dU/dfield) / inertia.

        Motion("x", "v", "m")

    position: the name of the field, [unit]. velocity: that of its velocity, [unit/s], of the same shape.
    inertia: the name of a field (n,), or one number. The kinetic energy is the sum of inertia v^2 / 2.
    """

    position: str
    velocity: str
    inertia: str | float = 1.0


def refuse_shared(motions: Iterable[Motion]) -> None:
    """Raise `EnergyError` for a field that two motions would move, and for an inertia that moves."""
    motions = list(motions)
    moved = [name for m in motions for name in (m.position, m.velocity)]
    if twice := [name for k, name in enumerate(moved) if name in moved[:k]]:
        raise EnergyError(
            f"motions: '{twice[0]}' is moved {moved.count(twice[0])} times; give each motion a position and a"
            " velocity of its own"
        )
    if moving := [m.inertia for m in motions if m.inertia in moved]:
        raise EnergyError(
            f"motions: the inertia '{moving[0]}' is itself moved, and the kinetic energy has no such force;"
            " use a field that stays"
        )


@dataclass(frozen=True)
class Rotation:
    """A rotation about an axis through `centre`, by theta(t) = angle r(t / duration) + rate t.

    axis: (3,), of any length; empty in the plane, where rotations are counter-clockwise from x to y. centre:
    one number for each component. angle [rad], rate [rad / the run's unit of time]. r and `duration` are
    those of the hold.
    """

    centre: tuple[float, ...]
    axis: tuple[float, ...] = ()
    angle: float = 0.0
    rate: float = 0.0


@dataclass(frozen=True, eq=False)
class Hold:
    """Components of a field with prescribed motion: clamped where they start, or moved along a path.

    x(t) = c + Q(t) (x(0) - c) + displacement r(t / duration) + velocity t
    r(s) = s^3 (10 - 15 s + 6 s^2), 0 <= s <= 1

    Q is the rotation about c of a `rotation`, else the unit matrix; a rotation holds all components.

    name: what reports call it. field: the field's name. nodes: their numbers. axes: the components that are
    held (None: all). displacement [the field's unit] and velocity have one number for each of them; without a
    `duration` [the run's unit of time] the whole displacement is applied at the start. r has two continuous
    derivatives (Flash & Hogan 1985, J. Neurosci. 5, 1688: the path of least jerk).
    """

    name: str
    field: str
    nodes: np.ndarray
    axes: tuple[int, ...] | None = None
    displacement: tuple[float, ...] = ()
    duration: float = 0.0
    velocity: tuple[float, ...] = ()
    rotation: Rotation | None = None


@dataclass(frozen=True)
class Grid:
    """A regular grid of cells that a map can add to, in 1, 2 or 3 axes; the last axis is contiguous.

    Cell (row, column) is centred at y = row `spacing`, x = column `spacing`, in the run's unit of length.
    Of a field over the grid, shape (cells, ...), it is node row * columns + column. `fields`: those over it.
    Raises `EnergyError` for another number of axes, for no cells along one, and for a spacing that is not
    positive.
    """

    shape: tuple[int, ...]
    spacing: float = 1.0
    fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.shape) <= 3 or min(self.shape) < 1 or not self.spacing > 0.0:
            raise EnergyError(
                "grid: needs 1 to 3 axes with cells along each and a positive spacing, got shape"
                f" {list(self.shape)} and spacing {self.spacing:g}; correct them"
            )

    def __len__(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Points in cells, as elements of an energy: the integral over a cell is a sum over its points.

    nodes (P, k): those of the cell around each point; rows of cells with fewer nodes than others repeat their
    first node, to which the data of the points give no weight. cell (P,): the number of the cell, counted
    through `lists`, which are lists of the state with cells of one kind each.
    """

    nodes: np.ndarray
    cell: np.ndarray
    lists: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class State:
    """The initial state of a scene, as a plugin's state model makes it; numbers are in the run's units.

        State(fields={"x": x, "v": v, "m": m}, units={"x": "m", "v": "m s^-1", "m": "kg"},
              motions=(Motion("x", "v", "m"),), tuples={"edges": edges}, data={"edges": {"rest": rest}})

    fields       arrays (n, ...) by name
    units        the SI unit of each field
    motions      which fields move
    bodies       nodes by name
    tuples       lists of elements, arrays (E, k) of node numbers, by name
    data         arrays (E, ...) of their elements, by list and by argument of an energy: of data, and of
                 parameters that are `listed`
    holds        components with prescribed motion
    labels       the names under which fields are recorded (H5MD's `position`, `velocity`)
    names        those of the nodes
    atoms        the elements, names and residues of nodes that are atoms, for files of atoms
    shown        the lists that a picture is drawn with
    looks        by list of `shown`, what its elements look like: `Tubes` or `Sheets`, in the run's units
    grids        grids of cells by name
    tables       arrays of constants by the argument of an energy
    quadratures  by name, points in the cells of lists; an energy over "cells" has an element for each of
                 its points if there are some, and `data` has a value for each
    of_rest      the names of data and fields that were computed from the field `rest`, the nodes at rest
    groups       by list of tuples and by body, the numbers of the elements that are in the body, where this
                 is known: those of a named group of facets are fewer than the facets between its nodes
    inner        the same, how many elements of a body are not in the list
    compare      gives remarks on the energies and compounds of a scene: it is called with the values of
                 their blocks, and the `kind` of each
    facets       the name of the list that has the facets of the boundary; it has the data `area`, and for
                 sides by their direction `tangents` and `weight`, as of pressure
    images       in a periodic box, by list, copies of the nodes of its tuples, whole numbers (E, k, d), of
                 pairs also (E, d), those of second nodes; without them images follow as energies declare
    parents      by list, the slot that each slot of each of its tuples follows, (E, k), in place of what
                 energies declare
    sizes        numbers of nodes of sets that no field of the state is over, such as muscles, by the name of
                 the set
    periodic     the axes along which the field "box" repeats, where [box] does not say it (default: all)
    absent       by the name of a field that the state does not have, what gives it, for messages
    absolute     the fields that are temperatures, no differences of them, which files may give in degC
    fixed_at     by field, the field of the places that its values belong to: they are taken from a run whose
                 nodes stay where these are alone
    brings       what compounds of the same plugin read of a state, such as the System of a molecule
    """

    fields: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    motions: tuple[Motion, ...] = ()
    bodies: tuple[Body, ...] = ()
    tuples: Mapping[str, np.ndarray] = field(default_factory=dict)
    data: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    holds: tuple[Hold, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    atoms: AtomLabels | None = None
    shown: tuple[str, ...] = ()
    looks: Mapping[str, Tubes | Sheets] = field(default_factory=dict)
    grids: Mapping[str, Grid] = field(default_factory=dict)
    tables: Mapping[str, np.ndarray] = field(default_factory=dict)
    quadratures: Mapping[str, Quadrature] = field(default_factory=dict)
    of_rest: frozenset[str] = frozenset()
    groups: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    inner: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    compare: Callable[[Sequence[Mapping[str, Any]]], Sequence[str]] | None = None
    facets: str = ""
    images: Mapping[str, np.ndarray] = field(default_factory=dict)
    parents: Mapping[str, np.ndarray] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    periodic: tuple[bool, ...] | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    absolute: frozenset[str] = frozenset()
    fixed_at: Mapping[str, str] = field(default_factory=dict)
    brings: Any = None

    @property
    def facet_lists(self) -> tuple[str, ...]:
        """The list `facets`, and those with other points of the same facets; none where it has no facet."""
        if self.facets not in {**self.tuples, **self.quadratures}:
            return ()
        points = {name: one.lists for name, one in self.quadratures.items()}
        own = points.get(self.facets, (self.facets,))
        return (self.facets, *(n for n, lists in points.items() if lists == own and n != self.facets))

    @property
    def counts(self) -> dict[str, int]:
        """What can be counted, by name: nodes of fields, tuples of lists, and the `sizes` of sets."""
        counted = {**self.fields, **self.tuples}
        return {name: len(rows) for name, rows in counted.items()} | dict(self.sizes)


class Fields(Mapping[str, Field]):
    """The fields of a scene by name, all of one precision: `fields["x"].values` is an array (n, ...).

        fields = Fields({"x": x, "m": m}, {"x": "m", "m": "kg"}, precision="f64")

    values: arrays by name, which are copied. units: SI units by name (default: "1"). precision: "f64" or
    "f32". periodic: the axes along which the field "box", (1, d, d) with the edge vectors in rows, repeats;
    by default all. `derived` are the names of fields that maps compute, `zeros` those among them that stay
    zero, where repeated maps begin. Raises `EnergyError` for an empty array, for a field called "t", for a
    box that spans no volume, and where a name is looked up that does not exist.
    """

    def __repr__(self) -> str:
        return f"Fields({', '.join(f'{n} {list(f.shape)}' for n, f in self.items())})"

    def __init__(
        self,
        values: Mapping[str, Any],
        units: Mapping[str, str] | None = None,
        precision: str = "f64",
        periodic: Sequence[bool] | None = None,
    ):
        self.dtype = PRECISIONS[precision]
        self.precision = precision
        self.derived: set[str] = set()
        self.zeros: set[str] = set()
        self.absent: Mapping[str, str] = {}
        """By the name of a field that there is not, what gives it."""
        self.images_stay = False
        """True if images of listed tuples stay as bound, whoever writes positions: those of a simulation."""
        units = units or {}
        for name in values:
            _refuse_the_time(name)
        self._fields = {n: Field.of(n, v, units.get(n, "1"), self.dtype) for n, v in values.items()}
        self.periodic: tuple[bool, ...] = self._checked_axes(periodic)
        self._lists: dict[str, ListReference] = {}
        self._stands: dict[str, str] = {}

    def __setitem__(self, name: str, values: Any) -> None:
        raise EnergyError(
            f"field '{name}': is written by .set, got an assignment; write fields['{name}'].set(values)"
        )

    @property
    def box(self) -> Field | None:
        """The field with the edge vectors of the periodic box, (1, d, d); None without one."""
        return self._fields[BOX] if self.periodic else None

    @property
    def box_name(self) -> str | None:
        """The name of the field with the box, if there is one."""
        return BOX if self.periodic else None

    @property
    def geometry(self) -> PeriodicBox | None:
        """The present box; None without one. Raises `EnergyError` for one that spans no volume."""
        return PeriodicBox.of(self._fields[BOX].values[0], self.periodic) if self.periodic else None

    @property
    def lists(self) -> ListReference:
        """The reference of the lists of neighbours at the positions "x"; made at first use."""
        return self.lists_at(POSITIONS)

    def lists_at(self, positions: str) -> ListReference:
        """The reference of the lists of neighbours at a field of positions; made at first use from it."""
        if positions not in self._lists:
            box = self._fields[BOX].values if self.periodic else None
            self._lists[positions] = ListReference(self[positions].values, box, self.periodic)
        return self._lists[positions]

    @property
    def listed_positions(self) -> list[str]:
        """The fields of positions that have lists of neighbours."""
        return list(self._lists)

    @property
    def lists_exclude(self) -> bool:
        """True if a list of neighbours leaves out pairs."""
        return any(reference.excludes for reference in self._lists.values())

    def follow_lists(self) -> None:
        """Move the references of lists to the present positions and box where a list might miss a pair."""
        for positions, reference in self._own_lists():
            box = self._fields[BOX].array.last_stored if self.periodic else None
            reference.follow(self[positions].array, box)

    def list_afresh(self) -> None:
        """Rebuild all lists of neighbours for the present positions and box, whatever was computed before."""
        for positions, reference in self._own_lists():
            reference.move(self[positions].values, self._fields[BOX].values if self.periodic else None)

    def follow_excluded(self, positions: str, box: PeriodicBox) -> None:
        """Choose the images of excluded pairs at some positions; rebuild all lists where one changes."""
        reference = self._lists.get(positions)
        if reference and reference.follow_excluded(self[positions].values.astype(np.float64), box):
            self.list_afresh()

    @contextmanager
    def images_held(self) -> Iterator[None]:
        """Leave the images of listed tuples as they are, whoever writes positions meanwhile."""
        before, self.images_stay = self.images_stay, True
        try:
            yield
        finally:
            self.images_stay = before

    @property
    def lists_last(self) -> bool:
        """True if there are lists that serve for other positions than those of their reference."""
        return any(reference.lasts for reference in self._lists.values())

    @contextmanager
    def lists_kept(self) -> Iterator[None]:
        """Leave the reference of lists as it is, wherever energies are evaluated meanwhile."""
        with ExitStack() as stack:
            for reference in self._lists.values():
                stack.enter_context(reference.keep_reference())
            yield

    @property
    def of_lists(self) -> dict[str, Field]:
        """The arrays of the references of lists as fields, which a run saves; none without lists."""
        found = {}
        for positions, one in self._own_lists():
            of_box = BOX if positions == POSITIONS else f"{BOX}_of_{positions}"
            for name, slot in ((positions, one.positions), (of_box, one.box)):
                if slot is not None:
                    label = f"listed_{name}"
                    found[label] = Field(label, slot, slot.shape, slot.dtype, self[positions].unit)
        return found

    def _own_lists(self) -> list[tuple[str, ListReference]]:
        """The references of lists at fields that are here, with the name of each."""
        return [(name, one) for name, one in self._lists.items() if name in self._fields]

    def _checked_axes(self, periodic: Sequence[bool] | None) -> tuple[bool, ...]:
        shape = self._fields[BOX].shape if BOX in self._fields else ()
        if len(shape) != 3 or shape[0] != 1 or shape[1] != shape[2]:
            if periodic is not None:
                raise EnergyError(
                    f"box: needs edge vectors in a field '{BOX}' of shape (1, d, d), got"
                    f" {list(shape) or 'none'}; give them, or leave `periodic` out"
                )
            return ()
        axes = (True,) * shape[1] if periodic is None else tuple(map(bool, periodic))
        if len(axes) != shape[1]:
            raise EnergyError(
                f"box.periodic: needs a value for each of {shape[1]} axes, got {len(axes)}; correct it"
            )
        box = self._fields[BOX]
        box.check = partial(PeriodicBox.of, periodic=axes)
        box.check(box.values)
        return axes

    def __getitem__(self, name: str) -> Field:
        name = self._stands.get(name, name)
        if name not in self._fields:
            meant = next((one for one in _WORDS.get(name, ()) if one in self._fields), None)
            cure = f"; rename '{meant}' to '{name}'" if meant else ""
            cure = f"; {self.absent[name]}" if name in self.absent else cure
            raise UnknownFieldError(unknown("field", name, self._fields) + cure, name)
        return self._fields[name]

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def twin(self) -> "Fields":
        """The same fields in memory of their own, with the present values."""
        made = Fields(
            {n: f.values for n, f in self.items()}, {n: f.unit for n, f in self.items()}, self.precision
        )
        made.derived, made.zeros, made.periodic = set(self.derived), set(self.zeros), self.periodic
        made.images_stay = self.images_stay
        made.list_as(self)
        return made

    def list_as(self, other: "Fields") -> None:
        """Take the references of lists of fields of the same names, in this precision."""
        self._lists = {positions: one.twin(self.dtype) for positions, one in other._lists.items()}
        for name, own in self.items():
            own.pair_set, own.computed_places = other[name].pair_set, other[name].computed_places

    def extended(self, values: Mapping[str, Any]) -> "Fields":
        """These same fields, in the same memory, beside others that only the result has."""
        made = Fields({}, precision=self.precision)
        others = {name: Field.of(name, array, dtype=self.dtype) for name, array in values.items()}
        made._fields, made.derived = {**self._fields, **others}, self.derived
        made.zeros, made.periodic, made._lists = self.zeros, self.periodic, self._lists
        made.images_stay = self.images_stay
        return made

    def renamed(self, stands: Mapping[str, str]) -> "Fields":
        """These same fields, where names stand for others: `fields.renamed({"x": "places"})["x"]`.

        Terms that are bound to the result read the fields that the names stand for.
        """
        made = copy(self)
        made._stands = {**self._stands, **stands}
        return made

    def derive(
        self,
        name: str,
        count: int,
        unit: str,
        shape: tuple[int, ...] = (),
        pair_set: Hashable = None,
        places: bool = False,
    ) -> Field:
        """The output field of maps or a slope with this name, for `count` nodes; made at first use.

        shape: of one value. pair_set: the directed pairs that it is over, in place of nodes. places: its
        values are positions, which are NaN until its maps have run. Raises `EnergyError` if the name is
        another field's, or the field has another length, shape or unit, and for places that are none.
        """
        _refuse_the_time(name)
        if name not in self._fields:
            start = np.full((count, *shape), np.nan if places else 0.0)
            self._fields[name] = Field.of(name, start, unit, self.dtype)
            self._fields[name].pair_set, self._fields[name].computed_places = pair_set, places
            self.derived.add(name)
        field = self._fields[name]
        if name not in self.derived:
            raise EnergyError(
                f"field '{name}': is given by the state, so no map can write it; rename the output of the map"
            )
        if field.computed_places != places:
            raise EnergyError(
                f"field '{name}': is given by a map to places and by one to other values; give each map an"
                " output of its own"
            )
        if field.shape[1:] != shape:
            raise EnergyError(
                f"field '{name}': has values of shape {list(field.shape[1:])}, got a map to values of shape"
                f" {list(shape)}; give each map an output of its own"
            )
        if pair_set is not None and field.pair_set == pair_set:
            field.resize(count)
        if field.pair_set != pair_set:
            raise EnergyError(
                f"field '{name}': is over other nodes or directed pairs than this map gives to; give both"
                " maps the same cutoff and skin, or each an output of its own"
            )
        if (len(field), field.unit) != (count, unit):
            raise EnergyError(
                f"field '{name}': has {len(field)} nodes in {field.unit}, got a map to {count} in {unit};"
                " give each map an output of its own"
            )
        return field


def _refuse_the_time(name: str) -> None:
    if name == "t":
        raise EnergyError("a field cannot be called 't', which is the time; give it another name")


MOST_COLUMNS = 1024
"""The most columns of `ordered_sum`: a power of two."""
FEW_COLUMNS = 64
"""Up to so many numbers `ordered_sum` adds floats of Python."""


def columns_of(count: int) -> int:
    """The columns of `ordered_sum` for so many numbers: a power of two."""
    return min(MOST_COLUMNS, 1 << max(count - 1, 0).bit_length())


def sum_of_few(numbers: list[float]) -> float:
    """`ordered_sum` of up to `FEW_COLUMNS` numbers: the same tree, for which arrays take longer."""
    numbers = numbers + [0.0] * (columns_of(len(numbers)) - len(numbers))
    while len(numbers) > 1:
        half = len(numbers) // 2
        numbers = [*map(add, numbers[:half], numbers[half:])]
    return numbers[0] + 0.0


def ordered_sum(values: np.ndarray) -> float:
    """The sum in double precision, in an order fixed by the length alone: 1,024 columns, then a tree.

    A short array takes only part of the tree. Number k is in column k % `columns_of`.
    """
    flat = np.asarray(values, np.float64).ravel()
    width = columns_of(len(flat))
    if width <= FEW_COLUMNS:
        return sum_of_few(flat.tolist())
    padded = np.zeros(-(-max(len(flat), 1) // width) * width)
    padded[: len(flat)] = flat
    sums = np.add.reduce(padded.reshape(-1, width), axis=0)
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    return float(sums[0] + 0.0)  # so that -0.0 becomes 0.0
