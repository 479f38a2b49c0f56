"""From a scene to running objects: the only place where names meet classes.

validated scene -> state -> fields, terms, potential -> stepper -> observers
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from logging import getLogger
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..check.dead_fields import CAUSE, CURE, dead_fields, rounds
from ..codegen.kept_traces import KEPT
from ..elements.trees.near_pairs import NearPairs
from ..energies.declaration import identifier
from ..energies.fields import BOX, POSITIONS, Body, Field, Fields, Hold, Rotation, State
from ..energies.magnetic_field import MagneticField
from ..energies.pairs.cutoff_jump import jump
from ..energies.roles import Datum
from ..energies.staged_energy import Staged
from ..energies.staged_map import StagedMap
from ..energies.term import Term
from ..energies.values.element_data import refuse_in_runs
from ..energies.written.rest_shape import REST
from ..engine import devices, memory, runtime
from ..errors import (
    CheckpointError,
    EnergyError,
    MinusgradError,
    NonFiniteStartError,
    PluginError,
    Problem,
    SceneError,
    TermError,
    UnknownFieldError,
    UpdateError,
    UserError,
    unknown,
)
from ..files.checkpoint import Snapshot
from ..files.h5md import Raster
from ..files.node_ranges import ranges
from ..files.trajectory import Recorder
from ..potential.constraints.constraints import Constraints
from ..potential.far_pairs.force_error import narrowed
from ..potential.non_finite import refuse_distant, refuse_non_finite
from ..potential.potential import Potential
from ..potential.slope import Slope
from ..potential.staged.staged_binding import bind_staged
from ..potential.staged.staged_term import StagedTerm
from ..potential.velocity_terms import refuse_velocities
from ..scene.document import PROGRAM, Block, HoldTable, SlopeTable
from ..scene.records import quantities
from ..scene.toml_positions import KeyPath
from ..scene.units import UnitSystem, duration, product, quotient, rate_unit
from ..steppers.holds import Holds
from ..steppers.magnetic.force import MagneticForce
from ..steppers.moves import refuse_idle
from ..steppers.stepper import Stepper, refuse_time_steps
from ..steppers.timed.time_stepper import TimeStepper
from . import job, provenance
from .arrays.arrays_state import ArraysBlock
from .arrays.unread_fields import MISTAKEN, refuse_unread
from .blocks import html_tables
from .blocks.slopes import slope_of
from .blocks.term_block import TermBlock, bodies_named, magnetic_term
from .contexts import Compound, CompoundContext, ObserverContext, StateContext, StepperContext
from .initial.initial_values import InitialValues
from .installed_plugins import OURS, Plugin
from .jump_remarks import jump_remark
from .observers import Observer
from .origins import run_origin
from .origins.plugin_sources import sources
from .registry import blamed
from .surroundings import surroundings
from .validation import WHAT, ValidatedScene

T = TypeVar("T")
LONG = 1.0
"""Seconds of one evaluation of the forces from which on an estimate of the run is printed."""
OF_SLOPE = "scale: an energy of a slope is one term, got scaled pairs; make them an energy of their own"
logger = getLogger("minusgrad")


class Simulation:
    """A scene's objects, at step 0."""

    def __init__(self, validated: ValidatedScene, folder: Path | None = None):
        self.scene, self.registry, self._validated = validated.scene, validated.registry, validated
        scene = self.scene
        self.units = scene.units.build()
        self._start_engine()
        self.starting = StateContext(
            self.units,
            scene.runtime.seed,
            folder or scene.path.parent,
            attached=scene.document.attached if folder is None else {},
        )
        own = validated.member and validated.member.state
        self.state = own or self._made(scene.state, self.starting, State)
        with self.placed(("box",) if scene.box else ("state",)):
            try:
                with np.errstate(over="ignore"):  # too large for f32: refused below
                    self.fields = self._fields()
                    self.fields.images_stay = True  # a path is continuous, and is followed from its start
            except EnergyError as error:
                raise EnergyError(str(error).removeprefix("box: ") if scene.box else str(error)) from None
        self.initial = self._put_initial(folder)
        refuse_non_finite(list(self.fields.values()), "the initial state", NonFiniteStartError)
        for motion in self.state.motions:
            refuse_distant(self.fields[motion.position], "the initial state")
        self.suspects: set[str] = set()
        """The terms and maps that round something, or may: their gradients may be dead."""
        self.bound: dict[KeyPath, Any] = {}
        """The term of each block that binds an energy or a map, by its place in the scene."""
        self._cut_sharply: list[tuple[Term, float]] = []
        self._terms: dict[str, KeyPath] = {}
        self.holds = self._holds()
        maps = self._maps_and_slopes()
        blocks = [block for block in scene.energy if block.path not in self.bound]
        bound = [term for block in blocks for term in self._named(block)]
        place = "map" if maps else "energy"
        compounds = [self._compound(block) for block in scene.compound]
        maps += [one for compound in compounds for one in compound.maps]
        bound += [one for compound in compounds for one in compound.terms]
        with self.placed((place,)):
            refuse_in_runs(bound)
            self.potential = Potential(self.fields, bound, maps)
        self._refuse_frozen_rest()
        self._announce()
        self._compare_with_state()
        self.lagrangian = self._lagrangian()
        self.dissipation = self._dissipation()
        self.magnetic = self._magnetic()
        self.constraints = self._constraints()
        self._refuse_unread()
        self.fitted = validated.fitted
        self._put_fitted()
        if validated.member is not None:
            validated.member.put(self)
        moving = StepperContext(
            self.units,
            self.potential,
            self.state.motions,
            self.holds,
            self.dissipation,
            scene.runtime.seed,
            self.magnetic,
            self.constraints,
            self.lagrangian,
        )
        with self.placed(scene.stepper.path):
            if scene.stepper.kind != PROGRAM:
                refuse_time_steps(self.potential)
        self.stepper = self._made(scene.stepper, moving, Stepper)
        self.stepper.kind = scene.stepper.kind
        self._set_clock()
        self._share_the_time()
        with self.placed(scene.stepper.path):
            refuse_velocities(self.potential, self.stepper.motions)
        self._refuse_a_stepper_that_forgets()
        self._say_the_mass()
        if self.state.of_rest and self.stepper.motions:
            with self.placed(scene.stepper.path):
                raise EnergyError(
                    "rest_shape: masses keep the shape at rest of the start, got a stepper in time; use a"
                    " minimiser"
                )
        self.recorder, self.observers = self._observed()
        self._surroundings = self._around()
        self.callbacks: dict[str, Any] = {}
        """Facts about the functions of a run in Python that are called between its steps, by name."""
        self.altered: dict[str, np.ndarray] = {}
        """Parameters that were written between steps, with the values that they had before."""
        for plugin in self._used_plugins():
            sources(plugin, self.registry.modules[plugin.name])  # as they are now, before they are edited

    def __repr__(self) -> str:
        return f"Simulation('{self.scene.path}', {self.stepper}, {self.potential})"

    def _observed(self) -> tuple[Recorder, list[Observer]]:
        """A new recorder, and the observers of the scene, which write into it."""
        seconds = self.units.symbol("s"), self.units.in_si("s")
        length = self.units.symbol("m"), self.units.in_si("m")
        grids = {name: Raster(grid.shape, grid.spacing, length) for name, grid in self.state.grids.items()}
        self.recorder = Recorder(
            self._recorded_units(),
            seconds,
            self.state.tuples,
            self.state.shown,
            grids,
            self.fields.periodic,
        )
        looking = ObserverContext(
            self.units,
            self.stepper,
            self.recorder,
            self.state.labels,
            self.state,
            self.holds,
            self.dissipation,
            self._places(),
            self.starting.read,
        )
        return self.recorder, [self._made(block, looking, Observer) for block in self.scene.observe]

    def follow(self, validated: ValidatedScene) -> None:
        """Go on from the present state with the steps, observers and checkpoints of another scene.

        Its state, energies and stepper must be those of the present scene.
        """
        self.scene, self._validated = validated.scene, validated
        self.recorder, self.observers = self._observed()

    def _repr_html_(self) -> str:
        return html_tables.of_simulation(self)

    def step(self, n: int = 1) -> None:
        """Take n steps, without observers and checkpoints. Raises `NonFiniteError` as a run does."""
        self.stepper.advance(n)

    @property
    def start_files(self) -> dict[str, bytes]:
        """The files that the scene read, by their names relative to its folder."""
        return self.starting.files

    @property
    def remarks(self) -> list[str]:
        """Remarks for the user about the initial state."""
        outside = [one.text(self.units.symbol(one.unit)) for one in self.stepper.outside]
        on_device = devices.remark(), self.stepper.device_remark(runtime.arch())
        own = (self.stepper.remark(self.scene.run.steps), self.stepper.order_remark, *on_device)
        cut = [jump_remark(*one, self.potential, self.units) for one in self._cut_sharply]
        return [*self.starting.remarks, *cut, *outside, *filter(None, own)]

    @property
    def potentials(self) -> list[Potential]:
        """All that have parameters: U, L, the dissipation, flows of the magnetic field, constraints."""
        flows = self.magnetic.potential if self.magnetic else None
        kept = self.constraints.potential if self.constraints else None
        every = (self.potential, self.lagrangian, self.dissipation, flows, kept)
        return [one for one in every if one is not None]

    @property
    def lanes(self) -> list[str]:
        """The terms that are evaluated in lanes."""
        return self.potential.in_lanes

    def look(self) -> None:
        """Observe step 0. Raises `SceneError` if the rows until the next checkpoint need too much memory."""
        job.first_look(self)

    def refuse_dead(self) -> None:
        """Raise `SceneError` for fields on which U depends although its gradient is zero, unless allowed."""
        if not self.scene.run.allow_dead and (problems := [*self.dead_fields()]):
            raise SceneError(problems)

    def dead_fields(self) -> Iterator[Problem]:
        """The fields on which U depends although its gradient is zero (`check.dead_fields`)."""
        for name, term in dead_fields(self.potential, self.suspects, self.stepper.time):
            text = f"U changes with '{name}', {CAUSE}, and nothing would move {name}; {CURE}"
            yield self.scene.document.problem(self._terms[term], text)

    @property
    def last(self) -> int:
        """The step at which it ends."""
        return self.scene.run.steps

    @property
    def between_saves(self) -> int:
        """Steps from one checkpoint to the next; 0: there is only that of the end."""
        return self.scene.checkpoint.every

    # Building

    def _fields(self) -> Fields:
        """The fields of the state, and the box. Raises `EnergyError` for two boxes, and for a flat one."""
        values, units = dict(self.state.fields), dict(self.state.units)
        table, precision = self.scene.box, self.scene.runtime.precision
        if table is None:
            return Fields(values, units, precision)
        given = quantities(table, self.units)
        vectors = np.diag(given["edges"]) if given["edges"] is not None else given["vectors"]
        if vectors is not None:
            if BOX in values:
                raise EnergyError("is given by the state, got another one; leave its edges out")
            d = np.shape(values.get(POSITIONS, ()))[1:]
            if d != (len(vectors),):
                raise EnergyError(
                    f"needs an edge for each axis of '{POSITIONS}', got {len(vectors)} for"
                    f" {d[0] if d else 'no positions'}; correct it"
                )
            values[BOX], units[BOX] = np.array(vectors, np.float64)[None], "m"
        periodic = table.periodic
        if isinstance(periodic, bool):
            periodic = (periodic,) * (np.shape(values[BOX])[-1] if BOX in values else 0)
        return Fields(values, units, precision, periodic)

    def _put_initial(self, inputs: Path | None) -> InitialValues | None:
        """Replace values of the state by those of `[initial]`, if there is one."""
        if self.scene.initial is None:
            return None
        where = self.scene.path.parent, inputs
        initial = InitialValues(self.scene.initial, self.starting, *where, self.placed)
        now = {name: field.values for name, field in self.fields.items()}
        units = {name: field.unit for name, field in self.fields.items()}
        found = initial.replaced(now, units, tuple(self.state.bodies))
        for name, values in found.items():
            self.fields[name].set(values)
        of_state = {name: found[name] for name in self.state.fields if name in found}
        self.state = replace(self.state, fields={**self.state.fields, **of_state})
        self.starting.remarks += initial.remarks(self._place_of) if inputs is None else []
        return initial

    def _place_of(self, path: KeyPath) -> str:
        """The file and line of a key, or its name where the scene has none."""
        found = self.scene.document.problem(path, "")
        return f"{found.file}:{found.line}" if found.line else found.key

    def _set_clock(self) -> None:
        """Begin at the time of the state of `[initial]`, where it says so."""
        if self.initial is None or self.initial.time is None:
            return
        with self.placed(("initial", "time")):
            if not isinstance(self.stepper, TimeStepper):
                kind = self.scene.stepper.kind
                raise EnergyError(f"stepper '{kind}' has no clock, got time = true; leave it out")
            if self.holds.moving:
                raise EnergyError(
                    "holds move on from where nodes are at time 0, got time = true, which would move them"
                    " twice; leave it out"
                )
            self.stepper.begin_at(self.initial.time)

    def _share_the_time(self) -> None:
        """Let energies that are evaluated without a time take the present one; flows have a duration."""
        flows = self.magnetic.potential if self.magnetic else None
        for potential in self.potentials:
            if potential is not flows:
                potential.clock = self._present_time

    def _present_time(self) -> float:
        return self.stepper.time

    def _refuse_unread(self) -> None:
        """Refuse fields of a state of arrays that nothing reads; blocks of other distributions may do so."""
        block, data = self._validated.models[self.scene.state.path], self.scene.document.data
        chosen = [self.scene.stepper, *self.scene.observe, *self.scene.compound]
        owners = [self._validated.entries[one.path].owner for one in chosen]
        if isinstance(block, ArraysBlock) and all(one.distribution == OURS for one in owners):
            among = None if all(one.name == "core" for one in owners) else MISTAKEN
            with self.placed(self.scene.state.path):
                refuse_unread(self.state, block.labels, self.potentials, data, among)

    def _say_the_mass(self) -> None:
        """A remark about nodes of a state of arrays that move with the default mass."""
        block = self._validated.models[self.scene.state.path]
        if isinstance(block, ArraysBlock) and block.motions is None and "m" not in self.state.fields:
            unit = f" {self.units.symbol('kg')}".removesuffix(" 1")
            text = f"the mass of each node is 1{unit}, as there is no field 'm'"
            self.starting.remarks += [text] if self.stepper.motions else []

    def _refuse_frozen_rest(self) -> None:
        """Refuse terms that keep numbers of the shape at rest, where this is a field that may change."""
        for part in self.potential.parts.values() if self.state.of_rest else ():
            own = {a for a in getattr(part, "data", {}) if a in self.state.of_rest}
            own |= {f.name for f in part.fields.values() if f.name in self.state.of_rest}
            if own and REST not in part.fields:
                with self.placed(self._terms.get(part.name, ("energy",))):
                    raise EnergyError(
                        f"{part.name}: keeps '{min(own)}' of the rest shape of the start, and would not"
                        " follow the field 'rest', so that derivatives by it would be wrong; give it"
                        " rest_shape = true where it is a solid, else leave [state] rest_shape out"
                    )

    def _compare_with_state(self) -> None:
        """Remarks on energies that are others than those of the file that the state was read from."""
        if self.state.compare is not None:
            blocks = [*self.scene.energy, *self.scene.compound]
            models = [quantities(self._validated.models[block.path], self.units) for block in blocks]
            tables = [{**model, "kind": block.kind} for block, model in zip(blocks, models, strict=True)]
            self.starting.remarks += self.state.compare(tables)

    def _announce(self) -> None:
        """Log the time and memory of a run whose forces take long, before they are computed."""
        wanted = [m.position for m in self.state.motions] or sorted(self.potential.reads)
        if (seconds := self.potential.seconds(wanted)) > LONG:
            steps = self.scene.run.steps
            logger.info(
                "the forces take about %s, so %d steps take %s or more; %s of memory are in use",
                duration(seconds), steps, duration(seconds * steps), memory.size(memory.used()),
            )  # fmt: skip

    def _put_fitted(self) -> None:
        """Overwrite initial values by those of an earlier fit, and add its checkpoints to the input files."""
        if self.fitted is None:
            return
        self.fitted.put(self)
        refuse_non_finite(list(self.saved_fields.values()), "the fitted start")
        self.starting.files.update(self.fitted.files)
        if self.fitted.folder is not None:
            self.starting.remarks.append(self.fitted.remark)

    def _start_engine(self) -> None:
        s = self.scene.runtime
        with self.placed(("runtime", "arch")):
            runtime.start(runtime.Options(s.engine, s.arch, s.threads, s.fast_math, s.device))

    @contextmanager
    def placed(self, path: KeyPath) -> Iterator[None]:
        """Tell the user's mistakes with their place in the scene."""
        try:
            yield
        except SceneError:
            raise
        except TermError as error:
            place = self._terms.get(error.term, path)
            raise SceneError([self.scene.document.problem(place, str(error))]) from error
        except UnknownFieldError as error:
            text = f"{error}{self._given_below(path, error.field)}"
            raise SceneError([self.scene.document.problem(path, text)]) from error
        except UpdateError as error:
            place, text = (*path, "next", error.field), str(error)
            text = text.removeprefix("next: ").removeprefix(f"next.{error.field}: ")
            raise SceneError([self.scene.document.problem(place, text)]) from error
        except UserError as error:
            raise SceneError([self.scene.document.problem(path, str(error))]) from error
        except MemoryError as error:
            text = f"needs more memory than there is ({memory.free()})"
            raise SceneError([self.scene.document.problem(path, text)]) from error

    def _made(self, block: Block, context: Any, wanted: type[T]) -> T:
        """The object that the block's model makes; a plugin that fails is named."""
        owner, what = self._validated.entries[block.path].owner, f"{WHAT[block.section]} '{block.kind}'"
        with self.placed(block.path):
            with blamed(owner, f"cannot make the {what}", but=(MinusgradError, MemoryError)):
                made = self._validated.models[block.path].make(context)
            if not isinstance(made, wanted):
                raise PluginError(f"{owner}: {what} makes a {type(made).__name__}, not a {wanted.__name__}")
            return made

    def _refuse_a_stepper_that_forgets(self) -> None:
        block, stepper = self.scene.stepper, self.stepper
        forgot = "[[hold]]" if self.holds.fields and stepper.holds is not self.holds else ""
        if stepper.motions and self.dissipation and stepper.dissipation is not self.dissipation:
            forgot = "[[dissipation]]"
        if stepper.motions and self.magnetic and stepper.magnetic is not self.magnetic:
            forgot = "[[magnetic]]"
        if self.constraints and stepper.constraints is not self.constraints:
            forgot = "[[constraint]]"
        if self.lagrangian and stepper.lagrangian is not self.lagrangian:
            text = f"stepper '{block.kind}' has no rule for a [[lagrangian]]; use kind = \"variational\""
            raise SceneError([self.scene.document.problem(block.path, text)])
        if forgot:
            owner = self._validated.entries[block.path].owner
            text = f"{owner}: stepper '{block.kind}' leaves the scene's {forgot} out"
            raise SceneError([self.scene.document.problem(block.path, text)])

    def _maps_and_slopes(self) -> list[Term | StagedTerm | Slope]:
        """The maps and slopes, in the order of the file; with the energies that the slopes name."""
        scene, made = self.scene, list[Term | StagedTerm | Slope]()
        blocks: dict[KeyPath, Block] = {block.path: block for block in scene.map}
        maps, energies = dict[str, Term | StagedTerm](), dict[str, Term | StagedTerm]()
        by_name = {block.values.get("name", block.kind): block for block in scene.energy}
        tables: dict[KeyPath, SlopeTable] = {("slope", n): table for n, table in enumerate(scene.slope)}
        for path in scene.in_order([*blocks, *tables]):
            if path in blocks:
                found = self._bound_by(blocks[path])
                with self.placed(path):
                    self._refuse_unsaid_sum(path, found[-1], maps.values())
                maps |= {one.name: one for one in found}
                made += found
                for one in found:
                    self._terms.setdefault(one.name, path)
                continue
            for name in tables[path].energies:
                with self.placed(path):
                    if name not in by_name:
                        raise EnergyError(unknown("energy", name, by_name))
                if name not in energies:
                    *scaled, energies[name] = self._named(by_name[name])
                    if scaled:
                        raise SceneError([scene.document.problem(by_name[name].path, OF_SLOPE)])
            with self.placed(path):
                made.append(slope_of(tables[path], self.fields, energies, maps, self.units))
            self._terms.setdefault(made[-1].name, path)
        return made

    def _compound(self, block: Block) -> Compound:
        """The terms and maps of a block, under its place in the scene."""
        context = CompoundContext(self.units, self.fields, self.state)
        made = self._made(block, context, Compound)
        for one in made.parts:
            self._terms.setdefault(one.name, block.path)
            self.bound[(*block.path, one.name)] = one
            if isinstance(one, StagedTerm) or rounds(KEPT.of_term(one, "value")):
                self.suspects.add(one.name)
        return made

    def _refuse_unsaid_sum(
        self, path: KeyPath, late: Term | StagedTerm, maps: Iterable[Term | StagedTerm]
    ) -> None:
        """Refuse a map that gives a field which one of `maps`, above it, gives, unless its block says so."""
        own, adds = {f.name for f in late.outputs.values()}, self._validated.models[path].adds
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

    def _given_below(self, path: KeyPath, field: str) -> str:
        """A cure for a stage that reads a field which a later one gives; empty if none does."""
        given: dict[KeyPath, set[str]] = {}
        given |= {("slope", n): set(table.by.values()) for n, table in enumerate(self.scene.slope)}
        given |= {block.path: self._given(block) for block in self.scene.map}
        order = list(self.scene.in_order([*given]))
        below = order[order.index(path) :] if path in given else []
        found = next((place for place in below if field in given[place]), None)
        return f"; {'.'.join(map(str, found))} below gives it, list that first" if found else ""

    def _given(self, block: Block) -> set[str]:
        """The names of the fields that a map gives."""
        energy, gives = self._validated.entries[block.path].energy, self._validated.models[block.path].gives
        outputs = energy.gives if isinstance(energy, StagedMap) else getattr(energy, "outputs", ())
        return {gives} if isinstance(gives, str) else {(gives or {}).get(name, name) for name in outputs}

    def _named(self, block: Block) -> list[Any]:
        """The terms of a block, whose place in the scene is kept under their names."""
        bound = self._bound_by(block)
        for term in bound:
            self._terms.setdefault(term.name, block.path)
        return bound

    def term(self, block: Block) -> Any:
        """The energy, or map, of a block, bound to the fields as the block says."""
        return self._bound_by(block)[-1]

    def _bound_by(self, block: Block) -> list[Any]:
        """The same with its sweeps or scaled pairs, if it has any; the last one has its name."""
        energy = self._validated.entries[block.path].energy
        assert energy is not None
        model, random = self._validated.models[block.path], self.starting.random
        with self.placed(block.path):
            found = TermBlock(energy, model, self.state, self.units, random, self._supports)
            bound = (
                [self._staged_term(energy, found)] if isinstance(energy, Staged) else self._local_terms(found)
            )
        self.bound[block.path] = bound[-1]
        return bound

    def _local_terms(self, block: TermBlock) -> list[Term]:
        terms = block.bound(self.fields)
        if height := jump(terms[-1]):
            self._cut_sharply.append((terms[-1], height))
        if isinstance(terms[-1].elements, NearPairs):
            self.starting.remarks.append(narrowed(terms[-1]).remark)
        self.starting.remarks += [term.remark for term in terms if term.remark]
        if rounds(KEPT.of_term(terms[-1], "value")):  # raises for an energy that cannot be traced
            self.suspects.update(term.name for term in terms)
        return terms

    def _staged_term(self, energy: Staged, block: TermBlock) -> StagedTerm:
        model: Any = block.model
        staged = bind_staged(
            energy,
            self.fields,
            name=model.name,
            renamed=model.fields,
            data=block.tables(Datum) | block.data,
            parameters=block.parameters,
            sizes=model.sizes,
            gives=getattr(model, "gives", None),
            grid=block.grid_named(getattr(model, "grid", None)),
            units=self.units,
        )
        self.suspects.add(staged.name)
        return staged

    def _places(self) -> dict[str, str]:
        """The grid that each field over one lies on, by field."""
        places = {field: name for name, grid in self.state.grids.items() for field in grid.fields}
        of_grid = {id(grid): name for name, grid in self.state.grids.items()}
        terms = [part for part in self.potential.parts.values() if isinstance(part, Term)]
        over = {f.name: term.grid_of(a) for term in terms for a, f in term.fields.items()}
        given = {f.name: m.receiving_grid for m in terms for f in m.outputs.values()}
        staged = [part for part in self.potential.parts.values() if isinstance(part, StagedTerm)]
        given |= {f.name: m.cells for m in staged for f in m.outputs.values()}
        read, written = (
            {n: of_grid[id(g)] for n, g in some.items() if id(g) in of_grid} for some in (over, given)
        )
        return read | places | written

    def _lagrangian(self) -> Potential | None:
        """The sum of the Lagrangians; None without any."""
        bound = [term for block in self.scene.lagrangian for term in self._named(block)]
        for term in bound:
            if term.name in self.potential.parts:
                with self.placed(self._terms[term.name]):
                    raise EnergyError(f"an energy is called '{term.name}', too; give one of them a `name`")
        with self.placed(("lagrangian",)):
            return Potential(self.fields, bound) if bound else None

    def _dissipation(self) -> Potential | None:
        """The sum of the dissipation terms. Raises `SceneError` for a term that depends on no velocity."""
        bound = []
        for block in self.scene.dissipation:
            found = self._bound_by(block)
            bound += found
            with self.placed(block.path):
                refuse_idle(found[-1], self.state.motions)
        with self.placed(("dissipation",)):
            return Potential(self.fields, bound) if bound else None

    def _magnetic(self) -> MagneticForce | None:
        """The magnetic force on charges, from the scene's fields."""
        terms = []
        for block in self.scene.magnetic:
            with self.placed(block.path):
                field, model = self._validated.entries[block.path].energy, self._validated.models[block.path]
                assert isinstance(field, MagneticField)
                terms.append(magnetic_term(field, model, self.state, self.units))
            self._terms.setdefault(terms[-1].label, block.path)
        if not terms:
            return None
        with self.placed(("magnetic",)):
            force = MagneticForce(self.fields, self.state.motions, terms)
        for block, term in zip(self.scene.magnetic, terms, strict=True):
            self.bound[block.path] = force.potential.terms[term.label]
        return force

    def _constraints(self) -> Constraints | None:
        """The constraints of the scene."""
        terms, projected = [], set()
        for block in self.scene.constraint:
            (term,) = self._bound_by(block)
            with self.placed(block.path):
                if term.name in self._terms:
                    raise EnergyError(f"two terms have one name: {term.name}; give them a `name` each")
            self._terms[term.name] = block.path
            if self._validated.models[block.path].project_start:
                projected.add(term.name)
            terms.append(term)
        with self.placed(("constraint",)):
            return Constraints(self.fields, terms, projected) if terms else None

    def _holds(self) -> Holds:
        """The holds of the state and of the scene."""
        holds = list(self.state.holds)
        for number, table in enumerate(self.scene.hold):
            with self.placed(("hold", number)):
                holds.append(self._hold(table))
                Holds(self.fields, holds, self.state.motions)  # so that a mistake is reported at its table
        self._supports = holds
        return Holds(self.fields, holds, self.state.motions)

    def _hold(self, table: HoldTable) -> Hold:
        bodies = self.bodies(table.body)
        positions = [m.position for m in self.state.motions]
        if table.field is None and len(positions) != 1:
            raise EnergyError(f"say which field is held (there move: {', '.join(positions) or 'none'})")
        field = self.fields[table.field or positions[0]]
        unit = UnitSystem.si().symbol(field.unit)
        far = tuple(self.units.convert(v, unit) for v in table.displacement)
        speed = tuple(self.units.convert(v, rate_unit(unit)) for v in table.velocity)
        return Hold(
            name=identifier(table.name or "_".join(b.name for b in bodies), "a hold"),
            field=field.name,
            nodes=np.unique(np.concatenate([b.nodes for b in bodies])),
            axes=tuple("xyz".index(letter) for letter in table.axes) if table.axes else None,
            displacement=far,
            duration=0.0 if table.duration is None else self.units.convert(table.duration, "s"),
            velocity=speed,
            rotation=self._rotation(table, unit),
        )

    def _rotation(self, table: HoldTable, unit: str) -> Rotation | None:
        """The rotation of a hold; its centre is in the field's unit."""
        if table.rotation is None:
            return None
        given = quantities(table.rotation, self.units)
        centre = tuple(self.units.convert(v, unit) for v in table.rotation.centre)
        return Rotation(centre, table.rotation.axis, given["angle"], given["rate"])

    def _around(self) -> dict[str, Any]:
        """The obstacles, loads and supports that pictures draw, as they are at the start."""
        terms = list(self.potential.parts.values())
        if self.dissipation is not None:
            terms += self.dissipation.parts.values()
        with self.placed(("energy",)):
            return surroundings(terms, self._supports, self.units)

    def bodies(self, names: str | tuple[str, ...] | None) -> list[Body]:
        """The state's bodies of these names; none if no name is given."""
        return bodies_named(self.state, names)

    def _recorded_units(self) -> dict[str, tuple[str, float]]:
        """Symbol and size in SI of everything that may be recorded."""
        pairs = {self.state.labels.get(n, n): f.unit for n, f in self.fields.items()}
        energies = [
            "kinetic",
            "energy_function",
            "total",
            "work",
            "dissipated",
            "damped",
            "heat",
            "cell",
            "residual",
        ]
        energies += [f"potential/{t}" for t in self.potential.terms]
        pairs |= dict.fromkeys(energies, "J") | {"box/edges": "m"}
        for field in self.holds.fields:
            label = "reaction" if len(self.holds.fields) == 1 else f"reaction/{field}"
            force = quotient("J", self.fields[field].unit)
            pairs |= dict.fromkeys([label, *(f"{label}/{h}" for h in self.holds.names)], force)
        for motion in self.state.motions:
            suffix = "" if len(self.state.motions) == 1 else f"/{motion.position}"
            mass = self.fields[motion.inertia].unit if isinstance(motion.inertia, str) else "1"
            p = product(mass, self.fields[motion.velocity].unit)
            if self.lagrangian is not None:
                p = quotient("J s", self.fields[motion.position].unit)
                pairs |= {f"momentum{suffix}": p, f"conjugate_momentum{suffix}": p}
                continue
            pairs |= {
                f"momentum{suffix}": p,
                f"angular_momentum{suffix}": product(p, self.fields[motion.position].unit),
            }
        if self.lagrangian is not None:
            terms = self.lagrangian.terms
            maps = {n for term in terms.values() for n in term.energy.generators}
            pairs |= {f"momentum_map/{n}": "J s" for n in maps}
            pairs |= {f"momentum_map/{t}_{n}": "J s" for t in terms for n in maps}
        return {label: (self.units.symbol(u), self.units.in_si(u)) for label, u in pairs.items()}

    # Saving and restoring

    @property
    def saved_fields(self) -> dict[str, Field]:
        """The fields that a checkpoint holds: not those that maps compute; the reference of lists, too."""
        own = {n: f for n, f in self.fields.items() if n not in self.fields.derived}
        return own | self.fields.of_lists

    def snapshot(self) -> Snapshot:
        """A copy of the present state, from which `restore` continues bit for bit."""
        found = job.snapshot(self)
        changed = {f"parameters/{name}": self.owner(name).parameter(name) for name in self.altered}
        return replace(found, arrays=found.arrays | changed) if changed else found

    def restore(self, snapshot: Snapshot, changed: bool = False) -> None:
        """Restore a saved state; if the scene has `changed`, observers that do not fit start afresh.

        Raises `CheckpointError` if it does not fit this scene: an array is missing, or one is unexpected.
        """
        self._restore_parameters(snapshot.under("parameters"))
        job.restore(self, snapshot, changed)
        try:
            self.stepper.refuse_unfit()
        except EnergyError as error:
            raise CheckpointError(f"the checkpoint's fields do not serve: {error}") from None

    def _restore_parameters(self, saved: dict[str, np.ndarray]) -> None:
        """Set the parameters that were written before a state was saved; the others as in the scene."""
        names = [*{**self.altered, **saved}]
        try:
            for name in names:
                of, given = self.owner(name), self.altered.get(name)
                self.altered[name] = of.parameter(name).copy() if given is None else given
                of.set_parameter(name, saved.get(name, self.altered[name]))
        except EnergyError as error:
            raise CheckpointError(f"the checkpoint's parameters do not fit the scene: {error}") from None
        self.altered = {name: self.altered[name] for name in saved}
        if names:
            self.stepper.take_parameters(names)

    def owner(self, name: str) -> Potential:
        """The potential that has the parameter "term.parameter"; U for an unknown term."""
        term = name.partition(".")[0]
        return next((one for one in self.potentials if term in one.parts), self.potential)

    def refresh(self) -> None:
        """Set held components to their prescribed values at the present time, and recompute all maps."""
        self.stepper.place()  # a minimiser cannot converge with held nodes elsewhere
        self.potential.refresh(self.stepper.time)

    def facts(self) -> dict[str, Any]:
        """Facts about the origin of a checkpoint."""
        facts = provenance.facts(self.scene, self.start_files, self.registry, self._used_plugins())
        bodies = {body.name: ranges(body.nodes) for body in self.state.bodies}
        around = {"surroundings": self._surroundings} if any(self._surroundings.values()) else {}
        fitted = {} if self.fitted is None else {"fitted": self.fitted.facts()}
        fitted |= {} if self.initial is None else self.initial.facts()
        named = {"names": list(self.state.names), "labels": dict(self.state.labels), "bodies": bodies}
        called = {"callbacks": self.callbacks} if self.callbacks else {}
        return facts | named | {"origin": self.origin} | around | fitted | called

    @cached_property
    def origin(self) -> run_origin.Facts:
        """Digests of the energies, values and code that the simulation was built from."""
        entries = self._validated.entries
        made: dict[KeyPath, Any] = {self.scene.stepper.path: self.stepper}
        made |= {block.path: one for block, one in zip(self.scene.observe, self.observers, strict=True)}
        owned = {path: (entries[path].owner, one) for path, one in made.items()}
        found = {path: (self._owner(path), one) for path, one in self.bound.items()}
        state = entries[self.scene.state.path].owner, self.state, self.holds.fields
        return run_origin.of_run(found, state, owned, self.registry, self._used_plugins())

    def _owner(self, path: KeyPath) -> Plugin:
        """The plugin of the block that a term or map comes from; a compound has several below its path."""
        entries = self._validated.entries
        return next(entries[path[:end]].owner for end in range(len(path), 0, -1) if path[:end] in entries)

    def _used_plugins(self) -> list[Plugin]:
        """The plugins that the scene's kinds come from."""
        return list({e.owner.name: e.owner for e in self._validated.entries.values()}.values())
