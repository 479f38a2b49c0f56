"""Runs and fits of validated scenes: into run folders, from checkpoints, to their end.

Decisions 0215.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

from ...assembly import provenance
from ...assembly.built_scene import BuiltScene
from ...assembly.fits.fitted import Fitted
from ...assembly.observation_round import ObservationRound
from ...assembly.origins import at_hand
from ...assembly.origins.plugin_names import defining
from ...assembly.plugin_blame import blaming
from ...assembly.validation import ValidatedScene, validate
from ...engine import runtime
from ...errors import (
    CallbackError,
    CheckpointError,
    DivergedError,
    FolderGoneError,
    InterruptedRunError,
    MinusgradError,
    MiscompiledError,
    PluginFailedError,
    RunFailedError,
    RunFolderError,
    RuntimeUnavailableError,
    UserError,
)
from ...files import checkpoint, durable
from ...files.checkpoint import Snapshot
from ...files.held import held_folders
from ...files.run_folder import INPUTS, RunDir, without_dots
from ...files.writer import Writer
from ...scene.document import Document, of_file
from ...solvers.linear_solver import BITS
from ...steppers import scheduler
from ..results.fit import COMPARISON, Fit
from ..results.fit import ESTIMATES as FIT
from ..results.run import Run
from ..run_options import Plugins, ResumedCalls, RunOptions, Say, ShowsProgress, chosen, unsaid, warn
from ..signals import StepAbandonedError, stop_requests
from . import divergence
from .saver import UNOBSERVED, Saver, telling
from .steering import Steering, journal_repeated, recorded_changes, refuse_others

if TYPE_CHECKING:
    from ...assembly.ensembles.ensemble import Ensemble
    from ...assembly.fits.estimates import Estimates
    from ...assembly.fits.fit import ParameterFit
    from ...assembly.fits.starts import FitStarts
    from .watching import WatchedRun

SOURCE = "source"
"""The folder in a run folder with the energies of Python, to be read; nothing is executed from there."""
STARTS = "starts.csv"
"""The file with a row for each of many starts of a fit."""
OTHER = "not the run that was saved:"
"""How the differences begin that keep a run from being continued or read."""


Checked = TypeVar("Checked", "BuiltScene", "ParameterFit", "FitStarts", "Ensemble")
Runnable: TypeAlias = "BuiltScene | ParameterFit | FitStarts | Ensemble"


def _is_fit(job: Runnable) -> TypeGuard["ParameterFit | FitStarts"]:
    if isinstance(job, BuiltScene):
        return False
    from ...assembly.fits.fit import ParameterFit
    from ...assembly.fits.starts import FitStarts

    return isinstance(job, ParameterFit | FitStarts)


def _is_ensemble(job: Runnable) -> TypeGuard["Ensemble"]:
    return not isinstance(job, BuiltScene) and not _is_fit(job)


def _ready(job: Checked) -> Checked:
    """The job after its checks at step 0. Raises `SceneError` as they do."""
    with blaming(job.registry):
        job.facts()  # of code and values as they are before anything runs
        job.refuse_dead()
        job.look()
    return job


def _built(kind: type[Checked], validated: ValidatedScene, folder: Path | None = None) -> Checked:
    """The objects of a scene. Raises `PluginError` for errors of a plugin's code."""
    with blaming(validated.registry):
        if kind is BuiltScene:
            return simulation_of(validated, folder)  # type: ignore[return-value]
        return kind(validated, folder)


def built_scene(validated: ValidatedScene) -> BuiltScene:
    """The objects of a scene at step 0."""
    return _built(BuiltScene, validated)


def run_validated(validated: ValidatedScene, options: RunOptions) -> Run:
    """Run a validated scene, or its ensemble, into a new folder."""
    if validated.scene.ensemble is not None:
        from ...assembly.ensembles.ensemble import Ensemble

        if options.watched is not None:
            options.watched.refuse_many(validated.scene)
        return _begun(_ready(_built(Ensemble, validated)), options.folder(), options)
    return _begun(_ready(_built(BuiltScene, validated)), options.folder(), options)


