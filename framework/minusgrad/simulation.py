"""From a scene to running objects: the only place where names meet classes.

judged scene -> state -> fields, terms, potential -> stepper -> observers
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from . import memory, origin, runtime, terms
from .checkpoint import Snapshot
from .contexts import Looking, Moving, Starting
from .energy import Datum
from .errors import (
    CheckpointError,
    EnergyError,
    MinusgradError,
    NonFiniteError,
    PluginError,
    RunFailedError,
    SceneError,
    UserError,
)
from .fields import Body, Fields, State
from .integrators import Integrator
from .judge import WHAT, Judged
from .potential import Potential, refuse_non_finite
from .records import quantities
from .registry import blamed
from .reports import Report
from .scene import Block
from .toml_lines import KeyPath
from .trace import trace
from .trajectory import MOST_SEGMENTS, Recorder

T = TypeVar("T")


class Simulation:
    """A scene's objects, at step 0."""

    def __init__(self, judged: Judged, folder: Path | None = None):
        self.scene, self.registry, self._judged = judged.scene, judged.registry, judged
        scene = self.scene
        self.units = scene.units.build()
        self._start_engine()
        self.starting = Starting(self.units, scene.runtime.seed, folder or scene.path.parent)
        self.state = self._made(scene.state, self.starting, State)
        with self._placed(("state",)):
            self.fields = Fields(self.state.fields, self.state.units, scene.runtime.precision)
        refuse_non_finite(list(self.fields.values()), "the initial state")
        bound = [self._term(block) for block in scene.energy]
        with self._placed(("energy",)):
            self.potential = Potential(self.fields, bound)
        moving = Moving(self.units, self.potential, self.state.motions)
        self.stepper = self._made(scene.stepper, moving, Integrator)
        self.recorder = Recorder(self._recorded_units(), (self.units.symbol("s"), self.units.in_si("s")))
        looking = Looking(self.units, self.stepper, self.recorder, self.state.labels)
        self.observers = [self._made(block, looking, Report) for block in scene.observe]

    @property
    def start_files(self) -> dict[str, bytes]:
        """The files that the scene read, by their names relative to its folder."""
        return self.starting.files

    def look(self) -> None:
        """The observers' look at step 0.

        Raises `SceneError` for one whose notes until the next checkpoint would not fit into the memory, and
        for checkpoints so close that the trajectory would have more segments than a reader can open.
        """
        run, often = self.scene.run.steps, self.scene.checkpoint.every
        if often and run // often >= MOST_SEGMENTS:
            text = f"makes {run // often + 1} segments, more than a reader of trajectory.h5 can open"
            cure = f"; save at most every {-(-run // (MOST_SEGMENTS - 1))} steps"
            raise SceneError([self.scene.document.problem(("checkpoint", "every"), text + cure)])
        for number, observer in enumerate(self.observers):
            before = self._noted()
            try:
                observer.observe()
            except NonFiniteError:
                raise
            except RunFailedError as error:  # two that record one name
                raise SceneError([self.scene.document.problem(("observe", number), str(error))]) from error
            rows = min(run, often or run) // max(observer.trigger.n, 1) + 1
            need = 3 * rows * (self._noted() - before)  # the rows, the file's image, and the bytes to write
            if need > (free := memory.available()):
                text = (
                    f"would hold {rows} rows, {memory.size(need)}, in memory until the next checkpoint, and"
                    f" {memory.size(free)} are free; look less often, or save more often: [checkpoint] every"
                )
                raise SceneError([self.scene.document.problem(("observe", number), text)])

    def _noted(self) -> int:
        return sum(array.nbytes for array in self.recorder.state().values())

    # Building

    def _start_engine(self) -> None:
        s = self.scene.runtime
        with self._placed(("runtime", "engine")):
            runtime.engine(s.engine)
        with self._placed(("runtime", "arch")):
            runtime.start(runtime.Options(s.engine, s.arch, s.threads, s.fast_math, s.seed))

    @contextmanager
    def _placed(self, path: KeyPath) -> Iterator[None]:
        """Tell the user's mistakes with their place in the scene."""
        try:
            yield
        except SceneError:
            raise
        except UserError as error:
            raise SceneError([self.scene.document.problem(path, str(error))]) from error
        except MemoryError as error:
            text = f"needs more memory than there is ({memory.size(memory.available())} are free)"
            raise SceneError([self.scene.document.problem(path, text)]) from error

    def _made(self, block: Block, context: Any, wanted: type[T]) -> T:
        """What the block's model makes; a plugin that fails is named."""
        owner, what = self._judged.entries[block.path].owner, f"{WHAT[block.section]} '{block.kind}'"
        with self._placed(block.path):
            with blamed(owner, f"cannot make the {what}", but=(MinusgradError, MemoryError)):
                made = self._judged.models[block.path].make(context)
            if not isinstance(made, wanted):
                raise PluginError(f"{owner}: {what} makes a {type(made).__name__}, not a {wanted.__name__}")
            return made

    def _term(self, block: Block) -> terms.Term:
        energy = self._judged.entries[block.path].energy
        assert energy is not None
        model, roles = self._judged.models[block.path], energy.roles
        given = {a: v for a, v in quantities(model, self.units).items() if v is not None and a in roles}
        data = {a: v for a, v in given.items() if isinstance(roles[a], Datum)}
        with self._placed(block.path):
            tuples, found = self._tuples(getattr(model, "tuples", None), energy.over)
            term = terms.bind(
                energy,
                self.fields,
                name=model.name,
                tuples=tuples,
                bodies=self._bodies(model.body if model.body is not None else _named_in(given)),
                renamed=model.fields,
                data={a: v for a, v in found.items() if a in energy.of_role(Datum)} | data,
                parameters={a: v for a, v in given.items() if a not in data},
                units=self.units,
            )
            trace(energy, term.dimension, term.arity)  # what the engine cannot follow is told here
            return term

    def _bodies(self, names: str | tuple[str, ...] | None) -> list[Body]:
        known = {b.name: b for b in self.state.bodies}
        if names == ():
            raise EnergyError("body = [] names no body; leave it out for all nodes")
        names = () if names is None else (names,) if isinstance(names, str) else names
        if missing := [n for n in names if n not in known]:
            raise EnergyError(f"no body named '{missing[0]}' (there are: {', '.join(known) or 'none'})")
        return [known[n] for n in names]

    def _tuples(self, named: Any, over: str | int) -> tuple[Any, dict[str, np.ndarray]]:
        """The rows and the data of a list of the state, or the rows as written."""
        if isinstance(over, str) or (named is not None and not isinstance(named, str)):
            return named, {}
        known = {n: rows for n, rows in self.state.tuples.items() if rows.shape[1] == over}
        name = named or (next(iter(known)) if len(known) == 1 else None)
        if name not in known:
            what = f"no list of {over}-tuples named '{name}'" if name else "say which `tuples`"
            raise EnergyError(f"{what} (there are: {', '.join(known) or 'none'})")
        return known[name], dict(self.state.data.get(name, {}))

    def _recorded_units(self) -> dict[str, tuple[str, float]]:
        """Symbol and size in SI of everything that may be recorded."""
        pairs = {self.state.labels.get(n, n): f.unit for n, f in self.fields.items()}
        energies = ["kinetic", "total", "work", *(f"potential/{t}" for t in self.potential.terms)]
        pairs |= dict.fromkeys(energies, "J")
        for motion in self.state.motions:
            suffix = "" if len(self.state.motions) == 1 else f"/{motion.position}"
            mass = self.fields[motion.inertia].unit if isinstance(motion.inertia, str) else "1"
            p = f"{mass} {self.fields[motion.velocity].unit}"
            pairs |= {
                f"momentum{suffix}": p,
                f"angular_momentum{suffix}": f"{p} {self.fields[motion.position].unit}",
            }
        return {label: (self.units.symbol(u), self.units.in_si(u)) for label, u in pairs.items()}

    # Saving and restoring

    def snapshot(self) -> Snapshot:
        """This moment, whole: whoever restores it goes on as if nothing had happened."""
        arrays = {f"fields/{n}": f.values.copy() for n, f in self.fields.items()}
        arrays |= {f"stepper/{n}": a for n, a in self.stepper.state().items()}
        for k, observer in enumerate(self.observers):
            arrays |= {f"observers/{k}/{n}": a for n, a in observer.state().items()}
        units = {f"fields/{n}": self.units.symbol(f.unit) for n, f in self.fields.items()}
        s = self.stepper
        return Snapshot(s.step, s.time, s.dt, arrays, units, self.facts(), self.scene.source)

    def restore(self, snapshot: Snapshot) -> None:
        """Take up a saved moment. Raises `CheckpointError` if it does not fit this scene."""
        saved = snapshot.under("fields")
        for name, field in self.fields.items():
            if name not in saved or saved[name].shape != field.shape:
                raise CheckpointError(f"the checkpoint's field '{name}' does not fit the scene")
            field.set(saved[name])
        self.stepper.restore(snapshot.under("stepper"))
        for k, observer in enumerate(self.observers):
            observer.restore(snapshot.under(f"observers/{k}"))
        self.recorder.restore(snapshot.under("recorder"))

    def facts(self) -> dict[str, Any]:
        """What a checkpoint says of its origin."""
        used = {entry.owner.name: entry.owner for entry in self._judged.entries.values()}
        facts = origin.facts(self.scene, self.start_files, self.registry, used.values())
        return facts | {"names": list(self.state.names)}


def _named_in(given: dict[str, Any]) -> tuple[str, ...] | None:
    """The bodies for which a parameter has values of their own; None if no parameter has."""
    tables = [value for value in given.values() if isinstance(value, dict)]
    return tuple(tables[0]) if tables else None
