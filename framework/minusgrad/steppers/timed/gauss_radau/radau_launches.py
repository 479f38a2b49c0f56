"""Launches of Gauss-Radau substeps: many in one kernel, or pieces around the forces of a large scene.

Decisions 0347.
"""

from ....engine import runtime
from ....engine.kernels import MOST_ARRAYS, BoundKernel, KernelCache, zero_loops
from ....potential.fused_code import FusedCode
from ....potential.potential import Potential
from ...integrator import SMALL
from .quadrature import STAGES
from .radau_code import ITERATIONS, RadauCode
from .radau_tape import Substep

SCALARS = ("steps", "first", "t0", "dt")
EVALUATIONS = 22
"""Of forces in a usual substep: three iterations over seven nodes, and one at the start."""
BATCH = 3e7
"""Statements between looks at signals: some tens of milliseconds."""


class RadauLaunches:
    """Of the code of some motions; `batch`: the substeps of a launch that lasts some tens of milliseconds."""

    def __init__(self, code: RadauCode, potential: Potential, dissipation: Potential | None):
        self.code, self.potential, self.dissipation = code, potential, dissipation
        self.batch = max(1, int(BATCH / self._statements))
        self._kernel = self._kernel_of_substeps(False)
        self._recording: BoundKernel | None = None
        self._run = KernelCache(exact=True)

    @property
    def fused(self) -> bool:
        """True if many substeps are taken inside one kernel."""
        return self._kernel is not None

    def substeps(self, most: int, first: float, t0: float, dt: float) -> None:
        """Take so many substeps at most, or one, or refuse one; first: the number of the first step."""
        if self._kernel:
            self._kernel(most, first, t0, dt)
        else:
            self._by_launches(first, t0, dt, False)

    def recorded(self, most: int, first: float, t0: float, dt: float) -> list[Substep]:
        """`substeps`, with records of those that are taken."""
        self.code.keep_records()
        if self._kernel:
            self._recording = self._recording or self._kernel_of_substeps(True)
            assert self._recording
            self._recording(min(most, self.code.rows), first, t0, dt)
        else:
            self._by_launches(first, t0, dt, True)
        return self.code.records()

    def _kernel_of_substeps(self, recorded: bool) -> BoundKernel | None:
        """Many substeps in one kernel; None where terms have no code for it, or there is too much of it.

        None on a device, too: a substep decides by its numbers how it goes on, so that no tasks are made of
        it, and software devices end the loops of a thread after 65,535 turns.
        """
        if runtime.arch() != "cpu" or self._statements > SMALL:
            return None
        cleared = [zero_loops(f"g_{name}", array) for name, array in self.code.forces.items()]
        forces = [*cleared, FusedCode(self.potential).gradient(self.code.forces)]
        if self.dissipation:
            forces += [zero_loops(f"g_{name}", array) for name, array in self.code.friction.items()]
            forces.append(FusedCode(self.dissipation, "loss").gradient(self.code.friction))
        rates = (
            FusedCode(self.potential).rates("radau_flows[0, at] = radau_flows[0, at] + {}")
            if self.code.works
            else []
        )
        most = MOST_ARRAYS if recorded else MOST_ARRAYS - 2  # those of records
        code = self.code.substeps(forces, rates, recorded)
        return BoundKernel(code, *SCALARS, exact=True) if len(code.arrays) <= most else None

    @property
    def _statements(self) -> float:
        """The approximate number of statements in a substep."""
        forces = FusedCode(self.potential).statements(self.code.forces)
        if self.dissipation:
            forces += FusedCode(self.dissipation).statements(self.code.friction)
        return EVALUATIONS * (forces + 30.0 * self.code.arrays["x"].shape[0])

    def _by_launches(self, first: float, t0: float, dt: float, recorded: bool) -> None:
        """A substep, or its refusal, with the forces of a large scene between launches."""
        code, run = self.code, self._run
        run("begin", code.begin, "first", "t0", "dt", first, t0, dt)
        for iteration in range(ITERATIONS if not code.number("status") else 0):
            for node in range(0 if iteration == 0 else 1, STAGES + 1):
                run("place", code.place, "at", node)
                code.written()
                t = code.number("time")
                self.potential.gradient_into(code.forces, t)
                if code.works:
                    code.put_flow(node, self.potential.rate(t))
                if self.dissipation:
                    self.dissipation.gradient_into(code.friction, t)
                run("correct", code.correct, "at", node)
            run("judge", code.judge, "iteration", iteration)
            if not code.number("going"):
                break
        if not code.number("status"):
            if recorded:
                run("record", code.record)
            run("finish", code.finish)
            code.written()
