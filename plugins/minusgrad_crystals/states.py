"""Initial states of crystals: x (n, d), v (n, d), m (n,) and the box (1, d, d), in the run's units.

x = lattice + displacement N(0, 1),        v = sqrt(k_B T / m) N(0, 1) - mean
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import Motion, Quantity, Record, State, StateContext, UserError, memory, quantities

from .lattices import LATTICES, bonds

Cells = Annotated[int, Field(ge=1)]
BYTES_PER_ATOM = 600
"""With work arrays and a checkpoint."""


class Crystal(Record):
    """A perfect crystal in a periodic box: `cells` conventional cells along each axis, lattice constant `a`.

    `lattice`: fcc, bcc, simple_cubic, diamond (cubic cells), or triangular (of the plane: cells of a by
    sqrt(3) a, with two atoms). `displacement`: the standard deviation of random displacements along each
    axis. `temperature`: of the velocities (in units of energy where the scene is dimensionless); the whole
    crystal is at rest. The list `bonds` has the nearest neighbours that do not meet across a face of the box,
    for pictures.
    """

    lattice: Literal["fcc", "bcc", "simple_cubic", "diamond", "triangular"]
    """Lattice; "triangular" is of the plane, with cells of a by sqrt(3) a."""
    cells: list[Cells] = Field(min_length=2, max_length=3)
    """Number of conventional cells along each axis."""
    a: Annotated[float | str, Quantity("m", "positive")]
    """Lattice constant."""
    mass: Annotated[float | str, Quantity("kg", "positive")]
    """Mass of every atom."""
    displacement: Annotated[float | str, Quantity("m", "nonnegative")] = 0.0
    """Standard deviation of random displacements along each axis."""
    temperature: Annotated[float | str, Quantity("K", "nonnegative", absolute=True)] = 0.0
    """Temperature of the velocities; an energy k_B T where the scene is dimensionless."""

    def make(self, context: StateContext) -> State:
        values, lattice = quantities(self, context.units), LATTICES[self.lattice]
        d = len(lattice.edges)
        if len(self.cells) != d:
            example = ", ".join(["4"] * d)
            raise UserError(
                f"cells: a {self.lattice} crystal has {d} axes, got {self.cells}; write cells = [{example}]"
            )
        count = len(lattice.basis) * int(np.prod([float(n) for n in self.cells]))
        memory.require(count * BYTES_PER_ATOM, f"a crystal of {count:,} atoms", "use fewer cells")
        x, box = lattice.crystal(values["a"], self.cells)
        drawn = bonds(x, lattice.nearest() * values["a"])
        rng = context.random("crystal")
        x = x + values["displacement"] * rng.normal(size=x.shape)
        thermal = np.sqrt(_boltzmann_constant(context) * values["temperature"] / values["mass"])
        v = thermal * rng.normal(size=x.shape)
        return State(
            fields={"x": x, "v": v - v.mean(axis=0), "m": np.full(len(x), values["mass"]), "box": box[None]},
            units={"x": "m", "v": "m s^-1", "m": "kg", "box": "m"},
            motions=(Motion("x", "v", "m"),),
            tuples={"bonds": drawn} if len(drawn) else {},
            shown=("bonds",) if len(drawn) else (),
            labels={"x": "position", "v": "velocity", "m": "mass", "box": "edges"},
        )


def _boltzmann_constant(context: StateContext) -> float:
    """k_B in the run's units; 1 where they are dimensionless."""
    return context.units.convert("1.380649e-23 J K^-1", "J K^-1") if context.units.names else 1.0


STATES = {"crystal": Crystal}
