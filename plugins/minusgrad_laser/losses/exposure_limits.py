"""Losses that ask for a dose beyond thresholds, and not for a number: hinges, and over-dose.

    dose_hinge   U = weight sum_p share_p { T_p relu(t_u - D_p)^K + (1 - T_p) relu(D_p - t_l)^K
                                            + T_p relu(D_p - 1)^K }
    over_dose    U = weight sum_p share_p relu(D_p - most)^2

D (cells,) the dose, T (cells,) the target within 0 and 1, share (cells,) the weights of the cells, which sum
to one; relu(x) = max(x, 0). Inside of the target the dose shall exceed t_u (`inside`), outside it shall stay
below t_l (`outside`), inside also below 1 (`above`): with t_l 0.9 and t_u 0.95, and a material that develops
in between, the loss of tomographic printing (Wechsler et al. 2024, Opt. Express 32, 14705; Nicolet et al.
2024, ACM Trans. Graph. 43, 6). weight [J] makes an energy of it. `most` is the dose that burns.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy, ti

from .pixel_differences import WEIGHT


@ti.func
def hinge(x, power):
    """relu(x)^power, with the derivatives 0 for x <= 0, also by the power."""
    above = x > 0.0
    return ti.select(above, ti.pow(ti.select(above, x, 1.0), power), 0.0)


@local_energy(
    "dose_hinge",
    over="nodes",
    dose=Node(),
    target=Node(bounds=(0.0, 1.0)),
    share=Node(),
    inside=Parameter(default=0.95, about="Dose that cells inside of the target shall exceed."),
    outside=Parameter(default=0.9, about="Dose that cells outside of the target shall stay below."),
    above=Parameter(default=1.0, about="Dose that cells inside of the target shall stay below."),
    exponent=Parameter(
        default=2.0,
        bounds=(1.0, inf),
        about="Power of what a dose falls short of a threshold, or exceeds it.",
    ),
    weight=WEIGHT,
)
def dose_hinge(dose, target, share, inside, outside, above, exponent, weight):
    """Doses too low inside of the target, too high outside, and above the limit inside."""
    short, spilt = hinge(inside - dose[0], exponent), hinge(dose[0] - outside, exponent)
    burnt = hinge(dose[0] - above, exponent)
    return weight * share[0] * (target[0] * (short + burnt) + (1.0 - target[0]) * spilt)


@local_energy(
    "over_dose",
    over="nodes",
    dose=Node(),
    share=Node(),
    most=Parameter(default=1.0, about="Dose beyond which a cell is over-exposed."),
    weight=WEIGHT,
)
def over_dose(dose, share, most, weight):
    """Mean square of the dose beyond a limit."""
    beyond = ti.max(dose[0] - most, 0.0)
    return weight * share[0] * beyond * beyond
