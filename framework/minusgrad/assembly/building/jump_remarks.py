"""Remarks about sharp cutoffs: how far a pair jumps there, and what the pressure has of it.

Decisions 0011.
"""

from ...codegen.cutoff_shell import jump_over_ball
from ...energies.local_map import LocalMap
from ...energies.term import Term
from ...potential.potential import Potential
from ...scene.units import UnitSystem
from ...steppers.pressure.cutoff_jumps import CutoffJumps, jumps_sharply, pressure
from ...steppers.pressure.stress import PRESSURE, volume


def jump_remark(term: Term, height: float, potential: Potential, units: UnitSystem) -> str:
    """A remark about a term with a sharp cutoff, where a pair jumps by up to `height`."""
    assert term.energy.cutoff is not None
    unit = "J"
    if isinstance(term.energy, LocalMap):
        unit = next(iter(term.energy.outputs.values())).unit
    where = _number(term.energy.cutoff.radius, units.symbol("m"))
    size = _number(height, units.symbol(unit))
    text = (
        f"{term.name}: is cut sharply at {where}, where a pair jumps by up to {size}, which no force contains"
    )
    if term.name not in potential.terms or potential.fields.box is None or not jumps_sharply(term):
        return f"{text}; a `switch` makes it smooth"
    symbol, _, factor = units.reported(PRESSURE[potential.fields.box.shape[-1]])
    found = pressure(jump_over_ball(term), volume(potential.fields.box)) * factor
    of_pressure = f"{_number(found, symbol)} of the pressure at uniform density"
    if term.name in CutoffJumps(potential).counted:
        return f"{text}; {of_pressure}, which the observer `pressure` and `npt` count"
    return (
        f"{text}; the virial lacks {of_pressure}; a `switch` makes it smooth, and with the compound"
        " `dispersion` it is counted"
    )


def _number(value: float, symbol: str) -> str:
    return f"{value:.3g} {symbol}".removesuffix(" 1")
