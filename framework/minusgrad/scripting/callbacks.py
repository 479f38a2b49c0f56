"""Functions that a simulation in Python calls between its steps, and the changes that they make.

    @sim.every(10)
    def look(sim): print(sim.stepper.time)

A function is called at each multiple of its number of steps, after the observers of the scene and before a
checkpoint. It may read everything, and set fields, parameters and dt; what it changed is written into the
journal of a run, and stands in its checkpoints.

Decisions 0399.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..assembly.origins.plugin_sources import code_alone
from ..assembly.origins.source_text import of_function
from ..energies.fields import Field
from ..errors import CallbackError, MinusgradError, UserError
from ..files.run_folder import RunDir
from ..steppers.scheduler import Every
from ..steppers.stepper import Stepper


class Scripted(Protocol):
    """A simulation in Python, as far as its callbacks are concerned."""

    stepper: Stepper
    altered: dict[str, np.ndarray]
    callbacks: dict[str, Any]
    called: list["Callback"]
    edits: list[dict[str, Any]]
    changes: "Changes"

    @property
    def saved_fields(self) -> Mapping[str, Field]: ...

    @property
    def parameters(self) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True)
class Callback:
    """A function of one argument, the simulation, and the number of steps from one call to the next."""

    n: int
    function: Callable[[Any], Any]

    def __call__(self, simulation: Any) -> Any:
        return self.function(simulation)

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def facts(self) -> dict[str, Any]:
        """What a checkpoint says of it."""
        code = code_alone(of_function(self.function).encode())
        return {"every": self.n, "source": hashlib.sha256(code).hexdigest()}


def every(n: int) -> Callable[[Callable[[Any], Any]], Callback]:
    """Mark a function to be called every n steps, with the simulation: for `callbacks` of a run or `resume`.

    Raises `UserError` unless n is a whole number above 0.
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise UserError(f"every: needs a whole number of steps above 0, got {n!r}; write every(10)")

    def marked(function: Callable[[Any], Any]) -> Callback:
        if not callable(function):
            raise UserError(f"every: needs a function, got a {type(function).__name__}; write @every({n})")
        return Callback(int(n), function)

    return marked


def checked(given: Sequence[Any]) -> list[Callback]:
    """The callbacks in a list. Raises `UserError` for a function that no `every` has marked."""
    for one in given:
        if not isinstance(one, Callback):
            name = getattr(one, "__name__", repr(one))
            raise UserError(
                f"callbacks: needs functions marked with @minusgrad.every(n), got {name}; mark it"
            )
    return list(given)


class Written(NamedTuple):
    """What was written: names of fields and parameters, and the old and the new value of each number."""

    names: list[str]
    values: dict[str, list[float]]

    @property
    def facts(self) -> dict[str, Any]:
        """For the journal, and for checkpoints."""
        return {"changed": self.names} | ({"values": self.values} if self.values else {})


class Changes:
    """What is written to a simulation between its steps: fields, parameters and dt."""

    def __init__(self, simulation: Scripted):
        self._simulation = simulation
        self.mark()

    def mark(self) -> None:
        """Compare with the present state from now on."""
        self._writes, self._parameters, self._dt = self._present()

    def found(self) -> "Written":
        """What was written since `mark`; a changed parameter is saved with each checkpoint."""
        simulation = self._simulation
        writes, parameters, dt = self._present()
        fields = [name for name, count in writes.items() if count != self._writes.get(name)]
        changed = [n for n, v in parameters.items() if not np.array_equal(v, self._parameters[n])]
        for name in changed:
            simulation.altered.setdefault(name, self._parameters[name])
        if fields or changed:
            simulation.stepper.take_parameters([*fields, *changed])
        pairs = {
            n: [self._parameters[n].item(), parameters[n].item()] for n in changed if parameters[n].size == 1
        }
        pairs |= {"dt": [self._dt, dt]} if dt != self._dt else {}
        values = {name: pair for name, pair in pairs.items() if np.isfinite(pair).all()}
        return Written([*fields, *changed, *(["dt"] if dt != self._dt else [])], values)

    def _present(self) -> tuple[dict[str, int], Mapping[str, np.ndarray], float]:
        simulation = self._simulation
        writes = {
            n: f.array.writes for n, f in simulation.saved_fields.items() if not n.startswith("listed_")
        }
        return writes, simulation.parameters, simulation.stepper.dt


class CallbackObserver:
    """A callback of a simulation as an observer of the scheduler, which may write."""

    def __init__(self, simulation: Scripted, callback: Callback, changed: Callable[[str, Written], None]):
        self._simulation, self._callback, self._changed = simulation, callback, changed
        self.trigger = Every(callback.n)

    def observe(self) -> None:
        """Call the function if it is due; the last step of a run makes it no more so."""
        due = self.trigger.due(self._simulation.stepper.step)
        if due and (found := called(self._simulation, self._callback)).names:
            self._changed(self._callback.name, found)


def called(simulation: Scripted, callback: Callback) -> Written:
    """Call a function, and find what it changed. Raises `CallbackError` that names the step."""
    step = simulation.stepper.step
    simulation.changes.mark()
    try:
        callback(simulation)
    except (CallbackError, KeyboardInterrupt):
        raise
    except BaseException as error:
        kind = "" if isinstance(error, MinusgradError) else f"{type(error).__name__}: "
        text = " ".join(f"{kind}{error}".removesuffix(": ").split())
        raise CallbackError(f"callback '{callback.name}' failed at step {step}: {text}") from error
    if simulation.stepper.step != step:
        raise CallbackError(
            f"callback '{callback.name}' took steps at step {step}; it may change fields, parameters and dt"
        )
    found = simulation.changes.found()
    _refuse_non_finite(simulation, callback, found.names)
    return found


def _refuse_non_finite(simulation: Scripted, callback: Callback, names: Sequence[str]) -> None:
    """Raise `CallbackError` for the first of these fields and parameters that is not finite."""
    fields, step = simulation.saved_fields, simulation.stepper.step
    known: dict[str, Any] = {"dt": simulation.stepper.dt, **simulation.parameters}
    for name in names:
        values = np.asarray(fields[name].values if name in fields else known[name])
        if (bad := np.argwhere(~np.isfinite(values))).size:
            where = f" at [{', '.join(map(str, bad[0]))}]" if values.ndim else ""
            raise CallbackError(
                f"callback '{callback.name}' set {name} to {values[tuple(bad[0])]}{where} at step {step}; set"
                " finite numbers"
            )


class SimulationCalls:
    """The callbacks of a simulation, as a run takes them (`app.run_options.Calls`)."""

    def __init__(self, simulation: Scripted):
        self._simulation = simulation

    def observers(self, folder: RunDir, again: Callable[[], None]) -> list[CallbackObserver]:
        """They as observers; the journal gets a line for them, and one for each change."""
        simulation = self._simulation
        if simulation.callbacks:
            folder.journal("callbacks", functions=simulation.callbacks)
        for edit in simulation.edits:
            folder.journal("altered", **edit)
        simulation.edits.clear()

        def changed(name: str, found: Written) -> None:
            folder.journal("altered", step=simulation.stepper.step, by=name, **found.facts)
            again()

        return [CallbackObserver(simulation, one, changed) for one in simulation.called]
