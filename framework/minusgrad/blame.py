"""Why a number is wrong: the kernel, the line, what is known of it from its text and from its run."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .asked import NO_REASON, Why
from .follow import LOST
from .launches import Launch, Launches
from .questions import Finding
from .readings import Remark, begin_of, in_words, of_function
from .retraced import Retraced, wrong_launch

BLAMED = (
    "integer",
    "constant",
    "atomic",
    "select",
    "before",
    "fed",
    "carried",
    "serial",
    "called",
    "race",
    "overwrite",
)
"""Remarks that explain a wrong reverse, the likeliest first."""
UNSEEN = "Python changes {} between kernels, which no tape sees"
RANK = {"is": 0, "chooses": 1, "ends": 2, "decides": 3}
"""What ends a derivative, by the first word that tells it, the likeliest first."""


def with_lines(finding: Finding, seen: Sequence[Remark], followed: Retraced | None, name: str) -> Finding:
    """A question that failed, with the lines where derivatives end."""
    if finding.passed or followed is None:
        return finding
    cuts = sorted(followed.cuts(name), key=lambda c: RANK[c.text.split()[0]])
    told = [
        (c.where, f"{in_words(c.where)}: a value that hangs on {name} {c.text.rstrip(',')}") for c in cuts
    ]
    told += [(r.where, f"{in_words(r.where)}: {r.text}") for r in seen]
    if followed.python_wrote:
        told.insert(0, ("", UNSEEN.format(followed.python_wrote[0])))
    if not told:
        return finding
    lines = "; ".join(list(dict.fromkeys(text for _, text in told))[:2])
    return replace(finding, text=f"{finding.text}: {lines}", where=told[0][0])


def blame(
    launches: Launches,
    ran: Sequence[Launch],
    taken: Sequence[tuple[Any, tuple]],
    followed: Retraced,
    seen: Sequence[Remark],
) -> Why:
    """Where and why a reverse is wrong, as far as it is known: a stage, a remark, an array."""
    if followed.python_wrote:
        return Why("", UNSEEN.format(followed.python_wrote[0]))
    if launches.own_gradient is not None:
        own = launches.table.gradient
        return Why(
            "", f"'{own}' leaves this in .grad: is the loss seeded, is .grad cleared, is a kernel missing?"
        )
    if custom := [f for f, _ in taken if not hasattr(f, "func")]:
        return _of_custom(custom[0])
    wrong = wrong_launch(launches, ran)
    stage = None if wrong is None else wrong.function
    lost = [c for c in followed.follower.cuts.values() if c.text.endswith(LOST)]
    mine = list(seen) if stage is None else of_function(seen, stage)
    mine.sort(key=lambda r: BLAMED.index(r.kind) if r.kind in BLAMED else len(BLAMED))
    told = f"in kernel '{stage.__name__}', " if stage is not None else ""
    if stage is None and lost:
        return Why(
            lost[0].where, f"{in_words(lost[0].where)}: a value {lost[0].text} and lost to the reverse"
        )
    if mine:
        return Why(mine[0].where, f"{told}{in_words(mine[0].where)}: {mine[0].text}")
    if stage is not None:
        return Why(begin_of(stage), told.rstrip(", "))
    return NO_REASON


def _of_custom(wrapper: Callable) -> Why:
    """What `ti.ad.grad_replaced` and `ti.ad.no_grad` have wrapped."""
    function = inspect.unwrap(inspect.getclosurevars(wrapper).nonlocals.get("func", wrapper))
    if "no_grad" in wrapper.__qualname__:
        return Why(begin_of(function), f"'{function.__name__}' has no derivative (ti.ad.no_grad)")
    return Why(begin_of(function), f"'{function.__name__}' brings a gradient of its own (ti.ad.grad_for)")
