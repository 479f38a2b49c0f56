"""Coordinates of the page: the data centred, ten long; and the camera that fits."""

from typing import TYPE_CHECKING

import numpy as np

from ..plot.shapes import surfaces

if TYPE_CHECKING:
    from viser import ViserServer

SIDE = 10.0
"""The longest side of all that is shown, in units of the page."""
FIELD_OF_VIEW = 40.0
"""Of the camera, in degrees: narrow, so that shapes look as they are."""


class Space:
    """Maps data between two corners, low and high (d,), d = 2 or 3, to the page; the plane is z = 0."""

    def __init__(self, low: np.ndarray, high: np.ndarray):
        self.is_flat = len(low) == 2
        self.centre, reach = (low + high) / 2, float((high - low).max())
        self.scale = SIDE / reach if reach > 0 else 1.0
        self.size = (high - low) * self.scale

    def __call__(self, x: np.ndarray, height: float = 0.0) -> np.ndarray:
        """Points (..., d) on the page, (..., 3) in single precision; those of the plane at this height."""
        seen = (np.asarray(x, float) - self.centre[: np.shape(x)[-1]]) * self.scale
        if seen.shape[-1] == 2:
            seen = np.concatenate([seen, np.full((*seen.shape[:-1], 1), height)], axis=-1)
        return seen.astype(np.float32)

    def view(self, x: np.ndarray) -> np.ndarray:
        """The usual view (3, 3) of points (n, d): of the plane from above."""
        return np.eye(3) if self.is_flat else surfaces.sensible_view(x)

    def aim(self, server: "ViserServer", view: np.ndarray) -> None:
        """Put the camera where all is seen, in a view (3, 3) whose rows point right, up and to the eye."""
        size = np.append(self.size, 0.0)[:3]
        corners = np.array(np.meshgrid(*([-0.5, 0.5],) * 3)).reshape(3, -1).T * size
        right, up, deep = (corners @ view.T).T
        slope = np.tan(np.radians(FIELD_OF_VIEW / 2))
        far = float(np.max(np.maximum(np.abs(right) / 0.95, np.abs(up)) / slope + deep))
        aside = 0.3 * far * slope * view[0]  # the right of the page has legend and curves
        camera = server.initial_camera
        camera.position, camera.look_at, camera.up = 1.12 * far * view[2] + aside, aside, view[1]
        camera.fov = float(np.radians(FIELD_OF_VIEW))
