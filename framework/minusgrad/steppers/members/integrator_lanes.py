"""IntegratorLanes: many members of one small system, moved by the kernel of many steps, one to a lane.

The kernel is that of the integrator (`Moves.steps`), with loops that add to nodes at once
(`codegen.one_thread.scattered_loops`), rewritten so that each lane is a member (`engine.members`). The
integrator itself is the template: a member is captured from it, and revealed in it.

Decisions 0369, 0389.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...engine import storage
from ...engine.kernels import Code
from ...engine.members.finite_members import FiniteMembers
from ...engine.members.member_kernels import MemberArrays, MemberKernel
from ...engine.members.text_survey import NotWideError
from ...errors import EnergyError, MiscompiledError
from ...potential.fused_code import FusedCode
from ...potential.potential import Potential
from ...potential.watches.verified_ranges import ranges_closed
from ..integrator import Integrator

FORCES = "stepper/gradient/"
"""Begins the names of forces in a state."""
MOST_NODES = 64
"""The most nodes of a member in a lane: larger ones fill the lanes with their own elements."""
MOST_STATEMENTS = 20_000
"""The most statements of a member's step; of larger ones the kernels of one member are as fast."""
DISPLACEMENT = 1e-2
"""How far positions are displaced for the comparison of forces, in parts of their largest coordinate."""
TOLERANCE = 1e4
"""The difference of forces that rounding explains, in eps of the largest one."""


def suits(integrator: Integrator) -> str:
    """The reason why members of an integrator take no lanes; empty where they do.

    It depends on one member alone. Storage on a device, constraints, moving boxes and flows of drifts may
    have loops that members leave at different times.
    """
    nodes = max(len(integrator.potential.fields[m.position]) for m in integrator.motions)
    if nodes > MOST_NODES:
        return f"{nodes} nodes are more than {MOST_NODES}"
    if not integrator.fused or not integrator.potential.fixed:
        return "its steps are not taken in one kernel"
    kept: dict[str, Any] = {
        "constraints": integrator.constraints,
        "drifts along a flow": integrator.part_flow,
        "a cell": integrator.cell,
        "a heat bath": integrator.bath,  # its draws end the compiler in vectors
    }
    for name, given in kept.items():
        if given:
            return f"steps with {name} have no lanes"
    if integrator.statements > MOST_STATEMENTS:
        return f"a step of {integrator.statements:.0f} statements is more than {MOST_STATEMENTS}"
    return ""


