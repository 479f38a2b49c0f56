"""How much of a run is stored for the way back, and what is computed again instead.

The run is cut into blocks. A block on the tape is gone back through at once; the state at the start of some
blocks is kept, and the others are reached again from there. Which ones is the optimal binomial schedule
(Griewank & Walther 2000, ACM Trans. Math. Softw. 26, 19), as `checkpoint_schedules` gives it; the length of
a block is what makes the number of steps that are computed again least, within the budget.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import EnergyError
from .memory import size


@dataclass(frozen=True)
class Plan:
    """A schedule for so many `steps` in blocks of `block`, with `kept` states beside one block's tape.

    `recomputed`: steps that are taken again, in parts of all. `stored`: bytes.
    """

    steps: int
    block: int
    kept: int
    recomputed: float
    stored: int
    budget: int

    @classmethod
    def of(cls, steps: int, step: int, state: int, budget: int) -> "Plan":
        """The best plan: `step` bytes of tape for each step, `state` bytes for each state that is kept.

        Raises `EnergyError` where not even the leanest plan fits into the budget.
        """
        if steps * step + state <= budget:
            return cls(steps, max(steps, 1), 0, 0.0, steps * step + state, budget)
        found = [plan for block in _lengths(steps) if (plan := cls._with(steps, block, step, state, budget))]
        if not found:
            least = 2 * (step + state)
            raise EnergyError(
                f"the way back through a run needs at least {size(least)}, and its budget is {size(budget)}:"
                " give it more `memory`"
            )
        return min(found, key=lambda plan: (plan.recomputed, plan.stored))

    @classmethod
    def _with(cls, steps: int, block: int, step: int, state: int, budget: int) -> "Plan | None":
        from checkpoint_schedules.multistage import optimal_steps_binomial

        blocks = -(-steps // block)
        kept = min((budget - state - block * step) // state, blocks - 1)
        if kept < 1 or blocks - kept > 20 * kept * kept:  # far from any optimum, and slow to count
            return None
        taken = optimal_steps_binomial(blocks, kept)
        stored = block * step + (kept + 1) * state
        return cls(steps, block, kept, taken / blocks - 1.0, stored, budget)

    def __str__(self) -> str:
        if not self.recomputed:
            return f"all {self.steps} steps on the tape, {size(self.stored)}: nothing is computed again"
        return (
            f"{self.steps} steps in blocks of {self.block}, {self.kept} states kept: {size(self.stored)} of"
            f" {size(self.budget)}; {self.recomputed:.3g} of the steps computed again"
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


def _lengths(steps: int) -> list[int]:
    """Block lengths worth trying: powers of two, a little apart."""
    found, length = [], 1.0
    while length < steps:
        found.append(round(length))
        length *= 2.0**0.5
    return sorted(set(found))
