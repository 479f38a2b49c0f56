"""Gradient checks of the kernels in a file: questions to a case of recorded launches.

    value     the compiled kernels against the same source in plain Python (`interpreter`): finds forward
              errors of Taichi, integers that truncate, literals that lose digits, frozen constants
    reverse   the adjoints that `kernel.grad()` computes against the exact derivative of the replayed run;
              where they differ, kernel by kernel, so that the wrong one is named
    taylor    the remainder of a step falls as its square (`questions`)
    path      the loss changes along a step of physical size by the integral of its gradient
    repeat    the same inputs give the same gradient, twice
    kink      where the loss is finite its gradient is finite: at zero, and where two entries are equal
    reading   warnings from the text of the kernels and from their replay; where a number is wrong, they name
              the line

The questions are asked at the start, and at random states near it.
"""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

from ..engine import runtime
from ..errors import TraceError
from ..interpreter.array_memory import IndexOutsideError
from ..interpreter.program_arrays import ProgramArray
from ..interpreter.recorded_launches import RecordedLaunch, Recording, custom_name, is_skipped
from ..interpreter.replay import WRONG, Replay, relative_error, replay
from ..lint.casts import casts
from ..lint.kernel_remarks import Remark, begin_of, in_words, readings
from .kernel_subject import COSTLY, NO_REASON, Announce, Cause, KernelSubject, at_line, coarsest, put_state
from .kernels.diagnosis import cause_of, of_whole, with_lines
from .kernels.entry_steps import entry_steps
from .kernels.kernel_kinks import idle, kinks
from .kernels.own_gradient import of_own_gradient
from .kernels.reaching import choose_inputs
from .outcomes import not_asked, of_exception
from .questions import (
    INFINITE,
    ONE_SIDE,
    SHRINKS,
    Finding,
    TookLong,
    field_spread,
    is_of_one_side,
    is_resolved,
    path,
    step_inside,
    taylor,
    until,
)
from .random_states import random_state_near
from .variables import Variable

SLOW = 3.0
"""Seconds of the processor of one replay beyond which kernels are replayed at the start only."""
LONG, LONGER = 20.0, 60.0
"""Seconds after which a path stays open, and after which no other state is asked."""
LONG_RUN = 400
"""Launches of a run that is asked at the program's own state only: it may be chaotic beside it."""
LOOSE = 0.05
"""The difference of two gradients of a long run in single precision that the order of its sums explains."""
NEAR = 2
"""The number of random states besides the start."""
CLOSE = {"float64": 1e-10, "float32": 1e-4, "float16": 1e-2}
"""The tolerance between a compiled value and that of plain Python, relative to its scale, by precision."""
FORWARD = ("integer", "constant", "race", "shared", "single", "element", "overwrite")
"""Remarks that explain a wrong value."""
UNSTEADY = ("race", "shared", "random")
"""Remarks that explain why a second gradient differs."""
UNRESOLVED = "the gradient changes within the least step that rounding permits"
UNFOLLOWED = "not compared with plain Python"
_LINE = re.compile(r'File "([^"]+)", line (\d+)')


def of_case(launches: Recording, announce: Announce, seed: int = 0) -> Iterator[Finding]:
    """Ask all questions; `announce` receives the name of each before it runs, so that a crash has a name."""
    name, rng = launches.case.name, np.random.default_rng(seed)
    try:
        yield from _of_case(launches, announce, rng)
    except TraceError:
        raise
    except runtime.refusals() as error:
        text, where = _engine_message(error)
        if not where and launches.reversing is not None:
            function = inspect.unwrap(launches.reversing.func)
            text, where = f"{text} (in the reverse of '{function.__name__}')", begin_of(function)
        yield Finding(name, "", "compile", False, None, f"the engine refuses it: {text}", where)
    finally:
        launches.leave()