def fit_validated(
    validated: ValidatedScene, options: RunOptions, announce: "Callable[[ParameterFit | FitStarts], None]"
) -> Fit:
    """Fit a validated scene into a new folder; announce: called with the fit before it begins."""
    from ...assembly.fits.fit import ParameterFit
    from ...assembly.fits.starts import FitStarts, has_starts

    job: ParameterFit | FitStarts
    if has_starts(validated.scene):
        job = _ready(_built(FitStarts, validated))
    else:
        job = _ready(_built(ParameterFit, validated))
    announce(job)
    done = _begun(job, options.folder("-fit"), options)
    assert isinstance(done, Fit)
    return done


Build = Callable[[ValidatedScene, Path | None], BuiltScene]
"""Makes the simulation of a scene, or of one member; the folder is that of its input files."""


def simulation_of(
    validated: ValidatedScene, folder: Path | None = None, build: Build = BuiltScene
) -> BuiltScene:
    """The simulation of a scene; of an ensemble the member that it names, else the scene as it is written.

    Raises `PluginError` for errors of a plugin's code.
    """
    table = validated.scene.ensemble
    with blaming(validated.registry):
        if table is None or table.member is None:
            return build(validated, folder)
        from ...assembly.ensembles.members import Members

        return Members(validated, folder).simulation(table.member, build)


def begin(job: BuiltScene, options: RunOptions) -> Run:
    """Run a simulation that was made in Python, from its present state, into a new folder."""
    options.refuse_occupied()
    return _begun(_ready(job), options.folder(), options)


def repeat(
    path: Path | str,
    out: Path | str | None = None,
    plugins: Plugins = (),
    force: bool = False,
    progress: ShowsProgress = None,
    max_hours: float | None = None,
    say: Say = unsaid,
) -> Run:
    """Compute a run, or a fit, once more in a new folder, with the numbers that its page gave it: same bits.

    path: the folder of the run, which stays as it is. out: the new folder (default: the next free one beside
    it). The other arguments are those of `resume`.

    Returns the finished `Run` or `Fit`. Raises as `resume` does, and `UserError` for a run that goes on.
    """
    path = without_dots(Path(path))
    old = RunDir.open(path, read_only=True)
    if old.is_running():
        raise UserError(
            f"{path}: is being computed, so that it may get more numbers; repeat it when it is over"
        )
    newest, remarks = checkpoint.newest(path / "ckpt")
    if newest is None:
        raise RunFolderError("\n".join([f"{path}: has no usable checkpoint; run the scene again", *remarks]))
    snapshot = checkpoint.load(newest)
    _ask_for_callbacks(path, snapshot.meta, ())
    job, grave, _ = rebuilt(old, snapshot, plugins, verb="repeat")
    if grave:
        raise CheckpointError("\n".join([f"{path}: {OTHER}", *grave, "run the scene again"]))
    changes = recorded_changes(old)
    if isinstance(job, BuiltScene):
        refuse_others(job.inputs, changes, path)
    options = RunOptions(path, (), out, plugins, force, progress, max_hours, say)
    with blaming(job.registry):
        job.look()
    return _begun(
        job, options.folder_beside(path), options, partial(journal_repeated, run=path, changes=changes)
    )


def _begun(
    job: Runnable, path: Path, options: RunOptions, note: Callable[[RunDir], None] = lambda folder: None
) -> Run:
    """Run into a folder that is new, or with `force` emptied; note: writes into its journal at the start."""
    path = without_dots(path)
    with RunDir.create(path, job.scene.source, job.scene.overrides, options.force) as folder:
        for place in (INPUTS, SOURCE):
            held_folders.remove_tree(path / place)
        files = {f"{INPUTS}/{name}": data for name, data in job.start_files.items()}
        files |= {f"{SOURCE}/{name}.py": text.encode() for name, text in job.registry.texts.items()}
        for name, data in files.items():
            target = path / name
            durable.make_folder(target.parent)
            durable.replace(target, data)
        threads = job.scene.runtime.threads
        plugins, engine = list(job.registry.plugins), runtime.engine_name()
        lanes = job.lanes
        remarks = list(job.remarks)
        built = {"engine": engine, "lanes": lanes, "threads": threads, "plugins": plugins}
        built |= {"members": job.stepper.why} if _is_ensemble(job) else {}
        folder.journal("built", **built, remarks=remarks)
        note(folder)
        with Writer() as writer:
            saver = Saver(job, folder, writer)
            for remark in remarks:
                options.say(remark)
            saver.remarks += remarks
            return _finished(job, saver, options)


