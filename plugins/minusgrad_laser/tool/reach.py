"""The exposure that a machine reaches: lines half a spot apart, at its full power and slowest useful speed.

H = P / (v d),  P [W] full power, v [m/s] slowest speed of the search, d [m] distance of the lines.
"""

from minusgrad.plugin import UserError

from .request import Request
from .scene import pitch, slowest


def refuse_out_of_reach(request: Request) -> None:
    """Raise `UserError` if no speed of the machine exposes the material up to its threshold."""
    m, material = request.machine, request.material
    reached = request.power / (slowest(m) * pitch(m))
    needed = material.threshold * material.full
    if reached < needed:
        raise UserError(
            f"{m.name}: reaches {reached:.3g} J/m^2 with lines {pitch(m) * 1e6:g} um apart, at"
            f" {slowest(m) * 1e3:g} mm/s and {request.power:g} W, but the material needs {needed:.3g} J/m^2;"
            " give another --full or --threshold, or a stronger laser"
        )
