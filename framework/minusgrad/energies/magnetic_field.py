"""Magnetic fields: the uniform field, and vector potentials A(x), whose curl is B.

    B = curl A                    in space (A of three components)
    B = dA_y/dx - dA_x/dy         in the plane (A of two), along its normal

x (d,) [m], A (d,) [T m = V s/m], B [T]. A field does not depend on the time: a changing A would also push
along -dA/dt. The force on a charge q is q v x B, which does no work and is no gradient of an energy:
integrators turn the velocity (`steppers.magnetic`).

Decisions 0368.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import EnergyError
from .declaration import check_declaration
from .local_energy import LocalEnergy
from .roles import Linear, Node, Parameter, Role

CHARGE = "charge"
"""The argument that every field has: q of each particle, a parameter or a field of the state."""
OWN = "flow_"
"""Begins the names of arguments that the integrator adds."""
WHY = {
    "Time": "a field that changes with the time also pushes along -dA/dt, which no rotation gives",
    "Datum": "a field in space has no values of elements; use a Parameter",
    "Table": "a table has no derivative by the place; write A as a function of x",
    "Linear": "a field is a function of one place; use the Node field itself",
    "Cell": "only maps add to cells",
}
"""Why a vector potential has no arguments of some roles."""


@dataclass(frozen=True, repr=False)
class MagneticField(LocalEnergy):
    """A magnetic field, made by `vector_potential`: `function` is A(x, ...), or B itself where `uniform`.

    `roles` are those of the function's arguments, and of the charge.
    """

    uniform: bool = field(default=False, kw_only=True)

    @property
    def place(self) -> str | None:
        """The argument that is the place x; None for a uniform field."""
        return next(iter(self.of_role(Node)), None)


def vector_potential(name: str, **roles: Role) -> Callable[[Callable], MagneticField]:
    """Make a function A(x, ...) [T m] a magnetic field, B = curl A; the curl is derived.

        @vector_potential("mirror", x=Node("m", ("d",)), B0=Parameter("T"), length=Parameter("m"))
        def mirror(x, B0, length):
            r = x[0]
            return 0.5 * B0 * (1.0 + (r[2] / length) ** 2) * ti.Vector([-r[1], r[0], 0.0])

    One argument is the place, a Node of shape ("d",): `x[0]`. The others are Parameters. A scene gives them
    in `[[magnetic]] kind = "mirror"`, with the `charge`.

    Raises `EnergyError` if the roles do not match the function's arguments, and for other roles.
    """

    def declare(function: Callable) -> MagneticField:
        what = f"vector potential '{name}'"
        for argument, role in roles.items():
            if not isinstance(role, (Node, Parameter)):
                kind = type(role).__name__ if isinstance(role, (Role, Linear)) else repr(role)
                why = WHY.get(kind, "use a Node for the place, and Parameters")
                raise EnergyError(f"{what}: {argument} is a {kind}: {why}")
            if argument == CHARGE or argument.startswith(OWN):
                raise EnergyError(f"{what}: an argument cannot be called '{argument}'; rename it")
        made = check_declaration(name, function, "nodes", roles, "vector potential")
        places = [a for a, role in roles.items() if isinstance(role, Node)]
        if len(places) > 1 or roles[places[0]].shape != ("d",):
            raise EnergyError(
                f"{what}: needs one place, a Node of shape ('d',), got {', '.join(places)}; make the others"
                " Parameters"
            )
        return _with_charge(made)

    return declare


def _with_charge(made: tuple, uniform: bool = False) -> MagneticField:
    name, function, over, roles, linear = made
    return MagneticField(
        name,
        function,
        over,
        {CHARGE: Parameter("C", about="Charge of a node."), **roles},
        linear,
        uniform=uniform,
    )


def _uniform_field(B):
    """A uniform magnetic field: charges move on helices, which steps of any length follow."""
    return B


uniform_field = _with_charge(
    (
        "uniform_field",
        _uniform_field,
        "nodes",
        {"B": Parameter("T", (3,), about="Magnetic field: a vector, or in the plane its normal component.")},
        {},
    ),
    uniform=True,
)
"""B: three components; of motion in the plane the third one counts."""
