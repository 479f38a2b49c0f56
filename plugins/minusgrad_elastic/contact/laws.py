"""Functions of the distance that keep surfaces apart, or hold them together; and how a plugin adds its own.

    barrier      b = -k D^3 (p^2 - 1)^2 ln p^2         p = g / D, grows without bound as g goes to 0
    penalty      b = k/3 (D - g)^3                     force k (D - g)^2, as of a `floor` of height D
    hertzian     b = 8/15 E R^(1/2) (D - g)^(5/2)      two elastic spheres whose surfaces meet at g = D
    adhesive     b = -k (D/2)^3 (q^2 - 1)^2 ln q^2     for q = 2 g / D < 1
                     - w D^2 (1 - p^2)^3               a well, whose attraction ends at D

for g < D, else 0; b [J], g [m] the gap between two features, D [m] `distance`, k [Pa] `stiffness`, E [Pa]
the effective modulus 1/E = (1 - nu_1^2)/E_1 + (1 - nu_2^2)/E_2, R [m] the effective radius 1/R = 1/R_1 +
1/R_2, w [N/m] `adhesion`. Each has two continuous derivatives at D. (Li et al. 2020, Incremental potential
contact, ACM Trans. Graph. 39, 49: the barrier is theirs over D^4; Johnson 1985, Contact Mechanics, section
4.2: Hertz.)

Decisions 0127.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from minusgrad.plugin import EnergyError, Node, Parameter, Quantity, local_energy, ti

from ..contacts import pushed
from .block import ContactBlock
from .contact_law import ContactLaw

STIFFNESS = Parameter(
    "Pa", bounds=(0.0, inf), open=True, reason="surfaces resist", about="Stiffness of the contact."
)


def contact(name: str, **parameters: Parameter) -> Callable[[Callable], Any]:
    """Make a function of the gap between two surfaces a kind of contact: a model for `register_compounds`.

        @contact("soft_contact", stiffness=Parameter("Pa"))
        def soft_contact(gap, distance, stiffness):
            \"\"\"Contact that grows with the square of the depth.\"\"\"
            depth = ti.max(distance - gap, 0.0)
            return 0.5 * stiffness * distance * depth * depth

    The function gives an energy [J] of a `gap` [m] below `distance` [m], which it may take, too, and of its
    `parameters`; forces and Hessians are derived. It should have two continuous derivatives at the distance.
    A parameter `stiffness` in Pa may be "auto". Raises `EnergyError` for arguments without a role, and for
    parameters of more than one number.
    """

    def declare(function: Callable) -> Any:
        reads = tuple(inspect.signature(function).parameters)
        roles: dict[str, Any] = {"gap": Node("m"), **parameters}
        if "distance" in reads:
            roles["distance"] = Parameter("m")
        if "gap" not in reads:
            raise EnergyError(
                f"contact '{name}': must be a function of `gap`, got {', '.join(reads)}; add it"
            )
        if shaped := [p for p, role in parameters.items() if role.shape]:
            raise EnergyError(f"contact '{name}': {shaped[0]} must be one number, got a shape; leave it out")
        energy = local_energy(name, over=1, **roles)(function)
        energy = replace(energy, roles={**energy.roles, "gap": Parameter("m")})  # a number, no field
        keys = {p: _key(p, role) for p, role in parameters.items()}
        return create_model(
            getattr(function, "__name__", name),
            __base__=ContactBlock,
            __module__=getattr(function, "__module__", __name__),
            __doc__=inspect.getdoc(function) or f"Contact by '{name}'.",
            name=(str, Field(name, description="Name of the block, and of its energies and parameters.")),
            **keys,
        ).of_law(ContactLaw(name, energy, parameters))

    return declare


def _key(name: str, role: Parameter) -> Any:
    """A parameter as a key of a table."""
    sign: Any = "any"
    if role.bounds[0] == 0.0:
        sign = "positive" if role.open else "nonnegative"
    number: Any = Annotated[float | str, Quantity(role.unit, sign)]
    about = role.about or f"Parameter {name}."
    if name == "stiffness" and role.unit == "Pa":
        about = f'{about} "auto": the mean stiffness of surface nodes over the distance.'
        return Literal["auto"] | number, Field("auto", description=about)
    return number, Field(... if role.default is None else role.default, description=about)


@contact("contact", stiffness=STIFFNESS)
def barrier(gap, distance, stiffness):
    """Contact of bodies with each other and with themselves, by barriers, with the extra `contact`."""
    part = ti.min(gap / distance, 1.0)
    square = part * part
    return -stiffness * distance * distance * distance * (square - 1.0) * (square - 1.0) * ti.log(square)


@contact("penalty_contact", stiffness=STIFFNESS)
def penalty(gap, distance, stiffness):
    """Contact by penalties, whose force grows with the square of the depth below a distance."""
    return pushed(distance - gap, stiffness)


@contact(
    "hertzian_contact",
    modulus=Parameter(
        "Pa",
        bounds=(0.0, inf),
        open=True,
        reason="surfaces resist",
        about="Effective modulus E of two elastic spheres, 1/E = (1 - nu_1^2)/E_1 + (1 - nu_2^2)/E_2.",
    ),
    radius=Parameter(
        "m",
        bounds=(0.0, inf),
        open=True,
        reason="spheres have a size",
        about="Effective radius R of two spheres, 1/R = 1/R_1 + 1/R_2.",
    ),
)
def hertzian(gap, distance, modulus, radius):
    """Contact of surfaces as rough as spheres, whose force grows with the power 3/2 of the depth."""
    depth = distance - gap
    root = ti.select(depth > 0.0, ti.sqrt(depth), 0.0)
    return 8.0 / 15.0 * modulus * ti.sqrt(radius) * depth * depth * root


@contact(
    "adhesive_contact",
    stiffness=STIFFNESS,
    adhesion=Parameter(
        "N m^-1", bounds=(0.0, inf), about="Depth of the well of a pair, over the square of the distance."
    ),
)
def adhesive(gap, distance, stiffness, adhesion):
    """Contact by barriers below half of a distance, with a well that holds surfaces together up to it."""
    near = ti.min(2.0 * gap / distance, 1.0)
    square, length = near * near, 0.5 * distance
    push = -stiffness * length * length * length * (square - 1.0) * (square - 1.0) * ti.log(square)
    part = ti.min(gap / distance, 1.0)
    left = 1.0 - part * part
    return push - adhesion * distance * distance * left * left * left


LAWS = {
    "contact": barrier,
    "penalty_contact": penalty,
    "hertzian_contact": hertzian,
    "adhesive_contact": adhesive,
}
"""The kinds of contact."""
