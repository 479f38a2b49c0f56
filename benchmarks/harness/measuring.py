"""A case from its question to its row of figures: every column in a process of its own, all in turns.

The answers are compared before the clock matters, and the benchmark stops where one is wrong.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .cases import BenchError, Case, Goal, WrongAnswerError, error
from .pairing import Times, best, paired, ratio
from .process import Process
from .session import Settings
from .worker import LONG

ROUNDS, QUICK_ROUNDS = 7, 3

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """What was measured of one column on one engine ("" where it has none)."""

    column: str
    engine: str
    peer: bool
    first: float
    times: Times
    memory: int | None
    error: float | None
    to_base: float | None = None
    to_peer: float | None = None
    energy: float | None = None

    @property
    def name(self) -> str:
        """As tables show it."""
        return f"{self.column}, {self.engine}" if self.engine else self.column


@dataclass(frozen=True)
class Verdict:
    """A goal, and the ratio that was measured."""

    goal: Goal
    row: str
    measured: float

    @property
    def met(self) -> bool:
        """Whether it is kept to."""
        return self.measured <= self.goal.ratio


@dataclass(frozen=True)
class Measured:
    """A case with its rows, the columns that are missing and why, and its goals."""

    case: Case
    rows: tuple[Row, ...]
    missing: dict[str, str] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()


class Pool(ExitStack):
    """Processes: one for each column of a case, or one for each engine that stays for all cases."""

    def __init__(self) -> None:
        super().__init__()
        self._shared: dict[tuple[str, Settings], Process] = {}

    def process(self, case: Case, settings: Settings, engine: str, until: ExitStack) -> Process:
        """One that ends with the pool, or with `until`."""
        if not case.shared:
            return until.enter_context(contextlib.closing(Process(settings, engine)))
        if (engine, settings) not in self._shared:
            made = self.enter_context(contextlib.closing(Process(settings, engine)))
            self._shared[engine, settings] = made
        return self._shared[engine, settings]


def measure(
    case: Case, settings: Settings, engines: tuple[str, ...], pool: Pool, say: Say = lambda line: None
) -> Measured:
    """Measure a case on the engines; columns that are not written for our engine are there once."""
    settings = replace(settings, threads=case.threads or settings.threads)
    right = cache(lambda expected: expected())
    made: dict[tuple[str, str], Row] = {}
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="minusgrad-bench-")))
        processes: dict[tuple[str, str], Process] = {}
        for number, (name, engine) in enumerate(_columns(case, engines)):
            shown = f"{name}, {engine}" if engine else name
            if case.count > case.columns[name].most:
                missing[shown] = "would take too long"
                continue
            process = pool.process(case, settings, engine or engines[0], stack)
            file = folder / f"{number}.npy"
            answer = _made(process, case, name, file)
            if "missing" in answer:
                missing[shown] = answer["missing"]
                continue
            refuse_other_problem(case, shown, answer["energy"], right)
            expected = case.columns[name].expected or case.expected
            wrong = None if expected is None else error(np.load(file), right(expected))
            file.unlink(missing_ok=True)
            if wrong is not None and wrong > case.tolerance:
                raise WrongAnswerError(f"{case.label}: {shown} computes something else, by {wrong:.1e}")
            processes[name, engine] = process
            row = Row(
                name,
                engine,
                case.columns[name].peer,
                answer["first"],
                Times(()),
                answer["memory"],
                wrong,
                energy=answer["energy"],
            )
            made[name, engine] = row
            say(
                f"  {row.name}: first call {row.first:.3g} s"
                + ("" if wrong is None else f", error {wrong:.1e}")
                + ("" if row.energy is None else f", energy of the start {row.energy:.10g}")
            )
        turns = {row.name: _turn(case, key, processes[key]) for key, row in made.items()}
        times = paired(turns, QUICK_ROUNDS if settings.quick else ROUNDS)
    return _judged(case, [replace(row, times=times[row.name]) for row in made.values()], missing)


def _made(process: Process, case: Case, name: str, file: Path) -> dict[str, Any]:
    """What the process says of the column. A peer that fails is missing; we and C must not."""
    try:
        return process.ask(do="make", case=case.label, column=name, answer=str(file))
    except BenchError as failure:
        if not case.columns[name].peer:
            raise
        return {"missing": f"it failed: {str(failure).strip().splitlines()[-1]}"}


def refuse_other_problem(case: Case, shown: str, energy: float | None, right: Callable[..., Any]) -> None:
    """Unless the column begins with the energy of the case: another cutoff, unit or potential has another."""
    if case.energy is None:
        return
    expected = right(case.energy)
    if energy is None or not abs(energy - expected) <= case.agreement * abs(expected):
        raise WrongAnswerError(
            f"{case.label}: {shown} computes another problem: the energy of its start is {energy}, expected"
            f" {expected:.10g}; give it the same potential, cutoff and units"
        )


def _columns(case: Case, engines: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, column in case.columns.items():
        for engine in engines if column.engine else ("",):
            yield name, engine


def _turn(case: Case, key: tuple[str, str], process: Process) -> Callable[[int], float]:
    last = [0.0]

    def turn(calls: int) -> float:
        wake = last[0] < LONG
        last[0] = process.ask(do="turn", case=case.label, column=key[0], calls=calls, wake=wake)["seconds"]
        return last[0]

    return turn


def _judged(case: Case, rows: list[Row], missing: dict[str, str]) -> Measured:
    """With ratios: to the base, to the fastest peer, and those of the goals."""
    times = {row.name: row.times for row in rows}
    peer = best(times, [row.name for row in rows if row.peer])
    rows = [
        replace(
            row,
            to_base=ratio(row.times, times[base]) if (base := _base(case, row, times)) else None,
            to_peer=ratio(row.times, times[peer]) if peer else None,
        )
        for row in rows
    ]
    return Measured(case, tuple(rows), missing, tuple(_verdicts(case, rows)))


def _base(case: Case, row: Row, times: dict[str, Times]) -> str | None:
    """The row that ratios are to: that of the same engine, where it has one."""
    return next((n for n in (case.base, f"{case.base}, {row.engine}") if n in times), None)


def _verdicts(case: Case, rows: list[Row]) -> Iterator[Verdict]:
    for goal in case.goals:
        for row in rows:
            if row.column != goal.column or (goal.engine and row.engine != goal.engine):
                continue
            for base in rows:
                if base.column == goal.base and base.engine in ("", row.engine):
                    yield Verdict(goal, row.name, ratio(row.times, base.times))
