"""The free components of moving fields as one vector, scaled by the square roots of their inertia.

    y = M^(1/2) x        so that the kinetic energy is |dy/dt|^2 / 2

Held components are left out.
"""

from collections.abc import Mapping

import numpy as np

from ...energies.fields import Field
from ...engine import storage
from ..holds import Holds


class FreeComponents:
    """The free components of some fields, one field after another.

    `inertia`: by field, an array for kernels, one number for each node or a single one. `held_as`: the name
    of the field whose holds a field has, where it is another one (a velocity has those of its position).
    """

    def __init__(
        self,
        fields: Mapping[str, Field],
        inertia: Mapping[str, object],
        holds: Holds,
        held_as: Mapping[str, str] | None = None,
    ):
        self.shapes = {n: fields[n].shape for n in inertia}
        named = held_as or {}
        self.places = {n: np.flatnonzero(holds.free(named.get(n, n))) for n in inertia}
        roots = [_inverse_root(self.shapes[n], of)[self.places[n]] for n, of in inertia.items()]
        self.inverse_root = np.concatenate(roots) if roots else np.zeros(0)
        self.size = len(self.inverse_root)

    def by_field(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """A vector (N,) as arrays of the fields' shapes, zero at held components."""
        found, begin = {}, 0
        for name, free in self.places.items():
            found[name] = np.zeros(self.shapes[name])
            found[name].reshape(-1)[free] = vector[begin : begin + len(free)]
            begin += len(free)
        return found

    def vector(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """The free components (N,) of arrays by field, in f64."""
        parts = [np.asarray(arrays[n]).reshape(-1)[free] for n, free in self.places.items()]
        return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)

    @property
    def rows(self) -> np.ndarray:
        """The rows (N,) of a Hessian over the fields, in their order, that belong to free components."""
        sizes = [int(np.prod(shape, dtype=int)) for shape in self.shapes.values()]
        begins = np.cumsum([0, *sizes])
        parts = [begin + free for begin, free in zip(begins, self.places.values(), strict=False)]
        return np.concatenate(parts) if parts else np.zeros(0, int)


def _inverse_root(shape: tuple[int, ...], inertia: object) -> np.ndarray:
    """1 / sqrt(inertia) of every component, flat."""
    by_node = storage.host(inertia).astype(np.float64).reshape(-1, *[1] * (len(shape) - 1))
    return np.broadcast_to(1.0 / np.sqrt(by_node), shape).reshape(-1)
