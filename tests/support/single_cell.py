"""One triangle or tetrahedron at the corner of the unit square or cube, whose F is given."""

from math import factorial

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.energies.local_energy import LocalEnergy


class Cell:
    """A material of one cell: energy, P and dP/dF : H per volume, of any F to the last bit."""

    def __init__(self, energy: LocalEnergy, d: int, precision: str = "f64", **parameters):
        self.d, self.volume = d, 1.0 / factorial(d)
        corner = np.vstack([np.zeros(d), np.eye(d)])
        gradients = np.vstack([-np.ones(d), np.eye(d)])
        self.fields = Fields({"x": corner}, precision=precision)
        data = {"gradients": gradients[None], "volume": np.array([self.volume])}
        term = bind(energy, self.fields, tuples=np.arange(d + 1)[None], data=data, parameters=parameters)
        self.potential = Potential(self.fields, [term])

    def deform(self, F: np.ndarray) -> "Cell":
        self.fields["x"].set(np.vstack([np.zeros(self.d), F.T]))
        return self

    def energy(self) -> float:
        return self.potential.value() / self.volume

    def stress(self) -> np.ndarray:
        """First Piola-Kirchhoff stress."""
        return self.potential.gradient("x")[1:].T.astype(float) / self.volume

    def tangent(self, along: np.ndarray) -> np.ndarray:
        move = np.vstack([np.zeros(self.d), along.T]).astype(self.fields["x"].values.dtype)
        return self.potential.product({"x": move}, "x")[1:].T.astype(float) / self.volume
