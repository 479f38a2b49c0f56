"""Thermal strain: an energy density of the deformation that is left when a body has expanded freely.

    F_e = F / g,    g = 1 + alpha (T - T_0)          U = sum over points of V g^3 psi(F_e)
    F_e = F - alpha (T - T_0) I                      U = sum over points of V psi(F_e)       small strains

F [1] is the deformation gradient at a quadrature point, T = sum_a N_a T_a [K] the temperature there, alpha
[1/K] the coefficient of expansion, T_0 [K] the temperature without stress, psi any density of F. The split
of F into expansion and the elastic F_e is multiplicative, for any strain: Cauchy's stress is the solid's own
at F_e, as if the expanded body were the one at rest (Lu & Pister 1975, Int. J. Solids Struct. 11, 927). A
density of small strains, which declares symmetries and not that of rotation, has the sum e = alpha (T - T_0)
I + e_e of the linear theory. Expansion has three axes in the plane, too: under plane strain F_e is asked in
space, with F_33 = 1, so that sigma_33 = nu (sigma_11 + sigma_22) - E alpha (T - T_0); a plate in plane stress
has its own stretch across.

Under F-bar, whose ratio of volumes is one for each cell, T is the mean over the cell: isotropic expansion is
a change of volume alone. U has derivatives by T, alpha and T_0 as by any field and parameter.

Decisions 0168.
"""

from dataclasses import replace
from types import MappingProxyType

from ...errors import EnergyError
from ..local_energy import LocalEnergy
from ..roles import Datum, Node, Parameter
from .function import function_from_source
from .mean_dilatation import MEAN, is_density
from .rest_shape import VOLUME

TEMPERATURE, SHARES = "T", "cell_shares"
"""The field of temperatures, and the datum with the shape functions at a point."""
EXPANSION, REFERENCE = "thermal_expansion", "reference_temperature"
THERMAL = MappingProxyType(
    {
        EXPANSION: Parameter(
            "K^-1", scale=1e-5, about="Coefficient of thermal expansion, of a state with temperatures T."
        ),
        REFERENCE: Parameter(
            "K", scale=293.15, absolute=True, about="Temperature at which the body has no thermal strain."
        ),
    }
)
"""The parameters of thermal strain."""


def with_thermal_expansion(energy: LocalEnergy, means: bool = False) -> LocalEnergy:
    """The form of an energy that reads temperatures `T`, under the same name.

    means: the temperature of a point is the mean over its cell, for F-bar. Raises `EnergyError` for an energy
    that is no density of one deformation gradient times a volume, or that has an argument of these names.
    """
    shares = MEAN * means + SHARES
    added = {TEMPERATURE: Node("K"), shares: Datum("1", ("k",)), **THERMAL}
    if not is_density(energy) or VOLUME not in energy.arguments:
        raise EnergyError(
            f"energy '{energy.name}': {EXPANSION} needs a density of one deformation gradient times its"
            f" volume; leave `{EXPANSION}` out"
        )
    if taken := [name for name in added if name in energy.roles]:
        raise EnergyError(
            f"energy '{energy.name}': has an argument '{taken[0]}' itself; leave `{EXPANSION}` out"
        )
    ((gradient, _),) = energy.linear.items()
    small = bool(energy.symmetries) and "rotation" not in energy.symmetries
    new = {
        gradient: f"{gradient}_elastic",
        VOLUME: VOLUME if small else f"{VOLUME} * growth * growth * growth",
    }
    in_space = energy.dimension is None
    vectors = [a for a, role in energy.roles.items() if a in energy.arguments and "d" in role.shape]
    if in_space:
        new |= {a: f"in_space({a}, {gradient}_elastic)" for a in vectors}
    source = (
        f"def warmed({', '.join([*energy.arguments, TEMPERATURE, shares, *THERMAL])}):\n"
        f"    excess = {shares}[0] * ({TEMPERATURE}[0] - {REFERENCE})\n"
        f"    for a in ti.static(range(1, len({TEMPERATURE}))):\n"
        f"        excess += {shares}[a] * ({TEMPERATURE}[a] - {REFERENCE})\n"
        f"    growth = 1.0 + {EXPANSION} * excess\n"
        f"    {gradient}_elastic = elastic({gradient}, growth)\n"
        f"    return density({', '.join(new.get(a, a) for a in energy.arguments)})\n"
    )
    scope = {
        "elastic": function_from_source("elastic", STRAINED[small, in_space], {}),
        "in_space": function_from_source("in_space", IN_SPACE, {}),
        "density": energy.function,
    }
    function = function_from_source("warmed", source, scope)
    function.__doc__ = energy.function.__doc__
    return replace(energy, function=function, roles={**energy.roles, **added})


_WHOLE = """\
    if F.n == 2:
        F = ti.Matrix([[F[0, 0], F[0, 1], 0.0], [F[1, 0], F[1, 1], 0.0], [0.0, 0.0, 1.0]])
"""
_SMALL = "    return F - (growth - 1.0) * ti.Matrix.identity(ti.f64, F.n)\n"
_LARGE = "    return F / growth\n"
STRAINED = {
    (small, in_space): "def elastic(F, growth):\n" + _WHOLE * in_space + (_SMALL if small else _LARGE)
    for small in (False, True)
    for in_space in (False, True)
}
"""F_e of F and g, by whether strains are small, and whether F of the plane is continued in space."""
IN_SPACE = """\
def in_space(a, F):
    if a.n < F.n:
        return ti.Vector([a[0], a[1], 0.0])
    return a
"""
"""A vector of the plane as one in space."""