def _of_case(launches: Recording, announce: Announce, rng: np.random.Generator) -> Iterator[Finding]:
    name = launches.case.name
    announce("the forward run")
    ran, _ = launches.recorded_run()
    functions = list(dict.fromkeys(launch.function for launch in ran))
    remarks = [remark for function in functions for remark in readings(function)]
    for remark in remarks:
        yield _reading_warning(name, remark)
    if (problem := _without_adjoints(launches)) is not None:
        yield problem
        return
    announce("a search for inputs")
    begin = process_time()
    first = choose_inputs(launches, ran)
    search = process_time() - begin
    start = {h.name: h.start for h in launches.inputs}
    steps = {
        h.name: launches.tables[h.name].step or 0.1 * field_spread(start[h.name]) for h in launches.inputs
    }
    asked = KernelSubject(launches, ran)
    asked.slow = search > SLOW
    states = [start] + [random_state_near(start, steps, rng) for _ in range(NEAR)]
    if here := launches.case.only_here:
        states = [start]
        yield not_asked(name, "", "taylor", f"other states: {here}")
    failed: set[tuple[str, str]] = set()
    for k, state in enumerate(states):
        asked.where = "at the start" if k == 0 else f"at random state {k}"
        if k and (asked.cost > COSTLY or process_time() - begin > LONGER or len(ran) > LONG_RUN):
            took = f"a gradient of {len(ran):,} launches takes {asked.cost:.1f} s"
            yield not_asked(name, "", "taylor", f"other states: {took}")
            break
        if k and asked.limits:
            state = random_state_near(start, steps, rng, bounds=asked.limits)
        put_state(launches, state)
        if k and not asked.stays_within_bounds():
            continue
        for finding in _at_state(asked, announce, steps, rng, remarks, k == 0, first if k == 0 else None):
            if finding.passed or (finding.argument, finding.question) not in failed:
                yield finding
            if not finding.passed:
                failed.add((finding.argument, finding.question))
        if failed:
            break  # other states would repeat the failure
    if not failed and not here:
        put_state(launches, start)
        yield from _second_call(asked, announce)
    if not failed and not here and asked.cost <= COSTLY:
        yield from kinks(asked, announce, start)
        yield from idle(asked, start, steps, rng)
    put_state(launches, start)


@dataclass
class _State:
    """The results at one state: its launches, those that a tape records, remarks, and the replayed run.

    `right`: the value is that of plain Python.
    """

    ran: list[RecordedLaunch]
    taken: list[tuple[Any, tuple]]
    remarks: list[Remark]
    followed: Replay | None = None
    right: bool = False


def _at_state(
    asked: KernelSubject,
    announce: Announce,
    steps: dict[str, float],
    rng: np.random.Generator,
    remarks: Sequence[Remark],
    first: bool,
    followed: Replay | None,
) -> Iterator[Finding]:
    launches = asked.launches
    announce(f"the forward run {asked.where}")
    value = launches.value()
    if not np.isfinite(value):
        yield asked.finding("", "value", not first, None, "the loss is not finite")
        return
    state = _State(*launches.recorded_run(), list(remarks), followed)
    yield from _replay_loss(asked, state, value, first)
    announce(f"the reverse {asked.where}", _crash_warning(state.remarks))
    gradients = launches.gradients(state.taken)
    begin = perf_counter()
    again = launches.gradients()
    asked.cost = perf_counter() - begin
    if first and (asked.slow or state.followed is None):
        asked.limits = dict(_input_ranges(launches))
    asked.usual = max(asked.usual, abs(value), *_contribution_sizes(launches, gradients, steps))
    asked.noise = max(asked.noise, asked.measured_rounding(rng, steps, gradients))
    for handle in launches.inputs:
        found, second = gradients[handle.name], again[handle.name]
        if found is None or second is None:
            text = "it has no gradient; make it with needs_grad=True"
            yield asked.finding(handle.name, "reverse", False, None, text)
            continue
        yield _compare_repeat(asked, state, handle, found, second)
        variable = _input_variable(launches, handle, steps[handle.name], asked.limits)
        yield from _of_input(asked, state, handle, found, variable, announce, rng)


