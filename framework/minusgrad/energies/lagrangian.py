"""Lagrangians: functions L(q, v, t) of coordinates and their rates, whose stationary action is the motion.

    S = integral of L dt,      d/dt (dL/dv) - dL/dq = 0

q: coordinates of a node, in any unit; v = dq/dt. The mass matrix d2L/dv2 may depend on q; it must be regular.
A function xi(q) that leaves L unchanged under q + eps xi, v + eps (dxi/dq) v gives a constant of the motion,
its momentum map (Noether 1918, Nachr. Ges. Wiss. Goettingen, 235):

    J = p xi(q),      p = dL/dv
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from ..elements.element_kind import Over
from ..elements.periodic.tuple_images import CHAIN, Follow
from ..errors import EnergyError
from ..scene.units import parse_unit
from ..symbolic.sources.snapshots import snapshot
from .declaration import check_declaration, identifier, known_symmetries, refuse_bare_decorator
from .local_energy import LocalEnergy, image_parents
from .roles import Datum, Linear, Node, Parameter, Role, Table, Time, Velocity


@dataclass(frozen=True, repr=False)
class Lagrangian(LocalEnergy):
    """A Lagrangian, made by `lagrangian`: a local function of coordinates and rates, in units of energy.

    `rates`: the argument that is the rate of each coordinate, by coordinate. `generators`: the functions
    xi(q) of declared symmetries, by the name of their momentum map.
    """

    rates: Mapping[str, str] = field(hash=False, default_factory=dict, kw_only=True)
    generators: Mapping[str, Callable] = field(hash=False, default_factory=dict, kw_only=True)

    def frozen(self) -> Self:
        """The same with snapshots of its function and of its generators."""
        generators = {name: snapshot(one) for name, one in self.generators.items()}
        return replace(super().frozen(), generators=generators)


def lagrangian(
    name: str,
    *,
    over: Over = "",
    symmetries: Sequence[str] = (),
    images: Follow = CHAIN,
    generators: Mapping[str, Callable] | None = None,
    **roles: Role | Linear,
) -> Callable[[Callable], Lagrangian]:
    """Make a function L(q, v, t, ...) of one element a Lagrangian; its equations of motion are derived.

        @lagrangian("pendulum", over="nodes", q=Node("rad"), v=Velocity("rad/s"), m=Parameter("kg"), ...)
        def pendulum(q, v, m, l, g):
            return 0.5 * m * l**2 * v[0] ** 2 + m * g * l * ti.cos(q[0])

    over, roles, images, symmetries: as of `local_energy`, with a `Velocity` for each coordinate that moves.
    generators: for each declared momentum map, a function xi of the coordinate: the
    direction in which q[0] moves, a change of it by a parameter without unit; L is then over "nodes".

        @lagrangian("kepler", ..., generators={"spin": lambda q: ti.Vector([0.0, 1.0])})

    Raises `EnergyError` if the roles do not match the function's arguments, and for rates without a
    coordinate.
    """
    refuse_bare_decorator("lagrangian", name)

    def declare(function: Callable) -> Lagrangian:
        what = f"lagrangian '{name}'"
        kept = known_symmetries(what, symmetries)
        made = check_declaration(name, function, over, roles, "lagrangian")
        known = (Node, Datum, Parameter, Time, Table)
        if strange := [a for a, role in made[3].items() if not isinstance(role, known)]:
            raise EnergyError(
                f"{what}: {strange[0]} is a {type(made[3][strange[0]]).__name__}, which no Lagrangian has;"
                " use Node, Velocity, Datum, Parameter or Time"
            )
        rates = _checked_rates(what, made[3])
        found = LocalEnergy(*made)
        if not (found.listed or over == "nodes"):
            raise EnergyError(f'{what}: is over "nodes" or tuples of nodes, got {over!r}; list the tuples')
        moved = dict(generators or {})
        for one in moved:
            identifier(one, "a momentum map")
        wrong = [one for one, f in moved.items() if [*inspect.signature(f).parameters] != [*rates]]
        if moved and (over != "nodes" or len(rates) != 1 or wrong):
            other = f" and another argument of {wrong[0]}" if wrong else ""
            raise EnergyError(
                f"{what}: generators are functions of the one coordinate of a node, got {len(rates)}"
                f" coordinates over {over!r}{other}; use one"
                ' coordinate over "nodes"'
            )
        follow = image_parents(what, over, images)
        return Lagrangian(*made, symmetries=kept, images=follow, rates=rates, generators=moved)

    return declare


def _checked_rates(what: str, roles: Mapping[str, Role]) -> dict[str, str]:
    """The rate of each coordinate. Raises `EnergyError` for rates that fit none."""
    velocities = {a: role for a, role in roles.items() if isinstance(role, Velocity)}
    nodal = {a: r for a, r in roles.items() if isinstance(r, Node) and a not in velocities}
    if not velocities:
        raise EnergyError(f"{what}: has no Velocity, so that nothing moves; give the rate of a coordinate")
    found: dict[str, str] = {}
    for argument, role in velocities.items():
        if role.rate_of not in (nodal if role.rate_of or len(nodal) != 1 else {"": None}):
            raise EnergyError(
                f"{what}: {argument} is the rate of '{role.rate_of}', got the coordinates"
                f" {', '.join(nodal) or 'none'}; name one of them as rate_of"
            )
        coordinate = role.rate_of or next(iter(nodal))
        _refuse_unlike(what, argument, role, coordinate, nodal[coordinate])
        if coordinate in found:
            raise EnergyError(
                f"{what}: {coordinate} has two rates, {found[coordinate]} and {argument}; use one"
            )
        found[coordinate] = argument
    return found


def _refuse_unlike(what: str, argument: str, rate: Velocity, coordinate: str, of: Node) -> None:
    if rate.shape != of.shape or rate.of != of.of:
        raise EnergyError(
            f"{what}: {argument} has shape {list(rate.shape)}, its coordinate {coordinate} {list(of.shape)};"
            " give both the same"
        )
    if parse_unit(rate.unit).times(parse_unit("s")).dimension != parse_unit(of.unit).dimension:
        raise EnergyError(
            f"{what}: {argument} is in {rate.unit}, the rate of {coordinate} in {of.unit}; give it the unit"
            f" of {coordinate} a second"
        )
