"""Heat through boundaries, as rate potentials U [W K] of the temperatures (see `conduction`).

    convection    U = sum over facets of A h sum_a N_a (T_a - T_e)^2 / 2       Newton's law of cooling (Robin)
    flux          U = -sum over facets of A q sum_a N_a T_a                    q into the body (Neumann)
    radiation     U = sum over facets of A e s sum_a N_a (|T_a|^5 / 5 - T_e^4 T_a)   a grey surface

A [m^2] the area of a facet, or of a quadrature point of one, N_a the share of its node a; h [W m^-2 K^-1],
T_e [K] the temperature of the surroundings, q [W m^-2], e the emissivity, s the Stefan-Boltzmann constant
[W m^-2 K^-4]. The temperature between nodes counts by its nodal values, which keeps matrices monotone.

Radiation takes |T|: below 0 K, where steps of Newton's method may come to lie, its slope |T|^3 T - T_e^4 goes
on to grow, so that U is convex everywhere and has one minimum. Near T_0 it is convection with the coefficient
d(e s T^4)/dT = 4 e s T_0^3.

Decisions 0322.
"""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Parameter, local_energy, ti

FACET: dict[str, Any] = {
    "T": Node("K"),
    "area": Datum("m^2", about="Area of a facet, or of a quadrature point of one."),
    "shares": Datum("1", ("k",), about="Share of each node in the facet."),
}
AROUND = Parameter("K", scale=300.0, absolute=True, about="Temperature of the surroundings.")


@local_energy(
    "convection",
    over="tuples",
    unit="W K",
    **FACET,
    coefficient=Parameter("W m^-2 K^-1", bounds=(0.0, inf), about="Coefficient of heat transfer."),
    ambient=AROUND,
)
def convection(T, area, shares, coefficient, ambient):
    """Exchange of heat with a fluid around, in proportion to the difference of temperatures."""
    total = shares[0] * (T[0] - ambient) ** 2
    for a in ti.static(range(1, len(T))):
        total += shares[a] * (T[a] - ambient) ** 2
    return 0.5 * area * coefficient * total


@local_energy(
    "heat_flux",
    over="tuples",
    unit="W K",
    **FACET,
    flux=Parameter("W m^-2", about="Heat that flows into the body, per area and time."),
)
def heat_flux(T, area, shares, flux):
    """A given flow of heat into the body."""
    mean = shares[0] * T[0]
    for a in ti.static(range(1, len(T))):
        mean += shares[a] * T[a]
    return -area * flux * mean


@local_energy(
    "thermal_radiation",
    over="tuples",
    unit="W K",
    **FACET,
    emissivity=Parameter("1", bounds=(0.0, 1.0), about="Emissivity of the surface, 0 to 1."),
    ambient=AROUND,
    stefan_boltzmann=Parameter(
        "W m^-2 K^-4",
        scale=5.67e-8,
        default="5.670374419e-8 W m^-2 K^-4",
        about="Stefan-Boltzmann constant.",
    ),
)
def thermal_radiation(T, area, shares, emissivity, ambient, stefan_boltzmann):
    """Exchange of heat with distant surroundings by radiation."""
    total = shares[0] * (0.2 * ti.abs(T[0]) ** 5 - ambient**4 * T[0])
    for a in ti.static(range(1, len(T))):
        total += shares[a] * (0.2 * ti.abs(T[a]) ** 5 - ambient**4 * T[a])
    return area * emissivity * stefan_boltzmann * total
