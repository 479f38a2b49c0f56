"""Scaled variables of a minimiser that seeks positions and the periodic box together (cell relaxation).

    y = x h^-1 h_0      the positions as they would be in the box of the start      z = (y / scale, h / scale)
    dU/dy = dU/dx (h_0^-1 h)^T,     dU/dh at fixed y = dU/dh + (y h_0^-1)^T dU/dx

so that a change of the box strains the whole crystal. At fixed x it would act on the bonds across its faces
alone, and the search would take more steps the larger the box is. x (n, d), h (d, d) rows of edge vectors,
h_0 those of the start of the search, which a checkpoint holds.

Decisions 0352.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import BOX, POSITIONS
from ...engine import storage
from ...errors import EnergyError
from .objective import Objective
from .unknowns import ScaledVariables, Unknown


class CellVariables(ScaledVariables):
    """The scaled variables y and h, and other unknown fields as they are.

    Raises `EnergyError` where some positions are held or bounded: they move with the box.
    """

    def __init__(self, objective: Objective, unknowns: Sequence[Unknown], free: Mapping[str, np.ndarray]):
        super().__init__(objective, unknowns, free)
        self._positions, self._box = objective.fields[POSITIONS], objective.fields[BOX]
        places, start = {}, 0
        for part in self._parts:
            places[part.field.name] = slice(start, start + part.count)
            start += part.count
        self._place = places[POSITIONS]
        if self._place.stop - self._place.start < self._positions.values.size:
            raise EnergyError(
                f"'{BOX}': is sought with positions of which some are held, got a hold of '{POSITIONS}'; hold"
                f" no position, or leave '{BOX}' out of the unknowns"
            )
        if np.isfinite([self.lower[self._place], self.upper[self._place]]).any():
            raise EnergyError(
                f"'{BOX}': is sought with bounded positions, got bounds of '{POSITIONS}'; leave them out,"
                " because positions move with the box"
            )
        self.reference = self._edges()

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """z of the values x that the fields hold."""
        z = x.copy()
        z[self._place] = self._moved(x, np.linalg.inv(self._edges()) @ self.reference).ravel()
        return z / self.scale

    def write(self, z: np.ndarray) -> np.ndarray:
        """Set the box, then the positions that z has in it; returns x as then stored."""
        x = super().write(z)
        x[self._place] = self._moved(z * self.scale, np.linalg.inv(self.reference) @ self._edges()).ravel()
        self.put(x)
        return self.read()

    def slope(self, gradients: Mapping[str, Any]) -> np.ndarray:
        """dU/dz (N,), from arrays of dU/dx at a fixed box and of dU/dh at fixed positions."""
        edges = self._edges()
        of_positions, of_box = (storage.host(gradients[n]).astype(np.float64) for n in (POSITIONS, BOX))
        fractions = times(self._positions.values.astype(np.float64), np.linalg.inv(edges))
        strained = {
            POSITIONS: times(of_positions, (np.linalg.inv(self.reference) @ edges).T),
            BOX: of_box + np.einsum("ia,ib->ab", fractions, of_positions)[None],
        }
        return super().slope({**gradients, **strained})

    def state(self) -> dict[str, np.ndarray]:
        return {"reference_box": self.reference.copy()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.reference = state["reference_box"].copy()

    def _moved(self, values: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """The positions among values (N,) of all variables, times a matrix (d, d)."""
        return times(values[self._place].reshape(self._positions.shape), matrix)

    def _edges(self) -> np.ndarray:
        """The present edge vectors (d, d)."""
        return self._box.values[0].astype(np.float64)


def times(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """rows (n, d) times a matrix (d, d), with the same bits at any number of threads."""
    return np.einsum("ia,ab->ib", rows, matrix)


def variables(
    objective: Objective, unknowns: Sequence[Unknown], free: Mapping[str, np.ndarray]
) -> ScaledVariables:
    """The variables of a search; those of a cell where positions and box are among the unknowns."""
    of_cell = {POSITIONS, BOX} <= {unknown.field for unknown in unknowns} and objective.fields.periodic
    return (CellVariables if of_cell else ScaledVariables)(objective, unknowns, free)
