"""The cutoff of a force over all pairs, by its method, in the box of the System.

NoCutoff             every pair
CutoffNonPeriodic    pairs within the cutoff, without a box
CutoffPeriodic       nearest images within the cutoff, at most half of the box
"""

import numpy as np

from minusgrad import Fields
from minusgrad.plugin import Cutoff, UnitSystem, UserError

from .force_kind import ForceContext

METHODS = ("NoCutoff", "CutoffNonPeriodic", "CutoffPeriodic")
"""By their number in files."""
BEYOND = 1000.0
"""The cutoff of pairs without one, in extents of the molecule or nanometres, whichever is more."""
SKIN = 0.1
"""The skin of a list, in parts of the cutoff, where the box has room for it."""


def pair_cutoff(
    context: ForceContext, what: str, method: int, cutoff: float, switch: float | None = None
) -> Cutoff | None:
    """The cutoff of a force, None of every pair; sharp, unless it has a switch. `what` begins messages.

    cutoff, switch: in nanometres.

    Raises `UserError` for a method that does not use the box of the System, and for a box that is too small.
    """
    box, nanometre = context.fields.geometry, context.units.convert("1 nm", "m")
    if (box is not None) != (METHODS[method] == "CutoffPeriodic"):
        raise UserError(
            f"{what}: must use the box as other forces of the System do, got the method {METHODS[method]};"
            " set CutoffPeriodic in all of them, or in none"
        )
    if not method:
        return None
    radius, skin = cutoff * nanometre, SKIN * cutoff * nanometre
    if box is not None:
        room = 0.5 * float(box.least_height) - radius
        if room < -1e-9 * radius:
            raise UserError(
                f"{what}: its cutoff must be at most half the least distance between opposite faces of the"
                f" box, {(room + radius) / nanometre:.6g} nm, got {cutoff:g} nm; use a larger box or a"
                " smaller cutoff"
            )
        skin = min(skin, max(room, 0.0) * (1.0 - 1e-9))
    begin = None if switch is None else switch * nanometre
    return Cutoff(radius, begin, skin, sharp=begin is None)


def beyond_all_pairs(fields: Fields, units: UnitSystem) -> Cutoff:
    """A cutoff that no pair reaches, for forces without one that exclude pairs."""
    extent = float(np.linalg.norm(np.ptp(fields["x"].values.astype(float), axis=0)))
    return Cutoff(BEYOND * max(extent, units.convert("1 nm", "m")), sharp=True)
