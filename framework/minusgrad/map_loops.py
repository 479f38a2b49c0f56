"""The loops of local maps: what elements add to a field, and how its adjoint comes back to them.

    forward   y_p += f(e)                  tuples: gathered per receiver; pairs: receiver i reads all j != i
    adjoint   dU/dq += lambda_p df/dq      the gradient of the local energy lambda_p f, with lambda = dU/dy

The elements stand in the same order in every sum, whatever the number of threads, and nothing is atomic.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .emit import Emitter
from .energy import Node
from .fields import Field
from .interactions import Gather
from .kernels import Code
from .maps import LocalMap
from .terms import Term
from .trace import Trace

ADJOINT = "lambda"
"""The argument that is added to a map's: no function can have one of this name."""


class MapLoops(Emitter):
    """The loops of one map over nodes, pairs or tuples; `adjoint` is a field like the one it gives to."""

    def __init__(self, term: Term, adjoint: Field):
        assert isinstance(term.energy, LocalMap)
        assert term.gives is not None
        self.map, self.given = term.energy, term.gives
        weighted = replace(self.map, roles={**self.map.roles, ADJOINT: Node(self.map.unit)})
        super().__init__(replace(term, energy=weighted, fields={**term.fields, ADJOINT: adjoint}))

    def forward(self) -> Code:
        """Loops that add what the elements give."""
        value = super()._trace().value
        out = f"f_{self.given.name}"
        if self.pairs:
            after = [f"{out}[n0] = {out}[n0] + s0"]
            ranges = ["range(0, i)", "range(i + 1, n)"]
            return self._code(
                self._pair_loop([value], ranges, [f"s0 = {self.type}(0.0)"], ["s0 += {}"], after)
            )
        receivers = Gather.of(self.term.elements.nodes[:, 0], len(self.given))
        self._own("giving_start", receivers.start)
        self._own("giving", receivers.slots)
        code, _ = self._sums("value", value)
        p = self.prefix
        gather = [
            f"for n in range({p}giving_start.shape[0] - 1):",
            "    a = ti.f64(0.0)",
            f"    for q in range({p}giving_start[n], {p}giving_start[n + 1]):",
            f"        a += {p}value[{p}giving[q], 0]",
            f"    {out}[n] = {out}[n] + {self.type}(a)",
        ]
        return Code.joined([code, self._code(gather)])

    def _trace(self) -> Trace:
        """The local energy lambda_p f; over pairs both ways."""
        traced = super()._trace()
        slots = range(2 if self.pairs else self.term.arity)
        weights = [traced.graph.input(ADJOINT, s, ()) for s in slots]
        value = weights[0] * traced.value
        if traced.mirrored is not None:
            value = value + weights[1] * traced.mirrored
        return replace(traced, value=value, inputs={**traced.inputs, ADJOINT: [[w] for w in weights]})

    def _code(self, lines: list[str], targets: Mapping[str, Any] | None = None) -> Code:
        code = super()._code(lines, targets)
        out = f"f_{self.given.name}"
        return code.naming(**{out: self.given.array}) if out in code.text else code
