"""Vectors over all moving components (N,), and arrays by field, for derivatives in double precision."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...energies.fields import Fields
from ...engine import storage
from ...steppers.implicit.moving_components import MovingComponents


class StageParts:
    """Between arrays by field, such as adjoints or tangents, and vectors; arrays for kernels, made once."""

    def __init__(self, components: MovingComponents, fields: Fields):
        self.components, self._fields = components, fields
        self._arrays: dict[str, Any] = {}

    def array(self, key: str, field: str) -> Any:
        """An array of a field's shape, the same at every call with this key."""
        if key not in self._arrays:
            self._arrays[key] = storage.allocate(np.zeros_like(self._fields[field].values))
        return self._arrays[key]

    def taken(self, arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Those of positions and of velocities (N,), zero at held components."""
        names = self.components.positions, self.components.velocities
        x, v = (self.components.joined(arrays, some) for some in names)
        return np.where(self.components.free, x, 0.0), np.where(self.components.free, v, 0.0)

    def put(self, arrays: Mapping[str, np.ndarray], x: np.ndarray, v: np.ndarray) -> None:
        """Overwrite those of positions and of velocities, with zero at held components."""
        for vector, names in ((x, self.components.positions), (v, self.components.velocities)):
            free = np.where(self.components.free, vector, 0.0)
            for name, part in self.components.parts(free, names).items():
                arrays[name][...] = part
