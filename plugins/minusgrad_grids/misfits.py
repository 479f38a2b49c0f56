"""The mean squared difference between a field q and a target T, over cells.

    L2 = weight sum over cells share (q - T)^2

q and T (cells,); share (cells,) the weights of the cells, which sum to one: 1 / cells makes it a mean. The
weight makes an energy of it [J].
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy


def _l2_misfit(name: str, unit: str, of_weight: str, claim: str):
    def l2(q, target, share, weight):
        return weight * share[0] * (q[0] - target[0]) ** 2

    l2.__doc__ = claim
    about = "Weight of the loss, which makes an energy of it."
    weight = Parameter(of_weight, default=1.0, bounds=(0.0, inf), about=about)
    return local_energy(name, over="nodes", q=Node(unit), target=Node(unit), share=Node(), weight=weight)(l2)


height_l2 = _l2_misfit("height_l2", "m", "J m^-2", "Mean squared difference between a height and its target.")
picture_l2 = _l2_misfit(
    "picture_l2", "1", "J", "Mean squared difference between a field without unit and a picture."
)
