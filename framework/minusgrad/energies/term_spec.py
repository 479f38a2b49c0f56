"""A term's specification: an energy with its elements and values, before they are bound to fields.

Decisions 0030, 0052, 0071, 0160, 0291, 0292.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..elements import element_kind
from ..elements.cell_stencils import cell_stencil
from ..elements.element_kind import NODE
from ..elements.elements import Elements
from ..elements.node_tuples import NodeTuples
from ..errors import EnergyError, unknown
from ..scene.units import UnitSystem
from .cell_offsets import offsets_of
from .declaration import EDGES, identifier
from .fields import Body, Field, Grid, Hold, union_nodes
from .local_energy import INSIDE, WINDOW, LocalEnergy
from .local_map import OUTSIDE, Cell, LocalMap
from .pairs.cutoff import Cutoff
from .pairs.far import Far
from .roles import Datum, Node, Parameter, Table


@dataclass(frozen=True)
class TermSpec:
    """The arguments of `Term.of`; for their meaning see `bind`.

    images: of listed tuples, how they follow, or whole numbers (E, k, d), of pairs those of second nodes
    (E, d); None: as the energy declares. parents (E, k): the slots that images of each tuple follow.
    scaled: lists of pairs that interact at any distance, and the factor of each (`scaled_pairs`). cells: of
    tuples that are points in cells, the cell of each; values "for each element" are then those of cells.
    holds: what supports hold, from which `derived` data may follow; planes: those in which constraints keep
    nodes (`held_planes`). members: of listed tuples, those that are
    in a body, as a mask by its name; in other bodies are the tuples between their nodes.
    """

    energy: LocalEnergy
    name: str | None = None
    tuples: Any = None
    elements: Elements | None = None
    bodies: Sequence[Body] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    gives: str | Mapping[str, str] | None = None
    grid: Grid | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    copies: int = 1
    edges: str | Sequence[str] | None = None
    outside: str | None = None
    cutoff: Cutoff | None = None
    far: Far | None = None
    exclude: Any = None
    scaled: Mapping[str, tuple[Any, float]] = field(default_factory=dict)
    images: Any = None
    parents: np.ndarray | None = None
    units: UnitSystem | None = None
    cells: np.ndarray | None = None
    holds: Sequence[Hold] = ()
    planes: Sequence[Any] = ()
    members: Mapping[str, np.ndarray] = field(default_factory=dict)
    changing: bool = False

    @property
    def label(self) -> str:
        """The name of the term, which begins its messages."""
        return self.name or self.energy.name

    def frozen(self) -> "TermSpec":
        """The same with snapshots of the energy's functions: constants that they read stay as they are.

        Raises `EnergyError` for what no decorator has declared.
        """
        if not hasattr(self.energy, "frozen"):
            raise EnergyError(
                f"bind: needs a declared energy or map, got {type(self.energy).__name__}; write"
                " `@local_energy(...)` above all other decorators, and give the energy without values"
            )
        return replace(self, energy=self.energy.frozen())

    def checked(self) -> "TermSpec":
        """The same with the grid's spacing among the parameters. Raises `EnergyError` for names and grids."""
        identifier(self.label, "a term")
        refuse_strange(self.label, self.renamed, self.energy.of_role(Node))
        if self.energy.element_kind.cells:
            return self._over_a_grid()._with_spacing()
        if self.edges is not None and not self._has_windows:
            raise EnergyError(f"{self.label}: is not over cells, got edges; leave `edges` out")
        return self._onto_a_grid()

    @property
    def _has_windows(self) -> bool:
        """True if elements reach the cells of a grid within windows."""
        return isinstance(self.energy, LocalMap) and self.energy.cell is not None

    def _over_a_grid(self) -> "TermSpec":
        """The same, if there is a grid with known edges, and nothing else that makes elements."""
        if self.grid is None:
            raise EnergyError(f"{self.label}: is over the cells of a grid, got none; give a `grid`")
        if self.elements is not None or self.tuples is not None:
            raise EnergyError(f"{self.label}: is over cells of a grid, got other elements; leave them out")
        self.edges_by_axis()
        return self

    def edges_by_axis(self) -> tuple[str, ...]:
        """Values beyond the edges, by axis of the grid. Raises `EnergyError` for unknown kinds."""
        assert self.grid is not None
        usual = EDGES[0] if self.energy.element_kind.cells else EDGES[1]
        axes, given = len(self.grid.shape), self.edges or self.energy.edges or usual
        each = (given,) * axes if isinstance(given, str) else tuple(given)
        if strange := [one for one in each if one not in EDGES]:
            raise EnergyError(f"{self.label}.edges: {unknown('kind of edge', strange[0], EDGES)}")
        if len(each) != axes:
            raise EnergyError(
                f"{self.label}.edges: needs one for all axes, or {axes}, one for each, got {len(each)}; give"
                f" 1 or {axes}"
            )
        return each

    def around_cells(self, fields: Mapping[str, Field]) -> "TermSpec":
        """The same with the elements of the grid's cells, and the offsets that the function reads.

        Of other energies only the edges are settled. fields: by node argument. Raises `EnergyError` for
        fields of another length, and `TraceError`.
        """
        energy, grid = self.energy, self.grid
        if grid is None:
            return self
        if not energy.element_kind.cells:
            edges = self.edges_by_axis()
            return replace(self, energy=replace(energy, edges=edges if {*edges} - {"zero"} else ""))
        count = next((len(f) for a, f in fields.items() if energy.set_of(a) != WINDOW), len(grid))
        if count != len(grid):
            shape = " x ".join(map(str, grid.shape))
            raise EnergyError(
                f"{self.label}: its fields must have a value for each of the {len(grid)} cells of the grid"
                f" ({shape}), got {count}; give another `grid`, or fields over this one"
            )
        nodal = energy.of_role(Node)
        sizes = (f.shape[1 + nodal[a].shape.index("d")] for a, f in fields.items() if "d" in nodal[a].shape)
        tables = {a: np.shape(values) for a, values in self.tables.items()}
        offsets = offsets_of(energy, len(grid.shape), next(sizes, None), tables)
        edges, cells = self.edges_by_axis(), self._body_nodes(count)
        elements, inside = cell_stencil(grid.shape, offsets, edges, cells)
        roles, data = dict(energy.roles), dict(self.data)
        if "zero" in edges:
            roles[INSIDE], data[INSIDE] = Datum(shape=("k",)), inside.astype(np.float64)
        for argument, role in energy.of_role(Cell).items():
            if role.window is None:
                roles[argument] = Datum(shape=(len(grid.shape),), integer=True)
                data[argument] = np.stack(np.unravel_index(cells, grid.shape), axis=1)
        around = replace(energy, roles=roles, offsets=offsets, edges=edges)
        return replace(self, energy=around, data=data, elements=elements)

    def way_out(self) -> str | None:
        """The treatment of windows that leave the grid; None where neither it nor edges are declared."""
        of_map = self.energy
        if not isinstance(of_map, LocalMap) or of_map.cell is None or of_map.from_cells:
            if self.outside is not None:
                raise EnergyError(f"{self.label}: does not add to cells, got `outside`; leave it out")
            return OUTSIDE[0]
        return self.outside or (OUTSIDE[0] if self.edges or of_map.edges else None)

    def _onto_a_grid(self) -> "TermSpec":
        of_map = self.energy
        if not isinstance(of_map, LocalMap) or of_map.cell is None:
            if self.grid is not None:
                raise EnergyError(f"{self.label}: does not add to cells, got a grid; leave it out")
            return self
        if self.grid is None:
            does = "reads" if of_map.from_cells else "adds to"
            raise EnergyError(f"{self.label}: {does} the cells of a grid, got none; give a `grid`")
        if self.outside not in (None, *OUTSIDE):
            raise EnergyError(f"{self.label}.outside: {unknown('way', self.outside or '', OUTSIDE)}")
        return self._with_spacing()

    def _with_spacing(self) -> "TermSpec":
        assert self.grid is not None
        spacing = dict.fromkeys(self.energy.spacings, self.grid.spacing)
        if given := [argument for argument in spacing if argument in self.parameters]:
            raise EnergyError(f"{self.label}.{given[0]}: is the grid's spacing; leave it out")
        return replace(self, parameters={**self.parameters, **spacing})

    def output_names(self) -> dict[str, str]:
        """The names of a map's output fields, by the declared ones. Raises `EnergyError` for unfit names."""
        if not isinstance(self.energy, LocalMap):
            if self.gives is not None:
                raise EnergyError(
                    f"{self.label}: is an energy, got the output field '{self.gives}'; leave `gives` out"
                )
            return {}
        return output_names(self.label, list(self.energy.outputs), self.gives)

    def refuse_unknown(self) -> None:
        """Raises `EnergyError` for data, parameters and tables that the energy does not have."""
        own = {**self.energy.of_role(Datum), **self.energy.of_role(Parameter)}
        if unknown := [a for a in (*self.data, *self.parameters) if a not in own]:
            raise EnergyError(f"{self.label}: no datum or parameter named {', '.join(unknown)}")
        if unknown := [a for a in self.tables if a not in self.energy.of_role(Table)]:
            raise EnergyError(f"{self.label}: no table named {', '.join(unknown)}")

    def elements_among(self, sizes: Mapping[str, int]) -> tuple[Elements, np.ndarray]:
        """The elements, and a mask of those among the listed ones; `sizes`: the nodes of each set.

        Tuples with nodes outside the bodies are left out. Raises `EnergyError`.
        """
        kind = self.energy.element_kind
        if kind.directed:
            return self._around_pairs(sizes[NODE])
        plain = self.tuples is None and self.elements is None and not self.bodies
        if self.copies != 1:
            self._refuse_uncopied(plain, sizes)
        if kind.several or not sizes or (kind.can_be_combined and plain):
            self._refuse_one_set_alone()
            return element_kind.of_sets(kind, self.label, self.tuples, sizes, self.copies, self.sizes)
        (count,) = sizes.values()
        if kind.cells and self.elements is not None:
            return self.elements, np.ones(self.elements.rows, bool)
        if self.elements is None and self.members and self.bodies and self.tuples is not None:
            return self._among_members(count)
        if self.elements is None:
            nodes = self._body_nodes(count)
            if kind.can_be_limited and self.cutoff is not None and self.tuples is None:
                return _listed_of(nodes)
            return element_kind.usual(kind, self.label, nodes, self.tuples, count, self.copies)
        if self.bodies or self.tuples is not None:
            raise EnergyError(f"{self.label}.elements: given together with tuples or bodies; leave those out")
        element_kind.check_given(kind, self.elements, self.label, count)
        return self.elements, np.ones(self.elements.rows, bool)

    def _among_members(self, count: int) -> tuple[Elements, np.ndarray]:
        """The listed tuples that are in the bodies, by their members where these are known."""
        assert self.tuples is not None
        rows = NodeTuples.of(self.tuples, self.energy.element_kind.arity, count, f"{self.label}.tuples").nodes
        kept = self.in_bodies(rows) >= 0
        if not kept.any():
            raise EnergyError(f"{self.label}: none of its {len(rows)} tuples is in its bodies; name others")
        return NodeTuples(np.ascontiguousarray(rows[kept])), kept

    def in_bodies(self, rows: np.ndarray) -> np.ndarray:
        """The number of the first of the bodies that each of the listed tuples (E, k) is in; -1 for none."""
        found = np.full(len(rows), -1)
        for number, body in reversed([*enumerate(self.bodies)]):
            own = self.members.get(body.name)
            found[np.isin(rows, body.nodes).all(axis=1) if own is None else own] = number
        loose = [body for body in self.bodies if body.name not in self.members]
        if len(loose) > 1:
            nodes = replace(self, bodies=loose)._body_nodes(1 + int(max(b.nodes.max() for b in loose)))
            found[(found < 0) & np.isin(rows, nodes).all(axis=1)] = self.bodies.index(loose[0])
        return found

    def _around_pairs(self, count: int) -> tuple[Elements, np.ndarray]:
        """The directed pairs of nodes, or triples around them."""
        if self.copies != 1:
            self._refuse_uncopied(False, {})
        if self.elements is not None:
            raise EnergyError(f"{self.label}.elements: follow from positions; leave them out")
        nodes = self._body_nodes(count)
        if self.cutoff is not None and self.tuples is None:
            return _listed_of(nodes)
        return element_kind.usual(self.energy.element_kind, self.label, nodes, self.tuples, count)

    def _refuse_uncopied(self, plain: bool, sizes: Mapping[str, int]) -> None:
        """Refuse copies of elements that are listed or of bodies, and of sets that have no equal blocks."""
        kind, what = self.energy.element_kind, f"{self.label}.copies"
        if not plain or kind.cells or kind.unordered or (kind.listed and not kind.can_be_combined):
            raise EnergyError(
                f"{what}: are of all nodes, or of all combinations of two sets, got {self.copies} of other"
                " elements; leave `copies` out"
            )
        if self.copies < 1:
            raise EnergyError(f"{what}: needs one at least, got {self.copies}; correct it")
        for name, size in sizes.items():
            if size % self.copies:
                nodes = f"nodes of '{name}'" if name else "nodes"
                raise EnergyError(
                    f"{what}: {size} {nodes} are not {self.copies} equal blocks; give a divisor of {size}"
                )

    def _refuse_one_set_alone(self) -> None:
        """Refuse bodies, which are nodes of one set, and elements of other kinds."""
        sets = ", ".join(self.energy.element_kind.names)
        if self.bodies:
            raise EnergyError(
                f"{self.label}: a body is part of one set of nodes, got bodies for elements over {sets}; list"
                " the tuples that take part"
            )
        if self.elements is not None:
            raise EnergyError(
                f"{self.label}.elements: elements over several sets of nodes ({sets}) are listed, got"
                f" {type(self.elements).__name__}; give `tuples`"
            )

    def _body_nodes(self, count: int) -> np.ndarray:
        """The nodes of the bodies, each once, or all. Raises `EnergyError` for nodes out of range."""
        if not self.bodies:
            return np.arange(count, dtype=np.int32)
        nodes = union_nodes(self.bodies)
        if (outside := nodes[(nodes < 0) | (nodes >= count)]).size:
            raise EnergyError(
                f"{self.label}: its bodies must have nodes below {count}, got {outside[0]}; correct the body"
            )
        return nodes


