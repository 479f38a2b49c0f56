"""Observers: energies, momenta, reactions of supports, frames of fields.

    kinetic = sum of inertia v^2 / 2        momentum = sum of inertia v
    total = kinetic + potential             angular momentum = sum of x cross (inertia v), for d = 2, 3
    drift = (total - work + dissipated - heat + cell - E0) / |E0|, with E0 at the start; where that is nothing
            (1e-9 of the kinetic energy and sum |u| there), in parts of them; of the heat or the work so far,
            where these are larger
    damped = -(total - work + dissipated - E0), what a scheme that damps has taken, in place of drift
    reaction = dU/dx + dR/dv + G^T lambda + inertia dv/dt at what is held: the force of the supports; of a
            Lagrangian d/dt (dL/dv) - dL/dx in the place of inertia dv/dt; of a pressure that of its facets,
            not dU/dx at a held rim (`potential.borne_forces`)
    force = -dU/dx of the energies alone, energy_stress = (dU/de) / V, positive in tension: without friction,
            constraints, supports, heat baths and the motion of nodes, which is in the stress of `pressure`

All sums in double precision and in fixed order.

Decisions 0010, 0147, 0238.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..energies.fields import BOX, POSITIONS, Field, Fields, Motion, ordered_sum
from ..energies.written.momentum_map import MOMENTUM, bound_map
from ..engine import storage
from ..errors import EnergyError
from ..files.trajectory import Recorder
from ..potential.borne_forces import BorneForces
from ..potential.far_pairs.force_error import force_error
from ..potential.far_pairs.tree_kernels import TreeKernels
from ..potential.potential import Potential
from ..scene.units import UnitSystem
from ..steppers.constrained.plane_reactions import PlaneReactions
from ..steppers.minimisers.minimiser import Minimiser
from ..steppers.pressure.cutoff_jumps import CutoffJumps, strain_derivative
from ..steppers.pressure.stress import Stress, volume
from ..steppers.pressure.virial import Virial
from ..steppers.scheduler import Every
from ..steppers.stability.energy_balance import (
    by_node,
    energies,
    energy_flows,
    kept,
    kinetic,
    motion_label,
    reference,
)
from ..steppers.stepper import Stepper
from ..steppers.systems.parts import ALL, CONSTRAINTS, FAR, LAGRANGIAN, MAGNETIC, MOVING, SUPPORTS, Consumer
from ..steppers.systems.total_force import total_gradient


def momentum(fields: Fields, motion: Motion, inertia: np.ndarray) -> np.ndarray:
    """Sum over nodes of inertia v: shape of one velocity."""
    v = fields[motion.velocity].values.astype(np.float64)
    p = (by_node(inertia, v) * v).reshape(len(v), -1)
    return np.array([ordered_sum(c) for c in p.T]).reshape(v.shape[1:])


def angular_momentum(fields: Fields, motion: Motion, inertia: np.ndarray) -> np.ndarray | None:
    """Sum over nodes of x cross (inertia v): a number in the plane, a vector in space, else None."""
    x = fields[motion.position].values.astype(np.float64)
    v = fields[motion.velocity].values.astype(np.float64)
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        return None
    p = by_node(inertia, v) * v
    if x.shape[1] == 2:
        return np.array(ordered_sum(x[:, 0] * p[:, 1] - x[:, 1] * p[:, 0]))
    return np.array([ordered_sum(c) for c in np.cross(x, p).T])


TOTAL_FORCE = Consumer(
    "the total force",
    ALL - {SUPPORTS, MOVING, MAGNETIC, LAGRANGIAN},
    cure="leave it out, or the observer that needs this force",
)
"""That of energies, friction and constraints, which `Observer.total_gradient` gives."""
ENERGY_STRESS = "energy_stress"
"""The series of the stress of the energies alone."""
NODES = {LAGRANGIAN: "leave the observer out, since the masses of a Lagrangian are not those of nodes"}
CONFIGURATIONAL = Consumer(
    "configurational",
    ALL - {CONSTRAINTS, LAGRANGIAN, FAR},
    cure="leave it out, the kinetic temperature counts them",
)
"""The temperature of forces, which has no rule for those of constraints."""


class Observer:
    """Base class of observers: `observe` is called every so many steps, reads fields and records numbers.

        class Height(Observer):
            def observe(self):
                z = self.fields["x"].values[:, 2]
                self.recorder.record_observables(self.stepper.step, self.stepper.time, {"height": z.max()})

    stepper: it moves the fields. recorder: takes what is recorded. every: the number of steps from one call
    to the next. An observer never writes a field. One with a memory saves it by `state` and `restore`, one
    whose memory begins with the fields has a `begin_here`, too.
    """

    consumer: Consumer = Consumer("an observer", ALL)
    """The parts of a system that it understands; all, unless it says so."""

    def __init__(self, stepper: Stepper, recorder: Recorder, every: int):
        if stepper.has_system:
            self.consumer.accept(stepper.system)
        self.stepper, self.recorder, self.trigger = stepper, recorder, Every(every)

    @cached_property
    def potential(self) -> Potential:
        """The potential of the stepper; the search of a fit has none."""
        return self.stepper.potential

    @property
    def fields(self) -> Fields:
        """The fields of the potential."""
        return self.potential.fields

    def observe(self) -> None:
        raise NotImplementedError

    def begin_here(self) -> None:
        """Begin with the present fields, as if made for them; for one that keeps numbers of them when made.

        Called for each member of an ensemble, which differ in fields and parameters. Others look at these
        when they observe, and need not define it.
        """

    def of_members(self, members: Any, rows: Any) -> "Observer | None":
        """One of all members of an ensemble at once; None where each is observed by itself.

        members: they move, in lanes (`MemberLanes`). rows: where the rows of all go (`StackedRows`); None for
        a member alone.
        """
        return None

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that a resumed run needs, by name; the same names at every step.

        A checkpoint that lacks one of them, or has another, is refused before `restore` is called.
        """
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the arrays that `state` returned."""

    def total_gradient(self, position: str = POSITIONS) -> np.ndarray:
        """dU/dx + dR/dv + G^T lambda (n, d): minus the force of energies, friction and constraints on nodes.

        Raises `EnergyError` where supports, a magnetic field or a Lagrangian act besides.
        """
        stepper = self.stepper
        TOTAL_FORCE.accept(stepper.system)
        own = {position: self.potential.gradient(position, stepper.time)}
        return total_gradient(stepper, own)[position]

    def finding(self) -> str:
        """A sentence about the last observation, printed when a run ends; "" says nothing."""
        return ""

    def reactions(self, position: str = POSITIONS) -> np.ndarray:
        """The forces (n, d) of the supports on nodes; zero where nothing is held."""
        known = self._supports.by_support()[0] if self._supports else {}
        return known[position] if position in known else np.zeros(self.fields[position].shape)

    @cached_property
    def _supports(self) -> "Reactions | None":
        """What knows the supports; None if there are none."""
        try:
            return Reactions(self.stepper, self.recorder, 1)
        except EnergyError:
            return None

    def _inertia(self, motion: Motion) -> np.ndarray:
        return storage.host(self.stepper.inertia[motion.position])


class Energies(Observer):
    """Records potential/TERM and total; of motions in time kinetic and drift, work, dissipated, heat and cell
    where there are any (a scheme that damps: damped in place of drift); of what is minimised the residual,
    its largest free force in scaled units."""

    consumer = Consumer("energies", ALL)

    start: float = np.nan
    """The conserved energy at the first observation; NaN before it."""
    scale: float = 0.0

    def observe(self) -> None:
        by_term = energies(self.stepper)
        values = {f"potential/{n}": e for n, e in by_term.items()}
        potential, residual = sum(by_term.values()), self.stepper.residual
        if self.stepper.motions:
            values |= self._moved(potential)
        else:
            values |= {"total": potential} | ({} if residual is None else {"residual": residual})
        self.recorder.record_observables(self.stepper.step, self.stepper.time, values)

    def _moved(self, potential: float) -> dict[str, float]:
        """Energy budget of a moving system."""
        balance, moving = energy_flows(self.stepper), kinetic(self.stepper)
        total = moving + potential
        conserved = kept(total, balance)
        if np.isnan(self.start):
            self.start, self.scale = conserved, reference(self.stepper, moving, conserved)
        label = motion_label(self.stepper)
        if self.stepper.damps:
            return {label: moving, "total": total, "damped": self.start - conserved} | balance
        given = (abs(balance.get(name, 0.0)) for name in ("heat", "work"))
        drift = (conserved - self.start) / (max(self.scale, *given) or 1.0)
        return {label: moving, "total": total, "drift": drift} | balance

    def state(self) -> dict[str, np.ndarray]:
        return {"start": np.array(self.start), "scale": np.array(self.scale)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.start, self.scale = float(state["start"]), float(state["scale"])


def boltzmann(units: UnitSystem) -> float:
    """k_B in the run's units (SI Brochure 2019, exact); 1 where they are dimensionless."""
    return units.convert("1.380649e-23 J K^-1", "J K^-1") if units.names else 1.0