def resume(
    path: Path | str,
    plugins: Plugins = (),
    allow_changed: bool = False,
    progress: ShowsProgress = None,
    max_hours: float | None = None,
    say: Say = unsaid,
    calls: ResumedCalls | None = None,
    arch: str | None = None,
    watched: "WatchedRun | None" = None,
) -> Run:
    """Continue a run, or a fit, from its newest undamaged checkpoint, bit for bit as if never interrupted.

    path: the run folder. plugins: the files or modules that the run was started with. allow_changed: continue
    even if the scene, a file, a plugin or the engine has changed; the numbers may then differ. progress,
    max_hours, say: as for `run`. calls: the functions of a run in Python (`scripting.resume` gives them).
    arch: the architecture to continue on; None: that of the run. On another device the bits are others.
    watched: opens a page of it.

    Returns the finished `Run` or `Fit`. Raises `RunFolderError` if the folder holds no run or is in use,
    `CheckpointError` if no checkpoint can be read or something has changed, `DivergedError` for a run that
    has diverged, and then as `run` does.
    """
    path = without_dots(Path(path))
    options = RunOptions(
        path, plugins=plugins, progress=progress, max_hours=max_hours, say=say, calls=calls, watched=watched
    )
    with RunDir.open(path) as folder:
        with _refusals(folder):
            if not allow_changed:
                divergence.refuse(folder)
            snapshot, remarks = folder.restore()
            if not allow_changed:
                _ask_for_callbacks(path, snapshot.meta, calls.names if calls else ())
            job = _as_it_was(folder, snapshot, plugins, allow_changed, remarks, calls, arch)
            if watched is not None and not isinstance(job, BuiltScene):
                watched.refuse_many(job.scene)
        kept = job.scene.checkpoint
        unobserved = snapshot.meta.get(UNOBSERVED) is True
        with Writer() as writer:
            saver = Saver(job, folder, writer, snapshot.step)
            saver.remarks += [*remarks, *folder.tidy(kept.keep, kept.keep_every)]
            if said := "" if unobserved else _over(job, path):
                saver.remarks.append(said)
                warn(say, said)
            return _finished(job, saver, options, unobserved)


def _over(job: Runnable, path: Path) -> str:
    """That a run was finished when it was saved, and how to go on from there; empty if it was not."""
    stepper, last = job.stepper, job.last
    if stepper.step < last and stepper.outcome is None:
        return ""
    counted = "step" if stepper.residual is None else "iteration"
    ended = f"is {stepper.outcome or 'finished'} already, at {counted} {stepper.step} of {last}"
    line = shlex.join(["minusgrad", "run", "SCENE", "--from", str(path)])
    if _is_fit(job):
        line = shlex.join(["minusgrad", "fit", "SCENE", "--fitted", str(path)])
    return f"{path}: {ended}, and nothing is left to do; to go on from there, in a new folder: {line}"


@contextmanager
def _refusals(folder: RunDir) -> Iterator[None]:
    """Write the reason why a run cannot be resumed to the journal; its folder is otherwise unchanged."""
    try:
        yield
    except (UserError, DivergedError) as error:
        folder.journal("refused", error=str(error))
        raise


