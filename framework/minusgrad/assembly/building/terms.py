"""The terms of a scene: its blocks of energies, maps, slopes and compounds, bound to the fields.

Maps and slopes keep the order of the file, and are computed in it; U is the sum of the energies.

Decisions 0247.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ...check.dead_fields import rounds
from ...codegen.kept_traces import KEPT
from ...elements.trees.near_pairs import NearPairs
from ...energies.constraint import Constraint
from ...energies.fields import Hold
from ...energies.pairs.cutoff_jump import jump
from ...energies.roles import Datum
from ...energies.staged_energy import Staged
from ...energies.term import Term
from ...energies.values.element_data import refuse_in_runs
from ...energies.written.rest_shape import REST
from ...errors import EnergyError, SceneError, unknown
from ...potential.constraints.held_planes import HeldPlanes, held_planes
from ...potential.far_pairs.force_error import narrowed
from ...potential.map_chain import MapChain
from ...potential.potential import Potential
from ...potential.slope import Slope
from ...potential.staged.staged_binding import bind_staged
from ...potential.staged.staged_term import StagedTerm
from ...scene.document import Block, SlopeTable
from ...scene.records import quantities
from ...scene.toml_positions import KeyPath
from ..blocks.slopes import slope_of
from ..blocks.term_block import TermBlock
from ..contexts import Compound, CompoundContext
from .error_places import ErrorPlaces
from .start import Start
from .supports import Supports

OF_SLOPE = "scale: an energy of a slope is one term, got scaled pairs; make them an energy of their own"


class SceneTerms:
    """The bound terms of a scene, and U, their sum.

    potential: U, with the maps and slopes. bound: the term of each block that binds an energy or a map, by
    its place in the scene. kept_by_compounds: the constraints of compounds. lost_by_compounds: their
    dissipations. suspects: the terms and maps that round something, or may, so that their gradients may be
    dead. cut_sharply: the terms with a sharp cutoff, with the jump of a pair there. Raises `SceneError` with
    the place of a mistake.
    """

    def __init__(self, start: Start, supports: Supports, places: ErrorPlaces):
        self.scene, self.start, self._supports, self._places = start.scene, start, supports, places
        self.suspects: set[str] = set()
        self.cut_sharply: list[tuple[Term, float]] = []
        self.bound: dict[KeyPath, Any] = {}
        self._planes: list[HeldPlanes] = []
        self._bind_planes()
        maps = self._maps_and_slopes()
        blocks = [block for block in self.scene.energy if block.path not in self.bound]
        terms = [term for block in blocks for term in self.named(block)]
        place = "map" if maps else "energy"
        compounds: list[Compound] = []
        for block in self.scene.compound:
            known = [maps + [m for one in compounds for m in one.maps]]
            known.append(terms + [t for one in compounds for t in one.terms])
            compounds.append(self._compound(block, compounds, *known))
        self.kept_by_compounds = [one for compound in compounds for one in compound.constraints]
        self.lost_by_compounds = [one for compound in compounds for one in compound.dissipations]
        maps += [one for compound in compounds for one in compound.maps]
        terms += [one for compound in compounds for one in compound.terms]
        with places.placed((place,)):
            refuse_in_runs(terms)
            self.potential = Potential(start.fields, terms, maps)
        self._refuse_frozen_rest()
        self._compare_with_state()

    @property
    def given_holds(self) -> Sequence[Hold]:
        """The holds of the state and of the scene."""
        return self._supports.given

    def _bind_planes(self) -> None:
        """Bind constraints that keep nodes in planes, which data of loads may follow from."""
        found = []
        for block in self.scene.constraint:
            energy = self._places.validated.entries[block.path].energy
            if isinstance(energy, Constraint) and energy.planes is not None:
                (term,) = self.bound_by(block)
                found += [planes] if (planes := held_planes(term)) is not None else []
        self._planes = found

    def _maps_and_slopes(self) -> list[Term | StagedTerm | Slope]:
        """The maps and slopes, in the order of the file; with the energies that the slopes name."""
        scene, made = self.scene, list[Term | StagedTerm | Slope]()
        blocks: dict[KeyPath, Block] = {block.path: block for block in scene.map}
        maps, energies = dict[str, Term | StagedTerm](), dict[str, Term | StagedTerm]()
        by_name = {block.values.get("name", block.kind): block for block in scene.energy}
        tables: dict[KeyPath, SlopeTable] = {("slope", n): table for n, table in enumerate(scene.slope)}
        for path in scene.in_order([*blocks, *tables]):
            if path in blocks:
                found = self.bound_by(blocks[path])
                with self._places.placed(path):
                    self._refuse_unsaid_sum(path, found[-1], maps.values())
                maps |= {one.name: one for one in found}
                made += found
                self._compute_places(found, maps.values())
                for one in found:
                    self._places.terms.setdefault(one.name, path)
                continue
            for name in tables[path].energies:
                with self._places.placed(path):
                    if name not in by_name:
                        raise EnergyError(unknown("energy", name, by_name))
                if name not in energies:
                    *scaled, energies[name] = self.named(by_name[name])
                    if scaled:
                        raise SceneError([scene.document.problem(by_name[name].path, OF_SLOPE)])
            with self._places.placed(path):
                made.append(slope_of(tables[path], self.start.fields, energies, maps, self.start.units))
            self._places.terms.setdefault(made[-1].name, path)
        return made

    def _compute_places(self, found: Iterable[Any], maps: Iterable[Any]) -> None:
        """Run the maps to positions, once there is another, since lists and images of others are at them."""
        if any(field.places for one in found for field in one.outputs.values()):
            MapChain([*maps]).compute_places(0.0)

    def _compound(
        self, block: Block, others: Sequence[Compound], maps: Sequence[Any], terms: Sequence[Any]
    ) -> Compound:
        """The terms, maps and constraints of a block, under its place in the scene."""
        start = self.start
        context = CompoundContext(
            start.units,
            start.fields,
            start.state,
            start.context.read,
            start.context.remarks,
            self._supports.given,
            others,
            terms,
            maps,
        )
        made = self._places.made(block, context, Compound)
        for one in made.parts:
            self._places.terms.setdefault(one.name, block.path)
            self.bound[(*block.path, one.name)] = one
            if isinstance(one, StagedTerm) or rounds(KEPT.of_term(one, "value")):
                self.suspects.add(one.name)
        return made

    def _refuse_unsaid_sum(
        self, path: KeyPath, late: Term | StagedTerm, maps: Iterable[Term | StagedTerm]
    ) -> None:
        """Refuse a map that gives a field which one of `maps`, above it, gives, unless its block says so."""
        own, adds = {f.name for f in late.outputs.values()}, self._places.validated.models[path].adds
        shared = [(f.name, early.name) for early in maps for f in early.outputs.values() if f.name in own]
        if shared and not adds:
            (field, early), *_ = shared
            raise EnergyError(
                f"{late.name}: gives '{field}', as map '{early}' does; write adds = true for their sum, or"
                " another name in `gives`"
            )
        if adds and not shared:
            given = ", ".join(f"'{name}'" for name in sorted(own))
            raise EnergyError(f"{late.name}: adds to {given}, which no map above it gives; leave `adds` out")

    def named(self, block: Block) -> list[Any]:
        """The terms of a block, whose place in the scene is kept under their names."""
        bound = self.bound_by(block)
        for term in bound:
            self._places.terms.setdefault(term.name, block.path)
        return bound

    def bound_by(self, block: Block) -> list[Any]:
        """The terms of a block, with sweeps or scaled pairs, if it has any; the last one has its name."""
        energy = self._places.validated.entries[block.path].energy
        assert energy is not None
        model, random = self._places.validated.models[block.path], self.start.context.random
        with self._places.placed(block.path):
            found = TermBlock(
                energy, model, self.start.state, self.start.units, random, self._supports.given, self._planes
            )
            bound = (
                [self._staged_term(energy, found)] if isinstance(energy, Staged) else self._local_terms(found)
            )
        self.bound[block.path] = bound[-1]
        return bound

    def _local_terms(self, block: TermBlock) -> list[Term]:
        terms = block.bound(self.start.fields)
        if (planes := held_planes(terms[-1])) is not None:
            terms = block.without_nodes(planes.idle_nodes(block.holds), self.start.fields) or terms
        if height := jump(terms[-1]):
            self.cut_sharply.append((terms[-1], height))
        if isinstance(terms[-1].elements, NearPairs):
            self.start.context.remarks.append(narrowed(terms[-1]).remark)
        self.start.context.remarks += [term.remark for term in terms if term.remark]
        if rounds(KEPT.of_term(terms[-1], "value")):  # raises for an energy that cannot be traced
            self.suspects.update(term.name for term in terms)
        return terms

    def _staged_term(self, energy: Staged, block: TermBlock) -> StagedTerm:
        model: Any = block.model
        staged = bind_staged(
            energy,
            self.start.fields,
            name=model.name,
            renamed=model.fields,
            data=block.tables(Datum) | block.data,
            parameters=block.parameters,
            sizes=block.sizes,
            gives=getattr(model, "gives", None),
            grid=block.grid_named(getattr(model, "grid", None)),
            units=self.start.units,
        )
        self.suspects.add(staged.name)
        return staged

    def _refuse_frozen_rest(self) -> None:
        """Refuse terms that keep numbers of the shape at rest, where this is a field that may change."""
        for part in self.potential.parts.values() if self.start.state.of_rest else ():
            own = {a for a in getattr(part, "data", {}) if a in self.start.state.of_rest}
            own |= {f.name for f in part.fields.values() if f.name in self.start.state.of_rest}
            if own and REST not in part.fields:
                with self._places.placed(self._places.terms.get(part.name, ("energy",))):
                    raise EnergyError(
                        f"{part.name}: keeps '{min(own)}' of the rest shape of the start, and would not"
                        " follow the field 'rest', so that derivatives by it would be wrong; give it"
                        " rest_shape = true where it is a solid, else leave [state] rest_shape out"
                    )

    def _compare_with_state(self) -> None:
        """Remarks on energies that are others than those of the file that the state was read from."""
        if self.start.state.compare is not None:
            models = self._places.validated.models
            blocks = [*self.scene.energy, *self.scene.compound]
            values = [quantities(models[block.path], self.start.units) for block in blocks]
            tables = [{**given, "kind": block.kind} for block, given in zip(blocks, values, strict=True)]
            self.start.context.remarks += self.start.state.compare(tables)
