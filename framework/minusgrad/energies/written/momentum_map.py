"""Momentum maps of declared symmetries of a Lagrangian as local functions, J = p xi(q), summed over nodes."""

from ..fields import Fields
from ..lagrangian import Lagrangian
from ..local_energy import LocalEnergy
from ..roles import Node
from ..term import Term, bind
from .function import function_from_source

MOMENTUM = "conjugate_momentum"
"""The argument, and the field, that is p = dL/dv, in a unit that is not checked."""


def momentum_map(of: Lagrangian, name: str) -> LocalEnergy:
    """J of a declared symmetry: a function of q and p."""
    ((coordinate, _),) = of.rates.items()
    shape = of.roles[coordinate].shape
    product = f"{MOMENTUM}[0].dot(xi)" if shape else f"{MOMENTUM}[0] * xi"
    source = (
        f"def {name}({coordinate}, {MOMENTUM}):\n    xi = generator({coordinate})\n    return {product}\n"
    )
    roles = {coordinate: of.roles[coordinate], MOMENTUM: Node(shape=shape)}
    return LocalEnergy(
        name, function_from_source(name, source, {"generator": of.generators[name]}), "nodes", roles
    )


def bound_map(term: Term, name: str, fields: Fields) -> Term:
    """The momentum map of a bound Lagrangian, over fields that have one called MOMENTUM."""
    assert isinstance(term.energy, Lagrangian)
    ((coordinate, _),) = term.energy.rates.items()
    energy, renamed = momentum_map(term.energy, name), {coordinate: term.fields[coordinate].name}
    return bind(energy, fields, renamed=renamed, elements=term.elements)
