"""Heat conduction: a rate potential U [W K] of the temperatures, whose slope is the heat that leaves a node.

    U(T) = sum over cells of V k |grad T|^2 / 2,    grad T = sum_a T_a grad N_a        conduction
    U(T) = sum over cells of V grad T . K grad T / 2                                    anisotropic
    U(T) = -sum_i V_i q T_i                                                             a source

T [K], V [m^3] the cell's volume, k [W m^-1 K^-1] the conductivity, K (d, d) the tensor of conductivities (its
symmetric part counts), q [W m^-3] the heat set free in a volume, V_i [m^3] the share of a node in it. In
equilibrium dU/dT = 0: div(k grad T) + q = 0 in weak form; in time C dT/dt = -dU/dT (`gradient_flow`).
Tables call the unit of every U a joule. (Hughes 2000, The Finite Element Method, sections 2.3 and 8.1.)

k does not depend on T: the slope of k(T) |grad T|^2 / 2 is not the heat equation. Where k(T) is given, take
Kirchhoff's variable, the integral of k dT, as T with k = 1 (Carslaw & Jaeger 1959, section 1.6).

Decisions 0322.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Linear, Node, Parameter, local_energy

CELL: dict[str, Any] = {
    "T": Node("K"),
    "gradients": Datum(
        "m^-1", ("k", "d"), about="Gradients of the shape functions, one for each node of a cell."
    ),
    "G": Linear("T", "gradients"),
}
CONDUCTIVITY = Parameter(
    "W m^-1 K^-1",
    bounds=(0.0, inf),
    open=True,
    reason="heat flows from hot to cold",
    about="Thermal conductivity.",
)


@local_energy(
    "heat_conduction",
    over="tuples",
    unit="W K",
    **CELL,
    volume=Datum("m^3", about="Volume of a cell, or of a quadrature point."),
    conductivity=CONDUCTIVITY,
)
def conduction(G, volume, conductivity):
    """Fourier's law in an isotropic body."""
    return 0.5 * volume * conductivity * G.dot(G)


@local_energy(
    "anisotropic_heat_conduction",
    over="tuples",
    unit="W K",
    **CELL,
    volume=Datum("m^3", about="Volume of a cell, or of a quadrature point."),
    conductivity=Parameter(
        "W m^-1 K^-1",
        ("d", "d"),
        about="Tensor of thermal conductivities, of which the symmetric part counts.",
    ),
)
def anisotropic_conduction(G, volume, conductivity):
    """Fourier's law with a tensor of conductivities: wood, layers, crystals."""
    return 0.5 * volume * G.dot(conductivity @ G)


@local_energy(
    "heat_source",
    over="nodes",
    unit="W K",
    T=Node("K"),
    share=Node("m^3"),
    power=Parameter("W m^-3", about="Heat that is set free, per volume and time."),
)
def heat_source(T, share, power):
    """Heat that is set free in the volume of a body."""
    return -share[0] * power * T[0]
