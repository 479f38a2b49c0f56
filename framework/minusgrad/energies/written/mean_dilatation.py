"""F-bar: an energy density that takes the change of volume from the mean over its cell, against locking.

    Fbar = (J_0 / J)^(1/d) F,          J = det F,  J_0 = det F_0,          U = sum over points of V psi(Fbar)

F (d, d) [1] is the deformation gradient at a quadrature point, F_0 its mean over the cell; psi any density of
F. All points of a cell then have the volume ratio J_0, so that a cell of many points has one condition of
nearly constant volume in place of many. In the plane d = 2, under plane strain: J and J_0 are those of the
plane, and F_33 stays 1 where the energy is asked in space. The energy is a function of x
like any other, and its force the derivative: Newton's matrix is symmetric, which that of the original form,
with the stress at Fbar, is not. The original form takes F_0 in the middle of the cell, which is the mean in
parallelograms and parallelepipeds; in distorted cells only the mean passes the patch test.

de Souza Neto, Peric, Dutko & Owen 1996, Int. J. Solids Struct. 33, 3277 (F-bar); Nagtegaal, Parks & Rice
1974, Comput. Methods Appl. Mech. Eng. 4, 153 (mean dilatation).

Decisions 0321.
"""

from dataclasses import replace
from typing import TypeGuard

from ...errors import EnergyError
from ..local_energy import LocalEnergy
from ..roles import Linear
from .function import function_from_source

MEAN = "mean_"
"""Begins the names of weights that are means over a cell, and of the gradient that they make."""


def is_density(energy: object) -> TypeGuard[LocalEnergy]:
    """True if an energy is a density of one deformation gradient, so that it has an F-bar form."""
    return isinstance(energy, LocalEnergy) and len(energy.linear) == 1 and bool(energy.shaping)


def with_mean_dilatation(energy: LocalEnergy, plane: bool = False) -> LocalEnergy:
    """The F-bar form of an energy, under the same name; its data have the means of the weights, too.

    plane: of a body in the plane, whose F may be given in space. Raises `EnergyError` for an energy that is
    no density of one deformation gradient.
    """
    if not is_density(energy):
        raise EnergyError(
            f"energy '{energy.name}': fbar needs a density of one deformation gradient, got"
            f" {len(energy.linear)} arguments that are Linear; leave `fbar` out"
        )
    ((gradient, made),) = energy.linear.items()
    mean, weights = f"{MEAN}{gradient}", f"{MEAN}{made.weights}"
    names = ", ".join(energy.arguments)
    source = (
        f"def fbar({names}, {mean}):\n"
        f"    {gradient}bar = scaled({gradient}, {mean})\n"
        f"    return density({', '.join(f'{a}bar' if a == gradient else a for a in energy.arguments)})\n"
    )
    scaled = function_from_source("scaled", SCALED, {})
    if plane:
        scaled = function_from_source("scaled", SCALED_IN_PLANE, {"in_plane": scaled})
    function = function_from_source("fbar", source, {"density": energy.function, "scaled": scaled})
    function.__doc__ = energy.function.__doc__
    return replace(
        energy,
        function=function,
        roles={**energy.roles, weights: energy.roles[made.weights]},
        linear={**energy.linear, mean: Linear(made.field, weights)},
    )


SCALED = """\
def scaled(F, mean):
    ratio = ti.log(mean.determinant()) - ti.log(F.determinant())
    return ti.exp(ratio / F.n) * F
"""
"""Fbar of F and its mean."""
SCALED_IN_PLANE = """\
def scaled(F, mean):
    if F.n == 2:
        return in_plane(F, mean)
    flat, flat_mean = (ti.Matrix([[M[0, 0], M[0, 1]], [M[1, 0], M[1, 1]]]) for M in (F, mean))
    s = ti.exp((ti.log(flat_mean.determinant()) - ti.log(flat.determinant())) / 2)
    return F @ ti.Matrix([[s, 0.0, 0.0], [0.0, s, 0.0], [0.0, 0.0, 1.0]])
"""
"""Fbar of a body in the plane; in space, F_33 is left as it is."""
