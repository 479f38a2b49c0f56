"""Everything that a potential may be differentiated by, and random changes of it."""

import numpy as np

from minusgrad import Node, Potential
from minusgrad.energies.roles import Datum, Time


def names(potential: Potential) -> dict[str, float]:
    """Everything that U may be differentiated by, data apart, and the size of a physical change."""
    found: dict[str, float] = {}
    for part in potential.parts.values():
        for argument in part.energy.differentiable:
            role = part.energy.roles[argument]
            if isinstance(role, Node):
                if part.fields[argument].name not in potential.map_outputs:
                    found[part.fields[argument].name] = role.scale
            elif isinstance(role, Time):
                found["t"] = role.scale
            elif not isinstance(role, Datum):
                found[f"{part.name}.{argument}"] = role.scale
    return found


def shape(potential: Potential, name: str) -> tuple[int, ...]:
    if name == "t":
        return ()
    fields = potential.fields
    return fields[name].shape if name in set(fields) else potential.parameter(name).shape


def drawn(potential: Potential, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {n: 0.1 * s * rng.normal(size=shape(potential, n)) for n, s in names(potential).items()}