def _listed_of(nodes: np.ndarray) -> tuple[Elements, np.ndarray]:
    """The nodes that triples or directed pairs within a cutoff are listed of."""
    return NodeTuples(nodes[:, None]), np.ones(len(nodes), bool)


def refuse_strange(name: str, renamed: Mapping[str, str], nodal: Mapping[str, Any]) -> None:
    """Raises `EnergyError` if a field is given to an argument that is not a node field."""
    if strange := [a for a in renamed if a not in nodal]:
        raise EnergyError(f"{name}: {unknown('node field', strange[0], nodal)}")


def output_names(
    label: str, declared: Sequence[str], gives: str | Mapping[str, str] | None
) -> dict[str, str]:
    """The names of a map's output fields by the declared ones, of which `gives` may rename some.

    Raises `EnergyError`, whose text begins with `label`, for unfit names.
    """
    if isinstance(gives, str) and len(declared) > 1:
        table = ", ".join(f'{name} = "..."' for name in declared)
        raise EnergyError(
            f"{label}: gives {len(declared)} fields ({', '.join(declared)}), got one name"
            f" '{gives}'; write gives = {{ {table} }}"
        )
    given = {declared[0]: gives} if isinstance(gives, str) else gives or {}
    if strange := [name for name in given if name not in declared]:
        raise EnergyError(f"{label}: {unknown('output', strange[0], declared)}")
    names = {name: identifier(given.get(name, name), "a field") for name in declared}
    if twice := [one for one in names.values() if [*names.values()].count(one) > 1]:
        raise EnergyError(f"{label}: gives '{twice[0]}' twice; name each output differently")
    return names