def _replay_loss(asked: KernelSubject, state: _State, value: float, first: bool) -> Iterator[Finding]:
    """Replay the run in plain Python, and compare its loss."""
    launches = asked.launches
    try:
        if launches.unfollowed is not None:
            raise launches.unfollowed
        if not asked.slow and state.followed is None:
            state.followed = replay(launches, state.ran, launches.inputs)
    except IndexOutsideError as error:
        where, _, text = str(error).partition(": ")
        yield asked.finding(
            "", "value", False, None, "the loss reads outside of an array", Cause(where, text)
        )
    except TraceError as error:
        if first:
            yield not_asked(launches.case.name, "", "value", f"{UNFOLLOWED}: {error}")
    except Exception as error:  # of the interpreter: finite steps are asked all the same
        if first:
            yield of_exception(launches.case.name, "the replay in plain Python", error)
    followed = state.followed
    if first:
        asked.steady = followed is None or not (followed.interpreter.cuts or followed.python_wrote)
    if followed is None:
        if first:  # what a replay would find of casts, the text says
            functions = dict.fromkeys(launch.function for launch in state.ran)
            found = dict.fromkeys(remark for function in functions for remark in casts(function))
            yield from (_reading_warning(launches.case.name, remark) for remark in found)
        return
    launches.narrow = followed.interpreter.narrow
    seen = list(followed.interpreter.remarks.values())
    if first:
        yield from (_reading_warning(launches.case.name, remark) for remark in seen)
    state.remarks += [*seen, *followed.interpreter.infinite(), *followed.interpreter.large.values()]
    answer = _compare_loss(asked, state, followed, value)
    state.right = answer.passed
    yield answer


def _of_input(
    asked: KernelSubject,
    state: _State,
    handle: ProgramArray,
    found: np.ndarray,
    variable: Variable,
    announce: Announce,
    rng: np.random.Generator,
) -> Iterator[Finding]:
    """The gradient with respect to one input, against the exact one and by steps."""
    name, followed, seen, launches = handle.name, state.followed, state.remarks, asked.launches
    wrong = exact = False
    if replaced := _replaced_on_purpose(launches, state):
        yield not_asked(
            launches.case.name, name, "reverse", f"{replaced} has a gradient of its own, as intended"
        )
        return
    if followed is not None:
        announce(f"the exact derivative {asked.where}")
        answer = _compare_reverse(asked, state, followed, handle, found)
        if not answer.passed and handle.places in launches.case.changed:
            text = "the file changes adjoints between its reverses, and they differ from those of its kernels"
            yield not_asked(launches.case.name, name, "reverse", text)
            return
        wrong = not answer.passed
        exact = state.right and answer.passed and not (followed.python_wrote or followed.cuts(name))
        yield answer
    direction = _shorten_step(asked, variable, variable.direction(rng))
    if not np.isfinite(found).all():
        if not wrong:
            infinite = asked.finding(name, "taylor", False, None, INFINITE)
            yield with_lines(infinite, launches, state.ran, seen, followed)
        return
    if launches.intended:
        held = ", ".join(sorted(launches.intended))
        yield not_asked(launches.case.name, name, "taylor", f"the derivative leaves out {held}, as intended")
        return
    announce(f"steps of {name} {asked.where}")
    order = taylor(asked, variable, direction)
    if exact and not order.passed:  # the gradient is exact, so the remainder is that of a kink, or rounding
        order = asked.finding(name, "taylor", True, None, "a kink here, or rounding")
    elif followed is not None and not (wrong or order.passed) and is_of_one_side(asked, variable, direction):
        order = asked.finding(name, "taylor", True, None, ONE_SIDE)
    if followed is None:
        announce(f"entries of {name} {asked.where}")
        entries = entry_steps(asked, variable, found, rng)
        if not (order.passed and entries.passed) and not is_resolved(asked, variable, direction):
            cure = "" if coarsest(launches) == "float64" else "; compute in f64"
            yield not_asked(launches.case.name, name, "taylor", UNRESOLVED + cure)
            return
        yield with_lines(entries, launches, state.ran, seen, followed)
    elsewhere = launches.case.only_here
    if asked.cost > COSTLY or elsewhere:
        yield with_lines(order, launches, state.ran, seen, followed)
        reason = elsewhere or f"one gradient takes {asked.cost:.1f} s, more than {COSTLY:g}"
        yield not_asked(launches.case.name, name, "path", reason)
        return
    if wrong:
        yield order if order.passed else replace(order, where=answer.where)
    else:
        yield with_lines(order, launches, state.ran, seen, followed)
        longer = _shorten_step(asked, variable, until(partial(_rounding_results, asked), variable, direction))
        try:
            along = path(asked, variable, longer, asked.least_change(), LONG)
        except TookLong as long:
            yield not_asked(launches.case.name, name, "path", str(long))
            return
        yield with_lines(along, launches, state.ran, seen, followed)


