"""The radius of an elliptical spot across a line."""

from collections.abc import Sequence

import numpy as np


def waists_across(waists: Sequence[float] | np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Radii (n,) [m] of the spot along unit normals (n, 2) of lines; waists: radii along x and y [m]."""
    return np.hypot(waists[0] * normals[..., 0], waists[1] * normals[..., 1])
