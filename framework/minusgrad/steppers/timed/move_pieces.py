"""What happens in a move of a step, as data, and the two ways in which it runs.

    MoveLength    h <- c dt, with the move's coefficient, or a part of the step
    MoveTime      t <- the end of the move's drift, or an end of the step; in a field's flow the length itself
    TapeRow       fields to a row of the tape, or from it
    EnergySweep   gradients and products of an energy at t, into zeroed arrays
    NodeLoops     loops over nodes that read h, t and the number of the step
    HostMove      loops on one thread, such as sums; launched, what the host does in their place
    BeforeKick    pieces for the kick that follows

A stepper says the pieces of each move once (`moves`), and so do its adjoint and its tangents.
`JoinedPieces` writes them as code of a kernel of many steps; `LaunchedPieces` launches them one by one, where
a system is too large for that, with sweeps as the potential makes them.

Decisions 0112, 0119.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...codegen.derivative_request import DerivativeRequest
from ...engine import runtime
from ...engine.device_tasks import tasks
from ...engine.kernels import BoundKernel, Code, short_loops_serial, zero_loops
from ...potential.fused_code import FusedCode
from ...potential.potential import Potential
from ..schemes import Scheme
from ..step_sequence import Move, rule


@dataclass(frozen=True)
class MoveLength:
    """h, the length of a move: `part` of dt, times the move's coefficient in a `row` of the scheme."""

    row: str = ""
    part: float = 1.0


@dataclass(frozen=True)
class MoveTime:
    """t: that of the end of the `drift`, or h before it, or of an end of the `step`; else h itself."""

    of: str


HALF_STEP, DRIFT = MoveLength(part=0.5), MoveLength("drifts")
DRIFT_END, BEFORE_DRIFT_END = MoveTime("drift"), MoveTime("drift less h")
STEP_END, OWN = MoveTime("step"), MoveTime("length")
"""`STEP_END`: the start of the step for a move with number 0, the end for 1."""


@dataclass(frozen=True)
class TapeRow:
    """Copies fields to or from row `each` (step on the tape) + `of_number` (number of the move) + `after`."""

    copied: Callable[[str], Code]
    each: int
    of_number: int = 1
    after: int = 0


@dataclass(frozen=True)
class EnergySweep:
    """A request to a potential; the names of its arrays in a larger kernel begin with `prefix`."""

    potential: Potential
    request: DerivativeRequest
    prefix: str = "term"


@dataclass(frozen=True)
class NodeLoops:
    """Loops over nodes, made when they are needed."""

    made: Callable[[], Code]


@dataclass(frozen=True)
class HostMove:
    """What the host does between launches, where a kernel of many steps has loops in order on one thread.

    joined: these loops, given the number of the move as text. as_tasks: a device may launch them.
    """

    launched: Callable[["LaunchedPieces"], object]
    joined: Callable[[str], Sequence[Code]] | None = None
    as_tasks: bool = True


@dataclass(frozen=True)
class BeforeKick:
    """Pieces for the kick with the next number; one kernel leaves them out where `kicks` has a zero.

    The last ones of a call are not left out: they are the stepper's.
    """

    pieces: "Sequence[Piece]"
    kicks: Sequence[float]


Piece = MoveLength | MoveTime | TapeRow | EnergySweep | NodeLoops | HostMove | BeforeKick
Rules = Mapping[type[Move], Sequence[Piece]]
Place = Mapping[str, str]
"""Of "term.argument": the name that the array of its adjoint has in a larger kernel."""


@dataclass(frozen=True)
class StepClock:
    """The times of a step, which began at t0 + number dt; `ends`: its part that is over after each drift.

    end: the time of its end, where that is known otherwise. draws: the number for which a heat bath draws.
    """

    t0: float
    number: int
    dt: float
    ends: Sequence[float]
    draws: int = 0
    end: float | None = None

    def after_drift(self, drift: int) -> float:
        """The time after a drift; after the last one it is exactly that of the next step."""
        if self.end is not None and drift + 1 == len(self.ends):
            return self.end
        return self.t0 + (self.number + self.ends[drift]) * self.dt

    def at(self, end: int) -> float:
        """The time of the step's start (0) or end (1)."""
        return self.t0 + (self.number + end) * self.dt


