"""Are the gradients of a file's kernels true? Questions to a case of launches (`launches`).

    value     the compiled kernels against the same source in plain Python (`follow`): sees what Taichi
              computes wrongly forward, integers that truncate, literals that lose digits, frozen constants
    reverse   what `kernel.grad()` leaves against the exact derivative of what was followed; where they
              differ, stage by stage, so that the kernel is named
    taylor    the remainder of a step falls as its square (`questions`)
    path      the loss changes along a step of physical size by the integral of its gradient
    repeat    the same inputs give the same gradient, twice
    kink      where the loss is finite its gradient is finite: at zero, and where two entries are equal
    reading   what the kernels say, and what they did while they were followed: warnings; where a number is
              wrong they tell the line

asked at the start, and at random states near it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from . import runtime
from .errors import TraceError
from .follow import LOST, OutsideError
from .launches import Handle, Launch, Launches
from .questions import INFINITE, SHRINKS, Finding, Knob, inside, path, spread, taylor, until
from .readings import Remark, begin_of, of_function, readings
from .retraced import WRONG, Retraced, retrace, within, wrong_stage

NEAR = 2
"""Random states, besides the start."""
CLOSE = {"float64": 1e-10, "float32": 1e-4, "float16": 1e-2}
"""How near a compiled value is to that of plain Python, in parts of its scale, by precision."""
FORWARD = ("integer", "constant", "race", "overwrite")
"""Remarks that explain a wrong value."""
BLAMED = ("integer", "atomic", "select", "before", "fed", "carried", "serial", "called", "race", "overwrite")
"""Remarks that explain a wrong reverse, the likeliest first."""
HEARD, TINY = 8, 2.0**-24
"""How often each input is put off, by so much of its step, to hear how loss rounds."""
FAR = (1.0, 8.0, 64.0)
"""Steps after which an input that changes nothing is taken to be idle."""
RANK = {"is": 0, "chooses": 1, "ends": 2, "decides": 3}
"""What ends a derivative, by the first word that tells it, the likeliest first."""
_LINE = re.compile(r'File "([^"]+)", line (\d+)')


class Why(NamedTuple):
    """A reason, and the line it stands in."""

    where: str = ""
    text: str = ""


NO_REASON = Why()


@dataclass
class _Asked:
    """The case as `questions` sees it, with what it is called and where it stands."""

    launches: Launches
    ran: Sequence[Launch] = ()
    where: str = ""
    usual: float = 0.0
    eps: float = 0.0
    noise: float = 0.0

    def value(self) -> float:
        return self.launches.value()

    def rounding(self) -> float:
        return max(100.0 * self.eps * self.usual, self.noise)

    def within(self) -> bool:
        """Whether the kernels would stay inside of their arrays, with the inputs as they are set."""
        return within(self.launches, self.ran, [(h, h.start) for h in self.launches.inputs])

    def listen(self, rng: np.random.Generator, steps: Mapping[str, float]) -> float:
        """How far rounding moves the loss: what a tiny step leaves, which a smooth loss would not feel."""
        launches, gradients, worst = self.launches, self.launches.gradients(), 0.0
        here = launches.value()
        for handle in launches.inputs:
            found, start = gradients[handle.name], handle.start.astype(np.float64)
            heard = []
            for _ in range(HEARD):
                tiny = np.maximum(TINY * steps[handle.name], 4.0 * self.eps * np.abs(start))
                launches.set(handle, start + tiny * rng.uniform(-1.0, 1.0, start.shape))
                change = 0.0 if found is None else float(np.sum(found * (handle.start - start)))
                left = abs(launches.value() - here - change)
                heard.append(left if np.isfinite(left) else 0.0)
            launches.set(handle, start)
            worst = max(worst, sorted(heard)[1])  # a jump just here is heard now and then, rounding always
        return min(30.0 * worst, 1e-6 * self.usual)

    def finding(
        self,
        argument: str,
        question: str,
        passed: bool,
        figure: float | None,
        text: str,
        why: Why = NO_REASON,
    ) -> Finding:
        said = f"{text} {self.where}{f': {why.text}' if why.text else ''}"
        return Finding(self.launches.case.name, argument, question, passed, figure, said, why.where)


def of_case(launches: Launches, say: Callable[[str], None], seed: int = 0) -> Iterator[Finding]:
    """Ask everything; `say` is told what is about to run, so that a crash has a name."""
    name, rng = launches.case.name, np.random.default_rng(seed)
    try:
        yield from _of_case(launches, say, rng)
    except TraceError:
        raise
    except runtime.refusals() as error:
        text, where = _told(error)
        yield Finding(name, "", "compile", False, None, f"the engine refuses it: {text}", where)
    finally:
        launches.leave()


def _of_case(launches: Launches, say: Callable[[str], None], rng: np.random.Generator) -> Iterator[Finding]:
    name = launches.case.name
    say("the run forward")
    ran, _ = launches.recorded()
    functions = list(dict.fromkeys(launch.function for launch in ran))
    remarks = [remark for function in functions for remark in readings(function)]
    for remark in remarks:
        yield _warning(name, remark)
    if (problem := _without_adjoints(launches)) is not None:
        yield problem
        return
    start = {h.name: h.start for h in launches.inputs}
    steps = {h.name: launches.tables[h.name].step or 0.1 * spread(start[h.name]) for h in launches.inputs}
    asked = _Asked(launches, ran, eps=_eps(launches))
    states = [start] + [_near(start, steps, rng) for _ in range(NEAR)]
    failed: set[tuple[str, str]] = set()
    for k, state in enumerate(states):
        asked.where = "at the start" if k == 0 else f"at random state {k}"
        _put(launches, state)
        if k and not asked.within():
            continue
        for finding in _at_state(asked, say, steps, rng, remarks, first=k == 0):
            if finding.passed or (finding.argument, finding.question) not in failed:
                yield finding
            if not finding.passed:
                failed.add((finding.argument, finding.question))
        if failed:
            break  # another state would say it again
    if not failed:
        yield from _kinks(asked, say, start)
        yield from _idle(asked, start, steps, rng)
    _put(launches, start)


def _at_state(
    asked: _Asked,
    say: Callable[[str], None],
    steps: dict[str, float],
    rng: np.random.Generator,
    remarks: Sequence[Remark],
    first: bool,
) -> Iterator[Finding]:
    launches = asked.launches
    say(f"the run forward {asked.where}")
    value = launches.value()
    if not np.isfinite(value):
        yield asked.finding("", "value", not first, None, "the loss is not finite")
        return
    ran, taken = launches.recorded()
    followed, seen = None, list(remarks)
    try:
        followed = retrace(launches, ran, launches.inputs)
    except OutsideError as error:
        where, _, text = str(error).partition(": ")
        yield asked.finding("", "value", False, None, "the loss reads what is not there", Why(where, text))
    except TraceError as error:
        if first:
            made = asked.finding("", "value", True, None, f"not followed in plain Python: {error}")
            yield replace(made, warning=True)
    if followed is not None:
        seen += followed.follower.remarks.values()
        if first:
            for remark in followed.follower.remarks.values():
                yield _warning(launches.case.name, remark)
        seen += followed.follower.infinite()
        yield _value(asked, followed, value, seen)
    say(f"the reverse {asked.where}")
    gradients = launches.gradients(taken)
    again = launches.gradients()
    asked.usual = max(asked.usual, abs(value), *_sizes(launches, gradients))
    asked.noise = max(asked.noise, asked.listen(rng, steps))
    for handle in launches.inputs:
        found, second = gradients[handle.name], again[handle.name]
        if found is None or second is None:
            text = "it has no gradient; make it with needs_grad=True"
            yield asked.finding(handle.name, "reverse", False, None, text)
            continue
        yield _repeat(asked, handle, found, second)
        wrong = False
        if followed is not None:
            say(f"the exact derivative {asked.where}")
            answer = _reverse(asked, followed, handle, found, ran, taken, seen)
            wrong = not answer.passed
            yield answer
        knob = _knob(launches, handle, steps[handle.name])
        direction = _short(asked, knob, knob.direction(rng))
        if not np.isfinite(found).all():
            if not wrong:
                yield asked.finding(handle.name, "taylor", False, None, INFINITE)
            continue
        say(f"steps of {handle.name} {asked.where}")
        yield _with_lines(taylor(asked, knob, direction), seen, followed, handle.name)
        if not wrong:
            longer = _short(asked, knob, until(partial(_rounded, asked), knob, direction))
            yield _with_lines(path(asked, knob, longer), seen, followed, handle.name)


# The answers ----------------------------------------------------------------------------------------


def _value(asked: _Asked, followed: Retraced, compiled: float, seen: Sequence[Remark]) -> Finding:
    """The compiled loss against the followed one."""
    expected = followed.value(asked.launches.loss)
    scale = max(
        abs(expected), *(_moved(followed, h, asked.launches.loss) for h in asked.launches.inputs), 1e-300
    )
    error = abs(compiled - expected) / scale
    text = f"compiled {compiled:.12g}, plain Python {expected:.12g}"
    if error <= CLOSE[_coarsest(asked.launches)]:
        return asked.finding("", "value", True, error, text)
    blame = [r for r in seen if r.kind in FORWARD]
    why = Why(blame[0].where, blame[0].text) if blame else NO_REASON
    return asked.finding("", "value", False, error, text, why)


def _moved(followed: Retraced, handle: Handle, loss: Handle) -> float:
    """How much of the loss hangs on an input: the sum of |x dU/dx|, where it is finite."""
    with np.errstate(all="ignore"):
        total = np.abs(handle.start.ravel() * followed.gradient(handle.name, loss)).sum()
    return float(total) if np.isfinite(total) else 0.0


def _reverse(
    asked: _Asked,
    followed: Retraced,
    handle: Handle,
    found: np.ndarray,
    ran: Sequence[Launch],
    taken: Sequence[tuple[Any, tuple]],
    seen: Sequence[Remark],
) -> Finding:
    """The reversed gradient against the exact one."""
    exact = followed.gradient(handle.name, asked.launches.loss).reshape(found.shape)
    if not np.isfinite(exact).all():
        roots = [r for r in seen if r.kind == "root"]
        why = Why(roots[0].where, f"{_place(roots[0].where)}: {roots[0].text}") if roots else NO_REASON
        return asked.finding(handle.name, "reverse", False, None, INFINITE, why)
    scale = float(np.abs(exact).max()) or float(np.abs(found).max()) or 1.0
    error = float(np.abs(found - exact).max()) / scale
    if error <= WRONG[_coarsest(asked.launches)]:
        return asked.finding(handle.name, "reverse", True, error, f"off by {error:.1e}")
    place = np.unravel_index(int(np.argmax(np.nan_to_num(np.abs(found - exact), nan=np.inf))), found.shape)
    at = f"[{', '.join(map(str, place))}]" if place else ""
    digits = 6 if error > 1e-4 else 12
    right, given = f"{exact[place]:.{digits}g}", f"{found[place]:.{digits}g}"
    text = f"d loss / d {handle.name}{at} is {right}, the reverse gives {given}"
    why = _blame(asked.launches, ran, taken, followed, seen)
    return asked.finding(handle.name, "reverse", False, error, text, why)


def _repeat(asked: _Asked, handle: Handle, found: np.ndarray, second: np.ndarray) -> Finding:
    scale = float(np.abs(found).max()) or 1.0
    error = float(np.abs(found - second).max()) / scale
    passed = not error > WRONG[_coarsest(asked.launches)]
    text = f"a second time it gives {second.ravel()[0]:.6g} where it gave {found.ravel()[0]:.6g}"
    cure = ": adjoints are not cleared, or something random is drawn;"
    return asked.finding(
        handle.name, "repeat", passed, error, f"off by {error:.1e}" if passed else text + cure
    )


def _with_lines(finding: Finding, seen: Sequence[Remark], followed: Retraced | None, name: str) -> Finding:
    """A question that failed, with the lines where derivatives end."""
    if finding.passed or followed is None:
        return finding
    cuts = sorted(followed.cuts(name), key=lambda c: RANK[c.text.split()[0]])
    told = [(c.where, f"{_place(c.where)}: a value that hangs on {name} {c.text.rstrip(',')}") for c in cuts]
    told += [(r.where, f"{_place(r.where)}: {r.text}") for r in seen]
    if followed.python_wrote:
        told.insert(0, ("", f"Python changes {followed.python_wrote[0]} between kernels, which no tape sees"))
    if not told:
        return finding
    lines = "; ".join(list(dict.fromkeys(text for _, text in told))[:2])
    return replace(finding, text=f"{finding.text}: {lines}", where=told[0][0])


def _blame(
    launches: Launches,
    ran: Sequence[Launch],
    taken: Sequence[tuple[Any, tuple]],
    followed: Retraced,
    seen: Sequence[Remark],
) -> Why:
    """Where and why a reverse is wrong, as far as it is known: a stage, a remark, an array."""
    if followed.python_wrote:
        return Why("", f"Python changes {followed.python_wrote[0]} between kernels, which no tape sees")
    if launches.own_gradient is not None:
        own = launches.table.gradient
        return Why(
            "", f"'{own}' leaves this in .grad: is the loss seeded, is .grad cleared, is a kernel missing?"
        )
    if custom := [f for f, _ in taken if not hasattr(f, "func")]:
        return Why("", f"'{custom[0].__name__}' brings a gradient of its own (ti.ad.grad_for)")
    stage = wrong_stage(launches, ran)
    lost = [c for c in followed.follower.cuts.values() if c.text.endswith(LOST)]
    mine = list(seen) if stage is None else of_function(seen, stage)
    mine.sort(key=lambda r: BLAMED.index(r.kind) if r.kind in BLAMED else len(BLAMED))
    told = f"in kernel '{stage.__name__}', " if stage is not None else ""
    if stage is None and lost:
        return Why(lost[0].where, f"{_place(lost[0].where)}: a value {lost[0].text} and lost to the reverse")
    if mine:
        return Why(mine[0].where, f"{told}{_place(mine[0].where)}: {mine[0].text}")
    if stage is not None:
        return Why(begin_of(stage), told.rstrip(", "))
    return NO_REASON


def _short(asked: _Asked, knob: Knob, direction: np.ndarray) -> np.ndarray:
    """The step, halved until the kernels stay inside of their arrays and the loss is finite."""
    for _ in range(SHRINKS):
        knob.put(knob.values + direction)
        if asked.within():
            break
        direction = 0.5 * direction
    knob.put(knob.values)
    return inside(asked, knob, direction)


def _rounded(asked: _Asked) -> tuple:
    """What the numbers become that the kernels round."""
    launches = asked.launches
    if not asked.within():
        return ("outside",)
    try:
        return retrace(launches, launches.recorded()[0], launches.inputs).follower.rounded()
    except TraceError:
        return ()


def _kinks(asked: _Asked, say: Callable[[str], None], start: dict[str, np.ndarray]) -> Iterator[Finding]:
    """The gradient at zero, and where two entries are equal."""
    launches = asked.launches
    for handle in launches.inputs:
        for words, special in _special(start[handle.name]):
            _put(launches, start | {handle.name: special})
            if not asked.within():
                continue
            say(f"{handle.name} {words}")
            if not np.isfinite(launches.value()):
                continue
            found = launches.gradients()[handle.name]
            if found is None or np.isfinite(found).all():
                continue
            ran, _ = launches.recorded()
            asked.where = f"with {handle.name} {words}"
            yield _kink(asked, handle, ran)
            break


def _idle(
    asked: _Asked, start: dict[str, np.ndarray], steps: dict[str, float], rng: np.random.Generator
) -> Iterator[Finding]:
    """Inputs that the loss never changes with, however far they go: no search would move them."""
    launches = asked.launches
    _put(launches, start)
    here, gradients = launches.value(), launches.gradients()
    for handle in launches.inputs:
        found = gradients[handle.name]
        moved = [abs(_moved_by(asked, handle, start, k * steps[handle.name], rng) - here) for k in FAR]
        if found is None or found.any() or moved[0] != 0.0:
            continue
        never = max(moved) == 0.0
        asked.where = f"over steps of up to {FAR[-1] if never else FAR[0]:g} times {steps[handle.name]:.3g}"
        text = f"the loss does not change with {handle.name}"
        why = Why("", "it is clamped, cut off, overwritten, or not read at all")
        wrong = never and handle.name in launches.table.inputs
        yield replace(asked.finding(handle.name, "path", not wrong, None, text, why), warning=not wrong)


def _moved_by(
    asked: _Asked, handle: Handle, start: dict[str, np.ndarray], step: float, rng: np.random.Generator
) -> float:
    """The loss where one input is moved at random; infinite where kernels would leave their arrays."""
    launches = asked.launches
    launches.set(handle, start[handle.name] + step * rng.normal(size=handle.start.shape))
    found = launches.value() if asked.within() else np.inf
    launches.set(handle, start[handle.name])
    return found if np.isfinite(found) else np.inf


def _kink(asked: _Asked, handle: Handle, ran: Sequence[Launch]) -> Finding:
    """A gradient that is not finite: the function's own, or the reverse's of what a select keeps away."""
    text = "the loss is finite and its gradient is not"
    try:
        followed = retrace(asked.launches, ran, asked.launches.inputs)
    except TraceError:
        return replace(asked.finding(handle.name, "kink", True, None, text), warning=True)
    if np.isfinite(followed.gradient(handle.name, asked.launches.loss)).all():
        lines = followed.follower.selects()
        cure = "Taichi reverses both sides of a select; make both finite, or write `if`"
        why = Why(lines[0] if lines else "", cure)
        return asked.finding(handle.name, "kink", False, None, text, why)
    roots = [r for r in followed.follower.infinite() if r.kind == "root"]
    why = Why(roots[0].where, roots[0].text) if roots else Why("", "a root or norm of zero without a guard")
    return replace(asked.finding(handle.name, "kink", True, None, text, why), warning=True)


def _special(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "zero", np.zeros_like(values)
    if len(values.shape) and len(values) > 1:
        equal = values.copy()
        equal[1] = equal[0]
        yield "equal in its first two entries", equal
        some = values.copy()
        some[0] = 0.0
        yield "zero in its first entry", some


# Small things ---------------------------------------------------------------------------------------


def _without_adjoints(launches: Launches) -> Finding | None:
    loss = launches.loss
    if loss.adjoint is None:
        text = (
            f"the loss '{loss.name}' has no gradient to begin the reverse with; make it with needs_grad=True"
        )
        return Finding(launches.case.name, "", "reverse", False, None, text)
    return None


def _warning(term: str, remark: Remark) -> Finding:
    return Finding(term, "", "reading", True, None, remark.text, remark.where, warning=True)


def _knob(launches: Launches, handle: Handle, step: float) -> Knob:
    def gradient() -> np.ndarray:
        found = launches.gradients()[handle.name]
        assert found is not None
        return found.astype(np.float64)

    return Knob(handle.name, handle.start.astype(np.float64), partial(launches.set, handle), gradient, step)


def _put(launches: Launches, state: dict[str, np.ndarray]) -> None:
    for handle in launches.inputs:
        launches.set(handle, state[handle.name])


def _near(
    start: dict[str, np.ndarray], steps: dict[str, float], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    return {name: v + steps[name] * rng.normal(size=v.shape) for name, v in start.items()}


def _sizes(launches: Launches, gradients: dict[str, np.ndarray | None]) -> Iterator[float]:
    yield 0.0
    for handle in launches.inputs:
        if (found := gradients[handle.name]) is not None and np.isfinite(found).all():
            yield float(np.abs(found * handle.start).sum())


def _coarsest(launches: Launches) -> str:
    """The least precise of the arrays that the answer hangs on."""
    real = [h.start.dtype for h in (launches.loss, *launches.inputs)]
    return min(real, key=lambda dtype: dtype.itemsize).name


def _eps(launches: Launches) -> float:
    return float(np.finfo(_coarsest(launches)).eps)


def _place(where: str) -> str:
    return f"line {where.rpartition(':')[2]}"


def _told(error: BaseException) -> tuple[str, str]:
    """The engine's words, without what it repeats, and the place."""
    text = str(error)
    places = _LINE.findall(text)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("File ")]
    where = f"{places[-1][0]}:{places[-1][1]}" if places else ""
    return lines[-1] if lines else type(error).__name__, where
