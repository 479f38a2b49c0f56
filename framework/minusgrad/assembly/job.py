"""Jobs: simulations and fits, which run in steps, are observed, and can be resumed.

A checkpoint of a job holds its saved fields, and the state of its stepper, its observers and its recorder.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from ..energies.fields import Field
from ..engine import memory
from ..errors import CheckpointError, NonFiniteError, RunFailedError, SceneError
from ..files.checkpoint import Snapshot
from ..files.trajectory import Recorder
from ..scene.document import Scene
from ..scene.toml_positions import KeyPath
from ..scene.units import UnitSystem
from ..steppers.stepper import Stepper
from .observers import Observer
from .registry import Registry

HELD = 1 << 28
"""Bytes of recorded rows beyond which a run is saved, whatever the clock says."""


class Job(Protocol):
    """Protocol of a simulation or a fit: `app.jobs` starts, saves and resumes it.

    `Simulation` takes the steps of a scene, `ParameterFit` the iterations of its fit.
    """

    @property
    def scene(self) -> Scene:
        """The scene that the job was made from."""

    @property
    def registry(self) -> Registry:
        """The plugins that its kinds come from."""

    @property
    def units(self) -> UnitSystem:
        """The run's units."""

    @property
    def start_files(self) -> Mapping[str, bytes]:
        """The files that the scene read, by their names relative to its folder."""

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks for the user about the initial state."""

    @property
    def lanes(self) -> Sequence[str]:
        """The terms that are evaluated in lanes (`Potential.in_lanes`)."""

    @property
    def stepper(self) -> Stepper:
        """The integrator or minimiser that takes the steps."""

    @property
    def observers(self) -> Sequence[Observer]:
        """Called at their steps, in this order."""

    @property
    def recorder(self) -> Recorder:
        """Where the observers write."""

    @property
    def last(self) -> int:
        """The step at which the job ends."""

    @property
    def between_saves(self) -> int:
        """Steps from one checkpoint to the next; 0: only one at the end."""

    @property
    def saved_fields(self) -> Mapping[str, Field]:
        """The fields that a checkpoint holds, by name."""

    def refresh(self) -> None:
        """Recompute everything that follows from the saved fields and the time of the stepper."""

    def facts(self) -> dict[str, Any]:
        """The origin of a checkpoint: versions, hashes of files, names."""

    def placed(self, path: KeyPath) -> AbstractContextManager[None]:
        """Turns the user's mistakes inside into `SceneError` at this place of the scene."""

    def refuse_dead(self) -> None:
        """Raise `SceneError` for values on which the result depends although its gradient is zero."""

    def look(self) -> None:
        """Observe step 0. Raises `SceneError` if the rows until the next checkpoint need too much memory."""

    def snapshot(self) -> Snapshot:
        """A copy of the present state, from which `restore` continues bit for bit."""

    def restore(self, snapshot: Snapshot, changed: bool = False) -> None:
        """Restore a saved state. Raises `CheckpointError` if it does not fit."""


def first_look(job: Job) -> None:
    """`Job.look`."""
    run, often = job.last, job.between_saves
    for number, observer in enumerate(job.observers):
        before = _recorded(job)
        try:
            observer.observe()
        except NonFiniteError:
            raise
        except RunFailedError as error:  # two that record one name
            raise SceneError([job.scene.document.problem(("observe", number), str(error))]) from error
        rows, row = min(run, often or run) // max(observer.trigger.n, 1) + 1, _recorded(job) - before
        if job.scene.checkpoint.seconds:  # else they are written only at scheduled steps
            rows = min(rows, HELD // max(row, 1) + 1)
        need = 3 * rows * row  # the rows, the file's image, and the bytes to write
        with job.placed(("observe", number)):
            cure = "observe less often, or save more often: [checkpoint] every"
            memory.require(need, f"{rows} rows until the next checkpoint", cure)


def _recorded(job: Job) -> int:
    return sum(array.nbytes for array in job.recorder.state().values())


def snapshot(job: Job) -> Snapshot:
    """`Job.snapshot`; all arrays are copied, since they are written while the run goes on."""
    arrays = {f"fields/{n}": f.values.copy() for n, f in job.saved_fields.items()}
    arrays |= {f"stepper/{n}": np.array(a) for n, a in job.stepper.state().items()}
    for k, observer in enumerate(job.observers):
        arrays |= {f"observers/{k}/{n}": np.array(a) for n, a in observer.state().items()}
    units = {f"fields/{n}": job.units.symbol(f.unit) for n, f in job.saved_fields.items()}
    s = job.stepper
    return Snapshot(s.step, s.time, s.dt, arrays, units, job.facts(), job.scene.source)


def restore(job: Job, snapshot: Snapshot, changed: bool = False) -> None:
    """`Job.restore`; if the scene has `changed` since, observers that do not fit start with a new state.

    Raises `CheckpointError` if the snapshot lacks an array of this job, or has one that the job does not.
    """
    saved = snapshot.arrays_under("fields")
    if not changed:
        _refuse_others(job, snapshot)
    for name, field in job.saved_fields.items():
        if name not in saved or saved[name].shape != field.shape:
            raise CheckpointError(f"the checkpoint's field '{name}' does not fit the scene")
        field.set(saved[name])
    dt = job.stepper.dt
    job.stepper.restore(snapshot.arrays_under("stepper"))
    if changed and job.stepper.dt != dt and _another_clock(job, snapshot):
        job.stepper.dt = dt
    job.refresh()
    for k, observer in enumerate(job.observers):
        remembered = snapshot.arrays_under(f"observers/{k}")
        if remembered.keys() == observer.state().keys():
            observer.restore(remembered)
    job.recorder.restore(snapshot.arrays_under("recorder"))


def _another_clock(job: Job, snapshot: Snapshot) -> bool:
    """True if the scene's stepper or units are not those of the saved one; else dt was set between steps."""
    then, now = (facts.get("scene") or {} for facts in (snapshot.meta, job.facts()))
    return any(then.get(table) != now.get(table) for table in ("stepper", "units"))


def _refuse_others(job: Job, snapshot: Snapshot) -> None:
    """Raise `CheckpointError` unless the arrays are those that fields, stepper and observers declare."""
    owners = {"fields": set(job.saved_fields), "stepper": set(job.stepper.state())}
    owners |= {f"observers/{k}": set(observer.state()) for k, observer in enumerate(job.observers)}
    declared = {f"{owner}/{name}" for owner, names in owners.items() for name in names}
    there = {name for name in snapshot.arrays if not name.startswith(("recorder/", "parameters/"))}
    optional = {f"stepper/{name}" for name in job.stepper.optional}
    if wrong := sorted((declared ^ there) - optional):
        lacks = wrong[0] in declared
        text = (
            f"the checkpoint lacks '{wrong[0]}'"
            if lacks
            else f"unexpected array '{wrong[0]}' in the checkpoint"
        )
        raise CheckpointError(f"{text}: it was written for another scene")
