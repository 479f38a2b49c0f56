"""Code of a potential's evaluations, for larger kernels: a whole time step, or its reverse.

    FusedCode     gradients and products of a sum of terms, added to target arrays
    FusedSweep    maps and slopes in their order, and derivatives back through them

A larger kernel has the scalar `t`. Staged terms, whose kernels are launched one by one, have no such code.
Neither have terms whose elements are rebuilt between steps: the larger kernel would keep the arrays of the
old ones.

Decisions 0118, 0355.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from ..codegen.derivative_request import DerivativeRequest, Sweep
from ..codegen.lane_statements import AllVectors
from ..codegen.map_loops import MapLoops
from ..codegen.one_thread.argument_sums import argument_sums
from ..codegen.term_loops import Emitter
from ..codegen.windows.scatter_loops import WindowLoops
from ..energies.roles import Time
from ..engine.joined.shared_arrays import SharedArrays
from ..engine.kernels import Code, add_loops, copy_loops, zero_loops
from ..errors import EnergyError
from .potential import Potential
from .requests.term_request import tangents_of, targets_of, term_request
from .slope import SlopeKernels
from .term_kernels import MapKernels, TermKernels


class FusedCode:
    """Loops over the elements of all terms; the names of the terms' own arrays begin with `prefix`."""

    def __init__(self, potential: Potential, prefix: str = "term"):
        self.potential, self.prefix = potential, prefix
        self._left: set[tuple[str, str]] = set()

    def gradient(self, targets: Mapping[str, Any]) -> Code:
        """Loops that add dU/d(field) of all terms to the arrays `targets`, by field."""
        pieces = []
        for name, part in self.potential.terms.items():
            if wanted := targets_of(part, targets):
                pieces.append(self._named_emitter(name).gradient(wanted))
        return Code.joined(pieces)

    def energies(self, targets: Mapping[str, Any]) -> tuple[Code, list[Any]]:
        """Loops as of `gradient`, which also leave the energy of each term in [0, 0] of an array of its own.

        Where the potential is `scattering`, as its loops for one thread.
        """
        pieces, totals = [], []
        for name, part in self.potential.terms.items():
            wanted = DerivativeRequest(value=True, gradient=targets_of(part, targets))
            code, buffers = self._named_emitter(name).sweep_with_total(wanted)
            pieces.append(code)
            totals.append(buffers["total"])
        return Code.joined(pieces), totals

    def by_element(self) -> tuple[Code, list[Any]]:
        """Loops that leave the energy of each element of each term in an array of its own, (E, 1)."""
        found = [self._named_emitter(name).value() for name in self.potential.terms]
        return Code.joined([code for code, _ in found]), [buffer for _, buffer in found]

    def sweep(self, request: DerivativeRequest) -> Code:
        """Loops for `gradient`, `product` and `changes` of a request, by the names of the potential.

        Targets are added to; the changes of "term.argument" are left in buffers, for `changes`.
        """
        self.put_tangents({n: v for n, v in request.tangents.items() if n not in self.potential.fields})
        pieces = []
        for name, part in self.potential.terms.items():
            if wanted := term_request(part, request):
                self._left |= {(name, argument) for argument in wanted.changes}
                pieces.append(self._named_emitter(name).sweep(wanted)[0])
        return Code.joined(pieces)

    def put_tangents(self, tangents: Mapping[str, Any]) -> None:
        """Overwrite the tangents of "term.argument" that the loops of `sweep` read."""
        for name, values in tangents.items():
            for term, argument in self.potential.places_of(name):
                self._emitter(term).set_tangent(argument, values)

    def changes(self, name: str, into: str, array: Any) -> Code:
        """Serial loops that subtract the changes of "term.argument", which a sweep left, from `into`.

        The array is (rows, components) in f64, as `backward.rows_of` makes it.
        """
        places = [place for place in self.potential.places_of(name) if place in self._left]
        return Code.joined(self._named_emitter(t).subtract_changes(a, into, array) for t, a in places)

    def rates(self, add: str) -> list[Code]:
        """For each term that depends on time: loops for its dU/dt, then of `add`, {} an element's part."""
        found = []
        for name, term in self.potential.terms.items():
            if term.uses_time:
                clock = next(iter(term.energy.of_role(Time)))
                emitter = self._named_emitter(name)
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

    def _named_emitter(self, name: str) -> Emitter:
        """The emitter of a term, under names that no other term's arrays have."""
        return self._emitter(name).with_prefix(f"{self.prefix}{list(self.potential.terms).index(name)}_")

    def _emitter(self, name: str) -> Emitter:
        if not (elements := self.potential.terms[name].elements).fixed:
            raise EnergyError(
                f"term '{name}': cannot stand in a kernel of several steps, because its elements are rebuilt"
                f" between steps, got {type(elements).__name__}; use fixed elements"
            )
        kernels = self.potential.kernels[name]
        assert isinstance(kernels, TermKernels)
        return kernels.scattered_loops if self.potential.scattered else kernels.emitter