class Temperatures(Observer):
    """Records temperature/kinetic, and temperature/configurational where asked.

    kinetic            2 K / (k_B n), n the number of free components less that of constraints; without the
                       `centre` of mass, the energy of its motion and its components are left out of both
    configurational    sum |dU/dx|^2 / (k_B sum d^2U/dx^2) over the free components (Rugh 1997, Phys. Rev.
                       Lett. 78, 772); of long runs take the means of both sums, which are recorded as
                       force_squared and laplacian
    """

    consumer = Consumer("temperatures", ALL - {LAGRANGIAN}, cures=NODES)

    def __init__(
        self,
        stepper: Stepper,
        recorder: Recorder,
        every: int,
        k: float,
        configurational: bool = False,
        centre: bool = True,
    ):
        super().__init__(stepper, recorder, every)
        self.holds, self.k, self.configurational, self.centre = stepper.holds, k, configurational, centre
        if not centre and self.holds.fields:
            raise EnergyError(
                "centre_of_mass: cannot be left out where supports hold nodes, got false; leave out the key"
            )
        if not stepper.motions:
            raise EnergyError("nothing moves in time, so that it has no temperature")
        if configurational:
            CONFIGURATIONAL.accept(stepper.system)

    def observe(self) -> None:
        count = self.stepper.system.degrees_of_freedom
        double, squares, laplacian = 0.0, 0.0, 0.0
        for motion in self.stepper.motions:
            v = self.fields[motion.velocity].values.astype(np.float64)
            free = self.holds.free(motion.position)
            double += ordered_sum((by_node(self._inertia(motion), v) * v**2)[free])
            if not self.centre:
                p, inertia = momentum(self.fields, motion, self._inertia(motion)), self._inertia(motion)
                double -= float(np.sum(p * p)) / ordered_sum(np.broadcast_to(inertia, (len(v),)))
                count -= p.size
            if self.configurational:
                gradient = storage.host(self.stepper.gradient[motion.position]).astype(np.float64)
                squares += ordered_sum(gradient[free] ** 2)
                second = self.potential.hessian(motion.position, self.stepper.time).diagonal()
                laplacian += ordered_sum(second.astype(np.float64)[free.ravel()])
        values = {"temperature/kinetic": double / (self.k * max(count, 1))}
        if self.configurational:
            with np.errstate(all="ignore"):
                ratio = float(np.float64(squares) / (self.k * laplacian))
            values |= {"temperature/configurational": ratio}
            values |= {"force_squared": squares, "laplacian": laplacian}
        self.recorder.record_observables(self.stepper.step, self.stepper.time, values)


