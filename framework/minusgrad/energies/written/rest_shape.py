"""Rest shapes as a field: an energy density of solids whose nodes at rest are unknowns, as others are.

    G = sum_a X_a (x) w_a,      F = (sum_a x_a (x) w_a) G^-1,      U = sum over points of V det G psi(F)

X (n, d) [m] are the nodes at rest, w_a the gradients of the shape functions at the rest shape that the mesh
was made with, and V the volume there: both stay as they are. G is the deformation gradient from that shape
to X, the unit matrix at the start. So the derivatives by X are exact, of any order and for any cell, and the
chain through volumes and gradients needs no rule of its own. (Pull-back to a fixed reference: Haslinger &
Makinen 2003, Introduction to Shape Optimization, chapter 3.)

Decisions 0385.
"""

from dataclasses import replace

from ...errors import EnergyError
from ..local_energy import LocalEnergy
from ..roles import Linear, Node
from .function import function_from_source
from .mean_dilatation import is_density

REST, VOLUME = "rest", "volume"
"""The field of the nodes at rest, and the datum that is the volume of a point."""


def with_rest_shape(energy: LocalEnergy) -> LocalEnergy:
    """The same energy of a body whose rest shape is the field `rest`, under the same name.

    Raises `EnergyError` for an energy that is no density of one deformation gradient, times a volume.
    """
    if not is_density(energy) or VOLUME not in energy.arguments:
        raise EnergyError(
            f"energy '{energy.name}': rest_shape needs a density of one deformation gradient times its"
            " volume; leave `rest_shape` out"
        )
    ((gradient, made),) = energy.linear.items()
    at_rest, names = f"{gradient}_at_rest", ", ".join(energy.arguments)
    new = {gradient: f"{gradient} @ {at_rest}.inverse()", VOLUME: f"{VOLUME} * {at_rest}.determinant()"}
    source = (
        f"def of_rest_shape({names}, {at_rest}):\n"
        f"    return density({', '.join(new.get(a, a) for a in energy.arguments)})\n"
    )
    function = function_from_source("of_rest_shape", source, {"density": energy.function})
    function.__doc__ = energy.function.__doc__
    return replace(
        energy,
        function=function,
        roles={**energy.roles, REST: Node("m", ("d",))},
        linear={**energy.linear, at_rest: Linear(REST, made.weights)},
        symmetries=tuple(one for one in energy.symmetries if one != "rotation"),
    )
