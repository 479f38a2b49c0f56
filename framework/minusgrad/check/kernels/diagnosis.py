"""Diagnosis of wrong gradients of kernels: the kernel, the line and the reason, from its text and its run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...interpreter.interpreter import LOST
from ...interpreter.recorded_launches import RecordedLaunch, Recording, custom_function, is_skipped
from ...interpreter.replay import Replay, wrong_launch
from ...lint.casts import casts
from ...lint.kernel_remarks import Remark, begin_of, in_words, of_function
from ..kernel_subject import NO_REASON, Cause, at_line
from ..questions import Finding
from .own_gradient import of_own_gradient
from .reverses_by_hand import ReversesByHand

LIKELIEST = (
    "stop_grad",
    "integer",
    "constant",
    "atomic",
    "select",
    "before",
    "index",
    "last",
    "branch",
    "carried",
    "serial",
    "called",
    "race",
    "shared",
    "adjoint",
    "single",
    "element",
    "overwrite",
)
"""Kinds of remarks that explain a wrong reverse, the likeliest first."""
UNSEEN = "Python changes {} between kernels, which no tape sees"
UNREAD = "no kernel reads {}, and a number that Python takes from it has no derivative; pass the array"
RANK = {"is": 0, "only": 1, "indexes": 2, "ends": 3, "decides": 4}
"""Reasons why a derivative ends, by their first word, the likeliest first."""


def with_lines(
    finding: Finding,
    launches: Recording,
    ran: Sequence[RecordedLaunch],
    seen: Sequence[Remark],
    followed: Replay | None,
) -> Finding:
    """Add to a failed finding the lines at which derivatives end; if none is known, the kernel."""
    if finding.passed:
        return finding
    causes = [*_of_run(followed, finding.argument)] if followed is not None else []
    if followed is None:  # the text is all that is known
        functions = dict.fromkeys(launch.function for launch in ran)
        causes += [at_line(r.where, r.text) for one in functions for r in casts(one)]
    causes += [at_line(r.where, r.text) for r in seen]
    if launches.case.only_here:  # copies without a gradient are usual there
        causes = [of_own_gradient(launches)]
    elif launches.own_gradient is not None:
        causes = causes or [why for why in [of_own_gradient(launches)] if why != NO_REASON]
    causes = causes or [*of_whole(ran)]
    if not causes:
        return finding
    lines = "; ".join(list(dict.fromkeys(why.text for why in causes))[:2])
    return replace(finding, text=f"{finding.text}: {lines}", where=causes[0].where)


def _of_run(followed: Replay, name: str) -> Iterator[Cause]:
    """Reasons found in the run: changes by Python, and ends of derivatives, the likeliest first."""
    yield from _arrays_changed_between(followed)
    if followed.numbers and not followed.is_read(name):
        yield at_line(followed.numbers[0], UNREAD.format(name))
    for cut in sorted(followed.cuts(name), key=lambda c: RANK[c.text.split()[0]]):
        yield at_line(cut.where, f"a value that depends on {name} {cut.text.rstrip(',')}")


def of_whole(ran: Sequence[RecordedLaunch]) -> Iterator[Cause]:
    """The kernel as the cause, if the run has only one."""
    if len({launch.function for launch in ran}) == 1:
        yield at_line(begin_of(ran[0].function), f"kernel '{ran[0].name}'")


def _arrays_changed_between(followed: Replay) -> Iterator[Cause]:
    """Arrays that Python changes between kernels."""
    for wrote in followed.python_wrote[:1]:
        yield at_line(wrote.where, UNSEEN.format(wrote.name))


def cause_of(
    launches: Recording,
    ran: Sequence[RecordedLaunch],
    taken: Sequence[tuple[Any, tuple]],
    followed: Replay,
    seen: Sequence[Remark],
) -> Cause:
    """Where and why a reverse is wrong, as far as it is known: a kernel, a remark, an array."""
    for why in _arrays_changed_between(followed):
        return why
    if launches.own_gradient is not None:
        why = of_own_gradient(launches)
        if why != NO_REASON or not isinstance(launches.own_gradient, ReversesByHand):
            return why
    if custom := [f for f, _ in taken if not hasattr(f, "func")]:
        return _of_custom(custom[0])
    wrong = wrong_launch(launches, ran)
    stage = None if wrong is None else wrong.function
    lost = [c for c in followed.interpreter.cuts.values() if c.text.endswith(LOST)]
    mine = list(seen) if stage is None else of_function(seen, stage)
    mine.sort(key=lambda r: LIKELIEST.index(r.kind) if r.kind in LIKELIEST else len(LIKELIEST))
    place = f"in kernel '{stage.__name__}', " if stage is not None else ""
    if stage is None and lost:
        return Cause(
            lost[0].where, f"{in_words(lost[0].where)}: a value {lost[0].text} so the reverse stops here"
        )
    if mine:
        return Cause(mine[0].where, f"{place}{in_words(mine[0].where)}: {mine[0].text}")
    if stage is not None:
        return Cause(begin_of(stage), place.rstrip(", "))
    return NO_REASON


def _of_custom(wrapper: Callable) -> Cause:
    """The cause if the function is wrapped in `ti.ad.grad_replaced` or `ti.ad.no_grad`."""
    function = custom_function(wrapper)
    if is_skipped(wrapper):
        return Cause(begin_of(function), f"'{function.__name__}' has no derivative (ti.ad.no_grad)")
    back = custom_function(getattr(wrapper, "grad", None) or wrapper)
    text = f"'{function.__name__}' has a gradient of its own (ti.ad.grad_for, {in_words(begin_of(back))})"
    return Cause(begin_of(function), text)
