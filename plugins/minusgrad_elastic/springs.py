"""Linear springs between pairs of nodes: passive ones, and muscles, whose length at rest is driven in time.

    spring    U(x) = sum over edges (i, j) of k/2 (|x_i - x_j| - L)^2
    muscle    the same, with L (1 + a sin(w t + phi)) in the place of L

x (n, d) [m], k [N/m] the stiffness, L [m] the length at rest; a [1] the amplitude, w [rad/s] the angular
frequency, phi [rad] the phase, of all edges or of each. A spring of length zero whose length at rest is
positive has no direction, and no derivative. Muscles: Hu et al. 2020, DiffTaichi (ICLR), mass-spring robots.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Parameter, Time, local_energy, ti

SPRING: dict[str, Any] = {
    "symmetries": ("translation", "rotation"),
    "x": Node("m", ("d",)),
    "stiffness": Parameter("N/m", bounds=(0.0, inf), about="Stiffness of a spring: force per extension."),
    "rest": Datum("m", differentiable=True, about="Length at rest."),
}


@local_energy("spring", over=2, **SPRING)
def spring(x, stiffness, rest):
    """Linear spring between two nodes, without force at its length at rest."""
    stretch = (x[0] - x[1]).norm() - rest
    return 0.5 * stiffness * stretch * stretch


@local_energy(
    "muscle",
    over=2,
    **SPRING,
    amplitude=Parameter(
        "1",
        scale=0.1,
        bounds=(-1.0, 1.0),
        reason="no length at rest is below zero",
        about="Amplitude of the length at rest, relative to it.",
    ),
    frequency=Parameter("rad/s", bounds=(0.0, inf), about="Angular frequency of the length at rest."),
    phase=Parameter("rad", default=0.0, about="Phase of the length at rest at time 0."),
    t=Time(),
)
def muscle(x, stiffness, rest, amplitude, frequency, phase, t):
    """Linear spring whose length at rest swings in time."""
    stretch = (x[0] - x[1]).norm() - rest * (1.0 + amplitude * ti.sin(frequency * t + phase))
    return 0.5 * stiffness * stretch * stretch
