"""A column of fluid at rest in the corner of a tank, ready to collapse.

    field      shape      unit
    x, v       (n, 2)     m, m s^-1       particles on a lattice, at rest
    m          (n,)       kg              of a slice as thick as one unit of length

Bodies `fluid` and `wall`. The corner of the tank is the origin; the floor runs along x, gravity along -y.
Walls are `layers` of particles that are held, on the lattice of the fluid (Crespo, Gomez-Gesteira &
Dalrymple 2007, Comput. Mater. Contin. 5, 173): their density rises as the fluid comes near, and pushes it
back.

The mass of a particle is rho_0 / sum W over the whole lattice, within about 1 % of rho_0 s^2, so that a
full lattice of spacing s has the density rho_0. The rows of the fluid lie s rho_0 / rho(p) apart, p = rho_0
g (H - y), with rho of Tait's equation: hydrostatic equilibrium before the dam is gone.

Decisions 0332.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Body,
    Hold,
    Motion,
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    memory,
    quantities,
)

from .kernels import REACH, lattice_sum

Length = Annotated[float | str, Quantity("m", "positive")]
PARTICLE_BYTES = 1000
"""Bytes for a particle: fields, outputs of maps and their adjoints, lists of neighbours."""


class FluidColumn(Record):
    """A block of fluid of this `width` and `height`, with so many `particles` across its width, in a tank.

    `h`: the smoothing length of the kernel that densities are computed with. `floor`: the length of the
    tank's floor; its left wall is `rim` times as high as the fluid. `gravity` may be 0.
    """

    width: Length
    """Width of the fluid, along x."""
    height: Length
    """Height of the fluid, along y."""
    particles: Annotated[int, Field(ge=4)]
    """Number of particles across its width, at least 4."""
    h: Length
    """Smoothing length of the kernel."""
    floor: Length
    """Length of the tank's floor."""
    rim: Annotated[float, Field(ge=1.0)] = 1.25
    """Height of the tank's left wall, in parts of that of the fluid, at least 1."""
    layers: Annotated[int, Field(ge=1)] = 3
    """Number of layers of particles in floor and walls."""
    rest_density: Annotated[float | str, Quantity("kg m^-3", "positive")]
    """Density at rest."""
    sound_speed: Annotated[float | str, Quantity("m s^-1", "positive")]
    """Speed of sound at rest; ten times the largest speed keeps the density within 1 %."""
    gravity: Annotated[float | str, Quantity("m s^-2", "nonnegative")] = "9.81 m s^-2"
    """Acceleration of gravity, along -y; may be 0."""

    def make(self, context: StateContext) -> State:
        own = quantities(self, context.units)
        s, h = own["width"] / self.particles, own["h"]
        self._refuse_misfits(own, s)
        columns, rows = round(own["floor"] / s), round(own["height"] / s)
        n = self.particles * rows + self.layers * (columns + round(self.rim * rows) + self.layers)
        memory.require(PARTICLE_BYTES * n, f"{n} particles", "take fewer")
        fluid = _product_points(s * (np.arange(self.particles) + 0.5), self._row_levels(own, s, rows))
        below = -s * (np.arange(self.layers) + 0.5)
        along = s * (np.arange(-self.layers, columns) + 0.5)
        wall = np.concatenate(
            [
                _product_points(along, below),
                _product_points(below, s * (np.arange(round(self.rim * rows)) + 0.5)),
            ]
        )
        x = np.concatenate([fluid, wall])
        m = np.full(len(x), own["rest_density"] / lattice_sum(s, h, 2))
        walls = np.arange(len(fluid), len(x))
        return State(
            fields={"x": x, "v": np.zeros_like(x), "m": m},
            units={"x": "m", "v": "m s^-1", "m": "kg"},
            motions=(Motion("x", "v", "m"),),
            bodies=(Body("fluid", np.arange(len(fluid))), Body("wall", walls)),
            holds=(Hold("wall", "x", walls),),
            labels={"x": "position", "v": "velocity", "m": "mass", "rho": "density"},
        )

    def _row_levels(self, own: dict, s: float, rows: int) -> np.ndarray:
        """Heights of the rows, each so far above the one below as its density under pressure says."""
        depth = s * (rows - np.arange(rows) - 0.5)
        squeezed = 1.0 + 7.0 * own["gravity"] * depth / own["sound_speed"] ** 2
        steps = s * squeezed ** (-1.0 / 7.0)
        return np.cumsum(steps) - 0.5 * steps

    def _refuse_misfits(self, own: dict, s: float) -> None:
        """Raises `UserError` for a kernel without neighbours, a column of part of a row, a short floor."""
        if not s < REACH * own["h"] <= own["width"]:
            raise UserError(
                f"h: the kernel reaches {REACH * own['h']:g}, and particles are {s:g} apart in a column"
                f" {own['width']:g} wide; give about 1.3 of that distance"
            )
        if own["height"] < s:
            raise UserError(
                f"height: {own['height']:g} is less than a row of particles, {s:g}; make it higher"
            )
        if own["floor"] < own["width"]:
            raise UserError(
                f"floor: {own['floor']:g} is shorter than the fluid, {own['width']:g}; make it longer"
            )


STATES = {"fluid_column": FluidColumn}


def _product_points(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """All points (x, y), row by row from below."""
    return np.stack([a.ravel() for a in np.meshgrid(x, y)], axis=1)
