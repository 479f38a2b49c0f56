"""Tangents of a run: derivatives of its states along a direction of the initial state and parameters.

With x. and v. the tangents of x and v, p. those of parameters and of fields that do not move, m. of the
inertia,

    kick c    v. <- v. - c h (gamma - U_x m. / m) / m,      gamma = U_xx x. + U_xp p.
    drift d   x. <- x. + d h v.
    flow      the change of the flow along x., v., m., p.; kicks are less those of its part     (`part_flow`)
    magnetic  (x., v.) <- the changes of (x', v') = -W_(xi, eta) along x., v., p., m.      (`magnetic.flow`)
    friction  the same with R_v at v0, and at v1, the velocity after half of it

is the derivative of each move, computed with it: exact for the discrete scheme, like the adjoint, at the cost
of a run for each direction. Gauss-Newton uses it: few directions, many residuals.

Decisions 0119.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest
from ..energies.fields import Motion
from ..engine import runtime, storage
from ..engine.device_tasks import steps_of_tasks
from ..engine.kernels import MOST_ARRAYS, BoundKernel, Code, at_each, real
from ..errors import EnergyError
from ..potential.fused_code import FusedCode
from ..potential.potential import Potential
from ..steppers.magnetic.drift import PREFIX
from ..steppers.moves import STEPS, coefficients
from ..steppers.step_sequence import (
    Drift,
    FlowDrift,
    Forces,
    HalfFriction,
    InteractionKick,
    Kick,
    MagneticDrift,
    Move,
)
from ..steppers.stepper import SplittingStepper
from ..steppers.timed.move_pieces import (
    DRIFT,
    DRIFT_END,
    HALF_STEP,
    OWN,
    EnergySweep,
    JoinedPieces,
    LaunchedPieces,
    MoveLength,
    NodeLoops,
    Piece,
    Rules,
)
from .backward import HALF, owner, step_clock
from .supports.support_derivatives import SupportDerivatives


class Sensitivity:
    """A run together with its tangent along one direction; `tangents`: the present ones, by field.

    Raises `EnergyError` for names that a run cannot be differentiated with respect to.
    """

    def __init__(self, stepper: SplittingStepper, names: Sequence[str]):
        self.stepper, self.motions = stepper, stepper.motions
        fields = stepper.potential.fields
        moving = [n for m in self.motions for n in (m.position, m.velocity)]
        self.tangents = self._arrays(dict.fromkeys([*moving, *(n for n in names if n in fields)]))
        owners = {n: owner(stepper, n) for n in names}
        self.parameters = {n: np.zeros(p.shape(n)) for n, p in owners.items() if p}
        self._owners = owners
        self.supports = SupportDerivatives.of(stepper.holds, names)
        self.product = self._arrays(m.position for m in self.motions)
        self.slowed = self._arrays([m.velocity for m in self.motions] if stepper.dissipation else [])
        self.before = self._arrays(self.slowed)
        self._whole = self._request(stepper.potential)
        losing = stepper.dissipation
        self._friction = self._request(losing) if losing else DerivativeRequest()
        self._flow = self._flow_request()
        self._many: Callable[..., None] | None = None
        rules = self._rules()
        self._joined = JoinedPieces(rules, "tangent")
        self._launched = LaunchedPieces(stepper.scheme, rules, "tangent")
        self._places = self._arrival

    def _arrays(self, names: Any) -> dict[str, Any]:
        fields = self.stepper.potential.fields
        return {n: storage.allocate(np.zeros_like(fields[n].values)) for n in names}

    def start(self, direction: Mapping[str, np.ndarray]) -> None:
        """Start at the stepper's present state with these tangents; others are zero.

        Raises `EnergyError` for a tangent of another shape.
        """
        for name, array in (self.tangents | self.parameters).items():
            storage.store(array, shaped(name, direction.get(name), tuple(array.shape)))
        if self.supports:
            self.supports.start(self.parameters)
        self._launched.run(self._places, self.stepper.time)
        self.stepper.potential.sweep(self._whole, self.stepper.time)
        if self.stepper.fused and self._many is None:
            self._many = self._kernel_of_steps()

    def _kernel_of_steps(self) -> Callable[..., None] | None:
        """Many steps in one kernel, or on a device one in a launch; None if it has too many arrays."""
        if runtime.arch() != "cpu":
            return steps_of_tasks(self.step_code())
        steps = self.steps()
        fits = len(steps.arrays) <= MOST_ARRAYS
        return BoundKernel(steps, "steps", "first", "t0", "dt") if fits else None

    def _put_parameters(self) -> None:
        """Copy the tangents of parameters to where kernels read them, as other requests overwrite them."""
        system = self.stepper.system
        for potential in system.potentials:
            if potential not in system.of_stepper:  # whose flow has them
                FusedCode(potential).put_tangents(self._own(potential))
        self._put_of_flow()

    def _put_of_flow(self) -> None:
        """Copy the tangents of a flow's parameters to where its drifts read them."""
        if (flow := self.stepper.moves.part_flow) is not None:
            flow.put_tangents({n: self.parameters[n] for n in flow.parameters if n in self.parameters})

    def advance(self, steps: int) -> None:
        """Advance the state and its tangent by `steps` steps."""
        if self._many is not None and steps:
            self._put_parameters()
            one = self.stepper
            self._many(steps, float(one.step - one.since), one.t0, one.dt)
        else:
            self._put_of_flow()
            one = self.stepper
            for step in range(steps):
                self._launched.begin(step_clock(one, one.step + step))
                for move in one.scheme.moves:
                    self._launched.move(move)
        self.stepper.step += steps

    def _request(self, potential: Potential) -> DerivativeRequest:
        """The force and its tangent."""
        own = self._own(potential)
        nodal = {n: a for n, a in self.tangents.items() if n in potential.reads}
        if potential is self.stepper.potential:
            return DerivativeRequest(
                gradient=dict(self.stepper.gradient), product=dict(self.product), tangents=nodal | own
            )
        assert self.stepper.friction
        return DerivativeRequest(
            gradient=dict(self.stepper.friction.force), product=dict(self.slowed), tangents=nodal | own
        )

    def _flow_request(self) -> DerivativeRequest:
        """x' and v' of drifts in a magnetic field, and their tangents."""
        drifts = self.stepper.moves.magnetic
        if drifts is None:
            return DerivativeRequest()
        nodal = {n: a for n, a in self.tangents.items() if n in drifts.potential.reads}
        return DerivativeRequest(
            gradient=dict(drifts.after),
            product=drifts.arrays(list(drifts.after)),
            tangents=nodal | self._own(drifts.potential),
        )

    def _own(self, potential: Potential) -> dict[str, np.ndarray]:
        return {n: values for n, values in self.parameters.items() if self._owners[n] is potential}

    def _rules(self) -> Rules:
        """What each move does, with its tangent."""
        one, moves = self.stepper, self.stepper.moves
        arrive: list[Piece] = [DRIFT_END, NodeLoops(one.holds.code), *self._arrival]
        rules: dict[type[Move], Sequence[Piece]] = {
            HalfFriction: [],
            Kick: [MoveLength("kicks"), NodeLoops(self._kick)],
            Drift: [DRIFT, NodeLoops(self._drift), *arrive],
            Forces: [EnergySweep(one.potential, self._whole)],
        }
        if flow := moves.part_flow:
            rest, drift = (partial(of, self.tangents) for of in (flow.kick_tangent, flow.drift_tangent))
            rules[InteractionKick] = [MoveLength("kicks"), NodeLoops(self._kick), NodeLoops(rest)]
            rules[FlowDrift] = [DRIFT, NodeLoops(drift), *arrive]
        if moves.magnetic:
            turning = EnergySweep(moves.magnetic.potential, self._flow, PREFIX)
            rules[MagneticDrift] = [DRIFT, OWN, turning, NodeLoops(self._turn), *arrive]
        if one.dissipation:
            sweep = EnergySweep(one.dissipation, self._friction, "loss")
            half, whole = (NodeLoops(partial(self._slow, h)) for h in (HALF, "h"))
            rules[HalfFriction] = [HALF_STEP, NodeLoops(self._remember), sweep, half, sweep, whole]
        return rules

    @property
    def _arrival(self) -> list[Piece]:
        """Sets the tangents of held components: zero, or those of supports along their numbers."""
        supports = self.supports
        moved: list[Piece] = [NodeLoops(lambda: supports.moved_code(self.tangents))] if supports else []
        return [NodeLoops(self._hold), *moved]

    def steps(self) -> Code:
        """The steps with their tangents, for a kernel of (steps, first, t0, dt)."""
        s = self.stepper.scheme
        begin = Code("t = t0 + (first + ti.f64(sub)) * dt\n")
        step = s.sequence.code(self._joined)
        return Code.joined([begin, step]).inside(STEPS).naming(**coefficients(s))

    def step_code(self) -> Code:
        """The loops of one step with its tangent, for a kernel of (first, t0, dt) where each is a task."""
        s = self.stepper.scheme
        begin = Code("sub = 0\nt = t0 + first * dt\n")
        step = s.sequence.unrolled_code(self._joined, s.stages)
        return Code.joined([begin, step]).naming(**coefficients(s))

    # Pieces

    def _kick(self) -> Code:
        return Code.joined(
            self._accelerated(m, m.position, self.stepper.gradient[m.position], self.product[m.position], "h")
            for m in self.motions
        )

    def _slow(self, h: str) -> Code:
        """One stage of half a step of friction, from the saved velocities."""
        assert self.stepper.friction
        pieces = []
        for m in self.motions:
            v, force = m.velocity, self.stepper.friction.force[m.velocity]
            pieces.append(self._accelerated(m, v, force, self.slowed[v], h, remembered=True))
        return Code.joined(pieces)

    def _accelerated(
        self, motion: Motion, by: str, force: Any, bend: Any, h: str, remembered: bool = False
    ) -> Code:
        """v <- v - h g / m and its derivative at free components, from v or from the saved velocity."""
        x, v = (self.stepper.potential.fields[n] for n in (motion.position, motion.velocity))
        inertia, free = self.stepper.inertia[x.name], self.stepper.holds.mask(x.name)
        mass = f"i_{x.name}[{'n' if inertia.shape[0] > 1 else 0}]"
        step = f"{real(x.dtype)}({h}) / {mass}" + ("" if free is None else f" * free_{x.name}[{{at}}]")
        heavy = motion.inertia in self.tangents
        change = f"h_{by}[{{at}}]" + (f" - g_{by}[{{at}}] * w_{motion.inertia}[n] / {mass}" if heavy else "")
        old, its = (f"before_{v.name}", f"dot_{v.name}") if remembered else (f"f_{v.name}", f"w_{v.name}")
        lines = [
            f"w_{v.name}[{{at}}] = {its}[{{at}}] - {step} * ({change})",
            f"f_{v.name}[{{at}}] = {old}[{{at}}] - {step} * g_{by}[{{at}}]",
        ]
        arrays = {f"g_{by}": force, f"h_{by}": bend, f"i_{x.name}": inertia}
        arrays |= {f"f_{v.name}": v.array, f"w_{v.name}": self.tangents[v.name]}
        arrays |= {f"w_{motion.inertia}": self.tangents[str(motion.inertia)]} if heavy else {}
        arrays |= {} if free is None else {f"free_{x.name}": free}
        arrays |= self._remembered(v.name) if remembered else {}
        return Code(at_each(f"f_{v.name}", v.array, *lines), arrays)

    def _remember(self) -> Code:
        pieces = []
        for m in self.motions:
            v, field = m.velocity, self.stepper.potential.fields[m.velocity]
            lines = [f"before_{v}[{{at}}] = f_{v}[{{at}}]", f"dot_{v}[{{at}}] = w_{v}[{{at}}]"]
            arrays = {f"f_{v}": field.array, f"w_{v}": self.tangents[v]} | self._remembered(v)
            pieces.append(Code(at_each(f"f_{v}", field.array, *lines), arrays))
        return Code.joined(pieces)

    def _remembered(self, v: str) -> dict[str, Any]:
        assert self.stepper.friction
        return {f"before_{v}": self.stepper.friction.before[v], f"dot_{v}": self.before[v]}

    def _drift(self) -> Code:
        """x <- x + h v, and its derivative."""
        pieces = []
        for m in self.motions:
            x, v = (self.stepper.potential.fields[n] for n in (m.position, m.velocity))
            h = f"{real(x.dtype)}(h)"
            lines = [
                f"{k}_{x.name}[{{at}}] = {k}_{x.name}[{{at}}] + {h} * {k}_{v.name}[{{at}}]" for k in "fw"
            ]
            arrays = {f"f_{f.name}": f.array for f in (x, v)}
            arrays |= {f"w_{f.name}": self.tangents[f.name] for f in (x, v)}
            pieces.append(Code(at_each(f"f_{x.name}", x.array, *lines), arrays))
        return Code.joined(pieces)

    def _turn(self) -> Code:
        drifts = self.stepper.moves.magnetic
        assert drifts
        return drifts.moved({"w": self.tangents, "h": self._flow.product})

    def _hold(self) -> Code:
        """The tangent of a held component is zero, but for those that a support's numbers move."""
        pieces = []
        for m in self.motions:
            if (free := self.stepper.holds.mask(m.position)) is not None:
                names = (m.position, m.velocity)
                lines = [f"w_{n}[{{at}}] = w_{n}[{{at}}] * free_{m.position}[{{at}}]" for n in names]
                arrays = {f"w_{n}": self.tangents[n] for n in names} | {f"free_{m.position}": free}
                pieces.append(Code(at_each(f"w_{m.position}", self.tangents[m.position], *lines), arrays))
        return Code.joined(pieces)


def shaped(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A tangent as an array of this shape; zeros for None."""
    found = np.zeros(shape) if values is None else np.asarray(values, np.float64)
    if found.shape != shape:
        raise EnergyError(
            f"tangent of '{name}': needs shape {list(shape)}, got {list(found.shape)}; reshape it"
        )
    return found
