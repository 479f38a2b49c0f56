"""A sum of terms as a function of all coordinates and velocities (2 N,): L, U or R of a variational step."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine import storage
from ...potential.potential import Potential
from ..implicit.moving_components import MovingComponents

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class PhaseFunction:
    """Derivatives of a potential by coordinates and velocities, at the present fields."""

    def __init__(self, potential: Potential, components: MovingComponents):
        self.potential, self.components = potential, components
        self.names = [*components.positions, *components.velocities]
        self.read = [n for n in self.names if n in potential.reads]
        fields = potential.fields
        self._slopes = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in self.read}

    def gradient(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """The derivatives by coordinates and by velocities (N,) each."""
        if self.read:
            self.potential.gradient_into(self._slopes, t)
        return self.split(self._slopes)

    def split(self, arrays: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Arrays by field as two vectors (N,); zero where a field is missing."""
        parts = self.components.positions, self.components.velocities
        return self._joined(arrays, parts[0]), self._joined(arrays, parts[1])

    def _joined(self, arrays: Mapping[str, Any], names: Sequence[str]) -> np.ndarray:
        shapes = zip(names, self.components.shapes, strict=True)
        return self.components.joined({n: arrays.get(n, np.zeros(s)) for n, s in shapes}, names)

    def hessian(self, t: float) -> "csr_matrix | None":
        """The second derivatives (2 N, 2 N), coordinates first; None where no term reads any."""
        return self.potential.hessian(self.names, t) if self.read else None