class Pressures(Observer):
    """Records pressure and volume, with `tensor` the stress (d, d), and with `parts` pressure_parts/PART, of
    which the pressure is the sum (`steppers.pressure.virial`).

    motions: the positions in the box; of a minimiser there is no kinetic part. factor: the run's unit of
    pressure in that of the series. Raises `EnergyError` where there is no box.
    """

    consumer = Consumer("pressure", ALL - {LAGRANGIAN}, cures=NODES)

    def __init__(
        self,
        stepper: Stepper,
        recorder: Recorder,
        every: int,
        motions: Sequence[Motion],
        tensor: bool = False,
        parts: bool = False,
        factor: float = 1.0,
    ):
        super().__init__(stepper, recorder, every)
        self.virial, self.tensor, self.parts, self.factor = Virial(stepper, motions), tensor, parts, factor

    @property
    def labels(self) -> list[str]:
        """The series of the parts."""
        return [f"pressure_parts/{name}" for name in self.virial.names] if self.parts else []

    def observe(self) -> None:
        stress = self.virial.total() * self.factor
        values: dict[str, float | np.ndarray] = {"pressure": mean_pressure(stress)}
        values |= {"volume": self.virial.volume} | ({"stress": stress} if self.tensor else {})
        found = self.virial.parts().values() if self.parts else ()
        parts = [mean_pressure(part * self.factor) for part in found]
        values |= dict(zip(self.labels, parts, strict=True))
        self.recorder.record_observables(self.stepper.step, self.stepper.time, values)


