"""The kernels of a staged map in a potential: they write its output fields, and propagate adjoints back.

Decisions 0316.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest, Derivatives
from ...energies.fields import Field
from ...engine import storage
from ...errors import EnergyError
from .staged_term import StagedTerm

TINY = float(np.finfo(np.float32).tiny)


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
        self._proven = False

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

        Second derivatives are those by arguments of other terms, and of a linear map those by its fields.
        """
        slopes = self._propagate_seeds(self._adjoints, wanted.gradient, wanted.slopes, t)
        changes = self._propagate_seeds(self._adjoint_tangents, wanted.product, wanted.changes, t)
        along = {a: storage.host(w) for a, w in wanted.tangents.items() if a in self.term.fields}
        if wanted.changes and along:
            seeds = {y: storage.host(seed) for y, seed in self._adjoints.items()}
            for a, more in self.term.changes(wanted.changes, t, seeds, along).items():
                changes[a] = changes[a] + more
        return Derivatives(slopes=slopes, changes=changes)

    def gradient_into(self, targets: Mapping[str, Any], t: float) -> None:
        """Add dU/d(argument) to each array of `targets`, by node field argument."""
        self.sweep(DerivativeRequest(gradient=targets), t)

    def add_tangents(self, tangents: Mapping[str, Any], into: Mapping[str, Any], t: float) -> None:
        """Add the tangents of the outputs to arrays, by output field; `tangents` are by argument.

        Raises `EnergyError` where an argument changes in which the map is not linear.
        """
        self._refuse_tangents(tangents)
        if not self._proven:
            refuse_nonlinear(self.term, t)
            self._proven = True
        found = self.term.tangents({a: storage.host(array) for a, array in tangents.items()}, t)
        for output, values in found.items():
            array = into[self.term.outputs[output].name]
            storage.store(array, storage.host(array) + values)

    def _refuse_tangents(self, tangents: Collection[str]) -> None:
        """Raise `EnergyError` for arguments along which there are no tangents."""
        if self.term.linear:
            others = [a for a in tangents if a not in self.term.fields]
            why, cure = "because the map is linear in its fields alone", "ask for gradients"
        else:
            others, why = list(tangents), "because Taichi reverses them once"
            cure = "ask for gradients, or write it as a local map"
        if others:
            raise EnergyError(
                f"map '{self.term.name}': staged kernels have no tangents along '{min(others)}', {why};"
                f" {cure}"
            )

    def _propagate_seeds(
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


def refuse_nonlinear(term: StagedTerm, t: float) -> None:
    """Raise `EnergyError` if a map that is declared linear is not, or its reverse is not its transpose.

    L(a + 2 b) = L a + 2 L b and c . L a = a . L^T c, for random fields a, b and random adjoints c.
    """
    rng = np.random.default_rng(0)
    a, b = ({z: rng.normal(size=f.shape) for z, f in term.fields.items()} for _ in range(2))
    c = {y: rng.normal(size=f.shape) for y, f in term.outputs.items()}
    of_a, of_b, of_sum = (term.tangents(z, t) for z in (a, b, {z: a[z] + 2.0 * b[z] for z in a}))
    rounding = float(np.sqrt(np.finfo(term.dtype).eps))
    for y, found in of_sum.items():
        expected = of_a[y] + 2.0 * of_b[y]
        off = float(np.abs(found - expected).max()) / max(float(np.abs(expected).max()), TINY)
        if not off <= rounding:
            raise EnergyError(
                f"map '{term.name}': is declared linear, but '{y}' of a sum of fields is not the sum of those"
                f" of each, got a difference of {100.0 * off:.3g} % of the largest; leave `linear` out"
            )
    forward = [float(np.vdot(c[y], values)) for y, values in of_a.items()]
    back = [float(np.vdot(a[z], values)) for z, values in term.back(tuple(a), t, c).items()]
    size = sum(float(np.linalg.norm(c[y]) * np.linalg.norm(values)) for y, values in of_a.items())
    if not abs(sum(forward) - sum(back)) <= rounding * max(size, TINY):
        raise EnergyError(
            f"map '{term.name}': its reverse is not its transpose, got c . L a = {sum(forward):.6g} and"
            f" a . L^T c = {sum(back):.6g}; correct the `backward` of its stages"
        )
