"""Losses between dose and target, over the cells p of the canvas, each an energy.

    L2 = weight sum_p share_p (D_p - T_p)^2          L1 = weight sum_p share_p |D_p - T_p|

D (cells,) the dose, T (cells,) the target, both in parts of the dose that exposes fully; share (cells,) the
weights of the cells, which sum to one: with equal shares these are means. weight [J] makes an energy of it.
Where D = T the derivative of L1 is zero.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy, ti

WEIGHT = Parameter(
    "J", default=1.0, bounds=(0.0, inf), about="Weight of the loss, which makes an energy of it."
)


@local_energy("dose_l2", over="nodes", dose=Node(), target=Node(), share=Node(), weight=WEIGHT)
def dose_l2(dose, target, share, weight):
    """Mean squared difference of dose and target."""
    error = dose[0] - target[0]
    return weight * share[0] * error * error


@local_energy("dose_l1", over="nodes", dose=Node(), target=Node(), share=Node(), weight=WEIGHT)
def dose_l1(dose, target, share, weight):
    """Mean absolute difference of dose and target."""
    return weight * share[0] * ti.abs(dose[0] - target[0])
