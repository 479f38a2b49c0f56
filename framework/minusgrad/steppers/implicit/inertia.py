"""Inertia as a local energy: the part of an incremental potential that pulls a step to its free motion.

    I(u) = sum over components of  weight m (u - y)^2 / 2

u: the displacement in the step [m], one number for each moving component; y: that of the free motion [m];
m: its inertia [kg]; weight [s^-2] (`stage`). All derivatives are those of the local energy.
"""

from typing import TYPE_CHECKING

import numpy as np

from ...energies.fields import Fields
from ...energies.local_energy import local_energy
from ...energies.roles import Node, Parameter
from ...energies.term import bind
from ...engine import storage
from ...potential.potential import Potential

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WEIGHT = "inertia.weight"


@local_energy("inertia", over="nodes", u=Node(), y=Node(), m=Node(), weight=Parameter())
def inertia(u, y, m, weight):
    """The energy of a spring between a displacement and that of the free motion."""
    r = u[0] - y[0]
    return 0.5 * weight * m[0] * r * r


class Inertia:
    """The inertia of so many components, in double precision: arrays u, y and m are (size,)."""

    def __init__(self, size: int):
        fields = Fields({"u": np.zeros(size), "y": np.zeros(size), "m": np.ones(size)})
        self._fields = fields
        self._potential = Potential(fields, [bind(inertia, fields, parameters={"weight": 1.0})])
        self._gradient = {"u": storage.allocate(np.zeros(size))}

    def set(self, y: np.ndarray, m: np.ndarray, weight: float) -> None:
        """Set the free motion, the inertias and the weight."""
        self._fields["y"].set(y)
        self._fields["m"].set(m)
        self._potential.set_parameter(WEIGHT, weight)

    def evaluate(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """I and dI/du."""
        self._fields["u"].set(u)
        value = self._potential.evaluate_into(self._gradient)
        return value, storage.host(self._gradient["u"]).copy()

    def hessian(self) -> "csr_matrix":
        """d2I/du2."""
        return self._potential.hessian("u")

    def product(self, u: np.ndarray, along: dict[str, np.ndarray], wrt: str) -> np.ndarray:
        """The change of dI/d(wrt) at u, along tangents of "u", "y" and "m"."""
        self._fields["u"].set(u)
        return self._potential.product(along, wrt)
