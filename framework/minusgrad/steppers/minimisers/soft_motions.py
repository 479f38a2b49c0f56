"""Rigid motions of the nodes of fields: multigrid interpolates them, and they may be free.

    translation    x + e           d2U/dx2 e = 0                  where U does not depend on the place
    rotation       x + W (x - c)   d2U/dx2 W (x - c) = W dU/dx    where U does not depend on the direction

Translations of every field along each of its components; rotations of fields of vectors in the plane or in
space, about their centre c. W is antisymmetric.

Decisions 0361.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...energies.fields import Field

AXES = "xyz"


@dataclass(frozen=True)
class SoftMotion:
    """A motion of one field: its direction (n, ...), and W (d, d) of a rotation."""

    name: str
    field: str
    direction: np.ndarray
    turn: np.ndarray | None = None

    def by_field(self, fields: Sequence[Field]) -> dict[str, np.ndarray]:
        """The direction by field, zero for the others."""
        rest = {field.name: np.zeros(field.shape) for field in fields}
        return rest | {self.field: self.direction}

    def image(self, gradients: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """d2U/dx2 times the direction, where nothing resists the motion, by field; from dU/dx by field."""
        rest = {name: np.zeros(gradient.shape) for name, gradient in gradients.items()}
        if self.turn is None:
            return rest
        return rest | {self.field: gradients[self.field] @ self.turn.T}


def soft_motions(fields: Sequence[Field]) -> list[SoftMotion]:
    """The rigid motions of the fields, one after another."""
    return [motion for field in fields for motion in _of_field(field, len(fields) > 1)]


def _of_field(field: Field, several: bool) -> Iterator[SoftMotion]:
    x = field.values.astype(np.float64)
    label = f" of {field.name}" if several else ""
    flat = x.reshape(len(x), -1)
    named = flat.shape[1] in (2, 3) and x.ndim == 2
    for a in range(flat.shape[1]):
        motion = np.zeros_like(flat)
        motion[:, a] = 1.0
        along = f" along {AXES[a]}" if named else ""
        name = f"a translation{along}{label}" if x.ndim > 1 else f"a constant added to {field.name}"
        yield SoftMotion(name, field.name, motion.reshape(x.shape))
    if named:
        for a, b in combinations(range(x.shape[1]), 2):
            turn = np.zeros((x.shape[1], x.shape[1]))
            turn[a, b], turn[b, a] = -1.0, 1.0
            about = f" about {AXES[3 - a - b]}" if x.shape[1] == 3 else ""
            yield SoftMotion(f"a rotation{about}{label}", field.name, (x - x.mean(axis=0)) @ turn.T, turn)