def _as_it_was(
    folder: RunDir,
    snapshot: Snapshot,
    plugins: Plugins,
    allow_changed: bool,
    remarks: list[str],
    calls: ResumedCalls | None,
    arch: str | None,
) -> Runnable:
    """The job at a saved state; `remarks` get the differences. Raises as `resume` does."""
    build = calls.simulation if calls else BuiltScene
    job, grave, light = rebuilt(folder, snapshot, plugins, allow_changed, build=build, arch=arch)
    if grave and not allow_changed:
        lines = [f"{folder.path}: {OTHER}", *grave, "to continue all the same: --allow-changed"]
        raise CheckpointError("\n".join(lines))
    if grave or light:
        remarks += ["since the run was saved, and perhaps not bit for bit the same:", *grave, *light]
        folder.journal("changed", differences=[*grave, *light])
    with blaming(job.registry):
        job.restore(snapshot, changed=bool(grave))
        if grave:
            job.stepper.evaluate()  # the saved forces may be those of another scene
    return job


def rebuilt(
    folder: RunDir,
    snapshot: Snapshot,
    plugins: Plugins,
    allow_changed: bool = False,
    verb: str = "resume",
    build: Build = BuiltScene,
    arch: str | None = None,
) -> tuple[Runnable, list[str], list[str]]:
    """The job of a run folder as at its start, and how it differs from the saved one: gravely, and lightly.

    verb: the command that asks for it. build: makes a simulation of one scene. arch: the architecture to
    compute on; None: that of the run. Raises `CheckpointError` where it cannot be built again, and
    `RunFolderError` for a damaged folder.
    """
    path, files = folder.path, provenance.plugin_files(snapshot.meta)
    plugins = at_hand.with_energies_of_files(plugins, provenance.of_python(snapshot.meta), files)
    _ask_for_files(path, files, plugins, verb)
    _ask_for_energies(path, snapshot.meta, plugins, verb)
    if lacking := provenance.lacking(snapshot.meta):
        raise CheckpointError(f"{path}: {lacking}")
    on = arch or provenance.arch(snapshot.meta)
    given = [*_overrides(folder), *([f"runtime.arch={on}"] if on else [])]
    document = of_file(folder.scene, path / "scene.toml", given)
    _bind_again(path, document, provenance.engine(snapshot.meta), allow_changed)
    validated = validate(document, plugins)
    validated.fitted = Fitted.of_run(path / INPUTS, snapshot.meta)
    fits = snapshot.meta.get("fit") is True
    job: Runnable
    if fits:
        from ...assembly.fits.fit import ParameterFit
        from ...assembly.fits.starts import FitStarts, has_starts

        if has_starts(validated.scene):
            job = _built(FitStarts, validated, path / INPUTS)
        else:
            job = _built(ParameterFit, validated, path / INPUTS)
    elif "ensemble" in snapshot.meta:
        from ...assembly.ensembles.ensemble import Ensemble

        job = _built(Ensemble, validated, path / INPUTS)
    else:
        job = simulation_of(validated, path / INPUTS, build)
    grave, light = provenance.differences(snapshot.meta, job.facts())
    return job, [*grave], [*light]


