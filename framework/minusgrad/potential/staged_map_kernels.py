"""The kernels of a staged map in a potential: they write its output fields, and propagate adjoints back."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest, Derivatives
from ..energies.fields import Field
from ..engine import storage
from ..errors import EnergyError
from .staged_term import StagedTerm


class StagedMapKernels:
    """A call computes the outputs, and adds them to those of earlier maps; `sweep` is its adjoint.

    first: the names of the outputs that no map before has written. adjoints, adjoint_tangents: dU/dy for each
    output y, and its tangent, by field.
    """

    writes_every_node = False

    def __init__(
        self,
        term: StagedTerm,
        first: Collection[str],
        adjoints: Mapping[str, Field],
        adjoint_tangents: Mapping[str, Field],
    ):
        self.term, self._first = term, first
        self._adjoints = {y: adjoints[f.name].array for y, f in term.outputs.items()}
        self._adjoint_tangents = {y: adjoint_tangents[f.name].array for y, f in term.outputs.items()}

    def __call__(self, t: float) -> None:
        for output, values in self.term.output_values(t).items():
            field = self.term.outputs[output]
            before = 0.0 if field.name in self._first else storage.host(field.array)
            storage.store(field.array, before + values)

    def locate(self, t: float) -> None:
        """Run the kernels forward, for their reverse, where nothing reads the outputs."""
        self.term.output_values(t)

    def sweep(self, wanted: DerivativeRequest, t: float) -> Derivatives:
        """Add dU/d(field) to the arrays of `wanted`, and return dU/d(argument).

        Second derivatives are those by arguments of other terms; its own have no tangents.
        """
        slopes = self._back(self._adjoints, wanted.gradient, wanted.slopes, t)
        changes = self._back(self._adjoint_tangents, wanted.product, wanted.changes, t)
        return Derivatives(slopes=slopes, changes=changes)

    def gradient_into(self, targets: Mapping[str, Any], t: float) -> None:
        """Add dU/d(argument) to each array of `targets`, by node field argument."""
        self.sweep(DerivativeRequest(gradient=targets), t)

    def refuse_tangents(self, tangents: Collection[str]) -> None:
        """Raise `EnergyError` if one of its arguments changes."""
        if tangents:
            raise EnergyError(
                f"map '{self.term.name}': staged kernels have no tangents along"
                f" '{min(tangents)}', because Taichi reverses them once; ask for gradients, or write it as a"
                " local map"
            )

    def _back(
        self, seeds: Mapping[str, Any], targets: Mapping[str, Any], named: Collection[str], t: float
    ) -> dict[str, np.ndarray]:
        """Propagate seeds by output to the arrays of fields, and to the arguments that are named."""
        if not targets and not named:
            return {}
        values = {y: storage.host(seed) for y, seed in seeds.items()}
        found = self.term.back((*targets, *named), t, values)
        for argument, array in targets.items():
            storage.store(array, storage.host(array) + found[argument])
        return {a: found[a].astype(np.float64) for a in named}
