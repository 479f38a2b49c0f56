"""Divergence of runs: dt against its stability limit at the start, a watch over the energy, a named end.

Of fits: a watch over the gradient, whose norm jumps where the run is chaotic.

A run that has diverged cannot be cured by resuming it: the same steps lead to the same numbers.

Decisions 0367.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...assembly.built_scene import BuiltScene
from ...assembly.job import Job
from ...errors import DivergedError, NonFiniteError, NonFiniteStartError, RangeError
from ...files.run_folder import RunDir
from ...steppers.minimisers.gradient_watch import GradientWatch
from ...steppers.scheduler import ScheduledObserver
from ...steppers.stability.energy_balance import SMALLER, UNITS, EnergyWatch
from ...steppers.stability.step_size import StepSize, step_size
from ..run_options import warn

if TYPE_CHECKING:
    from ...assembly.fits.fit import ParameterFit

OUTCOME = "diverged"
"""The named end of such a run, in the journal and in JSON."""
CURE = "resuming cannot cure this; start a new run with a smaller dt"
ELSEWHERE = "resuming cannot cure this; start a new run with other settings"
"""The cure for a search, which has no dt."""
AT_START = "resuming cannot cure this; begin with another state"
"""The cure where the state of the start has no finite energy."""


class Watched:
    """The watch over the energy of a job, as `observers`; and its step size, if the job is `new`.

    Only a run in time by one of our integrators has either. A fit has a watch over its gradient. Texts are
    passed to `say` and written into the journal; warnings are added to `remarks`, and without a `say` they
    are warnings of Python.
    """

    def __init__(self, job: Job, folder: RunDir, remarks: list[str], say: Callable[[str], None], new: bool):
        self._folder, self._remarks, self._say = folder, remarks, say
        self.step_size: StepSize | None = None
        self.observers: Sequence[ScheduledObserver] = ()
        self._energy: EnergyWatch | None = None
        if not isinstance(job, BuiltScene):
            self._over_fit(job, new)
        if not isinstance(job, BuiltScene) or not job.stepper.conserves:
            return
        if new and (found := step_size(job.stepper, job.last)):
            self._estimated(found, job.units.symbol("s"))
        watch = EnergyWatch(job.stepper, job.last, self._warn)
        watch.begin(*(() if new else begun(folder)))
        if new:
            folder.journal("watched", energy=watch.start, scale=watch.scale)
        self.observers, self._energy = [watch], watch

    def again(self) -> None:
        """Watch the energy from now on: a function of the user changed the state."""
        if self._energy is not None:
            self._energy.begin()
            self._folder.journal("watched", energy=self._energy.start, scale=self._energy.scale)

    def _over_fit(self, job: Job, new: bool) -> None:
        from ...assembly.fits.fit import ParameterFit

        if isinstance(job, ParameterFit):
            self._over_gradient(job, new)

    def _over_gradient(self, fit: "ParameterFit", new: bool) -> None:
        events = [] if new else self._folder.events()
        norms = [norm for e in events if isinstance(norm := e.get("gradient"), float)]
        said = sum(e.get("event") == "warned" for e in events)
        watch = GradientWatch(fit.search, self._warn, max(norms, default=0.0), said)
        if new:
            self._folder.journal("watched", gradient=watch.last)
        self.observers = [watch]

    def _estimated(self, found: StepSize, unit: str) -> None:
        self.step_size, text = found, found.text(unit)
        self._folder.journal("step size", text=text, **found.as_dict())
        if found.unstable:
            self._tell(text)
        else:
            self._say(text)

    def _warn(self, text: str) -> None:
        self._folder.journal("warned", text=text)
        self._tell(text)

    def _tell(self, text: str) -> None:
        self._remarks.append(text)
        warn(self._say, text)


def begun(folder: RunDir) -> tuple[float | None, float | None]:
    """The energy at the start of a run, and its scale, from the journal; None where it has none."""
    found: tuple[float | None, float | None] = None, None
    for event in folder.events():
        if event.get("event") == "watched":
            numbers = event.get("energy"), event.get("scale")
            found = numbers if all(isinstance(n, float) for n in numbers) else found
        elif event.get("event") == "changed":
            found = None, None
    return found


@contextmanager
def ranges_of_steps(job: Job) -> Iterator[None]:
    """Raise `NonFiniteError` for numbers that leave the range of their precision while a run goes on.

    At the start the units are to blame, as `RangeError` says; after steps in time a dt that is too large.
    """
    try:
        yield
    except RangeError as error:
        if job.stepper.step == 0 or not job.stepper.motions:
            raise
        text = f"step {job.stepper.step}: {error.finding}; {SMALLER}, {UNITS}"
        raise NonFiniteError(text) from None


def named(error: BaseException, job: Job, folder: RunDir) -> dict[str, Any]:
    """For the journal: the outcome of a run that ended with this error, if it has diverged.

    Such an error gets facts for JSON, a note, and, unless the start is to blame, the exit code of diverged
    runs.
    """
    if not isinstance(error, DivergedError | NonFiniteError):
        return {}
    error.facts = _facts(folder, job.stepper.step, str(error))
    cure = CURE if job.stepper.motions else ELSEWHERE
    if isinstance(error, NonFiniteStartError):
        cure = AT_START
    else:
        error.exit_code = DivergedError.exit_code
    error.add_note(cure)
    return {"outcome": OUTCOME, "cure": cure}


def refuse(folder: RunDir) -> None:
    """Raise `DivergedError` if the run has diverged since its last save."""
    for event in reversed(folder.events()):
        if event.get("event") in ("saved", "changed"):
            return
        if event.get("event") == "failed" and event.get("outcome") == OUTCOME:
            cure = event.get("cure", CURE)
            error = DivergedError(f"{folder.path}: has diverged ({event.get('error')}); {cure}")
            error.facts = _facts(folder, event.get("step"), str(event.get("error")))
            raise error


def _facts(folder: RunDir, step: Any, error: str) -> dict[str, Any]:
    return {"folder": str(folder.path), "outcome": OUTCOME, "step": step, "error": error}
