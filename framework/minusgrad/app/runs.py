"""Run, fit and build scenes from Python; the command line calls the same functions.

run = minusgrad.run("scenes/two_body.toml", {"stepper.dt": 0.01}, out="runs/two_body")
run.series("observables/drift").value

A scene is validated before anything is imported that only a run needs, so that a mistake is answered at once.

Decisions 0130.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from .run_options import Overrides, Plugins, RunOptions, Say, ShowsProgress, unsaid

if TYPE_CHECKING:
    from ..assembly.built_scene import BuiltScene
    from ..assembly.fits.fit import ParameterFit
    from ..assembly.fits.starts import FitStarts
    from ..scene.document import SceneSource
    from .results.fit import Fit
    from .results.run import Run


def build(
    scene: "SceneSource",
    overrides: Overrides = (),
    plugins: Plugins = (),
    *,
    fitted: Path | str | None = None,
) -> "BuiltScene":
    """Build the objects of a scene at step 0, without writing any file.

        simulation = minusgrad.build("scenes/two_body.toml", {"stepper.dt": 0.01})
        simulation.potential.value(), simulation.fields["x"].values

    scene, overrides, plugins, fitted: as for `run`. Returns the `Simulation`: its fields, potential, stepper
    and observers; of a scene with [ensemble] the member `ensemble.member`, else the scene as it is written.
    Raises `SceneError` with all mistakes of the scene.
    """
    validated = RunOptions(scene, overrides, plugins=plugins, fitted=fitted).validated()
    from .jobs import job_runs

    return job_runs.built_scene(validated)


def built_or_given(scene: Any, overrides: Overrides, plugins: Plugins, *kinds: type) -> Any:
    """The simulation of a scene, as `build` makes it; an object of one of `kinds` is returned as it is.

    Raises `SceneError` with all mistakes of the scene, and `UserError` for overrides or plugins of an object
    that was made without them.
    """
    if not isinstance(scene, kinds):
        return build(scene, overrides, plugins)  # refuses what is no scene
    if overrides or plugins:
        what = "overrides" if overrides else "plugins"
        raise UserError(
            f"{what}: are for a scene, got a {type(scene).__name__}, which is built already; build it with"
            " them"
        )
    return scene


def run(
    scene: "SceneSource",
    overrides: Overrides = (),
    out: Path | str | None = None,
    plugins: Plugins = (),
    force: bool = False,
    progress: ShowsProgress = None,
    max_hours: float | None = None,
    say: Say = unsaid,
    *,
    fitted: Path | str | None = None,
) -> "Run":
    """Run a scene into a new folder.

    scene: the path of the scene file; or its text, or its tables as a dictionary. overrides: values by key
    ({"stepper.dt": 0.01}), or texts as the command line takes them ("stepper.dt=0.01"). out: the run folder
    (default: runs/NAME, or the next free runs/NAME-2, ...; with force runs/NAME). plugins: files, modules or
    energies, besides the installed plugins. force: delete an earlier run in that folder. progress: True for a
    bar, False for none (default: a bar in a notebook); or a function that is called with the first and the
    last step and gives a context manager whose value is called with each step. max_hours: stop after this
    time, resumably. say: called with remarks as they arise: dt against its stability limit at the start, an
    energy that drifts, a gradient that jumps. fitted: the folder of a fit of this scene, whose result is the
    start: the parameters and initial fields that it found replace those of the scene.

    Returns the finished `Run`: its folder, its objects at the last step, its recorded series.

    Raises `SceneError` before anything is written, `RunFolderError` for an occupied folder, `UserError` for
    a fit of another scene, `NonFiniteError`
    for infinity or NaN, `DivergedError` for an energy that has left all bounds, and `InterruptedRunError`
    after a signal or `max_hours`; the run is then saved, and `resume` continues it.
    """
    return run_with(RunOptions(scene, overrides, out, plugins, force, progress, max_hours, say, fitted))


def run_with(options: RunOptions) -> "Run":
    """As `run`, with options that only the command line has."""
    options.refuse_occupied()
    validated = options.validated()
    from .jobs import job_runs

    return job_runs.run_validated(validated, options)


def fit(
    scene: "SceneSource",
    overrides: Overrides = (),
    out: Path | str | None = None,
    plugins: Plugins = (),
    force: bool = False,
    progress: ShowsProgress = None,
    announce: "Callable[[ParameterFit | FitStarts], None]" = lambda job: None,
    max_hours: float | None = None,
    say: Say = unsaid,
    *,
    fitted: Path | str | None = None,
) -> "Fit":
    """Estimate the parameters of a scene by its table `[fit]`, in a new folder.

    announce: called with the fit before it begins. The other arguments are those of `run`; the default folder
    is runs/NAME-fit. Returns the finished `Fit`, with its `estimates`. Raises as `run` does, and `SceneError`
    for a scene without `[fit]`; `resume` continues an interrupted fit.
    """
    options = RunOptions(scene, overrides, out, plugins, force, progress, max_hours, say, fitted)
    options.refuse_occupied("-fit")
    validated = options.validated()
    from .jobs import job_runs

    return job_runs.fit_validated(validated, options, announce)
