"""The state `sheet`: a flat rectangle of triangles in space, such as a cloth at rest.

    x = origin + u L a + v W b,          m_i = sigma / 3 times the areas of the triangles at node i

L, W [m] are the sides of `size`; a, b (3,) the unit vectors of `along` and `across`; sigma [kg/m^2] is the
mass per area, density times thickness. Lists and their data are those of `surface` (`surface_state`), sides
those of a patch (`patches`).
"""

from typing import Annotated, Any

import numpy as np

from minusgrad.plugin import Quantity, Record, State, StateContext, UserError, quantities
from minusgrad_elastic.states import Count, Length, Place, Speed, fitting

from .patches import Diagonals, Patch, triangulated_patch
from .surface_state import shell

Direction = tuple[float, float, float]
PERPENDICULAR = 1e-9
"""Cosine of the angle between `along` and `across`, at most."""


class Sheet(Record):
    """A flat rectangle of triangles in space; bodies left, right, bottom, top, corners, bottom_left, ..."""

    size: tuple[Length, Length]
    """Lengths of the sides, along `along` and `across`."""
    cells: Annotated[tuple[Count, Count], fitting(lambda parts: 4 * parts[0] * parts[1])]
    """Numbers of cells along both sides, each of two triangles, or four that are `crossed`."""
    diagonals: Diagonals = "alternating"
    """Diagonals that cut cells: all "right", all "left", in turn, or both with a node in the middle."""
    thickness: Length
    """Thickness of the sheet."""
    density: Annotated[float | str, Quantity("kg m^-3", "positive")] | None = None
    """Mass per volume (default: of the mass per area)."""
    area_density: Annotated[float | str, Quantity("kg m^-2", "positive")] | None = None
    """Mass per area, as fabrics state it (default: of the mass per volume)."""
    origin: tuple[Place, ...] = ()
    """Place of the corner bottom_left; empty: zero."""
    along: Direction = (1.0, 0.0, 0.0)
    """Direction of the first side, from left to right, of any length: the warp."""
    across: Direction = (0.0, 1.0, 0.0)
    """Direction of the second side, from bottom to top, of any length: the weft."""
    velocity: tuple[Speed, ...] = ()
    """Velocity of all nodes; empty: at rest."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        if (self.density is None) == (self.area_density is None):
            got = "both" if self.density is not None else "none"
            raise UserError(f"density, area_density: needs one of both, got {got}; give one")
        density = values["density"] or values["area_density"] / values["thickness"]
        made = self._patch(values)
        return shell(
            made.mesh,
            1.0,
            density,
            values["thickness"],
            values["origin"],
            values["velocity"],
            axes=made.axes(),
            spots=made.node_parameters() * values["size"],
        )

    def _patch(self, values: dict[str, Any]) -> Patch:
        for key in ("origin", "velocity"):
            if len(values[key]) not in (0, 3):
                raise UserError(f"{key}: {len(values[key])} numbers for 3 axes")
        along, across = (unit_direction(key, getattr(self, key)) for key in ("along", "across"))
        if not abs(cosine := float(along @ across)) <= PERPENDICULAR:
            raise UserError(
                f"across: must be perpendicular to `along`, got a cosine of {cosine:.3g}; turn it"
            )
        length, width = values["size"]
        return triangulated_patch(
            lambda u, v: length * u[:, None] * along + width * v[:, None] * across,
            self.cells,
            self.diagonals,
        )


def unit_direction(key: str, given: tuple[float, float, float]) -> np.ndarray:
    """The direction (3,) at unit length. Raises `UserError` for one that is zero or not finite."""
    vector = np.array(given, float)
    size = float(np.linalg.norm(vector))
    if not 0.0 < size < np.inf:
        raise UserError(f"{key}: must be a direction, got {list(given)}; give three numbers, not all zero")
    return vector / size
