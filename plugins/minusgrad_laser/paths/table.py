"""A curve from a table in CSV."""

from typing import Literal

import numpy as np

from minusgrad.plugin import CsvTable, Record, StateContext, UserError

from ..canvas import Canvas
from .curve import Curve


class FromFile(Record):
    """A curve from a table with columns x, y, and power, speed and lit if you like; others are not read.

    lit is 1 where the move that ends at the point is drawn, 0 where it is a travel.

    Numbers are in the units `length`, `power` and `speed` (default: the run's).
    """

    kind: Literal["file"] = "file"
    file: str
    """CSV file with columns x, y and, if wanted, power, speed and lit."""
    length: str | None = None
    """Unit of x and y in the file (default: the run's)."""
    power: str | None = None
    """Unit of the column power (default: the run's)."""
    speed: str | None = None
    """Unit of the column speed (default: the run's)."""

    def curve(self, canvas: Canvas, target: np.ndarray, context: StateContext) -> Curve:
        table = CsvTable(self.file, context.read(self.file))
        x, y = (self._table_column(table, name, self.length, "m", context) for name in "xy")
        power = speed = None
        if "power" in table.columns:
            power = self._table_column(table, "power", self.power, "W", context)
            self._refuse_column(table, "power", power < 0.0, "needs a power of at least 0")
        if "speed" in table.columns:
            speed = self._table_column(table, "speed", self.speed, "m s^-1", context)
            self._refuse_column(table, "speed", speed <= 0.0, "needs a speed above 0")
        lit = None
        if "lit" in table.columns:
            lit = table.numbers("lit")
            self._refuse_column(table, "lit", (lit != 0.0) & (lit != 1.0), "needs 0 or 1")
            lit[0] = 0.0  # no move ends there
        return Curve(np.stack([x, y], axis=1), power, speed, lit, f"'{self.file}'")

    def _table_column(
        self, table: CsvTable, name: str, own: str | None, unit: str, context: StateContext
    ) -> np.ndarray:
        return table.numbers(name) * (1.0 if own is None else context.units.convert(f"1 {own}", unit))

    def _refuse_column(self, table: CsvTable, name: str, bad: np.ndarray, why: str) -> None:
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise UserError(f"{table.places[k]}: column '{name}': {why}, got '{table.texts(name)[k]}'")
