"""Adjoint and tangents of gradient flows: one linear system for each step (`implicit.gradient_flow`).

    R = C (new T + now T_0 + before T_-1) / h + (1 - old) dU/dT + old dU/dT_0 = 0
    K = C new / h + (1 - old) d2U/dT2

    adjoint    K z = l;     l_0 <- -(now C / h + old d2U/dT_0^2) z,   l_-1 <- -before C z / h
               l_p <- l_p - z' dR/dp                                   for each parameter, and for C
    tangent    K T. = -(now C / h + old d2U/dT_0^2) T_0. - before C T_-1. / h - dR/dp p.

Held components have no adjoint, because a step overwrites them.

Decisions 0350.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...engine import storage
from ...potential.potential import Potential
from ...steppers.implicit.flow_tape import FlowStep, FlowTape
from ...steppers.implicit.gradient_flow import GradientFlow
from ..backward import RunAdjoint, felt, owner, rows_of
from ..supports.support_derivatives import SupportDerivatives
from ..tangents import shaped

PRECISE = 1e-13
"""The relative residual of the systems, for iterative solvers."""


VECTORS = 12
"""The vectors (N,) in double precision that a direction of tangents needs at most."""


class _AtSteps:
    """Names, and products with d2U at the ends of steps, which adjoint and tangents share."""

    def __init__(self, stepper: GradientFlow, names: Sequence[str]):
        self.stepper, self.potential, self.free = stepper, stepper.potential, stepper.free
        self.owners = {n: owner(stepper, n) for n in names}
        self.supports = SupportDerivatives.of(stepper.holds, names)
        fields = self.potential.fields
        self.nodal = list(dict.fromkeys([*stepper.names, *(n for n in names if n in fields)]))
        self.others = [n for n in self.nodal if n not in stepper.names]
        self._arrays: dict[str, Any] = {}

    def array(self, key: str, field: str) -> Any:
        if key not in self._arrays:
            self._arrays[key] = storage.allocate(np.zeros_like(self.potential.fields[field].values))
        return self._arrays[key]

    def along(self, parts: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Tangents of those fields that U reads."""
        found = {}
        for name, part in parts.items():
            if name in self.potential.reads:
                found[name] = self.array(f"along {name}", name)
                storage.store(found[name], np.asarray(part, self.potential.fields.dtype))
        return found

    def swept(self, tangents: Mapping[str, Any], wrt: Sequence[str], changes: Sequence[str], t: float) -> Any:
        """Changes of dU/d(wrt) and dU/d(changes) along tangents: arrays by field, values by parameter."""
        asked = {n: self.array(n, n) for n in wrt if n in self.potential.reads}
        request = DerivativeRequest(product=asked, changes=list(changes), tangents=dict(tangents))
        found = self.potential.sweep(request, t).changes
        return {n: storage.host(a).astype(np.float64) for n, a in asked.items()}, found

    def flat(self, parts: Mapping[str, np.ndarray]) -> np.ndarray:
        """Free components (N,) of arrays by field, zero for fields that are absent."""
        none = {n: np.zeros(self.free.shapes[n]) for n in self.stepper.names}
        return self.free.vector(none | {n: a for n, a in parts.items() if n in none})

    def factor(self, step: FlowStep) -> np.ndarray:
        """Be at the end of a step, with the factors of K; returns C / h."""
        self.stepper.put(step.there, step.times[1])
        rate = self.stepper.capacity / self.stepper.dt
        self.stepper.factor(step.times[1], step.scheme.new * rate, 1.0 - step.scheme.old)
        return rate


