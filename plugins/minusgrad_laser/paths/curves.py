"""Initial curves of a laser path: points (n, 2) as x, y [length], within the field of a canvas."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    ByKind,
    CsvTable,
    Quantity,
    Record,
    StateContext,
    UserError,
    memory,
    quantities,
)

from ..canvas import Canvas, Length

POINT_BYTES = 2000
"""Bytes for a point: four fields, a minimiser's pairs of each, and a checkpoint."""
COARSER = "increase `pitch` or `spacing`"
Margin = Annotated[float | str, Quantity("m", "nonnegative")]


@dataclass(frozen=True, eq=False)
class Curve:
    """Points (n, 2); power and speed (n,) where the curve has its own; its name in messages.

    lit (n,): 1 where the move that ends at a point is drawn, 0 on travels; None if all are drawn.
    """

    points: np.ndarray
    power: np.ndarray | None = None
    speed: np.ndarray | None = None
    lit: np.ndarray | None = None
    source: str = "path"


class Wander(Record):
    """The forum post's random curve: a spiral whose radius wanders.

        r = cumsum(randint(-5, 5)),  theta = cumsum(rand) 5 deg,  x = r cos theta,  y = r sin theta

    each axis scaled to `extent`, and its mean put at half of rows (or columns) times pixel. The draws are of
    NumPy's legacy `RandomState(seed)`, whose stream is promised never to change, with the scene's seed.
    """

    kind: Literal["wander"] = "wander"
    points: Annotated[int, Field(ge=2), memory.fits(POINT_BYTES)]
    """Number of points of the path."""
    extent: Length
    """Size of the curve along x and y."""

    def curve(self, canvas: Canvas, context: StateContext) -> Curve:
        extent, n = quantities(self, context.units)["extent"], self.points
        low, high = context.seed % 2**32, context.seed // 2**32
        legacy = np.random.RandomState([low, high] if high else low)
        r = np.cumsum(legacy.randint(-5, 5, size=n))
        theta = np.cumsum(legacy.rand(n)) * 5 / 180.0 * np.pi
        points = r[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)
        if not np.ptp(points, axis=0).all():
            raise UserError("path: the curve does not leave its line, or its point; take more points")
        points = points / np.ptp(points, axis=0) * extent
        middle = np.array([canvas.columns, canvas.rows]) / 2.0 * canvas.pixel
        return Curve(points - np.mean(points, axis=0) + middle)


class Hatch(Record):
    """Lines along x, to and fro from the bottom up, `pitch` apart and centred in the field less a `margin`.

    Points are at most `spacing` (default: the pitch) apart along a line.
    """

    kind: Literal["hatch"] = "hatch"
    pitch: Length
    """Distance of the lines."""
    spacing: Length | None = None
    """Largest distance of points along a line (default: the pitch)."""
    margin: Margin = 0.0
    """Margin of the field that is left free."""

    def curve(self, canvas: Canvas, context: StateContext) -> Curve:
        own = quantities(self, context.units)
        pitch, spacing, margin = own["pitch"], own["spacing"] or own["pitch"], own["margin"]
        width, height = _within(canvas, margin)
        lines, each = int(height / pitch + 1e-9) + 1, int(np.ceil(width / spacing - 1e-9)) + 1
        memory.require(POINT_BYTES * lines * each, f"path: {lines * each} points", COARSER)
        x = np.tile(margin + np.linspace(0.0, width, each), (lines, 1))
        x[1::2] = x[1::2, ::-1]
        y = margin + (height - (lines - 1) * pitch) / 2.0 + np.arange(lines) * pitch
        return Curve(np.stack([x.ravel(), np.repeat(y, each)], axis=1))


class Spiral(Record):
    """Archimedes' spiral from the middle of the field outwards: r = pitch phi / (2 pi), up to `radius`.

    Points are `spacing` (default: the pitch) apart along the curve, whose length to phi is
    s = pitch / (4 pi) (phi sqrt(1 + phi^2) + asinh phi). Without a radius: as far as the field less `margin`
    allows.
    """

    kind: Literal["spiral"] = "spiral"
    pitch: Length
    """Distance of the turns."""
    spacing: Length | None = None
    """Distance of points along the curve (default: the pitch)."""
    radius: Length | None = None
    """Radius of the spiral (default: as far as the field less the margin allows)."""
    margin: Margin = 0.0
    """Margin of the field that is left free, where no radius is given."""

    def curve(self, canvas: Canvas, context: StateContext) -> Curve:
        own = quantities(self, context.units)
        spacing = own["spacing"] or own["pitch"]
        radius, a = own["radius"] or min(_within(canvas, own["margin"])) / 2.0, own["pitch"] / (2.0 * np.pi)
        count = int(_length(radius / a) * a / spacing + 1e-9) + 1
        memory.require(POINT_BYTES * count, f"path: {count} points", COARSER)
        phi = _angle(np.arange(count) * spacing / a)
        middle = canvas.size / 2.0
        return Curve(middle + a * phi[:, None] * np.stack([np.cos(phi), np.sin(phi)], axis=1))


class FromFile(Record):
    """A curve from a table with columns x, y, and power and speed if you like; others are not read.

    Numbers are in the units `length`, `power` and `speed` (default: the run's).
    """

    kind: Literal["file"] = "file"
    file: str
    """CSV file with columns x, y and, if wanted, power and speed."""
    length: str | None = None
    """Unit of x and y in the file (default: the run's)."""
    power: str | None = None
    """Unit of the column power (default: the run's)."""
    speed: str | None = None
    """Unit of the column speed (default: the run's)."""

    def curve(self, canvas: Canvas, context: StateContext) -> Curve:
        table = CsvTable(self.file, context.read(self.file))
        x, y = (self._column(table, name, self.length, "m", context) for name in "xy")
        power = speed = None
        if "power" in table.columns:
            power = self._column(table, "power", self.power, "W", context)
            self._refuse(table, "power", power < 0.0, "needs a power of at least 0")
        if "speed" in table.columns:
            speed = self._column(table, "speed", self.speed, "m s^-1", context)
            self._refuse(table, "speed", speed <= 0.0, "needs a speed above 0")
        return Curve(np.stack([x, y], axis=1), power, speed, source=f"'{self.file}'")

    def _column(
        self, table: CsvTable, name: str, own: str | None, unit: str, context: StateContext
    ) -> np.ndarray:
        return table.numbers(name) * (1.0 if own is None else context.units.convert(f"1 {own}", unit))

    def _refuse(self, table: CsvTable, name: str, bad: np.ndarray, why: str) -> None:
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise UserError(f"{table.places[k]}: column '{name}': {why}, got '{table.texts(name)[k]}'")


AnyPath = Annotated[Wander | Hatch | Spiral | FromFile, ByKind()]


def _within(canvas: Canvas, margin: float) -> tuple[float, float]:
    """Width and height of the field less the margin on each side."""
    width, height = (float(side) for side in canvas.size - 2.0 * margin)
    if min(width, height) <= 0.0:
        raise UserError(f"path: the field less a margin of {margin:g} on each side has no room for a curve")
    return width, height


def _length(phi: np.ndarray) -> np.ndarray:
    """Of the spiral r = phi, from 0 to phi."""
    return 0.5 * (phi * np.sqrt(1.0 + phi * phi) + np.arcsinh(phi))


def _angle(length: np.ndarray) -> np.ndarray:
    """Where the spiral r = phi has come so far: by Newton's method from above, where it cannot overshoot."""
    phi = np.sqrt(2.0 * length)
    for _ in range(20):
        phi = phi - (_length(phi) - length) / np.sqrt(1.0 + phi * phi)
    return phi
