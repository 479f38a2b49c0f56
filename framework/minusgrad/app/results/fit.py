"""A fit as an object: its estimates, and the run that was fitted."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...assembly.blocks.html_tables import table
from ...assembly.fits.estimates import HEAD, Estimates
from ...errors import RunFolderError
from ...files.held import held_folders
from ...files.held.json_text import parse_json
from .run import Run

if TYPE_CHECKING:
    from ...assembly.built_scene import BuiltScene
    from ...assembly.fits.fit import ParameterFit
    from ...assembly.fits.starts import FitStarts

ESTIMATES = "fit.json"
"""The file in a run folder with the results of a fit."""


COMPARISON = "fit.csv"
"""The file in a run folder with the data of a fit beside the model that was found."""


class Fit(Run):
    """A fit, which prints as a table: its estimates (in the folder as fit.json, too), and what found them.

    `simulation` is the run that was fitted; it was last run with the parameters that were evaluated last.
    parameter_fit: None of a fit that was opened.
    """

    def __init__(
        self,
        folder: Path,
        simulation: "BuiltScene | None" = None,
        outcome: str = "",
        remarks: Sequence[str] = (),
        estimates: Estimates | None = None,
        parameter_fit: "ParameterFit | FitStarts | None" = None,
    ):
        super().__init__(folder, simulation, outcome, remarks)
        self._estimates, self.parameter_fit = estimates, parameter_fit

    def _repr_html_(self) -> str:
        try:
            return f"{super()._repr_html_()}\n{table(HEAD, self.estimates.rows())}"
        except RunFolderError:
            return super()._repr_html_()

    def __str__(self) -> str:
        try:
            lines = str(self.estimates).split("\n")
        except RunFolderError:
            return repr(self)
        return "\n".join([f"{self.folder}: {self.estimates.iterations} iterations", *lines])

    @property
    def estimates(self) -> Estimates:
        """The estimates of a fit that has ended. Raises `RunFolderError` where it has not."""
        if self._estimates is not None:
            return self._estimates
        try:
            found = parse_json(held_folders.read_file(self.folder / ESTIMATES))
            return Estimates.of(found, found["outcome"])
        except FileNotFoundError:
            raise RunFolderError(
                f"{self.folder}: has no estimates yet, the fit is {self.state}; minusgrad resume continues it"
            ) from None
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise RunFolderError(
                f"{self.folder / ESTIMATES}: damaged ({error}); restore the original file"
            ) from None
