"""Adjoint of a run: derivatives of a loss, carried from the end of each step to its start.

With lx = dL/dx, lv = dL/dv and m the inertia, the moves of a step are undone by the transpose of each:

    kick c    w <- w + c h lv / m;   lx <- lx - U_xx w,   lp <- lp - U_px w,   lm <- lm + w.U_x / m
    drift d   lv <- lv + d h lx
    flow      the transpose of the flow's derivative; Hessians are less that of its part  (`part_flow`)
    magnetic  (lx, lv) <- -W_(x, v),  lp <- lp - W_p,  lm <- lm - W_m   at xi = lx, eta = lv (`magnetic.flow`)
    friction  u = h lv / m,  n = -R_vv u  at v1, the velocity after half of it;  u' = h n / (2 m)  at v0
              lv <- lv + n - R_vv u',   lx <- lx - R_xv (u, u'),  lp likewise,   lm <- lm + u.R_v / m

p: parameters, data, and fields that do not move. Lambda goes back by Hessian products: exact for the discrete
scheme. Two kicks at one place add up their w and share a product, which is taken at the next drift backwards.
Held components have no adjoint, because a step overwrites them; the numbers of their motion take it first
(`support_derivatives`). The tape has the positions at kicks, the
velocities before friction, and those before drifts in a magnetic field. The moves are the scheme's in reverse
(`step_sequence`).

Decisions 0040, 0119, 0249.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest
from ..energies.fields import Motion
from ..engine import runtime, storage
from ..engine.device_tasks import steps_of_tasks
from ..engine.kernels import MOST_ARRAYS, BoundKernel, Code, at_each, real, zero_loops
from ..errors import EnergyError, choices
from ..potential.potential import Potential
from ..potential.velocity_terms import refuse_velocities
from ..steppers.magnetic.drift import PREFIX
from ..steppers.magnetic.flow import TO_PLACE, TO_SPEED
from ..steppers.magnetic.force import covectors
from ..steppers.moves import coefficients
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
from ..steppers.stepper import DifferentiableStepper, SplittingStepper
from ..steppers.supports.hold_numbers import HoldNumbers
from ..steppers.timed.flows.part_flow import Rows as FlowRows
from ..steppers.timed.move_pieces import (
    DRIFT,
    DRIFT_END,
    HALF_STEP,
    OWN,
    STEP_END,
    EnergySweep,
    JoinedPieces,
    LaunchedPieces,
    MoveLength,
    NodeLoops,
    Piece,
    Rules,
    StepClock,
    TapeRow,
)
from .supports.support_derivatives import SupportDerivatives

HALF = "ti.f64(0.5) * h"
Owner = Potential | HoldNumbers | None
"""Whose a name is: a parameter's or datum's potential, the numbers of holds, None for a field."""


class RunAdjoint:
    """The derivatives of a loss, by the state at a step of a run and by parameters.

    `adjoints`: dL/d(field) by field; `parameters`: dL/d("term.argument"), in rows of values; `supports`:
    those by the numbers of holds, where some are asked for.
    """

    stepper: Any
    adjoints: dict[str, Any]
    parameters: dict[str, Any]
    supports: SupportDerivatives | None = None

    def clear(self) -> None:
        """Set all derivatives to zero, for the end of a run."""
        for array in (*self.adjoints.values(), *self.parameters.values()):
            array.fill(0)
        if self.supports:
            self.supports.clear()

    def back(self, last: int, steps: int) -> None:
        """Propagate the adjoints back by `steps` steps, from the end of step number `last`."""
        raise NotImplementedError

    def finish(self) -> None:
        """The end of the way back, at the initial state."""
        raise NotImplementedError

    def add(self, slopes: Mapping[str, np.ndarray]) -> None:
        """Add the derivatives of a loss with respect to the present state."""
        for name, slope in slopes.items():
            array = self.adjoints[name] if name in self.adjoints else self.parameters[name]
            storage.store(array, storage.host(array) + slope.reshape(tuple(array.shape)))

    def found(self, name: str) -> np.ndarray:
        """dL/d(name), in the shape of the field or of the argument's values."""
        if name in self.adjoints:
            return storage.host(self.adjoints[name]).copy()
        if self.supports and name in self.supports.names:
            return self.supports.found(name)
        potential = owner(self.stepper, name)
        assert potential
        return storage.host(self.parameters[name]).reshape(potential.shape(name)).copy()


