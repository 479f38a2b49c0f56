"""Code of a potential's gradients and products, for larger kernels: a whole time step, or its reverse.

A larger kernel has the scalar `t`; the loops add to its target arrays. Maps and staged terms, whose kernels
are launched one by one, have no such code. Neither have terms whose elements are rebuilt between steps: the
larger kernel would keep the arrays of the old ones.
"""

import math
from collections.abc import Mapping
from typing import Any

from ..codegen.derivative_request import DerivativeRequest
from ..codegen.term_loops import Emitter
from ..energies.local_energy import Time
from ..engine.kernels import Code
from ..errors import EnergyError
from .potential import Potential
from .term_kernels import TermKernels
from .term_request import targets_of, term_request


class FusedCode:
    """Loops over the elements of all terms; the names of the terms' own arrays begin with `prefix`."""

    def __init__(self, potential: Potential, prefix: str = "term"):
        self.potential, self.prefix = potential, prefix

    def gradient(self, targets: Mapping[str, Any]) -> Code:
        """Loops that add dU/d(field) of all terms to the arrays `targets`, by field."""
        pieces = []
        for name, part in self.potential.terms.items():
            if wanted := targets_of(part, targets):
                pieces.append(self._named(name).gradient(wanted))
        return Code.joined(pieces)

    def sweep(self, request: DerivativeRequest) -> Code:
        """Loops for `gradient`, `product` and `changes` of a request, by the names of the potential.

        Targets are added to; the changes of "term.argument" are left in buffers, for `changes`.
        """
        self.put_tangents({n: v for n, v in request.tangents.items() if n not in self.potential.fields})
        pieces = []
        for name, part in self.potential.terms.items():
            if wanted := term_request(name, part, request):
                pieces.append(self._named(name).sweep(wanted)[0])
        return Code.joined(pieces)

    def put_tangents(self, tangents: Mapping[str, Any]) -> None:
        """Overwrite the tangents of "term.argument" that the loops of `sweep` read."""
        for name, values in tangents.items():
            term, _, argument = name.partition(".")
            self._emitter(term).set_tangent(argument, values)

    def changes(self, name: str, into: str, array: Any) -> Code:
        """Serial loops that subtract the changes of "term.argument", which a sweep left, from `into`.

        The array is (rows, components) in f64, as `backward.rows_of` makes it.
        """
        term, _, argument = name.partition(".")
        return self._named(term).taken(argument, into, array)

    def rates(self, add: str) -> list[Code]:
        """For each term that depends on time: loops for its dU/dt, then of `add`, {} an element's part."""
        found = []
        for name, term in self.potential.terms.items():
            if term.uses_time:
                clock = next(iter(term.energy.of_role(Time)))
                emitter = self._named(name)
                found.append(emitter.derivative(clock)[0])
                line = add.format(emitter.row(f"d_{clock}", 0))
                found.append(emitter.naming(f"for e in range({emitter.prefix}nodes.shape[0]):\n    {line}\n"))
        return found

    def statements(self, targets: Mapping[str, Any]) -> float:
        """About how many statements one gradient executes: the cost of a serial step.

        Infinite with maps or staged terms, and with elements that are rebuilt between steps.
        """
        potential, kernels = self.potential, self.potential.kernels.values()
        alone = potential.fixed and not potential.map_outputs
        if not alone or not all(isinstance(k, TermKernels) for k in kernels):
            return math.inf
        total = 0
        for name, term in potential.terms.items():
            if wanted := targets_of(term, targets):
                total += term.elements.count * self._emitter(name).gradient(wanted).text.count("\n")
        return total

    def _named(self, name: str) -> Emitter:
        """The emitter of a term, under names that no other term's arrays have."""
        return self._emitter(name).named(f"{self.prefix}{list(self.potential.terms).index(name)}_")

    def _emitter(self, name: str) -> Emitter:
        if not (elements := self.potential.terms[name].elements).fixed:
            raise EnergyError(
                f"term '{name}': cannot stand in a kernel of several steps, because its elements are rebuilt"
                f" between steps, got {type(elements).__name__}; use fixed elements"
            )
        kernels = self.potential.kernels[name]
        assert isinstance(kernels, TermKernels)
        return kernels.emitter
