"""Reverses that a running test makes: its launches, its arrays before them, and the adjoints it seeds.

a tape             the calls between `with Tape(loss)` and its end, from the arrays at its first call
`kernel.grad()`    the kernels whose reverses follow one another, in the order of their launches; the
                   outputs are the arrays that have adjoints before the first of them
tensors            one kernel, on copies: in the `backward` of a function of PyTorch
"""

import gc
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from minusgrad.check.kernels.tensor_reverses import TensorReverses, seed_of
from minusgrad.interpreter.program_arrays import is_tensor

FOLLOWED = 40
"""Launches of a test whose arrays are compared, to find what Python writes between them."""
MOST = 4
"""Reverses asked of one test; the others repeat them."""

Values = dict[int, np.ndarray]


@dataclass(eq=False)
class Call:
    """A call that is reversed; `written`: entries that Python changed before it, by array."""

    function: Any
    arguments: tuple[Any, ...]
    before: Values
    after: Values | None = None
    written: list[tuple[Any, np.ndarray, np.ndarray]] = field(default_factory=list)


@dataclass
class Reverse:
    """A reverse of a test, complete with what it began from and what it gave."""

    kind: str
    calls: list[Call]
    outputs: list[tuple[Any, np.ndarray]]
    """Arrays with the adjoints that the reverse begins with."""
    names: dict[int, str]
    arrays: list[Any]
    gradients: Values
    """What the engine gave, by array."""
    error: str = ""
    """Why the engine gave nothing."""

    @property
    def start(self) -> Values:
        return self.calls[0].before if self.calls else {}

    @property
    def signature(self) -> tuple:
        names = (getattr(getattr(c.function, "func", c.function), "__qualname__", "") for c in self.calls)
        return self.kind, *dict.fromkeys(names), len(self.outputs)


