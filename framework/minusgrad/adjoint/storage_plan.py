"""Storage plan: which states of a run are stored for its adjoint, and which are recomputed.

The run is cut into blocks. The adjoint of a block needs all of its states on the tape. The states at the
start of some blocks are kept; the other blocks are recomputed from them, by the optimal binomial schedule
(Griewank & Walther 2000, ACM Trans. Math. Softw. 26, 19; package `checkpoint_schedules`). With s states kept,
n blocks recompute

    r n - C(s + r, s + 1)  blocks,        r the least number with n <= C(s + r, s).

The length of a block minimises the number of recomputed steps within the budget.

Decisions 0249.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

from ..engine.memory import size
from ..errors import EnergyError, at_key

PRESENT = 3
"""States in memory besides those kept: the state at the start of the run, and copies of the present one."""


@dataclass(frozen=True)
class Plan:
    """A schedule for `steps` steps in blocks of `block`, with `kept` states beside one block's tape.

    `again`: the number of recomputed steps. `stored`: bytes, at most.
    """

    steps: int
    block: int
    kept: int
    again: int
    stored: int
    budget: int

    @classmethod
    def of(
        cls, steps: int, tape: Callable[[int], int], state: int, budget: int, longest: int | None = None
    ) -> "Plan":
        """The plan with the fewest recomputed steps; `tape(k)`: bytes of k steps, `state`: bytes of a state.

        `longest`: most steps of a block. Raises `EnergyError` if the smallest plan exceeds the budget.
        """
        lengths = _lengths(max(steps, 1), longest or max(steps, 1))
        found = [plan for b in lengths if (plan := cls._with(steps, b, tape(b), state, budget))]
        if not found:
            least = min(tape(b) + (PRESENT + (b < steps)) * state for b in lengths)
            with at_key("memory"):
                raise EnergyError(
                    f"the adjoint of a run: needs at least {size(least)}, got a budget of {size(budget)};"
                    " give it more `memory`"
                )
        return min(found, key=lambda plan: (plan.again, plan.stored))

    @classmethod
    def _with(cls, steps: int, block: int, tape: int, state: int, budget: int) -> "Plan | None":
        blocks = max(1, -(-steps // block))
        kept = min((budget - tape) // state - PRESENT, blocks - 1)
        if kept < min(1, blocks - 1):
            return None
        stored = tape + (kept + PRESENT) * state
        return cls(steps, block, kept, taken_again(blocks, kept) * block, stored, budget)

    @property
    def recomputed(self) -> float:
        """Recomputed steps as a fraction of all steps."""
        return self.again / max(self.steps, 1)

    def __str__(self) -> str:
        if not self.again:
            return f"storing all {self.steps} steps ({size(self.stored)}); no recomputation"
        return (
            f"storing {self.kept} states of {self.steps} steps in blocks of {self.block}"
            f" ({size(self.stored)} of {size(self.budget)}); recomputing {self.recomputed:.3g} of the steps"
        )

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """First step and end of each block."""
        begins = range(0, self.steps, self.block) if self.steps else [0]
        return [(begin, min(begin + self.block, self.steps)) for begin in begins]

    def actions(self) -> Iterator[Any]:
        """The schedule, in numbers of blocks: Forward, Reverse, Copy and Move."""
        from checkpoint_schedules import MultistageCheckpointSchedule

        return iter(MultistageCheckpointSchedule(len(self.blocks), max(self.kept, 1), 0))


def taken_again(blocks: int, kept: int) -> int:
    """The number of blocks that the schedule recomputes; those on the tape from the start are not."""
    if blocks == 1:
        return 0
    often = 0
    while comb(kept + often, kept) < blocks:
        often += 1
    return often * blocks - comb(kept + often, kept + 1)


def _lengths(steps: int, longest: int) -> list[int]:
    """Block lengths to try: all steps, and about equal parts of them, in ever more parts."""
    parts = {*range(1, 17), *(round(2.0 ** (k / 4.0)) for k in range(4 * steps.bit_length())), steps}
    return sorted({-(-steps // n) for n in parts if n <= steps and -(-steps // n) <= longest} | {1})