def _replaced_on_purpose(launches: Recording, state: _State) -> str:
    """The function of the run whose gradient is replaced and intended; "" if there is none."""
    custom = [f for f, _ in state.taken if not hasattr(f, "func") and not is_skipped(f)]
    return next((f"'{custom_name(f)}'" for f in custom if custom_name(f) in launches.intended), "")


# The answers ----------------------------------------------------------------------------------------


def _compare_loss(asked: KernelSubject, state: _State, followed: Replay, compiled: float) -> Finding:
    """The compiled loss against the replayed one."""
    expected = followed.value(asked.launches.loss)
    scale = max(
        abs(expected),
        *(_loss_sensitivity(followed, h, asked.launches.loss) for h in asked.launches.inputs),
        1e-300,
    )
    error = abs(compiled - expected) / scale
    text = f"compiled {compiled:.12g}, plain Python {expected:.12g}"
    close = CLOSE[coarsest(asked.launches)]
    if error <= close or abs(compiled - expected) <= asked.eps * followed.magnitude(asked.launches.loss):
        return asked.finding("", "value", True, error, text)
    causes = [r for r in state.remarks if r.kind in FORWARD]
    whys = [at_line(r.where, r.text) for r in causes] or [*of_whole(state.ran)]
    why = whys[0] if whys else NO_REASON
    return asked.finding("", "value", False, error, text, why)


def _loss_sensitivity(followed: Replay, handle: ProgramArray, loss: ProgramArray) -> float:
    """How much the loss depends on an input: the sum of |x dU/dx|, where it is finite."""
    with np.errstate(all="ignore"):
        total = np.abs(handle.start.ravel() * followed.gradient(handle.name, loss)).sum()
    return float(total) if np.isfinite(total) else 0.0


def _compare_reverse(
    asked: KernelSubject, state: _State, followed: Replay, handle: ProgramArray, found: np.ndarray
) -> Finding:
    """The reversed gradient against the exact one."""
    exact = followed.gradient(handle.name, asked.launches.loss).reshape(found.shape)
    if not np.isfinite(exact).all():
        roots = [r for r in state.remarks if r.kind == "root"]
        why = Cause(roots[0].where, f"{in_words(roots[0].where)}: {roots[0].text}") if roots else NO_REASON
        return asked.finding(handle.name, "reverse", False, None, INFINITE, why)
    error = relative_error(found, exact)
    if error <= WRONG[coarsest(asked.launches)]:
        return asked.finding(handle.name, "reverse", True, error, f"off by {error:.1e}")
    worst = np.unravel_index(int(np.argmax(np.nan_to_num(np.abs(found - exact), nan=np.inf))), found.shape)
    at = f"[{', '.join(map(str, worst))}]" if worst else ""
    digits = 6 if error > 1e-4 else 12
    right, given = f"{exact[worst]:.{digits}g}", f"{found[worst]:.{digits}g}"
    text = f"d loss / d {handle.name}{at} is {right}, the reverse gives {given}"
    why = cause_of(asked.launches, state.ran, state.taken, followed, state.remarks)
    return asked.finding(handle.name, "reverse", False, error, text, why)


def _compare_repeat(
    asked: KernelSubject, state: _State, handle: ProgramArray, found: np.ndarray, second: np.ndarray
) -> Finding:
    scale, apart = float(np.abs(found).max()) or 1.0, np.abs(found - second).ravel()
    error, worst = float(apart.max()) / scale, int(np.argmax(apart))
    precision = coarsest(asked.launches)
    loose = len(state.ran) > LONG_RUN and precision != "float64"
    passed = not error > (LOOSE if loose else WRONG[precision])
    text = f"the same inputs give {found.ravel()[worst]:.6g}, and then {second.ravel()[worst]:.6g}"
    if passed:
        return asked.finding(handle.name, "repeat", True, error, f"off by {error:.1e}")
    causes = [at_line(r.where, r.text) for r in state.remarks if r.kind in UNSTEADY]
    why = causes[0] if causes else of_own_gradient(asked.launches)
    cure = "" if why.text else ": adjoints are not cleared, or random numbers are drawn;"
    return asked.finding(handle.name, "repeat", False, error, text + cure, why)


