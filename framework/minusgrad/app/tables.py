"""Tables for people, and the same facts as plain data."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..engine import memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..assembly.estimates import Estimates
    from ..assembly.registry import Entry
    from ..check.questions import Finding
    from .compare import Comparison
    from .verify import Answer


ORDERS = ("taylor", "product")
"""Questions whose figure is an order, which is to be large."""


class Output(Console):
    """The terminal, or a file; who closes it early ends the program, in the command line's own way."""

    def on_broken_pipe(self) -> None:
        raise  # rich would exit with 1, which here means findings


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under a head; nothing is cut off when the output is not a terminal."""
    console = Output(soft_wrap=False)
    if not console.is_terminal:
        console = Output(width=160)
    shown = Table(*head, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for row in rows:
        shown.add_row(*map(escape, row))
    console.print(shown)


def answers(asked: "Iterable[Finding]") -> "list[Finding]":
    """One line for each term, argument and question, as they come: the worst over all states; then in words
    what failed, and what is to be looked at."""
    everything = list(asked)
    worst: dict[tuple[str, str, str], Finding] = {}
    for f in everything:
        key = (f.term, f.argument, f.question)
        if f.question != "reading" and (key not in worst or _badness(f) > _badness(worst[key])):
            worst[key] = f
    rows = [
        (f.term, f.argument or "(value)", f.question, _figure(f), "ok" if f.passed else "WRONG")
        for f in worst.values()
    ]
    table(("term", "argument", "question", "worst figure", ""), rows)
    failed = [f for f in everything if not f.passed]
    warned = list({(f.where, f.text): f for f in everything if f.warning}.values())
    for f in failed:
        print(f"{_place(f)}{f.term}{'.' if f.argument else ''}{f.argument}: {f.question}: {f.text.strip()}")
    for f in warned:
        print(f"{_place(f)}warning: {f.text.strip()}")
    told = f", {len(warned)} warning{'s' * (len(warned) != 1)}" if warned else ""
    print(f"{len(everything)} questions, {len(failed)} findings{told}")
    return everything


def _place(f: "Finding") -> str:
    return f"{f.where}: " if f.where else ""


def found(estimates: "Estimates") -> None:
    """How a fit ended, and a table of what it found."""
    print(f"  {estimates.verdict}")
    data = f" over {estimates.observations} observations" if estimates.observations else ""
    print(f"  loss: {estimates.loss:.6g}{data}")
    if estimates.reduced is not None:
        print(f"  chi^2 / (n - p) = {estimates.reduced:.3g} ({estimates.judgement})")
    rows = [row for parameter in estimates.parameters for row in parameter.rows()]
    table(("parameter", "value", "standard error", "unit"), rows)
    sigma = f" = {estimates.sigma:.3g}" if estimates.sigma is not None else ""
    print(f"  standard errors: {estimates.errors_from}{sigma}")
    if not estimates.ended:
        print("  they are those of where the search stopped, and that is no minimum yet")
    for combination in estimates.undetermined:
        print(f"  the data do not determine {combination} (each in its scale)")


def run_facts(found: "Mapping[str, Any]") -> None:
    """A run in a few lines, then what it recorded."""
    kind, of = found.get("kind", "run"), f" of {found['last']}" if found.get("last") is not None else ""
    title = f"{found['title']}: " if found.get("title") else ""
    where = f", at {'step' if kind == 'run' else 'iteration'} {found['step']}{of}" if "step" in found else ""
    print(f"{found['folder']}: {title}{kind} {found['state']}{where}")
    if "time" in found:
        unit = "" if found["time_unit"] == "1" else f" {found['time_unit']}"
        print(f"  t = {found['time']:.10g}{unit}, dt = {found['dt']:.10g}{unit}")
    for what in ("versions", "plugins"):
        if found.get(what):
            print(f"  {', '.join(f'{name} {version}' for name, version in found[what].items())}")
    print(f"  checkpoints: {', '.join(found['checkpoints']) or 'none'}")
    print(f"  {found['files']} files, {memory.size(found['bytes'])}")
    for line in [*found["failed"], *found["remarks"]]:
        print(f"  {line}")
    rows = [
        (s["name"], str(s["rows"]), f"{s['first']} .. {s['last']}", f"{s['dtype']}{s['shape']}", s["unit"])
        for s in found["series"]
    ]
    if rows:
        table(("series", "rows", "steps", "a row", "unit"), rows)


def verdict(answers: "Sequence[Answer]", strays: Sequence[str]) -> None:
    """What was looked at in a run's folder, and what is wrong with it in words."""
    rows = [(a.what, a.text if a.passed else "", "ok" if a.passed else "WRONG") for a in answers]
    table(("file", "what it holds", ""), rows)
    for answer in answers:
        if not answer.passed:
            print(f"{answer.what}: {answer.text}")
    for stray in strays:
        print(f"{stray}: left by a killed process; `minusgrad resume` deletes it")
    wrong = sum(not a.passed for a in answers)
    print(f"{len(answers)} answers, {wrong} wrong")


def differences(found: "Comparison") -> None:
    """Where two runs part, the earliest first."""
    for step, what, text in found.differences:
        print(f"{what}: {f'step {step}: ' if step is not None else ''}{text}")
    if not found.differences:
        print(f"the same, bit for bit: {found.arrays} arrays of checkpoints, {found.rows} rows of series")


def _badness(f: "Finding") -> tuple[bool, float]:
    order = f.question in ORDERS
    figure = f.figure if f.figure is not None else (9.0 if order else 0.0)
    return not f.passed, -figure if order else figure


def _figure(f: "Finding") -> str:
    if f.question in ORDERS:
        unknown = "below rounding" if f.passed else "not finite"
        return unknown if f.figure is None else f"order {f.figure:.2f}"
    if f.question in ("crash", "compile") or (f.figure is None and f.passed):
        return "-"
    return "not finite" if f.figure is None else f"{f.figure:.1e}"


def described(entry: "Entry", section: str = "energy") -> dict[str, Any]:
    """A map, an energy, or a dissipation, as plain data."""
    energy = entry.energy
    assert energy is not None
    arguments = [
        {"name": name, "role": type(role).__name__.lower(), "unit": role.unit, "shape": list(role.shape)}
        for name, role in energy.roles.items()
    ]
    return {
        "section": section,
        "name": energy.name,
        "plugin": entry.owner.name,
        "over": getattr(energy, "over", "stages"),
        "gives": getattr(energy, "gives", None),
        "keeps": list(getattr(energy, "keeps", ())),
        "arguments": arguments,
        "claim": energy.claim,
    }
