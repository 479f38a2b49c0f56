"""Phantoms: bodies whose optical depths are known exactly, as sums of uniform ellipsoids.

tau of a ray = sum over ellipsoids of density times the length of the ray's chord. An ellipsoid is the unit
ball after division by its semi-axes; on the ray p + t w its chord ends where |p + t w| = 1.
"""

import numpy as np

from minusgrad.plugin import CsvTable, StateContext, UserError

COLUMNS = ("x", "y", "z", "a", "b", "c", "angle", "density")


class Phantom:
    """Ellipsoids of a CSV file.

    Columns: x, y, z the centre and a, b, c the semi-axes, in parts of half the volume's side, from its
    centre; angle [degrees] of the rotation about the third axis; density in parts of `unit` [1/m], which adds
    to that of other ellipsoids. Raises `UserError`.
    """

    def __init__(self, file: str, side: float, unit: float, context: StateContext):
        table = CsvTable(file, context.read(file))
        found = {name: table.numbers(name) for name in COLUMNS}
        axes = np.stack([found[name] for name in "abc"], axis=1)
        if (flat := (axes <= 0.0).any(axis=1)).any():
            place = table.places[int(np.flatnonzero(flat)[0])]
            raise UserError(f"{place}: needs semi-axes above 0")
        self._centres = 0.5 * side * (1.0 + np.stack([found[name] for name in "xyz"], axis=1))
        self._axes, self._densities = 0.5 * side * axes, unit * found["density"]
        self._angles = np.radians(found["angle"])

    def depths(self, enter: np.ndarray, leave: np.ndarray) -> np.ndarray:
        """The exact optical depths between points, (rays,)."""
        total = np.zeros(len(enter))
        for centre, axes, angle, density in zip(
            self._centres, self._axes, self._angles, self._densities, strict=True
        ):
            cos, sin = np.cos(angle), np.sin(angle)
            turned = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]]).T / axes
            total += (
                density
                * _chord_share((enter - centre) @ turned, (leave - enter) @ turned)
                * _way_length(enter, leave)
            )
        return total


def _chord_share(p: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The share of the way p + t w, 0 <= t <= 1, inside the unit ball, (rays,)."""
    square = np.maximum((w * w).sum(axis=1), np.finfo(float).tiny)
    middle = -(p * w).sum(axis=1) / square
    nearest = p + middle[:, None] * w
    half = np.sqrt(np.maximum(1.0 - (nearest * nearest).sum(axis=1), 0.0) / square)
    return np.clip(middle + half, 0.0, 1.0) - np.clip(middle - half, 0.0, 1.0)


def _way_length(enter: np.ndarray, leave: np.ndarray) -> np.ndarray:
    return np.linalg.norm(leave - enter, axis=1)