def _second_call(asked: KernelSubject, announce: Announce) -> Iterator[Finding]:
    """Compare a second call with the first, after resetting only inputs and loss.

    A warning if a call does not overwrite its loss, because its caller may clear the arrays.
    """
    launches = asked.launches
    if all(hasattr(step, "grad") for step in launches.steps or [launches.own_gradient]):
        return  # kernels alone: their caller may reset arrays between calls
    announce("a second call")
    first = launches.value()
    ends = [(h, h.values) for h in launches.handles]
    second = launches.second_value()
    scale = max(abs(first), asked.usual)
    error = abs(second - first) / (scale or 1.0)
    if error <= WRONG[coarsest(launches)]:
        yield asked.finding("", "repeat", True, error, f"off by {error:.1e} at a second call")
        return
    kept = [h.name for h, end in ends if h.name and h is not launches.loss and (h.values != end).any()]
    asked.where = "at the start"
    text = f"a second call gives {second:.6g}, the first gave {first:.6g}"
    cause = (
        f"the values of the first call remain in {', '.join(kept) or 'an array'}; overwrite it in the call"
    )
    lenient = not launches.overwrites_loss
    yield replace(asked.finding("", "repeat", lenient, error, text, Cause("", cause)), warning=lenient)


def _shorten_step(asked: KernelSubject, variable: Variable, direction: np.ndarray) -> np.ndarray:
    """The step, halved until the kernels stay within array bounds and the loss is finite."""
    for _ in range(SHRINKS):
        variable.put(variable.values + direction)
        if asked.stays_within_bounds():
            break
        direction = 0.5 * direction
    variable.put(variable.values)
    return step_inside(asked, variable, direction)


def _rounding_results(asked: KernelSubject) -> tuple:
    """The results of the roundings (cast, floor, ...) in the kernels."""
    launches = asked.launches
    if asked.steady or asked.slow:
        return ()
    if not asked.stays_within_bounds():
        return ("outside",)
    try:
        return replay(launches, launches.recorded_run()[0], launches.inputs).interpreter.rounding_results()
    except TraceError:
        return ()


def _crash_warning(seen: Sequence[Remark]) -> Cause:
    """A remark on the kernels that may crash the reverse."""
    found = (r for r in seen if r.kind == "carried")
    return next((at_line(r.where, r.text) for r in found), NO_REASON)


# Helpers --------------------------------------------------------------------------------------------


def _without_adjoints(launches: Recording) -> Finding | None:
    loss = launches.loss
    if loss.adjoint is None and launches.own_gradient is None:
        text = (
            f"the loss '{loss.name}' has no adjoint to start the reverse with; make it with needs_grad=True"
        )
        return Finding(launches.case.name, "", "reverse", False, None, text)
    return None


def _reading_warning(term: str, remark: Remark) -> Finding:
    return Finding(term, "", "reading", True, None, remark.text, remark.where, warning=True)


def _input_ranges(launches: Recording) -> Iterator[tuple[str, tuple[float, float]]]:
    """The ranges of the inputs that hold different numbers at the start."""
    for handle in launches.inputs:
        low, high = float(handle.start.min()), float(handle.start.max())
        if low < high:
            yield handle.name, (low, high)


def _input_variable(
    launches: Recording, handle: ProgramArray, step: float, limits: dict[str, tuple[float, float]]
) -> Variable:
    def gradient() -> np.ndarray:
        found = launches.gradients()[handle.name]
        assert found is not None
        return found.astype(np.float64)

    bounds = limits.get(handle.name, (-np.inf, np.inf))
    values, put_values = handle.start.astype(np.float64), partial(launches.set, handle)
    return Variable(handle.name, values, put_values, gradient, step, bounds=bounds, free=handle.read)


def _contribution_sizes(
    launches: Recording, gradients: dict[str, np.ndarray | None], steps: dict[str, float]
) -> Iterator[float]:
    """What each input contributes to the loss, of its values or of its step: the larger."""
    yield 0.0
    for handle in launches.inputs:
        if (found := gradients[handle.name]) is not None and np.isfinite(found).all():
            yield float((np.abs(found) * np.maximum(np.abs(handle.start), steps[handle.name])).sum())


def _engine_message(error: BaseException) -> tuple[str, str]:
    """The engine's message without repetitions, and its line."""
    text = str(error)
    places = _LINE.findall(text)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("File ")]
    where = f"{places[-1][0]}:{places[-1][1]}" if places else ""
    return lines[-1] if lines else type(error).__name__, where