class Recorder:
    """Records the reverses of one test while it runs. `engine`: the module taichi or quadrants."""

    def __init__(self, engine: Any):
        self.engine = engine
        self.runtime = sys.modules[f"{engine.__name__}.lang.impl"].get_runtime
        self.kernels = sys.modules[f"{engine.__name__}.lang.kernel_impl"].Kernel
        self.tapes = engine.ad.Tape
        self.reverses: list[Reverse] = []
        self.count = self.forward = self.unseeded = 0
        self._calls: list[Call] = []
        self._open: Reverse | None = None
        self._tape: list[Call] | None = None
        self._ending = self._muted = False
        self._last: Values | None = None
        self._known: list[Any] = []
        self._seen = 0
        self._tensors = TensorReverses(ModuleType("a test"))
        gc.collect()
        self._old = [one for one in gc.get_objects() if isinstance(one, self._kinds())]
        """Arrays of an engine that has ended, whose numbers must not be read."""

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record within the block."""
        call, enter, leave, insert = (
            self.kernels.__call__,
            self.tapes.__enter__,
            self.tapes.__exit__,
            self.tapes.insert,
        )
        recorder = self

        def launched(kernel: Any, *arguments: Any, **named: Any) -> Any:
            return recorder._launched(kernel, partial(call, kernel, *arguments, **named), arguments)

        def entered(tape: Any) -> Any:
            recorder._close()
            found = enter(tape)
            recorder._tape, recorder._last = [], None
            return found

        def left(tape: Any, *error: Any) -> Any:
            return recorder._left(tape, partial(leave, tape, *error), error)

        def inserted(tape: Any, function: Any, arguments: tuple) -> Any:
            recorder._inserted(function, arguments)
            return insert(tape, function, arguments)

        self.kernels.__call__ = launched
        self.tapes.__enter__, self.tapes.__exit__, self.tapes.insert = entered, left, inserted
        try:
            yield
        finally:
            self._close()
            self.kernels.__call__ = call
            self.tapes.__enter__, self.tapes.__exit__, self.tapes.insert = enter, leave, insert

    # Events

    def _launched(self, kernel: Any, run: Callable[[], Any], arguments: tuple) -> Any:
        mode = kernel.autodiff_mode.name
        if self._muted or self._ending or self._internal(kernel):
            return run()
        if mode == "FORWARD" or self.runtime().fwd_mode_manager:
            self.forward += mode == "FORWARD"
            return run()
        if mode == "REVERSE":
            if self._tape is None and any(map(is_tensor, arguments)):
                return self._of_tensors(kernel, run, arguments)
            self._reversed(kernel, arguments)
            return run()
        if self._tape is not None:
            found = run()
            self._last = self._values(arguments)
            return found
        self._tensors.forward(inspect.unwrap(kernel.func), kernel, arguments)
        self._close()
        made = Call(self._primal(kernel), arguments, self._values(arguments))
        found = run()
        made.after = self._values(arguments)
        self._calls.append(made)
        return found

    def _reversed(self, kernel: Any, arguments: tuple) -> None:
        if self._open is None:
            adjoints = self._adjoints(arguments)
            outputs = [(a, adjoints[id(a)]) for a in self._known if adjoints.get(id(a), np.zeros(1)).any()]
            self._open = Reverse("kernel.grad", [], outputs, self._names(), list(self._known), {})
        same = [
            c
            for c in self._calls
            if getattr(c.function, "func", None) is kernel.func
            and len(c.arguments) == len(arguments)
            and c not in self._open.calls
        ]
        call = same[-1] if same else Call(self._primal(kernel), arguments, self._values(arguments))
        self._open.calls.insert(0, call)

    def _of_tensors(self, kernel: Any, run: Callable[[], Any], arguments: tuple) -> Any:
        """One reverse, on copies of its tensors: PyTorch may reverse a launch from several seeds."""
        self._close()
        self.count += 1
        function = inspect.unwrap(kernel.func)
        launch = self._tensors.launch(function, arguments)
        seeds = list(map(seed_of, arguments))
        found = run()
        if launch is None or any(r.signature[1:-1] == (function.__qualname__,) for r in self.reverses):
            return found
        forward, copies = launch
        names = inspect.signature(function).parameters
        arrays = [
            (n, c, s, a) for n, c, s, a in zip(names, copies, seeds, arguments, strict=True) if foreign(c)
        ]
        calls = [Call(forward, copies, {id(c): numbers(c) for _, c, _, _ in arrays})]
        outputs = [(c, s) for _, c, s, _ in arrays if s is not None and s.any()]
        ends = {id(c): (s, seed_of(a)) for _, c, s, a in arrays if is_tensor(a)}
        given = {k: now - (0.0 if s is None else s) for k, (s, now) in ends.items() if now is not None}
        named = {id(c): n for n, c, _, _ in arrays}
        self.reverses.append(
            Reverse("kernel.grad", calls, outputs, named, [c for _, c, _, _ in arrays], given)
        )
        return found

    def _close(self) -> None:
        """The end of reverses that follow one another."""
        if self._open is None:
            return
        done, self._open = self._open, None
        done.calls.sort(key=lambda c: self._calls.index(c) if c in self._calls else -1)
        done.gradients = self._adjoints(*(c.arguments for c in done.calls))
        changed = {
            key
            for c in done.calls
            for key, was in c.before.items()
            if c.after is None or (key in c.after and not np.array_equal(c.after[key], was, equal_nan=True))
        }
        done.outputs = [(a, seed) for a, seed in done.outputs if id(a) in changed] or done.outputs
        self._follow(done.calls)
        self._keep(done)
        self._calls = []

    def _inserted(self, function: Any, arguments: tuple) -> None:
        if self._muted or self._tape is None or not hasattr(function, "grad"):
            return
        if hasattr(function, "func") and self._internal(function):
            return
        call = Call(function, arguments, self._values(arguments))
        if self._last is not None and len(self._tape) < FOLLOWED:
            call.written = self._changed(self._last, call.before)
        self._tape.append(call)

    def _left(self, tape: Any, leave: Callable[[], Any], error: Sequence[Any]) -> Any:
        calls, self._tape = self._tape or [], None
        done = Reverse("tape", calls, [], self._names(), list(self._known), {})
        if tape.loss is not None:
            done.outputs = [(tape.loss, np.ones(self._numbers(tape.loss).shape))]
        self._ending = True
        try:
            return leave()
        except BaseException as failure:
            done.error = f"{type(failure).__name__}: {failure}"
            raise
        finally:
            self._ending = False
            self._calls = []
            if not done.error:
                done.gradients = self._adjoints(*(c.arguments for c in calls))
            if error[0] is None and calls and tape.loss is not None:
                self._keep(done)

    def _keep(self, done: Reverse) -> None:
        self.count += 1
        if not done.outputs:
            self.unseeded += 1
        alike = [r for r in self.reverses if r.signature == done.signature]
        if len(self.reverses) < MOST and not alike:
            self.reverses.append(done)

    # Arrays

    def _follow(self, calls: Sequence[Call]) -> None:
        """What Python wrote between launches."""
        for earlier, later in pairwise(calls):
            if earlier.after is not None:
                later.written = self._changed(earlier.after, later.before)

    def _changed(self, before: Values, after: Values) -> list[tuple[Any, np.ndarray, np.ndarray]]:
        found = []
        for array in self._known:
            was, now = before.get(id(array)), after.get(id(array))
            if was is not None and now is not None and not np.array_equal(was, now, equal_nan=True):
                found.append((array, np.asarray(was != now), now))
        return found

    def _values(self, *arguments: tuple) -> Values:
        return self._read(lambda array: self._numbers(array), *arguments)

    def _adjoints(self, *arguments: tuple) -> Values:
        return self._read(adjoint_numbers, *arguments)

    def _read(self, what: Callable[[Any], np.ndarray | None], *arguments: tuple) -> Values:
        """Numbers of every array alive, without the tape's knowledge."""
        self._seen += 1
        if self._seen <= FOLLOWED:
            self._known = self._alive()
        passed = [a for some in arguments for a in some if hasattr(a, "shape") and hasattr(a, "dtype")]
        for one in passed:
            if foreign(one) and not any(one is k for k in self._known):
                self._known.append(one)
        state, self._muted = self.runtime(), True
        tape, state.target_tape = state.target_tape, None
        try:
            pairs = [(id(a), what(a)) for a in self._known]
            return {key: found for key, found in pairs if found is not None}
        finally:
            state.target_tape, self._muted = tape, False

    def _alive(self) -> list[Any]:
        old = set(map(id, self._old))
        found = [one for one in gc.get_objects() if isinstance(one, self._kinds()) and id(one) not in old]
        others = {id(one.grad) for one in found if getattr(one, "grad", None) is not None}
        others |= {id(d) for one in found if (d := getattr(one, "dual", None)) is not None}
        kept = [one for one in found if id(one) not in others and self._readable(one)]
        return kept + [one for one in self._known if foreign(one)]

    def _kinds(self) -> tuple[type, ...]:
        lang = f"{self.engine.__name__}.lang"
        return sys.modules[f"{lang}.field"].Field, sys.modules[f"{lang}._ndarray"].Ndarray

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within the block the garbage collector lists no arrays of engines that have ended."""
        old, listed = set(map(id, self._old)), gc.get_objects
        gc.get_objects = lambda *a, **k: [one for one in listed(*a, **k) if id(one) not in old]
        try:
            yield
        finally:
            gc.get_objects = listed

    def _readable(self, array: Any) -> bool:
        try:
            self._muted = True
            snode = getattr(array, "snode", None)
            if snode is not None and type(array).__name__ != "StructField":
                place = snode.ptr
                if place is None or "Checkbit" in str(getattr(array, "grad_type", "")):
                    return False
            return self._numbers(array) is not None and hasattr(array, "grad")
        except Exception:
            return False
        finally:
            self._muted = False

    def _numbers(self, array: Any) -> np.ndarray:
        """The numbers of an array, hidden from a tape: one that validates changes every kernel."""
        state = self.runtime()
        taping, state.target_tape = state.target_tape, None
        try:
            return numbers(array)
        finally:
            state.target_tape = taping

    def _names(self) -> dict[int, str]:
        """The names of arrays in the test and its callers."""
        found: dict[int, str] = {}
        frame = inspect.currentframe()
        own = __name__.rpartition(".")[0]
        while frame is not None:
            home = frame.f_globals.get("__name__", "")
            if home.split(".")[0] not in (self.engine.__name__, "_pytest", "pluggy") and not home.startswith(
                own
            ):
                for name, value in frame.f_locals.items():
                    found.setdefault(id(value), name)
                    for part, inner in getattr(value, "__dict__", {}).items() if name == "self" else ():
                        found.setdefault(id(inner), part)
            frame = frame.f_back
        return found

    def _internal(self, kernel: Any) -> bool:
        home = (getattr(kernel.func, "__module__", "") or "").split(".")[0]
        return home == self.engine.__name__

    def _primal(self, kernel: Any) -> Any:
        """The forward kernel of a reverse one."""
        if kernel.autodiff_mode.name != "REVERSE":
            return kernel
        for one in gc.get_objects():
            if isinstance(one, type(kernel)) and getattr(one, "grad", None) is kernel:
                return one
        return kernel


def foreign(array: Any) -> bool:
    """True for a tensor of PyTorch or an array of NumPy."""
    return type(array).__module__.split(".")[0] in ("torch", "numpy")


def numbers(array: Any) -> np.ndarray:
    """The numbers of an array, as a copy."""
    if isinstance(array, np.ndarray):
        return array.copy()
    if foreign(array):
        return array.detach().cpu().numpy().copy()
    found = array.to_numpy()
    if isinstance(found, dict):
        raise TypeError("a struct field; its members are fields of their own")
    return np.array(found)


def adjoint_numbers(array: Any) -> np.ndarray | None:
    """The numbers of its adjoint, or None."""
    if isinstance(array, np.ndarray):
        return None
    snode = getattr(array, "snode", None)
    if snode is not None and not snode.ptr.has_adjoint():
        return None
    grad = getattr(array, "grad", None)
    return None if grad is None else numbers(grad)


def put(array: Any, values: np.ndarray) -> None:
    """Set the numbers of an array."""
    if isinstance(array, np.ndarray):
        array[...] = values
    elif foreign(array):
        import torch

        with torch.no_grad():
            array.copy_(torch.as_tensor(values))
    else:
        array.from_numpy(np.array(values, order="C"))
