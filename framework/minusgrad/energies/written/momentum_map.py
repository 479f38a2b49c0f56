"""Momentum maps of declared symmetries of a Lagrangian as local functions, J = p xi(q), summed over nodes."""

import inspect
from typing import Any

from ..lagrangian import Lagrangian
from ..local_energy import LocalEnergy
from ..roles import Node
from .function import written

MOMENTUM = "conjugate_momentum"
"""The argument that is p = dL/dv, in a unit that is not checked."""


def momentum_map(of: Lagrangian, name: str) -> LocalEnergy:
    """J of a declared symmetry: a function of q, p and the other arguments of xi."""
    coordinate, generator = next(iter(of.rates)), of.generators[name]
    used = list(inspect.signature(generator).parameters)
    shape = of.roles[coordinate].shape
    product = f"{MOMENTUM}[0].dot(xi)" if shape else f"{MOMENTUM}[0] * xi"
    source = (
        f"def {name}({', '.join([*used, MOMENTUM])}):\n"
        f"    xi = generator({', '.join(used)})\n"
        f"    return {product}\n"
    )
    roles: dict[str, Any] = {a: of.roles[a] for a in used} | {MOMENTUM: Node(shape=shape)}
    return LocalEnergy(name, written(name, source, {"generator": generator}), "nodes", roles)
