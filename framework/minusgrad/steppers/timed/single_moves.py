"""One step by single launches: a kernel for each piece of a move, energies added up on the host.

For systems too large for a kernel of many steps, and for inspection between two moves. On a device energies
are added up by its tasks (`engine.device_tasks`), so that nothing is copied; but for constraints, which are
solved on the host, and dU/dt of energies with maps or with elements that are rebuilt.

Decisions 0112.
"""

from ..constrained.move_tape import MoveRecorder
from ..moves import Moves
from ..schemes import Scheme
from ..step_sequence import Move
from .move_pieces import LaunchedPieces, StepClock, TapeRow


class SingleMoves:
    """The moves of `moves` by launches; `step` takes a whole one.

    `row`: that of the next step on a tape, counted in steps. `recorder`: of the moves of constrained steps.
    """

    def __init__(self, moves: Moves, scheme: Scheme):
        self.moves, self.scheme = moves, scheme
        self._launched = LaunchedPieces(scheme, moves.pieces(scheme), "integrator")
        self._forces = moves.forces()
        self.row = 0
        self.recorder: MoveRecorder | None = None

    @property
    def time(self) -> float:
        """That of the present positions."""
        return self._launched.t

    def begin(self, number: int, t0: float, dt: float) -> None:
        """Set the number and the time to the start of a step, which began at t0 + number dt."""
        self._launched.begin(StepClock(t0, number, dt, self.scheme.ends, draws=number))

    def step(self, number: int, t0: float, dt: float) -> None:
        """Take a step, with its energies, and its rows of the tape."""
        self.begin(number, t0, dt)
        self._take_all()

    def substep(self, start: float, dt: float, end: float, draws: int) -> None:
        """Take a part of a step, from `start` to `end`; `draws`: the number for which the bath draws."""
        self._launched.begin(StepClock(start, 0, dt, self.scheme.ends, draws, end))
        self._take_all()

    def take(self, move: Move) -> None:
        """One move of the present step."""
        self._launched.move(move, self.row)

    def forces(self, t: float) -> None:
        """dU/dx at the present positions, and the part of it that kicks take."""
        self._launched.run(self._forces, t)

    def begin_tape(self) -> None:
        """Write the present positions to the first row of the tape."""
        assert self.moves.tape
        self._launched.run([TapeRow(self.moves.tape.record_positions, 0)], self.time)

    def _take_all(self) -> None:
        dt = self._launched.clock.dt
        for move in self.scheme.moves:
            begun = self.time
            if self.recorder:
                self.recorder.before(move)
            self.take(move)
            if self.recorder:
                self.recorder.after(move, dt, begun, self.time)
