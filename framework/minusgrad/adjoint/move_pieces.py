"""What a derivative does in a move of a step, as data, and the two ways in which it runs.

    MoveLength    h <- c dt, with the move's coefficient, or half a step
    MoveTime      t <- the end of the move's drift, or an end of the step; in a field's flow the length itself
    TapeRow       fields <- a row of the tape
    EnergySweep   gradients and products of an energy at t, into zeroed arrays
    NodeLoops     loops over nodes that read h and t

A derivative says the pieces of each move once. `JoinedPieces` writes them as code of a kernel of many steps;
`LaunchedPieces` launches them one by one, sweeps as the potential does, where a system is too large for that.

Decisions 0119.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..codegen.derivative_request import DerivativeRequest
from ..engine.kernels import BoundKernel, Code, zero_loops
from ..potential.fused_code import FusedCode
from ..potential.potential import Potential
from ..steppers.step_sequence import Move, rule
from ..steppers.stepper import SplittingStepper


@dataclass(frozen=True)
class MoveLength:
    """h, the length of a move: dt times its coefficient in a `row` of the scheme, without a row times 1/2."""

    row: str = ""


@dataclass(frozen=True)
class MoveTime:
    """t: of the end of the `drift` with the move's number; of the `step`'s start (0) or end (1); else h."""

    of: str


DRIFT_END, STEP_END, OWN = MoveTime("drift"), MoveTime("step"), MoveTime("length")


@dataclass(frozen=True)
class TapeRow:
    """Fields, read from row `each` (step on the tape) + `of_number` (number of the move) + `after`."""

    read: Callable[[str], Code]
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
    """NodeLoops over nodes, made when they are needed."""

    made: Callable[[], Code]


Piece = MoveLength | MoveTime | TapeRow | EnergySweep | NodeLoops
Rules = Mapping[type[Move], Sequence[Piece]]
Place = Mapping[str, str]
"""Of "term.argument": the name that the array of its adjoint has in a larger kernel."""


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
            case MoveLength(row):
                return Code(f"h = {f'{row}[{number}]' if row else 'ti.f64(0.5)'} * dt\n")
            case MoveTime("drift"):
                return Code(f"t = t0 + (first + ti.f64(sub) + ends[{number}]) * dt\n")
            case MoveTime("step"):
                return Code(f"t = t0 + (first + ti.f64(sub + {number})) * dt\n")
            case MoveTime():
                return Code("t = h\n")
            case TapeRow():
                place = number if piece.of_number == 1 else f"({number}) * {piece.of_number}"
                place += f" + {piece.after}" if piece.after else ""
                return piece.read(f"(at + sub) * {piece.each} + {place}")
            case EnergySweep():
                return self._swept(piece)
            case NodeLoops(made):
                return made()

    def _swept(self, piece: EnergySweep) -> Code:
        """A request into zeroed arrays, whose changes are subtracted from the adjoints of parameters."""
        code = FusedCode(piece.potential, piece.prefix)
        swept = code.sweep(piece.request)  # first, because it makes the buffers that `changes` reads
        changed = [n for n in piece.request.changes if n in self._parameters]
        taken = [code.changes(n, self._place[n], self._parameters[n]) for n in changed]
        return Code.joined([*zeros(piece.request), swept, *taken])


class LaunchedPieces:
    """Pieces by a launch each. take: is given the changes of a sweep, by name."""

    def __init__(
        self,
        stepper: SplittingStepper,
        rules: Rules,
        interpreter: str,
        take: Callable[[Mapping[str, Any]], None] | None = None,
    ):
        self._stepper, self._rules, self._interpreter, self._take = stepper, rules, interpreter, take
        self._kernels: dict[int, BoundKernel | None] = {}
        self.t = self.h = 0.0

    def step(self, moves: Sequence[Move], step: int, at: int = 0) -> None:
        """The moves of a step in this order; `at`: its number on the tape."""
        for move in moves:
            for piece in rule(self._rules, move, self._interpreter):
                self._launch(piece, move.number, step, at)

    def run(self, pieces: Sequence[Piece], t: float) -> None:
        """Pieces at a time, outside of a step; row 0 of a tape."""
        self.t = t
        for piece in pieces:
            self._launch(piece, 0, 0, 0)

    def _launch(self, piece: Piece, number: int, step: int, at: int) -> None:
        one = self._stepper
        match piece:
            case MoveLength(row):
                self.h = (getattr(one.scheme, row)[number] if row else 0.5) * one.dt
            case MoveTime("drift"):
                self.t = one.times(step + one.scheme.ends[number])
            case MoveTime("step"):
                self.t = one.times(step + number)
            case MoveTime():
                self.t = self.h
            case TapeRow():
                place = at * piece.each + number * piece.of_number + piece.after
                self._kernel(piece, lambda: piece.read("at"), at=place)
            case EnergySweep():
                changes = piece.potential.sweep(piece.request, self.t).changes
                if self._take:
                    self._take(changes)
            case NodeLoops(made):
                self._kernel(piece, made, t=self.t, h=self.h)

    def _kernel(self, piece: Piece, made: Callable[[], Code], **scalars: float) -> None:
        """Launch the kernel of a piece; does nothing without loops."""
        if id(piece) not in self._kernels:
            code = made()
            self._kernels[id(piece)] = BoundKernel(code, *scalars) if code.text else None
        if kernel := self._kernels[id(piece)]:
            kernel(*scalars.values())


def zeros(asked: DerivativeRequest) -> list[Code]:
    """Zeros in all arrays that a sweep adds to."""
    targets = {f"g_{n}": a for n, a in asked.gradient.items()}
    targets |= {f"h_{n}": a for n, a in asked.product.items()}
    return [zero_loops(name, array) for name, array in targets.items()]
