"""Observers of fluids: how far a body has come along an axis."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Record, UserError


class Front(Observer):
    """Records `observables/front`: the largest coordinate of a body's nodes along one axis."""

    def __init__(self, context: ObserverContext, every: int, nodes: np.ndarray, axis: int):
        super().__init__(context.stepper, context.recorder, every)
        self.nodes, self.axis = nodes, axis
        context.recorder.unit("front", context.units.symbol("m"), context.units.in_si("m"))

    def observe(self) -> None:
        reached = self.fields["x"].values[self.nodes, self.axis].max()
        self.recorder.record_observables(self.stepper.step, self.stepper.time, {"front": float(reached)})


class FrontBlock(Record):
    """How far the nodes of a `body` have come along an `axis`."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    body: str | tuple[str, ...] = "fluid"
    """Name of the body, or of several."""
    axis: Literal["x", "y", "z"] = "x"
    """Axis along which its largest coordinate is taken."""

    def make(self, context: ObserverContext) -> Observer:
        bodies = {body.name: body.nodes for body in context.state.bodies}
        names = (self.body,) if isinstance(self.body, str) else self.body
        if not names:
            raise UserError('body: names no body, got []; name one, such as "fluid"')
        if missing := [name for name in names if name not in bodies]:
            raise UserError(
                f"body: the state has no '{missing[0]}' (there are: {', '.join(bodies) or 'none'})"
            )
        axis = "xyz".index(self.axis)
        if axis >= context.state.fields["x"].shape[1]:
            raise UserError(f"axis: the state has no '{self.axis}'; take another")
        return Front(context, self.every, np.unique(np.concatenate([bodies[name] for name in names])), axis)


OBSERVERS = {"front": FrontBlock}
