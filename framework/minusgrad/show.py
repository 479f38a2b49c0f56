"""Tables for people, and the same facts as plain data."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from .estimates import Estimates
    from .questions import Finding
    from .registry import Entry


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
