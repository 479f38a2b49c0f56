"""From the block of an energy or a map to a term's specification: names become arrays of the state.

Decisions 0071, 0143, 0160, 0226.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...energies.declaration import PAIR_KEYS
from ...energies.fields import Body, Fields, Grid, Hold, State
from ...energies.local_energy import LocalEnergy
from ...energies.local_map import LocalMap
from ...energies.magnetic_field import CHARGE, MagneticField
from ...energies.pairs.cutoff import Cutoff
from ...energies.pairs.far import Far
from ...energies.pairs.scaled_pairs import with_scaled_pairs
from ...energies.repeated_maps import sweeps
from ...energies.roles import Datum, Node, Parameter, Table
from ...energies.staged_energy import Staged
from ...energies.term import Term
from ...energies.term_spec import TermSpec
from ...energies.values.drawn_values import DrawnValues
from ...energies.written.mean_dilatation import with_mean_dilatation
from ...energies.written.rest_shape import REST, with_rest_shape
from ...energies.written.thermal_expansion import EXPANSION, TEMPERATURE, THERMAL, with_thermal_expansion
from ...errors import EnergyError, at_key, choices, unknown
from ...potential.constraints.held_planes import HeldPlanes
from ...scene.records import Record, quantities
from ...scene.units import UnitSystem
from ...steppers.magnetic.force import MagneticTerm
from .energy_block import EACH
from .named_pairs import PLACE, excluded, pairs_along_bonds, scaled

SHARP = "none"
"""The `switch` of a sharp cutoff."""


class TermBlock:
    """An energy, the model of its block, and the state that the block names bodies, lists and grids of.

    `random` gives a generator for the name of a stream, here "term.argument". holds: what supports hold.
    planes: those in which constraints keep nodes.
    """

    def __init__(
        self,
        energy: LocalEnergy | Staged,
        model: Record,
        state: State,
        units: UnitSystem,
        random: Callable[[str], np.random.Generator],
        holds: Sequence[Hold] = (),
        planes: Sequence[HeldPlanes] = (),
    ):
        self.holds, self.planes = holds, planes
        self.model, self.state, self.units = model, state, units
        self.name: str | None = getattr(model, "name", None)
        if getattr(model, "plane_stress", False):
            self.name = self.name or energy.name
            energy = energy.plane_stress  # type: ignore[union-attr, assignment]
        plain, fbar = energy, getattr(model, "fbar", False)
        if any(getattr(model, key, None) is not None for key in THERMAL if key not in energy.roles):
            energy = self._that_expands(energy, fbar)
        self.energy = self._with_means(energy) if fbar else energy
        if getattr(model, "rest_shape", False):
            if fbar:
                raise EnergyError(
                    "rest_shape: the means of fbar are over cells of the mesh as it was made, got both; leave"
                    " one of them out"
                )
            self.energy = self._of_rest_shape(self.energy)
        label, roles = self.name or plain.name, energy.roles
        self._given: dict[str, Any] = {}
        for a, value in quantities(model, units).items():
            if value is not None and a in roles:
                drawn = isinstance(value, dict) and EACH in value and isinstance(energy, LocalEnergy)
                stream = f"{label}.{a}"
                self._given[a] = DrawnValues(stream, random(stream), **value) if drawn else value

    def _that_expands(self, energy: Any, fbar: bool) -> LocalEnergy:
        """The form with thermal strain. Raises `EnergyError` for half of its keys, without temperatures."""
        made = with_thermal_expansion(energy, fbar)
        if missing := [key for key in THERMAL if getattr(self.model, key) is None]:
            other = next(key for key in THERMAL if key != missing[0])
            raise EnergyError(f"{other}: needs `{missing[0]}` beside it, got none; give both, or neither")
        field = self.model.fields.get(TEMPERATURE, TEMPERATURE)  # type: ignore[attr-defined]
        if field not in self.state.fields:
            raise EnergyError(
                f"{EXPANSION}: needs the field '{field}' of temperatures, got none; give [state] its"
                ' temperature = "20 degC"'
            )
        return made

    def _with_means(self, energy: Any) -> LocalEnergy:
        """The F-bar form. Raises `EnergyError` where no list of the state has cells with several points."""
        made = with_mean_dilatation(energy)
        (weights,) = made.roles.keys() - energy.roles.keys()
        given = [data[weights] for data in self.state.data.values() if weights in data]
        if not given:
            raise EnergyError(
                "fbar: needs cells with several quadrature points, got none; use quadrilaterals, hexahedra or"
                " cells of order 2, or leave `fbar` out"
            )
        return with_mean_dilatation(energy, plane=given[0].shape[-1] == 2)

    def _of_rest_shape(self, energy: Any) -> LocalEnergy:
        """The form whose rest shape is a field. Raises `EnergyError` where the state has none."""
        if REST not in self.state.fields:
            raise EnergyError("rest_shape: needs the field 'rest', got none; give [state] rest_shape = true")
        return with_rest_shape(energy)

    @property
    def data(self) -> dict[str, Any]:
        """The data that the block gives."""
        return {a: v for a, v in self._given.items() if isinstance(self.energy.roles[a], Datum)}

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that the block gives."""
        return {a: v for a, v in self._given.items() if a not in self.data}

    def tables(self, role: type) -> dict[str, np.ndarray]:
        """The tables of the state that stand for arguments of this role."""
        return {a: v for a, v in self.state.tables.items() if a in self.energy.of_role(role)}

    def spec(self) -> TermSpec:
        """The specification of the term. Raises `EnergyError` for names that the state does not have."""
        energy, model = self.energy, self.model
        assert isinstance(energy, LocalEnergy)
        tuples, found, cells, listed = self._tuples(getattr(model, "tuples", None), energy)
        body = getattr(model, "body", None)
        bodies = bodies_named(self.state, body if body is not None else self._bodies_of_parameters())
        return TermSpec(
            energy,
            name=self.name,
            tuples=tuples,
            bodies=bodies,
            renamed=getattr(model, "fields", {}),
            data={a: v for a, v in found.items() if a in energy.of_role(Datum)} | self._at_points(cells),
            parameters=_listed_values(energy, found) | self.parameters,
            tables=self.tables(Table),
            gives=getattr(model, "gives", None),
            grid=self._grid(energy, getattr(model, "grid", None)),
            sizes=self._usual_sizes(energy) | self.sizes,
            copies=getattr(model, "copies", 1),
            edges=getattr(model, "edges", None),
            outside=getattr(model, "outside", None),
            cutoff=self._cutoff(),
            far=self._far(),
            exclude=excluded(self.state, self._of_pairs("exclude", None)),
            scaled=scaled(self.state, self._of_pairs("scale", {})),
            units=self.units,
            cells=cells,
            holds=self.holds,
            planes=self.planes,
            members=self._members(listed, bodies, cells, tuples) if listed else {},
            **self._images(energy, listed),
        )

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that the block gives. Raises `EnergyError` for names that the state cannot count."""
        given: Mapping[str, int | str] = getattr(self.model, "sizes", {})
        counts = self.state.counts
        if strange := [
            (of, name) for of, name in given.items() if name not in counts and isinstance(name, str)
        ]:
            ((of, name), *_) = strange
            with at_key("sizes", of):
                raise EnergyError(unknown("list, field or set of the state", name, counts))
        return {of: self._of_copy(counts[one]) if isinstance(one, str) else one for of, one in given.items()}

    def _usual_sizes(self, energy: LocalEnergy) -> dict[str, int]:
        """The sizes that the state knows of sets that no field of the energy is over."""
        kind = energy.element_kind
        over = {energy.set_of(a) for a in energy.of_role(Node)}
        return {of: self._of_copy(n) for of, n in self.state.sizes.items() if of in set(kind.sets) - over}

    def _of_copy(self, count: int) -> int:
        """The part of each of the block's copies in a number."""
        return count // getattr(self.model, "copies", 1)

    def _of_pairs(self, key: str, default: Any) -> Any:
        """The value of a key of pairs; an argument of that name is one of its energy."""
        return default if key in self.energy.roles else getattr(self.model, key, default)

    def _images(self, energy: LocalEnergy, listed: str) -> dict[str, Any]:
        """How images of listed tuples follow, or the images: of the block, or of the state's list."""
        if not energy.listed:
            return {}
        given = getattr(self.model, "images", None)
        return {
            "images": self.state.images.get(listed) if given is None else given,
            "parents": self.state.parents.get(listed) if given is None else None,
        }

    def _far(self) -> Far | None:
        """How far pairs are expanded."""
        table = self._of_pairs("far", None)
        return Far(**table.model_dump()) if table else None

    def _at_points(self, cells: np.ndarray | None) -> dict[str, Any]:
        """The data that the block gives; values of cells for each of their points."""
        if cells is None:
            return self.data
        several = {a: np.ndim(v) > len(self.energy.roles[a].shape) for a, v in self.data.items()}
        if wrong := [a for a, v in self.data.items() if several[a] and len(v) != cells.max() + 1]:
            raise EnergyError(
                f"{wrong[0]}: needs one value, or {cells.max() + 1}, one for each cell, got"
                f" {len(self.data[wrong[0]])}; correct it"
            )
        return {a: np.asarray(v)[cells] if several[a] else v for a, v in self.data.items()}

    def _cutoff(self) -> Cutoff | None:
        """The cutoff of pairs, in the run's units. Raises `EnergyError` for keys that need one."""
        if isinstance(self.energy, LocalEnergy) and self.energy.listed:
            return None
        keys = set(PAIR_KEYS) - set(self.energy.roles)
        given = {key: value for key, value in quantities(self.model, self.units).items() if key in keys}
        if given.get("cutoff") is None:
            if lost := [key for key, value in given.items() if value]:
                raise EnergyError(f"{lost[0]}: needs a cutoff, got none; give `cutoff`, or leave it out")
            return None
        sharp = given["switch"] == SHARP
        switch = None if sharp else given["switch"]
        return Cutoff(given["cutoff"], switch, given["skin"], sharp, given["images"])

    def bound(self, fields: Fields) -> list[Term]:
        """The term, bound to fields; of a map that is repeated its sweeps, the last of which has its name."""
        times, begin = (getattr(self.model, key, None) for key in ("repeat", "begin"))
        if times is not None:
            return sweeps(self.spec(), fields, times, begin)
        if begin is not None:
            raise EnergyError(f"'{self.energy.name}' is not repeated, got `begin`; give `repeat`, too")
        return with_scaled_pairs(self.spec(), fields)

    def without_nodes(self, nodes: np.ndarray, fields: Fields) -> list[Term]:
        """The term without some nodes of its bodies; [] where none of these nodes is in them, or all are."""
        spec = self.spec()
        kept = [Body(b.name, b.nodes[~np.isin(b.nodes, nodes)]) for b in spec.bodies]
        if sum(map(len, (b.nodes for b in kept))) in (0, sum(map(len, (b.nodes for b in spec.bodies)))):
            return []
        return [Term.of(replace(spec, bodies=[b for b in kept if len(b.nodes)]), fields)]

    def _tuples(
        self, named: Any, energy: LocalEnergy
    ) -> tuple[Any, Mapping[str, np.ndarray], np.ndarray | None, str]:
        """The rows and the data of a list, or as written; of points their cells; the name of the list.

        Where none is named, it is the one list of that length that has the data that the block does not give;
        over two sets of nodes, it is all combinations.
        """
        if not energy.listed or (named is not None and not isinstance(named, str)):
            return named, {}, None, ""
        if named is None and energy.element_kind.can_be_combined:
            return None, {}, None, ""
        points, data = self.state.quadratures, self.state.data
        lists = {**self.state.tuples, **{name: one.nodes for name, one in points.items()}}
        arity = energy.element_kind.arity
        known = [n for n, rows in lists.items() if arity in (None, rows.shape[1])]
        needed = {a for a, role in energy.of_role(Datum).items() if not role.derived} - set(self.data)
        able = [n for n in known if needed <= set(data.get(n, ()))] if needed else self._plain_lists(known)
        name = named or (able[0] if len(able) == 1 else None)
        if name not in known:
            if not name and not known and lists:
                there = ", ".join(f"{n} of {rows.shape[1]}" for n, rows in lists.items())
                raise EnergyError(
                    f"'{energy.name}' takes {arity} nodes, got a state with lists of others ({there});"
                    f" list them: tuples = [[{', '.join(map(str, range(arity or 2)))}], ...]"
                )
            kind = f"{arity}-tuples" if arity else "tuples"
            ask = f"say which `tuples`{choices('', self._plain_lists(known))}"
            raise EnergyError(unknown(f"list of {kind}", name, known) if name else ask)
        rows = lists[name] if name in points else pairs_along_bonds(self.state, name)
        return rows, data.get(name, {}), points[name].cell if name in points else None, name

    def _plain_lists(self, names: Sequence[str]) -> list[str]:
        """Those among some lists that are no other points of the cells of an earlier one."""
        points, kept = self.state.quadratures, list[str]()
        for name in names:
            cells = points[name].lists if name in points else (name,)
            if not any(cells == (points[k].lists if k in points else (k,)) for k in kept):
                kept.append(name)
        return kept

    def _members(
        self, listed: str, bodies: Sequence[Body], cells: np.ndarray | None, tuples: Any
    ) -> dict[str, np.ndarray]:
        """By body, a mask of the elements of a list that are in it, where the state knows them.

        Several bodies have the facets of each, and none between one and another. Raises `EnergyError` for a
        body with elements that are not in the list.
        """
        found, nodes = dict[str, np.ndarray](), np.asarray(tuples)
        if listed in self.state.facet_lists and len(bodies) > 1:
            found = {b.name: np.asarray(np.isin(nodes, b.nodes).all(axis=1)) for b in bodies}
        named = [body.name for body in bodies]
        for name, rows in self.state.groups.get(listed, {}).items():
            if name not in named:
                continue
            if lost := self.state.inner.get(listed, {}).get(name, 0):
                raise EnergyError(
                    f"body '{name}': must have facets of the boundary alone, got {lost} inside of the mesh;"
                    " name its part on the boundary as a group of its own"
                )
            if cells is None:
                found[name] = np.zeros(len(nodes), bool)
                found[name][rows] = True
            else:
                found[name] = np.isin(cells, rows)
        return found

    def _bodies_of_parameters(self) -> tuple[str, ...] | None:
        """The bodies for which a parameter has values of their own; None if no parameter has."""
        return _with_values(self._given)

    def _grid(self, energy: LocalEnergy, named: str | None) -> Grid | None:
        """The grid that a map gives to, or whose cells are the elements: as named, or the only one."""
        gives_to_cells = isinstance(energy, LocalMap) and energy.cell is not None
        if not gives_to_cells and not energy.element_kind.cells:
            if named is not None:
                raise EnergyError(
                    f"'{energy.name}' gives to nodes, and not to a grid's cells; leave `grid` out"
                )
            return None
        grids = self.state.grids
        name = named or (next(iter(grids)) if len(grids) == 1 else "")
        if not name:
            raise EnergyError(f"say which `grid`{choices('', grids)}")
        return self.grid_named(name)

    def grid_named(self, name: str | None) -> Grid | None:
        """The state's grid of this name; None for none. Raises `EnergyError` for an unknown one."""
        if name is None:
            return None
        if name not in self.state.grids:
            raise EnergyError(unknown("grid", name, self.state.grids))
        return self.state.grids[name]


