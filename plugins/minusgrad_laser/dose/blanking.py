"""Blanking: the laser is off on travels.

    beam_i = lit_i power_i            of the move that ends at point i

lit is 1 on moves of a stroke and 0 on travels between strokes. Maps of dose read the beam as their power.
"""

from minusgrad.plugin import Node, local_map


@local_map(
    "blanking",
    gives="beam",
    over="nodes",
    unit="W",
    power=Node("W"),
    lit=Node(bounds=(0.0, 1.0)),
)
def blanking(power, lit):
    """The power of the laser, where it is on."""
    return lit[0] * power[0]
