"""Soft intersection over union of the developed map and the target (Jaccard index): a loss of two sums.

    S_I = sum_p share_p Z_p T_p                         the intersection
    S_U = sum_p share_p (Z_p + T_p - Z_p T_p)           the union
    U   = weight (1 - S_I / S_U)

Z (cells,) the developed map, T (cells,) the target, both within 0 and 1; share (cells,) the weights of the
cells, which sum to one. For Z of 0 and 1 the ratio is the intersection over union itself (Rahman & Wang 2016,
ISVC, LNCS 10072, 234). weight [J] makes an energy of it.

The map "overlap" sums all cells into the one node of the set "picture"; the energy is of that node:

    [[map]]
    kind = "overlap"
    sizes = { picture = 1 }

    [[energy]]
    kind = "soft_overlap"
"""

from math import inf

from minusgrad.plugin import Node, Output, local_energy, local_map

from .pixel_differences import WEIGHT


@local_map(
    "overlap",
    gives={"intersection": Output(), "union": Output()},
    over=("picture", "cells"),
    developed=Node(of="cells"),
    target=Node(of="cells"),
    share=Node(of="cells"),
)
def overlap(developed, target, share):
    """Intersection and union of two maps of cells, as parts of all cells."""
    both = developed[1] * target[1]
    return share[1] * both, share[1] * (developed[1] + target[1] - both)


@local_energy(
    "soft_overlap",
    over="nodes",
    intersection=Node(),
    union=Node(bounds=(0.0, inf), open=True, reason="it divides the intersection"),
    weight=WEIGHT,
)
def soft_overlap(intersection, union, weight):
    """One minus the soft intersection over union."""
    return weight * (1.0 - intersection[0] / union[0])