def mean_pressure(stress: np.ndarray) -> float:
    """-trace(stress) / d."""
    return 0.0 - float(np.trace(stress)) / len(stress)


class EnergyForces(Observer):
    """Records force (n, d), and of several positions force/FIELD; with `stress` energy_stress (d, d).

    motions: the positions. factor: the run's unit of stress in that of the series. Raises `EnergyError` for a
    stress where there is no box.
    """

    consumer = Consumer(
        "forces", ALL - {LAGRANGIAN}, cures={LAGRANGIAN: "leave the observer out; its momenta are `momenta`"}
    )

    def __init__(
        self,
        stepper: Stepper,
        recorder: Recorder,
        every: int,
        motions: Sequence[Motion],
        stress: bool = False,
        factor: float = 1.0,
    ):
        super().__init__(stepper, recorder, every)
        self.names, self.factor = [motion.position for motion in motions], factor
        self._stress = Stress(self.potential, motions, {}) if stress else None
        self._jumps = CutoffJumps(self.potential) if stress else None
        read = [*self.names, *([BOX] if stress else [])]
        self._into = {n: storage.allocate(np.zeros_like(self.fields[n].values)) for n in read}

    def label(self, name: str) -> str:
        """The name of the forces on a field in files."""
        return "force" if len(self.names) == 1 else f"force/{name}"

    def observe(self) -> None:
        step, time = self.stepper.step, self.stepper.time
        self.potential.gradient_into(self._into, time)
        for name in self.names:
            self.recorder.record_frame(step, time, {self.label(name): -storage.host(self._into[name])})
        if self._stress is None or self._jumps is None:
            return
        size = volume(self._stress.box)
        slope = self._stress.strain_derivative(self._into)
        slope = slope + strain_derivative(self._jumps.total(time), size, len(slope))
        self.recorder.record_observables(step, time, {ENERGY_STRESS: slope / size * self.factor})


class Momenta(Observer):
    """Records momentum and, for positions in 2 or 3 dimensions, angular_momentum."""

    consumer = Consumer("momenta", ALL - {LAGRANGIAN}, cures=NODES)

    def observe(self) -> None:
        values: dict[str, float | np.ndarray] = {}
        for motion in self.stepper.motions:
            suffix = "" if len(self.stepper.motions) == 1 else f"/{motion.position}"
            inertia = self._inertia(motion)
            values[f"momentum{suffix}"] = momentum(self.fields, motion, inertia)
            spin = angular_momentum(self.fields, motion, inertia)
            if spin is not None:
                values[f"angular_momentum{suffix}"] = spin
        self.recorder.record_observables(self.stepper.step, self.stepper.time, values)


class ForceErrors(Observer):
    """Records force_error/TERM of terms with far pairs: rms error over rms force, at a sample of nodes; and
    force_error_99/TERM, the relative error that 1 % of them exceed."""

    consumer = Consumer("force_errors", ALL)

    def observe(self) -> None:
        step, time, potential = self.stepper.step, self.stepper.time, self.stepper.potential
        potential.refresh(time)
        values: dict[str, float | np.ndarray] = {}
        for name, kernels in potential.kernels.items():
            if isinstance(kernels, TreeKernels):
                found = force_error(potential.terms[name], time, kernels)
                values |= {f"force_error/{name}": found.rms, f"force_error_99/{name}": found.most}
        self.recorder.record_observables(step, time, values)


