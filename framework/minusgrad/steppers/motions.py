"""Rules for the motions of an integrator: each moves fields of its own, and U depends on no velocity.

    dv/dt = -(dU/dx) / inertia         is the motion of H = sum inertia v^2 / 2 + U(x, t) only if U has no v

A force that depends on velocities is none of -dU/dx: friction is -dR/dv of a dissipation, and the magnetic
force q v x B turns v without a potential.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..energies.fields import Motion
from ..errors import EnergyError, TermError
from ..potential.potential import Potential


def refuse_velocities(potential: Potential, motions: Sequence[Motion]) -> None:
    """Raise `TermError` for a term that reads the velocity of a motion, itself or through maps."""
    velocities = [m.velocity for m in motions]
    for name, term in potential.terms.items():
        if found := _way(potential, term, velocities):
            through = "".join(f" through the map '{step}'" for step in found[1:])
            raise TermError(
                f"energy '{name}': reads the velocity '{found[0]}'{through}, and a force is -dU/dx alone; write"
                " friction as a [[dissipation]], and a magnetic force as [[magnetic]]",
                name,
            )


def _way(potential: Potential, part: Any, velocities: Sequence[str]) -> tuple[str, ...]:
    """The velocity that a term or a map reads, and the maps on the way to it; empty if there is none."""
    for field in part.fields.values():
        if field.name in velocities:
            return (field.name,)
    for name, one in potential.maps.items():
        gives = {f.name for f in part.fields.values()}
        if one.gives is not None and one.gives.name in gives and (found := _way(potential, one, velocities)):
            return (*found, name)
    return ()


def refuse_shared(motions: Sequence[Motion]) -> None:
    """Raise `EnergyError` for a field that two motions would move, and for an inertia that moves."""
    moved = Counter(name for m in motions for name in (m.position, m.velocity))
    if twice := [name for name, times in moved.items() if times > 1]:
        raise EnergyError(
            f"motions: '{twice[0]}' is moved {moved[twice[0]]} times; give each motion a position and a velocity"
            " of its own"
        )
    if moving := [m.inertia for m in motions if m.inertia in moved]:
        raise EnergyError(
            f"motions: the inertia '{moving[0]}' is itself moved, and the kinetic energy has no such force;"
            " use a field that stays"
        )
