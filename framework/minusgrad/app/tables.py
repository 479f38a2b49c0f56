"""Tables on the terminal: findings, estimates, run folders, comparisons; and energies as plain data."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ..engine import memory
from ..scene.units import pretty
from .streams import drawing, escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..assembly.fits.estimates import Estimates
    from ..assembly.fits.starts import FitStarts
    from ..check.questions import Finding
    from .compare import Comparison
    from .verify import Answer


ORDERS = ("taylor", "product", "mixed")
"""Questions whose figure is an order of convergence: the larger, the better."""
STATED = ("entries",)
"""Questions whose answer is printed in words, also where it is right: it says how much it proves."""
COUNTS = ("far cells",)
"""Questions whose figure is a number of things."""


BEST = 10
"""The most starts of a fit, and the most alterations of a run, that are printed."""


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under a head; nothing is cut off when the output is not a terminal."""
    console = Console(soft_wrap=False)
    if not console.is_terminal:
        console = Console(width=160)
    columns = (Column(escape(escaped(name)), overflow="fold") for name in head)
    shown = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for row in rows:
        shown.add_row(*(escape(escaped(cell)) for cell in row))
    with drawing(sys.stdout):
        console.print(shown)


def print_findings(asked: "Iterable[Finding]") -> "list[Finding]":
    """Print a table, one row for each term, argument and question with the worst figure over all states; then
    findings and warnings in words. Returns all findings, passed ones included."""
    everything = list(asked)
    worst: dict[tuple[str, str, str, str], Finding] = {}
    for f in everything:
        key = (f.term, f.argument, f.question, f.precision)
        if f.question != "reading" and (key not in worst or _badness(f) > _badness(worst[key])):
            worst[key] = f
    rows = [
        (f.term, f.argument or "(value)", f.question, f.precision, _figure(f), _outcome(f))
        for f in worst.values()
    ]
    print_table(("term", "argument", "question", "precision", "worst figure", ""), rows)
    failed = [f for f in everything if not f.passed]
    unasked = list({(f.term, f.argument, f.text): f for f in everything if f.unasked}.values())
    warned = list({(f.where, f.text): f for f in everything if f.warning}.values())
    for f in failed:
        print(f"{_place(f)}{_about(f)}: {f.text.strip()}")
    for f in {(f.term, f.argument): f for f in everything if f.passed and f.question in STATED}.values():
        print(f"{_place(f)}{_about(f)}: {f.text.strip()}")
    for f in unasked:
        print(f"{_place(f)}{_about(f)}: not asked: {f.text.strip()}")
    for f in warned:
        print(f"{_place(f)}warning: {f.text.strip()}")
    more = f", {len(unasked)} not asked" if unasked else ""
    more += f", {len(warned)} warning{'s' * (len(warned) != 1)}" if warned else ""
    count = len(everything) - len(unasked)
    more += f" ({len(rows)} rows, each the worst answer in several states)" if len(rows) < count else ""
    print(f"{count} questions, {len(failed)} findings{more}")
    return everything


def _about(f: "Finding") -> str:
    """Term, argument and question of a finding."""
    return f"{f.term}{'.' if f.argument else ''}{f.argument}: {f.question}"


def _outcome(f: "Finding") -> str:
    return "not asked" if f.unasked else "ok" if f.passed else "WRONG"


def _place(f: "Finding") -> str:
    return f"{f.where}: " if f.where else ""


def print_estimates(estimates: "Estimates") -> None:
    """Print how a fit ended, and a table of the estimated parameters with their standard errors."""
    from ..assembly.fits.estimates import HEAD

    for line in estimates.head():
        print(f"  {line}")
    print_table(HEAD, estimates.rows())
    for line in estimates.foot():
        print(f"  {line}")


def print_starts(fit: "FitStarts") -> None:
    """Print how many fits ended in which way, and the best of them as a table."""
    print(f"  {fit.search.verdict}")
    rows = fit.results.as_list()
    good = sorted((row for row in rows if "loss" in row), key=lambda row: row["loss"])
    head = ("member", "outcome", "loss", "iterations")
    table = [[f"{row[key]:.8g}" if key == "loss" else str(row[key]) for key in head] for row in good[:BEST]]
    print_table(head, table)
    for row in [row for row in rows if "error" in row][:BEST]:
        print(f"  member {row['member']} failed: {row['error']}")
    print("  all starts and estimates: starts.csv and fit.json in the folder; the best:")