class JoinedPieces:
    """Pieces as code for scalars first, t0, dt, `sub` and `at`; an `Emit` of a sequence.

    `parameters`: the arrays of adjoints from which sweeps take their changes, under the names of `place`.
    """

    def __init__(
        self,
        rules: Rules,
        interpreter: str,
        parameters: Mapping[str, Any] | None = None,
        place: Place | None = None,
    ):
        self._rules, self._interpreter = rules, interpreter
        self._parameters, self._place = parameters or {}, place or {}

    def __call__(self, move: Move, number: str) -> list[Code]:
        return self.of(rule(self._rules, move, self._interpreter), number)

    def of(self, pieces: Sequence[Piece], number: str) -> list[Code]:
        """The code of pieces in a move of this number."""
        return [self._code(piece, number) for piece in pieces]

    def _code(self, piece: Piece, number: str) -> Code:
        match piece:
            case MoveLength(row, part):
                factors = [
                    *([f"ti.f64({part})"] if part != 1.0 else []),
                    *([f"{row}[{number}]"] if row else []),
                ]
                return Code(f"h = {' * '.join([*factors, 'dt'])}\n")
            case MoveTime("drift"):
                return Code(f"t = t0 + (first + ti.f64(sub) + ends[{number}]) * dt\n")
            case MoveTime("drift less h"):
                return Code(f"t = t0 + (first + ti.f64(sub) + ends[{number}]) * dt - h\n")
            case MoveTime("step"):
                return Code(f"t = t0 + (first + ti.f64(sub + {number})) * dt\n")
            case MoveTime():
                return Code("t = h\n")
            case TapeRow():
                place = number if piece.of_number == 1 else f"({number}) * {piece.of_number}"
                place += f" + {piece.after}" if piece.after else ""
                return piece.copied(f"(at + sub) * {piece.each} + {place}")
            case EnergySweep():
                return self._swept(piece)
            case NodeLoops(made):
                return made()
            case HostMove(joined=joined):
                assert joined
                return Code.joined(joined(number))
            case BeforeKick(pieces, kicks):
                return self._before_kick(pieces, kicks, number)

    def _before_kick(self, pieces: Sequence[Piece], kicks: Sequence[float], number: str) -> Code:
        code = Code.joined(self.of(pieces, number))
        if number.isdecimal():  # of a single step, whose last forces are computed apart
            return code if kicks[int(number) + 1] else Code("")
        return code.inside(f"if kicks[{number} + 1] != 0.0 or sub + 1 == steps:")

    def _swept(self, piece: EnergySweep) -> Code:
        """A request into zeroed arrays, whose changes are subtracted from the adjoints of parameters."""
        code = FusedCode(piece.potential, piece.prefix)
        swept = code.sweep(piece.request)  # first, because it makes the buffers that `changes` reads
        changed = [n for n in piece.request.changes if n in self._parameters]
        taken = [code.changes(n, self._place[n], self._parameters[n]) for n in changed]
        return Code.joined([*zeros(piece.request), swept, *taken])


class LaunchedPieces:
    """Pieces by a launch each, with the present `clock`, `number` of the move, time `t` and length `h`.

    take: is given the changes of a sweep, by name.
    """

    def __init__(
        self,
        scheme: Scheme,
        rules: Rules,
        interpreter: str,
        take: Callable[[Mapping[str, Any]], None] | None = None,
    ):
        self.scheme, self._rules, self._interpreter, self._take = scheme, rules, interpreter, take
        self._kernels: dict[Callable[..., Any], BoundKernel | None] = {}
        self._device = runtime.arch() != "cpu"
        self.clock = StepClock(0.0, 0, 0.0, scheme.ends)
        self.number = 0
        self.t = self.h = 0.0

    def begin(self, clock: StepClock) -> None:
        """Set the clock to a step, and the time to its start."""
        self.clock, self.t = clock, clock.at(0)

    def move(self, move: Move, at: int = 0) -> None:
        """One move of the step whose `clock` is set; `at`: its number on the tape."""
        self.number = move.number
        for piece in rule(self._rules, move, self._interpreter):
            self._launch(piece, at)

    def run(self, pieces: Sequence[Piece], t: float) -> None:
        """Pieces at a time, outside of a step; row 0 of a tape."""
        self.t, self.number = t, 0
        for piece in pieces:
            self._launch(piece, 0)

    def launch(self, made: Callable[[], Code]) -> None:
        """Launch loops at the present time, length and step; does nothing without loops."""
        self._launch_loops(made, lambda: short_loops_serial(made()))

    def _launch_loops(self, key: Callable[..., Any], made: Callable[[], Code]) -> None:
        self._run_kernel(key, made, t=self.t, h=self.h, number=float(self.clock.draws))

    def _launch(self, piece: Piece, at: int) -> None:
        number = self.number
        match piece:
            case MoveLength(row, part):
                self.h = part * ((getattr(self.scheme, row)[number] if row else 1.0) * self.clock.dt)
            case MoveTime("drift"):
                self.t = self.clock.after_drift(number)
            case MoveTime("drift less h"):
                self.t = self.clock.after_drift(number) - self.h
            case MoveTime("step"):
                self.t = self.clock.at(number)
            case MoveTime():
                self.t = self.h
            case TapeRow(copied):
                place = at * piece.each + number * piece.of_number + piece.after
                self._run_kernel(copied, lambda: copied("at"), at=place)
            case EnergySweep():
                self._sweep(piece)
            case NodeLoops(made):
                self.launch(made)
            case HostMove(launched, joined, as_tasks):
                if self._device and as_tasks and joined:
                    self._launch_loops(joined, lambda: tasks(Code.joined(joined(str(number)))))
                else:
                    launched(self)
            case BeforeKick(pieces):
                for one in pieces:
                    self._launch(one, at)

    def _sweep(self, piece: EnergySweep) -> None:
        request = piece.request
        if not (request.product or request.changes or request.tangents):
            piece.potential.gradient_into(request.gradient, self.t)
            return
        changes = piece.potential.sweep(request, self.t).changes
        if self._take:
            self._take(changes)

    def _run_kernel(self, key: Callable[..., Any], made: Callable[[], Code], **scalars: float) -> None:
        if key not in self._kernels:
            code = made()
            self._kernels[key] = BoundKernel(code, *scalars) if code.text else None
        if kernel := self._kernels[key]:
            kernel(*scalars.values())


def zeros(asked: DerivativeRequest) -> list[Code]:
    """Zeros in all arrays that a sweep adds to."""
    targets = {f"g_{n}": a for n, a in asked.gradient.items()}
    targets |= {f"h_{n}": a for n, a in asked.product.items()}
    return [zero_loops(name, array) for name, array in targets.items()]
