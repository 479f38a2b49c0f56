"""Gradient flows: fields that run down the slope of a potential, such as temperatures in heat conduction.

    C dT/dt = -dU/dT                                               C > 0 the capacity of each node

    implicit Euler     C (T - T_0) / h + dU/dT = 0                 the minimum of C |T - T_0|^2 / 2h + U(T)
    Crank-Nicolson     C (T - T_0) / h + (dU/dT + dU/dT_0) / 2 = 0
    BDF2               C (3 T - 4 T_0 + T_-1) / 2h + dU/dT = 0      its first step is one of implicit Euler

(Hairer & Wanner 1996, Solving Ordinary Differential Equations II.) Each step is solved by Newton's method;
where U is quadratic its matrix is the same in every step, and so are its factors. Components that are held
are at their prescribed values at the end of the step.

Decisions 0350.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...engine import storage
from ...errors import EnergyError, NonFiniteError, RunFailedError
from ...potential.potential import Potential
from ...solvers.linear_solver import LinearSolver
from ...solvers.row_selection import RowSelection
from ...solvers.sparse_system import SparseSystem
from ..stability.free_components import FreeComponents
from ..stepper import PARTS, Gradient, refuse_time_steps, refuse_unlike
from ..systems.parts import MOVING, PERIODIC, SUPPORTS, TIME, Consumer
from ..systems.system import System
from ..timed.time_stepper import TimeStepper
from .flow_tape import FlowScheme, FlowStep, FlowTape

FLOW_SCHEMES = {
    "implicit_euler": FlowScheme(1.0, -1.0, 0.0, 0.0),
    "crank_nicolson": FlowScheme(1.0, -1.0, 0.0, 0.5),
    "bdf2": FlowScheme(1.5, -2.0, 0.5, 0.0),
}
FIRST = FLOW_SCHEMES["implicit_euler"]
ITERATIONS, HALVINGS, ROUNDINGS = 50, 8, 16.0
"""Newton's iterations of a step, halvings of one of them, and roundings of T that end them."""


