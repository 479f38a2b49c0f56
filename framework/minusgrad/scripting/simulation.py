"""Simulations in Python: made of arrays and energies, or of a scene; stepped, run, written as TOML.

sim = Simulation(fields={"x": x, "v": v, "m": m}, energies=[gravity(G=1.0)], stepper=Leapfrog(dt=0.01))
sim.step(100)
run = sim.run(steps=10_000, out="runs/mine")

Decisions 0021, 0397, 0399.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..app import runs
from ..app.jobs import job_runs
from ..app.results.fit import Fit
from ..app.results.run import Run
from ..app.run_options import RunOptions, Say, ShowsProgress, unsaid
from ..assembly.built_scene import BuiltScene
from ..assembly.plugin_blame import blaming
from ..assembly.registry import PluginSource
from ..assembly.validation import ValidatedScene, validate
from ..energies.fields import POSITIONS
from ..errors import UnitError, UserError, suggestion, unknown
from ..files.checkpoint import Snapshot
from ..potential.watches.followed_images import other_images
from ..scene import document
from ..steppers.timed.time_stepper import TimeStepper
from . import energies_at_hand, scene_text
from .callbacks import Callback, Changes, SimulationCalls, Written, called, checked, every
from .fit_arrays import FitArrays, fit_table, steps_until
from .scene_tables import SceneTables

OWN = ("self", "run", "callbacks", "unfit", "__class__")
"""Names in the constructor of a simulation that are no tables."""


class Simulation(BuiltScene):
    """A simulation of arrays, energies and a stepper: a scene in Python, at step 0.

    fields        arrays (n, ...) by name, in the units of the simulation, or (array, "km"). x (n, d)
                  moves with velocity v (n, d), default at rest, and mass m (n,); without m each has
                  mass 1, and energies that read m need it
    energies      list of energies with their values, `gravity(G=1.0)` or `minusgrad.energy("spring",
                  stiffness=3.0)`, or of tables as [[energy]] has them; U is their sum. Numbers are in
                  the units of the simulation, texts have their own
    stepper       `minusgrad.Leapfrog(dt=0.01)` or another class of a stepper, or a table
    tuples        lists of elements by name, whole numbers (E, k) of nodes, or (rows, {"rest": lengths})
                  with data (E, ...)
    images        in a periodic box, by list, copies of their nodes, whole numbers (E, k, d), of pairs
                  also (E, d)
    bodies        numbers of nodes by name, whole numbers (k,)
    sides         sides by name: tables as [state.sides] has them, or functions of the places x (n, d) that
                  give True or False for each node
    motions       list of the fields that move: `minusgrad.Motion("x", "v", "m")`; default: x with v and
                  m
    labels        by field, the name under which it is recorded; default: "position" of x, "velocity" of
                  v, "mass" of m
    names         a name for each node; default: none
    grids         grids of cells by name, as in `State`
    state         the table [state] of another kind, in place of fields, tuples, images, motions, labels,
                  names and grids
    initial       the table [initial]: files with other values than fields; or a `Run`, whose last state
                  is the start
    units         "si" (the default), "dimensionless", "molecular", or a table such as {"length": "km"}
    box           edges of a periodic box (d,), in the unit of length, or the table [box]; default: none
    maps          list of maps, like energies; tables without a kind are slopes
    compounds     list of compounds, like energies
    lagrangians   list of Lagrangians L(q, v, t), like energies, for the stepper Variational
    dissipations  list of dissipations R(v, x, t), like energies; the friction is -dR/dv
    magnetic      list of magnetic fields, like energies; the force is q v x B
    constraints   list of constraints g(x) = 0, like energies
    holds         list of tables [[hold]], such as {"body": "left"}: supports
    observe       list of tables [[observe]], or `minusgrad.observer("energies", every=10)`; default:
                  energies and frames
    runtime       the table [runtime]: engine, arch, device, precision, threads, seed
    checkpoint    the table [checkpoint]: how often a run is saved
    fit           the table [fit], for `fit`; without losses, if these are given there as `data`
    ensemble      the table [ensemble]: many members
    view          the table [view]: how a run is watched, and the numbers that its page gives to it
    run           the table [run]; `run` takes the number of steps
    title         title of reports and pictures; default: none
    plugins       names of the installed plugins to load, default all; and files with energies of your
                  own
    callbacks     functions marked with `minusgrad.every(n)`, called with the simulation between steps

    All arguments are given by name; numbers are in the units of the simulation, SI without `units`.

    Raises `UserError` for arrays that do not fit, and `SceneError` with all mistakes of the tables.
    """

    def __init__(
        self,
        *,
        fields: Mapping[str, Any] | None = None,
        energies: Sequence[Any] = (),
        stepper: Any = None,
        tuples: Mapping[str, Any] | None = None,
        images: Mapping[str, Any] | None = None,
        bodies: Mapping[str, Any] | None = None,
        motions: Sequence[Any] | None = None,
        labels: Mapping[str, str] | None = None,
        names: Sequence[str] | None = None,
        grids: Mapping[str, Any] | None = None,
        sides: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
        units: Mapping[str, Any] | str | None = None,
        box: Any = None,
        maps: Sequence[Any] = (),
        compounds: Sequence[Any] = (),
        lagrangians: Sequence[Any] = (),
        dissipations: Sequence[Any] = (),
        magnetic: Sequence[Any] = (),
        constraints: Sequence[Any] = (),
        holds: Sequence[Mapping[str, Any]] = (),
        observe: Sequence[Mapping[str, Any]] = (),
        runtime: Mapping[str, Any] | None = None,
        checkpoint: Mapping[str, Any] | None = None,
        fit: Mapping[str, Any] | None = None,
        ensemble: Mapping[str, Any] | None = None,
        view: Mapping[str, Any] | None = None,
        run: Mapping[str, Any] | None = None,
        title: str | None = None,
        plugins: Sequence[PluginSource] | None = None,
        callbacks: Sequence[Callback] = (),
        **unfit: Any,
    ):
        given = {k: v for k, v in locals().items() if k not in OWN}
        if unfit:
            raise UserError(
                f"Simulation: {unknown('argument', next(iter(unfit)), [*given, 'run', 'callbacks'])}"
            )
        files = [one for one in plugins or () if not isinstance(one, str) or one.endswith(".py")]
        named = [one for one in plugins or () if isinstance(one, str) and not one.endswith(".py")]
        given["plugins"] = named or None
        tables = SceneTables(given, run)
        registry, given["plugins"] = energies_at_hand.registry(
            named or None, files, tables.declared, tables.data
        )
        tables.find_sides(lambda: validate(scene_text.document_of(tables), registry=registry))
        validated = validate(scene_text.document_of(tables), registry=registry)
        self._begin(validated, None, tables, callbacks)

    @classmethod
    def of(
        cls, validated: ValidatedScene, folder: Path | None = None, callbacks: Sequence[Callback] = ()
    ) -> Self:
        """The simulation of a validated scene. folder: that of the files that it reads, if not its own."""
        made = cls.__new__(cls)
        made._begin(validated, folder, None, callbacks)
        return made

    def _begin(
        self,
        validated: ValidatedScene,
        folder: Path | None,
        tables: SceneTables | None,
        callbacks: Sequence[Callback],
    ) -> None:
        with blaming(validated.registry):
            super().__init__(validated, folder)
            _ = self.origin  # of the values as the scene gives them, before any of them is changed
        self._tables = tables
        self.called: list[Callback] = []
        """The functions that are called between steps."""
        self.edits: list[dict[str, Any]] = []
        """What was written between steps so far: the step, the names, and the values of numbers."""
        self.running = False
        """Whether a run takes its steps, whose writes are not those of the user."""
        self._warned = False
        self.changes = Changes(self)
        for one in checked(callbacks):
            self._call(one)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. Raises `UserError` for a misspelt one, and for one that nobody sets."""
        of_class = getattr(type(self), name, None)
        if isinstance(of_class, property) and of_class.fset is None:
            raise UserError(f"{name}: follows from the steps and cannot be set, got {value!r}; leave it out")
        is_new = "changes" in vars(self) and name not in vars(self) and of_class is None
        if is_new and suggestion(name, ["dt", "time"]):
            raise UserError(f"simulation: {unknown('attribute', name, ['dt', 'time'])}; correct it")
        super().__setattr__(name, value)

    # Steps

    @property
    def time(self) -> float:
        """The time, in the run's units."""
        return self.stepper.time

    @property
    def dt(self) -> float:
        """The size of a step, in the run's units; it may be set between steps, also as a text, "5 ms"."""
        return self.stepper.dt

    @dt.setter
    def dt(self, dt: float | str) -> None:
        try:
            dt = self.units.convert(dt, "s") if isinstance(dt, str) else float(dt)
        except UnitError as error:
            cure = "" if ";" in str(error) else '; write sim.dt = 0.01, or "5 ms"'
            raise UserError(f"dt: {error}{cure}") from None
        except (TypeError, ValueError):
            raise UserError(f"dt: needs a number, got {dt!r}; write sim.dt = 0.01") from None
        if not isinstance(self.stepper, TimeStepper):
            raise UserError(f"stepper '{self.stepper.name}': has no time step, got dt = {dt:g}; leave it out")
        self.stepper.dt = dt

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The values of all parameters by "term.parameter"; `potential.set_parameter` sets one."""
        parts = [(of, part) for of in self.potentials for part in of.parts.values()]
        named = [(of, part.address(a)) for of, part in parts for a in getattr(part, "parameters", ())]
        return {name: np.array(of.parameter(name)) for of, name in named}

    def every(self, n: int) -> Callable[[Callable[[Any], Any]], Callback]:
        """Call a function with the simulation after every n steps: in `step`, and in `run`.

            @sim.every(10)
            def look(sim): print(sim.time)

        It may set fields, parameters and dt. One of the same name takes the place of an earlier one.
        """
        mark = every(n)

        def added(function: Callable[[Any], Any]) -> Callback:
            callback = mark(function)
            self._call(callback)
            return callback

        return added

    def _call(self, callback: Callback) -> None:
        self.called = [one for one in self.called if one.name != callback.name] + [callback]
        self.callbacks = {one.name: one.facts for one in self.called}

    def step(self, n: int = 1) -> None:
        """Take n steps, without observers and checkpoints; callbacks are called.

        n: a whole number of at least 0. Raises `UserError` for another one, `NonFiniteError` as a run does,
        and `CallbackError` that names the step.
        """
        n = _count("step", n, "sim.step(100)")
        self.notice()
        self._warn_once()
        last = self.stepper.step + n
        while (now := self.stepper.step) < last and self.stepper.outcome is None:
            due = min([last, *(now - now % one.n + one.n for one in self.called)])
            self.stepper.advance(due - now)
            self.changes.mark()
            for one in self.called:
                if self.stepper.step % one.n == 0 and self.stepper.step > now:
                    self._edited(called(self, one), one.name)
            self.changes.mark()
            if self.stepper.step == now:
                break

    def _warn_once(self) -> None:
        """Of the order with friction and of images that are a choice; a run has them among its remarks."""
        chosen = [getattr(part, "remark", "") for of in self.potentials for part in of.parts.values()]
        for text in () if self._warned else filter(None, [self.stepper.order_remark, *chosen]):
            warnings.warn(text, stacklevel=3)
        self._warned = True

    def notice(self) -> None:
        """Note what was written since the last step, so that it is saved and journalled."""
        self._edited(self.changes.found(), "the user")
        self.changes.mark()

    def _edited(self, found: Written, by: str) -> None:
        if POSITIONS in found.names:
            self._warn_of_wraps()
        if found.names:
            self.edits.append({"step": self.stepper.step, "by": by, **found.facts})

    def _warn_of_wraps(self) -> None:
        """Warn of positions whose nearest images are others than those that a run keeps."""
        parts = [part for one in self.potentials for part in one.parts.values()]
        if moved := other_images(parts, self.fields):
            text = f"'{POSITIONS}': was written at step {self.stepper.step}, which puts {moved}"
            cure = "a run keeps those of the start: write positions that are not wrapped"
            warnings.warn(f"{text}; {cure}", stacklevel=4)

    def snapshot(self) -> Snapshot:
        """A copy of the present state with its step, time, dt and parameters; `restore` goes back to it."""
        if not self.running:
            self.notice()
        found = super().snapshot()
        return replace(found, meta=found.meta | {"edits": list(self.edits)}) if self.edits else found

    def restore(self, snapshot: Snapshot, changed: bool | None = None) -> None:
        """Go back to a saved state, bit for bit. Raises `CheckpointError` for one of another simulation.

        changed: given where a run is resumed, whose observers go on, too.
        """
        if changed is None:
            snapshot = replace(snapshot, arrays=self._without_observers(snapshot.arrays))
        super().restore(snapshot, bool(changed))
        self.changes.mark()
        self.edits = list(snapshot.meta.get("edits", ()))

    def _without_observers(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The arrays of a state with the present state of the observers, which an earlier run has made."""
        kept = {name: array for name, array in arrays.items() if not name.startswith("observers/")}
        for k, observer in enumerate(self.observers):
            kept |= {f"observers/{k}/{name}": np.array(a) for name, a in observer.state().items()}
        return kept

    # Runs

    def run(
        self,
        steps: int | None = None,
        out: Path | str | None = None,
        *,
        record: int | None = None,
        force: bool = False,
        progress: ShowsProgress = None,
        max_hours: float | None = None,
        say: Say = unsaid,
    ) -> Run:
        """Take steps from the present state, into a new run folder with its trajectory and checkpoints.

        steps: how many (default: those that the scene has left). out: the folder, as for `minusgrad.run`.
        record: without `observe`, energies and frames are recorded every so many steps (default: 200 times).
        progress: True for a bar (default: in a notebook). The other arguments are those of `minusgrad.run`.

        Returns the finished `Run`; the simulation is then at its end. Raises as `minusgrad.run` does, and
        `CallbackError` for a callback that fails.
        """
        self.notice()
        if self.scene.ensemble is not None and self.scene.ensemble.member is None:
            raise UserError(
                f"{self.scene.path}: has an [ensemble], whose members minusgrad.run runs, got sim.run; load"
                " it with the override ensemble.member for one of them"
            )
        validated = self._validated_for(steps, record)
        options = RunOptions(
            validated.scene.document,
            (),
            out,
            (),
            force,
            progress,
            max_hours,
            say,
            calls=SimulationCalls(self),
        )
        self.follow(validated)
        self.running = True
        try:
            return job_runs.begin(self, options)
        finally:
            self.running = False
            self.changes.mark()

    def fit(
        self,
        out: Path | str | None = None,
        *,
        data: Mapping[str, Any] | None = None,
        sigma: Any = None,
        parameters: Mapping[str, Any] | Sequence[str] | None = None,
        method: str | None = None,
        iterations: int | None = None,
        force: bool = False,
        progress: ShowsProgress = None,
        max_hours: float | None = None,
        say: Say = unsaid,
    ) -> Fit:
        """Estimate parameters, from the start of the simulation, in a new folder.

            fit = sim.fit(data={"x": (times, values)}, sigma="1 mm", parameters=["spring.stiffness"])
            print(fit)

        data: measurements by field, (times, values) with times (T,) and values (T, n, ...) in the run's
        units, or (times, values, "bob") of a body's nodes; each array may be (array, "cm"). Of an equilibrium
        values (n, ...) alone; of an ensemble a list with those of each member. sigma: the standard deviation
        of a number, in the field's unit or as "1 mm", or one for each field by name (default: from the
        residuals). parameters: names such as "spring.stiffness" or "v", or tables by name, such as
        {"spring.stiffness": {"lower": "0.1 N/m"}}. method: default "gauss_newton". iterations: default 50.
        What is not given is that of the table `fit`, whose losses stay beside those of the data; a run
        without a number of steps ends with the last measurement.

        The other arguments are those of `run`. Returns the finished `Fit`, with its `estimates`; its folder
        has the data, too. The simulation itself stays as it is. Raises `UserError` for data that fit no
        field, and as `minusgrad.fit` does.
        """
        found = energies_at_hand.sources(self.registry)
        made = self._document_of_fit(data, sigma, parameters, method, iterations)
        return runs.fit(made, (), out, found, force, progress, max_hours=max_hours, say=say)

    def _document_of_fit(
        self,
        data: Mapping[str, Any] | None,
        sigma: Any,
        parameters: Mapping[str, Any] | Sequence[str] | None,
        method: str | None,
        iterations: int | None,
    ) -> document.Document:
        """The scene with the table [fit] that is asked for, and the measurements attached."""
        here, scene = self.scene.document, self.scene
        if data is None and sigma is not None:
            raise UserError(
                "sigma: is that of data, got none; write sim.fit(data={'x': (times, values)}, ...)"
            )
        base = here.data.get("fit", {}) if self._tables is None else self._tables.fit or {}
        arrays = None if data is None else FitArrays(self, data, sigma)
        table = fit_table(base, arrays, parameters, method, iterations)
        files = arrays.files if arrays else {}
        if self._tables is None:
            return scene_text.document_with(here, table, files)
        more: dict[str, Any] = {"fit": table}
        if arrays and not scene.run.steps:
            more["run"] = {"steps": steps_until(arrays)}
        return scene_text.document_of(self._tables, more, files)

    def _validated_for(self, steps: int | None, record: int | None) -> ValidatedScene:
        """The same scene with the steps of a run."""
        here = self.scene.document
        if steps is None and self._tables is not None:
            raise UserError("run: needs a number of steps, got none; write sim.run(steps=1000)")
        if steps is not None:
            steps = _count("run", steps, "sim.run(steps=1000)")
        if steps is None:
            made = here
        elif self._tables is not None:
            self._tables.run(self.stepper.step + int(steps), record)
            made = scene_text.document_of(self._tables)
        else:
            if record is not None:
                raise UserError(
                    "record: is for a simulation of arguments, got a scene; give it an [[observe]]"
                )
            text, more = here.source.decode(), f"run.steps={self.stepper.step + int(steps)}"
            kept = [one for one in here.overrides if not one.startswith("run.steps=")]
            made = document.of_text(
                text, here.path, [*kept, more], here.source, attached=here.attached, located=here.located
            )
        validated = validate(made, registry=self.registry)
        validated.fitted, validated.member = self._validated.fitted, self._validated.member
        return validated

    # Scenes

    def to_toml(self, path: Path | str | None = None) -> str:
        """The scene as TOML, at step 0; `minusgrad.load` of it gives the same bits.

        path: a file to write it to, with the arrays as an HDF5 file of the same name beside it. Returns the
        text. What was changed between steps is not in it; that stands in checkpoints.
        """
        return scene_text.written(self, None if path is None else Path(path))


Simulation.__init__.__doc__ = Simulation.__doc__
"""For `help`, which would show "Initialize self"."""


def _count(what: str, steps: Any, example: str) -> int:
    """The number of steps. Raises `UserError` for what is no whole number of at least 0."""
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 0:
        raise UserError(
            f"{what}: needs a whole number of steps of at least 0, got {steps!r}; write {example}"
        )
    return int(steps)
