"""Responses of a material: Z, the developed part of a cell, as a function of its dose D alone.

    linear               Z = g D + z
    sigmoid threshold    Z = 1 / (1 + exp(-a (D - t)))

D [1] in parts of the dose that exposes fully, t the dose at which half of the material is developed, a the
steepness there: dZ/dD = a / 4 at D = t (Jidling, Fleming et al. 2022, Opt. Express 30, 20564, with a = 5 and
t = 0.5). The gain g is also an error of the dose: 1.05 if all cells get 5 % more.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_map, ti


@local_map(
    "linear_response",
    gives="developed",
    over="nodes",
    dose=Node(),
    gain=Parameter(default=1.0, bounds=(0.0, inf), about="Developed part per dose."),
    offset=Parameter(default=0.0, about="What is developed without a dose."),
)
def linear_response(dose, gain, offset):
    """Developed in proportion to the dose."""
    return gain * dose[0] + offset


@local_map(
    "sigmoid_threshold",
    gives="developed",
    over="nodes",
    dose=Node(),
    steepness=Parameter(
        default=5.0,
        bounds=(0.0, inf),
        open=True,
        about="Steepness of the response: four times its slope at the threshold.",
    ),
    threshold=Parameter(default=0.5, about="Dose at which half of the material is developed."),
)
def sigmoid_threshold(dose, steepness, threshold):
    """A smooth step at the threshold, as resist and burning have it."""
    return 0.5 * (1.0 + ti.tanh(0.5 * steepness * (dose[0] - threshold)))