class ConjugateMomenta(Observer):
    """Records of a Lagrangian momentum, the sum of p = dL/dv over nodes, and momentum_map/NAME for each
    symmetry that it declares; with `by_node` also conjugate_momentum (n, ...) in the frames.

    Of several coordinates momentum/COORDINATE, conjugate_momentum/COORDINATE.
    """

    consumer = Consumer("momenta of a Lagrangian", ALL)

    def __init__(self, stepper: Stepper, recorder: Recorder, every: int, by_node: bool = False):
        super().__init__(stepper, recorder, every)
        self.by_node, self._maps = by_node, dict[str, tuple[str, Potential]]()
        assert stepper.lagrangian is not None
        for term in stepper.lagrangian.terms.values():
            for name in term.energy.generators:
                q = term.fields[next(iter(term.energy.rates))]
                over = self.fields.extended({MOMENTUM: np.zeros(q.shape)})
                label = name if name not in self._maps else f"{term.name}_{name}"
                self._maps[label] = q.name, Potential(over, [bound_map(term, name, over)], frozen=True)

    def observe(self) -> None:
        step, time = self.stepper.step, self.stepper.time
        momenta = self.stepper.momenta
        values: dict[str, float | np.ndarray] = {}
        for field, p in momenta.items():
            suffix = "" if len(momenta) == 1 else f"/{field}"
            columns = p.reshape(len(p), -1).T
            values[f"momentum{suffix}"] = np.array([ordered_sum(c) for c in columns]).reshape(p.shape[1:])
            if self.by_node:
                self.recorder.record_frame(step, time, {f"conjugate_momentum{suffix}": p})
        for name, (field, of_map) in self._maps.items():
            of_map.fields[MOMENTUM].set(momenta[field])
            values[f"momentum_map/{name}"] = of_map.value(time)
        self.recorder.record_observables(step, time, values)


class Reactions(Observer):
    """Records the supports' forces: `reaction` (n, d) in the frames, and reaction/HOLD, their sums.

    Of a field that is not the only one held, `reaction/FIELD` and `reaction/FIELD/HOLD`. Constraints that
    keep nodes in planes are supports, too: `reaction/CONSTRAINT`. Raises `EnergyError` where nothing is held.
    """

    consumer = Consumer("reactions", ALL)

    def __init__(self, stepper: Stepper, recorder: Recorder, every: int):
        super().__init__(stepper, recorder, every)
        self.holds, self.planes = stepper.holds, stepper.constraints and PlaneReactions(stepper)
        if not self.names:
            raise EnergyError("nothing is held, so there are no reactions: add a [[hold]], or leave them out")
        self._borne = BorneForces(stepper.potential)

    @property
    def names(self) -> list[str]:
        """The fields with held components, or with nodes in planes."""
        return [*dict.fromkeys([*self.holds.fields, *(self.planes.fields if self.planes else [])])]

    def observe(self) -> None:
        step, time = self.stepper.step, self.stepper.time
        reactions, totals = self.by_support()
        for field in self.names:
            label = "reaction" if len(self.names) == 1 else f"reaction/{field}"
            self.recorder.record_frame(step, time, {label: reactions[field]})
            named = {f"{label}/{name}": force for name, force in totals[field].items()}
            self.recorder.record_observables(step, time, named)

    def by_support(self) -> tuple[dict[str, np.ndarray], dict[str, dict[str, np.ndarray]]]:
        """The forces on nodes (n, d) by field, and their sums by field and by the name of the support."""
        time, of_stepper = self.stepper.time, self.stepper.lagrangian is not None
        reactions = dict(self.stepper.reactions) if of_stepper else self._reactions()
        parts = self.planes.by_constraint(time) if self.planes else {}
        totals = {}
        for field in self.names:
            totals[field] = dict(self.holds.totals(field, reactions[field]))
            for name, (of_field, forces) in parts.items():
                if of_field == field:
                    reactions[field] = reactions[field] + forces
                    totals[field][name] = np.array([ordered_sum(column) for column in forces.T])
        return reactions, totals

    def _reactions(self) -> dict[str, np.ndarray]:
        """Those of bodies that move by their inertia."""
        forces = total_gradient(self.stepper, {n: self.stepper.gradient[n] for n in self.names})
        inertia, time = self.stepper.inertia, self.stepper.time
        for name in forces:
            if (beyond := self._borne.beyond(name, time)) is not None:
                forces[name] = forces[name] + beyond
                if self.planes:
                    forces[name] = forces[name] + self.planes.borne_pull(name, time)
        return {n: self.holds.reaction(n, force, inertia.get(n), time) for n, force in forces.items()}


