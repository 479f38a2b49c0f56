"""From a scene to running objects: the only place where names meet classes.

    document -> registry -> state -> fields, terms, potential -> stepper -> observers
"""

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import runtime, terms
from .checkpoint import Snapshot
from .contexts import Looking, Moving, Starting
from .energy import Datum
from .errors import CheckpointError, EnergyError, MinusgradError, Problem, SceneError, UserError
from .fields import Body, Fields, State
from .integrators import Integrator
from .potential import Potential, refuse_non_finite
from .records import quantities
from .registry import Registry
from .reports import Report
from .scene import Block, Document, Scene, unknown_kind
from .trajectory import Recorder
from .units import UnitSystem

WHAT = {"state": "initial state", "energy": "energy", "stepper": "stepper", "observe": "observer"}
"""What a block of each section is called in messages."""


@dataclass
class Judged:
    """A scene whose every block has been judged, and the plugins it needs."""

    scene: Scene
    registry: Registry
    models: dict[tuple, Any]


def judge(document: Document, plugins: Sequence[Path | ModuleType] = ()) -> Judged:
    """Judge a whole scene. Raises `SceneError` with all mistakes, in the skeleton and in every block."""
    scene, problems = document.skeleton()
    named = document.data.get("plugins")
    names = named if isinstance(named, list) and all(isinstance(n, str) for n in named) else None
    registry = Registry.load(names, plugins)
    models = {}
    for block in document.blocks():
        entry = registry.entry(block.section, block.kind)
        if entry is None:
            problems.append(_unknown(document, block, registry))
        else:
            models[block.path], more = document.judge(block, entry.model)
            problems += more
    if scene is None or problems:
        raise SceneError(problems)
    return Judged(scene, registry, models)


def _unknown(document: Document, block: Block, registry: Registry) -> Problem:
    problem = unknown_kind(document, block, WHAT[block.section], list(registry.tables[block.section]))
    broken = "".join(f"; {error}" for error in registry.broken.values())
    return Problem(problem.file, problem.line, problem.column, problem.key, problem.message + broken)


class Simulation:
    """A scene's objects, at step 0."""

    def __init__(self, judged: Judged, folder: Path | None = None):
        self.scene, self.registry = judged.scene, judged.registry
        self._judged = judged
        scene = self.scene
        self.units = scene.units.build()
        settings = scene.runtime
        runtime.start(
            runtime.Options(settings.engine, settings.arch, settings.threads, settings.fast_math, settings.seed)
        )
        self.starting = Starting(self.units, settings.seed, folder or scene.path.parent)
        self.state: State = self._made(scene.state, self.starting)
        self.fields = Fields(self.state.fields, self.state.units, settings.precision)
        self.potential = Potential(self.fields, [self._term(block) for block in scene.energy])
        refuse_non_finite(list(self.fields.values()), "the initial state")
        moving = Moving(self.units, self.potential, self.state.motions)
        self.stepper: Integrator = self._made(scene.stepper, moving)
        self.recorder = Recorder(self._recorded_units(), (self.units.symbol("s"), self.units.in_si("s")))
        looking = Looking(self.units, self.stepper, self.recorder, self.state.labels)
        self.observers: list[Report] = [self._made(block, looking) for block in scene.observe]

    @property
    def start_files(self) -> dict[str, bytes]:
        """The files that the scene read, by their names relative to its folder."""
        return self.starting.files

    # Building

    def _made(self, block: Block, context: Any) -> Any:
        """What the block's model makes; a mistake is told with the block's place."""
        try:
            return self._judged.models[block.path].make(context)
        except SceneError:
            raise
        except UserError as error:
            raise SceneError([self.scene.document.problem(block.path, str(error))]) from error

    def _term(self, block: Block) -> terms.Term:
        entry = self.registry.entry("energy", block.kind)
        assert entry is not None and entry.energy is not None
        model = self._judged.models[block.path]
        given = {a: v for a, v in quantities(model, self.units).items() if v is not None and a in entry.energy.roles}
        data = {a: v for a, v in given.items() if isinstance(entry.energy.roles[a], Datum)}
        try:
            tuples, found = self._tuples(getattr(model, "tuples", None), entry.energy.over)
            return terms.bind(
                entry.energy,
                self.fields,
                name=model.name,
                tuples=tuples,
                bodies=self._bodies(model.body),
                renamed=model.fields,
                data={a: v for a, v in found.items() if a in entry.energy.of_role(Datum)} | data,
                parameters={a: v for a, v in given.items() if a not in data},
                units=self.units,
            )
        except MinusgradError as error:
            raise SceneError([self.scene.document.problem(block.path, str(error))]) from error

    def _bodies(self, names: str | tuple[str, ...] | None) -> list[Body]:
        known = {b.name: b for b in self.state.bodies}
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
            listed = ", ".join(known) or "none"
            raise EnergyError(f"no list of {over}-tuples named '{name}' (there are: {listed})" if name else f"say which `tuples` (there are: {listed})")
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
            pairs |= {f"momentum{suffix}": p, f"angular_momentum{suffix}": f"{p} {self.fields[motion.position].unit}"}
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
        """What a checkpoint says of its origin. The thread count is not in it: it does not change the bits."""
        overrides = [o for o in self.scene.overrides if not o.startswith("runtime.threads")]
        resolved = self.scene.resolved()
        resolved.get("runtime", {}).pop("threads", None)
        return {
            "title": self.scene.title,
            "names": list(self.state.names),
            "precision": self.fields.precision,
            "arch": self.scene.runtime.arch,
            "machine": platform.machine(),
            "versions": {p: version(p) for p in ("minusgrad", "taichi", "numpy", "h5py")},
            "scene": hashlib.sha256(self.scene.source).hexdigest(),
            "overrides": overrides,
            "resolved": resolved,
            "files": {n: hashlib.sha256(b).hexdigest() for n, b in sorted(self.start_files.items())},
            "plugins": self.registry.fingerprints(),
        }


def differences(then: dict[str, Any], now: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Between the facts of a checkpoint and of this process: what forbids an exact resume, what only may change bits."""
    grave = [_line(k, then.get(k), now.get(k)) for k in ("scene", "files", "plugins") if then.get(k) != now.get(k)]
    light = [
        _line(k, then.get(k), now.get(k)) for k in ("precision", "arch", "machine", "versions") if then.get(k) != now.get(k)
    ]
    return grave, light


def _line(key: str, then: Any, now: Any) -> str:
    """`plugins.gravity.version: 0.1.0 then, 0.2.0 now`, for the parts that differ."""
    if isinstance(then, dict) and isinstance(now, dict):
        parts = [_line(f"{key}.{k}", then.get(k), now.get(k)) for k in {**then, **now} if then.get(k) != now.get(k)]
        return "\n".join(parts)
    return f"{key}: {json.dumps(then)} then, {json.dumps(now)} now"
