"""A parameter, or differentiable data, of a term as an input of functions of tensors."""

from typing import Any

import numpy as np

import torch

from ..engine import storage
from ..errors import TensorError
from ..potential.potential import Potential
from . import tensors as guests


class Input:
    """A parameter, or differentiable data, of a term; copied into the term if its values differ."""

    def __init__(self, potential: Potential, name: str):
        term, self.argument = potential.places_of(name)[0]
        self.name, self.potential, self.term = name, potential, potential.parts[term]
        self.role = self.term.energy.roles[self.argument]
        values = self._term_values()
        self.start = np.array(values)
        self._default = True

    @staticmethod
    def names_held(term: Any) -> set[str]:
        """The names of the parameters and differentiable data of a term."""
        return set(term.inputs) if hasattr(term, "inputs") else {*term.parameters, *term.data}

    def put(self, given: torch.Tensor | None, overwrite: bool = False) -> None:
        """Set the term's values, or its initial ones; `overwrite`: even if they seem unchanged."""
        self._default &= not overwrite
        if given is not None:
            self._set_term_values(guests.numbers(given))
        elif not self._default:
            self._set_term_values(self.start)
        self._default = given is None

    def _term_values(self) -> np.ndarray:
        if hasattr(self.term, "inputs"):
            return self.term.inputs[self.argument]
        if self.argument in self.term.parameters:
            return self.potential.parameter(self.name)
        return storage.host(self.term.data[self.argument])

    def _set_term_values(self, values: np.ndarray) -> None:
        """Raises `TensorError` for NaN, infinity, and a parameter outside its bounds."""
        admits = getattr(self.role, "admits", None)
        if not np.isfinite(values).all():
            raise TensorError(f"'{self.name}': needs finite values; check how it was computed")
        if admits and not admits(values):
            bad = values.reshape(-1)[[not admits(v) for v in values.reshape(-1)]][0]
            raise TensorError(
                f"'{self.name}': must be {self.role.limits()}, got {bad:g}; restrict it, for example with exp"
                " or softplus of an unbounded tensor"
            )
        if hasattr(self.term, "inputs"):
            self.term.set_input(self.argument, values)
        elif self.argument in self.term.parameters:
            self.potential.set_parameter(self.name, values)
        else:
            self.term.set_datum(self.argument, values)