class Backward(RunAdjoint):
    """The adjoint of the steps on a stepper's tape.

    `adjoints`: dL/d(field) for moving fields and the fields among `names`; `parameters`:
    dL/d("term.argument") for parameters and data, in rows of values. They are derivatives with respect to the
    state at the step that `back` has reached. Raises `EnergyError` for names without a derivative.
    """

    def __init__(self, stepper: SplittingStepper, names: Sequence[str]):
        assert stepper.tape is not None
        self.stepper, self.tape, self.motions = stepper, stepper.tape, stepper.motions
        refuse_velocities(stepper.potential, stepper.motions)
        owners = {n: owner(stepper, n) for n in names}
        fields = self.stepper.potential.fields
        moving = [n for m in self.motions for n in (m.position, m.velocity)]
        nodal = list(dict.fromkeys([*moving, *(n for n in names if n in fields)]))
        self.adjoints, self.product = self._arrays(nodal), self._arrays(nodal)
        self.kicked = self._arrays([m.position for m in self.motions])
        self.force = self._arrays([m.position for m in self.motions])
        self.heavy = [m for m in self.motions if m.inertia in nodal]
        self.parameters = {n: rows_of(p, n) for n, p in owners.items() if isinstance(p, Potential)}
        self.supports = SupportDerivatives.of(stepper.holds, names)
        self.place = {n: f"p{k}" for k, n in enumerate(self.parameters)}
        self.pull = self._request(self.stepper.potential, owners, self.force, self.kicked)
        if self.stepper.dissipation and self.stepper.friction:
            self.slowed, self.after = (self._arrays([m.velocity for m in self.motions]) for _ in range(2))
            self.friction = self._request(
                self.stepper.dissipation, owners, self.stepper.friction.force, self.slowed
            )
        if stepper.magnetic:
            self.flow = self._request(stepper.magnetic.potential, owners, {}, self._carried)
        rules = self._rules()
        self._joined = JoinedPieces(rules, "adjoint", self.parameters, self.place)
        self._launched = LaunchedPieces(stepper.scheme, rules, "adjoint", self._take)
        self._end = [TapeRow(self.tape.read_positions, 0), *self._transposed_kick, *self._departure]
        self._many = self._kernel_of_steps() if stepper.fused else None

    # Adjoints

    def clear(self) -> None:
        super().clear()
        for array in self.kicked.values():
            array.fill(0)

    def _arrays(self, names: Sequence[str]) -> dict[str, Any]:
        fields = self.stepper.potential.fields
        return {n: storage.allocate(np.zeros_like(fields[n].values)) for n in names}

    def _request(
        self,
        potential: Potential,
        owners: Mapping[str, Owner],
        force: Mapping[str, Any],
        tangents: Mapping[str, Any],
    ) -> DerivativeRequest:
        """Hessian products along `tangents`; also the force if dL/d(inertia) is needed."""
        read = {n: array for n, array in self.product.items() if n in potential.reads}
        terms = felt(potential, set(tangents))
        changes = [n for n, p in owners.items() if p is potential and n.partition(".")[0] in terms]
        return DerivativeRequest(
            gradient=dict(force) if self.heavy else {}, product=read, changes=changes, tangents=dict(tangents)
        )

    # Many steps in one kernel, or by single launches

    def _kernel_of_steps(self) -> Callable[..., None] | None:
        """Many steps in one kernel, or on a device one in a launch; None if it has too many arrays."""
        if runtime.arch() != "cpu":
            return steps_of_tasks(self.step_code(), "at", back=True)
        steps = self.steps_code()
        fits = len(steps.arrays) <= MOST_ARRAYS
        return BoundKernel(steps, "steps", "first", "t0", "dt", "at") if fits else None

    def back(self, last: int, steps: int) -> None:
        """Propagate the adjoints back by `steps` steps, from the end of step number `last`."""
        at = last - steps - self.tape.first
        if self._many is not None and steps:
            one = self.stepper
            self._many(steps, float(last - steps - one.since), one.t0, one.dt, at)
            return
        moves = self.stepper.scheme.moves[::-1]
        for step in reversed(range(steps)):
            self._launched.begin(step_clock(self.stepper, last - steps + step))
            for move in moves:
                self._launched.move(move, at + step)

    def finish(self) -> None:
        """The kicks at the initial state, which is in the first row of the tape."""
        self._launched.run(self._end, self.stepper.times(0))

    def _rules(self) -> Rules:
        """What each move does on the way back."""
        moves = self.stepper.moves
        stages, friction = len(self.stepper.scheme.drifts), self.stepper.dissipation
        before: list[Piece] = [
            TapeRow(self.tape.read_positions, stages),
            TapeRow(self.tape.read_turned, stages),
        ]
        depart: list[Piece] = [*[DRIFT_END] * bool(self.supports), *self._departure]
        kick: list[Piece] = [MoveLength("kicks"), NodeLoops(self._pull)]
        rules: dict[type[Move], Sequence[Piece]] = {
            HalfFriction: [STEP_END],
            Kick: kick,
            Drift: [*depart, DRIFT, NodeLoops(self._drift)],
            InteractionKick: kick,
            Forces: [TapeRow(self.tape.read_positions, stages, after=1), DRIFT_END, *self._transposed_kick],
        }
        if moves.part_flow:
            rules[FlowDrift] = [*depart, *before, DRIFT, NodeLoops(self._flow_drift)]
        if self.stepper.magnetic:
            flow = EnergySweep(self.stepper.magnetic.potential, self.flow, PREFIX)
            turn: list[Piece] = [DRIFT, OWN, flow, NodeLoops(self._take_drift)]
            rules[MagneticDrift] = [*depart, *before, *turn]
        if friction:
            force = DerivativeRequest(gradient=self._friction_force)
            sweep = EnergySweep(friction, self.friction, "loss")
            rules[HalfFriction] = [
                STEP_END,
                HALF_STEP,
                TapeRow(self.tape.read_positions, stages, stages),
                TapeRow(self.tape.read_velocities, 2),
                NodeLoops(self._remember),
                EnergySweep(friction, force, "loss"),
                NodeLoops(lambda: moves.slowed(HALF)),
                NodeLoops(lambda: self._divided(self.slowed, self._velocity_adjoints, "h")),
                sweep,
                NodeLoops(self._take_first),
                NodeLoops(lambda: self._divided(self.slowed, self.after, HALF)),
                sweep,
                NodeLoops(self._take_second),
            ]
        return rules

    @property
    def _departure(self) -> list[Piece]:
        """Leaves a state of time t: what its held components have, supports take."""
        supports = self.supports
        pulled: list[Piece] = [NodeLoops(lambda: supports.pull_code(self.adjoints))] if supports else []
        return [*pulled, NodeLoops(self._hold)]

    @property
    def _transposed_kick(self) -> list[Piece]:
        """The transposed kicks by the forces at the positions and the time of now."""
        sweep = EnergySweep(self.stepper.potential, self.pull)
        return [sweep, NodeLoops(self._flow_kick), NodeLoops(self._take_kick)]

    def _flow_drift(self) -> Code:
        assert self.stepper.moves.part_flow
        return self.stepper.moves.part_flow.drift_adjoint(self.adjoints, self._of_flow)

    def _flow_kick(self) -> Code:
        """The part with a flow of its own leaves the products and the force of a kick; else no code."""
        flow = self.stepper.moves.part_flow
        if flow is None:
            return Code("")
        force = self.force[flow.x] if self.heavy else None
        return flow.kick_adjoint(self.kicked[flow.x], self.product, force, self._of_flow)

    @property
    def _of_flow(self) -> FlowRows:
        """The adjoints of a flow's parameters, under the only names of these arrays in the kernel."""
        flow = self.stepper.moves.part_flow
        known = [n for n in flow.parameters if n in self.parameters] if flow else []
        return {n: (self.place[n], self.parameters[n]) for n in known}

    def _take(self, changes: Mapping[str, np.ndarray]) -> None:
        for name, values in changes.items():
            if name in self.parameters:
                array = self.parameters[name]
                storage.store(array, storage.host(array) - values.reshape(tuple(array.shape)))

    def finish_code(self) -> Code:
        """For a kernel of (t0, at): `finish`, with the initial state in row `at` of the tape."""
        read, left = self.tape.read_positions("at"), [*self._transposed_kick, *self._departure]
        return Code.joined([Code("t = t0\n"), read, *self._joined.of(left, "0")])

    def steps_code(self) -> Code:
        """For a kernel of (steps, first, t0, dt, at): the adjoint of `steps` steps from number `first` on.

        `at`: the number of that step on the tape.
        """
        s = self.stepper.scheme
        step = s.sequence.reversed_code(self._joined, s.stages)
        begin = Code("sub = steps - 1 - undone\n")
        loop = Code.joined([begin, step]).inside(
            "ti.loop_config(serialize=True)\nfor undone in range(steps):"
        )
        return loop.naming(**coefficients(s))

    def step_code(self) -> Code:
        """The loops of the adjoint of one step, for a kernel of (first, t0, dt, at) where each is a task."""
        s = self.stepper.scheme
        step = s.sequence.unrolled_back(self._joined, s.stages)
        return Code.joined([Code("sub = 0\n"), step]).naming(**coefficients(s))

    # Pieces

    @property
    def _velocity_adjoints(self) -> dict[str, Any]:
        return {m.velocity: self.adjoints[m.velocity] for m in self.motions}

    @property
    def _carried(self) -> dict[str, Any]:
        """lx and lv as the covectors xi and eta of the flow."""
        assert self.stepper.magnetic
        carried = {}
        for position, motion in self.stepper.magnetic.motions.items():
            names = covectors(motion)
            carried[names[TO_PLACE]] = self.adjoints[position]
            carried[names[TO_SPEED]] = self.adjoints[motion.velocity]
        return carried

    def _pull(self) -> Code:
        """w <- w + h lv / m at free components"""
        return Code.joined(
            self._over_mass(
                m, f"w_{m.position}", self.kicked[m.position], f"l_{m.velocity}", "h", add=True
            ).naming(**{f"l_{m.velocity}": self.adjoints[m.velocity]})
            for m in self.motions
        )

    def _divided(self, into: Mapping[str, Any], source: Mapping[str, Any], h: str) -> Code:
        """u <- h (source) / m at free components"""
        letter = "after" if source is self.after else "l"
        return Code.joined(
            self._over_mass(m, f"w_{m.velocity}", into[m.velocity], f"{letter}_{m.velocity}", h).naming(
                **{f"{letter}_{m.velocity}": source[m.velocity]}
            )
            for m in self.motions
        )

    def _over_mass(
        self, motion: Motion, name: str, array: Any, source: str, h: str, add: bool = False
    ) -> Code:
        x = self.stepper.potential.fields[motion.position]
        inertia, free = self.stepper.inertia[x.name], self.stepper.holds.mask(x.name)
        value = f"{real(x.dtype)}({h}) * {source}[{{at}}] / i_{x.name}[{'n' if inertia.shape[0] > 1 else 0}]"
        value = value if free is None else f"free_{x.name}[{{at}}] * ({value})"
        line = f"{name}[{{at}}] = {f'{name}[{{at}}] + ' if add else ''}{value}"
        arrays = {name: array, f"i_{x.name}": inertia} | ({} if free is None else {f"free_{x.name}": free})
        return Code(at_each(name, array, line), arrays)

    def _take_kick(self) -> Code:
        """l <- l - (changes), lm <- lm + w.U_x / m, w <- 0"""
        spent = [zero_loops(f"w_{n}", array) for n, array in self.kicked.items()]
        return Code.joined([*self._taken(self.pull), *self._weighed(self.kicked, self.force), *spent])

    def _take_first(self) -> Code:
        """n <- -(change of R_v), the others l <- l - (changes), v <- v0"""
        velocities = [m.velocity for m in self.motions]
        kept = [
            self._copied(f"after_{v}", self.after[v], f"-h_{v}[{{at}}]").naming(**{f"h_{v}": self.product[v]})
            for v in velocities
        ]
        again = [
            self._copied(f"f_{v}", self.stepper.potential.fields[v].array, f"before_{v}[{{at}}]").naming(
                **{f"before_{v}": self._before[v]}
            )
            for v in velocities
        ]
        others = self._taken(self.friction, leave=velocities)
        return Code.joined([*kept, *others, *self._weighed(self.slowed, self._friction_force), *again])

    def _take_second(self) -> Code:
        """lv <- lv + n, and l <- l - (changes)"""
        added = [
            self._copied(f"l_{v}", self.adjoints[v], f"l_{v}[{{at}}] + after_{v}[{{at}}]").naming(
                **{f"after_{v}": self.after[v]}
            )
            for v in self.slowed
        ]
        return Code.joined(
            [*added, *self._taken(self.friction), *self._weighed(self.slowed, self._friction_force)]
        )

    def _taken(self, asked: DerivativeRequest, leave: Sequence[str] = ()) -> list[Code]:
        return [
            self._copied(f"l_{n}", self.adjoints[n], f"l_{n}[{{at}}] - h_{n}[{{at}}]").naming(
                **{f"h_{n}": array}
            )
            for n, array in asked.product.items()
            if n not in leave
        ]

    def _weighed(self, tangents: Mapping[str, Any], force: Mapping[str, Any]) -> list[Code]:
        """lm <- lm + w.force / m"""
        pieces = []
        for motion in self.heavy:
            name = motion.position if motion.position in tangents else motion.velocity
            line = f"l_{motion.inertia}[n] = l_{motion.inertia}[n] + w_{name}[{{at}}] * g_{name}[{{at}}]"
            arrays = {
                f"l_{motion.inertia}": self.adjoints[str(motion.inertia)],
                f"w_{name}": tangents[name],
                f"g_{name}": force[name],
                f"i_{motion.position}": self.stepper.inertia[motion.position],
            }
            text = at_each(f"w_{name}", tangents[name], f"{line} / i_{motion.position}[n]")
            pieces.append(Code(text, arrays))
        return pieces

    def _take_drift(self) -> Code:
        """lx <- -W_x, lv <- -W_v at charged nodes, lv <- lv + h lx at others; l <- l - W_l of other fields"""
        assert self.stepper.magnetic
        pieces = [self._drift([m for m in self.motions if m.position not in self.stepper.magnetic.motions])]
        moved = [n for m in self.motions for n in (m.position, m.velocity)]
        for position, m in self.stepper.magnetic.motions.items():
            charged = self.stepper.magnetic.charged(position)
            lines, arrays = [], {} if charged is None else {f"charged_{position}": charged}
            for n in (m.velocity, position):  # the velocity's first, because it reads the old lx
                old, new = f"l_{n}[{{at}}]", f"-h_{n}[{{at}}]"
                kind = real(self.stepper.potential.fields[n].dtype)
                plain = old if n == position else f"{old} + {kind}(h) * l_{position}[{{at}}]"
                chosen = new if charged is None else f"ti.select(charged_{position}[n] > 0, {new}, {plain})"
                lines.append(f"{old} = {chosen}")
                arrays |= {f"l_{n}": self.adjoints[n], f"h_{n}": self.product[n]}
            pieces.append(Code(at_each(f"l_{position}", self.adjoints[position], *lines), arrays))
        return Code.joined([*pieces, *self._taken(self.flow, leave=moved)])

    def _drift(self, motions: Sequence[Motion] | None = None) -> Code:
        """lv <- lv + h lx"""
        pieces = []
        for m in self.motions if motions is None else motions:
            kind = real(self.stepper.potential.fields[m.position].dtype)
            text = f"l_{m.velocity}[{{at}}] + {kind}(h) * l_{m.position}[{{at}}]"
            piece = self._copied(f"l_{m.velocity}", self.adjoints[m.velocity], text)
            pieces.append(piece.naming(**{f"l_{m.position}": self.adjoints[m.position]}))
        return Code.joined(pieces)

    def _hold(self) -> Code:
        """The adjoint of held components is zero, because a step overwrites them."""
        pieces = []
        for m in self.motions:
            if (free := self.stepper.holds.mask(m.position)) is not None:
                for n in (m.position, m.velocity):
                    piece = self._copied(
                        f"l_{n}", self.adjoints[n], f"l_{n}[{{at}}] * free_{m.position}[{{at}}]"
                    )
                    pieces.append(piece.naming(**{f"free_{m.position}": free}))
        return Code.joined(pieces)

    def _remember(self) -> Code:
        fields = self.stepper.potential.fields
        return Code.joined(
            self._copied(f"before_{v}", self._before[v], f"f_{v}[{{at}}]").naming(
                **{f"f_{v}": fields[v].array}
            )
            for v in self.slowed
        )

    def _copied(self, name: str, array: Any, text: str) -> Code:
        return Code(at_each(name, array, f"{name}[{{at}}] = {text}"), {name: array})

    @property
    def _before(self) -> dict[str, Any]:
        assert self.stepper.friction
        return self.stepper.friction.before

    @property
    def _friction_force(self) -> dict[str, Any]:
        assert self.stepper.friction
        return self.stepper.friction.force


