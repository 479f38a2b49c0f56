"""The loops of local maps: elements add to a field, and the field's adjoint is propagated back to them.

    forward   y_p += f(e)                  gathered per receiver; or per target, over its sources
    adjoint   dU/dq += lambda_p df/dq      the gradient of the local energy lambda_p f, with lambda = dU/dy

Along tangents, ydot_p += df/dq qdot, and the tangent of the adjoint is the Hessian product of that local
energy, with lambdadot the tangent of lambda.

Outputs may be several, each a number, a vector or a matrix: the local energy is then lambda . f, the sum over
their components, and one launch computes them all.

Every sum has a fixed order, at any number of threads; there are no atomics.

Decisions 0267.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from ..elements.gather import Gather
from ..energies.fields import Field
from ..energies.local_map import LocalMap
from ..energies.roles import Node
from ..energies.term import Term
from ..engine import storage
from ..engine.kernels import Code
from ..errors import EnergyError
from ..symbolic import differentiation, ties
from ..symbolic.scalar import Scalar
from .derivative_request import WHOLE, DerivativeRequest, Place, adjoint_of, tangents
from .statements import subscript
from .term_loops import Emitter, gather_slots
from .tracing import Trace
from .verification.element_samples import Number
from .verification.sweep_verification import relaunch_kernel, verify_map


class MapLoops(Emitter):
    """The loops of one map to nodes; `adjoints` are fields like its outputs, by the names of these.

    `given`: the outputs, in order. `components`: of all outputs, the number of the output and the component.
    `forwarded`: the graph of the newest `forward_loops`, until its kernel is verified.
    """

    forwarded: tuple[Trace, list[Scalar]] | None = None

    def __init__(self, term: Term, adjoints: Mapping[str, Field]):
        assert isinstance(term.energy, LocalMap)
        if term.elements.unordered and not term.elements.loop.per_target:
            kind = type(term.elements).__name__
            raise EnergyError(f"map '{term.name}': unordered pairs need a loop over targets, got {kind}")
        self.map, self.given = term.energy, list(term.outputs.values())
        self.components = [(k, c) for k, f in enumerate(self.given) for c in np.ndindex(*f.shape[1:])]
        fields = {adjoint_of(k): adjoints[f.name] for k, f in enumerate(self.given)}
        receivers = self.map.element_kind.names[0]
        units = [(f.unit, f.shape[1:]) for f in self.given]
        roles = {a: Node(*unit, of=receivers) for a, unit in zip(fields, units, strict=True)}
        weighted = replace(self.map, roles={**self.map.roles, **roles})
        super().__init__(replace(term, energy=weighted, fields={**term.fields, **fields}))

    @property
    def gives_to_all(self) -> bool:
        """True if the loops write every receiver; their output then needs no zeroing."""
        return not self.loop.per_target or self.writes_every_node

    @property
    def _stores_directly(self) -> bool:
        """True if each receiver has one element, which stores its outputs there."""
        return self._writes_own_node and self.term.elements.rows == len(self.given[0])

    def location_loops(self) -> Code:
        """Loops that `forward_loops` begins with and that derivatives need: none, except with windows."""
        return Code("")

    def forward_loops(
        self,
        along: Mapping[str, Any] | None = None,
        into: Mapping[str, Any] | None = None,
        overwrite: Collection[str] = (),
    ) -> Code:
        """Loops that add the map's outputs to their fields; or their tangents `along` directions to `into`.

        Directions are by the map's arguments, `into` by the names of the output fields. `overwrite`: names of
        those that are stored instead of added to; needs `gives_to_all`.
        """
        moved, outs = DerivativeRequest(tangents=along or {}), self._output_names(into is not None)
        lines = self._emit_forward(outs, moved, [f.name in overwrite for f in self.given])
        code = replace(self._code_of_lines(lines, moved), slices=self._slice_plan())
        arrays = [f.array if into is None else into[f.name] for f in self.given]
        return code.naming(**dict(zip(outs, arrays, strict=True)))

    def _output_names(self, of_tangents: bool) -> list[str]:
        """The names of the arrays that outputs, or their tangents, are added to."""
        return [f"{'w' if of_tangents else 'f'}_{f.name}" for f in self.given]

    def verify_forward(self, code: Code, along: Mapping[str, Any], t: float) -> bool:
        """Verify the output of the code of `forward_loops`, after its launch.

        Returns False if this state is not suitable for a verification. Raises `MiscompiledError` and
        `RangeError`.
        """
        traced, values = self._emitted_outputs(along)
        if self.loop.per_target or self._stores_directly:
            outs = self._output_names(bool(along))
            fresh, nodes = relaunch_kernel(code, {*outs}, t), self.term.elements.nodes.reshape(-1)
            found = [storage.host(fresh[outs[k]])[(nodes, *c)] for k, c in self.components]
        else:
            found = list(storage.host(self._arrays[self._output_places[0].buffer]).T)
        verify_map(self.term, traced, self.numbers(values), found, t, along)
        return True

    def numbers(self, values: Sequence[Scalar], where: str = "") -> list[Number]:
        """The components of the outputs as numbers to verify."""
        names = [f" '{name}'" if len(self.given) > 1 else "" for name in self.map.outputs]
        pairs = zip(self.components, values, strict=True)
        return [Number(f"its output{names[k]}{where}", value) for (k, _), value in pairs]

    @property
    def _output_places(self) -> list[Place]:
        """The places of the outputs in an element's row."""
        if len(self.components) == 1:
            return [WHOLE]
        return [Place("given", None, column=k) for k in range(len(self.components))]

    def _emitted_outputs(self, along: Mapping[str, Any]) -> tuple[Trace, list[Scalar]]:
        """The trace of the map, and its outputs or the tangents of them, as emitted last."""
        if self.forwarded is None:
            traced = Emitter._trace_energy(self, "forward", tuple(along))
            return traced, map_outputs(traced, DerivativeRequest(tangents=along))
        forwarded, self.forwarded = self.forwarded, None
        return forwarded

    def _emit_forward(
        self, outs: Sequence[str], moved: DerivativeRequest, overwrite: Sequence[bool]
    ) -> list[str]:
        traced = Emitter._trace_energy(self, "forward", tuple(moved.tangents))
        values = map_outputs(traced, moved)
        self.forwarded = traced, values
        count = range(len(values))
        stored = partial(self._stored_outputs, outs, overwrite)
        if self.loop.per_target:
            begin, adds = [f"s{k} = {self.type}(0.0)" for k in count], [f"s{k} += {{}}" for k in count]
            every = [(some, count) for some in self.loop.sources]
            return self._target_loop(values, every, begin, adds, stored("n0", [f"s{k}" for k in count]))
        if self._stores_directly:
            return self._in_blocks(self._each_element(values, stored("n0", ["{}"] * len(values))))
        buffer = self._output_places[0].buffer
        self._row_buffers(self._output_places)
        rows = [f"{self.row(buffer, k)} = ti.f64({{}})" for k in count]
        return [*self._each_element(values, rows), *self._receiver_loop(stored)]

    def _stored_outputs(
        self, outs: Sequence[str], overwrite: Sequence[bool], node: str, texts: Sequence[str]
    ) -> list[str]:
        """Statements that store the outputs of a node, or add to them."""
        places = [f"{outs[k]}[{node}{subscript(c)}]" for k, c in self.components]
        return [
            f"{at} = {text}" if overwrite[k] else f"{at} = {at} + {text}"
            for at, text, (k, _) in zip(places, texts, self.components, strict=True)
        ]

    def _receiver_loop(self, stored: Callable[[str, Sequence[str]], list[str]]) -> list[str]:
        """The loop that sums the outputs of elements by receiver; `stored(node, texts)` stores the sums."""
        count = len(self.given[0])
        gather = self._receiver_elements(count)
        self._derived_array("giving", count, lambda: gather().slots)
        buffer, at = self._output_places[0].buffer, f"{self.prefix}giving[{{q}}]"
        numbers = [self.row(buffer, k, at) for k in range(len(self.components))]

        def end(sums: Sequence[str]) -> list[str]:
            return stored("n", [f"{self.type}({one})" for one in sums])

        return self._row_sums("giving_start", count, lambda: gather().start, numbers, "ti.f64", end)

    def _receiver_elements(self, count: int) -> Callable[[], Gather]:
        """The elements that give to each of `count` nodes; sorted once, unless elements are rebuilt."""
        elements = self.term.elements
        if not elements.fixed:
            return partial(gather_slots, elements, count, (0,))
        made = Gather.of(elements.nodes[:, 0], count)
        return lambda: made

    def _trace_energy(self, *purpose: Hashable) -> Trace:
        """The local energy lambda_p . f; of unordered pairs both ways."""
        traced = super()._trace_energy(*purpose)
        parts = []
        for n, ((k, c), value) in enumerate(zip(self.components, traced.given, strict=True)):
            weights = [traced.graph.input(adjoint_of(k), s, c) for s in self.term.slots(adjoint_of(k))]
            part = weights[0] * value
            parts.append(part + weights[1] * traced.mirrored[n] if traced.mirrored else part)
        return replace(traced, value=reduce(add, parts))

    def _code_of_lines(self, lines: list[str], wanted: DerivativeRequest | None = None) -> Code:
        code = super()._code_of_lines(lines, wanted)
        arrays = {f"f_{f.name}": f.array for f in self.given}
        return code.naming(**{out: array for out, array in arrays.items() if out in code.text})


def map_outputs(traced: Trace, moved: DerivativeRequest) -> list[Scalar]:
    """The outputs of an element, by component; or, if the request has tangents, the tangents of them."""
    if not moved.tangents:
        return list(traced.given)
    key = ("given", tuple([one.serial for one in traced.given]), tuple(moved.tangents))
    return [*traced.graph.once(key, lambda: _output_tangents(traced, moved))]


def _output_tangents(traced: Trace, moved: DerivativeRequest) -> list[Scalar]:
    return ties.settle_ties(differentiation.tangent(traced.given, tangents(traced, list(moved.tangents))))