class IntegratorLanes:
    """The members of an ensemble, all alike but for the numbers in arrays.

    integrator: the template. count: how many members. own: its arrays in which they differ, besides those
    that steps write. `arrays`: those of all members, shared with others. One with a tape records on the
    way, from the row of its own step. Raises `NotWideError` where there are no lanes for its steps.
    """

    def __init__(
        self, integrator: Integrator, count: int, own: Iterable[Any] = (), arrays: MemberArrays | None = None
    ):
        self.integrator, self.count = integrator, count
        if reason := suits(integrator):
            raise NotWideError(reason)
        self.arrays = arrays or MemberArrays(count, integrator.potential.fields.dtype)
        self._saved = {f"fields/{f.name}": f.array for f in integrator.moving}
        self._saved |= {f"stepper/{name}": array for name, array in integrator.kept_arrays().items()}
        self._own = [*own, *self._saved.values()]
        row = ("at",) if integrator.tape else ()
        self._kernel = self.kernel(lambda: integrator.moves.steps(integrator.scheme), *row)
        self._values: tuple[MemberKernel, dict[str, Any]] | None = None
        self._finite = FiniteMembers(self.arrays, [field.array for field in integrator.moving])
        self._differing = [array for array in self._own if array in self.arrays]

    def kernel(self, steps: Callable[[], Code], *more: str) -> MemberKernel:
        """The kernel for all members of loops of (steps, first, t0, dt, *more) over one, for one thread.

        Raises `NotWideError` where there is none.
        """
        with ExitStack() as stack:
            for potential in self._potentials():
                stack.enter_context(potential.scattering())
            try:
                code = steps()
            except EnergyError as error:
                raise NotWideError(str(error)) from None
        return MemberKernel(code, ("steps", "first", "t0", "dt", *more), self.arrays, self._own)

    def _potentials(self) -> Iterator[Potential]:
        yield self.integrator.potential
        if self.integrator.dissipation:
            yield self.integrator.dissipation
        if self.integrator.magnetic:
            yield self.integrator.magnetic.potential

    # One member and the template

    def capture(self, row: int) -> None:
        """Take the numbers of one member from the template."""
        for array in self._differing:
            self.arrays.put_row(array, row, storage.host(array))

    def reveal(self, row: int) -> None:
        """Put the fields and the state of one member into the template; not its clock and parameters."""
        for array in self._saved.values():
            storage.store(array, self.arrays.row(array, row))

    # All members

    def advance(self, first: int, n: int) -> None:
        """Take n steps from step number `first` on, counted from where the clock of the template begins."""
        one = self.integrator
        row = (one.step - one.tape.first,) if one.tape else ()
        self._kernel(n, float(first), one.t0, one.dt, *row)

    def evaluate(self, t: float) -> None:
        """Compute the forces of all members, by a step with dt = 0: with the bits of steps."""
        kept = {n: self.arrays.rows(a) for n, a in self._saved.items() if not n.startswith(FORCES)}
        self._step_of_no_length(t)
        for name, rows in kept.items():
            self.arrays.write_members(self._saved[name], rows)

    def _step_of_no_length(self, t: float) -> None:
        """Forces at the present positions, after what is held is placed."""
        for name, array in self._saved.items():
            if name.startswith(FORCES):
                self.arrays.clear(array)
        self._kernel(1, 0.0, t, 0.0, *((0,) if self.integrator.tape else ()))

    def energies(self, t: float) -> dict[str, np.ndarray]:
        """The energy of each term of all members, (count,) in f64."""
        if self._values is None:
            self._values = self._value_kernel()
        kernel, sums = self._values
        kernel(t)
        return {name: self.arrays.rows(array).reshape(self.count, -1)[:, 0] for name, array in sums.items()}

    def _value_kernel(self) -> tuple[MemberKernel, dict[str, Any]]:
        potential = self.integrator.potential
        with potential.scattering():
            code, totals = FusedCode(potential, "value").energies({})
        sums = dict(zip(potential.terms, totals, strict=True))
        return MemberKernel(code, ("t",), self.arrays, self._own), sums

    def finite(self) -> np.ndarray:
        """Whether everything that moves is finite, by member."""
        return self._finite()

    def first_not_finite(self, row: int) -> tuple[Field, int] | None:
        """The first field and node of a member that are not finite."""
        for field in self.integrator.moving:
            values = self.arrays.row(field.array, row).reshape(len(field), -1)
            if (bad := ~np.isfinite(values).all(axis=1)).any():
                return field, int(np.argmax(bad))
        return None

    @property
    def names(self) -> set[str]:
        """The names of the arrays of `state`."""
        return set(self._saved)

    def state_of(self, row: int) -> dict[str, np.ndarray]:
        """`state` of one member, (...)."""
        return {name: self.arrays.row(array, row) for name, array in self._saved.items()}

    def state(self) -> dict[str, np.ndarray]:
        """The numbers that a step reads before it writes, (count, ...): `fields/NAME`, `stepper/NAME`."""
        return {name: self.arrays.rows(array) for name, array in self._saved.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the numbers of `state`."""
        for name, array in self._saved.items():
            self.arrays.write_members(array, state[name])

    def put_rows(self, state: dict[str, np.ndarray], rows: np.ndarray) -> None:
        """Set those of some members only, from a whole `state`."""
        present = self.state()
        for name in self._saved:
            present[name][rows] = state[name][rows]
        self.restore(present)

    # Verification

    def verify(self, t: float) -> None:
        """Compare the forces of the first and the last member with those of the template, once.

        At displaced positions, where no forces balance; the template's kernels are verified themselves.
        Raises `MiscompiledError`.
        """
        before, template = self.state(), self.integrator.memory()
        rng = np.random.default_rng(0)
        for motion in self.integrator.motions:
            array = self.integrator.potential.fields[motion.position].array
            x = self.arrays.rows(array)
            size = np.abs(x).reshape(self.count, -1).max(axis=1, initial=0.0)
            shift = rng.uniform(-DISPLACEMENT, DISPLACEMENT, x.shape[1:])
            self.arrays.write_members(
                array, x + shift * (size + (size == 0)).reshape(-1, *[1] * (x.ndim - 1))
            )
        self._step_of_no_length(t)
        with ranges_closed():
            for row in {0, self.count - 1}:
                self._verify_member(row, t)
        self.restore(before)
        self.integrator.recall(template)

    def _verify_member(self, row: int, t: float) -> None:
        self.reveal(row)
        for array in self._differing:
            storage.store(array, self.arrays.row(array, row))
        potential, names = self.integrator.potential, [m.position for m in self.integrator.motions]
        eps = np.finfo(potential.fields.dtype).eps
        for name in names:
            wanted = potential.gradient(name, t)
            found = self.arrays.row(self._saved[f"{FORCES}{name}"], row)
            error = np.abs(found - wanted)
            finite, most = np.isfinite(wanted).all(), np.abs(wanted).max(initial=0.0)
            if finite and not (error <= TOLERANCE * eps * most).all():
                node = int(np.argmax(error.reshape(len(error), -1).max(axis=1)))
                raise MiscompiledError(
                    f"lanes of members: dU/d({name}) at node {node} is {found[node]}, and {wanted[node]} of"
                    " one member; report it, and run with [ensemble] lanes = false"
                )
        energies, scale = self.energies(t), potential.magnitude(t)
        for term, energy in potential.by_term(t).items():
            found = energies[term][row]
            if np.isfinite(energy) and not abs(found - energy) <= TOLERANCE * eps * scale:
                raise MiscompiledError(
                    f"lanes of members: the energy of '{term}' is {found}, and {energy} of one member; report"
                    " it, and run with [ensemble] lanes = false"
                )
