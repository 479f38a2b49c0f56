"""Masses on tethers in the plane, whose runs are known on paper, and a rollout of them in complex numbers.

    U = sum over nodes k_i |x_i|^2 / 2        x(t) = x_0 cos(w t) + v_0 / w sin(w t),   w = sqrt(k / m)

Leapfrog of step h follows the same formula with Omega, cos(Omega h) = 1 - (w h)^2 / 2, in the place of w, and
v_0 / (w sqrt(1 - (w h)^2 / 4)) in that of v_0 / w. Derivatives of a run are taken by the complex step
(Squire & Trapp 1998, SIAM Rev. 40, 110), to rounding.
"""

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from minusgrad import Body, Motion, Node, Parameter, State, hookimpl, local_energy
from minusgrad.assembly.contexts import StateContext
from minusgrad.scene.records import Record

TETHERS = """\
title = "Three tethers"
[units]
system = "dimensionless"
[state]
kind = "tethered"
x = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]
v = [[0.0, 0.5], [0.3, 0.0], [0.1, 0.0]]
m = [1.0, 2.0, 0.5]
[[energy]]
kind = "tether"
k = [1.0, 1.0, 1.0]
[stepper]
kind = "leapfrog"
dt = 0.1
[run]
steps = 40
"""
"""A scene of three masses, 40 steps of leapfrog; tests add what it records or fits."""


@local_energy("tether", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m", bounds=(0.0, inf)))
def tether(x, k):
    """A spring of no length to the origin."""
    return 0.5 * k * x[0].dot(x[0])


@local_energy("reach", over="nodes", x=Node("m", ("d",)))
def reach(x):
    """Minus how far along x."""
    return -x[0][0]


class Tethered(Record):
    """Masses at places, with velocities; the first two are bodies by name."""

    x: tuple[tuple[float, float], ...]
    v: tuple[tuple[float, float], ...]
    m: tuple[float, ...]

    def make(self, context: StateContext) -> State:
        return State(
            fields={"x": np.array(self.x), "v": np.array(self.v), "m": np.array(self.m)},
            units={"x": "m", "v": "m s^-1", "m": "kg"},
            motions=(Motion("x", "v", "m"),),
            bodies=(Body("left", [0]), Body("right", [1])),
            labels={"x": "position", "v": "velocity"},
            names=("left", "right", *(str(n) for n in range(2, len(self.m)))),
        )


@hookimpl
def register_energies():
    return [tether, reach]


@hookimpl
def register_states():
    return {"tethered": Tethered}


def leapfrog(x, v, m, k, h: float, steps: int) -> Sequence[np.ndarray]:
    """The positions at steps 0, 1, ..., complex if any argument is."""
    m, k = np.reshape(m, (-1, 1)), np.reshape(k, (-1, 1))
    path = [x]
    for _ in range(steps):
        v = v - 0.5 * h * k * x / m
        x = x + h * v
        v = v - 0.5 * h * k * x / m
        path.append(x)
    return path


class Swing:
    """The `Rollout` of an integrator of tethers, by `leapfrog` above."""

    plan = "every state is computed again, in complex numbers"
    label = "the run of the loss"
    trouble = ""
    writes = 0

    def __init__(self, integrator, losses, steps: int, budget: int = 0):
        self.integrator, self.losses, self.steps = integrator, losses, steps
        self.potential = integrator.potential

    def _now(self) -> dict[str, np.ndarray]:
        fields = {n: f.values.astype(complex) for n, f in self.potential.fields.items()}
        return fields | {"tether.k": self.potential.parameter("tether.k").astype(complex)}

    def _path(self, at: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        return leapfrog(at["x"], at["v"], at["m"], at["tether.k"], self.integrator.dt, self.steps)

    def _residuals(self, at: Mapping[str, np.ndarray]) -> np.ndarray:
        path, found = self._path(at), []
        for loss in self.losses:
            (term,) = loss.potential.terms.values()
            if term.energy.name == "misfit":
                (targets,) = loss.data.values()
                rows = zip(loss.steps, targets, strict=True)
                sigma = loss.potential.parameter(f"{term.name}.sigma")
                found += [(path[s][term.elements.nodes[:, 0]] - t).ravel() / sigma for s, t in rows]
        return np.concatenate(found) if found else np.zeros(0)

    def _loss(self, at: Mapping[str, np.ndarray]) -> complex:
        path, r, total = self._path(at), self._residuals(at), 0.0
        for loss in self.losses:
            (term,) = loss.potential.terms.values()
            if term.energy.name == "reach":
                total = total - sum(path[s][term.elements.nodes[:, 0], 0].sum() for s in loss.steps)
        return total + 0.5 * (r * r).sum()

    def state(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        pass

    def value(self) -> float:
        return float(self._loss(self._now()).real)

    def evaluate(self, names: Sequence[str]) -> tuple[float, dict[str, np.ndarray]]:
        now, found = self._now(), {}
        for name in names:
            found[name] = np.zeros(now[name].shape)
            for place in np.ndindex(now[name].shape):
                changed = now[name].copy()
                changed[place] += 1e-30j
                found[name][place] = self._loss({**now, name: changed}).imag / 1e-30
        return self.value(), found

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        now = self._now()
        moved = [{n: now[n] + 1e-30j * np.asarray(d.get(n, 0.0)) for n in now} for d in directions]
        J = np.stack([self._residuals(at).imag / 1e-30 for at in moved])
        return J @ J.T
