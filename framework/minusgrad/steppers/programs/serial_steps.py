"""Many steps in one kernel: the loops of a step joined, in a loop over steps on one thread.

A small program is bound by the launches of its kernels, some tens of microseconds each. The joined loops are
those of the launches, in their order, and store every number to the same arrays. So the bits do not depend on
how many steps a call takes, and are those of launches; with fast math, where the compiler may reorder
products and sums inside of one loop, they agree to rounding. The choice depends on the size of the program
alone. On a device a step is a launch, and its loops are tasks of it (`engine.device_tasks`). The times of
steps are computed on the host and read from an array: in a kernel t0 + step dt may be rounded once instead of
twice.

Decisions 0113, 0355.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...engine import runtime, storage
from ...engine.device_tasks import LEAST_WORK, tasks
from ...engine.joined.coalescing import coalesced
from ...engine.joined.flat_loops import flattened
from ...engine.kernels import MOST_ARRAYS, BoundKernel, Code

SMALL = 10_000_000
"""Up to this many statements a step (a few milliseconds), steps are taken inside one kernel."""
LONGEST = 4096
"""The most steps of a launch, of a program of few statements."""
BETWEEN = 500_000_000
"""The most statements of a launch: between two launches, a fraction of a second, Ctrl-C is heard."""
# the names of these locals are no others' in the loops of a step
HEADER = "ti.loop_config(serialize=True)\nfor serial_turn in range(steps):"


class SerialSteps:
    """A kernel that takes steps in their order, or `back` from the last one to the first.

    `loops`: those of a step. They may read the scalars `t`, the time at its start, and `tape_row`, its number
    on a tape. `ending`: loops after them, for which `t` is the time at its end. statements: of a step.
    scratch: arrays that nobody reads after the steps, nor wrote before them: others may stand for them
    (`engine.joined.coalescing`). Loops with more arrays than a kernel may have are divided among several
    kernels, which are launched for every step.
    """

    def __init__(
        self,
        loops: Iterable[Code],
        statements: float,
        ending: Sequence[Code] = (),
        back: bool = False,
        scratch: Iterable[Any] = (),
    ):
        self._back = back
        self._longest = max(1, min(LONGEST, int(BETWEEN / max(statements, 1.0))))
        self._times = storage.allocate(np.zeros(self._longest + 1))
        if any(piece.text for piece in ending):
            end = Code("t = ended\n") if runtime.arch() != "cpu" else self._at("serial_step + 1")
            loops = [*loops, *(Code.joined([end, piece]) for piece in ending)]
        loops = coalesced(map(flattened, loops), scratch)
        if runtime.arch() != "cpu":
            loops = [tasks(Code.joined([Code("tape_row = at\nt = begun\n"), piece])) for piece in loops]
        self._groups = _groups(loops)
        if len(self._groups) > 1:
            self._longest = 1
        self._kernels: list[BoundKernel] = []

    @staticmethod
    def serve(statements: float) -> bool:
        """True for steps of so many statements: little work for one thread, or few seconds of a device."""
        return statements <= (SMALL if runtime.arch() == "cpu" else LEAST_WORK)

    @property
    def launches(self) -> int:
        """The kernels of a step: 1, unless it has too many arrays."""
        return len(self._groups)

    def __call__(self, times: np.ndarray, row: int) -> None:
        """Take steps: `times` at the start of each, and at the end of the last one; `row` of the first."""
        if runtime.arch() != "cpu":
            self._launch_each(times, row)
            return
        if not self._kernels:
            self._kernels = [BoundKernel(self._looped(group), "steps", "at") for group in self._groups]
        count = len(times) - 1
        begins = range(0, count, self._longest)
        for begin in reversed(begins) if self._back else begins:
            steps = min(self._longest, count - begin)
            some = np.full(tuple(self._times.shape), times[begin + steps])
            some[:steps] = times[begin : begin + steps]
            storage.store(self._times, some)
            for kernel in self._kernels:
                kernel(steps, row + begin)

    def _launch_each(self, times: np.ndarray, row: int) -> None:
        """Take steps on a device, by a launch each."""
        if not self._kernels:
            scalars = ("begun", "ended", "at")
            self._kernels = [BoundKernel(Code.merged(group), *scalars) for group in self._groups]
        steps = range(len(times) - 1)
        for step in reversed(steps) if self._back else steps:
            for kernel in self._kernels:
                kernel(float(times[step]), float(times[step + 1]), row + step)

    def _looped(self, loops: Sequence[Code]) -> Code:
        step = "steps - 1 - serial_turn" if self._back else "serial_turn"
        begin = Code(f"serial_step = {step}\ntape_row = at + serial_step\n")
        return Code.merged([begin, self._at("serial_step"), *loops]).inside(HEADER)

    def _at(self, step: str) -> Code:
        return Code(f"t = times[{step}]\n", {"times": self._times})


def _groups(loops: Iterable[Code]) -> list[list[Code]]:
    """The loops in their order, divided where a kernel would have too many arrays."""
    groups: list[list[Code]] = [[]]
    arrays: set[int] = set()
    for piece in loops:
        own = {id(array) for array in piece.arrays.values()}
        if len(arrays | own) >= MOST_ARRAYS:  # one more is that of the times
            groups.append([])
            arrays = set()
        groups[-1].append(piece)
        arrays |= own
    return [group for group in groups if group]
