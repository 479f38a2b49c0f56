"""Thermal memory: what was written shortly before is still warm, and the laser does more there.

    warmth_i = g sum over earlier moves j of  E_j / (pi s sqrt(pi k tau)) exp(-r^2 / s), s = 4 k tau + w^2 / 2
    warm beam_i = beam_i (1 + warmth_i)

Of the move that ends at point i. E_j = P_j l_j / v_j [J] is the energy of move j, r [m] the distance
between the middles of the two moves and tau [s] the time between them. The fraction is the energy per
volume at the surface of a half space, a time tau after a pulse on it with a Gaussian profile of waist w [m]
(Carslaw & Jaeger 1959, Conduction of Heat in Solids, sec. 10.3, with the profile's variance w^2 / 4 added
to the 2 k tau of the heat kernel; Cline & Anthony 1977, J. Appl. Phys. 48, 3895); k [m^2/s] is the thermal
diffusivity. g [m^3/J] is how much more the laser does per heat in a volume: relative to the dose, and to
first order in the temperature.

The list `recent` of the state (tuples = "recent") has the pairs: each move and so many before it as [state]
`recent` says, in rows (i, i - 1, j, j - 1). Cooling below the surface makes the sum over j short: it falls
as tau^-3/2.
"""

from math import inf, pi
from typing import Any

from minusgrad.plugin import Node, Parameter, local_map, ti

MOVES: dict[str, Any] = {
    "x": Node("m"),
    "y": Node("m"),
    "power": Node("W", bounds=(0.0, inf)),
    "speed": Node("m s^-1", bounds=(0.0, inf), open=True, reason="a move takes length / speed"),
    "duration": Node("s"),
    "arrival": Node("s"),
}


@local_map(
    "thermal_memory",
    gives="warmth",
    over=4,
    **MOVES,
    waist=Parameter(
        "m", bounds=(0.0, inf), open=True, about="Radius at which the spot has 1/e^2 of its peak."
    ),
    diffusivity=Parameter(
        "m^2 s^-1", bounds=(0.0, inf), open=True, about="Thermal diffusivity of the material."
    ),
    gain=Parameter(
        "m^3 J^-1", bounds=(0.0, inf), about="Relative rise of the laser's effect per heat in a volume."
    ),
)
def thermal_memory(x, y, power, speed, duration, arrival, waist, diffusivity, gain):
    """What an earlier move adds to the warmth of a move."""
    dx, dy = x[2] - x[3], y[2] - y[3]
    square = dx * dx + dy * dy
    energy = power[2] * ti.select(square > 0.0, ti.sqrt(square), 0.0) / speed[2]
    tau = arrival[0] - arrival[2] - 0.5 * (duration[0] - duration[2])
    later = ti.select(tau > 0.0, tau, 1.0)
    rx, ry = 0.5 * (x[0] + x[1] - x[2] - x[3]), 0.5 * (y[0] + y[1] - y[2] - y[3])
    wide = 4.0 * diffusivity * later + 0.5 * waist * waist
    heat = energy / (pi * wide * ti.sqrt(pi * diffusivity * later)) * ti.exp(-(rx * rx + ry * ry) / wide)
    return gain * ti.select(tau > 0.0, heat, 0.0)


@local_map("warm_power", gives="warm_beam", over="nodes", unit="W", power=Node("W"), warmth=Node())
def warm_power(power, warmth):
    """The power that would do on a cold material what the laser does on a warm one."""
    return power[0] * (1.0 + warmth[0])
