"""Ensembles: the job that runs, saves and resumes all members of a scene with `[ensemble]`.

    scene -> members -> the template, an ordinary simulation, and the stepper of the members -> observers

At an observation every member is shown in the template, whose own observers look at it; their rows are
stacked (`stacked_rows`). One member alone, `[ensemble] member`, has the layout of an ordinary run.

Decisions 0390.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...engine.members.text_survey import NotWideError
from ...errors import CheckpointError, UserError
from ...files.checkpoint import Snapshot
from ...files.node_ranges import ranges
from ...files.trajectory import Recorder
from ...scene.toml_positions import KeyPath
from .. import job
from ..built_scene import BuiltScene
from ..observers import Observer
from ..validation import ValidatedScene
from .choice import member_stepper
from .marks import POINTS
from .member_lanes import MemberLanes
from .members import Members
from .members_watch import MembersWatch
from .observation import AloneObserver, MembersObserver, Round
from .stacked_rows import StackedRows


class Ensemble:
    """The members of a scene with `[ensemble]`, at step 0. `members`: their values; `stepper` moves them.

    `template`: the simulation in which one member after another is observed.
    """

    def __init__(self, validated: ValidatedScene, folder: Path | None = None):
        if validated.scene.ensemble is None:
            raise UserError(f"{validated.scene.path}: has no [ensemble]; add one, or run it as it is")
        self.members = Members(validated, folder)
        self.template: BuiltScene = self.members.template
        self.scene, self.registry, self.units = validated.scene, validated.registry, self.template.units
        self.origin = self.template.origin  # of the values in the scene, before a member is shown
        points = self.members.points
        self.drawn = {key: points.values(key) for key in points.keys}
        """The varied values by key, (M, *shape) each, in the run's units."""
        with self.placed(("ensemble",)):
            self.stepper = member_stepper(self.members)
        self.alone = self.stepper.alone
        self.rows = StackedRows(self.template, self.stepper.numbers)
        self.recorder: Recorder = self.template.recorder if self.alone else self.rows.recorder
        self.observers: Sequence[Observer] = self._observers()

    def __repr__(self) -> str:
        return f"Ensemble('{self.scene.path}', {self.stepper.count} members, {self.stepper})"

    def _observers(self) -> list[Observer]:
        made = self.template.observers
        at_once = {k: found for k, one in enumerate(made) if (found := self._at_once(one))}
        shown = [one for k, one in enumerate(made) if k not in at_once]
        if self.alone:
            each: Iterator[Observer] = (AloneObserver(self.stepper, one) for one in shown)
        else:
            of_round = Round(self.stepper, shown, self.rows, self.last)
            each = (MembersObserver(of_round, place) for place in range(len(shown)))
        seen = [at_once[k] if k in at_once else next(each) for k in range(len(made))]
        watched = self.stepper.watched and self.template.stepper.conserves
        return [*seen, MembersWatch(self.stepper, self.last)] if watched else seen

    def _at_once(self, own: Observer) -> Observer | None:
        """An observer of all members at once in place of one of the template; None where there is none."""
        if not isinstance(self.stepper, MemberLanes):
            return None
        try:
            return own.of_members(self.stepper, None if self.alone else self.rows)
        except NotWideError:
            return None

    # The job

    def placed(self, path: KeyPath) -> AbstractContextManager[None]:
        """Turns the user's mistakes inside into `SceneError` at this place of the scene."""
        return self.template.placed(path)

    @property
    def last(self) -> int:
        """The step at which it ends."""
        return self.template.last

    @property
    def between_saves(self) -> int:
        """Steps from one checkpoint to the next; 0: there is only that of the end."""
        return self.template.between_saves

    @property
    def start_files(self) -> dict[str, bytes]:
        """The files that the scene read, by their names relative to its folder."""
        return self.template.start_files

    @property
    def remarks(self) -> list[str]:
        """Remarks for the user about the initial state; failures at step 0 among them."""
        failed = [f"member {n}: cannot begin: {one.text}" for n, one in self.stepper.failures.items()]
        return [
            *self.template.remarks,
            *failed[:5],
            *([f"{len(failed)} members cannot begin"] if failed[5:] else []),
        ]

    @property
    def lanes(self) -> list[str]:
        """The terms of one member that are evaluated in lanes."""
        return self.template.lanes

    @property
    def saved_fields(self) -> dict[str, Field]:
        """None: the stepper's state has the fields of all members."""
        return {}

    def refresh(self) -> None:
        """Nothing: a member is refreshed when it is shown."""

    def refuse_dead(self) -> None:
        """As of the template."""
        self.template.refuse_dead()

    def look(self) -> None:
        """Observe step 0. Raises `SceneError` if the rows until the next checkpoint need too much memory."""
        job.first_look(self)
        if not self.alone:
            with self.placed(("ensemble", "statistics", "of")):
                self.rows.statistics.refuse_unknown()

    def facts(self) -> dict[str, Any]:
        """Facts about the origin of a checkpoint; the bodies of the file are those of all members."""
        facts = self.template.facts()
        if self.alone:
            return facts | {"ensemble": {"member": self.stepper.numbers[0]}}
        bodies = {b.name: ranges(self.rows.of_all(b.nodes)) for b in self.template.state.bodies}
        own = {"names": facts["names"], "bodies": facts["bodies"]}
        size: dict[str, Any] = {"members": self.stepper.count, "nodes": self.rows.nodes}
        size |= {"numbers": ranges(np.array(self.stepper.numbers))}
        return facts | {"names": [], "bodies": bodies, "ensemble": size | own}

    def snapshot(self) -> Snapshot:
        """A copy of the present state, from which `restore` continues bit for bit."""
        found, points = job.snapshot(self), self.members.points
        drawn = {f"{POINTS}/{key}": values for key, values in self.drawn.items()}
        fields, varied = self.template.saved_fields, points.varied
        units = {f"stepper/fields/{n}": self.units.symbol(f.unit) for n, f in fields.items()}
        units |= {f"{POINTS}/{key}": self.units.symbol(varied[key].place.unit) for key in points.keys}
        arrays = found.arrays | drawn
        return replace(found, arrays=arrays, units={n: u for n, u in units.items() if n in arrays})

    def restore(self, snapshot: Snapshot, changed: bool = False) -> None:
        """Restore a saved state. Raises `CheckpointError` if it does not fit, or has other points."""
        saved = snapshot.arrays_under(POINTS)
        for key, values in self.drawn.items() if not changed else ():
            if key not in saved or saved[key].tobytes() != values.tobytes():
                raise CheckpointError(f"the checkpoint's members have other values of '{key}'")
        own = {n: array for n, array in snapshot.arrays.items() if not n.startswith(f"{POINTS}/")}
        job.restore(self, replace(snapshot, arrays=own), changed)

    def values(self, field: str) -> np.ndarray:
        """The present values of a field of all members, (M, N, ...)."""
        found = []
        for number in self.stepper.numbers:
            self.stepper.show(number)
            found.append(self.template.fields[field].values.copy())
        return np.stack(found)
