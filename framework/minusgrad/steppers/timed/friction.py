"""Friction: a dissipation R(v, x, t) with the arrays that its half steps need."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...energies.fields import Motion
from ...energies.term import Term
from ...engine import storage
from ...errors import EnergyError
from ...potential.fused_code import FusedCode
from ...potential.potential import Potential


@dataclass(frozen=True)
class Friction:
    """A dissipation R(v, x, t) with its arrays: dR/dv and v before, by velocity; the dissipated energy."""

    dissipation: Potential
    force: dict[str, Any]
    before: dict[str, Any]
    dissipated: Any

    @property
    def statements(self) -> float:
        """The approximate number of statements in one evaluation of dR/dv."""
        return FusedCode(self.dissipation).statements(self.force)

    @classmethod
    def of(cls, dissipation: Potential, motions: Sequence[Motion]) -> "Friction":
        """The friction of these motions. Raises `EnergyError` for a term that depends on no velocity."""
        for term in dissipation.terms.values():
            refuse_idle(term, motions)
        shapes = {m.velocity: np.zeros_like(dissipation.fields[m.velocity].values) for m in motions}
        force, before = ({v: storage.allocate(s) for v, s in shapes.items()} for _ in range(2))
        return cls(dissipation, force, before, storage.allocate(np.zeros(1)))


def refuse_idle(term: Term, motions: Sequence[Motion]) -> None:
    """Raise `EnergyError` for a term of a dissipation that depends on no velocity."""
    velocities = [m.velocity for m in motions]
    if not {f.name for f in term.fields.values()} & set(velocities):
        raise EnergyError(
            f"dissipation '{term.name}': depends on no velocity; use one of {', '.join(velocities) or 'none'}"
        )