def step_clock(stepper: SplittingStepper, step: int) -> StepClock:
    """The times of a step with this number."""
    return StepClock(stepper.t0, step - stepper.since, stepper.dt, stepper.scheme.ends)


def owner(stepper: DifferentiableStepper, name: str) -> Owner:
    """The potential with this parameter or datum, or the numbers of holds; None for a field.

    Raises `EnergyError` for a name that a run cannot be differentiated with respect to.
    """
    potentials = stepper.system.potentials
    fields = [n for n in stepper.potential.fields if n not in stepper.potential.fields.derived]
    if name in fields:
        return None
    for potential in potentials:
        if name in potential.arguments:
            return potential
    numbers = stepper.holds.numbers
    if name in numbers:
        if getattr(stepper, "lagrangian", None):
            raise EnergyError(
                f"'{name}': a run of a Lagrangian has no derivative by the numbers of its holds; hold by an"
                " energy with a parameter"
            )
        numbers.place(name)  # raises for a name that two holds have
        return numbers
    numbers.refuse(name)
    known = [*fields, *(n for p in potentials for n in p.arguments), *numbers.names]
    raise EnergyError(f"a run has no derivative with respect to '{name}'{choices(name, known)}")


def felt(potential: Potential, moved: set[str]) -> set[str]:
    """The terms that read a moving field or a map output, all maps, and blocks with common parameters."""
    moved = moved | set(potential.map_outputs)
    felt = {n for n, part in potential.terms.items() if moved & {f.name for f in part.fields.values()}}
    return felt | set(potential.maps) | set(potential.common.blocks)


def rows_of(potential: Potential, name: str) -> Any:
    """Zeros in f64 for the values of "term.argument": (rows, components), a row for each value."""
    term, argument = potential.places_of(name)[0]
    one = potential.parts[term].shape(argument)
    return storage.allocate(np.zeros(potential.shape(name)).reshape(-1, math.prod(one)))
