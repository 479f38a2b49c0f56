"""Steps on a device: every loop of a step is a task of many threads, and a step is one launch.

On the CPU small systems take many steps inside one loop on one thread. On a device that thread would be the
slowest of thousands, so there the same loops stand at the top level of a kernel, where the engine makes a
task of each. Tasks of a launch follow one another on the device, without the host between them. A launch has
one step, so the bits do not depend on how many steps a call takes.

    tasks    the loops of a step for one thread, with scalars between them, as tasks

Scalars between loops are computed by every thread of the loops that read them. A sum in a loop, written as
`total[0] = total[0] + number`, is a race between threads: its loop is dealt to `COLUMNS` threads, whose sums
are added up in a tree. The order depends on the number of turns alone, and there are no atomics.

Decisions 0210.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from . import storage
from .kernels import MOST_ARRAYS, BoundKernel, Code, words

COLUMNS, ROWS = 1 << 14, 1 << 7
"""Threads of a loop with a sum; threads that add up their sums: its square root."""
LEAST_WORK = 1 << 33
"""Steps of so many statements are launched move by move, each perhaps in slices: seconds on any device."""
_SUM = re.compile(r"^( +)(\w+\[0(?:, \d+)?\]) = \2 ([+-]) (.*)$", re.M)
_ASSIGNED = re.compile(r"(\w+) = (.*)\n$")
_LOOP = re.compile(r"for (\w+) in range\((.*)\):$")


def tasks(code: Code) -> Code:
    """The loops of a step as tasks of a device, for a kernel with the same scalars."""
    scalars: list[tuple[str, str]] = []
    text: list[str] = []
    arrays = dict(code.arrays)
    for part in re.split(r"^(?=\S)", code.text, flags=re.M):
        if found := _ASSIGNED.match(part):
            scalars.append((found[1], found[2]))
        elif part.startswith("for "):
            header, _, body = part.partition("\n")
            index = header.split()[1]
            inside = _needed_statements([one for one in scalars if one[0] != index], body) + body
            own, more = _sum_tasks(header, inside, len(arrays))
            text.append(own)
            arrays |= more
        elif part:
            assert part.startswith("ti.loop_config"), part
            text.append(part)
    return Code("".join(text), arrays)


def steps_of_tasks(code: Code, *counts: str, back: bool = False) -> Callable[..., None] | None:
    """Steps by one launch each, called as a kernel of many steps is; None if one has too many arrays.

    code: the loops of a step, whose scalars are first, t0 and dt, and others that count steps like `first`.
    back: from the last step to the first.
    """
    made = tasks(code)
    if len(made.arrays) > MOST_ARRAYS:
        return None
    step = BoundKernel(made, "first", "t0", "dt", *counts)

    def launch(steps: int, first: float, t0: float, dt: float, *begins: int) -> None:
        for k in reversed(range(steps)) if back else range(steps):
            step(first + k, t0, dt, *(begin + k for begin in begins))

    return launch


def _needed_statements(scalars: list[tuple[str, str]], body: str) -> str:
    """The statements before a loop that compute the scalars that it reads, as statements inside of it."""
    wanted, chosen = set(words(body)), []
    for name, value in reversed(scalars):
        if name in wanted:
            wanted = wanted - {name} | set(words(value))
            chosen.append(f"    {name} = {value}\n")
    return "".join(reversed(chosen))


def _sum_tasks(header: str, body: str, number: int) -> tuple[str, dict[str, Any]]:
    """A loop as tasks: one, or those of its sums; and the arrays of these."""
    found = _LOOP.match(header)
    totals = list(dict.fromkeys(match[2] for match in _SUM.finditer(body)))
    if not totals or found is None or found[2] == "1":
        return f"{header}\n{body}", {}
    index, count = found[1], found[2]
    names = {total: f"sum{number}_{k}" for k, total in enumerate(totals)}

    def added(line: re.Match[str]) -> str:
        return f"{line[1]}own_{names[line[2]]} = own_{names[line[2]]} {line[3]} {line[4]}"

    inner = _SUM.sub(added, body).replace("\n    ", "\n        ")
    of_columns = names[totals[0]]
    lines = [
        f"for column in range({of_columns}.shape[0]):",
        *(f"    own_{name} = ti.f64(0.0)" for name in names.values()),
        f"    for turn in range(({count} - column + {of_columns}.shape[0] - 1) // {of_columns}.shape[0]):",
        f"        {index} = column + turn * {of_columns}.shape[0]",
        f"    {inner.rstrip()}",
        *(f"    {name}[column] = own_{name}" for name in names.values()),
        f"for row in range(rows_{of_columns}.shape[0]):",
    ]
    wide = f"({of_columns}.shape[0] // rows_{of_columns}.shape[0])"
    for name in names.values():
        lines += [
            f"    of_{name} = ti.f64(0.0)",
            f"    for k in range({wide}):",
            f"        of_{name} = of_{name} + {name}[row * {wide} + k]",
            f"    rows_{name}[row] = of_{name}",
        ]
    lines.append("for whole in range(1):")
    for total, name in names.items():
        lines += [
            f"    all_{name} = ti.f64(0.0)",
            f"    for k in range(rows_{name}.shape[0]):",
            f"        all_{name} = all_{name} + rows_{name}[k]",
            f"    {total} = {total} + all_{name}",
        ]
    made = {name: storage.allocate(np.zeros(COLUMNS)) for name in names.values()}
    made |= {f"rows_{name}": storage.allocate(np.zeros(ROWS)) for name in names.values()}
    return "".join(f"{line}\n" for line in lines), made
