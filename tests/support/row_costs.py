"""Which rows `make test` leaves to `make long`, by the CPU time that each takes.

    python -m pytest -n 2 --dist loadfile -m "not long" --row-costs runs/costs
    python -m tests.support.row_costs runs/costs [SLOWER]

The first command writes the CPU seconds of each row, with those of the processes it waits for, to a file for
each worker; the second one rewrites `costly_rows.txt`. A row of more than `COSTLY` seconds is long, but for
the cheapest row of its function if that takes `SAMPLE` seconds at most, and the cheapest row of its file.
SLOWER (default: 1) is how many times longer the processor takes than the one that both bounds are meant for,
which adds ten million numbers in a loop of Python in 0.7 s.
Rows that were not measured stay as they are.
"""

import os
import resource
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

COSTLY, SAMPLE = 0.15, 10.0
"""Seconds of a core: of a row that is long, and of a sample that is not."""
LIST = Path(__file__).with_name("costly_rows.txt")


def cpu() -> float:
    """CPU seconds of this process and of the children that it has waited for."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in spent)


def noted(folder: Path, row: str, seconds: float) -> None:
    """Append the cost of a row to this worker's file."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{os.getpid()}.txt").open("a") as file:
        file.write(f"{seconds:.3f} {row.removeprefix('tests/')}\n")


def measured(folder: Path, slower: float = 1.0) -> dict[str, float]:
    """The cost of each row that was measured, on a processor that is so many times slower."""
    lines = [line for path in sorted(folder.glob("*.txt")) for line in path.read_text().splitlines()]
    return {row: float(cost) / slower for cost, _, row in (line.partition(" ") for line in lines)}


def costly(costs: Mapping[str, float]) -> set[str]:
    """The rows that are long."""
    samples = {row for row, cost in _cheapest(costs, "[").items() if cost <= SAMPLE} | {
        *_cheapest(costs, "::")
    }
    return {row for row, cost in costs.items() if cost > COSTLY and row not in samples}


def _cheapest(costs: Mapping[str, float], end: str) -> dict[str, float]:
    """Of the rows whose names are equal up to `end` the cheapest one."""
    alike: dict[str, list[str]] = defaultdict(list)
    for row in costs:
        alike[row.partition(end)[0]].append(row)
    return {row: costs[row] for rows in alike.values() for row in [min(rows, key=costs.__getitem__)]}


def rewritten(before: Iterable[str], costs: Mapping[str, float]) -> list[str]:
    """The lines of `costly_rows.txt`."""
    return sorted({row for row in before if row not in costs} | costly(costs))


if __name__ == "__main__":
    costs = measured(Path(sys.argv[1]), *map(float, sys.argv[2:3]))
    rows = rewritten(LIST.read_text().splitlines()[1:], costs)
    head = "# Rows that `make test` leaves to `make long`, chosen by their CPU time (`row_costs.py`)."
    LIST.write_text("\n".join([head, *rows, ""]))
    stays = sum(cost for row, cost in costs.items() if row not in {*rows})
    print(
        f"{len(rows)} rows are long; of {sum(costs.values()):.0f} CPU s that were measured {stays:.0f} stay"
    )
