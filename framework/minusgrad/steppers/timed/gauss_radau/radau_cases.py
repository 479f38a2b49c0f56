"""Which scenes Gauss-Radau steps have a rule for, and whose places they may measure from a body."""

from collections.abc import Sequence

from ....energies.fields import Motion
from ....errors import EnergyError
from ....potential.potential import Potential
from ...systems.missing_motions import refuse_missing
from ...systems.system import System
from .close_pairs import MOST
from .translations import is_invariant


def refuse_unfit(system: System) -> None:
    """Raise `EnergyError` for a system without motions, and in single precision."""
    precision = system.fields.precision
    refuse_missing("gauss_radau", system.motions, system.fields)
    if precision != "f64":
        raise EnergyError(
            f"gauss_radau: needs double precision, got {precision}; use [runtime]"
            ' precision = "f64", or leapfrog'
        )


def may_move(potential: Potential, dissipation: Potential | None, motions: Sequence[Motion]) -> bool:
    """True if places may be measured from a body, because energies are invariant under translations."""
    position = motions[0].position
    if len(motions) > 1 or len(potential.fields[position].values) > MOST:
        return False
    return all(is_invariant(one, position) for one in (potential, dissipation) if one)
