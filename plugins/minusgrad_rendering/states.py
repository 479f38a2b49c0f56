"""Initial state of a volume between cameras, and the pictures that these should see of it.

    field        shape       unit
    density      (n^3,)      1/m       of the cells, uniform at the start; cell (z n + y) n + x
    target       (rays,)     1         the wanted optical depths: those of a phantom, exact
    share        (rays,)     1         1 / rays: a sum of pixels times share is a mean

Grids: `volume`, n^3 cells over the density, and `views`, the pictures side by side, over target and share.
Tables `enter`, `leave` (rays, 3), `counts` (3,), `spacing` and `steps`: what the map `optical_depth` takes.
Nothing moves in time.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Grid, Quantity, Record, State, StateContext, UserError, quantities

from .cameras import CamerasTable
from .phantoms import Phantom

UNITS = {"density": "m^-1", "target": "1", "share": "1"}


class PhantomTable(Record):
    """A body of ellipsoids in a CSV file, with densities in parts of `density`."""

    file: str
    """CSV file of ellipsoids, with densities in parts of `density`."""
    density: Annotated[float | str, Quantity("m^-1", "positive")]
    """Unit of the densities in the file: absorption per length."""


class Volume(Record):
    """A cube of `cells`^3 cells, the cameras around it, and the phantom that they shall see."""

    cells: Annotated[int, Field(ge=1)] = 64
    """Number of cells along each edge of the cube."""
    side: Annotated[float | str, Quantity("m", "positive")]
    """Edge of the cube."""
    density: Annotated[float | str, Quantity("m^-1", "nonnegative")] = 0.0
    """Density of every cell at the start: absorption per length."""
    cameras: CamerasTable
    """The cameras around the cube."""
    phantom: PhantomTable
    """The body that the cameras see."""

    def make(self, context: StateContext) -> State:
        side, start = (quantities(self, context.units)[key] for key in ("side", "density"))
        enter, leave = self.cameras.rays(side, context.units)
        unit = context.units.convert(self.phantom.density, "m^-1")
        target = Phantom(self.phantom.file, side, unit, context).depths(enter, leave)
        if not target.any():
            raise UserError("cameras: no ray meets the phantom; give a larger opening, or more pixels")
        rays, counts = len(target), (self.cells,) * 3
        picture = (self.cameras.pixels, self.cameras.views * self.cameras.pixels)
        fields = {
            "density": np.full(self.cells**3, start),
            "target": target,
            "share": np.full(rays, 1.0 / rays),
        }
        return State(
            fields=fields,
            units=UNITS,
            grids={
                "volume": Grid(counts, side / self.cells, ("density",)),
                "views": Grid(picture, 1.0, ("target", "share")),
            },
            tables={
                "enter": enter,
                "leave": leave,
                "counts": np.array(counts),
                "spacing": np.array(side / self.cells),
                "steps": np.array(self.cameras.steps),
            },
        )


STATES = {"volume_between_cameras": Volume}