def print_info(found: "Mapping[str, Any]") -> None:
    """Print a run in a few lines, then a table of its recorded series."""
    kind, of = found.get("kind", "run"), f" of {found['last']}" if found.get("last") is not None else ""
    title = f"{found['title']}: " if found.get("title") else ""
    where = f", at {'step' if kind == 'run' else 'iteration'} {found['step']}{of}" if "step" in found else ""
    print(f"{found['folder']}: {title}{kind} {found['state']}{where}")
    if "time" in found:
        unit = "" if found["time_unit"] == "1" else f" {found['time_unit']}"
        print(f"  t = {found['time']:.10g}{unit}, dt = {found['dt']:.10g}{unit}")
    if "members" in found:
        failed = f", {found['failed_members']} failed" if found["failed_members"] else ""
        print(
            f"  {found['members']} members{failed}; one of them:"
            f" minusgrad export {found['folder']} --member N"
        )
    if "member" in found:
        print(f"  member {found['member']} of an ensemble")
    if found.get("varied"):
        print(f"  varied: {', '.join(found['varied'])}")
    for what in ("versions", "plugins"):
        if found.get(what):
            print(f"  {', '.join(f'{name} {version}' for name, version in found[what].items())}")
    if (device := found.get("device") or {}).get("name"):
        print(f"  on {device['arch']}: {device['name']}")
    if one := found.get("initial"):
        of = f" of '{one['title']}'" * bool(one.get("title"))
        print(f"  starts from step {one.get('step')} of another run{of}")
    for one in found.get("fitted", ()):
        of = f" of '{one['title']}'" * bool(one["title"])
        print(f"  starts from iteration {one['iteration']} of a fit{of}: {', '.join(one['values'])}")
    for name, sizes in found.get("sides", {}).items():
        print(f"  side {name}: {sizes}")
    for line in (altered := found.get("altered", []))[:BEST]:
        print(f"  {line}")
    if len(altered) > BEST:
        print(f"  and {len(altered) - BEST} times more, all in journal.jsonl")
    print(f"  checkpoints: {', '.join(found['checkpoints']) or 'none'}")
    print(f"  {found['files']} files, {memory.size(found['bytes'])}")
    for line in [*found["failed"], *found["remarks"]]:
        print(f"  {line}")
    rows = [
        (
            s["name"],
            str(s["rows"]),
            f"{s['first']} .. {s['last']}",
            f"{s['dtype']}{s['shape']}",
            pretty(s["unit"]),
        )
        for s in found["series"]
    ]
    if rows:
        print_table(("series", "rows", "steps", "a row", "unit"), rows)


def print_description(found: "Mapping[str, Any]") -> None:
    """Print what a file contains: a line for each fact, then a table for each list of rows."""
    tables = {name: value for name, value in found.items() if _is_table(value)}
    for name, value in found.items():
        if name == "file":
            print(escaped(str(value)))
        elif name not in tables and value not in (None, [], {}):
            for line in value if isinstance(value, list) else [value]:
                print(f"  {escaped(name)}: {escaped(_fact(line))}")
    for rows in tables.values():
        head = list(rows[0])
        print_table(head, ([_fact(row[key]) for key in head] for row in rows))


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _fact(value: Any) -> str:
    """A number, a text, a place (x, y, z), or facts with their names."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_fact(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_fact, value))})"
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


def print_verification(answers: "Sequence[Answer]", strays: Sequence[str]) -> None:
    """Print a table of verified files, then each failure in words."""
    rows = [(a.what, a.text if a.passed else "", "ok" if a.passed else "WRONG") for a in answers]
    print_table(("file", "contents", ""), rows)
    for answer in answers:
        if not answer.passed:
            print(f"{answer.what}: {answer.text}")
        elif answer.what == "run":
            print(answer.text)
    for stray in strays:
        print(f"{stray}: left by a killed process; `minusgrad resume` deletes it")
    wrong = sum(not a.passed for a in answers)
    print(f"{len(answers)} files and facts verified, {wrong} wrong")


def print_comparison(found: "Comparison") -> None:
    """Print the first difference of each array and series, the earliest first."""
    for step, what, text in found.differences:
        print(f"{what}: {f'step {step}: ' if step is not None else ''}{text}")
    if not found.differences:
        print(f"the same, bit for bit: {found.arrays} arrays of checkpoints, {found.rows} rows of series")
    if found.until is not None:
        print(f"running: compared up to step {found.until}")


def _badness(f: "Finding") -> tuple[bool, bool, float]:
    order = _is_order(f)
    figure = f.figure if f.figure is not None else (9.0 if order else 0.0)
    return not f.passed, f.unasked, -figure if order else figure


def _is_order(f: "Finding") -> bool:
    """True for an order of convergence; of single precision all figures are differences."""
    return f.question in ORDERS and f.precision != "f32"


def _figure(f: "Finding") -> str:
    if f.unasked:
        return "-"
    if _is_order(f):
        unknown = "below rounding" if f.passed else "not finite"
        return unknown if f.figure is None else f"order {f.figure:.2f}"
    if f.question in ("crash", "compile") or (f.figure is None and f.passed):
        return "-"
    if f.figure is not None and f.question in COUNTS:
        return f"{f.figure:.0f}"
    return "not finite" if f.figure is None else f"{f.figure:.1e}"
