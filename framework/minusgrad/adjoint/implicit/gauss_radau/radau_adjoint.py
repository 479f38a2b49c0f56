"""Adjoint of a Gauss-Radau run, along the lengths of its substeps.

Steps are taken once more from the tape, for their substeps, and each is transposed (`transposed_substep`): by
one launch where a kernel has all substeps of the run, else by launches around the products of the potential.

Decisions 0248.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....engine import storage
from ....engine.kernels import MOST_ARRAYS, BoundKernel, Code, KernelCache
from ....errors import NonFiniteError, UnsolvedStepError
from ....potential.watches.verified_ranges import ProvenRanges
from ....steppers.timed.gauss_radau.gauss_radau import GaussRadau
from ....steppers.timed.gauss_radau.quadrature import STAGES
from ....steppers.timed.gauss_radau.radau_tape import Substep
from ...components.component_adjoint import ComponentAdjoint
from .node_products import NodeProducts
from .transposed_substep import TransposedSubstep

ITERATIONS = 60
"""The most iterations of transposed stage equations; six to nine are usual."""
CONVERGED = 1e-9
"""The largest change by the last iteration, in parts of the size, forward and back."""


class RadauAdjoint(ComponentAdjoint):
    """The adjoint of the steps on the tape of a Gauss-Radau stepper; in double precision.

    `adjoints` and `parameters` as of `Backward`. Raises `UnsolvedStepError` for a substep whose stage
    equations were not solved, forward or back, and `NonFiniteError`.
    """

    stepper: GaussRadau

    def __init__(self, stepper: GaussRadau, names: Sequence[str]):
        assert stepper.tape is not None
        super().__init__(stepper, stepper.components, names)
        self.tape, fields = stepper.tape, stepper.potential.fields
        positions = self.components.positions
        self._z = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in positions}
        self._sides = list(self._of_potentials())
        losing = self._sides[1].moving if stepper.dissipation else {}
        places = {field.name: field.array for field in stepper.moving}
        self.code = TransposedSubstep(places, stepper.motions, self._z, self._sides[0].moving, losing)
        self._by_others = {n: storage.allocate(np.zeros(fields[n].shape)) for n in self._others}
        self._pieces = KernelCache(exact=True)
        self._proven = ProvenRanges(*(side.potential for side in self._sides))
        self._kernel = self._kernel_of_substep() if stepper.fused else None

    def _of_potentials(self) -> Sequence[NodeProducts]:
        """The products of U along z at positions, and of R along z at velocities."""
        one, components = self.stepper, self.components
        moving = [*components.positions, *components.velocities]
        found = []
        for potential, names, prefix in (
            (one.potential, components.positions, "term"),
            (one.dissipation, components.velocities, "loss"),
        ):
            if potential is not None:
                along = dict(zip(names, self._z.values(), strict=True))
                owned = {n: self.parameters[n] for n in self._owned(potential, set(names))}
                found.append(NodeProducts(potential, along, moving, self._others, owned, prefix))
        return found

    # The interface of adjoints of runs

    def back(self, last: int, steps: int) -> None:
        arrays = self.code.arrays
        for name, values in zip(("lx", "lv"), self._parts.taken(self.adjoints), strict=True):
            storage.store(arrays[name], values)
        storage.store(arrays["mass"], self.components.masses(self.stepper.inertia))
        for step in reversed(range(last - steps, last)):
            self.stepper.recall(self.tape.starts[step])
            for substep in reversed(self.stepper.advance_recorded()):
                self._substep(step, substep)
            self._flush()
        self._parts.put(self.adjoints, *(storage.host(arrays[name]) for name in ("lx", "lv")))

    def _flush(self) -> None:
        """Add the derivatives by inertia and by fields that do not move, of one step, whatever the blocks."""
        by_inertia = self.code.arrays["lm"]
        self._weigh(storage.host(by_inertia))
        for name, array in self._by_others.items():
            self.adjoints[name] += storage.host(array)
        for array in (by_inertia, *self._by_others.values()):
            array.fill(0)

    def finish(self) -> None:
        """Nothing: a run begins without memory."""

    # A substep

    def _substep(self, step: int, substep: Substep) -> None:
        """From the adjoints after a substep to those before it."""
        refuse_unsolved(self.stepper, step, substep.change, "accelerations")
        self.code.put_substep(substep)
        if self._proven.lack(substep.time):
            self._verify(substep)
        if self._kernel:
            self._kernel()
        else:
            self._by_launches()
        if self.code.number("status"):
            raise NonFiniteError(f"step {step + 1}: the adjoint is not finite")
        size = self.code.number("size")
        change = self.code.number("off") / size if size else 0.0
        refuse_unsolved(self.stepper, step, change, "adjoints of accelerations")

    def _verify(self, substep: Substep) -> None:
        for side in self._sides:
            side.verify(substep.time)
        self._proven.note()

    def _by_launches(self) -> None:
        code, run = self.code, self._pieces
        run("begin", code.begin_transposed)
        for iteration in range(ITERATIONS):
            for node in range(STAGES, 0, -1):
                self._node(node, False)
            run("judge", lambda: code.judge(CONVERGED), "iteration", iteration)
            if not code.number("going"):
                break
        for node in self._nodes:
            self._node(node, True)
        run("finish", code.finish_transposed)

    @property
    def _nodes(self) -> Sequence[int]:
        """The nodes that are taken once more after the last iteration: all, or the first where p begins."""
        return range(STAGES, -1, -1) if self._heavy or any(s.asked for s in self._sides) else (0,)

    def _node(self, node: int, everything: bool) -> None:
        code, run = self.code, self._pieces
        run("weigh", code.weigh, "at", node)
        run("place", code.placed, "at", node)
        t = code.number("time")
        self.code.written()
        for side in self._sides:
            side.launch(t, everything)
        run(f"pull {everything}", lambda: self._pulled_at(everything), "at", node)

    def _pulled_at(self, everything: bool) -> Code:
        """What follows the products at a node."""
        more = [piece for side in self._sides for piece in side.subtracted(self._by_others)]
        more += [self.code.weigh_inertia()] if self._heavy else []
        return Code.merged([*(more if everything else []), self.code.pull()])

    def _kernel_of_substep(self) -> BoundKernel | None:
        """A substep in one kernel; None where there are too many arrays."""
        code = self.code
        node = self._node_code(False).inside(f"for turn in range({STAGES}):")
        iteration = code.when("{going} > 0.0", Code.merged([node, code.judge(CONVERGED)]))
        iterations = iteration.inside(f"for iteration in range({ITERATIONS}):")
        again = self._node_code(True).inside(f"for turn in range({STAGES - self._nodes[0]}, {STAGES + 1}):")
        pieces = [code.begin_transposed(), iterations, again, code.finish_transposed()]
        whole = Code.merged(pieces).inside("ti.loop_config(serialize=True)\nfor sub in range(1):")
        return BoundKernel(whole, exact=True) if len(whole.arrays) <= MOST_ARRAYS else None

    def _node_code(self, everything: bool) -> Code:
        code: Any = self.code
        swept = [piece for side in self._sides for piece in side.code(everything)]
        begin = [Code(f"at = {STAGES} - turn\n"), code.weigh(), code.placed(), code.clock()]
        return Code.merged([*begin, *swept, self._pulled_at(everything)])


def refuse_unsolved(stepper: GaussRadau, step: int, change: float, what: str) -> None:
    """Raise `UnsolvedStepError` for a substep whose last iteration changed numbers by this part of them."""
    if not change < CONVERGED:
        raise UnsolvedStepError(
            f"step {step + 1}: the iteration of {what} ended with a change of {change:.3g} of them, so the"
            f" substep has no derivative; give a smaller tolerance, got {stepper.tolerance:g}"
        )