@dataclass(frozen=True)
class EmittedLoops:
    """Loops of a term or a map in a larger kernel; `verify` compares their numbers after its launch."""

    loops: Emitter
    code: Code
    verify: Callable[[Code, float], object]


class FusedSweep:
    """The kernels that `Potential.refresh` and `Potential.sweep` launch, as code for `Code.merged`.

    `statements`: about how many statements the code made so far executes; infinite where launches have no
    such code: terms that are staged or in lanes, elements that are rebuilt, slopes of energies of slopes.
    `emitted`: the loops of terms and maps made so far, in their order. shared: arrays of a larger kernel.
    """

    def __init__(self, potential: Potential, shared: SharedArrays | None = None):
        self.potential, self.chain = potential, potential.chain
        self._shared = shared or SharedArrays(is_constant, _is_buffer)
        self.emitted: list[EmittedLoops] = []
        energies = [kernels.slope.energy for kernels in self.chain.differentiators.values()]
        self._of_energies = {id(e): FusedSweep(cast(Potential, e), self._shared) for e in energies}
        for one in self._of_energies.values():
            one.emitted = self.emitted
        nested = any(energy.chain.slopes for energy in cast(Sequence[Potential], energies))
        self._statements = 0.0 if not nested and _has_fixed_elements(potential) else math.inf

    @property
    def possible(self) -> bool:
        """True if there is such code."""
        return self.statements < math.inf

    @property
    def statements(self) -> float:
        return self._statements + sum(one.statements for one in self._of_energies.values())

    def refresh(self, needed: Collection[str] | None = None) -> list[Code]:
        """The loops that recompute the outputs of maps and slopes.

        `needed`: of some of them; of the others the windows, as by `MapChain.refresh`.
        """
        pieces = []
        for name, kernels in self.chain.kernels.items():
            if needed is not None and name not in needed:
                pieces += [kernels.located] if isinstance(kernels, MapKernels) else []
            elif isinstance(kernels, SlopeKernels):
                pieces += [
                    *self._of_energies[id(kernels.slope.energy)].sweep(kernels.forward),
                    kernels.scaling_loops,
                ]
            else:
                verify = partial(_verify_forward, kernels.loops, {})
                pieces.append(self._count_statements(kernels.loops, kernels.code, verify))
        return pieces

    def sweep(self, request: DerivativeRequest, into: Mapping[str, Any] | None = None) -> list[Code]:
        """The loops that overwrite the arrays of a request with derivatives by fields.

        Those by "term.argument" are added to its array of `into`, (rows, components) in f64.
        """
        into = into or {}
        tangents, changing = self.tangents_of_outputs(request.tangents)
        plan = self.potential.plan(request, tangents)
        pieces = [*changing, *(zero_loops("zeros", array) for array in plan.zeroed)]
        pieces += [copy_loops(array, seed) for array, seed in plan.seeded]
        for name, wanted in plan.requests.items():
            pieces += self._part_derivatives(name, wanted, into)
        pieces += [copy_loops(array, adjoint) for array, adjoint in plan.copied]
        needed: Collection[str] | None = None
        if not self.potential.refreshes(request):
            needed = ()
        elif request.only_seeds:
            needed, _ = self.chain.needed_parts(self.potential.read_back(request), request.known)
        return [*self.refresh(needed), *pieces]

    def _part_derivatives(self, name: str, wanted: DerivativeRequest, into: Mapping[str, Any]) -> list[Code]:
        """The derivatives of one term, map or slope."""
        if name in self.chain.differentiators:
            return self._slope_pieces(self.chain.differentiators[name], wanted, into)
        kernels = self.potential.kernels[name]
        assert isinstance(kernels, TermKernels)
        emitter = kernels.emitter
        code, _ = emitter.sweep(wanted)
        pieces = [
            self._count_statements(emitter, code, partial(_verify_sweep, emitter, emitter.swept, wanted))
        ]
        for buffer, arguments in (("d", wanted.slopes), ("dd", wanted.changes)):
            for a in arguments:
                array = into[kernels.term.address(a)]
                pieces += argument_sums(emitter, a, f"{buffer}_{a}", array)
        return [self._shared(piece) for piece in pieces]

    def _slope_pieces(
        self, kernels: SlopeKernels, wanted: DerivativeRequest, into: Mapping[str, Any]
    ) -> list[Code]:
        energy, pieces = self._of_energies[id(kernels.slope.energy)], [kernels.weighed]
        if request := kernels.adjoint(wanted):
            pieces += energy.sweep(request, into)
        if paired := kernels.by_output(wanted):
            tangents, changing = energy.tangents_of_outputs(kernels.along)
            pieces += changing
            pieces += [add_loops(array, tangents[y]) for y, array in paired.items() if y in tangents]
        return pieces

    def tangents_of_outputs(self, tangents: Mapping[str, Any]) -> tuple[dict[str, Any], list[Code]]:
        """The tangents, those of map outputs that change along them, and the loops that compute these."""
        known: dict[str, Any] = dict(tangents)
        pieces: list[Code] = []
        for name, part in self.chain.maps.items() if known else ():
            arrays = {f.name: self.chain.output_tangents[f.name].array for f in part.outputs.values()}
            pieces += [zero_loops("zeros", array) for output, array in arrays.items() if output not in known]
            if along := tangents_of(part, known):
                loops = self.chain.loops[name]
                verify = partial(_verify_forward, loops, along)
                pieces.append(self._count_statements(loops, loops.forward_loops(along, arrays), verify))
            known |= arrays
        return known, pieces

    def _count_statements(
        self, emitter: Emitter, code: Code, verify: Callable[[Code, float], object]
    ) -> Code:
        """The code, whose statements are counted."""
        if isinstance(emitter, AllVectors) or not emitter.term.elements.fixed:
            self._statements = math.inf
        emitter.swept = None  # the next verification is of another kernel
        if isinstance(emitter, MapLoops):
            emitter.forwarded = None
        cells = emitter.cells if isinstance(emitter, WindowLoops) else 1
        self._statements += emitter.term.elements.count * cells * code.text.count("\n")
        self.emitted.append(EmittedLoops(emitter, code, verify))
        return self._shared(code)


def _verify_forward(loops: MapLoops, along: Mapping[str, Any], code: Code, t: float) -> None:
    loops.verify_forward(code, along, t)


def _verify_sweep(
    emitter: Emitter, swept: Sweep | None, wanted: DerivativeRequest, code: Code, t: float
) -> None:
    if emitter.term.elements.rows:
        emitter.swept = swept
        emitter.verify(wanted, code, t)


def is_constant(name: str) -> bool:
    """True for the numbers of nodes, and of rows of values, in the names of `Emitter` and `MapLoops`."""
    numbers = "nodes", "giving_start", "giving", "part_begin", "part_first", "part_nodes"
    return name in numbers or name.startswith(("start", "slots", "row_of_"))


def _is_buffer(name: str) -> bool:
    """True for numbers of elements, packed sources and partial sums, which are read by the same loops."""
    return name in ("value", "given", "source", "dot_source", "tree", "part") or name.startswith("slot_")


def _has_fixed_elements(potential: Potential) -> bool:
    """True if all kernels of a potential are of terms and maps whose elements stay."""
    return potential.fixed and all(isinstance(k, TermKernels) for k in potential.kernels.values())