class GradientFlow(TimeStepper):
    """Advances fields along -dU/dT by implicit steps, in place.

        GradientFlow(System(potential), {"T": "C"}, dt=0.1).advance(100)

    capacities: for each field that flows, the field of its capacity, or one number. scheme: of FLOW_SCHEMES.
    dt, t0: the step and the time at step 0. solver: of `solvers.linear_solver.METHODS`, or "auto". With a
    `tape`, steps record what derivatives need. Raises `EnergyError` where nothing flows, for capacities that
    are not positive, and for potentials without a sparse Hessian.
    """

    slow_on_devices = "each step copies the fields, for linear systems on the host"

    consumer = Consumer("gradient_flow", {SUPPORTS, MOVING, PERIODIC, TIME}, cure="leave it out")
    fixed = PARTS | {"capacities", "scheme"}
    watches = forward = True

    def __init__(
        self,
        system: System,
        capacities: Mapping[str, str | float],
        dt: float,
        scheme: str = "implicit_euler",
        t0: float = 0.0,
        solver: str = "auto",
        *,
        tape: FlowTape | None = None,
    ):
        super().__init__(system)
        self._system = self.system.without_motions()
        potential = self.potential
        refuse_time_steps(potential)
        if not capacities:
            raise EnergyError("gradient_flow: no field flows; give one with its capacity: { T = 'C' }")
        self.capacities, self.scheme = dict(capacities), FLOW_SCHEMES[scheme]
        self.names, self.solver, self.tape = list(capacities), LinearSolver(solver), tape
        self._made = scheme, solver
        self.free = self._shares()
        if not self.free.size:
            raise EnergyError("gradient_flow: every component is held; leave some free")
        self._selection = RowSelection(self.free.rows)
        self._slopes = {n: storage.allocate(np.zeros_like(potential.fields[n].values)) for n in self.names}
        self.gradient = Gradient(self._slopes, self.update)
        self._start_clock(dt, t0)
        self._before: np.ndarray | None = None
        self._matrix: Any = None
        potential.hessian(self.names, t0)  # refuses energies without one
        self.holds.place(self.time)
        self.evaluate()

    def _shares(self) -> FreeComponents:
        """The free components, with their capacities."""
        shares = {n: _capacity(self.potential, n, c) for n, c in self.capacities.items()}
        return FreeComponents(self.potential.fields, shares, self.holds)

    @property
    def moving(self) -> list[Field]:
        """The fields that flow."""
        return [self.potential.fields[n] for n in self.names]

    @property
    def weights(self) -> set[str]:
        """The fields of capacities."""
        return {c for c in self.capacities.values() if isinstance(c, str)}

    @property
    def solver_used(self) -> str:
        return self.solver.used

    def refuse_unfit(self) -> None:
        _ = self.capacity

    def _clock_changed(self) -> None:
        """BDF2's coefficients are those of equal steps: after another dt it begins again."""
        self._before = None

    def evaluate(self) -> None:
        """Recompute dU/dT at the present fields, which forget the step before them."""
        self._before = None
        self._slope(self.time)
        self.mark()

    def state(self) -> dict[str, np.ndarray]:
        """dU/dT, the clock, and of BDF2 the values before the last step."""
        self.update()
        slopes = {f"gradient/{n}": storage.host(g).copy() for n, g in self._slopes.items()}
        known = np.zeros(0) if self._before is None else self._before.copy()
        whole = np.zeros(self.free.size if self.scheme.before else 0)
        whole[: len(known)] = known
        return slopes | {"before": whole, "begun": np.array(len(known) > 0)} | self._clock()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values of `state`. Raises `CheckpointError` if any is missing or does not fit."""
        refuse_unlike({"since": np.array(0), **state}, self.state())
        for name, array in self._slopes.items():
            storage.store(array, state[f"gradient/{name}"])
        self.restore_clock(state)
        begun = self.scheme.before and bool(state["begun"]) and self._dt == float(state["dt"])
        self._before = state["before"].copy() if begun else None
        self.mark()

    def advance(self, n: int) -> None:
        """Take n steps.

        Raises `RunFailedError` for a step that is not solved, `NonFiniteError` for numbers that are not
        finite; the fields are then those before it.
        """
        self.update()
        for _ in range(n):
            start, before = {field.name: field.values.copy() for field in self.moving}, self._before
            try:
                self._step()
            except (RunFailedError, NonFiniteError):
                for field in self.moving:
                    field.set(start[field.name])
                self.evaluate()
                self._before = before
                raise
            self.mark()

    def _step(self) -> None:
        now, end, here = self.time, float(self.times(self.step + 1)), self.values
        scheme = self.scheme if self._before is not None or not self.scheme.before else FIRST
        rate = self.capacity / self._dt
        known = scheme.now * here + (0.0 if self._before is None else scheme.before * self._before)
        known = rate * known + (scheme.old * self._flat_slope() if scheme.old else 0.0)
        self.holds.place(end)
        self._solve(end, rate * scheme.new, known, 1.0 - scheme.old)
        if self.tape:
            self.tape.steps[self.step] = FlowStep(scheme, (now, end), self.values, here, self._before)
        self._before = here if self.scheme.before else None
        self.step += 1

    def _solve(self, t: float, weight: np.ndarray, known: np.ndarray, share: float) -> None:
        """weight T + known + share dU/dT = 0 at time t, by Newton's method."""

        def residual() -> np.ndarray:
            self._slope(t)
            return weight * self.values + known + share * self._flat_slope()

        eps = float(np.finfo(self.potential.fields.dtype).eps)
        left, last = residual(), np.inf
        for _ in range(ITERATIONS):
            self._refuse_nonfinite(left, t)
            change = self._newton(t, weight, share, left)
            start, size = self.values, float(np.abs(left).max())
            for k in range(HALVINGS):
                self.values = start + 0.5**k * change
                left = residual()
                if np.isfinite(left).all() and np.abs(left).max() <= size:
                    break
            moved = float(np.abs(change).max())
            if moved <= ROUNDINGS * eps * np.abs(self.values).max(initial=0.0):
                return
            if moved >= 0.5 * last and moved <= ROUNDINGS * eps * self._noise_of_solution(known):
                return
            last = moved
        raise RunFailedError(
            f"step {self.step + 1}: Newton's method does not converge; take a smaller dt, got {self._dt:g}"
        )

    def _noise_of_solution(self, known: np.ndarray) -> float:
        """How far roundings of the residual move the solution, in parts of a rounding.

        Where heat flows within a step through many cells, conduction is a small difference of large numbers.
        """
        parts = np.abs(self._matrix) @ np.abs(self.values) + np.abs(known)
        return float(np.abs(self.solver.solve(parts)).max())

    def _newton(self, t: float, weight: np.ndarray, share: float, left: np.ndarray) -> np.ndarray:
        """The change of T that makes the linearised residual zero."""
        self.factor(t, weight, share)
        return self.solver.solve(-left)

    def factor(self, t: float, weight: np.ndarray, share: float) -> None:
        """Factors of weight + share d2U/dT2 at the present fields, unless the solver has them."""
        from scipy.sparse import diags_array

        hessian = self._selection.of(self.potential.hessian(self.names, t))
        matrix = (share * hessian + diags_array(weight)).tocsr()
        if self._matrix is None or not np.array_equal(self._matrix.data, matrix.data):
            node, component = self._rows()
            self.solver.factor(SparseSystem(matrix, node, component, np.zeros((matrix.shape[0], 0))))
            self._matrix = matrix

    @property
    def capacity(self) -> np.ndarray:
        """C of each free component (N,), as it is now."""
        parts = []
        for name, places in self.free.places.items():
            shape = self.free.shapes[name]
            of_nodes = _capacity(self.potential, name, self.capacities[name])
            parts.append(
                np.broadcast_to(of_nodes.reshape(-1, *[1] * (len(shape) - 1)), shape).ravel()[places]
            )
        return np.concatenate(parts)

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The node and the component of each free component, nodes of one field after those of another."""
        nodes, components, first = [], [], 0
        for name, places in self.free.places.items():
            count = len(self.potential.fields[name])
            width = int(np.prod(self.free.shapes[name][1:], dtype=int))
            nodes.append(first + places // width)
            components.append(places % width)
            first += count
        return np.concatenate(nodes), np.concatenate(components)

    @property
    def values(self) -> np.ndarray:
        """The free components (N,)."""
        return self.free.vector({field.name: field.values for field in self.moving})

    @values.setter
    def values(self, values: np.ndarray) -> None:
        for field in self.moving:
            whole, places = field.values.copy(), self.free.places[field.name]
            whole.reshape(-1)[places] = self.free.by_field(values)[field.name].reshape(-1)[places]
            field.set(whole)

    # Derivatives

    def differentiable(self) -> "GradientFlow":
        """Itself: every scheme has derivatives."""
        return self

    def with_tape(self, tape: FlowTape) -> "GradientFlow":
        """A stepper of the same fields that records on a tape, which begins at the present time."""
        scheme, solver = self._made
        one = GradientFlow(self.system, self.capacities, self.dt, scheme, self.time, solver, tape=tape)
        one.kind = self.kind
        return one

    def begin_tape(self, first: int) -> None:
        """Begin the tape at the present fields, with step number `first`."""
        assert self.tape
        self.tape.first = first
        self.tape.steps.clear()

    def put(self, values: np.ndarray, t: float) -> None:
        """Set the free components, and the held ones to their values at time t."""
        self.holds.place(t)
        self.values = values

    def _slope(self, t: float) -> None:
        targets: dict[str, Any] = self._slopes
        self.potential.gradient_into(targets, t)

    def _flat_slope(self) -> np.ndarray:
        return self.free.vector({n: storage.host(g) for n, g in self._slopes.items()})

    def _refuse_nonfinite(self, left: np.ndarray, t: float) -> None:
        if not np.isfinite(left).all():
            found = self.potential.first_nonfinite(t, self.names) or "dU/dT is not finite"
            raise NonFiniteError(f"step {self.step + 1}: {found}")


def _capacity(potential: Potential, field: str, capacity: str | float) -> np.ndarray:
    """C of each node, or one number. Raises `EnergyError` where it does not fit, or is not positive."""
    of = potential.fields[field]
    values = potential.fields[capacity].values if isinstance(capacity, str) else np.array([capacity])
    if isinstance(capacity, str) and values.shape != (len(of),):
        raise EnergyError(
            f"gradient_flow: the capacity '{capacity}' has shape {list(values.shape)}; '{field}' needs"
            f" [{len(of)}]"
        )
    if (bad := np.flatnonzero(~((values > 0.0) & np.isfinite(values)))).size:
        raise EnergyError(
            f"gradient_flow: the capacity of '{field}' must be positive, got {values[bad[0]]:g} at node"
            f" {bad[0]}; correct it"
        )
    return values.astype(np.float64)
