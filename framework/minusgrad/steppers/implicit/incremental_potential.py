"""Incremental potential: the function whose minimum is an implicit step (Radovitzky and Ortiz 1999).

    Phi(u) = sum of weight m (u - y)^2 / 2  +  U(x + u, t_s)  +  R(V(u), x_s, t_s) / rate,   V = rate (u - q)

with the letters of `stage`. R enters with the scheme's own velocity V(u), and divided by its slope `rate`, so
that dPhi/du has dR/dv once:

    dPhi/du = weight m (u - y) + dU/dx + dR/dv,       d2Phi/du2 = weight m + d2U/dx2 + rate d2R/dv2

U and R are evaluated by their own kernels at fields x = x + u and v = V; held components have their
prescribed positions and velocities at t_s. A dissipation with barriers lags: it reads all positions at the
start of the step, since predicted ones may be beyond. Phi is a function of displacements in double
precision, also where the fields have single precision.
(Radovitzky and Ortiz 1999, Comput. Methods Appl. Mech. Eng. 172, 203.)

Decisions 0129, 0371.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...energies.fields import Field, Fields, ordered_sum
from ...energies.roles import Bounded
from ...engine import storage
from ...potential.potential import Potential
from ...solvers.pattern_sum import PatternSum
from ..holds import Holds
from .inertia import Inertia
from .moving_components import MovingComponents
from .stage import ImplicitStage, Known, V
from .substep_tape import SolvedStage

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class IncrementalPotential:
    """Phi as an objective of a minimiser (`minimisers.objective.Curved`), over displacements in `fields`.

    Its fields have the names of the positions. `begin` sets the step; the fields of U and R are overwritten
    by every evaluation.
    """

    map_outputs: Mapping[str, Field] = {}

    def __init__(
        self, components: MovingComponents, potential: Potential, holds: Holds, dissipation: Potential | None
    ):
        self.components, self.potential, self.holds = components, potential, holds
        self.dissipation = dissipation
        names = components.positions
        self.fields = Fields({n: np.zeros(s) for n, s in zip(names, components.shapes, strict=True)})
        self.inertia, self.writes = Inertia(len(components)), 0
        self._read = [n for n in names if n in potential.reads]
        self._damped = [v for v in components.velocities if dissipation and v in dissipation.reads]
        self._places = bool(dissipation and dissipation.reads.intersection(names))
        self.lags = bool(dissipation and dissipation.barriers)
        self._sum = PatternSum()
        self._pull, self._friction = self._arrays(names), self._arrays(components.velocities)

    def begin(self, stage: ImplicitStage, t: float, x: np.ndarray, known: Known, masses: np.ndarray) -> None:
        """Begin a step of a scheme at positions x (N,); `t`: the time of its stage."""
        self.stage, self.x, self.time = replace(stage, seen=0.0) if self.lags else stage, x, t
        self.y, self.q = stage.free_motion(known), stage.at_rest(known)
        self.seen = x + self.stage.seen * known[V]
        self.inertia.set(self.y, masses, stage.weight)
        self.holds.place(self.time)
        held = self.components.read(self.components.positions) - x
        self.u = np.where(self.components.free, 0.0, held)
        self.writes += 1

    def resume(self, solved: SolvedStage, masses: np.ndarray) -> None:
        """Be at a solved stage once more: its numbers, its displacements, and the supports at its time."""
        self.stage, self.x, self.time, self.u = solved.stage, solved.x, solved.time, solved.u
        self.y, self.q, self.seen = solved.y, solved.q, solved.seen
        self.inertia.set(self.y, masses, self.stage.weight)
        self.holds.place(self.time)
        for name, part in self.components.parts(self.u, self.components.positions).items():
            self.fields[name].set(part)
        self.writes += 1

    # The fields of U and R at a displacement

    def place(self, u: np.ndarray) -> None:
        """Set the positions to x + u."""
        put = self.components.overwrite if self.lags else self.components.write
        put(self.x + u, self.components.positions)

    def slide(self, u: np.ndarray) -> None:
        """Set the velocities to V(u), and the positions to those that R reads."""
        self.components.write(self.velocity(u), self.components.velocities)
        if self._places:
            put = self.components.overwrite if self.lags else self.components.write
            put(self.seen, self.components.positions)

    def velocity(self, u: np.ndarray) -> np.ndarray:
        """V (N,) at free components."""
        return self.stage.rate * (u - self.q)

    @property
    def displacement(self) -> np.ndarray:
        """u (N,): the fields at free components, the prescribed displacements at the others."""
        own = self.components.joined({n: f.values for n, f in self.fields.items()}, self.components.positions)
        return np.where(self.components.free, own, self.u)

    # Flows of energy

    def flows(self, u: np.ndarray) -> tuple[float, float]:
        """The power of supports and of an explicit dU/dt, and that of friction, at a displacement."""
        self.place(u)
        self.potential.gradient_into({n: self._pull[n] for n in self._read}, self.time)
        power = self._power(self.time, self._pull)
        if not self.dissipation:
            return power, 0.0
        self.slide(u)
        found = self._lost(self.time)
        self.place(u)
        return power + found[0], found[1]

    def flows_at(self, t: float, forces: Mapping[str, Any]) -> tuple[float, float]:
        """The same at the present fields of U and R, where dU/dx is known."""
        lost = self._lost(t) if self.dissipation else (0.0, 0.0)
        return self._power(t, forces) + lost[0], lost[1]

    def _power(self, t: float, forces: Mapping[str, Any]) -> float:
        rate = self.potential.rate(t) if self.potential.uses_time else 0.0
        return rate + (self.holds.power(forces) if self.holds.moving else 0.0)

    def _lost(self, t: float) -> tuple[float, float]:
        """The power of supports against friction, and that of friction."""
        assert self.dissipation
        self.dissipation.gradient_into({n: self._friction[n] for n in self._damped}, t)
        names = zip(self.components.positions, self.components.velocities, strict=True)
        supports = self.holds.power({x: self._friction[v] for x, v in names}) if self.holds.moving else 0.0
        return supports, ordered_sum(self.friction_force * self.components.read(self.components.velocities))

    @property
    def friction_force(self) -> np.ndarray:
        """dR/dv (N,) as it was computed last; zero without friction."""
        return self.components.joined(self._friction, self.components.velocities)

    # An objective

    @property
    def reads(self) -> set[str]:
        """The names of its fields."""
        return set(self.fields)

    def roles_of(self, name: str) -> list[tuple[str, Bounded]]:
        """None: displacements have no bounds."""
        return []

    def value(self, t: float = 0.0) -> float:
        """Phi."""
        return sum(self.by_term().values())

    def by_term(self, t: float = 0.0) -> dict[str, float]:
        """The energies of U by term, and those of inertia and friction."""
        u = self.displacement
        self.place(u)
        found = self.potential.by_term(self.time) | {"inertia": self.inertia.evaluate(u)[0]}
        if self.dissipation:
            self.slide(u)
            found["friction"] = self.dissipation.value(self.time) / self.stage.rate
            self.place(u)
        return found

    def magnitude(self, t: float = 0.0) -> float:
        """The sum of the absolute values that Phi is summed from, at the present fields of U and R."""
        found = self.potential.magnitude(self.time) + abs(self.inertia.evaluate(self.displacement)[0])
        if self.dissipation:
            found += self.dissipation.magnitude(self.time) / self.stage.rate
        return found

    def evaluate_into(self, targets: Mapping[str, Any], t: float = 0.0) -> float:
        """Overwrite each array of `targets` with dPhi/du by field; returns Phi."""
        u = self.displacement
        self.place(u)
        pull = {n: self._pull[n] for n in self._read}
        value = self.potential.evaluate_into(pull, self.time)
        inertial, slope = self.inertia.evaluate(u)
        value, slope = value + inertial, slope + self.components.joined(self._pull, self.components.positions)
        if self.dissipation:
            self.slide(u)
            lost = self.dissipation.evaluate_into({n: self._friction[n] for n in self._damped}, self.time)
            value += lost / self.stage.rate
            slope += self.components.joined(self._friction, self.components.velocities)
            self.place(u)
        for name, part in self.components.parts(slope, self.components.positions).items():
            storage.store(targets[name], part)
        return value

    @property
    def barriers(self) -> list[str]:
        """The terms of U that are finite on a part of space alone."""
        return self.potential.barriers

    def free_part(self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> float:
        """The part of the straight way between displacements by field on which U is finite."""
        names = self.components.positions
        own = [self.components.joined(some, names) for some in (before, after)]
        return self.free_way(*(np.where(self.components.free, u, self.u) for u in own))

    def free_way(self, start: np.ndarray, end: np.ndarray) -> float:
        """The same between displacements (N,), held components among them."""
        names = self.components.positions
        before, after = (self.components.parts(self.x + u, names) for u in (start, end))
        return self.potential.free_part(before, after)

    def first_nonfinite(self, t: float, wrt: Iterable[str]) -> str | None:
        """The first value or force of U or R that is not finite, in words; None if all are."""
        u = self.displacement
        self.place(u)
        found = self.potential.first_nonfinite(self.time, self._read)
        if found is None and self.dissipation:
            self.slide(u)
            found = self.dissipation.first_nonfinite(self.time, self._damped)
            self.place(u)
        return found

    def hessian(self, wrt: Sequence[str], t: float = 0.0, project: str | None = None) -> "csr_matrix":
        """d2Phi/du2 over all components, rows in the order of `components`."""
        u = self.displacement
        self.place(u)
        parts = [self.inertia.hessian()]
        if self._read:
            of_u = self.potential.hessian(self._read, self.time, project)
            parts.append(self._whole(of_u, self._read, self.components.positions))
        if (of_friction := self.friction_hessian(u, project)) is not None:
            of_friction.data *= self.stage.rate
            parts.append(of_friction)
        return self._sum.of(parts)

    def friction_hessian(self, u: np.ndarray, project: str | None = None) -> "csr_matrix | None":
        """d2R/dv2 over all components at a displacement; None without friction."""
        if not self.dissipation:
            return None
        self.slide(u)
        matrix = self.dissipation.hessian(self._damped, self.time, project)
        self.place(u)
        return self._whole(matrix, self._damped, self.components.velocities)

    def _whole(self, matrix: "csr_matrix", names: Sequence[str], among: Sequence[str]) -> "csr_matrix":
        """A matrix over some fields as one over all components."""
        if list(names) == list(among):
            return matrix
        from scipy.sparse import csr_matrix

        rows, size, entries = self.components.rows(names, among), len(self.components), matrix.tocoo()
        return csr_matrix((entries.data, (rows[entries.row], rows[entries.col])), (size, size))

    def _arrays(self, names: Sequence[str]) -> dict[str, Any]:
        fields = self.potential.fields
        return {n: storage.allocate(np.zeros_like(fields[n].values)) for n in names}
