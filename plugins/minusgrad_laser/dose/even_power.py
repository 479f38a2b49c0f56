"""Even power: the power whose exposure, which goes with its n-th power, grows evenly with what is sought.

    even_i = P_0 (power_i / P_0 + EPS)^(1/n)

A dose of exponent n (`gaussian_beam_dose`) goes with even^n = P_0^n (power / P_0 + EPS), linear in `power`:
P_0 stays P_0, and a search by `power` has the slope of a bright move in a dark one, too. By the power of the
laser itself the slope at zero is zero, so that a move that went dark stays dark. Dark is P_0 EPS^(1/n), with
a dose of EPS times that of P_0.

Decisions 0185.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_map, ti

from .gaussian_beam import EXPONENT

EPS = 1e-6
"""Dose of a dark move, in parts of that of the reference."""


@local_map(
    "even_power",
    gives="even",
    over="nodes",
    unit="W",
    power=Node("W", bounds=(0.0, inf)),
    exponent=EXPONENT,
    reference=Parameter(
        "W",
        bounds=(0.0, inf),
        open=True,
        reason="the power is divided by it",
        about="Power that stays what it is.",
    ),
)
def even_power(power, exponent, reference):
    """The laser's power, so that a dose of an exponent grows evenly with the power that is sought."""
    return reference * ti.exp(ti.log(power[0] / reference + EPS) / exponent)