class FlowAdjoint(RunAdjoint):
    """The adjoint of the steps on the tape of a gradient flow; in double precision."""

    stepper: GradientFlow

    def __init__(self, stepper: GradientFlow, names: Sequence[str]):
        assert stepper.tape is not None
        self.stepper, self.tape, self.at = stepper, stepper.tape, _AtSteps(stepper, names)
        fields = stepper.potential.fields
        self.adjoints = {n: np.zeros(fields[n].shape) for n in self.at.nodal}
        owners = self.at.owners.items()
        self.parameters = {n: rows_of(p, n) for n, p in owners if isinstance(p, Potential)}
        self.supports = self.at.supports
        self._earlier = np.zeros(stepper.free.size)

    def clear(self) -> None:
        super().clear()
        self._earlier.fill(0.0)

    def found(self, name: str) -> np.ndarray:
        found = super().found(name)
        return found.astype(self.stepper.potential.fields.dtype) if name in self.adjoints else found

    def back(self, last: int, steps: int) -> None:
        self._leave(last)
        for step in reversed(range(last - steps, last)):
            self._step(self.tape.steps[step])

    def finish(self) -> None:
        """Held components are set before the first step, so they have no adjoint."""
        self._put(self.at.flat(self.adjoints))

    def _leave(self, step: int) -> None:
        """Pass to supports the adjoints that a loss gives to held components of the state at a step."""
        if self.supports:
            self.supports.pull(float(self.stepper.times(step)), self.adjoints)
            self._put(self.at.flat(self.adjoints))

    def _step(self, step: FlowStep) -> None:
        at, scheme = self.at, step.scheme
        arrived = at.flat(self.adjoints)
        rate = at.factor(step)
        z = self.stepper.solver.solve(arrived, PRECISE)
        self._subtract(z, step.times[1], 1.0 - scheme.old, [])
        self._weigh(z * scheme.sum(step.there, step.here, step.before) / self.stepper.dt)
        departed = self._earlier - scheme.now * rate * z
        if scheme.old:
            self.stepper.put(step.here, step.times[0])
            departed -= self._subtract(z, step.times[0], scheme.old, self.stepper.names)
        self._earlier = -scheme.before * rate * z
        self._put(departed)

    def _subtract(self, z: np.ndarray, t: float, share: float, wrt: Sequence[str]) -> np.ndarray:
        """Subtract z' d2U/(dT dp) from adjoints of parameters and other fields; returns those by `wrt`."""
        at = self.at
        tangents = at.along(at.free.by_field(share * z))
        read = felt(at.potential, set(tangents))
        changes = [n for n in self.parameters if n.partition(".")[0] in read]
        held = self.stepper.names if self.supports else []
        products, changed = at.swept(tangents, [*at.others, *dict.fromkeys([*wrt, *held])], changes, t)
        if self.supports:
            self.supports.pull(t, {n: -products[n] for n in held if n in products})
        for name in at.others:
            self.adjoints[name] -= products.get(name, 0.0)
        for name, values in changed.items():
            rows = self.parameters[name]
            storage.store(rows, storage.host(rows) - values.reshape(tuple(rows.shape)))
        return at.flat(products) if wrt else np.zeros(at.free.size)

    def _weigh(self, by_component: np.ndarray) -> None:
        """Subtract derivatives by the capacities of components from those by the capacities of nodes."""
        parts = self.at.free.by_field(by_component)
        for name, capacity in self.stepper.capacities.items():
            if isinstance(capacity, str) and capacity in self.at.others:
                self.adjoints[capacity] -= parts[name].reshape(len(parts[name]), -1).sum(axis=1)

    def _put(self, values: np.ndarray) -> None:
        for name, part in self.at.free.by_field(values).items():
            self.adjoints[name][...] = part


