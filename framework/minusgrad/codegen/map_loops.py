"""The loops of local maps: elements add to a field, and the field's adjoint is propagated back to them.

    forward   y_p += f(e)                  gathered per receiver; or per target, over its sources
    adjoint   dU/dq += lambda_p df/dq      the gradient of the local energy lambda_p f, with lambda = dU/dy

Along tangents, ydot_p += df/dq qdot, and the tangent of the adjoint is the Hessian product of that local
energy, with lambdadot the tangent of lambda.

Every sum has a fixed order, at any number of threads; there are no atomics.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..elements.gather import Gather
from ..energies.fields import Field
from ..energies.local_energy import Node
from ..energies.local_map import LocalMap
from ..energies.term import Term
from ..engine.kernels import Code
from ..errors import EnergyError
from ..symbolic import differentiation, ties
from ..symbolic.scalar import Scalar
from .derivative_request import ADJOINT, WHOLE, DerivativeRequest, tangents
from .sweep_verification import relaunched, verify_map
from .term_loops import Emitter
from .tracing import Trace


class MapLoops(Emitter):
    """The loops of one map to nodes; `adjoint` is a field like its output.

    `forwarded`: the graph of the newest `forward`, until its kernel is verified.
    """

    forwarded: tuple[Trace, Scalar] | None = None

    def __init__(self, term: Term, adjoint: Field):
        assert isinstance(term.energy, LocalMap)
        assert term.gives is not None
        if term.elements.unordered and not term.elements.loop.per_target:
            kind = type(term.elements).__name__
            raise EnergyError(f"map '{term.name}': unordered pairs need a loop over targets, got {kind}")
        self.map, self.given = term.energy, term.gives
        adjoint_role = Node(self.map.unit, of=self.map.element_kind.names[0])
        weighted = replace(self.map, roles={**self.map.roles, ADJOINT: adjoint_role})
        super().__init__(replace(term, energy=weighted, fields={**term.fields, ADJOINT: adjoint}))

    @property
    def gives_to_all(self) -> bool:
        """True if the loops write every receiver; their output then needs no zeroing."""
        return not self.loop.per_target or self.writes_every_node

    def located(self) -> Code:
        """Loops that `forward` begins with and that derivatives need: none, except with windows."""
        return Code("")

    def forward(
        self, along: Mapping[str, Any] | None = None, into: Any = None, overwrite: bool = False
    ) -> Code:
        """Loops that add the map's output to its field; or its tangent `along` directions to `into`.

        Directions are by the map's arguments. `overwrite`: store instead of adding; needs `gives_to_all`.
        """
        moved, out = (
            DerivativeRequest(tangents=along or {}),
            f"{'f' if into is None else 'w'}_{self.given.name}",
        )
        lines = self._forward(out, moved, overwrite)
        code = replace(self._code(lines, moved), slices=self._slices())
        return code.naming(**{out: self.given.array if into is None else into})

    def verify_forward(self, code: Code, along: Mapping[str, Any], t: float) -> bool:
        """Verify the output of the code of `forward`, after its launch.

        Returns False if this state is not suitable for a verification. Raises `MiscompiledError` and
        `RangeError`.
        """
        traced, value = self._given(along)
        found: dict[str, Any] = {"tangents": along}
        if self.loop.per_target:
            out = f"{'w' if along else 'f'}_{self.given.name}"
            found["targets"] = relaunched(code, {out}, t)[out]
        else:
            found["elements"] = self._arrays[WHOLE.buffer]
        verify_map(self.term, traced, value, found, t)
        return True

    def _given(self, along: Mapping[str, Any]) -> tuple[Trace, Scalar]:
        """The trace of the map, and its output or the tangent of it, as emitted last."""
        if self.forwarded is None:
            traced = Emitter._trace(self)
            return traced, given(traced, DerivativeRequest(tangents=along))
        forwarded, self.forwarded = self.forwarded, None
        return forwarded

    def _forward(self, out: str, moved: DerivativeRequest, overwrite: bool) -> list[str]:
        traced = Emitter._trace(self)
        value = given(traced, moved)
        self.forwarded = traced, value
        if self.loop.per_target:
            after = [f"{out}[n0] = s0" if overwrite else f"{out}[n0] = {out}[n0] + s0"]
            every = [(some, [0]) for some in self.loop.sources]
            return self._target_loop([value], every, [f"s0 = {self.type}(0.0)"], ["s0 += {}"], after)
        receivers, p = Gather.of(self.term.elements.nodes[:, 0], len(self.given)), self.prefix
        self._own("giving_start", receivers.start)
        self._own("giving", receivers.slots)
        self._buffers([WHOLE])
        return [
            *self._by_element(value, [WHOLE], {}),
            f"for n in range({p}giving_start.shape[0] - 1):",
            "    a = ti.f64(0.0)",
            f"    for q in range({p}giving_start[n], {p}giving_start[n + 1]):",
            f"        a += {p}value[{p}giving[q], 0]",
            f"    {out}[n] = {self.type}(a)" if overwrite else f"    {out}[n] = {out}[n] + {self.type}(a)",
        ]

    def _trace(self) -> Trace:
        """The local energy lambda_p f; of unordered pairs both ways."""
        traced = super()._trace()
        own = self.term.slots(ADJOINT)
        weights = [traced.graph.input(ADJOINT, s, ()) for s in own]
        value = weights[0] * traced.value
        if traced.mirrored is not None:
            value = value + weights[1] * traced.mirrored
        at = dict(zip(own, weights, strict=True))
        rows = [[at[s]] if s in at else [] for s in range(self.term.arity)]
        return replace(traced, value=value, inputs={**traced.inputs, ADJOINT: rows})

    def _code(self, lines: list[str], wanted: DerivativeRequest | None = None) -> Code:
        code = super()._code(lines, wanted)
        out = f"f_{self.given.name}"
        return code.naming(**{out: self.given.array}) if out in code.text else code


def given(traced: Trace, moved: DerivativeRequest) -> Scalar:
    """The output of an element; or, if the request has tangents, the tangent of it."""
    if not moved.tangents:
        return traced.value
    return ties.settled(differentiation.tangent([traced.value], tangents(traced, list(moved.tangents))))[0]
