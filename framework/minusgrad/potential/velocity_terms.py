"""Energies that read a velocity, which no force -dU/dx accounts for.

    dv/dt = -(dU/dx) / inertia         is the motion of H = sum inertia v^2 / 2 + U(x, t) only if U has no v

Friction is -dR/dv of a dissipation, and the magnetic force q v x B turns v without a potential. Losses of a
run and energies that are minimised may read velocities: they are no forces.

Decisions 0301.
"""

from collections.abc import Sequence
from typing import Any

from ..energies.fields import Motion
from ..errors import TermError
from .potential import Potential


def refuse_velocities(potential: Potential, motions: Sequence[Motion]) -> None:
    """Raise `TermError` for a term that reads the velocity of a motion, itself or through maps."""
    velocities = [m.velocity for m in motions]
    for name, term in potential.terms.items():
        if found := _velocity_path(potential, term, velocities):
            through = "".join(f" through the map '{step}'" for step in found[1:])
            raise TermError(
                f"energy '{name}': reads the velocity '{found[0]}'{through}, and a force is -dU/dx alone;"
                " write friction as a [[dissipation]], and a magnetic force as [[magnetic]]",
                name,
            )


def _velocity_path(potential: Potential, part: Any, velocities: Sequence[str]) -> tuple[str, ...]:
    """The velocity that a term or a map reads, and the maps on the way to it; empty if there is none."""
    for field in part.fields.values():
        if field.name in velocities:
            return (field.name,)
    read = {f.name for f in part.fields.values()}
    for name, one, given in potential.computed:
        if read.intersection(given) and (found := _velocity_path(potential, one, velocities)):
            return (*found, name)
    return ()
