"""What a conformance report asks of a plugin, with the engine of this process, as rows.

    derivatives, symmetries, precision   the exam, and the questions of `check`
    units          one dimension fits, in any system of units (`exam.dimensions`)
    determinism    the same bits on 1 and 2 threads, and twice
    state          of a scene: a copy of its state, restored into a scene that was built again, goes on with
                   the same bits
    cost           time of a gradient for an element, beside that of a known energy

A row is about one energy, or one scene; the figure is the worst of its findings.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...assembly.registry import Registry
from ...check.questions import Finding
from ...energies.constraint import Constraint
from ...energies.lagrangian import Lagrangian
from ...energies.local_energy import LocalEnergy
from ...energies.magnetic_field import MagneticField
from ...engine import runtime
from ...errors import MinusgradError, TraceError
from ...exam import dimensions, energy_exam
from ...exam.instances import Instance
from ..runs import build
from .check_process import questions_to
from .exam import in_words, loaded

MANY = {"pairs": (1500, 0), "triples": (60, 0), "nodes": (100_000, 0), "cells": (4096, 0)}
"""Nodes and tuples of the potential that is timed, by what an energy is over; else `LISTED`."""
LISTED = (20_000, 60_000)
REPEATS, STEPS, THREADS = 5, 5, (1, 2, 1)
KNOWN = {"nodes": "body_force", "pairs": "gravity"}
"""The energy beside which one is timed, by what it is over; of tuples `spring`."""
MEASURED = "measured"
NOT_ASKED = "not asked"


@dataclass(frozen=True)
class ConformanceRow:
    """An answer. `result`: "pass", "FAIL", "measured" or "not asked"; `figure`: a number, if there is one."""

    subject: str
    question: str
    engine: str
    result: str
    figure: float | None = None
    text: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def rows(plugin: str, scenes: Sequence[str], seen: Callable[[str], None]) -> Iterator[ConformanceRow]:
    """All rows of a plugin with this engine; `seen` is called with what comes next.

    Raises `UserError` for a plugin that cannot be loaded.
    """
    registry = loaded(plugin)
    energies = registry.of_plugin(plugin)
    for energy in energies:
        for question, ask in _questions(energy, registry).items():
            seen(f"{energy.name}: {question}")
            yield _row(energy.name, question, ask)
    for energy in energies:
        seen(f"{energy.name}: cost")
        yield _cost(energy)
    for scene in scenes:
        seen(f"{scene}: state")
        yield _state(scene)
    asked = [energy for energy in energies if energy_exam.can_be_examined(energy)]
    yield from _determinism(asked, seen)
    if not energies:
        yield _of(plugin, "derivatives", NOT_ASKED, "it has no energies, maps or constraints")
    if not scenes:
        yield _of(plugin, "state", NOT_ASKED, "no scene of it was found; name some by --scene FILE.toml")


def _questions(energy: Any, registry: Registry) -> dict[str, Callable[[], Iterator[Finding]]]:
    """The questions to one energy by name, each over all dimensions of space."""
    found: dict[str, Callable[[], Iterator[Finding]]] = {}
    if energy_exam.can_be_examined(energy):
        one = _instance(energy)
        for name in energy_exam.questions(one):
            found[name] = partial(_everywhere, one, name)
    found["check"] = partial(questions_to, energy, registry)
    if isinstance(energy, LocalEnergy) and not isinstance(energy, Lagrangian | MagneticField):
        found["units"] = partial(dimensions.units, energy, 3)
    return found


def _everywhere(one: Instance, name: str) -> Iterator[Finding]:
    for d in one.dimensions:
        yield from energy_exam.questions(one)[name](d)


def _instance(energy: Any) -> Instance:
    return Instance(energy.weighted_energy() if isinstance(energy, Constraint) else energy, compiles=None)


def _row(subject: str, question: str, ask: Callable[[], Iterator[Finding]]) -> ConformanceRow:
    """One row of all findings of a question; one that cannot be asked is no failure of `units`."""
    try:
        found = [*ask()]
    except TraceError as error:
        if question == "units":
            return _of(subject, question, NOT_ASKED, "its elements are made by a scene")
        return _of(subject, question, "FAIL", str(error))
    except MinusgradError as error:
        return _of(subject, question, "FAIL", str(error))
    except Exception as error:  # of the plugin's code, or of the engine that compiles it
        return _of(subject, question, "FAIL", f"{type(error).__name__}: {str(error).strip()}")
    failed = [f for f in found if not f.passed]
    if not found:
        return _of(subject, question, NOT_ASKED, "there is nothing to compare")
    figures = [f.figure for f in failed or found if f.figure is not None and np.isfinite(f.figure)]
    errors = question in ("values", "products", "precision", "symmetry")
    figure = max(figures, default=None) if errors else None
    text = (
        in_words(failed[0]) if failed else found[0].text if question == "units" else f"{len(found)} answers"
    )
    return ConformanceRow(
        subject, question, runtime.engine_name(), "FAIL" if failed else "pass", figure, text
    )


def _determinism(energies: Sequence[Any], seen: Callable[[str], None]) -> Iterator[ConformanceRow]:
    """The bits of many elements, on 1 and 2 threads, and on 1 once more."""
    bits: list[dict[str, list[bytes]]] = []
    for threads in THREADS if energies else ():
        runtime.start(runtime.Options(threads=threads))
        seen(f"bits on {threads} threads")
        bits.append({e.name: energy_exam.bits(_instance(e), _instance(e).dimensions[-1]) for e in energies})
    for energy in energies:
        one, two, again = (found[energy.name] for found in bits)
        text = f"{len(one)} arrays of 300 nodes, 900 elements, on 1, 2 and again 1 threads"
        yield _of(energy.name, "determinism", "pass" if one == two == again else "FAIL", text)


def _state(scene: str) -> ConformanceRow:
    """Five steps, a copy of the state, five more; the copy in a scene that is built again, five more."""
    try:
        first = build(scene)
        first.step(STEPS)
        kept = first.snapshot()
        first.step(STEPS)
        second = build(scene)
        second.restore(kept)
        second.step(STEPS)
        ends = first.snapshot().arrays, second.snapshot().arrays
    except MinusgradError as error:
        return _of(Path(scene).name, "state", "FAIL", str(error))
    differ = [n for n in {**ends[0], **ends[1]} if not _same(ends[0].get(n), ends[1].get(n))]
    text = f"{len(ends[0])} arrays, the same bits after {STEPS} steps from a restored copy"
    if differ:
        text = f"a restored copy goes on with other bits in: {', '.join(sorted(differ))}"
    return _of(Path(scene).name, "state", "FAIL" if differ else "pass", text)


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is not None and other is not None and one.tobytes() == other.tobytes()


def _cost(energy: Any) -> ConformanceRow:
    """Nanoseconds of a gradient for an element, beside the known energy with elements of this kind."""
    if not energy_exam.can_be_examined(energy):
        return _of(energy.name, "cost", NOT_ASKED, "its elements are made by a scene")
    one = _instance(energy)
    over = energy.over if isinstance(energy.over, str) else "tuples"
    name = KNOWN.get(over, "spring")
    beside = Registry.load(["elastic", "gravity"]).energies()[name]
    try:
        own, known = _seconds(one), _seconds(_instance(beside))
    except MinusgradError as error:
        return _of(energy.name, "cost", NOT_ASKED, str(error))
    text = f"ns an element; {own / known:.2g} x {name}, which takes {known:.3g} ns"
    return ConformanceRow(energy.name, "cost", runtime.engine_name(), MEASURED, own, text)


def _seconds(one: Instance) -> float:
    """Nanoseconds of a gradient by an element, the least of some repeats after the first."""
    n, e = MANY.get(str(one.energy.over), LISTED)
    potential = one.potential(np.random.default_rng(3), one.dimensions[-1], n, e)
    (term,) = potential.terms.values()
    count = n * (n - 1) // 2 if one.energy.over == "pairs" else term.elements.count
    name = next(iter(term.fields.values())).name
    best = np.inf
    for _ in range(REPEATS + 1):
        runtime.sync()
        begun = time.perf_counter()
        potential.gradient(name, energy_exam.T)
        runtime.sync()
        best = min(best, time.perf_counter() - begun)
    return 1e9 * best / count


def _of(subject: str, question: str, result: str, text: str) -> ConformanceRow:
    return ConformanceRow(subject, question, runtime.engine_name(), result, None, text)
