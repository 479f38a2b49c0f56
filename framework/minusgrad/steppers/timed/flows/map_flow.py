"""A flow given by traced maps: its tangents and transposes follow, as those of programs do.

    x' = X(x, v, m, p; h),   v' = V(x, v, m, p; h)        p: parameters of the maps, h: the time of a drift

The maps are said once, as functions, with h as a `TimeStep`. An `Integrator` that takes the flow drifts along
it; schemes of any order, derivatives of runs by fields and by the maps' parameters, checks and saves are
those of every splitting. So a stepper with derivatives is the function that moves its nodes.

Decisions 0116.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ....codegen.derivative_request import DerivativeRequest
from ....energies.fields import Motion
from ....engine import storage
from ....engine.joined.coalescing import coalesced
from ....engine.kernels import Code, add_loops, copy_loops, real
from ....errors import EnergyError, choices
from ....potential.fused_code import FusedSweep
from ....potential.potential import Potential
from ....potential.slope import Slope
from ....potential.staged.staged_term import StagedTerm
from ...systems.parts import FAR, FRICTION, TIME, Consumer
from .part_flow import PartFlow, Rows


class MapFlow(PartFlow):
    """Drifts along maps: `updates` says what position and velocity become, as of an `Evolution`.

        turned = bind(rotated, fields, parameters={"spin": 0.1})
        flow = MapFlow("rotating", fields, [turned], motion, {"x": "x_next", "v": "v_next"})
        Integrator(System(potential, [motion]), SCHEMES["leapfrog"], 0.01, part_flow=flow)

    name: of its stepper, for messages. fields: those of U. maps: bound to them, in their order. motion: what
    they move. inexact, conserves: as of `PartFlow`. Kicks are by all of U. Raises `EnergyError` for slopes,
    for maps that are staged, depend on time or have elements that are rebuilt, and for updates that do not
    fit.
    """

    def __init__(
        self,
        name: str,
        fields: Any,
        maps: Sequence[Any],
        motion: Motion,
        updates: Mapping[str, str],
        inexact: tuple[str, str] | None = None,
        conserves: bool = True,
    ):
        self.name, self.inexact, self.state, self.updates = name, inexact, {}, dict(updates)
        self.conserves = conserves
        self.consumer = Consumer(name, {FRICTION, FAR, TIME}, cure="leave it out")
        self.maps, self.x = Potential(fields, [], maps), motion.position
        self._refuse_unfit(motion)
        self.parameters = [n for n in self.maps.arguments if n not in self.maps.time_steps]
        self._sweep = FusedSweep(self.maps)
        self._forward = self._sweep.refresh()
        if not self._sweep.possible:
            raise EnergyError(f"{name}: its maps take no part in kernels of whole steps; use fixed elements")
        self.statements = self._sweep.statements
        self.put_tangents({})

    @property
    def potentials(self) -> list[Potential]:
        return [self.maps]

    def drift(self) -> Code:
        outputs = self.maps.map_outputs
        moved = [copy_loops(self.maps.fields[z].array, outputs[y].array) for z, y in self.updates.items()]
        return self._code([*self._forward, *moved])

    def put_tangents(self, tangents: Mapping[str, np.ndarray]) -> None:
        for name in self.parameters:
            term, _, argument = name.partition(".")
            values = np.asarray(tangents.get(name, np.zeros(self.maps.shape(name))))
            self.maps.chain.loops[term].set_tangent(argument, values)

    def drift_tangent(self, tangents: Mapping[str, Any]) -> Code:
        along = {n: a for n, a in tangents.items() if n in self.maps.reads}
        found, changing = self._sweep.tangents_of_outputs(along | dict.fromkeys(self.parameters))
        fields, outputs = self.maps.fields, self.maps.map_outputs
        moved = [copy_loops(fields[z].array, outputs[y].array) for z, y in self.updates.items()]
        moved += [copy_loops(tangents[z], found[y]) for z, y in self.updates.items()]
        known = {f"w_{n}": a for n, a in tangents.items()}
        return self._code([*self._forward, *changing, *moved], known)

    def drift_adjoint(self, adjoints: Mapping[str, Any], parameters: Rows) -> Code:
        fields, read = self.maps.fields, [n for n in adjoints if n in self.maps.reads]
        found = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in read}
        rows = {n: array for n, (_, array) in parameters.items() if n in self.parameters}
        request = DerivativeRequest(
            gradient=found,
            slopes=tuple(rows),
            seeds={y: adjoints[z] for z, y in self.updates.items()},
            only_seeds=True,
        )
        pieces = self._sweep.sweep(request, rows)
        for n, array in found.items():
            pieces.append(
                copy_loops(adjoints[n], array) if n in self.updates else add_loops(adjoints[n], array)
            )
        named = {name: array for n, (name, array) in parameters.items() if n in rows}
        return self._code(pieces, {f"l_{n}": a for n, a in adjoints.items()} | named, [*found.values()])

    # Inside

    def _code(
        self, pieces: Iterable[Code], known: Mapping[str, Any] | None = None, scratch: Sequence[Any] = ()
    ) -> Code:
        """The pieces after the time of the drift is set; `known`: arrays with names in the larger kernel."""
        chain, fields = self.maps.chain, self.maps.fields
        named = {f"f_{n}": fields[n].array for n in fields if n not in fields.derived} | dict(known or {})
        own = [*chain.outputs.values(), *chain.adjoints.values(), *chain.output_tangents.values()]
        few = coalesced(pieces, [*scratch, *(field.array for field in own)])
        return Code.merged([*self._lengths(), *few], named, "flow")

    def _lengths(self) -> list[Code]:
        """The time of a drift as the maps read it."""
        found = []
        for name in self.maps.time_steps:
            term, _, argument = name.partition(".")
            array, at = self.maps.chain.loops[term].parameter_place(argument)
            line = f"scalars[{at}] = {real(self.maps.fields.dtype)}(h)\n"
            found.append(Code(f"for _ in range(1):\n    {line}", {"scalars": array}))  # a task of a device
        return found

    def _refuse_unfit(self, motion: Motion) -> None:
        """Raise `EnergyError` for maps and updates that are no flow of the motion."""
        fields, outputs = self.maps.fields, self.maps.map_outputs
        for part in self.maps.chain.parts.values():
            if isinstance(part, Slope | StagedTerm):
                kind = "slope" if isinstance(part, Slope) else "staged map"
                raise EnergyError(
                    f"{self.name}: drifts along traced maps, got the {kind} '{part.name}'; trace it"
                )
        if self.maps.uses_time:
            raise EnergyError(
                f"{self.name}: drifts along maps without time, got some that depend on it; a drift knows its"
                " length alone, a TimeStep"
            )
        if set(self.updates) != {motion.position, motion.velocity}:
            raise EnergyError(
                f"{self.name}: moves '{motion.position}' and '{motion.velocity}', got updates of"
                f" {', '.join(map(repr, self.updates)) or 'none'}; give both"
            )
        for z, y in self.updates.items():
            if y not in outputs:
                raise EnergyError(f"{self.name}: no map gives '{y}'{choices(y, list(outputs))}")
            if outputs[y].shape != fields[z].shape:
                raise EnergyError(
                    f"{self.name}: '{z}' has shape {list(fields[z].shape)}, got '{y}' of shape"
                    f" {list(outputs[y].shape)}; give each the shape of what it becomes"
                )