class ConstraintForces(Observer):
    """Records multiplier/CONSTRAINT, of each element, and violation; constraint_force (n, d) in the frames.

    The force on the nodes is -G^T lambda; of a field that is not the only one with constraints,
    `constraint_force/FIELD`. Raises `EnergyError` where there are no constraints.
    """

    consumer = Consumer("constraints", ALL)

    def __init__(self, stepper: Stepper, recorder: Recorder, every: int):
        super().__init__(stepper, recorder, every)
        if stepper.constraints is None:
            raise EnergyError("there are no constraints: add a [[constraint]], or leave their forces out")
        self.constraints, self.planes = stepper.constraints, PlaneReactions(stepper)
        moved = [field.name for field in stepper.moving]
        self.names = [name for name in moved if name in self.constraints.reads]

    def observe(self) -> None:
        step, time, weights = self.stepper.step, self.stepper.time, self.planes.multipliers(self.stepper.time)
        gradients = self.constraints.forces(weights, self.names, time)
        for name, gradient in gradients.items():
            self.recorder.record_frame(step, time, {self.label(name): -gradient})
        values: dict[str, float | np.ndarray] = {"violation": self.stepper.violation() or 0.0}
        parts = self.constraints.by_constraint(weights)
        self.recorder.record_observables(
            step, time, values | {f"multiplier/{n}": w for n, w in parts.items()}
        )

    def label(self, name: str) -> str:
        """The name of the forces on a field in files."""
        return "constraint_force" if len(self.names) == 1 else f"constraint_force/{name}"


class FitHistory(Observer):
    """Records each iteration of a fit: the loss, its largest free slope, the values of the parameters."""

    def __init__(self, stepper: Minimiser, recorder: Recorder, every: int):
        super().__init__(stepper, recorder, every)
        self.search = stepper

    def observe(self) -> None:
        self.recorder.record_observables(self.search.step, self.search.time, self.values(self.search))

    @staticmethod
    def values(search: Minimiser) -> dict[str, float | np.ndarray]:
        """The present loss, its largest free slope, and the free components of each parameter."""
        coordinates = search.coordinates
        free = coordinates.spread(np.ones(len(coordinates), bool))
        values: dict[str, float | np.ndarray] = {"loss": search.energy, "slope": search.residual}
        return values | {f"parameters/{f.name}": f.values[free[f.name]] for f in coordinates.fields}


class HeldOutHistory(Observer):
    """Records the loss of what a fit does not see, which `value` computes."""

    def __init__(self, stepper: Minimiser, recorder: Recorder, every: int, value: Callable[[], float]):
        super().__init__(stepper, recorder, every)
        self.value = value

    def observe(self) -> None:
        step, time = self.stepper.step, self.stepper.time
        self.recorder.record_observables(step, time, {"held_out": self.value()})


class Frames(Observer):
    """Records whole fields, under their labels, in the order of the file and the run's units.

    `grids`: the grid that a field lies on, by field; the others lie on the nodes. In a periodic box positions
    are moved into the box, unless `unwrapped`, and its edges are recorded with them.
    """

    consumer = Consumer("frames", ALL)

    def __init__(
        self,
        stepper: Stepper,
        recorder: Recorder,
        every: int,
        names: Sequence[str],
        labels: Mapping[str, str],
        grids: Mapping[str, str] | None = None,
        unwrapped: bool = False,
    ):
        super().__init__(stepper, recorder, every)
        self.labels, self.grids, self.unwrapped = labels, grids or {}, unwrapped
        self.shown = [self.fields[name] for name in names]
        if changing := [field.name for field in self.shown if field.pair_set is not None]:
            raise EnergyError(
                f"fields: a frame has values of nodes or cells, got '{changing[0]}', which is over directed"
                " pairs, whose number changes; leave it out"
            )
        self.boxed = self.fields.box is not None and not {POSITIONS, BOX}.isdisjoint(names)

    def observe(self) -> None:
        step, time = self.stepper.step, self.stepper.time
        if any(field.name in self.fields.derived for field in self.shown):
            self.potential.refresh(time)
        if self.boxed and self.fields.box is not None:
            self.recorder.record_box(step, time, self.fields.box.values[0])
        for field in self.shown:
            if self.boxed and field.name == BOX:
                continue
            arrays = {self.labels.get(field.name, field.name): self._placed(field)}
            if field.name in self.grids:
                self.recorder.record_grid(step, time, self.grids[field.name], arrays, field.shape[1:])
            else:
                self.recorder.record_frame(step, time, arrays)

    def _placed(self, field: Field) -> np.ndarray:
        """The values as they are recorded: positions in a periodic box are those in the box itself."""
        box = self.fields.geometry if field.name == POSITIONS and not self.unwrapped else None
        return field.values if box is None else box.wrap_positions(field.values).astype(field.dtype)
