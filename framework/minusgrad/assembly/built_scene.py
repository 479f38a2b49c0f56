"""From a scene to running objects: the only place where names meet classes.

validated scene -> state -> fields, terms, potential -> system -> stepper -> observers

Decisions 0002.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..check.dead_fields import CAUSE, CURE, dead_fields
from ..energies.fields import Body, Field, Fields, Hold, State
from ..engine import devices, memory, runtime
from ..errors import CheckpointError, EnergyError, Problem, SceneError
from ..files.checkpoint import Snapshot
from ..files.node_ranges import ranges
from ..files.trajectory import Recorder
from ..potential.constraints.constraints import Constraints
from ..potential.non_finite import refuse_non_finite
from ..potential.potential import Potential
from ..potential.velocity_terms import refuse_velocities
from ..scene.document import PROGRAM, Block
from ..scene.toml_positions import KeyPath
from ..scene.units import UnitSystem, duration
from ..steppers.holds import Holds
from ..steppers.magnetic.force import MagneticForce
from ..steppers.stepper import Stepper, refuse_time_steps
from ..steppers.systems.parts import CONSTRAINTS, FRICTION, LAGRANGIAN, MAGNETIC, PARTS, SUPPORTS
from ..steppers.timed.time_stepper import TimeStepper
from . import job, provenance
from .arrays.arrays_state import ArraysBlock
from .arrays.unread_fields import MISTAKEN, refuse_unread
from .blocks import html_tables
from .blocks.term_block import bodies_named
from .building.error_places import ErrorPlaces
from .building.jump_remarks import jump_remark
from .building.recording import grids_of_fields, recorder
from .building.sides.named_sides import side_facts
from .building.start import Start
from .building.supports import Supports
from .building.surroundings import surroundings
from .building.system_parts import SystemParts
from .building.terms import SceneTerms
from .building.view_inputs import ViewInputs
from .contexts import ObserverContext, StateContext, StepperContext
from .initial.initial_values import InitialValues
from .installed_plugins import OURS, Plugin
from .observers import Observer
from .origins import run_origin
from .origins.plugin_sources import sources
from .validation import ValidatedScene

if TYPE_CHECKING:
    from .fits.fitted import Fitted

LONG = 1.0
"""Seconds of one evaluation of the forces from which on an estimate of the run is printed."""
TABLES = {
    SUPPORTS: ("holds", "[[hold]]"),
    FRICTION: ("dissipation", "[[dissipation]]"),
    MAGNETIC: ("magnetic", "[[magnetic]]"),
    CONSTRAINTS: ("constraints", "[[constraint]]"),
    LAGRANGIAN: ("lagrangian", "[[lagrangian]]"),
}
"""The attribute of a system, and the table of a scene, by part."""
GIVEN_WORK = "work of inputs"
"""The name of the work that numbers of a page did, among the parameters of a checkpoint."""
logger = getLogger("minusgrad")


class BuiltScene:
    """A scene's objects, at step 0."""

    def __init__(self, validated: ValidatedScene, folder: Path | None = None):
        self.scene, self.registry, self._validated = validated.scene, validated.registry, validated
        scene, self._places = self.scene, ErrorPlaces(validated)
        self._start_engine()
        self._start = Start(validated, folder, self._places)
        supports = Supports(self._start, self._places)
        self._terms = SceneTerms(self._start, supports, self._places)
        self._announce()
        self.system = SystemParts(self._start, supports, self._terms, self._places).system
        self._refuse_unread()
        self.fitted = validated.fitted
        put_rest = self._put_start()
        with self.placed(scene.stepper.path):
            if scene.stepper.kind != PROGRAM:
                refuse_time_steps(self.potential)
        moving = StepperContext(self.units, self.system, scene.runtime.seed)
        self.stepper = self._places.made(scene.stepper, moving, Stepper)
        self.stepper.kind = scene.stepper.kind
        self.system = replace(self.system, of_stepper=self.stepper.system.of_stepper)
        put_rest()
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
        self._surroundings = self._around(supports)
        self.callbacks: dict[str, Any] = {}
        """Facts about the functions of a run in Python that are called between its steps, by name."""
        self.altered: dict[str, np.ndarray] = {}
        """Parameters that were written between steps, with the values that they had before."""
        self.inputs = self._bound_inputs()
        """The numbers that a page gives to a run of it."""
        for plugin in self._used_plugins():
            sources(plugin, self.registry.modules[plugin.name])  # as they are now, before they are edited

    def __repr__(self) -> str:
        return f"Simulation('{self.scene.path}', {self.stepper}, {self.potential})"

    # Its parts

    @property
    def units(self) -> UnitSystem:
        """The run's units."""
        return self._start.units

    @property
    def starting(self) -> StateContext:
        """The context in which the state was made: files, remarks, random numbers."""
        return self._start.context

    @property
    def state(self) -> State:
        """The initial state."""
        return self._start.state

    @property
    def initial(self) -> InitialValues | None:
        """The values of `[initial]`, if there are some."""
        return self._start.initial

    @property
    def fields(self) -> Fields:
        """The fields of the state, and those that maps give."""
        return self._start.fields

    @property
    def suspects(self) -> set[str]:
        """The terms and maps that round something, or may: their gradients may be dead."""
        return self._terms.suspects

    @property
    def bound(self) -> dict[KeyPath, Any]:
        """The term of each block that binds an energy or a map, by its place in the scene."""
        return self._terms.bound

    @property
    def potential(self) -> Potential:
        """U, the sum of the energies."""
        return self._terms.potential

    @property
    def holds(self) -> Holds:
        """The supports of the state and of the scene."""
        return self.system.holds

    @property
    def given_holds(self) -> Sequence[Hold]:
        """The holds of the state and of the scene as they were given."""
        return self._terms.given_holds

    @property
    def dissipation(self) -> Potential | None:
        """The sum of the dissipation terms."""
        return self.system.dissipation

    @property
    def magnetic(self) -> MagneticForce | None:
        """The magnetic force on charges."""
        return self.system.magnetic

    @property
    def constraints(self) -> Constraints | None:
        """The constraints."""
        return self.system.constraints

    @property
    def lagrangian(self) -> Potential | None:
        """The sum of the Lagrangians."""
        return self.system.lagrangian

    @property
    def potentials(self) -> list[Potential]:
        """All that have parameters: U, L, the dissipation, flows of the magnetic field, constraints."""
        return self.system.potentials

    def placed(self, path: KeyPath) -> AbstractContextManager[None]:
        """Raise the user's mistakes as `SceneError` with their place in the scene."""
        return self._places.placed(path)

    def term(self, block: Block) -> Any:
        """The energy, or map, of a block, bound to the fields as the block says."""
        return self._terms.bound_by(block)[-1]

    def bodies(self, names: str | tuple[str, ...] | None, rows: int | None = None) -> list[Body]:
        """The state's bodies of these names; none if no name is given. rows: of the field that they have."""
        return bodies_named(self.state, names, rows)

    def _observed(self) -> tuple[Recorder, list[Observer]]:
        """A new recorder, and the observers of the scene, which write into it."""
        self.recorder = recorder(self.state, self.system, self.units)
        looking = ObserverContext(
            self.units,
            self.stepper,
            self.recorder,
            self.state.labels,
            self.state,
            self.system,
            grids_of_fields(self.state, self.potential),
            self.starting.read,
        )
        made = self._places.made
        return self.recorder, [made(block, looking, Observer) for block in self.scene.observe]

    def follow(self, validated: ValidatedScene) -> None:
        """Go on from the present state with the steps, observers and checkpoints of another scene.

        Its state, energies and stepper must be those of the present scene.
        """
        self.scene, self._validated = validated.scene, validated
        self._places.validated, self._places.scene = validated, validated.scene
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
        steps = self.scene.run.steps
        of_plugins = self.registry.warnings(self.stepper, steps)
        own = (self.stepper.remark(steps), *of_plugins, self.stepper.order_remark, *on_device)
        cut = [jump_remark(*one, self.potential, self.units) for one in self._terms.cut_sharply]
        return [*self.starting.remarks, *cut, *outside, *filter(None, own)]

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
            yield self.scene.document.problem(self._places.terms[term], text)

    @property
    def last(self) -> int:
        """The step at which it ends."""
        return self.scene.run.steps

    @property
    def between_saves(self) -> int:
        """Steps from one checkpoint to the next; 0: there is only that of the end."""
        return self.scene.checkpoint.every

    # Building

    def _bound_inputs(self) -> ViewInputs:
        """`[view.inputs]`; of a run in time they do work."""
        with self.placed(("view", "inputs")):
            if self.scene.view.inputs and self.scene.ensemble is not None:
                raise EnergyError("are for one run, got an [ensemble]; leave one of the two out")
            inputs = ViewInputs(self, self.scene.view.inputs)
        if inputs and self.stepper.motions:
            self.stepper.given_work = 0.0
        return inputs

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

    def _announce(self) -> None:
        """Log the time and memory of a run whose forces take long, before they are computed."""
        wanted = [m.position for m in self.state.motions] or sorted(self.potential.reads)
        if (seconds := self.potential.seconds(wanted)) > LONG:
            steps = self.scene.run.steps
            logger.info(
                "the forces take about %s, so %d steps take %s or more; %s of memory are in use",
                duration(seconds), steps, duration(seconds * steps), memory.size(memory.used()),
            )  # fmt: skip

    def _put_start(self) -> Callable[[], None]:
        """Overwrite initial values by those of an earlier fit and of a member.

        Returns a function that does the same with parameters of the stepper's own maps, once it is made.
        """
        fitted, member = self.fitted, self._validated.member
        of_fit = self._put_fitted(fitted) if fitted else []
        of_member = member.put(self) if member else []

        def put_rest() -> None:
            if fitted and of_fit:
                fitted.put_rest(self, of_fit)
            if member and of_member:
                member.put_rest(self, of_member)

        return put_rest

    def _put_fitted(self, fitted: "Fitted") -> list[str]:
        """Put the values of an earlier fit, and its checkpoints among the inputs; the names that are left."""
        left = fitted.put(self)
        refuse_non_finite(list(self.saved_fields.values()), "the fitted start")
        self.starting.files.update(fitted.files)
        if fitted.folder is not None:
            self.starting.remarks.append(fitted.remark)
        return left

    def _start_engine(self) -> None:
        s = self.scene.runtime
        with self.placed(("runtime", "threads")):
            runtime.refuse_many_threads(s.threads)
        with self.placed(("runtime", "arch")):
            runtime.start(runtime.Options(s.engine, s.arch, s.threads, s.fast_math, s.device))

    def _refuse_a_stepper_that_forgets(self) -> None:
        """A stepper of a plugin may have made a system of its own, of some parts of the scene's."""
        block, stepper = self.scene.stepper, self.stepper
        assert stepper.consumer is not None
        for part, (attribute, table) in TABLES.items():
            given, taken = (getattr(one, attribute) for one in (self.system, stepper))
            if PARTS[part].names(self.system) and taken is not given and part not in stepper.consumer.idle:
                owner = self._validated.entries[block.path].owner
                text = (
                    f"{owner}: stepper '{block.kind}' leaves the scene's {table} out; give it context.system"
                )
                raise SceneError([self.scene.document.problem(block.path, text)])

    def _around(self, supports: Supports) -> dict[str, Any]:
        """The obstacles, loads and supports that pictures draw, as they are at the start."""
        terms = list(self.potential.parts.values())
        if self.dissipation is not None:
            terms += self.dissipation.parts.values()
        with self.placed(("energy",)):
            return surroundings(terms, supports.given, self.units)

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
        if self.stepper.given_work is not None:
            changed[f"parameters/{GIVEN_WORK}"] = np.array(self.stepper.given_work)
        return replace(found, arrays=found.arrays | changed) if changed else found

    def restore(self, snapshot: Snapshot, changed: bool = False) -> None:
        """Restore a saved state; if the scene has `changed`, observers that do not fit start afresh.

        Raises `CheckpointError` if it does not fit this scene: an array is missing, or one is unexpected.
        """
        parameters = snapshot.arrays_under("parameters")
        self._restore_given_work(parameters.pop(GIVEN_WORK, None), changed)
        self._restore_parameters(parameters)
        job.restore(self, snapshot, changed)
        try:
            self.stepper.refuse_unfit()
        except EnergyError as error:
            raise CheckpointError(f"the checkpoint's fields do not serve: {error}") from None

    def _restore_given_work(self, saved: np.ndarray | None, changed: bool) -> None:
        """The work of numbers that were written between steps; of a scene that is `changed`, if saved."""
        if self.stepper.given_work is None:
            return
        if saved is None and not changed:
            raise CheckpointError("the checkpoint lacks the work of [view.inputs]: it is of another scene")
        self.stepper.given_work = 0.0 if saved is None else float(saved)

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
        return next((one for one in self.potentials if term in one.owners), self.potential)

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
        named |= {"moving": [self.state.labels.get(m.position, m.position) for m in self.state.motions]}
        if self.starting.found_sides:
            named |= {"sides": side_facts(self.starting.found_sides, self.units)}
        if self.state.atoms is not None:
            named |= {"atoms": self.state.atoms.as_facts()}
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
