"""The rigid motion of a body, recorded: how its reference point moved, how it turned, and what is left.

    min over R, t of sum_i |x_i - R (X_i - C) - C - t|^2        R from the factors of sum (x - x_m)(X - X_m)^T

(Kabsch 1976, Acta Cryst. A 32, 922). X are the places at the start, C the reference point.

Decisions 0166.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Quantity, Record, UserError, choices, quantities

Place = Annotated[float | str, Quantity("m")]


def fitted_motion(start: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """R (d, d) and both means (d,) of the rigid motion from places `start` (n, d) to x (n, d)."""
    first, second = start.mean(axis=0), x.mean(axis=0)
    u, _, v = np.linalg.svd((x - second).T @ (start - first))
    signs = np.ones(len(first))
    signs[-1] = np.sign(np.linalg.det(u @ v)) or 1.0
    return (u * signs) @ v, first, second


def rotation_vector(turned: np.ndarray) -> np.ndarray:
    """The vector of a rotation [rad]: axis times angle; in the plane the angle (1,), up to half a turn."""
    if len(turned) == 2:
        return np.array([np.arctan2(turned[1, 0] - turned[0, 1], turned[0, 0] + turned[1, 1])])
    twice = np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]])
    sine, cosine = 0.5 * float(np.linalg.norm(twice)), 0.5 * (float(np.trace(turned)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    if sine > 1e-6:
        return twice * (0.5 * angle / sine)
    if cosine > 0.0:
        return 0.5 * twice
    axis = np.linalg.eigh(0.5 * (turned + turned.T))[1][:, -1]
    return angle * axis


class RigidMotion(Observer):
    """Records rigid_motion/BODY/displacement (d,), /rotation (3,), in the plane a number, and /deviation."""

    def __init__(
        self, context: ObserverContext, every: int, body: str, nodes: np.ndarray, point: np.ndarray | None
    ):
        super().__init__(context.stepper, context.recorder, every)
        self.nodes, self.label = nodes, f"rigid_motion/{body}"
        self.start = context.state.fields["x"][nodes].astype(np.float64)
        self.point = self.start.mean(axis=0) if point is None else point
        metre, radian = (context.units.symbol("m"), context.units.in_si("m")), ("rad", 1.0)
        for name, unit in (("displacement", metre), ("rotation", radian), ("deviation", metre)):
            context.recorder.unit(f"{self.label}/{name}", *unit)

    def observe(self) -> None:
        x = self.fields["x"].values[self.nodes].astype(np.float64)
        turned, first, second = fitted_motion(self.start, x)
        moved = second + turned @ (self.point - first) - self.point
        off = x - second - (self.start - first) @ turned.T
        angle = rotation_vector(turned)
        found = {
            "displacement": moved,
            "rotation": float(angle[0]) if len(angle) == 1 else angle,
            "deviation": float(np.linalg.norm(off, axis=1).max()),
        }
        values = {f"{self.label}/{name}": value for name, value in found.items()}
        self.recorder.record_observables(self.stepper.step, self.stepper.time, values)


class RigidMotionBlock(Record):
    """How a body moved as a whole since the start: displacement of a point, rotation, and deviation from it.

    The rotation is axis times angle [rad], in the plane the angle, up to half a turn. The deviation is the
    largest distance of a node from where the rigid motion takes it.
    """

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    body: str
    """Name of the body."""
    point: tuple[Place, ...] = ()
    """The point whose displacement is recorded, moved with the body; empty: the mean of its nodes."""

    def make(self, context: ObserverContext) -> Observer:
        bodies = {body.name: np.unique(body.nodes) for body in context.state.bodies}
        if self.body not in bodies:
            raise UserError(f"body: no body named '{self.body}'{choices(self.body, bodies)}")
        d = context.state.fields["x"].shape[1]
        if d not in (2, 3) or len(self.point) not in (0, d):
            raise UserError(f"point: needs {d} numbers, one for each axis, got {len(self.point)}; correct it")
        point = np.array(quantities(self, context.units)["point"]) if self.point else None
        return RigidMotion(context, self.every, self.body, bodies[self.body], point)


OBSERVERS = {"rigid_motion": RigidMotionBlock}
