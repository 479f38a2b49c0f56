"""F-bar: an energy density that takes the change of volume from the middle of its cell, against locking.

    Fbar = (J_0 / J)^(1/d) F,          J = det F,  J_0 = det F_0,          U = sum over points of V psi(Fbar)

F (d, d) [1] is the deformation gradient at a quadrature point, F_0 that in the middle of its cell; psi any
density of F. All points of a cell then have the volume ratio J_0, so that a cell of many points has one
condition of nearly constant volume in place of many. In the plane d = 2, under plane strain. The energy is
a function of x like any other, and its force the derivative: Newton's matrix is symmetric, which that of
the original form, with the stress at Fbar, is not.

de Souza Neto, Peric, Dutko & Owen 1996, Int. J. Solids Struct. 33, 3277 (F-bar).
"""

from dataclasses import replace

from ...errors import EnergyError
from ..local_energy import LocalEnergy
from ..roles import Linear
from .function import written

CENTRE = "centre_"
"""Begins the name of the weights in the middle of a cell."""


def is_density(energy: object) -> bool:
    """True if an energy is a density of one deformation gradient, so that it has an F-bar form."""
    return isinstance(energy, LocalEnergy) and len(energy.linear) == 1 and bool(energy.shaping)


def with_mean_dilatation(energy: LocalEnergy) -> LocalEnergy:
    """The F-bar form of an energy, under the same name; its data have the weights in the middle, too.

    Raises `EnergyError` for an energy that is no density of one deformation gradient.
    """
    if not is_density(energy):
        raise EnergyError(
            f"energy '{energy.name}': fbar needs a density of one deformation gradient, got"
            f" {len(energy.linear)} arguments that are Linear; leave `fbar` out"
        )
    ((gradient, made),) = energy.linear.items()
    centre, weights = f"{CENTRE}{gradient}", f"{CENTRE}{made.weights}"
    names = ", ".join(energy.arguments)
    source = (
        f"def fbar({names}, {centre}):\n"
        f"    ratio = ti.log({centre}.determinant()) - ti.log({gradient}.determinant())\n"
        f"    {gradient}bar = ti.exp(ratio / {gradient}.n) * {gradient}\n"
        f"    return density({', '.join(f'{a}bar' if a == gradient else a for a in energy.arguments)})\n"
    )
    function = written("fbar", source, {"density": energy.function})
    function.__doc__ = energy.function.__doc__
    return replace(
        energy,
        function=function,
        roles={**energy.roles, weights: energy.roles[made.weights]},
        linear={**energy.linear, centre: Linear(made.field, weights)},
    )
