"""Many starts: a fit of every member of an ensemble, one after another, and the best of them.

    members -> fit of member 0 -> fit of member 1 -> ... -> the least loss

Each is the fit of its member alone, bit for bit. One that fails is marked, and the next one begins.
"""

import csv
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...errors import EnergyError
from ...files.checkpoint import Snapshot
from ...files.trajectory import Recorder
from ...scene.document import Scene
from ...scene.toml_positions import KeyPath
from .. import job
from ..ensembles.members import Members
from ..observers import FitHistory, Observer
from ..validation import ValidatedScene
from .estimates import Estimates
from .fit import ParameterFit
from .fitted_members import STARTS
from .losses import FitLosses
from .objective_kinds import KINDS
from .parameters import refuse_outside
from .start_search import Results, StartSearch


def has_starts(scene: Scene) -> bool:
    """True for a scene whose fit is one of every member."""
    of_members = scene.ensemble is not None and scene.ensemble.member is None
    return of_members and scene.fit is not None and scene.fit.members == STARTS


class FitStarts:
    """The fits of all members of a scene, at the start of the first: a job whose steps are iterations.

    All values at the start, and all files of measurements, are read and judged when this is made. The saved
    fields are the parameters of the best fit so far. `results`: what is known of each member's fit.
    """

    def __init__(self, validated: ValidatedScene, folder: Path | None = None):
        self.members, self._folder, self._validated = Members(validated, folder), folder, validated
        self.scene, self.registry = validated.scene, validated.registry
        assert self.scene.fit is not None
        self.simulation, self.table = self.members.template, self.scene.fit
        self.units = self.simulation.units
        numbers = list(self.members.numbers)
        kind = KINDS[self.table.of](self.simulation, self.table)
        losses = FitLosses(self.simulation, validated.models, kind.clock, numbers[0])
        for number in numbers:
            losses.measured(number)
        self.results = Results(numbers)
        self.search = StartSearch(self._fit, numbers, self.table.iterations, self.results)
        self._refuse_outside()
        first, seconds = self.search.present, (self.units.symbol("s"), self.units.in_si("s"))
        self.plan = f"{len(numbers)} fits, one after another; of each: {first.plan}"
        self.recorder = Recorder(first.recorded_units() | {"member": ("1", 1.0)}, seconds)
        self.observers: list[Observer] = [StartHistory(self.search, self.recorder, 1)]

    def _fit(self, number: int) -> ParameterFit:
        """The fit of a member, at its start."""
        return ParameterFit(self._validated, self._folder, self.members, number)

    def _refuse_outside(self) -> None:
        """Raise `SceneError` for a member that starts outside the bounds of a parameter."""
        every = {name: self.members.initial(name) for name in self.members.fields} | self.members.parameters
        parameters = self.search.present.parameters
        for unknown in (one for one in parameters.unknowns if one.field in every):
            free = parameters.free[unknown.field]
            with self.placed(("fit", "parameters", unknown.field)):
                for number, values in zip(self.members.numbers, every[unknown.field], strict=True):
                    try:
                        refuse_outside(np.atleast_1d(values)[free], unknown)
                    except EnergyError as error:
                        raise EnergyError(f"member {number} {error}") from None

    # The job

    @property
    def stepper(self) -> StartSearch:
        """The searches, one after another."""
        return self.search

    @property
    def solver_used(self) -> str:
        """The linear solver of the present equilibrium's derivatives; empty for a run."""
        return self.search.present.solver_used

    @property
    def last(self) -> int:
        """The most iterations of all fits together."""
        return max(self.table.iterations, 1) * len(self.members)

    @property
    def between_saves(self) -> int:
        """Iterations from one checkpoint to the next; by default at most a hundred checkpoints."""
        return self.table.save_every or -(-max(self.last, 1) // 100)

    @property
    def start_files(self) -> Mapping[str, bytes]:
        """The files that the scene read, data of all members among them, by their relative names."""
        return self.simulation.start_files

    @property
    def remarks(self) -> list[str]:
        """Remarks for the user about the initial state."""
        return self.simulation.remarks

    @property
    def lanes(self) -> list[str]:
        """The terms that are evaluated in lanes."""
        return self.simulation.lanes

    @property
    def saved_fields(self) -> dict[str, Field]:
        """The parameters of the best fit so far; those of the first start until one has ended."""
        return dict(self.search.best)

    def placed(self, path: KeyPath) -> AbstractContextManager[None]:
        """Turns the user's mistakes inside into `SceneError` at this place of the scene."""
        return self.simulation.placed(path)

    def facts(self) -> dict[str, Any]:
        """The origin of a checkpoint, and that it is one of a fit."""
        return self.simulation.facts() | {"fit": True}

    def refuse_dead(self) -> None:
        """As of the first fit."""
        self.search.present.refuse_dead()

    def look(self) -> None:
        """Observe iteration 0. Raises `SceneError` if rows until a checkpoint need too much memory."""
        job.first_look(self)

    def snapshot(self) -> Snapshot:
        """A copy of the present state, from which `restore` continues bit for bit."""
        return job.snapshot(self)

    def restore(self, snapshot: Snapshot, changed: bool = False) -> None:
        """Restore a saved state. Raises `CheckpointError` if it does not fit this fit."""
        self.search.return_to(snapshot.arrays_under("stepper"))
        job.restore(self, snapshot, changed)

    def refresh(self) -> None:
        """Nothing: objectives write the parameters into their runs before each evaluation."""

    # The result

    def estimates(self) -> Estimates:
        """Those of the best fit. Raises `RunFailedError` if all have failed."""
        return self.results.best_estimates()

    def as_dict(self) -> dict[str, Any]:
        """The content of fit.json: the best fit, its member, and the figures of all."""
        best = self.results.best
        return self.estimates().as_dict() | {"best_member": best, "starts": self.results.as_list()}

    def as_csv(self) -> str:
        """The table of all fits, a row for each member; empty where a fit has no value."""
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.rows())
        return text.getvalue()

    def rows(self) -> Iterator[list[Any]]:
        """The same: names of columns, then a row for each member."""
        names = self.results.components()
        start, errors = [f"start {name}" for name in names], [f"error {name}" for name in names]
        yield ["member", "outcome", "loss", "iterations", *start, *names, *errors]
        for one in self.results.as_list():
            head = [one["member"], one["outcome"], one.get("loss"), one.get("iterations")]
            for key in ("start", "values", "standard_errors"):
                found = [value for values in one.get(key, {}).values() for value in values]
                head += found or [None] * len(names)
            yield head


class StartHistory(FitHistory):
    """Records each iteration: the member, the loss, its largest free slope, the values of the parameters."""

    def __init__(self, search: StartSearch, recorder: Recorder, every: int):
        super().__init__(search.present.search, recorder, every)
        self.starts = search

    def observe(self) -> None:
        values = self.values(self.starts.present.search) | {"member": float(self.starts.number)}
        self.recorder.record_observables(self.starts.step, self.starts.time, values)
