"""A barostat: pressure and temperature of a box that moves, its inertia, and the shapes that it may take.

Source: Martyna, Tobias, Klein 1994, J. Chem. Phys. 101, 4177; the equations are those of `cell`.

Decisions 0370.
"""

import numpy as np

from ...errors import EnergyError

SHAPES = ("isotropic", "orthorhombic", "flexible")


class Barostat:
    """Pressure P [energy / length^d] and kT [energy] of a moving cell, in the run's units.

        System(potential, motions, bath=Bath(1.0, kT, seed=1),
               barostat=Barostat(pressure, kT, relaxation=1.0, friction=1.0, seed=1))

    relaxation: the time that sets the inertia of the cell, W = (N + 1) kT relaxation^2 for N nodes. friction:
    the rate of the cell's own heat bath; 0: it exchanges no heat. seed: that of its random numbers. shape:
    how the edges may change: all by one factor ("isotropic"), each axis by its own ("orthorhombic"), in any
    way but by a rotation ("flexible"). Raises `EnergyError` for numbers out of range and an unknown shape.
    """

    def __init__(
        self,
        pressure: float,
        kT: float,
        relaxation: float,
        friction: float = 0.0,
        seed: int = 0,
        shape: str = "isotropic",
    ):
        for name, value in (("kT", kT), ("relaxation", relaxation)):
            if not 0.0 < value < np.inf:
                raise EnergyError(f"barostat: {name} must be finite and above 0, got {value:g}; correct it")
        if not np.isfinite(pressure):
            raise EnergyError(f"barostat: pressure must be finite, got {pressure:g}; correct it")
        if not 0.0 <= friction < np.inf:
            raise EnergyError(
                f"barostat: friction must be finite and not negative, got {friction:g}; correct it"
            )
        if shape not in SHAPES:
            raise EnergyError(f"barostat: has no shape '{shape}'; choose one of {', '.join(SHAPES)}")
        self.pressure, self.kT, self.relaxation = float(pressure), float(kT), float(relaxation)
        self.friction, self.seed, self.shape = float(friction), seed, shape

    def allowed(self, matrix: np.ndarray) -> np.ndarray:
        """The part of a matrix (d, d) that is an allowed deformation: an orthogonal projection."""
        if self.shape == "isotropic":
            return np.eye(len(matrix)) * (np.trace(matrix) / len(matrix))
        return np.diag(np.diag(matrix)) if self.shape == "orthorhombic" else 0.5 * (matrix + matrix.T)
