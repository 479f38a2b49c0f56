"""F-bar: an energy density that takes the change of volume from the mean over its cell, against locking.

    Fbar = (J_0 / J)^(1/d) F,          J = det F,  J_0 = det F_0,          U = sum over points of V psi(Fbar)

F (d, d) [1] is the deformation gradient at a quadrature point, F_0 its mean over the cell; psi any density of
F. All points of a cell then have the volume ratio J_0, so that a cell of many points has one condition of
nearly constant volume in place of many. In the plane d = 2, under plane strain. The energy is a function of x
like any other, and its force the derivative: Newton's matrix is symmetric, which that of the original form,
with the stress at Fbar, is not. The original form takes F_0 in the middle of the cell, which is the mean in
parallelograms and parallelepipeds; in distorted cells only the mean passes the patch test.

de Souza Neto, Peric, Dutko & Owen 1996, Int. J. Solids Struct. 33, 3277 (F-bar); Nagtegaal, Parks & Rice
1974, Comput. Methods Appl. Mech. Eng. 4, 153 (mean dilatation).
"""

from dataclasses import replace

from ...errors import EnergyError
from ..local_energy import LocalEnergy
from ..roles import Linear
from .function import written

MEAN = "mean_"
"""Begins the names of weights that are means over a cell, and of the gradient that they make."""


def is_density(energy: object) -> bool:
    """True if an energy is a density of one deformation gradient, so that it has an F-bar form."""
    return isinstance(energy, LocalEnergy) and len(energy.linear) == 1 and bool(energy.shaping)


def with_mean_dilatation(energy: LocalEnergy) -> LocalEnergy:
    """The F-bar form of an energy, under the same name; its data have the means of the weights, too.

    Raises `EnergyError` for an energy that is no density of one deformation gradient.
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
        f"    ratio = ti.log({mean}.determinant()) - ti.log({gradient}.determinant())\n"
        f"    {gradient}bar = ti.exp(ratio / {gradient}.n) * {gradient}\n"
        f"    return density({', '.join(f'{a}bar' if a == gradient else a for a in energy.arguments)})\n"
    )
    function = written("fbar", source, {"density": energy.function})
    function.__doc__ = energy.function.__doc__
    return replace(
        energy,
        function=function,
        roles={**energy.roles, weights: energy.roles[made.weights]},
        linear={**energy.linear, mean: Linear(made.field, weights)},
    )
