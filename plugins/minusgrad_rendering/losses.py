"""The loss of views, an energy over their pixels p: weight sum_p share_p (depth_p - target_p)^2.

depth, target (pixels,): optical depths [1]. share (pixels,): the weights of the pixels, which sum to one:
with equal shares this is the mean squared error. weight [J] makes an energy of it.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy


@local_energy(
    "view_l2",
    over="nodes",
    depth=Node(),
    target=Node(),
    share=Node(),
    weight=Parameter(
        "J", default=1.0, bounds=(0.0, inf), about="Weight of the loss, which makes an energy of it."
    ),
)
def view_l2(depth, target, share, weight):
    """Mean squared difference of the views and their targets."""
    error = depth[0] - target[0]
    return weight * share[0] * error * error
