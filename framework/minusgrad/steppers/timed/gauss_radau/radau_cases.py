"""Which scenes Gauss-Radau steps have a rule for, and whose places they may measure from a body."""

from collections.abc import Sequence

from ....energies.fields import Motion
from ....errors import EnergyError
from ....potential.constraints.constraints import Constraints
from ....potential.potential import Potential
from ...holds import Holds
from ...magnetic.force import MagneticForce
from .close_pairs import MOST
from .translations import is_invariant


def refuse_unknown(
    potential: Potential,
    motions: Sequence[Motion],
    holds: Holds | None,
    magnetic: MagneticForce | None,
    constraints: Constraints | None,
) -> None:
    """Raise `EnergyError` for what these steps have no rule for."""
    if not motions:
        raise EnergyError("gauss_radau: has no motions; give at least one field with a velocity")
    if potential.fields.precision != "f64":
        raise EnergyError(
            f"gauss_radau: needs double precision, got {potential.fields.precision}; use [runtime]"
            ' precision = "f64", or leapfrog'
        )
    held = holds is not None and holds.fields
    for what, given in (("held nodes", held), ("a magnetic field", magnetic), ("constraints", constraints)):
        if given:
            raise EnergyError(f"gauss_radau: has no rule for {what}, got some; use leapfrog or yoshida6")


def may_move(potential: Potential, dissipation: Potential | None, motions: Sequence[Motion]) -> bool:
    """True if places may be measured from a body, because energies are invariant under translations."""
    position = motions[0].position
    if len(motions) > 1 or len(potential.fields[position].values) > MOST:
        return False
    return all(is_invariant(one, position) for one in (potential, dissipation) if one)
