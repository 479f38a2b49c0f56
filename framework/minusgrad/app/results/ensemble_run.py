"""An ensemble as an object: its members, their varied values and failures."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...assembly.ensembles.marks import Failure
from ...files import trajectory
from ..ensembles import member_table
from ..ensembles.saved_ensemble import SavedEnsemble
from .run import Run

if TYPE_CHECKING:
    from ...assembly.built_scene import BuiltScene
    from ...assembly.ensembles.ensemble import Ensemble


class EnsembleRun(Run):
    """An ensemble, or a member of one; `simulation` is the template that shows one member."""

    def __init__(
        self,
        folder: Path,
        simulation: "BuiltScene | None" = None,
        outcome: str = "",
        remarks: Sequence[str] = (),
        *,
        ensemble: "Ensemble | None" = None,
    ):
        super().__init__(folder, simulation, outcome, remarks)
        self._ensemble = ensemble

    @property
    def ensemble(self) -> "Ensemble":
        """The objects at the last step. Raises `RunFolderError` for a folder that was opened, not run."""
        if self._ensemble is None:
            assert self.simulation  # raises
        assert self._ensemble is not None
        return self._ensemble

    @cached_property
    def _saved(self) -> SavedEnsemble:
        return SavedEnsemble(self.folder)

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of a recorded series: (T, M, ...) for M members, (T, ...) of statistics over them.

        Raises `UserError` as `series` does, which has the arrays as in the files.
        """
        path = self._path(name)
        value, saved = trajectory.series(self.folder, path).value, SavedEnsemble.or_none(self.folder)
        of_members = saved is not None and saved.own_name(path) is not None
        return saved.by_member(path, value) if saved is not None and of_members else value

    @property
    def points(self) -> dict[str, np.ndarray]:
        """The varied values by key, (M, *shape) each, in the run's units."""
        return dict(self._saved.points if self._ensemble is None else self._ensemble.drawn)

    @property
    def members(self) -> list[dict[str, Any]]:
        """A row for each member: varied values, how it ended, last observables (`ensembles.member_table`).

        Raises `RunFolderError` for a member that ran alone.
        """
        return member_table.records(SavedEnsemble(self.folder))

    @property
    def failures(self) -> dict[int, Failure]:
        """The members that failed: after how many steps, and why."""
        return dict(self._saved.failures if self._ensemble is None else self._ensemble.stepper.failures)
