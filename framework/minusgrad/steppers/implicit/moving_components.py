"""All components of moving fields as one vector (N,) in double precision, one field after another.

Free components are written; held ones keep their values, which `holds.place` gives them. `overwrite` alone
sets both.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...energies.fields import Fields, Motion
from ...engine import storage
from ..holds import Holds


class MovingComponents:
    """Positions and velocities of some motions; `free` (N,): the mask of the free components."""

    def __init__(self, fields: Fields, motions: Sequence[Motion], holds: Holds):
        self.fields = fields
        self.positions, self.velocities = [m.position for m in motions], [m.velocity for m in motions]
        self.shapes = [fields[name].shape for name in self.positions]
        sizes = [int(np.prod(shape, dtype=int)) for shape in self.shapes]
        self._ends = np.cumsum([0, *sizes])
        self.free = np.concatenate([np.ravel(holds.free(name)) for name in self.positions])
        self._masks = [np.ravel(holds.free(name)) for name in self.positions]
        self.whole = bool(self.free.all())

    def __len__(self) -> int:
        return int(self._ends[-1])

    def read(self, names: Sequence[str]) -> np.ndarray:
        """The values of positions or velocities (N,)."""
        return self.joined({name: self.fields[name].values for name in names}, names)

    def joined(self, arrays: Mapping[str, Any], names: Sequence[str]) -> np.ndarray:
        """Arrays by field as one vector (N,)."""
        return np.concatenate([storage.host(arrays[n]).reshape(-1) for n in names], dtype=np.float64)

    def parts(self, vector: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        """A vector (N,) as arrays of the fields' shapes, by field."""
        cuts = zip(self._ends[:-1], self._ends[1:], self.shapes, strict=True)
        return {n: vector[a:b].reshape(s) for n, (a, b, s) in zip(names, cuts, strict=True)}

    def write(self, vector: np.ndarray, names: Sequence[str]) -> None:
        """Set the free components of positions or velocities."""
        for (name, part), mask in zip(self.parts(vector, names).items(), self._masks, strict=True):
            field = self.fields[name]
            with np.errstate(over="ignore"):
                new = part.astype(field.dtype)
            field.set(new if self.whole else np.where(mask.reshape(field.shape), new, field.values))

    def overwrite(self, vector: np.ndarray, names: Sequence[str]) -> None:
        """Set all components of positions or velocities, held ones, too."""
        for name, part in self.parts(vector, names).items():
            self.fields[name].set(part.astype(self.fields[name].dtype))

    def place_of(self, row: int) -> tuple[str, int]:
        """The field and the node of a row of a vector (N,)."""
        k = int(np.searchsorted(self._ends, row, "right")) - 1
        width = int(np.prod(self.shapes[k][1:], dtype=int))
        return self.positions[k], (row - int(self._ends[k])) // width

    def masses(self, inertia: Mapping[str, Any]) -> np.ndarray:
        """The inertia (N,) of each component, from arrays of one for each node, or a single one."""
        found = []
        for name, shape in zip(self.positions, self.shapes, strict=True):
            by_node = storage.host(inertia[name]).astype(np.float64).reshape(-1, *[1] * (len(shape) - 1))
            found.append(np.broadcast_to(by_node, shape).reshape(-1))
        return np.concatenate(found)

    def rows(self, names: Sequence[str], among: Sequence[str]) -> np.ndarray:
        """The rows of a vector (N,) over the fields `among` that belong to some of them."""
        spans = [np.arange(a, b) for a, b in zip(self._ends[:-1], self._ends[1:], strict=True)]
        return np.concatenate([spans[list(among).index(name)] for name in names])
