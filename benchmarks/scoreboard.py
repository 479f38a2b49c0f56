"""`minusgrad bench`, `python -m benchmarks`: measure, show, and keep what was measured.

    minusgrad bench [WORK ...] [--engine NAME ...] [--columns WORD ...] [--quick] [--threads N] [--out FILE]

WORK: a name of `works`, or one of its cases such as "gravity_forces[4096-f32]", or the beginning of one.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from minusgrad.engine.runtime import PREFIXES
from minusgrad.errors import UserError, unknown

from .harness import plots, records, session, tables
from .harness.cases import Case
from .harness.measuring import Measured, Pool, measure
from .harness.process import ROOT
from .harness.session import Settings
from .works import WORKS, cases


def run(asked: argparse.Namespace) -> int:
    """Measure what was asked for; 0, and 1 where a goal is missed."""
    engines = tuple(asked.engine or installed())
    if absent := [name for name in engines if name not in installed()]:
        raise UserError(unknown("engine", absent[0], installed(), "installed"))
    settings = Settings(asked.threads or session.cores(), asked.quick)
    session.expect(settings)
    chosen = [narrowed(case, asked.columns) for case in _chosen(asked.works or list(WORKS))]
    if asked.list:
        print("\n".join(case.label for case in chosen))
        return 0
    if find_spec("pytest_benchmark") is None:
        raise UserError("bench needs pytest-benchmark: pip install 'minusgrad[bench]'")
    measured: list[Measured] = []
    file = asked.out or ROOT / "runs" / "bench" / f"{'-'.join(_named(asked.works)) or 'all'}.json"
    with Pool() as pool:
        for case in chosen:
            _say(case.label)
            measured.append(measure(case, settings, engines, pool, _say))
            document = records.document(measured, {"threads": settings.threads, "quick": settings.quick})
            records.written(file, document)
            _show(document, case.label)
    return _verdict(document, file) if measured else 0


def installed() -> list[str]:
    """The engines that can be had."""
    return [name for name in PREFIXES if find_spec(name)]


def _chosen(asked: Iterable[str]) -> Iterator[Case]:
    for word in asked:
        found = [case for case in cases(word.partition("[")[0]) if case.label.startswith(word)]
        if not found:
            raise UserError(f"no case begins with '{word}'; minusgrad bench --list tells them")
        yield from found


def narrowed(case: Case, words: Sequence[str] | None) -> Case:
    """With those columns alone whose name has one of the words, and the one that ratios are to."""
    if not words:
        return case
    kept = {n: c for n, c in case.columns.items() if n == case.base or any(w in n for w in words)}
    return replace(case, columns=kept)


def _named(works: Iterable[str]) -> list[str]:
    return [word.replace("[", "-").replace("]", "") for word in works]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _show(document: dict[str, Any], label: str) -> None:
    group = tables.groups(document)[label]
    print(f"\n{label}\n{tables.text(tables.heads(group), [*tables.rows(group)])}")
    for name, reason in document["missing"].get(label, {}).items():
        print(f"missing: {name} ({reason})")
    print(flush=True)


def _verdict(document: dict[str, Any], file: Path) -> int:
    """Goals, the energies in one table, pictures; 1 where a goal is missed."""
    if of_energies := tables.energies(document):
        print(of_energies)
    if found := tables.goals(document):
        print(tables.text(("case", "column", "goal", "measured", ""), found))
    if str(file) != "-":
        file.with_suffix(".md").write_text(tables.document(document))
        for made in (file, file.with_suffix(".md"), *_pictures(document, file.with_suffix(""))):
            print(made)
    return int(any(not goal["met"] for goal in document["goals"]))


def _pictures(document: dict[str, Any], folder: Path) -> list[Path]:
    if find_spec("matplotlib") is None:
        _say("no pictures: matplotlib is not installed")
        return []
    return plots.plot(document, folder)
