"""Tangents of a Gauss-Radau run, along the lengths of its substeps.

    a. = -(U_xx x. + U_xp p. + R_vv v. + R_vx x. + R_vp p. + a m.) / m     at the nodes, U_xx and the like too

A tangent moves by the formulas of the run (`RadauCode`), with its own b, predicted and iterated alike: these
are linear where the length of a substep is given.

Decisions 0248.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....codegen.derivative_request import DerivativeRequest
from ....engine import storage
from ....engine.kernels import MOST_ARRAYS, BoundKernel, Code, KernelCache, zero_loops
from ....errors import NonFiniteError
from ....potential.fused_code import FusedCode
from ....potential.potential import Potential
from ....potential.watches.verified_ranges import ProvenRanges
from ....steppers.timed.gauss_radau.gauss_radau import MEMORY, GaussRadau
from ....steppers.timed.gauss_radau.quadrature import STAGES
from ....steppers.timed.gauss_radau.radau_code import RadauCode
from ....steppers.timed.gauss_radau.radau_tape import Substep
from ....steppers.timed.move_pieces import zeros
from ...backward import owner
from ...tangents import shaped
from .placed_substep import PlacedSubstep
from .radau_adjoint import CONVERGED, ITERATIONS, refuse_unsolved

SCALARS = ("first", "t0", "dt")


class RadauTangents:
    """A run together with its tangent along one direction; `tangents`: the present ones, by field.

    Raises `EnergyError` for names that a run cannot be differentiated with respect to.
    """

    def __init__(self, stepper: GaussRadau, names: Sequence[str]):
        self.stepper, self.motions, fields = stepper, stepper.motions, stepper.potential.fields
        moving = [field.name for field in stepper.moving]
        self._owners = {n: owner(stepper, n) for n in names}
        self.tangents = {
            n: storage.allocate(np.zeros_like(fields[n].values))
            for n in dict.fromkeys([*moving, *(n for n in names if n in fields)])
        }
        self.parameters = {n: np.zeros(p.shape(n)) for n, p in self._owners.items() if p}
        self._forces = {m.position: self._like(m.position) for m in stepper.motions}
        self._friction = {m.velocity: self._like(m.velocity) for m in stepper.motions if stepper.dissipation}
        along = {n: self.tangents[n] for n in moving}
        self.code = RadauCode(along, stepper.motions, self._forces, self._friction, works=False)
        places = {field.name: field.array for field in stepper.moving}
        self.run = PlacedSubstep(places, stepper.motions, self._forces, self._friction)
        self._weights = storage.allocate(np.zeros(len(stepper.components)))
        self._pieces = KernelCache(exact=True)
        self._proven = ProvenRanges(*(potential for potential, *_ in self._sides))
        self._kernel = self._kernel_of_substep() if stepper.fused else None

    def _like(self, field: str) -> Any:
        return storage.allocate(np.zeros_like(self.stepper.potential.fields[field].values))

    # The interface of tangents of runs

    def start(self, direction: Mapping[str, np.ndarray]) -> None:
        """Start at the stepper's present state with these tangents; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        for name, array in (self.tangents | self.parameters).items():
            storage.store(array, shaped(name, direction.get(name), tuple(array.shape)))
        for name in MEMORY.values():
            self.code.arrays[name].fill(0.0)
        self.code.put(last=0.0)

    def advance(self, steps: int) -> None:
        """Advance the state and its tangent by `steps` steps.

        Raises `UnsolvedStepError` for a substep whose equations were not solved, and as the stepper does.
        """
        self._put_parameters()
        one = self.stepper
        masses = one.components.masses(one.inertia)
        for arrays in (self.code.arrays, self.run.arrays):
            storage.store(arrays["mass"], masses)
        for _ in range(steps):
            step, substeps = one.step, one.advance_recorded()
            after = one.memory()
            for substep in substeps:
                self._substep(step, substep)
            one.recall(after)

    def _put_parameters(self) -> None:
        """Copy the tangents of parameters and of the inertia to where kernels read them."""
        for potential in self.stepper.system.potentials if self._kernel else ():
            FusedCode(potential).put_tangents(self._own(potential))
        components = self.stepper.components
        parts = components.parts(weights := np.zeros(len(components)), components.positions)
        for motion in self._heavy:
            part = parts[motion.position]
            along = storage.host(self.tangents[str(motion.inertia)])
            part += along.reshape(-1, *[1] * (part.ndim - 1))
        storage.store(self._weights, weights)

    def _own(self, potential: Potential) -> dict[str, np.ndarray]:
        return {n: values for n, values in self.parameters.items() if self._owners[n] is potential}

    @property
    def _heavy(self) -> list[Any]:
        return [m for m in self.motions if m.inertia in self.tangents]

    # A substep

    def _substep(self, step: int, substep: Substep) -> None:
        """From the tangents before a substep to those after it."""
        refuse_unsolved(self.stepper, step, substep.change, "accelerations")
        self.run.put_substep(substep)
        self.code.put(wanted=abs(substep.h), elapsed=0.0, rest=0.0, status=0.0)
        if self._proven.lack(substep.time):
            for potential, request, _ in self._sides:
                potential.sweep(request, substep.time)
            self._proven.note()
        if self._kernel:
            self._kernel(0.0, 0.0, substep.h)
        else:
            self._by_launches(substep.h)
        if self.code.number("status"):
            raise NonFiniteError(f"step {step + 1}: the tangent is not finite")
        size = self.code.number("size")
        change = self.code.number("off") / size if size else 0.0
        refuse_unsolved(self.stepper, step, change, "tangents of accelerations")

    @property
    def _sides(self) -> list[tuple[Potential, DerivativeRequest, str]]:
        """The changes of dU/dx and dR/dv, with the prefix of the potential's arrays."""
        found = []
        for potential, into, prefix in (
            (self.stepper.potential, self._forces, "term"),
            (self.stepper.dissipation, self._friction, "loss"),
        ):
            if potential:
                nodal = {n: a for n, a in self.tangents.items() if n in potential.reads}
                product = {n: a for n, a in into.items() if n in potential.reads}
                request = DerivativeRequest(product=product, tangents=nodal | self._own(potential))
                found.append((potential, request, prefix))
        return found

    def _by_launches(self, h: float) -> None:
        code, run = self.code, self._pieces
        run("begin", code.begin, *SCALARS, 0.0, 0.0, h)
        for iteration in range(ITERATIONS):
            for node in range(0 if iteration == 0 else 1, STAGES + 1):
                self._node(node)
            run("judge", lambda: code.judge(CONVERGED), "iteration", iteration)
            if not code.number("going"):
                break
        run("accept", code.accept)

    def _node(self, node: int) -> None:
        run = self._pieces
        run("run", self.run.placed, "at", node)
        run("tangent", self.code.place, "at", node)
        self.run.written()
        for potential, request, _ in self._sides:
            potential.sweep(request, self.run.number("time"))
        run("correct", self._corrected, "at", node)

    def _corrected(self) -> Code:
        """The tangent of a at node `at`, and b."""
        unread = {n: a for n, a in self._forces.items() if n not in self.stepper.potential.reads}
        pieces = [zero_loops("force", array) for array in unread.values()]
        pieces += [self.run.accelerated()] if self._heavy else []
        for motion in self._heavy:
            pieces.append(self.run.added(motion, self._forces[motion.position], self._weights))
        return Code.merged([*pieces, self.code.correct()])

    def _kernel_of_substep(self) -> BoundKernel | None:
        """A substep in one kernel; None where there are too many arrays."""
        code, swept = self.code, list[Code]()
        for potential, request, prefix in self._sides:
            swept += [*zeros(request), FusedCode(potential, prefix).sweep(request)]
        node = Code.merged([self.run.placed(), self.run.clock(), code.place(), *swept, self._corrected()])
        node = code.when("at > 0 or iteration == 0", node).inside(f"for at in range({STAGES + 1}):")
        iteration = code.when("{going} > 0.0", Code.merged([node, code.judge(CONVERGED)]))
        iterations = iteration.inside(f"for iteration in range({ITERATIONS}):")
        whole = Code.merged([code.begin(), iterations, code.accept()])
        whole = whole.inside("ti.loop_config(serialize=True)\nfor sub in range(1):")
        return BoundKernel(whole, *SCALARS, exact=True) if len(whole.arrays) <= MOST_ARRAYS else None
