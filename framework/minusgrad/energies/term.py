"""A term: an energy with its elements, and each argument bound to an array.

Decisions 0021, 0286, 0302.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from ..elements import window_edges
from ..elements.changing.changing_tuples import ChangingTuples
from ..elements.changing.found_tuples import FoundTuples
from ..elements.elements import Elements, each_once
from ..elements.neighbours.pair_list import PairList
from ..elements.neighbours.pair_tuples import PairTuples
from ..elements.node_tuples import NodeTuples
from ..elements.periodic.linked_pairs import LinkedPairs
from ..elements.periodic_box import PeriodicBox
from ..engine import lane_blocks, storage
from ..errors import EnergyError
from ..scene.units import UnitSystem
from .fields import POSITIONS, Body, Field, Fields, Grid, Hold
from .local_energy import IMAGES, WINDOW, LocalEnergy, TermElements, check_exchange
from .local_map import LocalMap
from .node_fields import check_fields, node_fields, refuse_other_pairs, set_sizes
from .pairs.cutoff import Cutoff
from .pairs.far import Far
from .pairs.periodic_images import among_images, positions_of, remark_of, with_images
from .roles import Box, Datum, Image, Parameter, Table, Time, concrete
from .term_spec import TermSpec
from .values.element_data import (
    changing_tuples,
    check_weights,
    checked_data,
    checked_tuples,
    datum,
    dimension_of,
    table,
)
from .values.parameter_values import Values, parameter_values


@dataclass
class Term:
    """One summand of the potential, U = sum over `elements` of `energy`; or of the `outputs` of a map.

    `outputs`: the fields that a map gives, by their declared names; empty of an energy.
    """

    name: str
    energy: LocalEnergy
    elements: Elements
    fields: dict[str, Field]
    data: dict[str, np.ndarray]
    parameters: dict[str, Values]
    dtype: np.dtype
    tables: dict[str, np.ndarray] = field(default_factory=dict)
    outputs: dict[str, Field] = field(default_factory=dict)
    grid: Grid | None = None
    """The cells that a map adds to, or reads, within windows."""
    cells: Grid | None = None
    """The grid whose cells are the elements."""
    box: Field | None = None
    """The periodic box that its fields are in."""
    outside: str | None = None
    """"cut" or "refuse": windows of a map that leave the grid; None: cut, or as the stepper says."""
    owner: str = ""
    """The name that its arguments have in derivatives, if not its own: of a sweep of a repeated map."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Names that fields have in the text of kernels, by their own: so that sweeps are compiled once."""
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    """The arrays of parameters' values, and of data in blocks, for all potentials that have this term."""
    rule: Any = None
    """How the images of its listed tuples follow in a periodic box (`elements.periodic.tuple_images`)."""
    remark: str = ""
    """A sentence about images of its tuples that are a matter of choice; "" if there are none."""
    follows: frozenset[str] = frozenset()
    """Its derived data that nobody gave: they follow from elements, fields at the start and supports."""
    common: Mapping[str, str] = field(default_factory=dict)
    """Parameters that it has in common with other terms: the name of their block, by argument."""
    in_bodies: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    """By body, a mask (E,) of the elements that are in it, where that does not follow from its nodes."""
    writes: int = 0
    """How often its parameters and data were overwritten since it was bound; it only grows."""

    def __repr__(self) -> str:
        arguments = ", ".join([*self.fields, *self.parameters])
        return f"Term('{self.name}', {arguments}; {self.elements.count:,} {self.energy.over})"

    @classmethod
    def of(cls, spec: TermSpec, fields: Fields) -> "Term":
        """A specification bound to fields, checked. Raises `EnergyError` naming term and argument."""
        spec = spec.frozen().checked()
        outside = spec.way_out()
        bound = node_fields(spec, fields)
        sizes = set_sizes(spec, bound)
        spec = spec.around_cells(bound)
        elements, kept = spec.elements_among(sizes)
        spec, elements, rule = among_images(spec, elements, kept, bound, fields)
        if spec.changing:
            elements = changing_tuples(spec, elements, rule is not None)
        refuse_other_pairs(spec, bound, elements)
        term = cls(spec.label, spec.energy, elements, bound, {}, {}, fields.dtype, box=fields.box, rule=rule)
        windowed = isinstance(term.energy, LocalMap) and term.energy.cell is not None
        term.remark = remark_of(spec.label, rule, elements, term.places_field, fields)
        term.grid = spec.grid if windowed else None
        term.cells = spec.grid if term.energy.offsets else None
        term.outside = outside
        term.in_bodies = {name: own[kept] for name, own in spec.members.items()}
        members = {argument: term.members(argument) for argument in bound}
        check_fields(spec.label, spec.energy, bound, fields.derived, members)
        term._take_data(spec, kept)
        term._take_parameters(spec, kept)
        spec.refuse_unknown()
        term._check_weights()
        term._take_tables(spec)
        term._take_outputs(spec, fields, sizes)
        return term

    def _take_data(self, spec: TermSpec, kept: np.ndarray) -> None:
        self._take_images()
        derived = self._derived_data(spec, kept)
        for argument, role in self.energy.of_role(Datum).items():
            if argument in self.data:
                continue
            if argument in derived:
                self.follows |= {argument}
                self.data[argument] = self._held_copy(np.asarray(derived[argument], self.dtype))
                continue
            what = f"{self.name}.{argument}"
            if argument not in spec.data:
                raise EnergyError(f"{what}: needs a value for each element, got none; give `data`")
            if not self.elements.own_values:
                kind = type(self.elements).__name__
                raise EnergyError(f"{what}: {kind} have no data; use Node fields or Parameters")
            value = spec.data[argument]
            shape = concrete(role.shape, self.dimension or dimension_of(role, value), self.arity)
            values = datum(what, role, value, shape, kept, self.dtype)
            self.data[argument] = self._held_copy(values)

    def _derived_data(self, spec: TermSpec, kept: np.ndarray) -> Mapping[str, np.ndarray]:
        """The data that follow from all elements and what is held, where they are not given."""
        roles = self.energy.of_role(Datum)
        wanted = [a for a, role in roles.items() if role.derived and a not in spec.data]
        if not wanted:
            return {}  # a list of neighbours is not built to see whether it is empty
        if self.energy.derive is None or self.elements.empty:
            return {a: np.zeros((0, *self.shape(a))) for a in wanted} if self.elements.empty else {}
        given = {a: np.asarray(v) for a, v in spec.data.items() if a in roles}
        for a, values in given.items():
            if values.ndim > len(roles[a].shape) and len(values) == len(kept):
                given[a] = values[kept]
        return self.energy.derive(self._of_all(given, spec.holds, spec.planes))

    def derived_at(
        self,
        values: Mapping[str, np.ndarray],
        holds: Sequence[Hold],
        planes: Sequence[Any],
    ) -> Mapping[str, np.ndarray]:
        """The derived data that nobody gave, at other values of fields, by the names of these.

        Raises `EnergyError` where there are none.
        """
        if not self.follows or self.energy.derive is None:
            return {}
        own = {a: storage.host(v) for a, v in self.data.items() if a not in self.follows}
        given = self._of_all(own, holds, planes)
        moved = {a: np.asarray(values.get(given.names[a], v), np.float64) for a, v in given.fields.items()}
        found = self.energy.derive(replace(given, fields=moved))
        return {a: np.asarray(v, self.dtype) for a, v in found.items() if a in self.follows}

    def _of_all(
        self, given: Mapping[str, np.ndarray], holds: Sequence[Hold], planes: Sequence[Any] = ()
    ) -> TermElements:
        """All elements at the present fields, for derived data."""
        fields = {a: f.values.astype(np.float64) for a, f in self.fields.items()}
        names = {a: f.name for a, f in self.fields.items()}
        nodes = self.elements.tuples()
        return TermElements(self.name, nodes, fields, names, given, holds, self.dtype, planes)

    @property
    def needs_supports(self) -> bool:
        """True if its derived data exist only because of what is held, as those of a pressure with a rim."""
        if self.energy.derive is None or self.elements.empty:
            return False
        try:
            self.energy.derive(self._of_all({}, ()))
        except EnergyError:
            return True
        return False

    def _held_copy(self, values: np.ndarray) -> Any:
        """A copy of a datum's values that only `set_datum` and `set_tuples` write."""
        array = storage.locked(storage.allocate(values))
        return storage.ArraySlot(array) if isinstance(self.elements, ChangingTuples) else array

    def _take_parameters(self, spec: TermSpec, kept: np.ndarray) -> None:
        for argument, role in self.energy.of_role(Parameter).items():
            shape, count = concrete(role.shape, self.dimension), self.nodes
            self.parameters[argument] = parameter_values(
                spec, argument, shape, self.elements, kept, count, self.dtype
            )

    def _check_weights(self) -> None:
        for made in self.energy.linear.values():
            weights = storage.host(self.data[made.weights])
            check_weights(f"{self.name}.{made.weights}", self.arity, weights)

    def _take_tables(self, spec: TermSpec) -> None:
        for argument, role in self.energy.of_role(Table).items():
            what = f"{self.name}.{argument}"
            numbers = table(what, role, spec.tables.get(argument), self.dtype)
            self.tables[argument] = storage.locked(numbers)

    def _take_outputs(self, spec: TermSpec, fields: Fields, sizes: Mapping[str, int]) -> None:
        """Make the output fields of a map. Raises `EnergyError` for an energy with an output field."""
        names = spec.output_names()
        if isinstance(self.energy, LocalMap):
            adds_to = self.receiving_grid
            receivers = len(adds_to) if adds_to else self._receiver_count(sizes)
            for declared, output in self.energy.outputs.items():
                try:
                    shape = concrete(output.shape, self.dimension, self.arity)
                except EnergyError as error:
                    raise EnergyError(f"{self.name}: '{declared}': {error}") from None
                pair_set = self.elements.pair_set
                self.outputs[declared] = fields.derive(
                    names[declared], receivers, output.unit, shape, pair_set, output.places
                )
        elif self.elements.unordered:
            self._check_exchange()

    def _receiver_count(self, sizes: Mapping[str, int]) -> int:
        """The nodes of the set that a map gives to: as many as are known, else as the tuples name."""
        kind = self.energy.element_kind
        first = kind.names[0]
        if kind.directed:
            return self.elements.pair_room
        if first in sizes:
            return sizes[first]
        return int(self.elements.nodes[:, list(kind.slots(first, self.arity))].max()) + 1

    def _check_exchange(self) -> None:
        """The energy of a few pairs at the present fields does not change when their nodes are exchanged."""
        rng, nodes = np.random.default_rng(0), self.elements.members
        parameters = {a: v.rows[0].astype(np.float64) for a, v in self.parameters.items()}
        for _ in range(16 if len(nodes) > 1 else 0):
            chosen = rng.choice(nodes, 2, replace=False)
            fields = {a: [f.values[n].astype(np.float64) for n in chosen] for a, f in self.fields.items()}
            clock = dict.fromkeys(self.energy.of_role(Time), 0.0)
            check_exchange(self.energy, fields | parameters | clock | self.tables)

    def address(self, argument: str) -> str:
        """The name "term.argument" that an argument has in derivatives and files; "block.argument"."""
        return f"{self.common.get(argument) or self.owner or self.name}.{argument}"

    @property
    def nodes(self) -> int:
        """The nodes of the fields that elements have slots for; of a grid's cells, if they have none."""
        own = (len(f) for a, f in self.fields.items() if self.energy.set_of(a) != WINDOW)
        return next(own, len(self.cells or ()))

    @property
    def receiving_grid(self) -> Grid | None:
        """The grid that the outputs of a map are over, if they are."""
        assert isinstance(self.energy, LocalMap)
        return self.cells if self.energy.from_cells else self.grid or self.cells

    def grid_of(self, argument: str) -> Grid | None:
        """The grid that a node field is over, if it is."""
        return self.grid if self.energy.set_of(argument) == WINDOW else self.cells

    @property
    def dimension(self) -> int | None:
        """d: the components of node fields that are vectors of space; without any, of data or a box."""
        shapes = {a: f.shape for a, f in self.fields.items()} | {a: v.shape for a, v in self.data.items()}
        roles = {a: self.energy.roles[a].shape for a in shapes}
        found = (shapes[a][1 + role.index("d")] for a, role in roles.items() if "d" in role)
        return next(found, self.box.shape[-1] if self.box and self.energy.of_role(Box) else None)

    @property
    def arity(self) -> int:
        """k: the nodes of one element."""
        return self.elements.arity

    def slots(self, argument: str) -> Sequence[int]:
        """The slots of an element whose nodes a field is over: all, or those of its set."""
        return self.energy.slots(argument, self.arity)

    def members(self, argument: str) -> np.ndarray:
        """The nodes at which elements read a field, each once, in increasing order."""
        if self.energy.set_of(argument) == WINDOW:
            return np.arange(len(self.fields[argument]))
        if not self.energy.element_kind.several:
            return self.elements.members
        return each_once(self.elements.nodes[:, list(self.slots(argument))])

    def shape(self, argument: str) -> tuple[int, ...]:
        """The shape of one value of a datum, a parameter, or an argument that is Linear in a field."""
        if argument in self.energy.linear:
            made = self.energy.linear[argument]
            return (*self.fields[made.field].shape[1:], *self.shape(made.weights)[1:])
        return concrete(self.energy.roles[argument].shape, self.dimension, self.arity)

    def rebuild(self) -> Elements:
        """Rebuild the elements at the present fields, and return them."""
        if not self.elements.fixed:
            values = {} if self.elements.listed else {a: f.values for a, f in self.fields.items()}
            before, self.elements = self.elements, self.elements.rebuild(values)
            if self.elements is not before:
                self._take_images()
                self._fit_outputs()
        return self.elements

    def _fit_outputs(self) -> None:
        """Give outputs over directed pairs the length that fields over them have now."""
        for output in self.outputs.values():
            if output.pair_set is not None:
                output.resize(self.elements.pair_room)

    def _take_images(self) -> None:
        """Make the images of tuples of listed pairs a datum, and what found tuples bring themselves.

        The images of other tuples are given as one.
        """
        if isinstance(self.elements, PairTuples) and IMAGES in self.energy.roles:
            triples, dtype = self.elements, self.dtype
            images: Any = triples.derived_array((IMAGES, dtype), lambda: triples.images.astype(dtype))
            self.data = {**self.data, IMAGES: images}
            self.shared.pop(in_blocks(IMAGES), None)
        if isinstance(self.elements, FoundTuples):
            found = self.elements
            self.data = {**self.data, **{a: found.constant(a, self.dtype) for a in found.brings}}

    @property
    def uniform(self) -> dict[str, Field]:
        """The fields that all elements read as a whole, by argument: the box."""
        return {} if self.box is None else dict.fromkeys(self.energy.of_role(Box), self.box)

    @property
    def read(self) -> dict[str, Field]:
        """All fields that it reads, by argument."""
        return self.fields | self.uniform

    @property
    def places_field(self) -> str:
        """The field of the positions that lists and images are at: "x", unless its own are others."""
        return next((f.name for f in self.fields.values() if f.places), POSITIONS)

    def one_by_one(self) -> "Term":
        """The same term over its elements as tuples of nodes, where its loop goes from target to target."""
        elements = self.elements
        if not elements.loop.per_target:
            return self
        made = replace(self, elements=NodeTuples(elements.tuples()))
        if not self.energy.of_role(Image):
            return made
        assert isinstance(elements, PairList)
        roles = {**self.energy.roles, IMAGES: Datum(shape=("k", "d"))}
        images = storage.allocate(elements.images().astype(self.dtype))
        return replace(made, energy=replace(self.energy, roles=roles), data={**self.data, IMAGES: images})

    def set_datum(self, argument: str, values: Any) -> None:
        """Overwrite the values of a datum, in the same shape."""
        array = self.data[argument]
        held = np.broadcast_to(np.asarray(values, storage.host(array).dtype), array.shape)
        storage.store(array, held)
        self.writes += 1
        if (copy := self.shared.get(in_blocks(argument))) is not None:
            lane_blocks.store(copy, held)

    def follow_images(self, x: np.ndarray, box: PeriodicBox) -> None:
        """Choose the images of its listed tuples at positions x (n, d) in a box."""
        present = storage.host(self.data[IMAGES])
        if not self.rule.still(present, x, box):
            found = self.rule.at(x, box)
            if not np.array_equal(found, present):
                self.set_datum(IMAGES, found)

    def set_tuples(self, tuples: Sequence | np.ndarray, data: Mapping[str, Any] | None = None) -> None:
        """Exchange the elements for others, or for none; of a term that was bound with `changing = True`.

        tuples: node numbers (E, k). data: all data of the energy, by argument, as in `bind`. Kernels and
        buffers are kept while there is room; else they are made for twice as many. Numbers are, bit for bit,
        those of a term that is bound to these tuples. Tuples are no part of checkpoints: runs of scenes
        refuse terms like this.

        Raises `EnergyError` for a term whose tuples are fixed, with the first bad row, for missing data;
        then nothing has changed.
        """
        if not isinstance(self.elements, ChangingTuples):
            raise EnergyError(f"{self.name}: its tuples are fixed; bind it with changing = True")
        nodes = checked_tuples(self, tuples)
        values = checked_data(self, data or {}, len(nodes))
        for argument, rows in values.items():
            slot: Any = self.data[argument]
            slot.replace(rows)
            storage.locked(slot.own)
        before, self.elements = self.elements, self.elements.with_nodes(nodes)
        if self.elements is not before:
            for argument in values:
                self.shared.pop(in_blocks(argument), None)
        self.writes += 1

    def arguments(self, element: int, nodes: Sequence[int], t: float) -> dict[str, Any]:
        """The arguments of the function for one element; node fields in f64, None in slots of other sets.

        Without the images of a listed pair.
        """
        fields = {a: self._values_at(a, nodes) for a in self.fields}
        data = {a: storage.host(v)[element] for a, v in self.data.items()}
        parameters = {
            a: v.rows[0 if v.index is None else v.index[element]] for a, v in self.parameters.items()
        }
        uniform = {a: f.values[0].astype(np.float64) for a, f in self.uniform.items()}
        clock = dict.fromkeys(self.energy.of_role(Time), t)
        return fields | data | parameters | uniform | clock | self.tables

    def _values_at(self, argument: str, nodes: Sequence[int]) -> list[Any]:
        """The values of a field at the nodes; none of one that is read in a window (`in_window`)."""
        values, own = self.fields[argument].values, self.slots(argument)
        return [values[n].astype(np.float64) if slot in own else None for slot, n in enumerate(nodes)]

    def in_window(
        self, values: Mapping[str, Any], wider: int = 0
    ) -> Iterator[tuple[tuple[int, ...], int | None, dict[str, Any]]]:
        """The cells of an element's window, from its arguments: place, number, and arguments of the cell.

        The place counts on beyond the rim of the grid. A cell that does not exist has the number None, and
        fields are zero there. wider: so many cells on every side.
        """
        energy, grid = self.energy, self.grid
        assert isinstance(energy, LocalMap)
        assert grid is not None
        for place in product(*(range(r.start - wider, r.stop + wider) for r in energy.reach()(values))):
            number = window_edges.number(place, grid.shape, self.window_edges)
            given: dict[str, Any] = {energy.cell or "": list(place)}
            for a in (a for a in self.fields if energy.set_of(a) == WINDOW):
                at = self.fields[a].values.astype(np.float64)
                given[a] = 0.0 * at[0] if number is None else at[number]
            yield place, number, given

    @property
    def window_edges(self) -> tuple[str, ...]:
        """Kinds of values beyond the rim of the grid that windows reach, along each axis."""
        assert self.grid is not None
        return tuple(self.energy.edges) or ("zero",) * len(self.grid.shape)

    def sharing(self, other: "Term") -> "Term":
        """The same term with the parameters and data of another one; images remain its own."""
        data = other.data | {a: v for a, v in self.data.items() if a == IMAGES}
        return replace(self, data=data, parameters=other.parameters, shared=other.shared)

    def twin(self, fields: Fields) -> "Term":
        """The same term over other fields of the same names, with copies of its data and parameters."""
        listed = fields.lists_at(self.places_field) if self.elements.listed else None
        made = replace(
            self,
            elements=self.elements.following(listed),
            box=fields.box,
            fields={a: fields[f.name] for a, f in self.fields.items()},
            data={a: self._held_copy(storage.host(v)) for a, v in self.data.items()},
            parameters={a: replace(v) for a, v in self.parameters.items()},
            outputs={name: fields[f.name] for name, f in self.outputs.items()},
            shared={},
        )
        made._take_images()
        made._fit_outputs()
        if self.rule is not None and not fields.images_stay and IMAGES not in made.data:
            made._give_images()
        return made

    def _give_images(self) -> None:
        """Let nodes have images, which are their own now, but may become others."""
        positions = positions_of(self.fields)
        count, d = self.elements.count, self.fields[positions[0]].shape[1]
        self.energy = with_images(self.energy, positions)
        self.data = {**self.data, IMAGES: storage.allocate(np.zeros((count, self.arity, d), self.dtype))}

    @property
    def gives(self) -> Field | None:
        """The output of a map that has one; None of an energy. Raises `EnergyError` for several outputs."""
        if len(self.outputs) > 1:
            raise EnergyError(f"{self.name}: gives {len(self.outputs)} fields; take them from `outputs`")
        return next(iter(self.outputs.values()), None)

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
    tuples: Sequence | np.ndarray | LinkedPairs | None = None,
    elements: Elements | None = None,
    bodies: Sequence[Body] = (),
    renamed: Mapping[str, str] | None = None,
    data: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    tables: Mapping[str, Any] | None = None,
    gives: str | Mapping[str, str] | None = None,
    grid: Grid | None = None,
    sizes: Mapping[str, int] | None = None,
    copies: int = 1,
    edges: str | Sequence[str] | None = None,
    outside: str | None = None,
    changing: bool = False,
    cutoff: Cutoff | None = None,
    far: Far | None = None,
    exclude: Any = None,
    images: Any = None,
    units: UnitSystem | None = None,
    holds: Sequence[Hold] = (),
) -> Term:
    """Bind an energy's (or a map's) arguments to fields, data and parameter values: `Term.of(TermSpec(...))`.

    name        of the term in reports and in "term.argument"; default: the energy's
    tuples      node numbers of the elements, (E, k), for an energy over tuples; over two sets of nodes, by
                default all combinations, (0, 0), (0, 1), ..., (1, 0), ...
    elements    an object of another kind (`elements.elements.Elements`) in place of the usual one
    bodies      limit the term to their nodes, and to the tuples that lie wholly in them; default: all nodes
    renamed     node field arguments to names of fields; default: the field of the argument's own name
    data        by argument, one value for each element: shape (E, ...) or of one value for all
    parameters  by argument: one value, one for each of `bodies` (a mapping by name), or one for each element
                (of all combinations also as a matrix, which is then kept in this shape); in the units of the
                fields
    tables      by argument, arrays of numbers
    gives       the name of the field that a map computes; of several, names by the declared ones; default:
                the declared ones
    grid        the cells that a map adds to or reads, or that the energy is over
    sizes       the number of nodes of sets that no field is over, by name, where `over` names sets
    copies      equal blocks of the nodes of every set: nodes of one block are combined, and all blocks share
                the values of elements, as samples of a batch share the weights of a network
    edges       over cells, and of windows of cells: what lies beyond an edge, along all axes or each;
                default: as declared
    outside     of a map with windows that leave its grid: "cut" them off, or "refuse" the state with an
                error; default: cut, in a program (`Evolution`) refuse, unless the map has edges
    changing    the tuples, which may be none, change later: `Term.set_tuples`
    cutoff      limit an energy or a map over pairs to a distance (`Cutoff`)
    far         compute far pairs of an energy over pairs by expansions (`Far`)
    exclude     with a cutoff: pairs that do not interact, (n, 2), or as `context.excluded` gives them
    images      in a periodic box, of listed tuples: copies of their nodes, whole numbers (E, k, d), of pairs
                also (E, d), those of second nodes; or how they follow: "chain", "first", or parents of slots;
                default: as the energy declares
    units       the run's units, in which defaults are taken; default: SI
    holds       what supports hold, from which data of some loads follow, such as the apex of a pressure

    Fields with a box displace the nodes of elements by images (`periodic_images`).

    Returns the term. Raises `EnergyError` naming the term and argument.
    """
    spec = TermSpec(
        energy,
        name=name,
        tuples=tuples,
        elements=elements,
        bodies=bodies,
        renamed=renamed or {},
        data=data or {},
        parameters=parameters or {},
        tables=tables or {},
        gives=gives,
        grid=grid,
        sizes=sizes or {},
        copies=copies,
        edges=edges,
        outside=outside,
        changing=changing,
        cutoff=cutoff,
        far=far,
        exclude=exclude,
        images=images,
        units=units,
        holds=tuple(holds),
    )
    term = Term.of(spec, fields)
    if term.remark:
        warnings.warn(term.remark, stacklevel=2)
    return term
