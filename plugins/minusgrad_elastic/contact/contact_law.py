"""A law of contact: an energy of the gap between two features of surfaces, and what follows from it.

    U = sum over close pairs m b(g, D, parameters),      g = sqrt(s) - t

s [m^2] the squared distance of two features (`distances`), t [m] the thickness, D [m] the distance below
which pairs are near, m the mollifier of two edges, else 1. b is traced like any energy, so that forces and
Hessians of all classes of closest points follow from its one line.

Decisions 0085, 0127.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any

from minusgrad.plugin import (
    Datum,
    Linear,
    Node,
    Parameter,
    Table,
    derivative_function,
    function_from_source,
    local_energy,
)

from .distances import CLASSES, HELPERS, ContactClass


@dataclass(frozen=True)
class ContactLaw:
    """b(gap, distance, parameters) [J] and its parameters.

    name: of the kind in scenes. energy: b, with `gap` and `distance` among its numbers.
    """

    name: str
    energy: Any
    parameters: Mapping[str, Parameter] = field(hash=False)

    @cached_property
    def energies(self) -> dict[str, Any]:
        """The energy of each class of closest points, by kind of tuples; its parameters are those of b."""
        return {kind: self._energy(one, self.parameters) for kind, one in CLASSES.items()}

    @cached_property
    def fixed_energies(self) -> dict[str, Any]:
        """The same with tables of one number in the place of parameters, so that none has a derivative."""
        return {kind: self._energy(one, self.constants) for kind, one in CLASSES.items()}

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The parameters as tables of one number."""
        return {name: Table(role.unit) for name, role in self.parameters.items()}

    @cached_property
    def slope(self) -> FunctionType:
        """db/dg, a function of the arguments of b."""
        return derivative_function(self.energy, "gap")

    def call(self, roles: Mapping[str, Any]) -> str:
        """The arguments of b in the text of a call, where they have these roles."""
        tables = {"distance", *(name for name, role in roles.items() if isinstance(role, Table))}
        return ", ".join(f"{name}[0]" if name in tables else name for name in self.energy.arguments)

    def _energy(self, one: ContactClass, roles: Mapping[str, Any]) -> Any:
        source = (
            f"def {one.kind}({', '.join([*one.differences, *LENGTHS, *roles])}):\n"
            f"    gap = ti.sqrt({one.square}) - thickness[0]\n"
            f"    return {one.factor}law({self.call(roles)})\n"
        )
        function = function_from_source(one.kind, source, {**HELPERS, "law": self.energy.function})
        function.__doc__ = f"{self.energy.claim} {one.about}"
        return local_energy(
            f"{self.name}_{one.kind}",
            over=one.arity,
            symmetries=SYMMETRIES,
            **difference_roles(one, "x", "m"),
            **LENGTHS,
            **roles,
        )(function)


LENGTHS: dict[str, Any] = {"distance": Table("m"), "thickness": Table("m")}
SYMMETRIES = ("translation", "rotation")


def difference_roles(one: ContactClass, of: str, unit: str, before: str = "") -> dict[str, Any]:
    """The roles of the differences of a field of nodes of a class: `before` and their name."""
    roles: dict[str, Any] = {of: Node(unit, ("d",))}
    for name in one.differences:
        roles[before + name] = Linear(of, f"to_{name}")
        roles[f"to_{name}"] = Datum("1", ("k",), about="Weights of the nodes in a difference.")
    return roles
