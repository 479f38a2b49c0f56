"""Constraints g(x) = 0: a scalar function of one element that a motion or an equilibrium keeps at zero.

    g_e(x, data, parameters, t) = 0            for every element e
    C = sum over elements of  lambda_e g_e     an energy that is linear in the multipliers lambda (E,)

With C as a local energy nothing is derived by hand: g = dC/dlambda, G^T lambda = dC/dx with the Jacobian
G = dg/dx, and G w is the change of dC/dlambda along w. Constraints are no part of U.
The unit of lambda_e is that of energy over that of g_e.

Decisions 0300.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..elements.element_kind import Over
from ..elements.periodic.tuple_images import CHAIN, Follow
from ..errors import EnergyError
from .declaration import check_declaration, known_symmetries, refuse_bare_decorator
from .local_energy import Derive, LocalEnergy, image_parents
from .roles import Box, Datum, Linear, Node, Parameter, Role, Table, Time
from .written.function import function_from_source

MULTIPLIER = "multiplier"
"""The argument of the weighted energy that is lambda, one number for each element."""
Planes = Callable[[Mapping[str, Any]], tuple[Any, Any, Any]]
"""Normals (E, d), points (E, d) and distances (E,) of planes; of parameters and data, a row an element."""
KNOWN = (Node, Datum, Parameter, Table, Time, Box)
"""The roles of the arguments of a constraint, besides Linear ones."""


@dataclass(frozen=True, repr=False)
class Constraint(LocalEnergy):
    """A named constraint; made by `constraint`. Its `function` is g of one element.

    planes: gives the planes in which it keeps nodes `x`, if it does nothing else.
    """

    planes: Planes | None = field(default=None, kw_only=True, compare=False)

    def weighted_energy(self) -> LocalEnergy:
        """The energy lambda g of one element, under the same name; lambda is the datum `multiplier`."""
        names = ", ".join(self.arguments)
        source = f"def weighted({names}, {MULTIPLIER}):\n    return {MULTIPLIER} * constraint({names})\n"
        function = function_from_source("weighted", source, {"constraint": self.function})
        function.__doc__ = self.function.__doc__
        roles = {**self.roles, MULTIPLIER: Datum(differentiable=True)}
        return _as_energy(replace(self, function=function, roles=roles))

    def timed_energy(self) -> LocalEnergy:
        """The same function as an energy, with one value of the time for each element.

        Then dg/dt has a value for each element, too.
        """
        clock = dict.fromkeys(self.of_role(Time), Datum("s", differentiable=True))
        return _as_energy(replace(self, roles={**self.roles, **clock}))


def _as_energy(made: Constraint) -> LocalEnergy:
    """The same declaration as an energy."""
    return LocalEnergy(
        made.name,
        vars(made)["function"],  # a field, which would be bound as a method
        made.over,
        made.roles,
        made.linear,
        symmetries=made.symmetries,
        positions=made.positions,
        images=made.images,
        unit=made.unit,
    )


def constraint(
    name: str,
    *,
    over: Over = "",
    symmetries: Sequence[str] = (),
    images: Follow = CHAIN,
    derive: Derive | None = None,
    planes: Planes | None = None,
    **roles: Role | Linear,
) -> Callable[[Callable], Constraint]:
    """Make a function of one element a constraint: integrators and minimisers keep it at zero.

        @constraint("rod", over=2, x=Node("m", ("d",)), length=Datum("m"))
        def rod(x, length):
            r = x[0] - x[1]
            return r.dot(r) - length * length

    The function is smooth where it is zero, and has a gradient there that is not zero: the square of a
    distance, or the distance itself, but not the square of how far it is off. Roles, `over`, `symmetries` and
    `images` are those of a `local_energy`; elements are nodes, or tuples that a list or a scene gives. One
    with an argument of the role `Time` is driven, as a crank that turns.

    `derive` gives the data that are declared as `derived`, as of a `local_energy`. `planes` is for one that
    keeps nodes `x` in planes, n . (x - p) = s: it gives n, p and s of each element from parameters and data.

    Raises `EnergyError` if the roles do not match the function's arguments, a unit is unknown, or elements
    are pairs, triples or cells.
    """
    refuse_bare_decorator("constraint", name)

    def declare(function: Callable) -> Constraint:
        what = f"constraint '{name}'"
        kept = known_symmetries(what, symmetries)
        own, follow = (
            check_declaration(name, function, over, roles, "constraint"),
            image_parents(what, over, images),
        )
        made = Constraint(*own, symmetries=kept, images=follow, unit="", derive=derive, planes=planes)
        if not (made.listed or over == "nodes"):
            raise EnergyError(f"{what}: is over {over!r}, got no list of elements; use 'nodes' or tuples")
        if strange := [a for a, role in made.roles.items() if type(role) not in KNOWN]:
            kind = type(made.roles[strange[0]]).__name__
            raise EnergyError(f"{what}: {strange[0]} is a {kind}; make it a Node, Datum or Parameter")
        if taken := [a for a in (*made.roles, *made.linear) if a in (MULTIPLIER, "project_start")]:
            raise EnergyError(f"{what}: an argument cannot be called '{taken[0]}'; rename it")
        return made

    return declare
