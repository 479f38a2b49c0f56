"""Initial states of a laser deposition: a path, the canvas under it, and the target.

    field            shape           unit
    x, y             (n,)            m         points of the path
    power            (n,)            W         at the points
    speed            (n,)            m s^-1
    target           (cells,)        1         the wanted dose
    share            (cells,)        1         1 / cells everywhere: a sum of cells times share is a mean
    lit              (n,)            1         1 where the move to the point is drawn, 0 where it is a travel

List `segments` (n - 1, 2): of each point but the first, the one before and itself. List `bends` (n - 2, 3):
three points one after another. List `contour` (m, 4): the four cells around each point of the target's
contour, with `place`, `normal` and `piece` (`losses.edge_placement`). List `recent` (m, 4), if its length is
given: pairs of moves (`materials.thermal_memory`). List `ramps` (m, 2), if asked for: pieces of moves
(`dose.constant_power`). Grid `canvas` with target and share;
tables `stencil` and `response`, where the scene has them; `canvas_cells` (2,) and `pixel`. Nothing moves in
time.
Spare points lie on the last point of the path, after it: their moves have no length, and are not drawn.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Grid, Quantity, Record, State, StateContext, UserError, memory, quantities

from .canvas import Canvas, CanvasTable
from .contours import Contour
from .dose.constant_power import ramp_pieces
from .dose.stencils import AnyStencil
from .materials.earlier_moves import earlier_moves
from .materials.measured_depths import DepthTable
from .paths.curve import Curve
from .paths.kinds import AnyPath
from .targets.kinds import AnyTarget

UNITS = {"x": "m", "y": "m", "power": "W", "speed": "m s^-1", "lit": "1", "target": "1", "share": "1"}


class LaserPath(Record):
    """A path over a canvas, with one power and one speed all along unless its file says more."""

    canvas: CanvasTable = CanvasTable()
    """The cells in which dose and target are numbers."""
    target: AnyTarget
    """The wanted dose of each cell."""
    path: AnyPath
    """The path of the spot at the start."""
    stencil: AnyStencil | None = None
    """Samples of the spot, for the map "stencil_dose" (default: none)."""
    response: DepthTable | None = None
    """Measured depths at some doses, for the map "depth_table" (default: none)."""
    recent: Annotated[int, Field(ge=0)] = 0
    """Number of moves before each that may still be warm, for the map "thermal_memory"."""
    ramps: Annotated[int, Field(ge=0, le=64)] = 0
    """Number of pieces of the ramps of each move, for the map "constant_power_dose" (8 there)."""
    power: Annotated[float | str, Quantity("W", "nonnegative")] | None = None
    """Power of the laser all along the path (default: as the path's file says)."""
    speed: Annotated[float | str, Quantity("m s^-1", "positive")] | None = None
    """Speed of the spot all along the path (default: as the path's file says)."""
    spare: Annotated[int, Field(ge=0), memory.fits(2000)] = 0
    """Number of spare points at the end of the path, for the insertions of a search."""

    def make(self, context: StateContext) -> State:
        pixel = context.units.convert(self.canvas.pixel, "m")
        target = self.target.draw(self.canvas, context)
        if np.ptp(target) == 0.0:
            raise UserError(
                f"target: {self.target.source} is {target.flat[0]:g} in every cell: there is nothing to draw"
            )
        rows, columns = target.shape
        canvas = Canvas(rows, columns, pixel, context.units.symbol("m"))
        curve = self.path.curve(canvas, target, context)
        points = canvas.holding(curve.points, curve.source)
        if len(points) < 2:
            raise UserError(f"{curve.source} has {len(points)} points; a path has 2 at least")
        x, y = np.ascontiguousarray(points.T)
        cells, n = target.size, len(points)
        share = np.full(cells, 1.0 / cells)
        along = {what: self._value_along(what, curve, n, context) for what in ("power", "speed")}
        lit = np.append(0.0, np.ones(n - 1)) if curve.lit is None else curve.lit
        lit = np.append(lit, np.zeros(self.spare))
        x, y, n = np.pad(x, (0, self.spare), "edge"), np.pad(y, (0, self.spare), "edge"), n + self.spare
        along = {what: np.pad(values, (0, self.spare), "edge") for what, values in along.items()}
        squares, pieces = along_contour(target, pixel)
        tables = {"canvas_cells": np.array(target.shape), "pixel": np.array(pixel)}
        if self.stencil is not None:
            tables["stencil"] = self.stencil.samples(pixel, context)
        if self.response is not None:
            tables["response"] = self.response.samples(context)
        tuples = {"segments": following(n, 2), "bends": following(n, 3), "contour": squares}
        data = {"contour": pieces}
        if self.ramps:
            tuples["ramps"], data["ramps"] = self._pieces_of_ramps(n)
        if self.recent:
            memory.require(100 * n * self.recent, f"recent: {n * self.recent} pairs of moves")
            tuples["recent"] = earlier_moves(n, self.recent)
        return State(
            fields={"x": x, "y": y} | along | {"lit": lit, "target": target.ravel(), "share": share},
            units=UNITS,
            tuples=tuples,
            data=data,
            shown=("segments",),
            grids={"canvas": Grid((rows, columns), pixel, ("target", "share"))},
            tables=tables,
        )

    def _pieces_of_ramps(self, n: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        memory.require(100 * n * self.ramps, f"ramps: {2 * n * self.ramps} pieces of moves")
        rows, parts = ramp_pieces(n, self.ramps)
        return rows, {"part": parts}

    def _value_along(self, what: str, curve: Curve, n: int, context: StateContext) -> np.ndarray:
        """Power or speed at each point, of the block or of the curve's own."""
        given, own = quantities(self, context.units)[what], getattr(curve, what)
        if (given is None) == (own is None):
            cure = "give it here or in the path's file" if own is None else "the path's file has it too"
            raise UserError(f"{what}: {cure}")
        return np.full(n, given) if own is None else own


def following(n: int, count: int) -> np.ndarray:
    """So many points one after another, of n: rows (n + 1 - count, count)."""
    return (np.arange(max(n + 1 - count, 0))[:, None] + np.arange(count)).astype(np.int32)


def along_contour(target: np.ndarray, pixel: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The four cells (m, 4) around each point of the target's contour, and the data of "edge_placement"."""
    contour = Contour.of(target)
    squares, place = contour.squares(target.shape)
    m = len(squares)
    piece = contour.pieces[:m] / contour.pieces[:m].sum()
    return squares, {"place": place, "normal": contour.normals[:m] / pixel, "piece": piece}


STATES = {"laser_path": LaserPath}
