"""Measured depths of a material at some doses, from a file: the table that the map `depth_table` reads.

The rows of the file may be at any doses: their own monotone cubic is read at `POINTS` doses, a fine table.
"""

from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.interpolate import PchipInterpolator

from minusgrad.plugin import CsvTable, Record, StateContext, UserError

POINTS = 2049
"""Doses of the fine table: curve and rows of the file differ by less than 1e-5 of the depth, as a rule."""


class DepthTable(Record):
    """A measured response: a CSV file with columns dose and depth, in rows of growing doses.

    Doses are parts of the dose that exposes fully; depths may have any unit, because Z is their ratio to
    `full`.
    """

    file: str
    """CSV file with the columns dose and depth."""
    full: Annotated[float, Field(gt=0.0)] | None = None
    """Depth at which the material counts as fully developed, as the file has it (default: the largest)."""

    def samples(self, context: StateContext) -> np.ndarray:
        """Row 0: the first dose and the distance h; then z_k and h m_k: (POINTS + 1, 2)."""
        rows = CsvTable(self.file, context.read(self.file))
        dose, depth = rows.numbers("dose"), rows.numbers("depth")
        if len(dose) < 2:
            raise UserError(f"{self.file}: needs two rows or more, got {len(dose)}; add rows")
        _refuse_row(
            np.diff(dose) <= 0.0, "dose", "must grow", "sort the rows, each with a dose of its own", rows
        )
        _refuse_row(np.diff(depth) < 0.0, "depth", "must not fall", "correct it", rows)
        if depth[-1] <= 0.0 or depth[-1] == depth[0]:
            raise UserError(
                f"{self.file}: column 'depth': must grow to more than 0, got {depth[0]:g} to {depth[-1]:g};"
                " nothing is developed at any dose"
            )
        return table(dose, depth / (self.full or depth[-1]))


def _refuse_row(wrong: np.ndarray, column: str, rule: str, cure: str, rows: CsvTable) -> None:
    """Raise `UserError` with the first row that is wrong after the one before it."""
    if wrong.any():
        k, values = int(np.flatnonzero(wrong)[0]) + 1, rows.numbers(column)
        raise UserError(
            f"{rows.places[k]}: column '{column}': {rule}, got {values[k]:g} after {values[k - 1]:g}; {cure}"
        )


def table(dose: np.ndarray, developed: np.ndarray) -> np.ndarray:
    """The fine table (POINTS + 1, 2) of a curve through the rows."""
    at = np.linspace(dose[0], dose[-1], POINTS)
    fine = PchipInterpolator(dose, developed)(at)
    h = at[1] - at[0]
    slopes = PchipInterpolator(at, fine).derivative()(at)
    return np.vstack([[dose[0], h], np.stack([fine, h * slopes], axis=1)])