class FlowTangents:
    """A run of a gradient flow with its tangents along some directions, which share its matrices and factors.

    `along`: the present ones of each direction, by field, in f64; vectors are (K, N), a row for each.
    """

    def __init__(self, stepper: GradientFlow, names: Sequence[str]):
        self.stepper, self.at = stepper, _AtSteps(stepper, names)
        fields = stepper.potential.fields
        self._shapes = {n: fields[n].shape for n in self.at.nodal}
        self.along: list[dict[str, np.ndarray]] = []
        self._parameters: list[dict[str, np.ndarray]] = []
        self._earlier = np.zeros((0, stepper.free.size))

    @property
    def size(self) -> int:
        """Bytes for each direction."""
        return 8 * (VECTORS * self.stepper.free.size + sum(int(np.prod(s)) for s in self._shapes.values()))

    def start(self, directions: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Start at the stepper's present state with tangents for each direction; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        owners = {n: p for n, p in self.at.owners.items() if p}
        self.along = [{n: shaped(n, d.get(n), s).copy() for n, s in self._shapes.items()} for d in directions]
        self._parameters = [
            {n: shaped(n, d.get(n), p.shape(n)) for n, p in owners.items()} for d in directions
        ]
        self._earlier = np.zeros((len(directions), self.stepper.free.size))
        self._put(self._taken())

    def advance(self, steps: int) -> None:
        """Advance the state and its tangents by `steps` steps."""
        one, before = self.stepper, self.stepper.tape
        one.tape = tape = FlowTape()
        try:
            for _ in range(steps):
                step = one.step
                one.advance(1)
                after, state = one.values, one.state()
                self._step(tape.steps.pop(step))
                one.put(after, one.time)
                one.restore(state)
        finally:
            one.tape = before

    def _step(self, step: FlowStep) -> None:
        at, scheme, here = self.at, step.scheme, self._taken()
        rate = at.factor(step)
        right = rate * (scheme.now * here + scheme.before * self._earlier)
        right += self._weights() * scheme.sum(step.there, step.here, step.before) / self.stepper.dt
        right += (1.0 - scheme.old) * self._changed(np.zeros_like(here), step.times[1])
        if scheme.old:
            self.stepper.put(step.here, step.times[0])
            right += scheme.old * self._changed(here, step.times[0])
        self._earlier = here
        self._put(self.stepper.solver.solve_each(-right, PRECISE))

    def _changed(self, along: np.ndarray, t: float) -> np.ndarray:
        """The changes (K, N) of dU/dT along tangents of T, of parameters and of other fields."""
        at, found = self.at, []
        for part, one, parameters in zip(along, self.along, self._parameters, strict=True):
            others = {n: one[n] for n in at.others}
            own = {n: p for n, p in parameters.items() if at.owners[n] is at.potential}
            tangents = at.along(at.free.by_field(part) | self._moved(parameters, part, t) | others) | own
            found.append(at.flat(at.swept(tangents, self.stepper.names, [], t)[0]))
        return np.stack(found)

    def _moved(self, numbers: Mapping[str, np.ndarray], part: np.ndarray, t: float) -> dict[str, np.ndarray]:
        """The tangents of the flowing fields, with those of their supports at a time; none without them."""
        if not self.at.supports:
            return {}
        self.at.supports.start(numbers)
        moved = self.at.supports.moved(t)
        return {n: a + moved.get(n, 0.0) for n, a in self.at.free.by_field(part).items()}

    def _weights(self) -> np.ndarray:
        """The tangents of the capacity (K, N) of each component."""
        return np.stack([self._weights_along(one) for one in self.along])

    def _weights_along(self, one: Mapping[str, np.ndarray]) -> np.ndarray:
        parts = {}
        for name, capacity in self.stepper.capacities.items():
            shape = self.at.free.shapes[name]
            given = one.get(capacity, np.zeros(1)) if isinstance(capacity, str) else np.zeros(1)
            parts[name] = np.broadcast_to(given.reshape(-1, *[1] * (len(shape) - 1)), shape)
        return self.at.free.vector(parts)

    def _taken(self) -> np.ndarray:
        """The tangents (K, N) of free components."""
        return np.stack([self.at.flat(one) for one in self.along])

    def _put(self, values: np.ndarray) -> None:
        for one, row, numbers in zip(self.along, values, self._parameters, strict=True):
            parts = self.at.free.by_field(row) | self._moved(numbers, row, self.stepper.time)
            for name, part in parts.items():
                one[name][...] = part