def _finished(job: Runnable, saver: Saver, options: RunOptions, unobserved: bool = False) -> Run:
    """Run to the last step; after a signal or the time limit, save and raise `InterruptedRunError`.

    unobserved: the state was saved when an observer of a plugin failed, so that it has yet to be observed.
    """
    folder, stepper, last = saver.folder, job.stepper, job.last
    files = [plugin.target for plugin in job.registry.plugins.values() if plugin.distribution == "file"]
    again = f"continue with: {_resume_line(folder.path, files)}"
    if provenance.callbacks(facts := job.facts()) or provenance.of_python(facts):
        again = f"continue with: {_python_line(folder.path, facts)}"
    estimates: Estimates | None = None
    rounds = ObservationRound(job)
    try:
        with stop_requests(options.max_hours) as asked, chosen(options.progress)(stepper.step, last) as tell:
            new = saver.saved is None
            if new:
                saver.observe()
            with blaming(job.registry, PluginFailedError, passing=(RunFailedError, MiscompiledError)):
                watched = divergence.Watched(job, folder, saver.remarks, options.say, new)
                if unobserved:
                    _observe(job, [*rounds.observers, saver])
                called = options.calls.observers(folder, watched.again) if options.calls else ()
                observers = [*watched.observers, *rounds.observers, *called]
                long, show = partial(saver.before_a_long_step, asked), telling(tell, saver)
                between = _between_steps(job, saver, options, asked)
                try:
                    with divergence.ranges_of_steps(job):
                        outcome = scheduler.run(stepper, last, observers, saver, asked, show, long, *between)
                except StepAbandonedError:
                    outcome = "interrupted"
            saver.write_events()
            if options.watched is not None:
                options.watched.end()
            if outcome == "interrupted":
                saver.interrupt()
            saver.finish()
            if outcome != "interrupted" and _is_fit(job):
                estimates = _estimated(job, folder)
    except KeyboardInterrupt:
        _settle(saver)
        folder.journal("interrupted", step=stepper.step)
        raise InterruptedRunError(
            f"stopped at once, saved at step {saver.saved} of {last}; {again}"
        ) from None
    except BaseException as error:
        _settle(saver)
        if rounds.undone and isinstance(error, PluginFailedError):
            saver.keep_unobserved()
        diverged = divergence.named(error, job, folder)
        with suppress(FolderGoneError):
            folder.journal("failed", step=stepper.step, error=str(error) or type(error).__name__, **diverged)
        if saver.saved is not None and not isinstance(error, FolderGoneError):
            error.add_note(f"{folder.path}: the data saved up to step {saver.saved} is intact")
            if isinstance(error, PluginFailedError):
                error.add_note(f"after the plugin is corrected, {again} --allow-changed")
            if isinstance(error, CallbackError):
                cure = again.removesuffix(")")
                error.add_note(f"after the function is corrected, {cure}, allow_changed=True)")
        raise
    if outcome == "interrupted":
        folder.journal("interrupted", step=saver.saved)
        raise InterruptedRunError(f"interrupted and saved at step {saver.saved} of {last}; {again}")
    solver = stepper.solver_used or (job.solver_used if _is_fit(job) else "")
    used: dict[str, object] = {"solver": solver, "solver_bits": BITS} if solver else {}
    if _is_ensemble(job) and job.stepper.failures:
        used["failed_members"] = len(job.stepper.failures)
    folder.journal("finished", step=stepper.step, outcome=outcome, **used)
    remarks = tuple(saver.remarks)
    if _is_fit(job):
        return Fit(folder.path, job.simulation, outcome, remarks, estimates=estimates, parameter_fit=job)
    if _is_ensemble(job):
        from ..results.ensemble_run import EnsembleRun

        return EnsembleRun(folder.path, job.template, outcome, remarks, ensemble=job)
    assert isinstance(job, BuiltScene)
    return Run(folder.path, job, outcome, remarks, watched.step_size)


def _between_steps(
    job: Runnable, saver: Saver, options: RunOptions, asked: Callable[[], bool]
) -> tuple[Callable[[], None], Callable[[int], int | None]]:
    """What is called between batches of steps, and what gives the first step after one to pause at."""
    watched = options.watched
    if not isinstance(job, BuiltScene) or not (job.inputs or watched):
        return saver.look, lambda step: None

    def remark(text: str) -> None:
        saver.remarks.append(text)
        warn(options.say, text)

    steering = Steering(job.inputs, job.stepper, saver.folder, remark)
    if watched is not None:
        watched.begin(job, saver)

    def between() -> None:
        saver.look()
        if watched is not None:
            watched.between(asked)
        steering.apply()

    def pause_after(step: int) -> int | None:
        stops = [steering.pause_after(step), watched.pause_after(step) if watched else None]
        return min((stop for stop in stops if stop is not None), default=None)

    return between, pause_after


def _observe(job: Runnable, everybody: Sequence[scheduler.ScheduledObserver]) -> None:
    """Whatever is due at the present step."""
    step = job.stepper.step
    over = step == job.last or job.stepper.outcome is not None
    for one in everybody:
        if over or one.trigger.due(step):
            one.observe()


def _settle(saver: Saver) -> None:
    """Wait for the writer; its errors are dropped, because an earlier one is being raised."""
    with suppress(MinusgradError):
        saver.writer.wait()


