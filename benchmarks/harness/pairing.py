"""Noise: columns take turns, A B A B, so that whatever else the machine does is felt by all of them.

In its turn a column makes one call that is not timed (its threads wake) and then as many as fill TURN
seconds; a turn gives one number, the time of a call. Of the turns the minimum and the median are kept. Where
they differ by more than UNREST in any column, all columns take as many turns again, RERUNS times at most;
what has not settled then is marked. A column whose calls take FAR times as long as the fastest one's, and
PATIENCE seconds at least, has SELDOM turns in all, and nobody waits for it. No round begins after BUDGET
seconds, but SELDOM are there always.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

TURN, MOST_CALLS = 0.05, 1000
UNREST, RERUNS = 0.2, 2
FAR, PATIENCE, SELDOM = 10.0, 0.2, 3
BUDGET = 120.0

Turn = Callable[[int], float]
"""From a number of calls to the seconds of one."""


@dataclass(frozen=True)
class Times:
    """Seconds a call, turn by turn, of so many calls each."""

    turns: Sequence[float]
    calls: int = 1

    @property
    def minimum(self) -> float:
        """The least."""
        return min(self.turns)

    @property
    def median(self) -> float:
        """The one in the middle."""
        return statistics.median(self.turns)

    @property
    def settled(self) -> bool:
        """Whether minimum and median agree."""
        return self.median <= (1.0 + UNREST) * self.minimum


def paired(columns: Mapping[str, Turn], rounds: int) -> dict[str, Times]:
    """The times of all columns, taken in turns until they have settled."""
    tried = {name: turn(1) for name, turn in columns.items()}
    calls = {name: calls_in_turn(seconds) for name, seconds in tried.items()}
    slow = max(PATIENCE, FAR * min(tried.values()))
    brisk = [name for name, seconds in tried.items() if seconds <= slow]
    turns: dict[str, list[float]] = {name: [] for name in columns}
    spent = 0.0
    for number in range(rounds * (1 + RERUNS)):
        whole = number % rounds == 0 and number > 0
        if whole and all(Times(turns[name]).settled for name in brisk):
            break
        if number >= SELDOM and spent > BUDGET:
            break
        for name, turn in columns.items():
            if name in brisk or number < SELDOM:
                turns[name].append(turn(calls[name]))
                spent += turns[name][-1] * calls[name]
    return {name: Times(tuple(series), calls[name]) for name, series in turns.items()}


def calls_in_turn(seconds: float) -> int:
    """How many calls of so many seconds fill a turn."""
    return max(1, min(MOST_CALLS, int(TURN / max(seconds, 1e-9))))


def ratio(one: Times, other: Times) -> float:
    """How many times as long, by the minima."""
    return one.minimum / other.minimum


def best(times: Mapping[str, Times], among: Iterable[str]) -> str | None:
    """The name of the fastest of some columns, by their minima."""
    return min((name for name in among if name in times), key=lambda name: times[name].minimum, default=None)