def _listed_values(energy: LocalEnergy, found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The values of parameters that a list has for each of its elements."""
    return {
        a: v
        for a, v in found.items()
        if a in energy.of_role(Parameter) and getattr(energy.roles[a], "listed", False)
    }


def bodies_named(state: State, names: str | tuple[str, ...] | None, rows: int | None = None) -> list[Body]:
    """The state's bodies of these names; none if no name is given. Raises `EnergyError`.

    rows: of a field of the state, which has none for virtual sites: these are left out.
    """
    known = {b.name: b for b in state.bodies}
    if names == ():
        raise EnergyError("body = [] names no body; leave it out for all nodes")
    names = () if names is None else (names,) if isinstance(names, str) else names
    if missing := [n for n in names if n not in known]:
        raise EnergyError(unknown("body", missing[0], known))
    found = [known[n] for n in names]
    if rows is None or PLACE not in state.sizes:
        return found
    if bare := [body.name for body in found if not (body.nodes < rows).any()]:
        raise EnergyError(f"body '{bare[0]}': has sites alone, which are no nodes of this field; name atoms")
    return [Body(body.name, body.nodes[body.nodes < rows]) for body in found]


def magnetic_term(field: MagneticField, model: Any, state: State, units: UnitSystem) -> MagneticTerm:
    """The term of a block. Raises `EnergyError` for names that the state does not have, or without charge."""
    given = {a: v for a, v in quantities(model, units).items() if v is not None and a in field.roles}
    what, nodal = f"magnetic field '{model.name or field.name}'", {CHARGE, field.place or "x"}
    if strange := [a for a in model.fields if a not in nodal]:
        raise EnergyError(f"{what}: `fields` names no '{strange[0]}'{choices(strange[0], sorted(nodal))}")
    if (CHARGE in given) is (CHARGE in model.fields):
        got = "both" if CHARGE in given else "neither"
        raise EnergyError(
            f"{what}: needs its `charge` or `fields = {{ charge = ... }}`, a field of the state, got {got};"
            " give one of them"
        )
    parameters = {a: v for a, v in given.items() if a != CHARGE}
    if field.uniform and not isinstance(given["B"], (list, tuple)):
        parameters["B"] = [0.0, 0.0, given["B"]]
    return MagneticTerm(
        field,
        charge=model.fields.get(CHARGE, given.get(CHARGE)),
        parameters=parameters,
        position=model.fields.get(field.place or "x"),
        bodies=bodies_named(state, model.body if model.body is not None else _with_values(given)),
        name=model.name,
        units=units,
        in_plane=field.uniform and not isinstance(given["B"], (list, tuple)),
    )


def _with_values(given: Mapping[str, Any]) -> tuple[str, ...] | None:
    tables = [value for value in given.values() if isinstance(value, dict)]
    return tuple(tables[0]) if tables else None