def _estimated(fit: "ParameterFit | FitStarts", folder: RunDir) -> "Estimates":
    """The estimates of a fit, written into its folder; of many starts a table of all, too."""
    from ...assembly.fits.comparison import lines
    from ...assembly.fits.fit import ParameterFit
    from ...assembly.fits.starts import FitStarts

    estimates = fit.estimates()
    found = fit.as_dict() if isinstance(fit, FitStarts) else estimates.as_dict()
    if isinstance(fit, FitStarts):
        durable.replace(folder.path / STARTS, fit.as_csv().encode())
    text = json.dumps(found, indent=1) + "\n"
    durable.replace(folder.path / FIT, text.encode())
    if isinstance(fit, ParameterFit) and (rows := fit.comparison()):
        durable.replace(folder.path / COMPARISON, "\n".join([*lines(rows), ""]).encode())
    return estimates


def _bind_again(path: Path, document: Document, computed: str | None, allow_changed: bool) -> None:
    """Start the engine that computed the run, unless the scene names one: others give other bits.

    Raises `CheckpointError` if that is impossible; with `allow_changed` it is reported as a difference.
    """
    if document.engine not in (None, runtime.AUTO) or computed is None:
        return
    try:
        runtime.engine(computed)
    except RuntimeUnavailableError as error:
        if not allow_changed:
            text = f"{path}: was computed by engine '{computed}', whose bits no other gives: {error}"
            raise CheckpointError(text) from None


def _ask_for_files(path: Path, needed: Sequence[str], given: Plugins, verb: str) -> None:
    """Raise `CheckpointError` if the run was made with --plugin and is read without."""
    names = [Path(file).name for file in given if isinstance(file, (Path, str))]
    if missing := [name for name in needed if name not in names]:
        raise CheckpointError(
            f"{path}: was run with --plugin {', '.join(missing)}, and a run folder holds no code;"
            f" give it again: {_resume_line(path, missing, verb)}"
        )


def _ask_for_energies(path: Path, meta: Mapping[str, Any], given: Plugins, verb: str) -> None:
    """Raise `CheckpointError` if the run was made with energies of Python and is read without."""
    if missing := at_hand.missing(provenance.of_python(meta), given):
        files = dict.fromkeys(file for name in missing for file in defining(Path.cwd(), name)[:1])
        line = _resume_line(path, [*files] or ["FILE.py"], verb)
        raise CheckpointError(
            f"{path}: was run in Python with {', '.join(missing)}, and nothing is executed from a run folder"
            f" ({SOURCE}/ has the text to read); give it again in Python: {_python_line(path, meta)}, or the"
            f" file that defines it: {line}"
        )


def _ask_for_callbacks(path: Path, meta: Mapping[str, Any], given: Sequence[str]) -> None:
    """Raise `CheckpointError` if the run calls functions between its steps that are not given."""
    if called := [name for name in provenance.callbacks(meta) if name not in given]:
        raise CheckpointError(
            f"{path}: calls {', '.join(called)} between its steps, which no run folder contains; go on in"
            f" Python: {_python_line(path, meta)}"
        )


def _python_line(path: Path, meta: Mapping[str, Any]) -> str:
    """The call that continues a run of Python."""
    given = {"energies": provenance.of_python(meta), "callbacks": provenance.callbacks(meta)}
    words = [repr(str(path)), *(f"{key}=[{', '.join(names)}]" for key, names in given.items() if names)]
    return f"minusgrad.resume({', '.join(words)})"


def _resume_line(path: Path, plugins: Sequence[str], verb: str = "resume") -> str:
    """The command that continues the run, or reads it."""
    options = [word for plugin in plugins for word in ("--plugin", plugin)]
    return shlex.join(["minusgrad", verb, str(path), *options])


def _overrides(folder: RunDir) -> list[str]:
    """The overrides that the run was started with. Raises `RunFolderError` if they cannot be read."""
    try:
        found = folder.overrides
        if isinstance(found, list) and all(isinstance(text, str) for text in found):
            return found
        reason: object = "no list of texts"
    except (OSError, ValueError) as error:
        reason = error
    raise RunFolderError(f"{folder.path}/overrides.json: damaged ({reason}); restore the original file")
