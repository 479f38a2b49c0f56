"""Continuation of runs: as the command line does it, and with the energies and callbacks of a run in Python.

minusgrad.resume("runs/mine", energies=[bowl], callbacks=[look])

Decisions 0398.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..app.jobs import job_runs
from ..app.results.run import Run
from ..app.run_options import Plugins, Say, ShowsProgress, unsaid
from ..assembly.validation import ValidatedScene
from ..files.run_folder import RunDir
from . import energies_at_hand
from .callbacks import Callback, CallbackObserver, SimulationCalls, checked
from .simulation import Simulation


class ResumedSimulationCalls:
    """The callbacks of a run that is continued (`app.run_options.Calls`)."""

    def __init__(self, callbacks: Sequence[Callback]):
        self._callbacks = checked(callbacks)
        self._simulation: Simulation | None = None

    @property
    def names(self) -> list[str]:
        """The names of the functions."""
        return [one.name for one in self._callbacks]

    def simulation(self, validated: ValidatedScene, folder: Path | None) -> Simulation:
        """The simulation of the run, which its callbacks are called with."""
        self._simulation = Simulation.of(validated, folder, self._callbacks)
        self._simulation.running = True
        return self._simulation

    def end(self) -> None:
        """What is written to the simulation from now on is the user's."""
        if self._simulation is not None:
            self._simulation.running = False
            self._simulation.changes.mark()

    def observers(self, folder: RunDir, again: Callable[[], None]) -> list[CallbackObserver]:
        """`Calls.observers`; none in a fit or an ensemble."""
        if self._simulation is None:
            return []
        self._simulation.edits.clear()  # those before the run, which its journal has
        return SimulationCalls(self._simulation).observers(folder, again)


def resume(
    path: Path | str,
    plugins: Plugins = (),
    allow_changed: bool = False,
    progress: ShowsProgress = None,
    max_hours: float | None = None,
    say: Say = unsaid,
    *,
    energies: Sequence[Any] = (),
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Continue a run, or a fit, from its newest undamaged checkpoint, bit for bit as if never interrupted.

    path: the run folder. plugins: the files or modules that the run was started with. energies: the energies
    of Python that it was made with. callbacks: its functions, marked with `minusgrad.every`. allow_changed:
    continue even if the scene, a file, a plugin, an energy, a callback or the engine has changed; the numbers
    may then differ. progress, max_hours, say: as for `run`.

    Returns the finished `Run` or `Fit`. Raises `RunFolderError` if the folder holds no run or is in use,
    `CheckpointError` if no checkpoint can be read, something has changed, or an energy or callback is
    missing, `DivergedError` for a run that has diverged, and then as `run` does.
    """
    given = energies_at_hand.plugins([*plugins, *energies])
    calls = ResumedSimulationCalls(callbacks)
    try:
        return job_runs.resume(path, given, allow_changed, progress, max_hours, say, calls)
    finally:
        calls.end()
