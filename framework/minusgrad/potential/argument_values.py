"""The values of arguments "term.argument" by which runs have derivatives: parameters, data, staged inputs."""

from typing import Any

import numpy as np

from ..energies.term import Term
from ..engine import storage
from .potential import Potential
from .staged.staged_term import StagedTerm


def _term_of_datum(potential: Potential, name: str) -> Term | None:
    """The term of a differentiable datum; None where the name is another's."""
    term, _, argument = name.partition(".")
    part = potential.parts.get(term)
    varying = isinstance(part, Term) and argument in part.data and argument in part.energy.differentiable
    return part if varying else None


def argument_values(potential: Potential, name: str) -> np.ndarray:
    """A copy of the values of a parameter, or of a differentiable datum, one for each element.

    Raises `EnergyError` for another name.
    """
    term_name, _, argument = name.partition(".")
    if isinstance(part := potential.parts.get(term_name), StagedTerm):
        return np.array(part.inputs[argument])
    term = _term_of_datum(potential, name)
    return (
        potential.parameter(name) if term is None else storage.host(term.data[name.partition(".")[2]]).copy()
    )


def set_argument_values(potential: Potential, name: str, values: Any) -> None:
    """Overwrite these values, in the same shape. Raises `EnergyError` for another name."""
    term_name, _, argument = name.partition(".")
    potential.common.refuse_part(name)
    if isinstance(part := potential.parts.get(term_name), StagedTerm):
        part.set_input(argument, values)
        return
    term = _term_of_datum(potential, name)
    if term is None:
        potential.set_parameter(name, values)
    else:
        term.set_datum(name.partition(".")[2], values)
