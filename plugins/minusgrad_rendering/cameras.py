"""Cameras around a cube: rays through the pixels of pinhole cameras, and where they cross the cube.

Camera v of V stands at distance D from the centre of the cube, at the angle pi v / V around the vertical
(third) axis, and looks at the centre. The ray of a pixel leaves the camera along f + o (s r + q u), with f
the direction of view, r to the right, u upward, o the opening, and s and q in (-1, 1) the place of the
pixel's centre.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Quantity, Record, UnitSystem, UserError


class CamerasTable(Record):
    """`views` of `pixels` x `pixels` along a half circle; `opening`: half a view's width at distance 1.

    `steps`: of the march along each ray, through the cube.
    """

    views: Annotated[int, Field(ge=1)] = 7
    """Number of cameras, along a half circle."""
    pixels: Annotated[int, Field(ge=1)] = 128
    """Number of pixels along each side of a view."""
    steps: Annotated[int, Field(ge=1)] = 200
    """Number of steps of each ray through the cube."""
    distance: Annotated[float | str, Quantity("m", "positive")]
    """Distance of the cameras from the centre of the cube."""
    opening: Annotated[float, Field(gt=0.0)] = 0.3
    """Half of a view's width at distance 1."""

    def rays(self, side: float, units: UnitSystem) -> tuple[np.ndarray, np.ndarray]:
        """Where rays enter and leave a cube [0, side]^3: twice (rays, 3); rays that miss it have equal ends.

        The views lie side by side: ray (row, view, column), the first row at the bottom.
        """
        far = units.convert(self.distance, "m")
        if far <= side * np.sqrt(0.75):
            raise UserError(
                f"cameras.distance: must be outside of the cube at all angles, got {far / side:.3g} of its"
                f" side; give more than {np.sqrt(0.75):.3g}"
            )
        place = (2.0 * np.arange(self.pixels) + 1.0) / self.pixels - 1.0
        angle = np.pi * np.arange(self.views) / self.views
        cos, sin, zero = np.cos(angle), np.sin(angle), np.zeros(self.views)
        forward, right = np.stack([-cos, -sin, zero], 1), np.stack([-sin, cos, zero], 1)
        up = np.array([0.0, 0.0, 1.0])
        s, q = place[None, None, :, None], place[:, None, None, None]
        way = forward[None, :, None] + self.opening * (s * right[None, :, None] + q * up)
        way = way / np.linalg.norm(way, axis=-1, keepdims=True)
        eye = np.broadcast_to(0.5 * side - far * forward[None, :, None], way.shape)
        return _cube_crossings(eye.reshape(-1, 3), way.reshape(-1, 3), side)


def _cube_crossings(eye: np.ndarray, way: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the parts of rays eye + t way, t > 0, inside the cube."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.stack([-eye / way, (side - eye) / way])
    near = np.nanmax(bounds.min(axis=0), axis=1)
    far = np.maximum(np.nanmin(bounds.max(axis=0), axis=1), near)
    return tuple(np.clip(eye + t[:, None] * way, 0.0, side) for t in (near, far))
