"""Runs from Python, and what the command line does: start, resume, take a scene into the hand.

run = minusgrad.run("scenes/two_body.toml", {"stepper.dt": 0.01}, out="runs/two_body")
run.series("observables/drift").value
"""

import errno
import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from ..assembly import provenance
from ..assembly.estimates import Estimates
from ..assembly.fit import ParameterFit
from ..assembly.job import Job
from ..assembly.simulation import Simulation
from ..assembly.validation import judge
from ..engine import runtime
from ..errors import (
    CheckpointError,
    InterruptedRunError,
    MinusgradError,
    RunFolderError,
    RuntimeUnavailableError,
    UserError,
)
from ..files import durable, trajectory
from ..files.checkpoint import Snapshot
from ..files.run_folder import RunDir
from ..files.trajectory import Recorder
from ..files.writer import Writer
from ..scene.document import Document, load
from ..steppers import scheduler
from ..steppers.scheduler import Every
from .signals import stop_requests

Overrides = Mapping[str, Any] | Sequence[str]
Plugins = Sequence[Path | str | ModuleType]
Progress = Callable[[int, int], AbstractContextManager[Callable[[int], None]]]
INPUTS = "inputs"
"""Where a run folder keeps the files that its scene reads."""
FIT = "fit.json"
"""Where it keeps what a fit has found."""


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, its objects at the last step, and how it ended.

    "finished" after all its steps; a minimiser may be "converged", "settled" or "stuck" (`Stepper.verdict`).
    """

    folder: Path
    simulation: Simulation
    outcome: str = "finished"
    remarks: tuple[str, ...] = ()

    def series(self, name: str) -> trajectory.Series:
        """What was recorded: "observables/total", "particles/all/position", ..."""
        return trajectory.series(self.folder, name)


@dataclass(frozen=True)
class Fit(Run):
    """A finished fit: its estimates (in the folder as fit.json, too), and the parameter fit that found them.

    `simulation` is the run that was fitted; it was last run with the parameters that were evaluated last.
    """

    estimates: Estimates | None = None
    parameter_fit: ParameterFit | None = None


class Saver:
    """The checkpoint, as the scheduler sees it: a moment is copied, and written beside the run.

    `saved` is the step of the last one that is safe on disk.
    """

    def __init__(self, job: Job, folder: RunDir, writer: Writer, saved: int | None = None):
        self.job, self.folder, self.writer = job, folder, writer
        self.trigger = Every(job.between_saves)
        self.saved = saved
        self.remarks: list[str] = []

    def observe(self) -> None:
        """Save this moment, once the one before is written. Raises what went wrong with that."""
        self.writer.wait()  # before the copy: two moments at once would be too much memory
        snapshot, recorded = self.job.snapshot(), self.job.recorder.take()
        self.writer.begin(partial(self._save, snapshot, recorded, seal=True))

    def interrupt(self) -> None:
        """Save a moment that the schedule does not ask for, at once."""
        self.writer.wait()
        self._save(self.job.snapshot(), self.job.recorder, seal=False)

    def _save(self, snapshot: Snapshot, recorded: Recorder, seal: bool) -> None:
        kept = self.job.scene.checkpoint
        self.remarks += self.folder.save(snapshot, recorded, kept.keep, seal, kept.keep_every)
        self.saved = snapshot.step


def quiet(first: int, last: int) -> AbstractContextManager[Callable[[int], None]]:
    """Progress that nobody watches."""
    return nullcontext(lambda step: None)


def build(scene: Path | str, overrides: Overrides = (), plugins: Plugins = ()) -> Simulation:
    """The objects of a scene at step 0, without files. Raises `SceneError` with all its mistakes."""
    return Simulation(judge(load(scene, as_overrides(overrides)), plugins))


def run(
    scene: Path | str,
    overrides: Overrides = (),
    out: Path | str | None = None,
    plugins: Plugins = (),
    force: bool = False,
    progress: Progress = quiet,
    max_hours: float | None = None,
) -> Run:
    """Run a scene file into a new folder (`runs/NAME`, where `out` is not given) and return what came out.

    Raises `SceneError` before anything is written, `RunFolderError` for an occupied folder (with `force`, an
    earlier run in it is thrown away), `NonFiniteError` if the numbers explode, `InterruptedRunError` after a
    signal, or after so many hours: the run is saved then, and `resume` goes on.
    """
    simulation = build(scene, overrides, plugins)
    simulation.refuse_dead()
    simulation.look()
    path = _chosen(out, Path("runs") / Path(scene).stem)
    return _begun(simulation, path, force, progress, max_hours)


def fit(
    scene: Path | str,
    overrides: Overrides = (),
    out: Path | str | None = None,
    plugins: Plugins = (),
    force: bool = False,
    progress: Progress = quiet,
    told: Callable[[ParameterFit], None] = lambda job: None,
    max_hours: float | None = None,
) -> Fit:
    """Do the `[fit]` of a scene in a new folder (`runs/NAME-fit`, where `out` is not given).

    `told` hears of the fit before it begins. Raises as `run` does; `resume` goes on after a signal.
    """
    job = ParameterFit(judge(load(scene, as_overrides(overrides)), plugins))
    job.refuse_dead()
    job.look()
    told(job)
    path = _chosen(out, Path("runs") / f"{Path(scene).stem}-fit")
    done = _begun(job, path, force, progress, max_hours)
    assert isinstance(done, Fit)
    return done


def _chosen(out: Path | str | None, otherwise: Path) -> Path:
    return writable(Path(out)) if out is not None else _free(otherwise)


def _begun(
    job: Simulation | ParameterFit, path: Path, force: bool, progress: Progress, max_hours: float | None
) -> Run:
    """Run into a folder that is new, or with `force` made new."""
    with RunDir.create(path, job.scene.source, job.scene.overrides, force) as folder:
        shutil.rmtree(path / INPUTS, ignore_errors=True)
        for name, data in job.start_files.items():
            target = path / INPUTS / name
            target.parent.mkdir(parents=True, exist_ok=True)
            durable.replace(target, data)
        threads = job.scene.runtime.threads
        plugins, engine = list(job.registry.plugins), runtime.engine_name()
        lanes = job.lanes
        folder.journal("built", engine=engine, lanes=lanes, threads=threads, plugins=plugins)
        with Writer() as writer:
            saver = Saver(job, folder, writer)
            saver.remarks += job.remarks
            return _finished(job, saver, progress, max_hours)


def resume(
    path: Path | str,
    plugins: Plugins = (),
    allow_changed: bool = False,
    progress: Progress = quiet,
    max_hours: float | None = None,
) -> Run:
    """Go on with a run, or a fit, from its newest good checkpoint, bit for bit as if it had never stopped.

    Raises `CheckpointError` if the scene, its files, a plugin or the engine changed since (unless
    `allow_changed`).
    """
    path = Path(path)
    with RunDir.open(path) as folder:
        with _refusals(folder):
            snapshot, remarks = folder.restore()
            job = _as_it_was(folder, snapshot, plugins, allow_changed, remarks)
        kept = job.scene.checkpoint
        with Writer() as writer:
            saver = Saver(job, folder, writer, snapshot.step)
            saver.remarks += [*remarks, *folder.tidy(kept.keep, kept.keep_every)]
            return _finished(job, saver, progress, max_hours)


@contextmanager
def _refusals(folder: RunDir) -> Iterator[None]:
    """A run that is not gone on with stands as it stood before; the journal says so."""
    try:
        yield
    except UserError as error:
        folder.journal("refused", error=str(error))
        raise


def _as_it_was(
    folder: RunDir, snapshot: Snapshot, plugins: Plugins, allow_changed: bool, remarks: list[str]
) -> Simulation | ParameterFit:
    """The job at a saved moment; `remarks` get what has changed since. Raises as `resume` does."""
    path = folder.path
    _ask_for_files(path, provenance.plugin_files(snapshot.meta), plugins)
    if lacking := provenance.lacking(snapshot.meta):
        raise CheckpointError(f"{path}: {lacking}")
    document = load(path / "scene.toml", _overrides(folder))
    _bind_again(path, document, provenance.engine(snapshot.meta), allow_changed)
    judged = judge(document, plugins)
    fits = snapshot.meta.get("fit") is True
    job = ParameterFit(judged, path / INPUTS) if fits else Simulation(judged, path / INPUTS)
    grave, light = provenance.differences(snapshot.meta, job.facts())
    if grave and not allow_changed:
        told = [f"{path}: not the run that was saved:", *grave, "to go on all the same: --allow-changed"]
        raise CheckpointError("\n".join(told))
    if grave or light:
        remarks += ["since the run was saved, and perhaps not bit for bit the same:", *grave, *light]
        folder.journal("changed", differences=[*grave, *light])
    job.restore(snapshot, changed=bool(grave))
    if grave:
        job.stepper.evaluate()  # the saved forces may be those of another scene
    return job


def _finished(
    job: Simulation | ParameterFit, saver: Saver, progress: Progress, max_hours: float | None
) -> Run:
    """Run to the last step, or save and raise if asked to stop, or when the hours are over."""
    folder, stepper, last = saver.folder, job.stepper, job.last
    files = [plugin.target for plugin in job.registry.plugins.values() if plugin.distribution == "file"]
    again = f"go on with: {_resume_line(folder.path, files)}"
    estimates: Estimates | None = None
    try:
        with stop_requests(max_hours) as asked, progress(stepper.step, last) as tell:
            if saver.saved is None:
                saver.observe()
            outcome = scheduler.run(stepper, last, job.observers, saver, asked, tell)
            if outcome == "interrupted":
                saver.interrupt()
            saver.writer.wait()
            if outcome != "interrupted" and isinstance(job, ParameterFit):
                estimates = _estimated(job, folder)
    except KeyboardInterrupt:
        _settle(saver)
        folder.journal("interrupted", step=stepper.step)
        raise InterruptedRunError(
            f"stopped at once, saved at step {saver.saved} of {last}; {again}"
        ) from None
    except Exception as error:
        _settle(saver)
        folder.journal("failed", step=stepper.step, error=str(error))
        if saver.saved is not None:
            error.add_note(f"{folder.path}: what was saved up to step {saver.saved} stands")
        raise
    if outcome == "interrupted":
        folder.journal("interrupted", step=stepper.step)
        raise InterruptedRunError(f"interrupted and saved at step {saver.saved} of {last}; {again}")
    folder.journal("finished", step=stepper.step, outcome=outcome)
    remarks = tuple(saver.remarks)
    if isinstance(job, ParameterFit):
        return Fit(folder.path, job.simulation, outcome, remarks, estimates, job)
    return Run(folder.path, job, outcome, remarks)


def _settle(saver: Saver) -> None:
    """Wait for what is being written; what goes wrong with it is not what went wrong first."""
    with suppress(MinusgradError):
        saver.writer.wait()


def _estimated(fit: ParameterFit, folder: RunDir) -> Estimates:
    """The estimates of a fit, written into its folder."""
    estimates = fit.estimates()
    text = json.dumps(estimates.as_dict(), indent=1) + "\n"
    durable.replace(folder.path / FIT, text.encode())
    return estimates


def _bind_again(path: Path, document: Document, computed: str | None, allow_changed: bool) -> None:
    """Bind the engine that computed the run, where the scene leaves it open: no other gives its bits.

    Raises `CheckpointError` where that cannot be, unless `allow_changed`: then it is told as a difference.
    """
    if document.engine not in (None, runtime.AUTO) or computed is None:
        return
    try:
        runtime.engine(computed)
    except RuntimeUnavailableError as error:
        if not allow_changed:
            text = f"{path}: was computed by engine '{computed}', whose bits no other gives: {error}"
            raise CheckpointError(text) from None


def _ask_for_files(path: Path, needed: Sequence[str], given: Plugins) -> None:
    """Raise `CheckpointError` if the run was made with --plugin and is resumed without."""
    names = [Path(file).name for file in given if not isinstance(file, ModuleType)]
    if missing := [name for name in needed if name not in names]:
        raise CheckpointError(
            f"{path}: was run with --plugin {', '.join(missing)}, and a run folder holds no code;"
            f" give it again: {_resume_line(path, missing)}"
        )


def _resume_line(path: Path, plugins: Sequence[str]) -> str:
    """What to type to go on."""
    options = [word for plugin in plugins for word in ("--plugin", plugin)]
    return shlex.join(["minusgrad", "resume", str(path), *options])


def _overrides(folder: RunDir) -> list[str]:
    """The overrides that the run was started with. Raises `RunFolderError` if they cannot be read."""
    try:
        found = folder.overrides
        if isinstance(found, list) and all(isinstance(text, str) for text in found):
            return found
        reason: object = "no list of texts"
    except (OSError, ValueError) as error:
        reason = error
    raise RunFolderError(f"{folder.path}/overrides.json: damaged ({reason}); put back what the run was given")


def as_overrides(overrides: Overrides) -> list[str]:
    """Overrides as the command line writes them: `key=value`, the value in TOML."""
    if isinstance(overrides, Mapping):
        return [f"{key}={_toml(key, value)}" for key, value in overrides.items()]
    return list(overrides)


def _toml(key: str, value: Any) -> str:
    """A value as TOML writes it. Raises `UserError` for what it cannot."""
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's numbers and arrays
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(key, v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(key, v) for v in value) + "]"
    if isinstance(value, (str, Path)):
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, (bool, int, float)):
        return repr(value).lower()
    raise UserError(f"override '{key}': a scene has no value of type {type(value).__name__}")


def writable(folder: Path) -> Path:
    """The folder, made if need be. Raises `RunFolderError` where nothing can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise RunFolderError(f"{folder}: cannot be written: {error.strerror}; use another --out") from error
    return folder


def _free(path: Path) -> Path:
    """The path, or the first of path-2, path-3, ... that nobody has; made at once, so that it is ours."""
    for number in range(1, 10_000):
        candidate = path if number == 1 else path.with_name(f"{path.name}-{number}")
        with suppress(FileExistsError):
            writable(path.parent)
            candidate.mkdir()
            return candidate
    raise RunFolderError(f"{path}: ten thousand runs of that name; give another with --out")
